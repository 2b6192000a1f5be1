import unicodedata
from dataclasses import replace

import pytest
import tiktoken
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as HuggingFaceTokenizer

from explorer.errors import NoSuchToken, TextTooLong, UnsupportedModel
from explorer.tokenizer.encoding import Encoding
from explorer.tokenizer.tokenizer import MAX_CHARACTERS, Tokenizer, build_tokenizer

ASSIGNED = st.characters(codec="utf-8").filter(lambda character: unicodedata.category(character) != "Cn")
WORDS = st.sampled_from([
    " the", "Paris", " I'll", "'s", " 12345", "\n\n", "\t", "  ", "\r\n", "👨‍👩‍👧‍👦", "漢字", " naïve", "e\u0301",
    "\x04", "\U00040000", "<|eot_id|>", "<|im_end|>", "\u200b", "\u00a0", "...", "____", "\x00", " مرحبا",
])  # fmt: skip
TEXT = st.lists(WORDS | ASSIGNED, max_size=12).map("".join)


def without_missing(encoding: Encoding, text: str) -> bytes:
    left_out = {entry.position for entry in encoding.missing}
    return bytes(byte for at, byte in enumerate(text.encode()) if at not in left_out)


@given(text=TEXT)
def test_llama_3_encodes_as_metas_code_does(llama3: Tokenizer, meta_llama3: tiktoken.Encoding, text: str) -> None:
    assert list(llama3.encode(text, bos=False).ids) == meta_llama3.encode_ordinary(text)
    ids = llama3.encode(text, bos=False, special=True).ids
    assert list(ids) == meta_llama3.encode(text, allowed_special="all")


@given(text=TEXT)
@example(text="\x04a\x04b\U00040000 \x06")
@settings(max_examples=300)
def test_the_default_model_encodes_as_hugging_face_does(
    smollm: Tokenizer, hugging_face_smollm: HuggingFaceTokenizer, text: str
) -> None:
    assert list(smollm.encode(text).ids) == hugging_face_smollm.encode(text).ids


@pytest.mark.parametrize("model", ["llama3", "smollm"])
@given(text=st.text(max_size=40))
def test_the_tokens_are_the_text_but_for_the_bytes_that_have_none(
    model: str, text: str, request: pytest.FixtureRequest
) -> None:
    tokenizer: Tokenizer = request.getfixturevalue(model)
    encoding = tokenizer.encode(text, bos=False)
    expected = without_missing(encoding, text)
    assert b"".join(token.bytes for token in encoding.tokens) == expected
    assert tokenizer.decode(encoding.ids) == expected.decode("utf-8", "replace")
    assert {entry.value for entry in encoding.missing} <= set(tokenizer.vocabulary.missing_bytes)
    assert all(text.encode()[entry.position] == entry.value for entry in encoding.missing)


@given(text=st.text(ASSIGNED | st.characters(categories=["Cs"]), max_size=20))
def test_no_string_is_an_error(llama3: Tokenizer, meta_llama3: tiktoken.Encoding, text: str) -> None:
    encoding = llama3.encode(text, bos=False)
    assert list(encoding.ids) == meta_llama3.encode_ordinary(text)
    has_surrogate = any("\ud800" <= character <= "\udfff" for character in text)
    assert any("surrogate" in note for note in encoding.notes) == has_surrogate


def test_every_token_of_text_encodes_to_itself(llama3: Tokenizer, smollm: Tokenizer) -> None:
    for tokenizer in (llama3, smollm):
        for token, token_id in list(tokenizer.vocabulary.ids.items())[::7]:
            try:
                text = token.decode()
            except UnicodeDecodeError:
                continue
            if len(tokenizer.pieces(text)) == 1:
                assert tokenizer.encode(text, bos=False).ids == (token_id,)


def test_the_published_ids(llama3: Tokenizer, smollm: Tokenizer) -> None:
    published = (32, 44656, 89490, 56455, 374, 16558, 3090, 13)
    assert llama3.encode("A hippopotamus is drinking water.", bos=False).ids == published
    assert llama3.encode("A hippopotamus is drinking water.").ids == (128_000, *published)
    assert smollm.encode("The capital of France is").ids == (504, 3575, 282, 4649, 314)
    assert smollm.encode("12345").ids == (33, 34, 35, 36, 37)
    assert smollm.token(7042).text == " Paris"


