"""All heads of a layer at once: the map of each at the size in which it is drawn, and what each attends to on average.

No map is ever whole: rows are computed in blocks, and of each block only its pooled pixels and its sums are kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.config import ModelConfig
from explorer.model.attention import pattern
from explorer.trace.trace import Trace

BLOCK_WEIGHTS = 1 << 22  # how many weights are in memory at a time
LEVELS = 15  # shades above nothing that a small map is drawn in
FLOAT32_BYTES = 4
MANY_HEADS = 1_200
SCAN_BYTES = 24 << 20  # queries and keys that are asked for at a time

Pixels = NDArray[np.uint8]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class HeadScan:
    """What is kept of some layers: ``pixels`` (layer, head, size, size), and numbers (layer, head) by their name."""

    pixels: Pixels
    scores: Mapping[str, Numbers]

    @property
    def n_bytes(self) -> int:
        """Bytes of all arrays."""
        return self.pixels.nbytes + sum(values.nbytes for values in self.scores.values())


def joined(scans: Sequence[HeadScan]) -> HeadScan:
    """Scans of neighbouring layers as one."""
    names = scans[0].scores
    return HeadScan(
        pixels=np.concatenate([scan.pixels for scan in scans]),
        scores={name: np.concatenate([scan.scores[name] for scan in scans]) for name in names},
    )


def thumbnail_size(config: ModelConfig) -> int:
    """Pixels of a map's side in the grid of all heads: fewer where there are very many heads."""
    return 32 if config.n_layers * config.n_heads <= MANY_HEADS else 16


def scan_taps(layers: Sequence[int]) -> frozenset[str]:
    """What ``scan`` and ``repeat_scan`` need of these layers."""
    names = ("rotated_query", "rotated_key")
    return frozenset(f"layers.{layer}.attention.tap.{name}" for layer in layers for name in names)


