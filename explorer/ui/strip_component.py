"""Signed numbers as pixels: one row, or a small matrix, whose values show under the pointer."""

import base64
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer.ui.components import component

_STRIP = component("strip")
MOST_CELLS = 40_000  # float32 in base64: about 210 KB


def strip(
    values: NDArray[np.floating] | Sequence[Sequence[float]],
    *,
    name: str,
    key: str,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    column: str = "dimension",
    unit: str = "",
    limit: float | None = None,
    middle: float = 0.0,
    scale: Literal["linear", "root", "log"] = "linear",
    marks: Sequence[tuple[int, str]] = (),
    height: int = 22,
    gutter: int = 96,
    hint: str = "",
    selected: tuple[int, int] = (-1, -1),
    on_pick: Callable[[int, int], None] | None = None,
) -> None:
    """``values`` (row, column), or (column,) for one row, as coloured cells.

    ``name`` says what is drawn, for those who cannot see it; ``column`` is the word for a column and ``columns`` their
    names, numbers without them. Colours are full at ``middle`` ± ``limit``, the largest distance unless given. The
    scale "root" lets them grow with the square root, so that small values show; "log" is for numbers above 0 and runs
    from the smallest to ``limit``. ``marks`` name columns, most important first: a
    mark that would cover an earlier one is left out. ``height`` is that of one row and ``gutter`` the width for their
    names, in pixels. ``selected`` is a row and a column, -1 for none. A click, or Enter, calls ``on_pick`` with the row
    and the column. Of more than ``MOST_CELLS`` cells, neighbouring columns are joined: the strongest is shown.
    """
    table = np.atleast_2d(np.asarray(values, dtype=np.float32))
    block = joined_columns(table)
    shown = strongest_of_blocks(table, block, middle)
    finite = np.abs(shown[np.isfinite(shown)] - middle)
    most = limit if limit is not None else float(finite.max(initial=0.0))
    above = shown[np.isfinite(shown) & (shown > 0)]

    def picked() -> None:
        cell = st.session_state[key].picked
        if on_pick is not None and isinstance(cell, list) and len(cell) == 2:
            on_pick(int(cell[0]), min(int(cell[1]) * block, table.shape[1] - 1))

    _STRIP(
        key=key,
        data={
            "name": name,
            "values": base64.b64encode(shown.astype("<f4").tobytes()).decode("ascii"),
            "shape": list(shown.shape),
            "rows": list(rows),
            "columns": list(columns[::block]),
            "column": column,
            "block": block,
            "unit": unit,
            "limit": most or 1.0,
            "middle": middle,
            "scale": scale,
            "low": float(above.min(initial=most)) if scale == "log" else 0.0,
            "marks": [(place // block, label) for place, label in marks],
            "height": height,
            "gutter": gutter if len(rows) else 0,
            "hint": hint,
            "selected": (selected[0], selected[1] // block if selected[1] >= 0 else -1),
            "picks": on_pick is not None,
        },
        on_picked_change=picked,
    )


def joined_columns(table: NDArray[np.float32]) -> int:
    """How many neighbouring columns share a cell so that no more than ``MOST_CELLS`` are sent."""
    return -(-table.size // MOST_CELLS) if table.size else 1


def strongest_of_blocks(table: NDArray[np.float32], block: int, middle: float) -> NDArray[np.float32]:
    """Of every ``block`` neighbouring columns the value furthest from ``middle``: no peak is lost."""
    if block == 1:
        return table
    rows, columns = table.shape
    padded = np.full((rows, -(-columns // block) * block), middle, dtype=np.float32)
    padded[:, :columns] = table
    blocks = padded.reshape(rows, -1, block)
    furthest = np.abs(blocks - middle).argmax(axis=-1)
    return np.take_along_axis(blocks, furthest[..., None], axis=-1)[..., 0]
