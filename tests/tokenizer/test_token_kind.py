import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.tokenizer.token_kind import TokenKind, character_groups, token_kind
from explorer.tokenizer.tokenizer import Tokenizer


@pytest.mark.parametrize(
    ("token", "begins_piece", "kind"),
    [
        (b" capital", True, TokenKind.WORD),
        (b"Paris", True, TokenKind.WORD),
        (b"opot", False, TokenKind.SUBWORD),
        (b"'ll", True, TokenKind.CONTRACTION),
        (b"'S", True, TokenKind.CONTRACTION),
        (b"333", True, TokenKind.NUMBER),
        ("٣".encode(), True, TokenKind.NUMBER),
        (b"\n\n", True, TokenKind.WHITESPACE),
        ("\u00a0".encode(), True, TokenKind.WHITESPACE),
        (b" ...", True, TokenKind.PUNCTUATION),
        ("🙂".encode(), True, TokenKind.PUNCTUATION),
        (b"\xf0\x9f", True, TokenKind.BYTE_FRAGMENT),
        (b" \xe2", True, TokenKind.BYTE_FRAGMENT),
    ],
)
def test_each_kind_has_an_example(token: bytes, begins_piece: bool, kind: TokenKind) -> None:
    assert token_kind(token, begins_piece=begins_piece) is kind


def test_a_word_of_several_tokens_is_a_word_and_its_continuations(llama3: Tokenizer) -> None:
    kinds = [(token.text, token.kind) for token in llama3.encode("A hippopotamus", bos=False).tokens]
    assert kinds == [("A", "word"), (" hipp", "word"), ("opot", "subword"), ("amus", "subword")]


def test_a_special_token_is_special_only_when_it_was_read_as_one(llama3: Tokenizer) -> None:
    text = "<|eot_id|>"
    assert [token.kind for token in llama3.encode(text, bos=False, special=True).tokens] == ["special"]
    assert "special" not in {token.kind for token in llama3.encode(text, bos=False).tokens}


def test_a_token_that_ends_one_character_and_begins_the_next_links_both() -> None:
    smile, frown = "🙂".encode(), "🙁".encode()
    tokens = [b"a", smile[:2], smile[2:] + frown[:1], frown[1:], b"b", smile[:1], smile[1:]]
    kinds = [token_kind(token, begins_piece=True) for token in tokens]
    assert character_groups(tokens, kinds) == [None, 0, 0, 0, None, 1, 1]


def test_two_characters_side_by_side_are_two_groups() -> None:
    smile = "🙂".encode()
    tokens = [smile[:2], smile[2:], smile[:3], smile[3:]]
    assert character_groups(tokens, [TokenKind.BYTE_FRAGMENT] * 4) == [0, 0, 1, 1]


def test_a_byte_that_belongs_to_no_character_has_no_group() -> None:
    assert character_groups([b"\x80", b"\xff", b"\x80"], [TokenKind.BYTE_FRAGMENT] * 3) == [None, None, None]


@given(text=st.text(max_size=30))
def test_every_group_is_whole_characters_and_every_other_token_too(llama3: Tokenizer, text: str) -> None:
    joined: dict[object, bytes] = {}
    for at, token in enumerate(llama3.encode(text, bos=False).tokens):
        key = ("alone", at) if token.group is None else token.group
        joined[key] = joined.get(key, b"") + token.bytes
    assert "".join(characters.decode() for characters in joined.values()) == text
