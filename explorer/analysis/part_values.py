"""The numbers that flowed out of one part of the diagram: as a small map, in summary, and the first of every token."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.architecture.catalogue import ATTEND
from explorer.architecture.part import Part
from explorer.config import ModelConfig
from explorer.model.attention import pattern
from explorer.model.rope import rotation_angles, rotation_speeds
from explorer.trace.trace import Trace

SCORED = ("tap.normalised", "tap.logits")
WRITTEN_OUT = ("scores", "mask", "softmax")
QUERY_AND_KEY = (f"{ATTEND}.tap.rotated_query", f"{ATTEND}.tap.rotated_key")
FIRST = 8


@dataclass(frozen=True, kw_only=True)
class PartValues:
    """One tensor of a part: ``map`` (row, column) is what is drawn of it, ``whole`` all of it.

    Rows are tokens, or the selected token alone. ``column`` is the word for a column. ``head`` says which head the map
    shows, None where there are no heads.
    """

    name: str
    map: NDArray[np.float32]
    whole: NDArray[np.float32]
    column: str
    head: int | None = None

    @property
    def finite(self) -> NDArray[np.float32]:
        """All numbers that are neither masked nor missing."""
        values: NDArray[np.float32] = self.whole[np.isfinite(self.whole)]
        return values


def part_taps(part: Part, layer: int) -> frozenset[str]:
    """What must be recorded to look into ``part``."""
    taps = QUERY_AND_KEY if part.id in WRITTEN_OUT else part.taps
    return frozenset(tap.format(layer=layer) for tap in taps)


def has_heads(part: Part) -> bool:
    """Whether what flows out of ``part`` has one map for each head."""
    inside = ("query", "key", "value", "query_norm", "key_norm", "rotary", "kv_cache", "mix")
    return part.id in inside or part.id in WRITTEN_OUT


def part_values(trace: Trace, part: Part, config: ModelConfig, *, layer: int, head: int) -> list[PartValues]:
    """What ``part`` handed on in ``layer``; of tensors with heads the map shows ``head``, or the one that it reads."""
    if part.id in WRITTEN_OUT:
        query, key = (trace[tap.format(layer=layer)].float() for tap in QUERY_AND_KEY)
        return [_of_heads(part.id, _step(part.id, query, key), head, "read token")]
    found = []
    for tap in part.taps:
        address = tap.format(layer=layer)
        name, values = address.rpartition(".")[2].replace("_", " "), trace[address].float()
        if values.dim() == 3:
            shown = head if len(values) == config.n_heads else head // config.heads_per_kv_head
            found.append(_of_heads(name, values, shown, "dimension"))
        else:
            column = "token id" if address == "tap.logits" else "dimension"
            found.append(PartValues(name=name, map=values.numpy(), whole=values.numpy(), column=column))
    return found


def angle_values(config: ModelConfig, n_tokens: int) -> list[PartValues]:
    """Cosine and sine of every pair at every position of a prompt, as the model uses them."""
    speeds = rotation_speeds(config.head_dim, config.rope_theta, config.rope_scaling)
    cos_and_sin = rotation_angles(torch.arange(n_tokens), speeds)
    return [
        PartValues(name=name, map=values.numpy(), whole=values.numpy(), column="pair")
        for name, values in zip(("cosine", "sine"), cos_and_sin, strict=True)
    ]


def summary_of(values: PartValues, row: int) -> dict[str, float]:
    """Least, mean and greatest of all numbers, their standard deviation, and the L2 length of one row of the map."""
    finite, chosen = values.finite.astype(np.float64), values.map[row].astype(np.float64)
    return {
        "min": float(finite.min()),
        "mean": float(finite.mean()),
        "max": float(finite.max()),
        "deviation": float(finite.std()),
        "length": float(np.linalg.norm(chosen[np.isfinite(chosen)])),
    }


def histogram_of(values: PartValues, bins: int = 40) -> pd.DataFrame:
    """How many of all numbers fall into each of ``bins`` equal steps: columns from, to, count."""
    counts, edges = np.histogram(values.finite.astype(np.float64), bins=bins)
    return pd.DataFrame({"from": edges[:-1], "to": edges[1:], "count": counts})


def first_values(values: PartValues, labels: list[str]) -> pd.DataFrame:
    """The first numbers of every row of the map."""
    table = pd.DataFrame(values.map[:, :FIRST].astype(np.float64))
    table.columns = [f"{values.column} {place}" for place in table.columns]
    table.insert(0, "token", labels)
    return table


def _step(part: str, query: Tensor, key: Tensor) -> Tensor:
    """(head, query token, key token): scores, masked scores, or shares."""
    if part == "softmax":
        return pattern(query, key)
    wide = key.repeat_interleave(len(query) // len(key), dim=0)
    score = query @ wide.transpose(-2, -1) / query.shape[-1] ** 0.5
    if part == "scores":
        return score
    future = torch.ones(score.shape[-2:], dtype=torch.bool).triu(1)
    return score.masked_fill(future, float("-inf"))


def _of_heads(name: str, values: Tensor, head: int, column: str) -> PartValues:
    return PartValues(name=name, map=values[head].numpy(), whole=values.numpy(), column=column, head=head)
