"""Pictures of what was written into one token's vector."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from explorer.figures.theme import ATTENTION, EMBEDDING, FEED_FORWARD, INK, MUTED, RESIDUAL, styled

COLOURS = {"embedding": EMBEDDING, "attention": ATTENTION, "feed-forward": FEED_FORWARD}
SYMBOLS = {"attention": "circle", "feed-forward": "diamond"}


def write_marks(table: pd.DataFrame, height: int = 460) -> go.Figure:
    """The size of every write relative to the stream (log axis), and the cosine between both, layer by layer.

    ``table`` as from ``account_table``; the embedding, which is written into nothing, is left out.
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.09, row_heights=[0.55, 0.45])
    for row, column in ((1, "share"), (2, "cosine")):
        for write, symbol in SYMBOLS.items():
            rows = table[table["write"] == write]
            figure.add_scatter(
                x=rows["depth"] / 2, y=rows[column], mode="lines+markers", name=write, legendgroup=write,
                showlegend=row == 1, row=row, col=1, customdata=rows[["layer", "share", "cosine", "size"]],
                line={"color": COLOURS[write], "width": 1}, marker={"size": 8, "symbol": symbol},
                hovertemplate=(
                    f"{write} of layer %{{customdata[0]}}<br>length %{{customdata[3]:.4g}}, "
                    "%{customdata[1]:.3g} of the stream<br>cosine %{customdata[2]:.3f}<extra></extra>"
                ),
            )  # fmt: skip
    figure = styled(figure, height=height)
    figure.add_hline(y=1, line={"color": INK, "width": 1, "dash": "dash"}, row=1, col=1)
    figure.add_hline(y=0, line={"color": INK, "width": 1}, row=2, col=1)
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.12, "x": 0})
    figure.update_yaxes(type="log", title_text="write ÷ stream (log)", dtick=1, exponentformat="power", row=1, col=1)
    figure.update_yaxes(range=[-1.08, 1.08], title_text="cosine", tickvals=[-1, 0, 1], row=2, col=1)
    figure.update_xaxes(title_text="layers passed", row=2, col=1)
    return figure


def waterfall(table: pd.DataFrame, height: int = 380) -> go.Figure:
    """How far each write moves towards the final vector; every bar begins where the one before ended."""
    ends = table["toward_final"].cumsum()
    starts = ends - table["toward_final"]
    total = float(ends.iloc[-1])
    name = [
        "embedding" if layer < 0 else f"{write} of layer {layer}"
        for write, layer in zip(table["write"], table["layer"], strict=True)
    ]
    figure = go.Figure()
    for write, colour in COLOURS.items():
        rows = table["write"] == write
        figure.add_bar(
            x=table["depth"][rows], base=starts[rows], y=table["toward_final"][rows], name=write,
            marker={"color": colour, "pattern": {"shape": "/" if write == "feed-forward" else "", "size": 4}},
            customdata=np.stack((np.array(name)[rows], ends[rows].map("{:,.5g}".format)), axis=-1),
            hovertemplate="%{customdata[0]}<br>%{y:+,.4g}, then %{customdata[1]}<extra></extra>",
        )  # fmt: skip
    last = len(table)
    figure.add_bar(
        x=[last], y=[total], name="the final vector", marker={"color": RESIDUAL},
        hovertemplate="length of the final vector<br>%{y:,.5g}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=[*table["depth"], last], y=[*ends, total], mode="lines", showlegend=False, hoverinfo="skip",
        line={"color": MUTED, "width": 1, "shape": "hv"},
    )  # fmt: skip
    figure = styled(figure, height=height, x="layers passed", y="towards the final vector")
    figure.update_layout(barmode="overlay", bargap=0.12)
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.14, "x": 0})
    step = 10 if last > 40 else 4
    ticks = list(range(0, last, step))
    figure.update_xaxes(tickvals=ticks, ticktext=[f"{tick // 2}" for tick in ticks])
    return figure


def dimension_bars(largest: pd.DataFrame, height: int = 280) -> go.Figure:
    """The numbers furthest from 0, by dimension; negative ones hatched."""
    rows = list(range(len(largest)))
    figure = go.Figure()
    figure.add_bar(
        x=rows, y=largest["value"], customdata=largest[["dimension", "share"]],
        marker={
            "color": RESIDUAL,
            "pattern": {"shape": ["/" if value < 0 else "" for value in largest["value"]], "size": 5},
        },
        hovertemplate=(
            "dimension %{customdata[0]}<br>%{y:,.5g}<br>%{customdata[1]:.2%} of the squared length<extra></extra>"
        ),
    )  # fmt: skip
    figure = styled(figure, height=height, x="dimension", y="value")
    figure.update_xaxes(tickvals=rows, ticktext=[str(each) for each in largest["dimension"]], tickangle=-90)
    return figure