def test_bytes_without_a_token_are_left_out_and_reported(smollm: Tokenizer) -> None:
    encoding = smollm.encode("é\x04x")
    assert [(entry.value, entry.position) for entry in encoding.missing] == [(0x04, 2)]
    assert encoding.ids == smollm.encode("é").ids + smollm.encode("x").ids
    assert encoding.notes == ("The vocabulary has no token for these bytes, so they were left out: 04.",)
    after_special = smollm.encode("<|im_end|>é\x04x", special=True)
    assert [(entry.value, entry.position) for entry in after_special.missing] == [(0x04, 12)]
    assert smollm.merge_steps("a\x04b") == smollm.merge_steps("ab")


def test_bos_is_added_where_the_model_expects_it_and_only_once(llama3: Tokenizer, smollm: Tokenizer) -> None:
    assert llama3.encode("").ids == (128_000,)
    assert llama3.encode("", bos=False).ids == ()
    assert smollm.encode("").ids == ()
    assert smollm.encode("", bos=True).ids == (1,)
    twice = llama3.encode("<|begin_of_text|>Hello world", special=True)
    assert twice.ids == (128_000, 9906, 1917)
    assert twice.notes == ("The text already starts with <|begin_of_text|>, so only one is kept.",)


def test_a_vocabulary_without_bos_says_so(llama3: Tokenizer) -> None:
    encoding = Tokenizer(replace(llama3.vocabulary, bos_id=None)).encode("a")
    assert (encoding.ids, len(encoding.notes)) == ((64,), 1)


def test_text_that_looks_like_a_special_token_stays_text_and_is_noted(llama3: Tokenizer) -> None:
    encoding = llama3.encode("<|eot_id|>", bos=False)
    assert not llama3.vocabulary.special_ids & set(encoding.ids)
    assert encoding.notes == ("What looks like a special token was read as ordinary text.",)
    assert llama3.encode("<|eot_id|>", bos=False, special=True).ids == (128_009,)


@pytest.mark.parametrize(("text", "count"), [("^", 250_000), (" ", 7_813), ("\n", 31_250), ("a", 125_000)])
def test_a_million_equal_characters_are_answered(llama3: Tokenizer, text: str, count: int) -> None:
    encoding = llama3.encode(text * MAX_CHARACTERS, bos=False)
    assert len(encoding) == count
    assert b"".join(llama3.vocabulary.tokens[at] or b"" for at in encoding.ids) == text.encode() * MAX_CHARACTERS


def test_a_million_line_ends_are_answered_by_the_default_model(smollm: Tokenizer) -> None:
    assert smollm.decode(smollm.encode("\n" * MAX_CHARACTERS).ids) == "\n" * MAX_CHARACTERS


def test_a_longer_text_is_refused_by_its_length(llama3: Tokenizer) -> None:
    with pytest.raises(TextTooLong, match="1,000,001 characters; at most 1,000,000"):
        llama3.encode("a" * (MAX_CHARACTERS + 1))


def test_an_id_without_token_is_no_such_token(llama3: Tokenizer) -> None:
    for token_id in (-1, 128_256, 10**9):
        with pytest.raises(NoSuchToken, match="no such token"):
            llama3.token(token_id)
        with pytest.raises(NoSuchToken):
            llama3.decode([32, token_id])
        with pytest.raises(NoSuchToken):
            llama3.label(token_id)


def test_a_row_beyond_the_tokenizer_is_an_unused_row(llama3: Tokenizer) -> None:
    vocabulary = llama3.vocabulary
    higher = Tokenizer(replace(vocabulary, tokens=(*vocabulary.tokens, *[None] * 100)))
    assert higher.label(128_300) == "unused row 128300"
    assert higher.decode([32, 128_300, 33]) == "AB"
    with pytest.raises(NoSuchToken, match="128300 is an unused row"):
        higher.token(128_300)


def test_a_text_is_found_as_token_with_and_without_a_space(smollm: Tokenizer, llama3: Tokenizer) -> None:
    assert 7042 in smollm.find("Paris")
    assert smollm.find(" Paris") == (7042,)
    assert llama3.find("<|eot_id|>") == (128_009,)
    with pytest.raises(NoSuchToken, match="'unbelievable hippopotamus'"):
        llama3.find("unbelievable hippopotamus")


def test_fragments_decode_to_replacement_characters_and_together_to_the_text(llama3: Tokenizer) -> None:
    assert llama3.decode([22447]) == "\ufffd"
    assert llama3.decode([22447, 102]) == "∩"


def test_another_format_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedModel, match="'none'"):
        build_tokenizer("none", {})
