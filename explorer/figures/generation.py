"""Pictures of a generation."""

import pandas as pd
import plotly.graph_objects as go

from explorer.figures.theme import ATTENTION, DRAWN, EMBEDDING, MUTED, plain_all, styled


def time_bars(steps: pd.DataFrame, at: int) -> go.Figure:
    """Milliseconds of every step, prefill apart in colour and pattern; ``steps`` as ``step_rows``; ``at`` is marked."""
    figure = go.Figure()
    whole = steps["read"] > 1
    for rows, name, colour, pattern in (
        (steps[whole], "reads all tokens (prefill)", ATTENTION, "/"),
        (steps[~whole], "reads one token (decode)", EMBEDDING, ""),
    ):
        figure.add_bar(
            x=rows["step"], y=rows["milliseconds"], name=name, marker={"color": colour, "pattern_shape": pattern},
            customdata=list(zip(plain_all(rows["token"]), rows["read"], strict=True)),
            hovertemplate="step %{x}: <b>%{customdata[0]}</b><br>read %{customdata[1]}<br>%{y:.1f} ms<extra></extra>",
        )  # fmt: skip
    figure.add_vrect(x0=at - 0.5, x1=at + 0.5, fillcolor=MUTED, opacity=0.16, line_width=0, layer="below")
    return _by_step(figure, len(steps), y="milliseconds")


def cache_bars(steps: pd.DataFrame, at: int) -> go.Figure:
    """Bytes of keys and values after every step; ``steps`` as ``step_rows``; ``at`` is marked."""
    figure = go.Figure()
    figure.add_bar(
        x=steps["step"], y=steps["cache_bytes"] / 1e6, marker_color=ATTENTION,
        hovertemplate="after step %{x}<br>%{y:.3f} MB<extra></extra>",
    )  # fmt: skip
    figure.add_vrect(x0=at - 0.5, x1=at + 0.5, fillcolor=MUTED, opacity=0.16, line_width=0, layer="below")
    return _by_step(figure, len(steps), y="MB in all layers")


def sureness_bars(steps: pd.DataFrame, at: int) -> go.Figure:
    """How likely each token was when it was taken; ``steps`` as ``step_rows``; ``at`` is marked."""
    figure = go.Figure()
    figure.add_bar(
        x=steps["step"], y=steps["model_p"],
        marker_color=[DRAWN if step == at else EMBEDDING for step in steps["step"]],
        customdata=list(zip(plain_all(steps["token"]), steps["rank"], steps["entropy_nats"], strict=True)),
        hovertemplate="step %{x}: <b>%{customdata[0]}</b><br>model's own p %{y:.4f}, rank %{customdata[1]:,}"
        "<br>entropy %{customdata[2]:.3f} nats<extra></extra>",
    )  # fmt: skip
    figure = _by_step(figure, len(steps), y="model's own p")
    figure.update_yaxes(range=[0, 1], tickformat=".0%")
    return figure


def _by_step(figure: go.Figure, count: int, *, y: str) -> go.Figure:
    figure = styled(figure, height=230, x="step", y=y)
    figure.update_layout(
        barmode="overlay", bargap=0.15, showlegend=len(figure.data) > 1,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    )  # fmt: skip
    figure.update_xaxes(range=[-0.6, max(count, 8) - 0.4], dtick=max(1, count // 8), tickangle=0)
    figure.update_yaxes(rangemode="tozero")
    return figure
