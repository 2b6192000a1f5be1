"""How much memory this machine has to give."""

import os

import torch

from explorer.engine.memory import gigabytes, memory_of


def test_the_free_memory_of_this_machine_is_below_what_it_has() -> None:
    memory = memory_of(torch.device("cpu"))
    assert 1 << 26 < memory.free <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < memory.usable < memory.free


def test_sizes_are_told_in_units_for_people() -> None:
    assert [gigabytes(count) for count in (141_107_412_992, 16_060_522_496, 300_000)] == [
        "141.1 GB",
        "16.1 GB",
        "0.3 MB",
    ]
