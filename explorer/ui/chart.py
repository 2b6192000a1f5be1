"""A chart and what stands under it: words for those who cannot see it, its table, and the lines that reproduce it."""

import streamlit as st

from explorer.figures.theme import Figure
from explorer.ui.export import Table, csv_bytes

MOST_ROWS = 1_000
HIDDEN_BUTTONS = ["zoom2d", "pan2d", "select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "resetScale2d"]


def chart(figure: Figure, *, name: str, summary: str) -> None:
    """``figure``, with ``summary`` as its text alternative; ``name`` names the image that it exports."""
    config = {
        "displaylogo": False,
        "scrollZoom": False,
        "modeBarButtonsToRemove": HIDDEN_BUTTONS,
        "toImageButtonOptions": {"format": "svg", "filename": f"llama-explorer-{name}"},
    }
    st.plotly_chart(figure, key=name, width="stretch", config=config, alt=summary)


def numbers(table: Table, *, name: str, snippet: str) -> None:
    """The rows behind a chart, the first of them as a table and all as a file, and the code that prints them."""
    data, code = st.columns(2)
    with data.expander("Table of these numbers", icon=":material/table:"):
        st.dataframe(table.head(MOST_ROWS), hide_index=True, width="stretch", key=f"{name}-table")
        if len(table) > MOST_ROWS:
            st.caption(f"The first {MOST_ROWS:,} of {len(table):,} rows. The file has them all.")
        st.download_button(
            "Download as CSV",
            data=lambda: csv_bytes(table),
            file_name=f"llama-explorer-{name}.csv",
            mime="text/csv",
            icon=":material/download:",
            key=f"{name}-csv",
            on_click="ignore",
        )
    with code.expander("Reproduce these numbers", icon=":material/terminal:"):
        st.code(snippet, language="python")
