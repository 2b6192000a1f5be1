"""The answer to a question as bars."""

from collections.abc import Sequence

import plotly.graph_objects as go

from explorer.figures.theme import DRAWN, MUTED, plain_all, styled


def answer_bars(options: Sequence[str], values: Sequence[float], answer: int, unit: str) -> go.Figure:
    """One bar for each option, the right one marked by colour and by a sign."""
    rows = list(range(len(options)))
    labels = plain_all(options)
    figure = go.Figure()
    figure.add_bar(
        y=rows, x=values, orientation="h", width=0.6,
        marker={"color": [DRAWN if row == answer else MUTED for row in rows]},
        text=[f" {value:,.4g}" for value in values], textposition="outside", cliponaxis=False, hoverinfo="skip",
    )  # fmt: skip
    figure = styled(figure, height=34 * len(rows) + 70, x=unit)
    largest = max((abs(value) for value in values), default=1.0) or 1.0
    figure.update_xaxes(range=[min(0.0, *values) * 1.2, largest * 1.3], nticks=5)
    figure.update_yaxes(
        tickvals=rows, ticktext=[f"<b>▸ {label}</b>" if row == answer else label for row, label in enumerate(labels)],
        range=[len(rows) - 0.4, -0.6], showgrid=False,
    )  # fmt: skip
    return figure
