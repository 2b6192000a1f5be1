import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tiktoken_ext import openai_public
from tokenizers import Regex, pre_tokenizers

from explorer.tokenizer.pretokenizer import PATTERNS, split
from tests.tokenizer.conftest import META_PATTERN

# Characters at which the expressions differ, and any others that every Unicode table in use knows.
TEXT = st.text(
    st.sampled_from("aZé'sStTlLdD 019٣½\n\r\t\u00a0\u3000\u200b\x1c\x85.,!?_-/🙂\u0301漢ß\u017f")
    | st.characters(codec="utf-8").filter(lambda character: unicodedata.category(character) != "Cn"),
    max_size=24,
)

REFERENCES = {
    "llama3": pre_tokenizers.Split(Regex(META_PATTERN), "isolated"),
    "smollm": pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    ),
    "gpt2": pre_tokenizers.ByteLevel(add_prefix_space=False),
}


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=TEXT)
def test_the_pieces_joined_are_the_text(pattern: str, text: str) -> None:
    assert "".join(split(text, pattern)) == text


@pytest.mark.parametrize("pattern", REFERENCES)
@given(text=TEXT)
@example(text="a  1  b \n 22\t\t3 ")
@example(text="I'LL we'Ve don't 'S \n\n  x  ")
def test_the_split_is_that_of_hugging_face(pattern: str, text: str) -> None:
    expected = [text[start:end] for _, (start, end) in REFERENCES[pattern].pre_tokenize_str(text)]
    assert split(text, pattern) == expected


def test_numbers_are_cut_as_each_model_cuts_them() -> None:
    assert split("What is 3333+777?", "llama3") == ["What", " is", " ", "333", "3", "+", "777", "?"]
    assert split("x 12345", "smollm") == ["x", " ", "1", "2", "3", "4", "5"]
    assert split("x 12345", "gpt2") == ["x", " 12345"]


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_the_patterns_of_openai_are_those_of_tiktoken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: {})  # the ranks would be downloaded
    theirs = openai_public.ENCODING_CONSTRUCTORS[name]()["pat_str"]
    assert PATTERNS[name].replace(r"\Z", "$") == theirs


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("text", [" ", "\n", "^", "a", "1", "\u0301"])
def test_a_run_of_a_million_characters_is_split_in_a_moment(pattern: str, text: str) -> None:
    assert sum(map(len, split(text * 1_000_000, pattern))) == 1_000_000
