"""What a norm does to one vector of the run, and to a small one step by step."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.trace.trace import Trace

Vector = NDArray[np.float64]

HALF_MAX = float(np.finfo(np.float16).max)


@dataclass(frozen=True, kw_only=True)
class NormPlaceInModel:
    """One norm of the model: where its input and its output are read, and where its gain is kept."""

    before: str
    after: str
    gain: str

    @property
    def rows(self) -> frozenset[str]:
        """The addresses to ask for, of the scored token only."""
        return frozenset({self.before, self.after})


def norm_in_model(norm: str, layer: int) -> NormPlaceInModel:
    """The norm before a layer's "attention" or "feed_forward", or the "final" one before the unembedding."""
    if norm == "final":
        return NormPlaceInModel(before="tap.final", after="tap.normalised", gain="norm.gain")
    before = "before" if norm == "attention" else "after_attention"
    return NormPlaceInModel(
        before=f"layers.{layer}.tap.{before}",
        after=f"layers.{layer}.{norm}.tap.input",
        gain=f"layers.{layer}.{norm}_norm.gain",
    )


@dataclass(frozen=True, kw_only=True)
class Normalised:
    """One vector through one RMSNorm, in float64: ``divided`` by its root mean square, then times the ``gain``.

    ``residual`` is the largest difference between ``after`` and what the model computed.
    """

    before: Vector
    divided: Vector
    gain: Vector
    after: Vector
    mean_square: float
    eps: float
    residual: float

    @property
    def rms(self) -> float:
        """The root mean square, without eps."""
        return math.sqrt(self.mean_square)

    @property
    def divisor(self) -> float:
        """What every dimension is divided by: sqrt(mean square + eps)."""
        return math.sqrt(self.mean_square + self.eps)

    @property
    def largest_share(self) -> float:
        """The part of the mean square that the largest dimension alone makes up."""
        return float((self.before**2).max() / (self.before**2).sum()) if self.mean_square > 0 else 0.0


def normalised(trace: Trace, norm: NormPlaceInModel, gain: Tensor, eps: float) -> Normalised:
    """The scored token's vector through ``norm``; needs ``norm.rows`` among the trace's rows."""
    before = trace.rows[norm.before][-1].double().numpy()
    learned = gain.double().numpy()
    mean_square = float((before**2).mean())
    divided = before / math.sqrt(mean_square + eps)
    after = divided * learned
    return Normalised(
        before=before, divided=divided, gain=learned, after=after, mean_square=mean_square, eps=eps,
        residual=float(np.abs(after - trace.rows[norm.after][-1].double().numpy()).max()),
    )  # fmt: skip


def dimension_table(result: Normalised) -> pd.DataFrame:
    """One row per dimension: before, divided by the root mean square, gain, after."""
    return pd.DataFrame(
        {
            "dimension": range(len(result.before)),
            "before": result.before,
            "divided": result.divided,
            "gain": result.gain,
            "after": result.after,
        }
    )


@dataclass(frozen=True, kw_only=True)
class Step:
    """One line of a calculation by hand: what is done, and the numbers that come out."""

    name: str
    values: tuple[float, ...]


def rms_norm_steps(x: Sequence[float], eps: float) -> tuple[Step, ...]:
    """RMSNorm without a gain, line by line; the last line is the result.    Zhang and Sennrich 2019"""
    squares = tuple(value * value for value in x)
    mean_square = math.fsum(squares) / len(x)
    root = math.sqrt(mean_square + eps)
    return (
        Step(name="x", values=tuple(x)),
        Step(name="square each", values=squares),
        Step(name="mean of the squares", values=(mean_square,)),
        Step(name="add eps, take the root", values=(root,)),
        Step(name="divide each by it", values=_divided(x, root)),
    )


def layer_norm_steps(x: Sequence[float], eps: float) -> tuple[Step, ...]:
    """LayerNorm without gain and shift, line by line; the last line is the result.    Ba et al. 2016"""
    mean = math.fsum(x) / len(x)
    centred = tuple(value - mean for value in x)
    squares = tuple(value * value for value in centred)
    variance = math.fsum(squares) / len(x)
    root = math.sqrt(variance + eps)
    return (
        Step(name="x", values=tuple(x)),
        Step(name="mean", values=(mean,)),
        Step(name="subtract it from each", values=centred),
        Step(name="square each", values=squares),
        Step(name="mean of the squares", values=(variance,)),
        Step(name="add eps, take the root", values=(root,)),
        Step(name="divide each by it", values=_divided(centred, root)),
    )


def _divided(x: Sequence[float], root: float) -> tuple[float, ...]:
    return tuple(value / root if root > 0 else 0.0 for value in x)


def steps_table(x: Sequence[float], eps: float) -> pd.DataFrame:
    """Both calculations: ``norm``, ``step``, and the numbers of the step in the columns from 0."""
    rows = [
        {"norm": norm, "step": step.name, **{str(place): value for place, value in enumerate(step.values)}}
        for norm, steps in (("RMSNorm", rms_norm_steps(x, eps)), ("LayerNorm", layer_norm_steps(x, eps)))
        for step in steps
    ]
    return pd.DataFrame(rows)


def cosine(x: Sequence[float], y: Sequence[float]) -> float:
    """The cosine of the angle between two vectors; NaN where one has no length."""
    length = math.hypot(*x) * math.hypot(*y)
    return math.fsum(a * b for a, b in zip(x, y, strict=True)) / length if length > 0 else math.nan


def size_after(rms: float, eps: float) -> float:
    """The root mean square of a normalised vector that had ``rms``: rms / sqrt(rms² + eps), 1 unless rms is tiny."""
    return rms / math.sqrt(rms * rms + eps)


def eps_curve(eps_values: Sequence[float], points: int = 121) -> pd.DataFrame:
    """``size_after`` for root mean squares from 1e-6 to 1e2. Columns: ``eps``, ``rms``, ``after``."""
    sizes = np.logspace(-6, 2, points)
    return pd.DataFrame(
        [{"eps": eps, "rms": rms, "after": size_after(rms, eps)} for eps in eps_values for rms in sizes.tolist()]
    )


@dataclass(frozen=True, kw_only=True)
class HalfCheck:
    """RMSNorm of the same numbers with the squares taken in float32 and in float16."""

    x: tuple[float, ...]
    squares: tuple[float, ...]
    in_float32: tuple[float, ...]
    in_float16: tuple[float, ...]


def half_check(x: Sequence[float], eps: float) -> HalfCheck:
    """What overflow in float16 does to RMSNorm: a square above 65,504 is infinite; what is divided by it, 0."""
    half = torch.tensor(x, dtype=torch.float16)
    wide = half.float()
    right = wide * (wide.pow(2).mean() + eps).rsqrt()
    squares = half.pow(2)
    wrong = half * (squares.mean() + eps).rsqrt()
    return HalfCheck(
        x=tuple(wide.tolist()),
        squares=tuple(squares.float().tolist()),
        in_float32=tuple(right.tolist()),
        in_float16=tuple(wrong.float().tolist()),
    )


def overflowing(vector: Vector) -> int:
    """How many numbers of ``vector`` have a square that float16 cannot hold."""
    return int((vector**2 > HALF_MAX).sum())
