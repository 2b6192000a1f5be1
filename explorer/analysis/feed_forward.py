"""One token through one layer's feed-forward: its neurons, what each adds, and how few of them carry the output.

A neuron is one of the d_ff positions between the two matrices: a row of the gate and of the up matrix, and a column of
the down matrix, its value row, which it adds to the stream times its product.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import silu

from explorer.trace.readout import Readout
from explorer.trace.trace import Trace


def feed_forward_taps(layer: int) -> frozenset[str]:
    """What one layer's feed-forward is explained from; the rest is worked out from the gate and up branches."""
    return frozenset(f"layers.{layer}.feed_forward.tap.{name}" for name in ("gate", "up", "output"))


def neuron_table(trace: Trace, layer: int, token: int, down: Tensor) -> pd.DataFrame:
    """All neurons of one token, in their order.

    Columns: ``neuron``, ``gate`` (before SiLU), ``silu_gate``, ``up``, ``product`` (silu_gate · up),
    ``length`` (L2 length of what it adds, |product| · |value row|) and ``share``: its part of the output's length, that
    is what it adds projected on the output's direction. Shares may be negative and add to 1.
    ``down`` (d_model, d_ff) is the layer's ``feed_forward.down.weight``.
    """
    gate, up = (trace[f"layers.{layer}.feed_forward.tap.{name}"][token].double() for name in ("gate", "up"))
    activated = silu(gate)
    product = activated * up
    down = down.double()
    output = down @ product
    along = (output @ down) * product / output.square().sum()
    return pd.DataFrame(
        {
            "neuron": range(len(gate)),
            "gate": gate.numpy(),
            "silu_gate": activated.numpy(),
            "up": up.numpy(),
            "product": product.numpy(),
            "length": (product.abs() * down.norm(dim=0)).numpy(),
            "share": along.numpy(),
        }
    )


def strongest(table: pd.DataFrame, count: int) -> pd.DataFrame:
    """The ``count`` neurons with the largest product, whatever its sign, largest first."""
    order = table["product"].abs().sort_values(ascending=False, kind="stable").index[:count]
    return table.loc[order].reset_index(drop=True)


def sum_error(trace: Trace, layer: int, token: int, table: pd.DataFrame, down: Tensor) -> float:
    """How far the sum of all that the neurons add is from what the layer wrote, relative to the length of that."""
    written = trace[f"layers.{layer}.feed_forward.tap.output"][token].double()
    added = down.double() @ torch.from_numpy(table["product"].to_numpy().copy())
    return float((added - written).norm() / written.norm())


def pushes(table: pd.DataFrame, down: Tensor, gain: Tensor) -> Tensor:
    """What the neurons of ``table`` add, as the unembedding will see it: (neuron, d_model) in float32.

    product · value row · gain of the final norm. The norm also divides by the length of the whole stream, one positive
    number for all tokens of the vocabulary: it scales the scores and leaves their order as it is.
    """
    product = torch.from_numpy(table["product"].to_numpy().copy()).float()
    return down[:, table["neuron"].tolist()].T * product[:, None] * gain


def with_readout(table: pd.DataFrame, readout: Readout, label: Callable[[int], str]) -> pd.DataFrame:
    """``table`` with ``promoted`` and ``suppressed``: the tokens whose scores each neuron raises and lowers most."""
    return table.assign(
        promoted=[[label(token) for token in ids] for ids in readout.top_ids.tolist()],
        suppressed=[[label(token) for token in ids] for ids in readout.bottom_ids.tolist()],
    )


def along_the_text(trace: Trace, layer: int, neuron: int) -> NDArray[np.float64]:
    """The product of one neuron at every token, (token,)."""
    gate, up = (trace[f"layers.{layer}.feed_forward.tap.{name}"][:, neuron].double() for name in ("gate", "up"))
    products: NDArray[np.float64] = (silu(gate) * up).numpy()
    return products


def quietness(trace: Trace, layer: int, thresholds: Sequence[float]) -> pd.DataFrame:
    """How many neurons stay below a threshold, over all tokens: ``threshold`` and ``share`` with |product| below it.

    SiLU is hardly ever exactly 0, so a neuron is not on or off, as with ReLU: it is quiet by a threshold.
    """
    gate, up = (trace[f"layers.{layer}.feed_forward.tap.{name}"].float() for name in ("gate", "up"))
    sizes = (silu(gate) * up).abs()
    shares = [float((sizes < threshold).double().mean()) for threshold in thresholds]
    return pd.DataFrame({"threshold": list(thresholds), "share": shares})


def needed_for(table: pd.DataFrame, down: Tensor) -> NDArray[np.float64]:
    """How near the sum of only the strongest neurons comes: relative error of the output after 0, 1, 2, … of them.

    The neurons are taken by the length of what they add, longest first. Returns (d_ff + 1,), from 1 down to 0.
    """
    order = np.argsort(-table["length"].to_numpy(), kind="stable")
    product = torch.from_numpy(table["product"].to_numpy()[order].copy())
    writes = down.double()[:, torch.from_numpy(order.copy())] * product  # (d_model, neuron)
    output = writes.sum(1, keepdim=True)
    rest = (output - writes.cumsum(1)).norm(dim=0) / output.norm()
    return np.concatenate([[1.0], rest.numpy()])