def scan_batches(config: ModelConfig, n_tokens: int) -> list[range]:
    """The layers in groups whose queries and keys together stay below ``SCAN_BYTES``, at least one in each."""
    layer_bytes = (config.n_heads + config.n_kv_heads) * config.head_dim * n_tokens * FLOAT32_BYTES
    step = max(1, SCAN_BYTES // layer_bytes)
    return [range(first, min(first + step, config.n_layers)) for first in range(0, config.n_layers, step)]


def scan(trace: Trace, layers: Sequence[int], size: int) -> HeadScan:
    """The pixels and the scores of every head of some layers, on the tokens of ``trace``.

    ``pixels`` hold 16 levels of the square root of the weight, as 0 to 255; a pixel that covers several tokens shows
    the largest weight, so that a thin line stays visible. Scores are means over the queries after the first, which
    can only read itself, and are NaN for a prompt of one token:
    ``entropy`` (nats), ``distance`` (tokens back), ``first`` (share on the first token), ``previous`` (share on the
    token before), ``itself``. ``previous_of_rest`` is the share on the token before of what is not on the first.
    """
    found = [_scan_layer(trace, layer, size) for layer in layers]
    return HeadScan(pixels=np.stack([pixels for pixels, _ in found]), scores=_stacked([scores for _, scores in found]))


def repeat_scan(trace: Trace, layers: Sequence[int]) -> HeadScan:
    """How much every head of some layers reads of earlier copies of a token, and of what came after them. No pixels.

    ``induction``: from a token that occurred before, the share on the tokens that followed its earlier occurrences,
    summed over these and averaged over all such queries (prefix matching, Olsson et al. 2022, "In-context Learning and
    Induction Heads"). ``same_token``: likewise the share on the earlier occurrences themselves (Wang et al. 2022,
    "Interpretability in the Wild"). ``…_of_rest``: the share of all that is not on the first token, whose share of
    attention is 1 - ``beyond_first``. NaN when no token occurs twice.
    """
    scores = [_repeat_scores(trace, layer) for layer in layers]
    n_heads = len(scores[0]["induction"])
    return HeadScan(pixels=np.zeros((len(scores), n_heads, 0, 0), np.uint8), scores=_stacked(scores))


def drawn_map(weights: NDArray[np.float32], size: int) -> Pixels:
    """The pixels (size, size) of one map (query, key), as in ``scan``."""
    edges = _edges(len(weights), size)
    return _drawn(np.maximum.reduceat(np.maximum.reduceat(weights, edges, axis=0), edges, axis=1), size)


def _edges(n_tokens: int, size: int) -> NDArray[np.int64]:
    """The first token of every drawn row and column."""
    cells = min(size, n_tokens)
    return np.arange(cells) * n_tokens // cells


def _drawn(pooled: NDArray[np.float32], size: int) -> Pixels:
    """Shares (..., cell, cell) as levels (..., size, size); fewer cells than pixels are enlarged."""
    enlarge = np.arange(size) * pooled.shape[-1] // size
    levels: Pixels = np.rint(np.sqrt(pooled) * LEVELS).astype(np.uint8) * np.uint8(255 // LEVELS)
    return levels[..., enlarge, :][..., enlarge]


def _scan_layer(trace: Trace, layer: int, size: int) -> tuple[Pixels, dict[str, Numbers]]:
    n_tokens = len(trace.token_ids)
    query, key = _query_and_key(trace, layer)
    edges = _edges(n_tokens, size)
    pixels = np.zeros((len(query), len(edges), len(edges)), np.float32)
    sums: dict[str, Tensor] = {}
    for drawn, start, weights in _blocks(query, key, edges):
        stop = start + weights.shape[1]
        columns = edges[edges < stop]
        rows = edges[drawn.start : drawn.stop] - start
        wide = np.maximum.reduceat(weights.numpy(), rows, axis=1)  # rows first: what is left is then small
        pixels[:, drawn.start : drawn.stop, : len(columns)] = np.maximum.reduceat(wide, columns, axis=2)
        for name, values in _row_sums(weights, start).items():
            sums[name] = sums.get(name, torch.zeros(len(query), dtype=torch.float64)) + values
    return _drawn(pixels, size), _means(sums, n_tokens)


def _repeat_scores(trace: Trace, layer: int) -> dict[str, Numbers]:
    ids = torch.tensor(trace.token_ids)
    query, key = _query_and_key(trace, layer)
    copies = (ids[:, None] == ids[None, :]).tril(-1)  # (query, earlier token alike)
    asked = copies.any(1)
    followers = copies.roll(1, 1)
    followers[:, 0] = False
    names = ("induction", "same_token", "same_token_beyond", "beyond_first")
    found = {name: torch.zeros(len(query), dtype=torch.float64) for name in names}
    for _, start, weights in _blocks(query, key, np.arange(len(ids))):
        rows, seen = slice(start, start + weights.shape[1]), weights.shape[2]
        chosen = asked[rows].double()
        on_first = weights[:, :, 0].double()
        on_copies = (weights * copies[rows, :seen]).sum(-1).double()
        found["induction"] += ((weights * followers[rows, :seen]).sum(-1).double() * chosen).sum(-1)
        found["same_token"] += (on_copies * chosen).sum(-1)
        found["same_token_beyond"] += ((on_copies - on_first * copies[rows, 0]) * chosen).sum(-1)
        found["beyond_first"] += ((1 - on_first) * chosen).sum(-1)
    count = int(asked.sum()) or float("nan")
    scores = {name: (found[name] / count).numpy() for name in ("induction", "same_token", "beyond_first")}
    return scores | {
        "induction_of_rest": _ratio(found["induction"], found["beyond_first"]),
        "same_token_of_rest": _ratio(found["same_token_beyond"], found["beyond_first"]),
    }


def _stacked(layers: Sequence[Mapping[str, Numbers]]) -> dict[str, Numbers]:
    return {name: np.stack([scores[name] for scores in layers]) for name in layers[0]}


def _query_and_key(trace: Trace, layer: int) -> tuple[Tensor, Tensor]:
    where = f"layers.{layer}.attention.tap"
    return trace[f"{where}.rotated_query"].float(), trace[f"{where}.rotated_key"].float()


def _blocks(query: Tensor, key: Tensor, edges: NDArray[np.int64]) -> Iterator[tuple[range, int, Tensor]]:
    """The maps of all heads (head, row, key) a few rows at a time, with the drawn rows and the first row of each."""
    n_heads, n_tokens = query.shape[:2]
    stops = [*edges[1:], n_tokens]
    first = 0
    while first < len(edges):
        last = first + 1
        while last < len(edges) and n_heads * (stops[last] - edges[first]) * stops[last] <= BLOCK_WEIGHTS:
            last += 1
        start, stop = int(edges[first]), int(stops[last - 1])
        yield range(first, last), start, pattern(query[:, start:stop], key[:, :stop])
        first = last


def _row_sums(weights: Tensor, start: int) -> dict[str, Tensor]:
    """Sums over the rows of a block, without the very first row; weights (head, row, key) -> (head,) in float64."""
    rows, seen = weights.shape[1:]
    at = torch.arange(start, start + rows)
    counted = (at > 0).double()
    entropy = torch.special.entr(weights).sum(-1).double()
    distance = at.double() - (weights @ torch.arange(seen, dtype=torch.float32)).double()
    before = weights[:, torch.arange(rows), (at - 1).clamp(min=0)].double()
    beyond = counted * (at > 1).double()  # the second token's predecessor is the first token itself
    each_row = {
        "entropy": entropy * counted,
        "distance": distance * counted,
        "first": weights[:, :, 0].double() * counted,
        "previous": before * counted,
        "itself": weights[:, torch.arange(rows), at].double() * counted,
        "previous_beyond": before * beyond,
        "rest_beyond": (1 - weights[:, :, 0].double()) * beyond,
    }
    return {name: values.sum(-1) for name, values in each_row.items()}


def _means(sums: Mapping[str, Tensor], n_tokens: int) -> dict[str, Numbers]:
    count = n_tokens - 1 or float("nan")
    scores = {name: (sums[name] / count).numpy() for name in ("entropy", "distance", "first", "previous", "itself")}
    return scores | {"previous_of_rest": _ratio(sums["previous_beyond"], sums["rest_beyond"])}


def _ratio(part: Tensor, whole: Tensor) -> Numbers:
    """Part of whole; NaN where there is (nearly) nothing to share."""
    return torch.where(whole > 1e-9, part / whole, torch.nan).numpy()
