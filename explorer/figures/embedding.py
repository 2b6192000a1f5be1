"""Bars of the tokens nearest to a vector."""

from collections.abc import Collection

import pandas as pd
import plotly.graph_objects as go

from explorer.figures.theme import EMBEDDING, MUTED, plain_all, styled

ROW_HEIGHT = 26


def neighbour_bars(table: pd.DataFrame, given: Collection[int] = ()) -> go.Figure:
    """The cosine of each of the nearest rows, best first; those whose id is in ``given`` are grey and said to be.

    ``table`` as from ``neighbour_table``. Rows are placed by number, never by text: two tokens may look alike.
    """
    rows = list(range(len(table)))
    labels = plain_all(table["token"])
    is_given = [each in given for each in table["id"]]
    hover = [
        f"<b>{label}</b> id {id}<br>rank {rank}<br>cosine {cosine:.6f}"
        for label, id, rank, cosine in zip(labels, table["id"], table["rank"], table["cosine"], strict=True)
    ]
    figure = go.Figure()
    figure.add_bar(
        y=rows, x=table["cosine"], orientation="h", width=0.7, customdata=hover,
        marker={"color": [MUTED if each else EMBEDDING for each in is_given]},
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        y=rows, x=table["cosine"].clip(lower=0), mode="text", textposition="middle right", cliponaxis=False,
        text=[
            f"  {cosine:.3f}" + ("  given" if each else "")
            for cosine, each in zip(table["cosine"], is_given, strict=True)
        ],
        hoverinfo="skip",
    )  # fmt: skip
    figure = styled(figure, height=ROW_HEIGHT * len(rows) + 60, x="cosine")
    figure.update_layout(bargap=0.1)
    low = min(0.0, float(table["cosine"].min())) if rows else 0.0
    figure.update_xaxes(range=[low * 1.1, 1.3], tickvals=[0, 0.25, 0.5, 0.75, 1], tickangle=0)
    figure.update_yaxes(
        tickvals=rows, ticktext=labels, autorange=False, range=[len(rows) - 0.4, -0.6], showgrid=False,
        tickfont={"family": "JetBrains Mono, monospace", "size": 13}, ticklabelstandoff=6,
    )  # fmt: skip
    return figure
