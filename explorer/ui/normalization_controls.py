"""Controls of the page about norms."""

import streamlit as st

from explorer.ui.state import bound

NORMS = {"attention": "before attention", "feed_forward": "before the feed-forward", "final": "the final norm"}


def norm_control() -> None:
    """Which of the model's norms the page looks at."""
    st.radio("Norm", [*NORMS], format_func=NORMS.__getitem__, horizontal=True, **bound("norm"))
    st.caption("Each layer has two, each with its own gain; one more stands after the last layer.")


def vector_control() -> None:
    """The small vector that is normalised by hand."""
    st.text_input("A small vector", **bound("vector"))
    st.caption("2 to 12 numbers with commas between them. Try 2,2,2, or 0,0,9, or 0.001,0.002.")
