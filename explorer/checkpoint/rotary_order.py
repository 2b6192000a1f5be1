"""From Hugging Face's order of query and key rows to the one order that our RoPE turns.

Hugging Face pairs row i of a head with row i + head_dim / 2, Meta and llama.cpp's "llama" files pair rows 2i and
2i + 1. Everything that is computed per row moves along: weights, biases, and the gains of the norms over a head.
"""

import re

from torch import Tensor

from explorer.config import ModelConfig

PER_ROW = re.compile(r"attention\.(query|key)\.(?:weight|bias)$")
PER_DIMENSION = re.compile(r"attention\.(?:query|key)_norm\.gain$")


def adjacent_pairs(config: ModelConfig, parameter: str, tensor: Tensor) -> Tensor:
    """Our ``parameter`` of a model of ``config``, out of a ``tensor`` in half-split order; a copy if it is rotated."""
    rows = PER_ROW.search(parameter)
    if rows:
        return paired(tensor, config.n_heads if rows[1] == "query" else config.n_kv_heads)
    return paired(tensor, 1) if PER_DIMENSION.search(parameter) else tensor


def is_rotated(parameter: str) -> bool:
    """Whether the rows of our ``parameter`` belong to the pairs of the rotation."""
    return bool(PER_ROW.search(parameter) or PER_DIMENSION.search(parameter))


def paired(tensor: Tensor, n_heads: int) -> Tensor:
    """Rows (head * head_dim, ...) of the pairs (i, i + head_dim / 2) -> of the pairs (2i, 2i + 1)"""
    return tensor.unflatten(0, (n_heads, 2, -1)).transpose(1, 2).flatten(0, 2)
