"""Pictures of the logit lens."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from explorer.analysis.logit_lens import UNREAD, LensGrid
from explorer.figures.theme import DRAWN, EMBEDDING, MUTED, RESIDUAL, plain, plain_all, styled

MEASURES = {
    "p": "",
    "rank": "rank of the final answer",
    "entropy": "entropy in nats",
    "kl": "KL from the final prediction in nats",
}
DARKEST = 255


def measured(grid: LensGrid, colour: str) -> NDArray[np.float64]:
    """What ``colour`` shows of every reading: one of ``MEASURES``."""
    return {"p": grid.p, "rank": grid.rank, "entropy": grid.entropy, "kl": grid.kl}[colour]


def shades(grid: LensGrid, colour: str, vocab_size: int) -> NDArray[np.uint8]:
    """How dark every reading is, 1 to 255, and 0 where there is none. Dark is sure, or close to the final answer.

    A share as it is; a rank on a logarithmic scale that ends at the size of the vocabulary; an entropy as what is left
    of the largest one; a divergence as e to its negative.
    """
    values = measured(grid, colour)
    match colour:
        case "rank":
            share = 1 - np.log(values) / np.log(vocab_size)
        case "entropy":
            share = 1 - values / np.log(vocab_size)
        case "kl":
            share = np.exp(-values)
        case _:
            share = values
    codes = 1 + np.rint(np.nan_to_num(share).clip(0, 1) * (DARKEST - 1))
    return np.where(grid.top_ids == UNREAD, 0, codes).astype(np.uint8)


def numbered(grid: LensGrid, number_of: Mapping[int, int]) -> NDArray[np.int64]:
    """The number of every reading's token among the labels; 0 where there is no reading."""
    return np.array([[number_of.get(int(each), 0) for each in row] for row in grid.top_ids], dtype=np.int64)


def reading_bars(table: pd.DataFrame) -> go.Figure:
    """The likeliest tokens of one reading; ``table`` as from ``reading``. Placed by number: two may look alike."""
    rows = list(range(len(table)))
    labels = plain_all(table["token"])
    figure = go.Figure()
    figure.add_bar(
        y=rows, x=table["p"], orientation="h", width=0.66, marker_color=EMBEDDING,
        text=[f"{p:.1%}" if p >= 0.001 else f"{p:.1g}" for p in table["p"]], textposition="outside", cliponaxis=False,
        customdata=[
            f"<b>{label}</b> id {id}<br>p {p:.6f}"
            for label, id, p in zip(labels, table["id"], table["p"], strict=True)
        ],
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    figure = styled(figure, height=24 * len(rows) + 56, x="probability at this depth")
    figure.update_xaxes(range=[0, max(float(table["p"].max()) * 1.3, 1e-6)], tickformat=".0%", nticks=4, tickangle=0)
    figure.update_yaxes(
        tickvals=rows, ticktext=labels, range=[len(rows) - 0.4, -0.6], showgrid=False,
        tickfont={"family": "JetBrains Mono, monospace", "size": 13}, ticklabelstandoff=6,
    )  # fmt: skip
    return figure


def depth_lines(table: pd.DataFrame, names: Sequence[str], token: str, depth: int) -> go.Figure:
    """Probability and rank of one token through the depths, with the final norm and without; ``depth`` is marked.

    ``table`` as from ``depth_rows``; ``names`` of its depths; ``token`` is shown as it is.
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.1)
    hover = [f"{name}<br>p {p:.4%}<br>rank {rank:,}" for name, p, rank in zip(
        names, table["watched_p"], table["watched_rank"], strict=True)]  # fmt: skip
    solid = {"color": DRAWN, "width": 2.4}
    figure.add_scatter(
        x=table["depth"], y=table["watched_p_without_norm"], mode="lines", row=1, col=1,
        line={"color": MUTED, "width": 1.6, "dash": "dot"}, customdata=names,
        hovertemplate="%{customdata}, without the norm<br>p %{y:.4%}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=table["depth"], y=table["watched_p"], mode="lines+markers", line=solid, marker_size=5, row=1, col=1,
        customdata=hover, hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=table["depth"], y=table["watched_rank"], mode="lines+markers", line=solid, marker_size=5, row=2, col=1,
        customdata=hover, hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    for row in (1, 2):
        figure.add_vline(x=depth, line={"color": MUTED, "width": 1, "dash": "dash"}, row=row, col=1)
    figure = styled(figure, height=330)
    figure.update_xaxes(tickvals=_ticks(len(names)), ticktext=[_short(names[at]) for at in _ticks(len(names))])
    figure.update_xaxes(title="depth: embedding (e), then after each layer", row=2, col=1)
    figure.update_yaxes(title=f"p of {plain(token)}", tickformat=".0%", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title="rank", type="log", autorange="reversed", dtick=1, row=2, col=1)
    return figure


def sureness_lines(table: pd.DataFrame, names: Sequence[str], depth: int) -> go.Figure:
    """Entropy of every reading, and its divergence from the final prediction, in nats; ``table`` as ``depth_rows``."""
    figure = go.Figure()
    for column, name, colour, dash in (
        ("entropy_nats", "entropy", RESIDUAL, "solid"),
        ("kl_nats", "KL from the final prediction", EMBEDDING, "dash"),
    ):
        figure.add_scatter(
            x=table["depth"], y=table[column], mode="lines", name=name,
            line={"color": colour, "width": 2.2, "dash": dash}, customdata=names,
            hovertemplate="%{customdata}<br>%{y:.3f} nats<extra>" + name + "</extra>",
        )  # fmt: skip
    figure.add_vline(x=depth, line={"color": MUTED, "width": 1, "dash": "dash"})
    figure = styled(figure, height=240, x="depth: embedding (e), then after each layer", y="nats")
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0})
    figure.update_xaxes(tickvals=_ticks(len(names)), ticktext=[_short(names[at]) for at in _ticks(len(names))])
    figure.update_yaxes(rangemode="tozero")
    return figure


def _ticks(count: int) -> list[int]:
    step = max(1, count // 8)
    return [0, *range(1 + step, count, step)]


def _short(name: str) -> str:
    return "e" if name == "embedding" else name.removeprefix("layer ")
