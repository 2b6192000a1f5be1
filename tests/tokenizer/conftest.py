"""The two vocabularies that the tests speak about, and the independent tokenizers they are compared with."""

import base64
import gzip
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
import tiktoken
from tiktoken_ext import openai_public
from tokenizers import Tokenizer as HuggingFaceTokenizer
from tokenizers import models, pre_tokenizers

from explorer.tokenizer.openai_vocabulary import FOLDER
from explorer.tokenizer.tokenizer import Tokenizer, build_tokenizer

# pat_str in Meta's models/llama3/tokenizer.py, character for character.
META_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@pytest.fixture(scope="session")
def smollm(default_metadata: Mapping[str, object]) -> Tokenizer:
    return build_tokenizer("gguf", default_metadata)


@pytest.fixture(scope="session")
def llama3(llama3_tokenizer_path: Path) -> Tokenizer:
    return build_tokenizer("tiktoken", {"path": llama3_tokenizer_path})


@pytest.fixture(scope="session")
def meta_llama3(llama3_tokenizer_path: Path) -> tiktoken.Encoding:
    """What Meta's tokenizer.py builds."""
    lines = [line.split() for line in llama3_tokenizer_path.read_bytes().splitlines()]
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    special = {"<|begin_of_text|>": 128_000, "<|end_of_text|>": 128_001, "<|eot_id|>": 128_009}
    return tiktoken.Encoding("llama3", pat_str=META_PATTERN, mergeable_ranks=ranks, special_tokens=special)


@pytest.fixture(scope="session")
def shipped() -> dict[str, Tokenizer]:
    return {name: build_tokenizer("openai", {"name": name}) for name in ("cl100k_base", "o200k_base")}


@pytest.fixture(scope="session")
def every_tokenizer(shipped: dict[str, Tokenizer], llama3: Tokenizer, smollm: Tokenizer) -> dict[str, Tokenizer]:
    return {"llama3": llama3, "smollm": smollm, **shipped}


@pytest.fixture(scope="session")
def openai() -> dict[str, tiktoken.Encoding]:
    """What tiktoken builds, with its own hashes checked; only the download is replaced by the shipped files."""

    def from_file(url: str, expected_hash: str) -> dict[bytes, int]:
        data = gzip.decompress((FOLDER / f"{url.rpartition('/')[2]}.gz").read_bytes())
        assert hashlib.sha256(data).hexdigest() == expected_hash
        lines = (line.split() for line in data.splitlines())
        return {base64.b64decode(token): int(rank) for token, rank in lines}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openai_public, "load_tiktoken_bpe", from_file)
        return {
            name: tiktoken.Encoding(**openai_public.ENCODING_CONSTRUCTORS[name]())
            for name in ("cl100k_base", "o200k_base")
        }


@pytest.fixture(scope="session")
def hugging_face_smollm(default_metadata: Mapping[str, object]) -> HuggingFaceTokenizer:
    """SmolLM2 as its tokenizer.json describes it: every digit alone, then GPT-2's byte-level split and merges."""
    tokens = cast(list[str], default_metadata["tokenizer.ggml.tokens"])
    lines = cast(list[str], default_metadata["tokenizer.ggml.merges"])
    merges = [cast(tuple[str, str], tuple(line.split(" "))) for line in lines]
    tokenizer = HuggingFaceTokenizer(models.BPE({token: at for at, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    return tokenizer
