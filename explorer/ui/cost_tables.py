"""Tables and words of the cost page."""

from collections.abc import Sequence

import streamlit as st

from explorer.architecture.blueprint import source_of
from explorer.architecture.prose import prose
from explorer.ui.export import Table

WHOLE, TWO_DIGITS, SHARE = "localized", "%.4g", "percent"
FORMATS = {
    "each": WHOLE,
    "parameters": WHOLE,
    "operations": WHOLE,
    "Parameters": WHOLE,
    "Active": WHOLE,
    "Without embeddings": WHOLE,
    "One block": WHOLE,
    "Equal at": WHOLE,
    "share": SHARE,
    "12·L·d² is off by": SHARE,
    "Feed-forward of it": SHARE,
}
UNITS = ("GFLOPs", "GiB", "KiB", "GB", "attention at", "÷")
FORMULAS = (
    r"N = \textstyle\sum_{\text{tensors}} \text{numbers}",
    r"C = 2 \textstyle\sum_{\text{matrices}} \text{numbers} + 4 L H h\, n",
    r"M = 2 L G h\, n\, b",
    r"t \ge \max\!\left( \frac{\text{bytes}}{\text{bytes/s}}, \frac{\text{operations}}{\text{FLOP/s}} \right)",
)
CODE = "explorer.architecture.cost.attention_operations", "explorer.architecture.parameters.parameter_count"


def matrices(table: Table) -> None:
    """Every learned tensor, as from ``analysis.cost.matrix_table``."""
    _formatted(table, key="matrices")


def side_by_side(table: Table) -> None:
    """All models, as from ``analysis.cost.model_table``; a click on a column's head sorts."""
    _formatted(table, key="models")


def claim_list(claims: Sequence[tuple[str, str, str]]) -> None:
    """What is said, the number that answers it, and why."""
    for place, (says, number, because) in enumerate(claims):
        if place % 2 == 0:
            sides = st.columns(2, gap="medium")
        with sides[place % 2].container(border=True, key=f"claim-{place}", height="stretch"):
            st.caption(f"“{says}”")
            st.markdown(f"**{number}** {because}")


def details_of_counting() -> None:
    """Words, formulas and the code that counted."""
    st.subheader("How it works", anchor=False)
    words, code = st.columns([3, 2], gap="large")
    with words:
        st.markdown(prose("cost"))
    with code:
        for formula in FORMULAS:
            st.latex(formula)
        st.caption(
            "N parameters, C operations of the newest of n tokens, M bytes of the cache, t seconds. L layers, H query "
            "heads, G key/value heads, h numbers in a head, b bytes for a number."
        )
        for name in CODE:
            with st.expander(f"The code that ran: {name.rpartition('.')[2]}", icon=":material/code:"):
                st.code(source_of(name), language="python")


def _formatted(table: Table, *, key: str) -> None:
    columns = {
        str(name): st.column_config.NumberColumn(format=FORMATS.get(str(name), TWO_DIGITS))
        for name in table.columns
        if str(name) in FORMATS or any(unit in str(name) for unit in UNITS)
    }
    st.dataframe(table, hide_index=True, width="stretch", height="content", key=key, column_config=columns)
