"""The shipped vocabularies against tiktoken's own definition of them, read from the same bytes."""

import gzip
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.errors import BadModelFile, BadValue
from explorer.tokenizer import openai_vocabulary as module
from explorer.tokenizer.bpe import piece_parts
from explorer.tokenizer.openai_vocabulary import FOLDER, openai_vocabulary
from explorer.tokenizer.tokenizer import Tokenizer
from tests.tokenizer.test_tokenizer import TEXT

NAMES = ["cl100k_base", "o200k_base"]


@pytest.mark.parametrize("name", NAMES)
@given(text=TEXT)
def test_the_ids_are_those_of_tiktoken(
    name: str, text: str, shipped: dict[str, Tokenizer], openai: dict[str, tiktoken.Encoding]
) -> None:
    assert list(shipped[name].encode(text).ids) == openai[name].encode_ordinary(text)
    assert list(shipped[name].encode(text, special=True).ids) == openai[name].encode(text, allowed_special="all")


@pytest.mark.parametrize("name", ["llama3", *NAMES, "smollm"])
@given(text=st.text(max_size=40))
@settings(max_examples=60)
def test_for_every_vocabulary_tokens_are_the_text_and_the_replay_ends_at_the_ids(
    name: str, text: str, every_tokenizer: dict[str, Tokenizer]
) -> None:
    tokenizer = every_tokenizer[name]
    encoding = tokenizer.encode(text, bos=False)
    left_out = {entry.position for entry in encoding.missing}
    kept = bytes(byte for at, byte in enumerate(text.encode()) if at not in left_out)
    assert left_out == set() or name == "smollm"
    assert b"".join(token.bytes for token in encoding.tokens) == kept
    assert tokenizer.decode(encoding.ids) == kept.decode("utf-8", "replace")
    assert "".join(encoding.pieces) == text
    for number, piece in enumerate(encoding.pieces):
        ids = [encoding.ids[place] for place in encoding.span(number)]
        data = piece.encode().translate(None, tokenizer.vocabulary.missing_bytes)
        assert [tokenizer.vocabulary.ids[part] for part in piece_parts(data, tokenizer.vocabulary.merges)] == ids
        if not tokenizer.takes_whole(piece):
            steps = tokenizer.merge_steps(piece)
            parts = steps[-1].parts if steps else tuple(bytes([byte]) for byte in data)
            assert [tokenizer.vocabulary.ids[part] for part in parts] == ids
        assert all(encoding.piece_of(place) == number for place in encoding.span(number))


@pytest.mark.parametrize("name", NAMES)
def test_special_tokens_and_size_are_those_of_tiktoken(
    name: str, shipped: dict[str, Tokenizer], openai: dict[str, tiktoken.Encoding]
) -> None:
    vocabulary = shipped[name].vocabulary
    assert vocabulary.size == openai[name].n_vocab
    assert dict(vocabulary.special) == openai[name]._special_tokens
    assert vocabulary.missing_bytes == b""


def test_every_token_of_cl100k_base_keeps_its_id_in_llama_3(shipped: dict[str, Tokenizer], llama3: Tokenizer) -> None:
    assert shipped["cl100k_base"].vocabulary.tokens[:100_256] == llama3.vocabulary.tokens[:100_256]


def test_an_unknown_name_is_refused_with_those_that_are_here() -> None:
    with pytest.raises(BadValue, match="p50k_base") as refused:
        openai_vocabulary("p50k_base")
    assert "cl100k_base, o200k_base" in refused.value.remedy


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (gzip.compress(b"IQ== 0\n"), "another file than OpenAI's"),
        (b"IQ== 0\n", "cannot be read"),
        ((FOLDER / "cl100k_base.tiktoken.gz").read_bytes()[:1000], "cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_a_damaged_file_is_refused(
    content: bytes | None, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    if content is not None:
        (tmp_path / "cl100k_base.tiktoken.gz").write_bytes(content)
    with pytest.raises(BadModelFile, match=found):
        openai_vocabulary("cl100k_base")
