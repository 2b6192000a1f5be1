"""Which writes into the stream raised a token's score, and which lowered it.

The final norm divides by the root mean square of the final vector. Held at that value ("frozen"), the norm and the
unembedding are linear, so the score is the sum of what the embedding and every write contribute on their own. Elhage
et al. 2021, "A Mathematical Framework for Transformer Circuits", call this direct logit attribution.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from explorer.analysis.residual_stream import ACCOUNT_ROWS, Account, sub_layer
from explorer.trace.trace import Trace

Vector = NDArray[np.float64]  # (d_model,)
Heads: TypeAlias = pd.DataFrame  # as from ``head_parts``


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """The parts of a score, or of the difference of two, in float64.

    ``parts``: ``depth`` (0 is the embedding), ``layer`` (-1 there), ``part`` ("embedding", "attention",
    "feed-forward") and ``contribution``. ``logit`` is what the model itself computed; ``residual`` how far the sum of
    the parts is from it. ``direction`` (d_model,): a vector times it is that vector's contribution.
    """

    parts: pd.DataFrame
    logit: float
    direction: Vector

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return float(self.parts["contribution"].sum())

    @property
    def residual(self) -> float:
        """The model's own number minus the sum."""
        return self.logit - self.total


def attribution_rows(layer: int) -> frozenset[str]:
    """What a trace must keep of the scored token to attribute its score, down to the heads of ``layer``."""
    return ACCOUNT_ROWS | {f"layers.{layer}.attention.tap.mixed"}


def attribution(book: Account, gain: Tensor, eps: float, rows: Tensor, logit: float) -> Attribution:
    """The parts of ``logit``, the score of the token of the unembedding row ``rows[0]``, less that of ``rows[1]``.

    ``gain`` (d_model,) and ``eps`` are the final norm's; ``rows`` (1 or 2, d_model).
    """
    wide = rows.double().numpy()
    scale = 1.0 / np.sqrt((book.final**2).mean() + eps)
    direction: Vector = (wide[0] - wide[1] if len(wide) > 1 else wide[0]) * gain.double().numpy() * scale
    depth = np.arange(len(book.writes))
    parts = pd.DataFrame(
        {
            "depth": depth,
            "layer": (depth + 1) // 2 - 1,
            "part": [sub_layer(int(each)) for each in depth],
            "contribution": book.writes @ direction,
        }
    )
    return Attribution(parts=parts, logit=logit, direction=direction)


def head_parts(trace: Trace, layer: int, output: Tensor, direction: Vector) -> Heads:
    """How the heads of ``layer`` share its attention's contribution: ``head`` and ``contribution``.

    A head's write is its mixed values times its columns of ``output`` (d_model, head * head_dim). Needs
    ``attribution_rows(layer)``.
    """
    mixed = trace.rows[f"layers.{layer}.attention.tap.mixed"][:, -1].double().numpy()  # (head, head_dim)
    columns = output.double().numpy().reshape(len(direction), *mixed.shape)  # (d_model, head, head_dim)
    share = np.einsum("hk,dhk,d->h", mixed, columns, direction, optimize=True)
    return pd.DataFrame({"head": range(len(mixed)), "contribution": share})


def by_layer(parts: pd.DataFrame) -> pd.DataFrame:
    """One row per layer: ``layer``, ``attention`` and ``feed-forward``, and ``so_far``, the sum up to and with it."""
    embedding = float(parts["contribution"].iloc[0])
    table = parts.iloc[1:].pivot(index="layer", columns="part", values="contribution").reset_index()
    table.columns.name = None
    table["so_far"] = embedding + (table["attention"] + table["feed-forward"]).cumsum()
    return table
