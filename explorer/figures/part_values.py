"""How the numbers of one tensor are spread."""

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from explorer.architecture.part import Kind
from explorer.figures.theme import ATTENTION, EMBEDDING, FEED_FORWARD, MUTED, RESIDUAL, styled

COLOUR_OF = {
    Kind.ATTENTION: ATTENTION,
    Kind.FEED_FORWARD: FEED_FORWARD,
    Kind.NORM: RESIDUAL,
    Kind.EMBEDDING: EMBEDDING,
    Kind.AUXILIARY: MUTED,
    Kind.STRUCTURE: RESIDUAL,
}


def value_histogram(table: pd.DataFrame, kind: Kind, height: int = 190) -> go.Figure:
    """Bars of ``histogram_of``; counts on a log axis, so that the few large values show beside the many small ones."""
    figure = go.Figure()
    count, low, high = table["count"].to_numpy(), table["from"], table["to"]
    figure.add_bar(
        x=(low + high) / 2, y=np.where(count > 0, count, np.nan), width=(high - low) * 0.94,
        marker={"color": COLOUR_OF[kind]}, customdata=table[["from", "to"]].to_numpy(),
        hovertemplate="%{y:,} from %{customdata[0]:.4g} to %{customdata[1]:.4g}<extra></extra>",
    )  # fmt: skip
    figure = styled(figure, height=height, x="value", y="how many (log)")
    top = math.log10(max(int(count.max()), 1)) + 0.15
    figure.update_yaxes(type="log", range=[math.log10(0.5), top], dtick=1)
    return figure
