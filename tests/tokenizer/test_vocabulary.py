import base64
from pathlib import Path

import pytest

from explorer.errors import BadModelFile, UnsupportedModel
from explorer.tokenizer.tokenizer import Tokenizer
from explorer.tokenizer.vocabulary import vocabulary_from_tiktoken

TINY = [bytes([byte]) for byte in range(256)]


def written(folder: Path, data: bytes) -> Path:
    path = folder / "tokenizer.model"
    path.write_bytes(data)
    return path


def ranked(tokens: list[bytes]) -> bytes:
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))


def test_llama_3_has_128_000_tokens_of_text_and_256_special_ones(llama3: Tokenizer) -> None:
    vocabulary = llama3.vocabulary
    assert (len(vocabulary.ids), len(vocabulary.special), vocabulary.size) == (128_000, 256, 128_256)
    assert (min(vocabulary.special_ids), max(vocabulary.special_ids)) == (128_000, 128_255)
    assert vocabulary.missing_bytes == b""


def test_the_special_tokens_have_the_names_published_for_llama_3_1(llama3: Tokenizer) -> None:
    published = {
        "<|begin_of_text|>": 128_000,
        "<|end_of_text|>": 128_001,
        "<|finetune_right_pad_id|>": 128_004,
        "<|reserved_special_token_2|>": 128_005,
        "<|start_header_id|>": 128_006,
        "<|end_header_id|>": 128_007,
        "<|eom_id|>": 128_008,
        "<|eot_id|>": 128_009,
        "<|python_tag|>": 128_010,
        "<|reserved_special_token_3|>": 128_011,
        "<|reserved_special_token_247|>": 128_255,
    }
    assert published.items() <= llama3.vocabulary.special.items()
    assert llama3.vocabulary.bos_id == 128_000
    assert set(llama3.vocabulary.eos_ids) == {128_001, 128_008, 128_009}


def test_a_vocabulary_of_bytes_alone_is_legal(tmp_path: Path) -> None:
    vocabulary = vocabulary_from_tiktoken(written(tmp_path, ranked(TINY)), name="tiny")
    assert (vocabulary.size, vocabulary.bos_id, vocabulary.eos_ids) == (512, 256, (257, 264, 265))


def test_an_embedding_may_be_higher_but_not_lower_than_the_vocabulary(tmp_path: Path) -> None:
    path = written(tmp_path, ranked(TINY))
    assert vocabulary_from_tiktoken(path, name="tiny", rows=600).tokens[512:] == (None,) * 88
    with pytest.raises(BadModelFile, match="512 tokens for an embedding of 500 rows"):
        vocabulary_from_tiktoken(path, name="tiny", rows=500)


def test_a_sentencepiece_file_is_refused_by_name(tmp_path: Path) -> None:
    path = written(
        tmp_path, b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02\n\x0c\n\x03<s>\x15\x00\x00\x00\x00\x18\x03"
    )
    with pytest.raises(UnsupportedModel, match="sentencepiece"):
        vocabulary_from_tiktoken(path, name="Llama 2")


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "0 tokens"),
        (b"not a tokenizer", "line 1"),
        (b"AA== 0\nAQ==\n", "line 2"),
        (b"AA== 0\n!!!! 1\n", "line 2"),
        (b"AA== zero\n", "line 1"),
        (b"AA== 0\nAQ== 2\n", "ranks are not 0 to 1"),
        (b"AA== 0\nAA== 1\n", "each token once"),
        (b"AA== -1\n", "ranks are not 0"),
        (b"\x80\x02}q\x00.", "line 1"),
    ],
)
def test_what_is_not_a_tiktoken_file_is_refused(tmp_path: Path, data: bytes, found: str) -> None:
    with pytest.raises(BadModelFile, match=found):
        vocabulary_from_tiktoken(written(tmp_path, data), name="broken")


def test_a_missing_file_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(BadModelFile, match="cannot be read") as caught:
        vocabulary_from_tiktoken(tmp_path / "tokenizer.model", name="absent")
    assert caught.value.remedy
