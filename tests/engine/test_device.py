"""Where and how precisely a model runs, and how the end of memory sounds."""

import pytest
import torch

from explorer.engine.device import choose_device, is_out_of_memory
from explorer.errors import BadValue

CPU = torch.device("cpu")


def test_auto_is_the_gpu_where_there_is_one() -> None:
    assert choose_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert choose_device("cpu") == CPU


def test_a_gpu_that_is_not_there_is_refused_by_name() -> None:
    missing = f"cuda:{torch.cuda.device_count()}"
    with pytest.raises(BadValue, match=missing) as refusal:
        choose_device(missing)
    assert "EXPLORER_DEVICE" in refusal.value.remedy


def test_torchs_own_words_for_a_full_memory_are_understood() -> None:
    for request in (lambda: torch.empty(1 << 50, dtype=torch.uint8), lambda: torch.empty(1 << 40, 1 << 10)):
        with pytest.raises(RuntimeError) as caught:
            request()
        assert is_out_of_memory(caught.value)
    with pytest.raises(MemoryError) as python:
        bytearray(1 << 60)
    assert is_out_of_memory(python.value)
    assert is_out_of_memory(torch.cuda.OutOfMemoryError("CUDA out of memory."))


def test_other_errors_are_not_taken_for_a_full_memory() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2, 3) @ torch.ones(2, 3)
    assert not is_out_of_memory(caught.value)
    assert not is_out_of_memory(ValueError("not enough memory"))
