"""How positions turn queries and keys: speeds, one head's real vectors, and what turning leaves alone."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.config import Llama3Scaling, ModelConfig
from explorer.model.rope import base_speeds, kept_share, rotate, rotation_angles, rotation_speeds
from explorer.trace.trace import Trace

Vector = NDArray[np.float64]  # (head_dim,)


def rope_taps(layer: int) -> frozenset[str]:
    """The queries and keys of one layer, before and after turning."""
    names = ("query", "key", "rotated_query", "rotated_key")
    return frozenset(f"layers.{layer}.attention.tap.{name}" for name in names)


def speeds_of(config: ModelConfig) -> Tensor:
    """Radians per position of every pair as the model of ``config`` uses them: (head_dim / 2,) in float64."""
    return rotation_speeds(config.head_dim, config.rope_theta, config.rope_scaling)


def schedule(config: ModelConfig) -> pd.DataFrame:
    """One row per pair: its ``base`` speed and ``speed`` in radians per position, ``slowing`` (base / speed),
    ``base_wavelength`` and ``wavelength`` in positions per turn, and its ``zone``: kept, blended or slowed.
    """
    base, speed = base_speeds(config.head_dim, config.rope_theta), speeds_of(config)
    return pd.DataFrame(
        {
            "pair": range(len(base)),
            "base": base,
            "speed": speed,
            "slowing": base / speed,
            "base_wavelength": 2 * math.pi / base,
            "wavelength": 2 * math.pi / speed,
            "zone": _zones(config, base, speed),
        }
    )


def _zones(config: ModelConfig, base: Tensor, speed: Tensor) -> list[str]:
    if isinstance(config.rope_scaling, Llama3Scaling):
        share = kept_share(base, config.rope_scaling)
        return ["kept" if x == 1 else "slowed" if x == 0 else "blended" for x in share.tolist()]
    return ["kept" if same else "slowed" for same in (speed == base).tolist()]


def zones(table: pd.DataFrame) -> str:
    """How many pairs each zone of a ``schedule`` holds, in words."""
    counts = table["zone"].value_counts()
    words = [f"{counts[zone]} {zone}" for zone in ("kept", "blended", "slowed") if zone in counts]
    slowest = float(table["slowing"].max())
    return ", ".join(words) + (f" ×{slowest:.4g}" if "slowed" in counts else "")


@dataclass(frozen=True, kw_only=True)
class Reached:
    """From which length of context scaling starts, and by how much it slows the slow pairs."""

    original: int
    factor: float


def reached(config: ModelConfig) -> Reached:
    """What the scaling of ``config`` starts from and how far it stretches; without llama3 scaling, not at all."""
    if isinstance(config.rope_scaling, Llama3Scaling):
        return Reached(original=config.rope_scaling.original_context, factor=config.rope_scaling.factor)
    return Reached(original=config.context, factor=1.0)


def theta_alone(config: ModelConfig, factor: float) -> float:
    """The theta that slows the slowest pair by ``factor`` and leaves the fastest alone, without any other scaling.

    theta · factor^(d / (d - 2)): pair i has theta^(-2i/d), so the last one, 2i = d - 2, is slowed by just ``factor``.
    """
    return config.rope_theta * factor ** (config.head_dim / (config.head_dim - 2))


def extensions(config: ModelConfig, factor: float) -> pd.DataFrame:
    """What three ways to reach ``factor`` times the context leave of every pair's speed: shares from 1 / factor to 1.

    One row per pair: ``every_pair`` slowed alike, a larger ``theta`` alone, and ``llama3`` (NaN where ``config`` has
    another scaling or none).
    """
    base = base_speeds(config.head_dim, config.rope_theta)
    larger = base_speeds(config.head_dim, theta_alone(config, factor))
    llama3 = isinstance(config.rope_scaling, Llama3Scaling)
    return pd.DataFrame(
        {
            "pair": range(len(base)),
            "every_pair": 1 / factor,
            "theta": larger / base,
            "llama3": speeds_of(config) / base if llama3 else math.nan,
        }
    )


@dataclass(frozen=True, kw_only=True)
class HeadVector:
    """One token's query or key in one head: ``before`` turning, and ``after`` as the model computed it."""

    before: Vector
    after: Vector

    @property
    def pairs(self) -> NDArray[np.float64]:
        """``before`` as arrows: (pair, 2)"""
        return self.before.reshape(-1, 2)


def head_vector(trace: Trace, layer: int, head: int, token: int, side: str) -> HeadVector:
    """The vector of ``token`` in query head ``head``, or, where ``side`` is "key", in the key head that it reads."""
    place = f"layers.{layer}.attention.tap"
    if side == "key":
        head = head // (len(trace[f"{place}.query"]) // len(trace[f"{place}.key"]))
    before, after = trace[f"{place}.{side}"], trace[f"{place}.rotated_{side}"]
    return HeadVector(before=before[head, token].double().numpy(), after=after[head, token].double().numpy())


def turned(vector: Vector, position: int, speeds: Tensor) -> Vector:
    """``vector`` as it would be at ``position``, with angles in float64."""
    angle = position * speeds[None]
    result: Vector = _turn(torch.from_numpy(vector)[None], angle)[0].numpy()
    return result


