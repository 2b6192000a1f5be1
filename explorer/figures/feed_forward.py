"""Pictures of one token's neurons, of how few of them matter, and of the functions that bend them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from explorer.figures.theme import ATTENTION, EMBEDDING, FEED_FORWARD, GRID, INK, MUTED, RESIDUAL, styled

BINS = 41
MOST_POINTS = 160
STAGES = {"gate": "gate", "silu_gate": "SiLU(gate)", "up": "up", "product": "product"}
TONES = {"ReLU": MUTED, "GELU": EMBEDDING, "GELU (tanh)": ATTENTION, "SiLU": FEED_FORWARD}
DASHES = {"ReLU": "solid", "GELU": "solid", "GELU (tanh)": "dot", "SiLU": "solid"}


def stage_bars(table: pd.DataFrame) -> go.Figure:
    """How the numbers of all neurons are spread at the four stages; counts on a log axis. ``table`` of all neurons."""
    figure = make_subplots(
        rows=2, cols=2, subplot_titles=list(STAGES.values()), vertical_spacing=0.22, horizontal_spacing=0.12
    )
    for place, name in enumerate(STAGES):
        counts, edges = np.histogram(table[name], bins=BINS)
        width = edges[1] - edges[0]
        figure.add_bar(
            x=(edges[:-1] + edges[1:]) / 2, y=counts, width=width * 0.94, row=place // 2 + 1, col=place % 2 + 1,
            marker={"color": FEED_FORWARD}, customdata=np.stack([edges[:-1], edges[1:]], 1).round(4),
            hovertemplate="%{y:,} neurons<br>from %{customdata[0]} to %{customdata[1]}<extra></extra>",
        )  # fmt: skip
    figure = styled(figure, height=380)
    figure.update_layout(margin_t=34)
    figure.update_annotations(font={"color": INK, "size": 13})
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    figure.update_xaxes(nticks=6, zeroline=True, zerolinecolor=GRID)
    for row in (1, 2):
        figure.update_yaxes(title="neurons", row=row, col=1)
    return figure


def needed_line(errors: NDArray[np.float64], wanted: float) -> go.Figure:
    """What is missing of the output when only the strongest neurons are added; ``errors`` as from ``needed_for``."""
    places = np.unique(np.geomspace(1, len(errors), MOST_POINTS).astype(int)) - 1
    enough = int((errors <= wanted).argmax())
    figure = go.Figure()
    figure.add_scatter(
        x=places, y=errors[places], mode="lines", line={"color": FEED_FORWARD, "width": 3},
        hovertemplate="%{x:,} neurons<br>%{y:.1%} missing<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=[enough], y=[errors[enough]], mode="markers", marker={"color": FEED_FORWARD, "size": 10}, hoverinfo="skip"
    )
    figure.add_annotation(
        x=enough, y=float(errors[enough]), text=f"<b>{enough:,} neurons</b>", showarrow=False, xanchor="right",
        xshift=-10, yshift=-14, font={"color": FEED_FORWARD, "size": 13},
    )  # fmt: skip
    figure = styled(figure, height=280, x="neurons added, strongest first", y="missing of the output")
    figure.update_yaxes(range=[0, 1.05], tickformat=".0%", nticks=6)
    figure.update_xaxes(nticks=5)
    return figure


def quiet_line(shares: pd.DataFrame, threshold: float, share: float) -> go.Figure:
    """The share of products below each threshold, ``shares`` as from ``quietness``; the chosen one is marked."""
    figure = go.Figure()
    figure.add_scatter(
        x=shares["threshold"], y=shares["share"], mode="lines", line={"color": FEED_FORWARD, "width": 3},
        hovertemplate="|product| below %{x:.3g}<br>%{y:.1%} of all<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=[threshold], y=[share], mode="markers", marker={"color": FEED_FORWARD, "size": 10}, hoverinfo="skip"
    )
    figure = styled(figure, height=280, x="threshold (log)", y="quiet")
    figure.update_xaxes(type="log", dtick=1, exponentformat="power")
    figure.update_yaxes(range=[0, 1.05], tickformat=".0%", nticks=6)
    return figure


def curve_lines(curves: pd.DataFrame, gates: Sequence[float], column: str) -> go.Figure:
    """One column of ``activation_curves`` for every function; ticks below mark real inputs, ``gates``."""
    figure = go.Figure()
    for name, part in curves.groupby("name", sort=False):
        figure.add_scatter(
            x=part["x"], y=part[column].round(5), mode="lines", name=str(name),
            line={"color": TONES[str(name)], "dash": DASHES[str(name)], "width": 2.5},
            hovertemplate=f"<b>{name}</b><br>x %{{x:.2f}}<br>%{{y:.4f}}<extra></extra>",
        )  # fmt: skip
    low, high = float(curves["x"].min()), float(curves["x"].max())
    ticks = np.unique(np.clip(np.asarray(gates), low, high).round(2))
    floor = float(curves[column].min()) - 0.08 * float(np.ptp(curves[column]))
    figure.add_scatter(
        x=ticks, y=np.full(len(ticks), floor), mode="markers", name="this token's gates",
        marker={"symbol": "line-ns", "size": 9, "line": {"width": 1, "color": RESIDUAL}, "opacity": 0.55},
        hovertemplate="a gate at %{x:.2f}<extra></extra>",
    )  # fmt: skip
    figure = styled(figure, height=300, x="x", y="f(x)" if column == "value" else "slope")
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0})
    figure.update_xaxes(zeroline=True, zerolinecolor=GRID, nticks=7)
    figure.update_yaxes(zeroline=True, zerolinecolor=GRID, nticks=6)
    return figure
