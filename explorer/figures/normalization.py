"""Bars, lines and histograms of what a norm does."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer.figures.theme import ATTENTION, EMBEDDING, FEED_FORWARD, INK, MUTED, RESIDUAL, styled


def sorted_gains(gain: NDArray[np.float64], height: int = 280) -> go.Figure:
    """The learned gain of every dimension, smallest first, with the level of 1 marked."""
    order = gain.argsort(kind="stable")
    figure = go.Figure()
    figure.add_hline(y=1, line={"color": INK, "width": 1.2, "dash": "dash"})
    figure.add_scatter(
        x=list(range(len(gain))), y=gain[order].round(6), mode="lines", line={"color": RESIDUAL, "width": 2.5},
        customdata=order, hovertemplate="dimension %{customdata}<br>gain %{y:.5g}<extra></extra>",
    )  # fmt: skip
    return styled(figure, height=height, x="dimensions, sorted", y="gain")


def histogram(values: NDArray[np.float64], *, x: str, colour: str = RESIDUAL, height: int = 280) -> go.Figure:
    """How many of ``values`` fall into each of 60 equal steps; the counts on a log axis, so that single ones show."""
    counts, edges = np.histogram(values, bins=60)
    figure = go.Figure()
    figure.add_bar(
        x=(edges[:-1] + edges[1:]) / 2, y=np.where(counts > 0, counts, np.nan), width=np.diff(edges) * 0.94,
        marker={"color": colour}, customdata=np.stack((edges[:-1], edges[1:]), axis=-1),
        hovertemplate="%{y} from %{customdata[0]:.4g} to %{customdata[1]:.4g}<extra></extra>",
    )  # fmt: skip
    figure = styled(figure, height=height, x=x, y="dimensions (log)")
    top = math.log10(max(int(counts.max()), 1)) + 0.15
    figure.update_yaxes(type="log", range=[math.log10(0.5), top], tickvals=[1, 10, 100, 1000, 10_000])
    return figure


def by_hand_bars(x: Sequence[float], rms: Sequence[float], layer: Sequence[float], height: int = 300) -> go.Figure:
    """A small vector and both of its normalised forms side by side, dimension by dimension."""
    places = list(range(len(x)))
    figure = go.Figure()
    for name, values, colour, pattern in (
        ("x", x, MUTED, ""),
        ("RMSNorm(x)", rms, RESIDUAL, ""),
        ("LayerNorm(x)", layer, FEED_FORWARD, "/"),
    ):
        figure.add_bar(
            x=places, y=list(values), name=name, marker={"color": colour, "pattern": {"shape": pattern}},
            hovertemplate=f"{name}, number %{{x}}<br>%{{y:.6g}}<extra></extra>",
        )  # fmt: skip
    figure = styled(figure, height=height, x="number", y="value")
    figure.update_layout(barmode="group", showlegend=True, legend={"orientation": "h", "y": 1.14, "x": 0})
    figure.update_xaxes(tickvals=places)
    return figure


def eps_lines(curve: pd.DataFrame, marks: Mapping[str, float], height: int = 300) -> go.Figure:
    """The size of a normalised vector by its size before, both eps; ``marks`` are sizes by their names."""
    figure = go.Figure()
    looks = ((ATTENTION, "solid"), (EMBEDDING, "dot"), (FEED_FORWARD, "dash"))
    for (eps, rows), (colour, dash) in zip(curve.groupby("eps", sort=False), looks, strict=False):
        figure.add_scatter(
            x=rows["rms"], y=rows["after"], mode="lines", name=f"eps {eps:g}",
            line={"color": colour, "width": 2.5, "dash": dash},
            hovertemplate=f"eps {eps:g}<br>root mean square %{{x:.3g}} before<br>%{{y:.4g}} after<extra></extra>",
        )  # fmt: skip
    for place, (name, size) in enumerate(marks.items()):
        figure.add_vline(x=size, line={"color": INK, "width": 1.2, "dash": "dash"})
        figure.add_annotation(
            x=math.log10(size), yref="paper", y=0.06 + 0.13 * place, text=f"{name}: {size:.3g}", showarrow=False,
            xanchor="right" if size > 0.01 else "left", xshift=-5 if size > 0.01 else 5,
            font={"size": 12, "color": INK},
        )  # fmt: skip
    figure = styled(figure, height=height, x="root mean square before (log)", y="after")
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.14, "x": 0})
    figure.update_xaxes(type="log", dtick=2, exponentformat="power")
    figure.update_yaxes(range=[0, 1.08])
    return figure


def gradient_lines(gradients: pd.DataFrame, height: int = 320) -> go.Figure:
    """How large the gradient of every sub-layer's weights is in an untrained stack, by the place of the norm."""
    looks = {
        "post": ("post-norm", ATTENTION, "solid"),
        "pre": ("pre-norm", RESIDUAL, "solid"),
        "both": ("both sides", FEED_FORWARD, "dash"),
        "output": ("output only", EMBEDDING, "dot"),
    }
    figure = go.Figure()
    for place, rows in gradients.groupby("place", sort=False):
        name, colour, dash = looks[str(place)]
        figure.add_scatter(
            x=rows["depth"], y=rows["gradient"], mode="lines", name=name,
            line={"color": colour, "width": 2.5, "dash": dash},
            hovertemplate=f"{name}, sub-layer %{{x}}<br>gradient %{{y:.3g}}<extra></extra>",
        )  # fmt: skip
    figure = styled(figure, height=height, x="sub-layer, first to last", y="gradient length (log)")
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.14, "x": 0})
    figure.update_yaxes(type="log", tickvals=[0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50])
    return figure
