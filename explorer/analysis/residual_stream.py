"""How the residual stream grows through the layers, and the account of what was written into it."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from explorer.trace.trace import Trace

STREAM_NORMS = frozenset({"tap.embedded", "layers.*.tap.after_attention", "layers.*.tap.after_feed_forward"})
ACCOUNT_ROWS = STREAM_NORMS | {"layers.*.attention.tap.output", "layers.*.feed_forward.tap.output"}
GIANT = 30.0  # how many times the middle size of its vector's numbers a dimension must exceed to be named

Vectors = NDArray[np.float64]  # (depth, d_model)


def stream_norms(trace: Trace) -> pd.DataFrame:
    """The length of every token's residual vector after each sub-layer.

    One row per (depth, token): ``depth`` counts sub-layers, 0 is the embedding; ``layer`` is -1 there; ``after`` names
    the sub-layer; ``norm`` is the L2 length.
    Needs ``STREAM_NORMS`` among the trace's norms.
    """
    attention = trace.layer_norms("tap.after_attention")  # (layer, token)
    feed_forward = trace.layer_norms("tap.after_feed_forward")
    writes = torch.stack((attention, feed_forward), dim=1).flatten(0, 1)
    lengths = torch.cat((trace.norms["tap.embedded"][None], writes))  # (depth, token)
    wide = pd.DataFrame(lengths.numpy()).rename_axis(index="depth", columns="token")
    table = wide.stack().rename("norm").reset_index()
    table.insert(1, "layer", (table["depth"] + 1) // 2 - 1)
    table.insert(2, "after", table["depth"].map(sub_layer))
    return table


def as_rms(norms: pd.DataFrame, d_model: int) -> pd.DataFrame:
    """The same table with root mean squares in place of lengths: L2 / sqrt(d_model)."""
    return norms.assign(norm=norms["norm"] / math.sqrt(d_model))


def sub_layer(depth: int) -> str:
    """What was written last at ``depth``: the embedding at 0, then attention and feed-forward in turn."""
    if depth == 0:
        return "embedding"
    return "attention" if depth % 2 else "feed-forward"


def depth_name(depth: int) -> str:
    """``depth`` in words, such as "layer 3, after attention"."""
    return "the embedding" if depth == 0 else f"layer {(depth - 1) // 2}, after {sub_layer(depth)}"


@dataclass(frozen=True, kw_only=True)
class Jump:
    """The sub-layer that lengthens a token's vector the most, and by how many times."""

    depth: int
    times: float


def largest_jump(norms: pd.DataFrame, token: int) -> Jump:
    """Where the vector of ``token`` grows by the largest factor after the first layer; ``norms`` as ``stream_norms``.

    In the first layer every vector grows from the size of an embedding, which says nothing about a single token.
    """
    lengths = norms[norms["token"] == token].sort_values("depth")["norm"].to_numpy()
    first = min(2, len(lengths) - 1)
    growth = lengths[first + 1 :] / lengths[first:-1] if len(lengths) > first + 1 else np.ones(1)
    place = int(growth.argmax())
    return Jump(depth=first + 1 + place, times=float(growth[place]))


@dataclass(frozen=True, kw_only=True)
class Account:
    """One token's account book, in float64.

    ``stream`` (2 * layer + 1, d_model): after the embedding and after every sub-layer, as the model had it. ``writes``
    the same shape: the embedding, then what every sub-layer put out, read before it was added.
    """

    stream: Vectors
    writes: Vectors

    @property
    def final(self) -> NDArray[np.float64]:
        """The vector after the last layer, before the final norm."""
        return self.stream[-1]

    @property
    def residual(self) -> float:
        """The largest difference, in any dimension, between the sum of all writes and the final vector."""
        return float(np.abs(self.writes.sum(axis=0) - self.final).max())


def account(trace: Trace) -> Account:
    """The account of the scored token. Needs ``ACCOUNT_ROWS`` among the trace's rows."""
    embedded = trace.rows["tap.embedded"][-1:].double()

    def in_turn(attention: str, feed_forward: str) -> Vectors:
        pair = (trace.layer_rows(attention)[:, -1], trace.layer_rows(feed_forward)[:, -1])
        both: Vectors = torch.cat((embedded, torch.stack(pair, dim=1).flatten(0, 1).double())).numpy()
        return both

    return Account(
        stream=in_turn("tap.after_attention", "tap.after_feed_forward"),
        writes=in_turn("attention.tap.output", "feed_forward.tap.output"),
    )


def account_table(book: Account) -> pd.DataFrame:
    """One row per entry of the book, the embedding first.

    ``depth``, ``layer``, ``write`` (which sub-layer), ``length`` and ``rms`` of the stream after it, ``size`` of the
    write, ``share`` (size over the length of the stream before it), ``cosine`` between the write and the stream before
    it, and ``toward_final``: how far the write goes in the direction of the final vector; these add up to its length.
    """
    length, size = np.linalg.norm(book.stream, axis=1), np.linalg.norm(book.writes, axis=1)
    before, product = length[:-1], (book.writes[1:] * book.stream[:-1]).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share, cosine = size[1:] / before, product / (size[1:] * before)
        toward = book.writes @ book.final / length[-1]
    depth = np.arange(len(length))
    return pd.DataFrame(
        {
            "depth": depth,
            "layer": (depth + 1) // 2 - 1,
            "write": [sub_layer(int(each)) for each in depth],
            "length": length,
            "rms": length / math.sqrt(book.stream.shape[1]),
            "size": size,
            "share": [math.nan, *share],
            "cosine": [math.nan, *cosine],
            "toward_final": toward,
        }
    )


def depth_cosines(book: Account) -> Vectors:
    """Cosine between the stream at any two depths in layers: (layer + 1, layer + 1), the embedding first."""
    by_layer = book.stream[::2]
    length = np.linalg.norm(by_layer, axis=1, keepdims=True)
    unit = np.divide(by_layer, length, out=np.zeros_like(by_layer), where=length > 0)
    cosines: Vectors = unit @ unit.T
    return cosines


def giant_dimensions(stream: Vectors, most: int = 6) -> list[int]:
    """The few dimensions that stand out at some depth: over ``GIANT`` times the median size of their vector's numbers.

    Largest first, at most ``most``; the strongest value over all depths decides.
    """
    middle = np.median(np.abs(stream), axis=1, keepdims=True)
    times = np.divide(np.abs(stream), middle, out=np.zeros_like(stream), where=middle > 0)
    standing_out = np.flatnonzero(times.max(axis=0) > GIANT)
    strongest = np.abs(stream).max(axis=0)
    return sorted(standing_out.tolist(), key=lambda place: -strongest[place])[:most]


def largest_dimensions(vector: NDArray[np.float64], count: int = 12) -> pd.DataFrame:
    """The ``count`` numbers furthest from 0: ``dimension``, ``value``, and ``share`` of the squared length."""
    order = np.abs(vector).argsort(kind="stable")[::-1][:count]
    total = float((vector**2).sum())
    share = vector[order] ** 2 / total if total > 0 else np.zeros(len(order))
    return pd.DataFrame({"dimension": order, "value": vector[order], "share": share})
