"""One head of one layer: its map, one cell of the map as arithmetic, and what the map leaves out.

Maps are computed from rotated queries and keys when they are looked at; none is kept.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.config import ModelConfig
from explorer.model.attention import pattern
from explorer.trace.trace import Trace

Map = NDArray[np.float32]  # (query, key)


def attention_taps(layer: int) -> frozenset[str]:
    """What one layer's attention is explained from."""
    names = ("rotated_query", "rotated_key", "value", "mixed")
    return frozenset(f"layers.{layer}.attention.tap.{name}" for name in names)


def kv_head(head: int, config: ModelConfig) -> int:
    """The key/value head that query head ``head`` reads: neighbours share, floor(head / group).

    Ainslie et al. 2023, "GQA"; ``repeat_interleave`` in Meta's code. Not head mod n_kv_heads.
    """
    return head // config.heads_per_kv_head


def group(head: int, config: ModelConfig) -> range:
    """The query heads that share a key/value head with ``head``."""
    first = kv_head(head, config) * config.heads_per_kv_head
    return range(first, first + config.heads_per_kv_head)


def _heads(trace: Trace, layer: int, head: int) -> tuple[Tensor, Tensor]:
    """The rotated queries of a head and the rotated keys that it reads, each (token, head_dim) in float32."""
    query = trace[f"layers.{layer}.attention.tap.rotated_query"]
    key = trace[f"layers.{layer}.attention.tap.rotated_key"]
    return query[head].float(), key[head // (len(query) // len(key))].float()


def _values(trace: Trace, layer: int, head: int) -> Tensor:
    """The value vectors that a head mixes, (token, head_dim) in float32."""
    query = trace[f"layers.{layer}.attention.tap.rotated_query"]
    value = trace[f"layers.{layer}.attention.tap.value"]
    return value[head // (len(query) // len(value))].float()


def head_pattern(trace: Trace, layer: int, head: int) -> Map:
    """How much every token reads of every other in one head: (query, key), rows add to 1, the future is 0."""
    query, key = _heads(trace, layer, head)
    weights: Map = pattern(query[None], key[None])[0].numpy()
    return weights


def without_first(weights: Map) -> Map:
    """``weights`` with the first token left out and each row scaled to add to 1 again.

    The first row, which reads nothing else, becomes zeros; so does a row that gives all it has to the first token.
    """
    rest = weights.copy()
    rest[:, 0] = 0
    total = rest.sum(axis=1, keepdims=True, dtype=np.float64)
    scaled: Map = np.divide(rest, total, out=np.zeros_like(rest), where=total > 1e-12)
    return scaled


def value_weighted(weights: Map, lengths: NDArray[np.float32]) -> Map:
    """Each weight times the length of what it fetches, so that attention to an empty value does not show.

    Kobayashi et al. 2020, "Attention is Not Only a Weight": the norm of weight times transformed value.
    ``lengths`` (key,) as from ``write_lengths``.
    """
    weighted: Map = weights * lengths[None, :]
    return weighted


def write_lengths(trace: Trace, layer: int, head: int, output: Tensor) -> NDArray[np.float32]:
    """The length of what each token's value adds to the stream through this head when it is read in full.

    ``output`` (d_model, head * head_dim) is the layer's ``attention.output.weight``. Returns (key,).
    """
    value = _values(trace, layer, head)
    columns = output[:, head * value.shape[1] : (head + 1) * value.shape[1]]  # (d_model, head_dim)
    lengths: NDArray[np.float32] = (value @ columns.T).norm(dim=-1).numpy()
    return lengths


def mixing_error(trace: Trace, layer: int, head: int, weights: Map) -> float:
    """How far the map times the values is from what the model's kernel mixed: the largest difference of an element."""
    mixed = trace[f"layers.{layer}.attention.tap.mixed"][head].float()
    return float((torch.from_numpy(weights) @ _values(trace, layer, head) - mixed).abs().max())


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The arithmetic of one cell of a map: from two vectors to a weight, and what the weight then fetches.

    ``products`` (head_dim,) are query times key, dimension by dimension, after rotation; ``dot`` is their sum,
    ``score`` that divided by √head_dim, ``normaliser`` the log of the sum of the exponentials of the row's scores;
    ``weight`` is exp(score - normaliser). ``value`` (head_dim,) is the vector read, ``contribution`` is that times the
    weight.
    """

    query: NDArray[np.float32]
    key: NDArray[np.float32]
    products: NDArray[np.float32]
    dot: float
    score: float
    normaliser: float
    weight: float
    value: NDArray[np.float32]
    contribution: NDArray[np.float32]


def cell(trace: Trace, layer: int, head: int, query_token: int, key_token: int) -> Cell:
    """The cell in which ``query_token`` reads ``key_token``, which must not lie in the future.

    Raises ``ValueError`` for one that does: its weight is 0 by the mask, not by arithmetic.
    """
    if key_token > query_token:
        raise ValueError(f"token {query_token} cannot read token {key_token}, which comes later")
    query, key = _heads(trace, layer, head)
    q, k, value = query[query_token], key[key_token], _values(trace, layer, head)[key_token]
    scores = (key[: query_token + 1] @ q) / math.sqrt(len(q))
    products = q * k
    dot = float(products.double().sum())
    score, normaliser = dot / math.sqrt(len(q)), float(scores.double().logsumexp(0))
    weight = math.exp(score - normaliser)
    return Cell(
        query=q.numpy(), key=k.numpy(), products=products.numpy(), dot=dot, score=score, normaliser=normaliser,
        weight=weight, value=value.numpy(), contribution=(value * weight).numpy(),
    )  # fmt: skip


def row_table(trace: Trace, layer: int, head: int, query_token: int, labels: Sequence[str]) -> pd.DataFrame:
    """What one token reads: a row per key with its score, its weight, and the weight without the first token.

    Columns ``key``, ``token``, ``distance`` back, ``score`` (before the softmax), ``weight``, ``weight_without_first``.
    """
    query, key = _heads(trace, layer, head)
    seen = query_token + 1
    scores = (key[:seen] @ query[query_token]) / math.sqrt(query.shape[1])
    weights = scores.softmax(0).numpy()
    rest = without_first(weights[None])[0]
    return pd.DataFrame(
        {
            "key": range(seen),
            "token": list(labels[:seen]),
            "distance": range(query_token, -1, -1),
            "score": scores.numpy(),
            "weight": weights,
            "weight_without_first": rest,
        }
    )


def cell_table(found: Cell) -> pd.DataFrame:
    """The dimensions of a cell: ``dimension``, ``q``, ``k``, ``product``, the value ``v`` and its ``contribution``."""
    return pd.DataFrame(
        {
            "dimension": range(len(found.products)),
            "q": found.query,
            "k": found.key,
            "product": found.products,
            "v": found.value,
            "contribution": found.contribution,
        }
    )


def cache_bytes(config: ModelConfig, n_tokens: int, n_kv_heads: int, element_bytes: int) -> int:
    """Bytes of the keys and values that are kept for ``n_tokens`` when ``n_kv_heads`` heads have their own.

    2 · layers · heads · head_dim · tokens · bytes of a number    Ainslie et al. 2023, "GQA"
    """
    return 2 * config.n_layers * n_kv_heads * config.head_dim * n_tokens * element_bytes


def pooled(weights: Map, most_cells: int) -> tuple[Map, list[range]]:
    """``weights`` in at most ``most_cells`` rows and columns, and the tokens that each of them stands for.

    A cell that stands for several tokens holds the largest weight among them.
    """
    n_tokens = len(weights)
    each = math.ceil(n_tokens / most_cells)
    starts = np.arange(0, n_tokens, each)
    small: Map = np.maximum.reduceat(np.maximum.reduceat(weights, starts, axis=0), starts, axis=1)
    return small, [range(start, min(start + each, n_tokens)) for start in starts.tolist()]


def strongest_key(weights: Map, query_token: int) -> int:
    """The token that ``query_token`` reads most; the nearest of equals."""
    row = weights[query_token, : query_token + 1]
    return query_token - int(row[::-1].argmax())


def entropies(weights: Map) -> NDArray[np.float64]:
    """How spread out each row of a map is, in nats: 0 for a single token, log n for n tokens alike."""
    return torch.special.entr(torch.from_numpy(weights)).sum(-1).double().numpy()


def element_bytes(trace: Trace, layer: int) -> int:
    """How many bytes one number of the model's keys and values takes in this run."""
    return trace[f"layers.{layer}.attention.tap.rotated_key"].element_size()
