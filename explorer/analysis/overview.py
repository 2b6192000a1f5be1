"""The way of a prompt at a glance: a few numbers of each stage, small enough to draw at once."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.analysis.residual_stream import STREAM_NORMS
from explorer.trace.trace import Trace

OVERVIEW_TAPS = frozenset({"tap.embedded", "tap.logits"})
OVERVIEW_NORMS = STREAM_NORMS
STRIP_CELLS = 64
FIRST, LAST = 2, 6


@dataclass(frozen=True, kw_only=True)
class TokenRow:
    """One token on its way: ``embedding`` from -100 to 100 in each cell of its strip, ``lengths`` from 0 to 100."""

    place: int
    embedding: list[int]
    lengths: list[int]
    length: float


def shown_places(n_tokens: int) -> list[int | None]:
    """The places of the tokens that fit: the first and the last ones, None where some are left out."""
    if n_tokens <= FIRST + LAST + 1:
        return list(range(n_tokens))
    return [*range(FIRST), None, *range(n_tokens - LAST, n_tokens)]


def token_rows(trace: Trace) -> list[TokenRow | None]:
    """One row for each shown token.

    A strip cell is the value of largest size among its dimensions, relative to the largest of all shown; a length is on
    a log scale between the shortest and the longest of all shown.
    """
    places = shown_places(len(trace.token_ids))
    kept = [place for place in places if place is not None]
    cells = _strips(trace["tap.embedded"][kept].float())
    writes = trace.layer_norms("tap.after_feed_forward")[:, kept]
    lengths = torch.cat((trace.norms["tap.embedded"][None, kept], writes)).T  # (token, layer + 1)
    logs = lengths.clamp_min(1e-12).log()
    spread = max(float(logs.max() - logs.min()), 1e-9)
    heights = ((logs - logs.min()) / spread * 100).round().int()
    rows = {
        place: TokenRow(
            place=place, embedding=cells[at].tolist(), lengths=heights[at].tolist(), length=float(lengths[at, -1])
        )
        for at, place in enumerate(kept)
    }
    return [None if place is None else rows[place] for place in places]


def _strips(rows: Tensor) -> Tensor:
    width = math.ceil(rows.shape[1] / STRIP_CELLS)
    padded = torch.nn.functional.pad(rows, (0, width * STRIP_CELLS - rows.shape[1]))
    grouped = padded.unflatten(1, (STRIP_CELLS, width))
    largest = grouped.gather(2, grouped.abs().argmax(2, keepdim=True)).squeeze(2)
    return (largest / rows.abs().max().clamp_min(1e-12) * 100).round().int()