def _turn(x: Tensor, angle: Tensor) -> Tensor:
    """Every pair of ``x`` by its angle, in float64: (..., head_dim), (..., pair) -> (..., head_dim)"""
    number = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(number * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


@dataclass(frozen=True, kw_only=True)
class LengthCheck:
    """The length before and after turning, and the largest change of the length of any pair."""

    before: float
    after: float
    largest_pair_change: float


def length_check(before: Vector, after: Vector) -> LengthCheck:
    """Turning keeps the length of the vector and of every pair; how nearly it does."""
    pairs = [np.linalg.norm(vector.reshape(-1, 2), axis=1) for vector in (before, after)]
    return LengthCheck(
        before=float(np.linalg.norm(before)),
        after=float(np.linalg.norm(after)),
        largest_pair_change=float(np.abs(pairs[0] - pairs[1]).max()),
    )


def pair_table(before: Vector, position: int, speeds: Tensor) -> pd.DataFrame:
    """One row per pair: both numbers before and after turning to ``position``, its length, speed, wavelength, turns."""
    after = turned(before, position, speeds).reshape(-1, 2)
    arrows = before.reshape(-1, 2)
    return pd.DataFrame(
        {
            "pair": range(len(arrows)),
            "before_x": arrows[:, 0],
            "before_y": arrows[:, 1],
            "after_x": after[:, 0],
            "after_y": after[:, 1],
            "length": np.linalg.norm(arrows, axis=1),
            "speed": speeds,
            "wavelength": 2 * math.pi / speeds,
            "turns": position * speeds / (2 * math.pi),
        }
    )


def score_by_distance(query: Vector, key: Vector, speeds: Tensor, reach: int) -> pd.DataFrame:
    """The score of a query and a key, as they are before turning, if they stood ``distance`` apart.

    One row for each distance from 0 to ``reach``: ``score`` is q·k / sqrt(head_dim) after turning, ``slow`` the part of
    it from pairs that turn less than once within ``reach``.
    """
    q, k = (torch.view_as_complex(torch.from_numpy(x).unflatten(0, (-1, 2)).contiguous()) for x in (query, key))
    distance = torch.arange(reach + 1, dtype=torch.float64)
    angle = distance[:, None] * speeds
    each = (q * k.conj() * torch.polar(torch.ones_like(angle), angle)).real / math.sqrt(len(query))  # (distance, pair)
    slow = reach * speeds < 2 * math.pi
    return pd.DataFrame({"distance": distance.long(), "score": each.sum(-1), "slow": each[:, slow].sum(-1)})


@dataclass(frozen=True, kw_only=True)
class ShiftCheck:
    """The same query and key at their own places, both moved by the same shift, and only the query moved.

    ``residual`` is the change of the score when both move, with angles in float64; ``residual_float32`` the same as
    the model computes it, with angles in float32.
    """

    score: float
    both_moved: float
    query_moved: float
    residual: float
    residual_float32: float


def shift_check(query: Vector, key: Vector, places: tuple[int, int], shift: int, speeds: Tensor) -> ShiftCheck:
    """Move a query and a key, as they are before turning, from their ``places`` by ``shift`` positions."""
    i, j = places

    def score(at_query: int, at_key: int) -> float:
        product = turned(query, at_query, speeds) @ turned(key, at_key, speeds)
        return float(product) / math.sqrt(len(query))

    def narrow_score(at_query: int, at_key: int) -> float:
        q, k = (
            rotate(torch.from_numpy(x).float()[None], *rotation_angles(torch.tensor([place]), speeds))[0]
            for x, place in ((query, at_query), (key, at_key))
        )
        return float(q.double() @ k.double()) / math.sqrt(len(query))

    here, there = score(i, j), score(i + shift, j + shift)
    return ShiftCheck(
        score=here,
        both_moved=there,
        query_moved=score(i + shift, j),
        residual=abs(here - there),
        residual_float32=abs(narrow_score(i, j) - narrow_score(i + shift, j + shift)),
    )


def half_split_order(head_dim: int) -> list[int]:
    """Where each dimension of the half-split order stands in the adjacent order: half = adjacent[order].

    Adjacent pairs are (2i, 2i + 1), half-split ones (i, i + head_dim / 2).
    """
    return [*range(0, head_dim, 2), *range(1, head_dim, 2)]


def half_split_turned(half: Vector, position: int, speeds: Tensor) -> Vector:
    """Turn a vector in half-split order the way Hugging Face's ``rotate_half`` does, in float64."""
    cos, sin = (position * speeds).cos().numpy(), (position * speeds).sin().numpy()
    first, second = np.split(half, 2)
    return np.concatenate((first * cos - second * sin, second * cos + first * sin))


def pairing_residual(vector: Vector, position: int, speeds: Tensor) -> float:
    """The largest difference between turning adjacent pairs, and reordering, turning halves, and reordering back."""
    order = half_split_order(len(vector))
    back = np.empty_like(vector)
    back[order] = half_split_turned(vector[order], position, speeds)
    return float(np.abs(back - turned(vector, position, speeds)).max())
