"""What the model would say after every layer, laid out as a grid and as lines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from explorer.trace.lens import Lens

UNREAD = -1


@dataclass(frozen=True, kw_only=True)
class LensGrid:
    """Readings (depth, column), as far as they are there; ``top_ids`` is ``UNREAD`` and the rest NaN where not.

    ``rank`` is that of the model's final answer for the same token, 1 where the reading already says the same.
    """

    top_ids: NDArray[np.int64]
    p: NDArray[np.float64]
    rank: NDArray[np.float64]
    entropy: NDArray[np.float64]
    kl: NDArray[np.float64]


def lens_grid(read: Sequence[Lens], columns: range) -> LensGrid:
    """The grid of the tokens ``columns`` from whatever of them has been ``read``."""
    depths = read[0].top_ids.shape[0]
    empty = np.full((depths, len(columns)), np.nan)
    grid = LensGrid(
        top_ids=np.full(empty.shape, UNREAD), p=empty.copy(), rank=empty.copy(), entropy=empty.copy(), kl=empty.copy()
    )
    for part in read:
        for place, token in enumerate(part.tokens):
            if token in columns:
                column = columns.index(token)
                grid.top_ids[:, column] = part.top_ids[:, place, 0].numpy()
                grid.p[:, column] = part.top_p[:, place, 0].numpy()
                grid.rank[:, column] = part.answer_ranks[:, place].numpy()
                grid.entropy[:, column] = part.entropy[:, place].numpy()
                grid.kl[:, column] = part.divergence[:, place].numpy()
    return grid


def lens_rows(grid: LensGrid, columns: range, label: Callable[[int], str]) -> pd.DataFrame:
    """One row for every reading that is there: ``depth`` (0 is the embedding), ``token``, its top, and the rest."""
    depth, column = np.nonzero(grid.top_ids != UNREAD)
    ids = grid.top_ids[depth, column]
    return pd.DataFrame(
        {
            "depth": depth,
            "token": [columns[each] for each in column],
            "top_id": ids,
            "top": [label(int(each)) for each in ids],
            "p": grid.p[depth, column],
            "entropy_nats": grid.entropy[depth, column],
            "rank_of_answer": grid.rank[depth, column].astype(int),
            "kl_nats": grid.kl[depth, column],
        }
    )


def depth_rows(lens: Lens, bare: Lens, label: Callable[[int], str]) -> pd.DataFrame:
    """One token through the depths: ``lens`` read it after the final norm, ``bare`` without; the first token of each.

    ``depth``, ``top`` and ``p``, ``top_without_norm`` and ``p_without_norm``, ``entropy_nats``, ``kl_nats``, and of the
    first watched token ``watched_p``, ``watched_rank``, ``watched_p_without_norm`` and ``watched_score``.
    """
    return pd.DataFrame(
        {
            "depth": range(len(lens.top_ids)),
            "top": [label(each) for each in lens.top_ids[:, 0, 0].tolist()],
            "p": lens.top_p[:, 0, 0].tolist(),
            "top_without_norm": [label(each) for each in bare.top_ids[:, 0, 0].tolist()],
            "p_without_norm": bare.top_p[:, 0, 0].tolist(),
            "entropy_nats": lens.entropy[:, 0].tolist(),
            "kl_nats": lens.divergence[:, 0].tolist(),
            "watched_p": lens.watched_p[:, 0, 0].tolist(),
            "watched_rank": lens.watched_ranks[:, 0, 0].tolist(),
            "watched_p_without_norm": bare.watched_p[:, 0, 0].tolist(),
            "watched_score": lens.watched_scores[:, 0, 0].tolist(),
        }
    )


def reading(lens: Lens, depth: int, label: Callable[[int], str]) -> pd.DataFrame:
    """The likeliest tokens of the first token's reading at ``depth``: ``rank``, ``id``, ``token``, ``p``."""
    ids = lens.top_ids[depth, 0].tolist()
    return pd.DataFrame(
        {
            "rank": range(1, len(ids) + 1),
            "id": ids,
            "token": [label(each) for each in ids],
            "p": lens.top_p[depth, 0].tolist(),
        }
    )


def lens_depth_name(depth: int) -> str:
    """``depth`` in words: "embedding", then "layer 0" for what the first layer leaves."""
    return "embedding" if depth == 0 else f"layer {depth - 1}"
