"""What fits is computed before anything is loaded, and explained."""

from dataclasses import replace

import pytest
import torch

from explorer.checkpoint.checkpoint import Checkpoint
from explorer.checkpoint.open_checkpoint import open_checkpoint
from explorer.config import TokenizerSource
from explorer.config.hugging_face import config_from_hugging_face
from explorer.engine.device import DTYPES
from explorer.engine.memory import Memory, fitting_dtype, memory_of
from explorer.errors import TooLarge
from tests.checkpoint.tiny_folders import CASES
from tests.config.test_hugging_face import table

CPU, GPU = torch.device("cpu"), torch.device("cuda:0")


def published(name: str, mapped: torch.dtype | None = None) -> Checkpoint:
    """A model of published sizes whose weights are never read."""
    tiny = open_checkpoint(CASES / "tiny_a_hf", "tiny")
    config = config_from_hugging_face(table(name), name=name)
    checkpoint = replace(tiny, config=config, tokenizer=TokenizerSource(format="none"), mapped={})
    if mapped is None:
        return checkpoint
    from explorer.checkpoint.names import parameter_shapes

    return replace(checkpoint, mapped=dict.fromkeys(parameter_shapes(config), mapped))


def gigabytes(device: torch.device, count: float) -> Memory:
    return Memory(device=device, free=int(count * 1e9))


def test_auto_is_wide_on_the_cpu_and_narrow_on_a_gpu() -> None:
    model = published("llama3.1-8b")
    assert fitting_dtype(model, "auto", gigabytes(CPU, 64)) == torch.float32
    assert fitting_dtype(model, "auto", gigabytes(GPU, 24)) == torch.bfloat16


def test_auto_takes_half_the_room_where_float32_does_not_fit() -> None:
    assert fitting_dtype(published("llama3.1-8b"), "auto", gigabytes(CPU, 24)) == torch.bfloat16


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_mapped_file_in_half_precision_needs_no_memory_of_its_own(dtype: torch.dtype) -> None:
    assert fitting_dtype(published("llama3.1-70b", dtype), "auto", gigabytes(CPU, 8)) == dtype
    with pytest.raises(TooLarge):
        fitting_dtype(published("llama3.1-70b", dtype), "auto", gigabytes(GPU, 80))


def test_a_precision_that_is_asked_for_is_taken_or_refused_but_never_replaced() -> None:
    model = published("llama3.1-8b")
    for name, dtype in DTYPES.items():
        assert fitting_dtype(model, name, gigabytes(CPU, 64)) == dtype
    with pytest.raises(TooLarge) as refusal:
        fitting_dtype(model, "float32", gigabytes(CPU, 24))
    assert "llama3.1-8b in float32 needs 32.1 GB; cpu has 22.8 GB to give" in refusal.value.found
    assert "EXPLORER_DTYPE=bfloat16 needs 16.1 GB" in refusal.value.remedy


def test_70b_on_one_gpu_is_refused_with_the_published_size_and_the_ways_out() -> None:
    with pytest.raises(TooLarge) as refusal:
        fitting_dtype(published("llama3.1-70b"), "auto", gigabytes(GPU, 80))
    assert "in bfloat16 needs 141.1 GB; cuda:0 has 76.0 GB" in refusal.value.found
    assert "EXPLORER_DEVICE=cpu" in refusal.value.remedy


def test_the_free_memory_of_this_machine_is_below_what_it_has() -> None:
    free = memory_of(CPU).free
    import os

    assert 1 << 26 < free <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
