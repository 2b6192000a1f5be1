"""Controls of the embedding page."""

from collections.abc import Sequence

import streamlit as st

from explorer.tokenizer.tokenizer import Tokenizer
from explorer.ui.state import bound

MOST_DIMENSIONS = 64


def dimension_controls(d_model: int) -> None:
    """Which dimensions the table shows."""
    first, count = st.columns(2, gap="medium")
    with first:
        st.number_input("First dimension", min_value=0, max_value=d_model - 1, step=1, **bound("first_dimension"))
        st.caption(f"Any of the {d_model:,}; a click in the strips below chooses one as well.")
    with count:
        st.number_input("How many", min_value=1, max_value=MOST_DIMENSIONS, step=1, **bound("n_dimensions"))
        st.caption("How many dimensions the table shows.")


def term_controls() -> None:
    """The three tokens of a − b + c."""
    fields = {"a": "term_a", "− b": "term_b", "+ c": "term_c"}
    for column, (name, field) in zip(st.columns(3), fields.items(), strict=True):
        with column:
            st.text_input(name, max_chars=200, **bound(field))
    st.caption("Each must be one token. Most words are a token only with the space before them: that space counts.")


def chosen_terms(tokenizer: Tokenizer, texts: Sequence[str]) -> tuple[int, int, int] | None:
    """The ids of three texts that are one token each; None, and the reason on the page, where one is not."""
    ids = []
    for text in texts:
        cut = tokenizer.encode(text, bos=False).ids
        if len(cut) == 1:
            ids.append(cut[0])
            continue
        shown = " | ".join(tokenizer.label(each) for each in cut[:20])
        st.text(f"“{text}” is not one token but {len(cut)}: {shown}" if cut else "Nothing to add: one text is empty.")
    return (ids[0], ids[1], ids[2]) if len(ids) == len(texts) == 3 else None
