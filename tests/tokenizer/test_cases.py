"""The real-world cases of area "tokenizer": ids computed by other tokenizers, rules from the makers."""

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.errors import NoSuchToken
from explorer.tokenizer.tokenizer import Tokenizer

CASES = Path(__file__).parents[1] / "data" / "cases" / "open.jsonl"


@pytest.fixture(scope="module")
def cases() -> dict[str, Any]:
    return {case["id"]: case for case in map(json.loads, CASES.read_text().splitlines())}


@pytest.fixture(scope="module")
def encoders(llama3: Tokenizer, shipped: dict[str, Tokenizer]) -> dict[str, Tokenizer]:
    return {"llama3": llama3, **shipped}


def check(tokenizer: Tokenizer, text: str, expected: dict[str, Any]) -> None:
    encoding = tokenizer.encode(text, bos=False)
    assert list(encoding.ids) == expected["ids"]
    assert len(encoding) == expected["count"]
    if "bytes_hex" in expected:
        assert [token.bytes.hex() for token in encoding.tokens] == expected["bytes_hex"]
    assert tokenizer.decode(encoding.ids) == text


@pytest.mark.parametrize("name", ["llama3", "cl100k_base", "o200k_base"])
def test_the_ids_are_those_of_the_cases(name: str, encoders: dict[str, Tokenizer], cases: dict[str, Any]) -> None:
    tokenizer = encoders[name]
    check(tokenizer, cases["T01"]["input"]["text"], cases["T01"]["expected"]["per_encoding"][name])
    for text in cases["T02"]["input"]["texts"]:
        check(tokenizer, text, cases["T02"]["expected"][text][name])
    check(tokenizer, cases["T03"]["input"]["text"], cases["T03"]["expected"]["off"][name])
    for case in ("T05", "T06", "T15"):
        check(tokenizer, cases[case]["input"]["text"], cases[case]["expected"][name])
    check(tokenizer, "caf\u00e9", cases["T09"]["expected"]["composed"][name])
    check(tokenizer, "cafe\u0301", cases["T09"]["expected"]["decomposed"][name])
    check(tokenizer, "\t\tx = 1", cases["T10"]["expected"]["\\t\\tx = 1"][name])
    check(tokenizer, "\n\n\n", cases["T10"]["expected"]["\\n\\n\\n"][name])
    check(tokenizer, "Hello\u00a0world", cases["T16"]["expected"]["nbsp"][name])
    check(tokenizer, "\u200bHello", cases["T16"]["expected"]["zwsp"][name])
    check(tokenizer, "Hello world", cases["T16"]["expected"]["compare"]["Hello world"][name])
    assert len(tokenizer.encode("^" * 1_000_000, bos=False)) == cases["T08"]["expected"]["'^'*1e6"][name]
    assert len(tokenizer.encode("a" * 100_000, bos=False)) == cases["T08"]["expected"]["'a'*1e5"][name]


def test_t01_an_emoji_family_is_shown_as_bytes_that_belong_together(llama3: Tokenizer, cases: dict[str, Any]) -> None:
    tokens = llama3.encode(cases["T01"]["input"]["text"], bos=False).tokens
    assert [token.label for token in tokens[:5]] == ["F0 9F", "91", "A8", "\u2039U+200D\u203a", "F0 9F"]
    assert [token.group for token in tokens] == [0, 0, 0, None, 1, 1, 1, None, 2, 2, 2, None, 3, 3, 3]
    assert b"".join(token.bytes for token in tokens) == cases["T01"]["input"]["text"].encode()


def test_t02_the_tokens_of_one_character_carry_one_mark(llama3: Tokenizer) -> None:
    assert [token.group for token in llama3.encode("A⊇B", bos=False).tokens] == [None, 0, 0, None]


def test_t03_parsing_special_tokens_is_a_switch(encoders: dict[str, Tokenizer], cases: dict[str, Any]) -> None:
    text, on = cases["T03"]["input"]["text"], cases["T03"]["expected"]["on"]
    for name in ("cl100k_base", "o200k_base"):
        assert list(encoders[name].encode(text, special=True).ids) == on[name]
    assert len(encoders["llama3"].encode(text, bos=False, special=True)) == 7  # no special token of Llama 3


def test_t04_bos_is_kept_once_and_the_reader_is_told(llama3: Tokenizer, cases: dict[str, Any]) -> None:
    encoding = llama3.encode(cases["T04"]["input"]["text"], bos=True, special=True)
    assert list(encoding.ids) == cases["T04"]["expected"]["ids"]
    assert any("only one is kept" in note for note in encoding.notes)


def test_t07_looking_up_an_id_without_token_is_answered(encoders: dict[str, Tokenizer], cases: dict[str, Any]) -> None:
    for token_id in cases["T07"]["input"]["decode_ids"]["cl100k_base"]:
        if token_id == 100_276:
            assert encoders["cl100k_base"].token(token_id).text == "<|endofprompt|>"
        else:
            with pytest.raises(NoSuchToken, match="no such token"):
                encoders["cl100k_base"].token(token_id)


def test_t09_texts_that_look_equal_keep_their_own_tokens_and_labels(llama3: Tokenizer) -> None:
    labels = [[token.label for token in llama3.encode(text, bos=False).tokens] for text in ("caf\u00e9", "cafe\u0301")]
    assert labels == [["ca", "f\u00e9"], ["ca", "fe", "◌\u0301"]]


def test_t10_white_space_is_visible(llama3: Tokenizer) -> None:
    assert [token.label for token in llama3.encode("\t\tx = 1", bos=False).tokens] == ["⇥", "⇥x", "·=", "·", "1"]
    assert [token.label for token in llama3.encode("\n\n\n", bos=False).tokens] == ["↵↵↵"]


def test_t11_the_counts_of_llama_3_1(llama3: Tokenizer, cases: dict[str, Any]) -> None:
    expected = cases["T11"]["expected"]
    assert len(llama3.vocabulary.ids) == expected["base_bpe_tokens"]
    assert len(llama3.vocabulary.special) == expected["special_tokens"]
    assert llama3.vocabulary.size == expected["embedding_rows"]
    assert llama3.vocabulary.bos_id == expected["first_special_id"]


def test_t12_the_default_model_is_read_from_its_own_file(smollm: Tokenizer, cases: dict[str, Any]) -> None:
    for text in cases["T12"]["input"]["texts"]:
        assert list(smollm.encode(text).ids) == cases["T12"]["expected"][text]


def test_t16_an_invisible_character_is_named(llama3: Tokenizer) -> None:
    labels = [token.label for token in llama3.encode("\u200bHello\u00a0world", bos=False).tokens]
    assert "".join(labels) == "\u2039U+200B\u203aHello\u2039U+00A0\u203aworld"
