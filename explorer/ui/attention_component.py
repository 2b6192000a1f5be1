"""The pictures of attention: the grid of all heads, and one head's map.

The pictures are bytes that stay equal until the prompt or the head changes; what is selected travels apart from them.
"""

import json
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer.ui.components import component

_HEAD_GRID = component("head_grid")
_ATTENTION_MAP = component("attention_map")
_MARK = component("mark")

LARGEST_CODE = 65_535


def packed(header: Mapping[str, object], payload: bytes) -> bytes:
    """One message: the length of the header in four bytes, the header as JSON, the payload deflated."""
    text = json.dumps(header).encode()
    return struct.pack("<I", len(text)) + text + zlib.compress(payload, 6)


def mark(target: str, **says: object) -> None:
    """Tell the drawing ``target`` what is selected, without sending it again."""
    _MARK(key=f"{target}-mark", data={"target": target, **says}, height=1)


def head_grid(
    pixels: NDArray[np.uint8],
    *,
    name: str,
    selected: tuple[int, int],
    on_pick: Callable[[int, int], None],
    key: str,
    row_name: str = "",
    column_name: str = "",
    first: tuple[int, int] = (0, 0),
    largest: int = 44,
    tallest: int = 420,
) -> None:
    """Square pictures (row, column, size, size) of one byte a pixel; a click or Enter calls ``on_pick(row, column)``.

    ``first`` is the number of the first row and column, ``largest`` the side of a picture in CSS pixels at most,
    ``tallest`` the height of all of them.
    """
    rows, columns, size, _ = pixels.shape
    header = {
        "target": key, "name": name, "rows": rows, "columns": columns, "size": size, "row_name": row_name,
        "column_name": column_name, "first_row": first[0], "first_column": first[1], "largest": largest,
        "tallest": tallest,
    }  # fmt: skip

    def picked() -> None:
        match st.session_state[key].picked:
            case [int(row), int(column)] if 0 <= row < rows and 0 <= column < columns:
                on_pick(row, column)

    _HEAD_GRID(key=key, data=packed(header, pixels.tobytes()), on_picked_change=picked)
    mark(key, row=selected[0], column=selected[1])


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One side of a map: what each cell is called in a sentence, and the label that stands beside it."""

    names: Sequence[str]
    labels: Sequence[str]


def attention_map(
    weights: NDArray[np.float32],
    rows: Axis,
    columns: Axis,
    *,
    name: str,
    hint: str,
    selected: tuple[int, int],
    colour: str,
    on_pick: Callable[[int, int], None],
    key: str,
    ahead: int = 0,
    named: bool = True,
    verb: str = "reads",
    largest_cell: int = 60,
) -> None:
    """A square map (query, key); a click or Enter calls ``on_pick(query, key)`` with the cell.

    Column c of row r lies in the future where c > r + ``ahead``. Without ``named`` only a few labels stand along the
    sides. The strongest colour is the largest value. Values travel as 16-bit square roots: a share to within 0.00002.
    """
    most = float(weights.max()) or 1.0
    codes = np.rint(np.sqrt(weights.astype(np.float64) / most) * LARGEST_CODE).astype("<u2")
    header = {
        "target": key, "name": name, "hint": hint, "largest": most, "largest_cell": largest_cell, "ahead": ahead,
        "named": named, "verb": verb, "rows": list(rows.names), "columns": list(columns.names),
        "row_labels": list(rows.labels), "column_labels": list(columns.labels),
    }  # fmt: skip
    n_cells = len(weights)

    def picked() -> None:
        match st.session_state[key].picked:
            case [int(row), int(column)] if 0 <= row < n_cells and 0 <= column <= min(row + ahead, n_cells - 1):
                on_pick(row, column)

    _ATTENTION_MAP(key=key, data=packed(header, codes.tobytes()), on_picked_change=picked)
    mark(key, row=selected[0], column=selected[1], colour=colour)
