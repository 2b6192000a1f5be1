"""Lines of the rotation speeds, of what extends them, and of a score by distance."""

import math

import pandas as pd
import plotly.graph_objects as go

from explorer.figures.theme import ATTENTION, EMBEDDING, FEED_FORWARD, INK, MUTED, RESIDUAL, styled

SHADES = {
    "kept": "rgba(47, 127, 214, 0.08)",
    "blended": "rgba(128, 132, 149, 0.20)",
    "slowed": "rgba(209, 96, 43, 0.10)",
}


def wavelength_lines(
    schedule: pd.DataFrame, contexts: dict[str, int], *, shade: bool, selected: int = -1, height: int = 380
) -> go.Figure:
    """Positions per turn of every pair on a log axis, before and after scaling, against lengths of context.

    ``schedule`` as from ``analysis.rope.schedule``; ``contexts`` are levels by their names; ``shade`` the three zones.
    """
    figure = go.Figure()
    scaled = bool((schedule["slowing"] > 1).any())
    if scaled:
        figure.add_scatter(
            x=schedule["pair"], y=schedule["base_wavelength"], mode="lines", name="before scaling",
            line={"color": MUTED, "width": 2, "dash": "dot"},
            hovertemplate="pair %{x}, before scaling<br>one turn in %{y:,.6~g} positions<extra></extra>",
        )  # fmt: skip
    figure.add_scatter(
        x=schedule["pair"], y=schedule["wavelength"], mode="lines+markers", name="as used",
        line={"color": ATTENTION, "width": 2.5}, marker={"size": 5},
        customdata=schedule[["speed", "slowing", "zone"]],
        hovertemplate=(
            "pair %{x}, %{customdata[2]}<br>one turn in %{y:,.6~g} positions<br>%{customdata[0]:.6g} radians a position"
            "<br>slowed by %{customdata[1]:.4g}<extra></extra>"
        ),
    )  # fmt: skip
    if selected >= 0:
        figure.add_scatter(
            x=[selected], y=[schedule["wavelength"].iloc[selected]], mode="markers", hoverinfo="skip",
            marker={"size": 14, "color": "rgba(0,0,0,0)", "line": {"color": ATTENTION, "width": 2.5}},
        )  # fmt: skip
    for name, length in contexts.items():
        figure.add_hline(y=length, line={"color": INK, "width": 1.2, "dash": "dash"})
        figure.add_annotation(
            xref="paper", x=0.01, y=math.log10(length), text=f"{name} {length:,}", showarrow=False, xanchor="left",
            yanchor="bottom", font={"size": 12, "color": INK},
        )  # fmt: skip
    figure = styled(figure, height=height, x="pair", y="positions per turn (log)")
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    if shade:
        _shade_zones(figure, schedule)
    return figure


def _shade_zones(figure: go.Figure, schedule: pd.DataFrame) -> None:
    for zone, colour in SHADES.items():
        pairs = schedule[schedule["zone"] == zone]["pair"]
        if pairs.empty:
            continue
        figure.add_vrect(x0=pairs.min() - 0.5, x1=pairs.max() + 0.5, fillcolor=colour, line_width=0, layer="below")
        figure.add_annotation(
            x=(pairs.min() + pairs.max()) / 2, yref="paper", y=0.02, text=f"<b>{zone}</b><br>{len(pairs)}",
            showarrow=False, yanchor="bottom", font={"size": 12, "color": INK},
        )  # fmt: skip


def extension_lines(extensions: pd.DataFrame, factor: float, height: int = 320) -> go.Figure:
    """What is left of every pair's speed under three ways to reach a longer context, on a log axis."""
    looks = {  # name, colour, dash, where along the line the name stands, and on which side of it
        "every_pair": ("every pair slowed alike", MUTED, "dash", 0.16, "bottom", "center"),
        "theta": ("a larger theta alone", EMBEDDING, "dot", 0.40, "top", "right"),
        "llama3": ("only the slow pairs, as Llama 3.1", ATTENTION, "solid", 0.24, "bottom", "center"),
    }
    figure = go.Figure()
    for column, (name, colour, dash, place, above, beside) in looks.items():
        if extensions[column].isna().all():
            continue
        figure.add_scatter(
            x=extensions["pair"], y=extensions[column], mode="lines", name=name,
            line={"color": colour, "width": 2.5, "dash": dash},
            hovertemplate=f"{name}<br>pair %{{x}} keeps %{{y:.4g}} of its speed<extra></extra>",
        )  # fmt: skip
        at = round(place * (len(extensions) - 1))
        figure.add_annotation(
            x=at, y=math.log10(float(extensions[column].iloc[at])), text=f"<b>{name}</b>", showarrow=False,
            xanchor=beside, yanchor=above, yshift=4 if above == "bottom" else -4,
            font={"size": 12, "color": colour},
        )  # fmt: skip
    figure = styled(figure, height=height, x="pair", y="share of its speed (log)")
    ticks = [1 / factor, 2 / factor, 4 / factor, 1.0]
    figure.update_yaxes(
        type="log", tickvals=ticks, ticktext=[f"1/{1 / tick:g}" if tick < 1 else "1" for tick in ticks],
        range=[math.log10(1 / factor * 0.78), math.log10(1.28)],
    )  # fmt: skip
    return figure


def score_line(scores: pd.DataFrame, distance: int, height: int = 340) -> go.Figure:
    """The score of a query and a key by their distance, the slow pairs' part dotted, the real distance marked."""
    figure = go.Figure()
    figure.add_hline(y=0, line={"color": MUTED, "width": 1})
    figure.add_scatter(
        x=scores["distance"], y=scores["slow"].round(5), mode="lines", name="slow pairs only",
        line={"color": RESIDUAL, "width": 2, "dash": "dot"},
        hovertemplate="slow pairs alone %{y:.4f}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=scores["distance"], y=scores["score"].round(5), mode="lines", name="score",
        line={"color": ATTENTION, "width": 2},
        hovertemplate="%{x} positions apart<br>score %{y:.4f}<extra></extra>",
    )  # fmt: skip
    figure = styled(figure, height=height, x="positions between query and key", y="score, q·k / √d")
    if distance < len(scores):
        here = float(scores["score"].iloc[distance])
        figure.add_scatter(
            x=[distance], y=[here], mode="markers", marker={"size": 11, "color": FEED_FORWARD, "symbol": "diamond"},
            hovertemplate=f"where they stand: {distance} apart<br>score {here:.4f}<extra></extra>",
        )  # fmt: skip
        figure.add_annotation(
            x=distance, y=here, text=f"<b>{distance} apart, as in your text</b>", ax=70, ay=-34, arrowcolor=INK,
            arrowwidth=1.2, xanchor="left", font={"size": 12, "color": INK},
        )  # fmt: skip
    figure.update_xaxes(range=[-len(scores) * 0.01, len(scores) - 1])
    return figure
