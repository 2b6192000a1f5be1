"""What stands at the end of a page for those who want to know more: words, formula, shapes, and the code that ran."""

import streamlit as st

from explorer.architecture.blueprint import Blueprint, source_of
from explorer.architecture.prose import prose
from explorer.ui.words import literal


def details(
    blueprint: Blueprint, *, n_tokens: int, subject: str, formula: str, taps: tuple[str, ...], code: str
) -> None:
    """``subject`` names the prose, ``taps`` the tensors to list, ``code`` the class or function to show."""
    st.subheader("How it works", anchor=False)
    text, facts = st.columns([3, 2], gap="large")
    with text:
        st.markdown(prose(subject))
        st.latex(formula)
    with facts:
        st.markdown(f"**Shapes for these {n_tokens} tokens** in {literal(blueprint.config.name)}")
        for address in taps:
            axes = blueprint.shape(address, n_tokens)[1:]
            sizes = " × ".join(f"{size:,}" for _, size in axes)
            st.markdown(f"`{address}`  \n{sizes}  \n:small[{' × '.join(axis for axis, _ in axes)}]")
        with st.expander(f"The code that ran: {code.rpartition('.')[2]}", icon=":material/code:"):
            st.code(source_of(code), language="python")
