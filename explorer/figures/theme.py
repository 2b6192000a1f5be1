"""One colour for each category of the architecture, on every page, in light and in dark.

The tones are of middle lightness, at least 3:1 against the light and the dark background. Colour is never the only
sign: what is drawn in it is also named.
"""

import html
from collections.abc import Sequence

import plotly.graph_objects as go

Figure = go.Figure

ATTENTION = "#d1602b"
FEED_FORWARD = "#1e8e7e"
RESIDUAL = "#7b6cf0"
EMBEDDING = "#2f7fd6"
DRAWN = "#b9497f"
MUTED = "#808495"
INK = "#767b8f"
GRID = "rgba(128, 132, 149, 0.25)"
BAND = "rgba(128, 132, 149, 0.22)"


def styled(figure: go.Figure, *, height: int, x: str = "", y: str = "") -> go.Figure:
    """``figure`` with the product's margins, grid and axis titles."""
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 12, "b": 8},
        showlegend=False,
        dragmode=False,
        hoverlabel={"align": "left"},
        font={"size": 13, "color": INK},
    )
    figure.update_xaxes(
        title=x or None, gridcolor=GRID, zeroline=False, automargin=True, tickfont_color=INK, title_font_color=INK
    )
    figure.update_yaxes(
        title=y or None, gridcolor=GRID, zeroline=False, automargin=True, tickfont_color=INK, title_font_color=INK
    )
    return figure


def plain(text: str) -> str:
    """``text`` for a label or hover of a chart, where tags would otherwise be taken for markup."""
    return html.escape(text, quote=False)


def plain_all(texts: Sequence[str]) -> list[str]:
    """Each of ``texts`` for a label or hover of a chart."""
    return [plain(text) for text in texts]
