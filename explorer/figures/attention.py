"""Bars of one cell of a map, dimension by dimension."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from explorer.figures.theme import ATTENTION, EMBEDDING, GRID, INK, MUTED, styled


def cell_bars(table: pd.DataFrame) -> go.Figure:
    """Query times key in every dimension, and below it the value that is read and what the weight leaves of it.

    ``table`` as from ``cell_table``. Neighbouring dimensions 2i and 2i+1 are turned together by RoPE.
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.16)
    dimensions = table["dimension"]
    figure.add_bar(
        x=dimensions, y=table["product"], row=1, col=1,
        marker={"color": [ATTENTION if product >= 0 else EMBEDDING for product in table["product"]]},
        customdata=table[["q", "k"]].round(5),
        hovertemplate="dimension %{x}<br>q %{customdata[0]} × k %{customdata[1]}<br>= %{y:.5g}<extra></extra>",
    )  # fmt: skip
    figure.add_bar(
        x=dimensions, y=table["v"], row=2, col=1, width=0.9, marker={"color": MUTED, "opacity": 0.45},
        hovertemplate="dimension %{x}<br>value %{y:.5g}<extra></extra>",
    )  # fmt: skip
    figure.add_bar(
        x=dimensions, y=table["contribution"], row=2, col=1, width=0.55, marker={"color": ATTENTION},
        hovertemplate="dimension %{x}<br>weight × value %{y:.5g}<extra></extra>",
    )  # fmt: skip
    figure = styled(figure, height=360)
    figure.update_layout(barmode="overlay", bargap=0.15)
    figure.update_yaxes(nticks=5, zeroline=True, zerolinecolor=GRID)
    figure.update_yaxes(title="q · k", row=1, col=1)
    figure.update_yaxes(title="value", row=2, col=1)
    figure.update_xaxes(title="dimension of the head", row=2, col=1, nticks=9, title_font_color=INK)
    return figure
