"""A real Llama 3.1 8B, where one is present: EXPLORER_TEST_LLAMA_8B names its folder, or a GGUF file in 16 bits."""

import json
import os
from pathlib import Path

import pytest
import torch

from explorer.architecture.decoder_sizes import sizes_of
from explorer.architecture.parameters import parameter_count
from explorer.checkpoint.checkpoint import Checkpoint
from explorer.checkpoint.names import parameter_shapes
from explorer.checkpoint.open_checkpoint import open_checkpoint
from explorer.cli.session import Session
from tests.conftest import DATA

VARIABLE = "EXPLORER_TEST_LLAMA_8B"
RUN = json.loads((DATA / "llama-3.1-8b-reference-run.json").read_text("utf-8"))

pytestmark = pytest.mark.skipif(
    VARIABLE not in os.environ, reason=f"{VARIABLE} names no checkpoint of Llama 3.1 8B on this machine"
)


@pytest.fixture(scope="module")
def path() -> Path:
    return Path(os.environ[VARIABLE])


@pytest.fixture(scope="module")
def checkpoint(path: Path) -> Checkpoint:
    return open_checkpoint(path, "Llama 3.1 8B")


def test_its_sizes_are_the_published_ones(checkpoint: Checkpoint) -> None:
    config, published = checkpoint.config, RUN["config"]
    for size in ("n_layers", "d_model", "n_heads", "n_kv_heads", "head_dim", "d_ff", "vocab_size", "rope_theta"):
        assert getattr(config, size) == published[size], size
    assert config.norm_eps == pytest.approx(published["norm_eps"])
    assert config.tied_embedding == published["tied_embeddings"]
    assert checkpoint.parameters == parameter_count(sizes_of(config)).total == 8_030_261_248


def test_its_embedding_rows_are_the_published_ones_to_four_decimals(checkpoint: Checkpoint) -> None:
    table = checkpoint.read("embedding.weight")
    assert tuple(table.shape) == parameter_shapes(checkpoint.config)["embedding.weight"]
    for token_id, row in RUN["embedding_first_4_dimensions"].items():
        found = table[int(token_id), : len(row)].float()
        torch.testing.assert_close(found, torch.tensor(row), atol=0.5e-4 + 1e-7, rtol=0)


def test_its_tokenizer_gives_the_published_ids(path: Path) -> None:
    tokenizer = Session(str(path)).tokenizer
    encoding = tokenizer.encode(RUN["prompt"], bos=False)
    assert list(encoding.ids) == RUN["token_ids"]
    assert [token.text for token in encoding.tokens] == RUN["token_texts"]
    assert tokenizer.encode(RUN["prompt"]).ids[0] == tokenizer.vocabulary.bos_id
    example = RUN["pretokenizer_example"]
    assert tokenizer.pieces(example["text"]) == example["pieces"]
