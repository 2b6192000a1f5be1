"""The least time that a machine can take: it must move every byte and do every operation, and can do both at once.

Williams, Waterman and Patterson 2009, "Roofline". Real programs are slower; none is faster.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from explorer.architecture.cost import (
    attention_operations,
    kv_bytes,
    matmul_operations,
    prompt_operations,
    weight_bytes,
)
from explorer.architecture.decoder_sizes import DecoderSizes
from explorer.architecture.parameters import Group, weight_by_name, weights

ACCELERATORS = Path(__file__).parent.parent.parent / "assets" / "accelerators.json"
GIGA, TERA = 10**9, 10**12


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """A machine by its maker's figures: bytes per second of its memory, dense 16-bit operations per second, bytes."""

    name: str
    bandwidth: float
    compute: float
    memory: float
    source: str

    @property
    def ridge(self) -> float:
        """Operations per byte from which arithmetic, no longer memory, is what it waits for."""
        return self.compute / self.bandwidth


@dataclass(frozen=True, kw_only=True)
class Work:
    """What one step has to do: operations, and bytes that must come from memory."""

    name: str
    operations: int
    moved: int

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.operations / self.moved


@dataclass(frozen=True, kw_only=True)
class LeastTime:
    """Seconds that memory alone and arithmetic alone would take; the longer of them is the least there can be."""

    memory: float
    compute: float

    @property
    def seconds(self) -> float:
        """The least time."""
        return max(self.memory, self.compute)

    @property
    def bound(self) -> str:
        """What it waits for."""
        return "memory" if self.memory >= self.compute else "compute"


@cache
def accelerators() -> Mapping[str, Accelerator]:
    """The machines whose figures are listed, by id."""
    return {
        entry["id"]: Accelerator(
            name=entry["name"],
            bandwidth=entry["gigabytes_per_second"] * GIGA,
            compute=entry["teraflops"] * TERA,
            memory=entry["gigabytes"] * GIGA,
            source=entry["source"],
        )
        for entry in json.loads(ACCELERATORS.read_text("utf-8"))
    }


def least_time(work: Work, accelerator: Accelerator) -> LeastTime:
    """How long ``work`` takes at least."""
    return LeastTime(memory=work.moved / accelerator.bandwidth, compute=work.operations / accelerator.compute)


def decoding(sizes: DecoderSizes, *, context: int, batch: int, precision: str) -> Work:
    """One step of generation: a new token for each of ``batch`` texts that have ``context`` tokens, the new one among
    them. The weights come from memory once for all of them, each text's cache for itself alone.
    """
    return Work(
        name="one new token" if batch == 1 else f"one new token for each of {batch:,} texts",
        operations=batch * (matmul_operations(sizes) + attention_operations(sizes, context)),
        moved=_read(sizes, batch, precision) + batch * kv_bytes(sizes, context),
    )


def prefill(sizes: DecoderSizes, *, n_tokens: int, precision: str) -> Work:
    """Reading a prompt of ``n_tokens`` in one go: the weights come from memory once, the cache is written.

    Only the last token is scored: nobody asks for the others' next tokens.
    """
    unscored = (n_tokens - 1) * weight_by_name(sizes)["unembedding"].operations
    return Work(
        name=f"reading {n_tokens:,} tokens" if n_tokens != 1 else "reading 1 token",
        operations=prompt_operations(sizes, n_tokens) - unscored,
        moved=_read(sizes, n_tokens, precision) + kv_bytes(sizes, n_tokens),
    )


def _read(sizes: DecoderSizes, n_tokens: int, precision: str) -> int:
    """Bytes of the weights that ``n_tokens`` tokens need: of a table that is looked up one row each, of experts as many
    as the tokens can have chosen, of all else everything.
    """
    numbers = 0
    for weight in weights(sizes):
        if weight.group is Group.EMBEDDING:
            is_read_anyway = weight.name == "embedding" and sizes.tied_embedding  # by the unembedding, in whole
            numbers += 0 if is_read_anyway else min(n_tokens * sizes.d_model, weight.size)
        else:
            numbers += weight.size * min(weight.copies, n_tokens * weight.used)
    return weight_bytes(numbers, precision)
