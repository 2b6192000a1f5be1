"""One moment of byte-pair encoding as boxes, and the way through the moments."""

from collections.abc import Sequence

import streamlit as st

from explorer.ui import state
from explorer.ui.components import component

_MERGE_PARTS = component("merge_parts")


def merge_parts(
    labels: Sequence[str],
    ids: Sequence[int | None],
    ranks: Sequence[int | None],
    *,
    made: int,
    next_left: int,
    sentence: str,
    key: str,
) -> None:
    """The parts of a piece, and between them the ranks of the pairs that may join.

    ``made`` is the part that the last merge made, ``next_left`` the left one of the pair that joins next; -1 for none.
    """
    _MERGE_PARTS(
        key=key,
        data={
            "name": "Parts of the piece",
            "parts": list(labels),
            "ids": list(ids),
            "ranks": list(ranks),
            "made": made,
            "next": next_left,
            "sentence": sentence,
        },
    )


def merge_controls(taken: int, n_steps: int) -> None:
    """To the bytes, one merge back, one merge on, to the tokens."""
    ways = (
        ("Bytes", ":material/first_page:", 0),
        ("Back", ":material/chevron_left:", taken - 1),
        ("Next merge", ":material/chevron_right:", taken + 1),
        ("Tokens", ":material/last_page:", n_steps),
    )
    with st.container(horizontal=True):
        for label, icon, step in ways:
            st.button(
                label,
                icon=icon,
                key=f"merge-{label}",
                disabled=not 0 <= step <= n_steps or step == taken,
                on_click=lambda step=step: state.go(step=step),
            )
