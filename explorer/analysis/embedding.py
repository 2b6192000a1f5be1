"""Rows of the embedding table: their numbers, lengths, angles, and sums."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.trace.embedding_rows import NearestRows, Vectors


def around(n_tokens: int, selected: int, most: int) -> slice:
    """At most ``most`` neighbouring places with the selected one among them."""
    start = max(0, min(selected - most // 2, n_tokens - most))
    return slice(start, min(n_tokens, start + most))


def row_table(
    vectors: Vectors, ids: Sequence[int], labels: Sequence[str], dimensions: range, first: int = 0
) -> pd.DataFrame:
    """One row per token: place, id, token, the length of its vector, and its values in the chosen dimensions.

    ``vectors`` (token, d_model), as the stream starts with them; ``first`` is the place of the first token.
    """
    values = vectors[:, dimensions.start : dimensions.stop].float().numpy()
    table = pd.DataFrame(
        {
            "place": range(first, first + len(ids)),
            "id": list(ids),
            "token": list(labels),
            "length": vectors.float().norm(dim=-1).numpy(),
        }
    )
    return pd.concat([table, pd.DataFrame(values, columns=[f"dimension {each}" for each in dimensions])], axis=1)


def value_table(vector: Tensor) -> pd.DataFrame:
    """One row per dimension of a vector (d_model,): its number and its value."""
    values = vector.float().numpy()
    return pd.DataFrame({"dimension": range(len(values)), "value": values})


def cosines(vectors: Vectors) -> NDArray[np.float32]:
    """The cosine of the angle between every two of some vectors: (token, token); 0 where one has no length."""
    vectors = vectors.float()
    directions = vectors / vectors.norm(dim=-1, keepdim=True).clamp_min(torch.finfo(torch.float32).tiny)
    product: NDArray[np.float32] = (directions @ directions.T).numpy()
    return product


def cosine_table(matrix: NDArray[np.float32], names: Sequence[str], first: int = 0) -> pd.DataFrame:
    """One row per pair of tokens, most similar first; ``first`` is the place of the first token."""
    left, right = np.triu_indices(len(matrix), k=1)
    named = np.array(names, dtype=object)
    table = pd.DataFrame(
        {
            "place": left + first,
            "token": named[left],
            "other place": right + first,
            "other token": named[right],
            "cosine": matrix[left, right],
        }
    )
    return table.sort_values("cosine", ascending=False, kind="stable", ignore_index=True)


def neighbour_table(nearest: NearestRows, label: Callable[[int], str], row: int = 0) -> pd.DataFrame:
    """The rows nearest to one vector: rank from 1, id, token (as ``label`` shows it), and cosine."""
    ids = nearest.ids[row].tolist()
    return pd.DataFrame(
        {
            "rank": range(1, len(ids) + 1),
            "id": ids,
            "token": [label(each) for each in ids],
            "cosine": nearest.cosines[row].tolist(),
        }
    )


def combined(rows: Vectors) -> Vectors:
    """a − b + c of three rows (3, d_model): (1, d_model)"""
    a, b, c = rows
    return (a - b + c)[None]
