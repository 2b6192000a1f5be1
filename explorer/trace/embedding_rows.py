"""The embedding table as a whole: which rows point where a vector points, and the look-up as the product that it is.

A table may have more numbers than fit into memory twice, so it is read in blocks of rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from explorer.model.llama import Llama

Vectors = Tensor  # (vector, d_model)

BLOCK_ROWS = 8192
_lengths: WeakKeyDictionary[Llama, Tensor] = WeakKeyDictionary()


@dataclass(frozen=True, kw_only=True)
class NearestRows:
    """For each of some vectors the rows of the embedding with the most similar direction, most similar first.

    ``ids`` and ``cosines`` are (vector, count); ``shorter`` (vector,) is the share of all rows that are shorter than
    the vector; ``n_rows`` is how many were compared.
    """

    ids: Tensor
    cosines: Tensor
    shorter: Tensor
    n_rows: int

    @property
    def n_bytes(self) -> int:
        """Bytes of all its arrays."""
        return sum(part.nbytes for part in (self.ids, self.cosines, self.shorter))


def nearest_rows(model: Llama, vectors: Vectors, *, count: int) -> NearestRows:
    """The ``count`` rows nearest to each of ``vectors`` (vector, d_model) by cosine; the lower id first at a tie.

    A row of zeros has no direction: its cosine is 0. In float32; what depends on the model alone is kept.
    """
    lengths = row_lengths(model)
    vectors = vectors.to(device=lengths.device, dtype=torch.float32)
    with torch.inference_mode():
        directions = _directions(vectors, vectors.norm(dim=-1))
        best = directions.new_zeros(len(vectors), 0)
        ids = torch.zeros(len(vectors), 0, dtype=torch.int64, device=lengths.device)
        for start, rows in _blocks(model):
            cosines = directions @ _directions(rows, lengths[start : start + len(rows)]).T
            places = torch.arange(start, start + len(rows), device=ids.device).expand(len(vectors), -1)
            best, order = torch.cat((best, cosines), dim=-1).sort(dim=-1, descending=True, stable=True)
            ids = torch.cat((ids, places), dim=-1).gather(-1, order)[:, :count]
            best = best[:, :count]
        shorter = (lengths < vectors.norm(dim=-1)[:, None]).float().mean(dim=-1)
    return NearestRows(ids=ids.cpu(), cosines=best.cpu(), shorter=shorter.cpu(), n_rows=len(lengths))


def row_lengths(model: Llama) -> Tensor:
    """The L2 length of every row of the embedding, (vocab,), on the model's device: computed once for a model."""
    if model not in _lengths:
        with torch.inference_mode():
            _lengths[model] = torch.cat([rows.norm(dim=-1) for _, rows in _blocks(model)])
    return _lengths[model]


def one_hot_product(model: Llama, token_id: int) -> Tensor:
    """A vector that is 1 at ``token_id`` and 0 elsewhere, times the embedding matrix: (d_model,), multiplied out."""
    weight = model.embedding.weight
    with torch.inference_mode():
        hot = one_hot(torch.tensor(token_id), weight.shape[0]).to(device=weight.device, dtype=torch.float32)
        total = torch.zeros(weight.shape[1], device=weight.device)
        for start, rows in _blocks(model):
            total += hot[start : start + len(rows)] @ rows
    return total.cpu()


def _blocks(model: Llama) -> Iterator[tuple[int, Tensor]]:
    start = 0
    for rows in model.embedding.weight.detach().split(BLOCK_ROWS):
        yield start, rows.float()
        start += len(rows)


def _directions(vectors: Tensor, lengths: Tensor) -> Tensor:
    return vectors / lengths.clamp_min(torch.finfo(torch.float32).tiny)[:, None]
