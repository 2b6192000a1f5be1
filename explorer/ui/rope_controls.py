"""Controls of the page about positions."""

import streamlit as st

from explorer.ui.state import bound

REACHES = (128, 1024)


def side_control() -> None:
    """Whether the arrows are a query's or a key's."""
    names = {"query": "query", "key": "key"}
    st.radio("Arrows of the", [*names], format_func=names.__getitem__, horizontal=True, **bound("side"))
    st.caption("Both are turned; values never are.")


def pairing_control() -> None:
    """In which order the numbers of a vector are drawn."""
    names = {"adjacent": "adjacent (2i, 2i+1)", "half": "half-split (i, i + d/2)"}
    st.radio("Order of the numbers", [*names], format_func=names.__getitem__, horizontal=True, **bound("pairing"))
    st.caption(
        "Which two numbers form a pair is a convention of the file. Weights read with the wrong one load without an "
        "error and give other scores: watch the marked pair move."
    )


def reach_control(context: int) -> None:
    """How far apart the query and the key are moved."""
    reaches = [*[reach for reach in REACHES if reach < context - 1], context - 1]
    st.radio("Distances up to", reaches, format_func="{:,}".format, horizontal=True, **bound("reach"))


def shift_control() -> None:
    """By how much both tokens are moved."""
    st.number_input("Move both by", min_value=0, max_value=1_000_000, step=100, **bound("shift"))
    st.caption("The vectors stay as they are; only the positions that turn them grow.")
