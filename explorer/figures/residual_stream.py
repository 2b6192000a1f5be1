"""Lines of the residual stream."""

import math
from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from explorer.figures.theme import BAND, MUTED, RESIDUAL, plain_all, styled

MOST_LINES = 60


def stream_norm_lines(
    norms: pd.DataFrame,
    labels: Sequence[str],
    selected: int,
    height: int = 420,
    *,
    measure: str = "L2 length",
    depth: int | None = None,
) -> go.Figure:
    """The length of every token's vector through the sub-layers, log axis, the selected token in colour.

    ``norms`` as from ``stream_norms``; ``measure`` names what they hold; ``depth`` is marked by a ring. Up to
    ``MOST_LINES`` other tokens are grey lines; of more, the middle nine tenths are a band, and the longest vector is a
    line.
    """
    wide = norms.pivot(index="depth", columns="token", values="norm")
    layers_passed = [depth / 2 for depth in wide.index]
    names = plain_all(labels)
    others = wide.drop(columns=selected)
    figure = go.Figure()
    if others.shape[1] > MOST_LINES:
        _add_band(figure, layers_passed, others)
        longest = int(others.max().idxmax())
        _add_grey_lines(figure, layers_passed, others[[longest]], names)
        _add_name(figure, layers_passed[-1], float(others[longest].iloc[-1]), names[longest], MUTED)
    elif others.shape[1]:
        _add_grey_lines(figure, layers_passed, others, names)
    figure.add_scatter(
        x=layers_passed, y=wide[selected], mode="lines+markers", line={"color": RESIDUAL, "width": 3},
        marker={"size": 5}, name="the selected token",
        hovertemplate=f"{selected} <b>{names[selected]}</b><br>{HOVER}",
    )  # fmt: skip
    if depth is not None:
        figure.add_scatter(
            x=[depth / 2], y=[wide[selected].loc[depth]], mode="markers", hoverinfo="skip",
            marker={"size": 15, "color": "rgba(0,0,0,0)", "line": {"color": RESIDUAL, "width": 2.5}},
        )  # fmt: skip
    _add_name(figure, layers_passed[-1], float(wide[selected].iloc[-1]), names[selected], RESIDUAL)
    figure = styled(figure, height=height, x="layers passed", y=f"{measure} of the vector (log)")
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    figure.update_xaxes(range=[-0.3, layers_passed[-1] * 1.12 + 0.3])
    return figure


HOVER = "after %{x} layers<br>length %{y:.5g}<extra></extra>"


def _add_grey_lines(figure: go.Figure, x: list[float], lines: pd.DataFrame, names: list[str]) -> None:
    """One trace for all lines, with gaps between them: a browser draws it as fast as a single line."""
    every_x: list[float | None] = []
    every_y: list[float | None] = []
    text: list[str | None] = []
    for token in lines.columns:
        every_x += [*x, None]
        every_y += [*lines[token].round(5), None]
        text += [*[f"{token} <b>{names[token]}</b>"] * len(x), None]
    figure.add_scatter(
        x=every_x, y=every_y, text=text, mode="lines", line={"color": MUTED, "width": 1.2}, opacity=0.6,
        hovertemplate="%{text}<br>" + HOVER, name="other tokens",
    )  # fmt: skip


def _add_band(figure: go.Figure, x: list[float], lines: pd.DataFrame) -> None:
    low, high = lines.quantile(0.05, axis=1), lines.quantile(0.95, axis=1)
    figure.add_scatter(
        x=[*x, *x[::-1]], y=[*high, *low[::-1]], fill="toself", fillcolor=BAND, line={"width": 0}, mode="lines",
        hoverinfo="skip", name="the middle nine tenths",
    )  # fmt: skip
    figure.add_scatter(
        x=x, y=lines.median(axis=1), mode="lines", line={"color": MUTED, "width": 1.5, "dash": "dot"},
        hovertemplate="median of the other tokens<br>" + HOVER,
    )  # fmt: skip


def _add_name(figure: go.Figure, x: float, y: float, name: str, colour: str) -> None:
    figure.add_annotation(
        x=x, y=math.log10(max(y, 1e-12)), text=f"<b>{name}</b>", showarrow=False, xanchor="left", xshift=8,
        font={"color": colour, "size": 14},
    )  # fmt: skip
