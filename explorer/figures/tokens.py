"""Bars of how many tokens each vocabulary makes of a text."""

import math

import pandas as pd
import plotly.graph_objects as go

from explorer.figures.theme import EMBEDDING, MUTED, plain_all, styled

ROW_HEIGHT = 34


def count_bars(table: pd.DataFrame, selected: str) -> go.Figure:
    """The tokens of each vocabulary, the selected one in colour; ``table`` as from ``vocabulary_counts``."""
    rows = list(range(len(table)))
    names = plain_all(table["vocabulary"])
    figure = go.Figure()
    figure.add_bar(
        y=rows, x=table["tokens"], orientation="h", width=0.66,
        marker={"color": [EMBEDDING if name == selected else MUTED for name in table["vocabulary"]]},
        customdata=table[["characters_per_token", "bytes_per_token", "rows"]],
        hovertemplate="%{x:,} tokens<br>%{customdata[0]:.2f} characters and %{customdata[1]:.2f} bytes a token"
        "<br>%{customdata[2]:,} rows in the table<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        y=rows, x=table["tokens"], mode="text", textposition="middle right", cliponaxis=False, hoverinfo="skip",
        text=[
            f"  <b>{tokens:,}</b>" + ("" if math.isnan(each) else f" · {each:.2f}")
            for tokens, each in zip(table["tokens"], table["characters_per_token"], strict=True)
        ],
    )  # fmt: skip
    figure = styled(figure, height=ROW_HEIGHT * len(rows) + 56, x="tokens · characters per token")
    most = float(table["tokens"].max()) if rows else 1.0
    figure.update_xaxes(range=[0, max(most, 1.0) * 1.6], nticks=5, tickangle=0, tickformat=",d")
    figure.update_yaxes(
        tickvals=rows, ticktext=names, autorange=False, range=[len(rows) - 0.4, -0.6], showgrid=False,
        tickfont={"size": 13}, ticklabelstandoff=6,
    )  # fmt: skip
    return figure
