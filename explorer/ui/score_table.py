"""A table that sorts by any column and whose rows open."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from explorer.ui.attention_component import mark
from explorer.ui.components import component

_SCORE_TABLE = component("score_table")

Entry = str | float | int | list[str] | None


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column: its title, what it means, and how its numbers look.

    ``bar`` draws a bar behind every number, full at that value or at the largest there is; ``size`` sorts by the size
    of a number whatever its sign.
    """

    title: str
    note: str = ""
    digits: int | None = None
    bar: float = 0.0
    size: bool = False

    def as_data(self) -> dict[str, object]:
        """What the drawing needs of it."""
        data: dict[str, object] = {"title": self.title, "note": self.note, "bar": self.bar, "size": self.size}
        return data if self.digits is None else data | {"digits": self.digits}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row: the ``id`` that its click reports, the ``name`` on its button, and a cell for every column."""

    id: str
    name: str
    cells: Sequence[Entry]


def score_table(
    columns: Sequence[Column],
    rows: Sequence[Row],
    *,
    name: str,
    sort: int,
    opened: str,
    tone: str,
    on_pick: Callable[[str], None],
    key: str,
) -> None:
    """``rows`` sorted by column ``sort``, largest first; a click on a row's name calls ``on_pick`` with its id."""
    ids = {row.id for row in rows}
    data = {
        "target": key,
        "name": name,
        "sort": sort,
        "tone": tone,
        "columns": [column.as_data() for column in columns],
        "rows": [{"id": row.id, "name": row.name, "cells": [_sendable(cell) for cell in row.cells]} for row in rows],
    }

    def picked() -> None:
        found = st.session_state[key].picked
        if found in ids:
            on_pick(found)

    _SCORE_TABLE(key=key, data=data, on_picked_change=picked)
    mark(key, row=opened)


def _sendable(cell: Entry) -> Entry:
    """A number without the digits that nobody sees; None for what is no number."""
    if not isinstance(cell, float):
        return cell
    return float(f"{cell:.5g}") if math.isfinite(cell) else None
