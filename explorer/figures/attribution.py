"""Pictures of direct logit attribution."""

import pandas as pd
import plotly.graph_objects as go

from explorer.figures.theme import ATTENTION, FEED_FORWARD, MUTED, RESIDUAL, styled


def attribution_bars(by_layer: pd.DataFrame, embedding: float, layer: int) -> go.Figure:
    """What each layer's attention and feed-forward contribute, and the sum so far as a line.

    ``by_layer`` as from the analysis; the embedding's own contribution stands before layer 0; ``layer`` is marked.
    """
    figure = go.Figure()
    figure.add_bar(
        x=[-1], y=[embedding], name="embedding", marker_color=RESIDUAL, width=0.8,
        hovertemplate="embedding<br>%{y:+.4f}<extra></extra>",
    )  # fmt: skip
    for part, colour, side in (("attention", ATTENTION, -0.2), ("feed-forward", FEED_FORWARD, 0.2)):
        figure.add_bar(
            x=by_layer["layer"] + side, y=by_layer[part], width=0.4, name=part, marker_color=colour,
            customdata=by_layer["layer"], hovertemplate="layer %{customdata}, " + part + "<br>%{y:+.4f}<extra></extra>",
        )  # fmt: skip
    figure.add_scatter(
        x=[-1, *by_layer["layer"]], y=[embedding, *by_layer["so_far"]], mode="lines", name="sum so far",
        line={"color": MUTED, "width": 1.6, "shape": "hv"}, hovertemplate="sum so far %{y:.4f}<extra></extra>",
    )  # fmt: skip
    figure.add_vrect(x0=layer - 0.5, x1=layer + 0.5, fillcolor=MUTED, opacity=0.16, line_width=0, layer="below")
    figure = styled(figure, height=360, x="layer (e: embedding)", y="contribution to the logit")
    step = max(1, len(by_layer) // 10)
    layers = list(range(step, len(by_layer), step))
    figure.update_layout(
        barmode="overlay", showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    )
    figure.update_xaxes(tickvals=[-1, *layers], ticktext=["e", *map(str, layers)], tickangle=0)
    return figure


def head_bars(heads: pd.DataFrame) -> go.Figure:
    """What each head of one layer contributes; ``heads`` as from ``head_parts``."""
    figure = go.Figure()
    figure.add_bar(
        x=heads["head"], y=heads["contribution"], marker_color=ATTENTION,
        hovertemplate="head %{x}<br>%{y:+.4f}<extra></extra>",
    )  # fmt: skip
    figure = styled(figure, height=220, x="head", y="contribution")
    figure.update_xaxes(dtick=max(1, len(heads) // 12), tickangle=0)
    return figure
