"""Controls of the page about the residual stream."""

import streamlit as st

from explorer.ui.state import bound

MEASURES = {"l2": "L2 length", "rms": "root mean square"}


def measure_control() -> None:
    """How the size of a vector is measured."""
    st.radio("Size", [*MEASURES], format_func=MEASURES.__getitem__, horizontal=True, **bound("measure"))
    st.caption("The root mean square is the L2 length divided by the square root of the number of dimensions.")


def skip_first_control() -> None:
    """Whether the first token's line is drawn."""
    st.toggle("Hide the first token", **bound("skip_first"))
    st.caption("Takes its line away, so that the others have the room. It stays if it is the chosen one.")
