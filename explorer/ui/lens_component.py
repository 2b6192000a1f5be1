"""The grid of the logit lens: one cell for every depth and token."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer.ui.attention_component import mark, packed
from explorer.ui.components import component

_LENS_GRID = component("lens_grid")
MOST_CELLS = 12_000


@dataclass(frozen=True, kw_only=True)
class LensCells:
    """What the cells (row, column) hold: the number of their label, how dark they are, a share and a measure.

    ``shades`` run from 1 to 255, 0 where nothing has been read yet.
    """

    names: NDArray[np.int64]
    shades: NDArray[np.uint8]
    shares: NDArray[np.float64]
    measures: NDArray[np.float64]


def lens_grid(
    cells: LensCells,
    *,
    labels: Sequence[str],
    rows: Sequence[str],
    columns: Sequence[str],
    first: int,
    measure: str,
    name: str,
    selected: tuple[int, int],
    on_pick: Callable[[int, int], None],
    key: str,
) -> None:
    """``cells`` with the token of each where it fits; a click or Enter calls ``on_pick(row, column)``.

    ``columns`` are the labels of the tokens from number ``first`` on; ``measure`` is the name of what is measured.
    """
    header = {
        "target": key, "name": name, "labels": list(labels), "rows": list(rows), "columns": list(columns),
        "first": first, "measure": measure,
    }  # fmt: skip
    parts = (
        cells.shares.astype("<f4"),
        cells.measures.astype("<f4"),
        cells.names.astype("<u2"),
        cells.shades.astype("u1"),
    )
    n_rows, n_columns = cells.shades.shape

    def picked() -> None:
        match st.session_state[key].picked:
            case [int(row), int(column)] if 0 <= row < n_rows and 0 <= column < n_columns:
                on_pick(row, column)

    _LENS_GRID(key=key, data=packed(header, b"".join(part.tobytes() for part in parts)), on_picked_change=picked)
    mark(key, row=selected[0], column=selected[1])
