"""Bars of the next-token distribution."""

import pandas as pd
import plotly.graph_objects as go

from explorer.figures.theme import DRAWN, EMBEDDING, INK, MUTED, plain_all, styled

ROW_HEIGHT = 26


def candidate_bars(table: pd.DataFrame, *, tail_mass: float, compact: bool = False) -> go.Figure:
    """p (outline) and q (filled) of the likeliest tokens, the drawn one marked, the cut mass in a row of its own.

    ``table`` as from ``candidates``. Rows are placed by number, never by text: two tokens may look alike.
    """
    rows = list(range(len(table)))
    labels = plain_all(table["token"])
    shown = [f"<b>▸ {label}</b>" if drawn else label for label, drawn in zip(labels, table["drawn"], strict=True)]
    hover = [
        f"<b>{label}</b> id {id}<br>rank {rank:,}<br>logit {logit:.4f}<br>p {p:.6f}<br>q {q:.6f}"
        for label, id, rank, logit, p, q in zip(
            labels, table["id"], table["rank"], table["logit"], table["p"], table["q"], strict=True
        )
    ]
    colours = [DRAWN if drawn else EMBEDDING for drawn in table["drawn"]]
    figure = go.Figure()
    figure.add_bar(
        y=rows, x=table["q"], orientation="h", marker={"color": colours}, width=0.62, customdata=hover,
        hovertemplate="%{customdata}<extra></extra>", name="q, after the filters",
    )  # fmt: skip
    figure.add_bar(
        y=rows, x=table["p"], orientation="h", width=0.84, customdata=hover,
        marker={"color": "rgba(0,0,0,0)", "line": {"color": MUTED, "width": 1.4}},
        hovertemplate="%{customdata}<extra></extra>", name="p, before the filters",
    )  # fmt: skip
    figure.add_scatter(
        y=rows, x=table[["p", "q"]].max(axis=1), mode="text", textposition="middle right", cliponaxis=False,
        text=[_share(q, p) for q, p in zip(table["q"], table["p"], strict=True)], hoverinfo="skip",
    )  # fmt: skip
    if tail_mass > 0 and not compact:
        rows.append(len(rows))
        shown.append("<i>all cut tokens</i>")
        figure.add_bar(
            y=[rows[-1]], x=[tail_mass], orientation="h", width=0.84,
            marker={"color": "rgba(0,0,0,0)", "line": {"color": MUTED, "width": 1.4}},
            hovertemplate=f"the filters cut p = {tail_mass:.6f}<extra></extra>",
        )  # fmt: skip
        figure.add_scatter(
            y=[rows[-1]], x=[tail_mass], mode="text", textposition="middle right", cliponaxis=False,
            text=[f"  {_percent(tail_mass)} cut"], hoverinfo="skip",
        )  # fmt: skip
    figure = styled(figure, height=ROW_HEIGHT * len(rows) + 60, x="probability")
    distinct = bool(((table["p"] - table["q"]).abs() > 1e-9).any())
    largest = max(float(table["p"].max()), float(table["q"].max()), tail_mass if not compact else 0.0)
    figure.update_layout(barmode="overlay", bargap=0.1)
    room = 1.9 if distinct else 1.5  # for "from → to" beside the longest bar on a narrow screen
    figure.update_xaxes(range=[0, largest * room], tickformat=".0%", nticks=4, tickangle=0)
    figure.update_yaxes(
        tickvals=rows, ticktext=shown, autorange=False, range=[len(rows) - 0.4, -0.6], showgrid=False,
        tickfont={"family": "JetBrains Mono, monospace", "size": 13}, ticklabelstandoff=6,
    )  # fmt: skip
    return figure


def draw_ruler(table: pd.DataFrame, u: float) -> go.Figure:
    """The interval from 0 to 1 cut into one piece per token, each as wide as its q, and where the draw u falls."""
    kept = table[table["q"] > 0].sort_values("rank")
    starts = kept["cumulative"] - kept["q"]
    labels = plain_all(kept["token"])
    figure = go.Figure()
    figure.add_bar(
        y=[0], x=[1], orientation="h", width=0.7, marker={"color": MUTED, "opacity": 0.25},
        hovertemplate="tokens that are not listed<extra></extra>",
    )  # fmt: skip
    figure.add_bar(
        y=[0] * len(kept), x=kept["q"], base=starts, orientation="h", width=0.7,
        marker={
            "color": [DRAWN if drawn else EMBEDDING for drawn in kept["drawn"]],
            "opacity": [1.0 if drawn or place % 2 == 0 else 0.72 for place, drawn in enumerate(kept["drawn"])],
        },
        text=[label if q > 0.05 else "" for label, q in zip(labels, kept["q"], strict=True)],
        textposition="inside", insidetextanchor="middle", textangle=0, textfont={"color": "white"},
        customdata=[
            f"<b>{label}</b><br>from {start:.4f} to {end:.4f}"
            for label, start, end in zip(labels, starts, kept["cumulative"], strict=True)
        ],
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(x=[u, u], y=[-0.62, 0.62], mode="lines", line={"color": MUTED, "width": 2}, hoverinfo="skip")
    side = "left" if u < 0.2 else "right" if u > 0.8 else "center"
    figure.add_annotation(x=u, y=0.62, xanchor=side, yanchor="bottom", text=f"<b>u = {u:.4f}</b>", showarrow=False)
    figure = styled(figure, height=118, x="cumulative q")
    figure.update_layout(barmode="overlay")
    figure.update_xaxes(range=[0, 1], nticks=6)
    figure.update_yaxes(visible=False, range=[-0.7, 1.15])
    return figure


def stage_bars(table: pd.DataFrame, stage: str, *, scores: bool) -> go.Figure:
    """One stage of the pipeline for the likeliest tokens; ``table`` as from ``stages``, ``scores`` before the softmax.

    A row that a filter has cut stays, empty and named.
    """
    rows, values = list(range(len(table))), table[stage]
    cut = [not scores and value == 0 for value in values]
    figure = go.Figure()
    figure.add_bar(
        y=rows, x=values, orientation="h", width=0.66, marker_color=MUTED if scores else EMBEDDING,
        text=[
            "cut" if gone else f"{value:.2f}" if scores else _percent(value)
            for value, gone in zip(values, cut, strict=True)
        ],
        textposition="outside", cliponaxis=False, textfont_size=11,
        customdata=plain_all(table["token"]), hovertemplate="<b>%{customdata}</b><br>%{x:.6g}<extra></extra>",
    )  # fmt: skip
    figure = styled(figure, height=21 * len(rows) + 34)
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    room = (high - low) or 1.0
    figure.update_xaxes(
        range=[low - (0.28 * room if low < 0 else 0), high + 0.34 * room], showticklabels=False, nticks=4
    )
    figure.update_yaxes(
        tickvals=rows, ticktext=[label if len(label) < 14 else f"{label[:12]}…" for label in plain_all(table["token"])],
        range=[len(rows) - 0.4, -0.6], showgrid=False, ticklabelstandoff=6,
        tickfont={"family": "JetBrains Mono, monospace", "size": 12},
    )  # fmt: skip
    return figure


def count_bars(table: pd.DataFrame) -> go.Figure:
    """How often each token was drawn (bars), and how often it should be (marks, ± two standard deviations)."""
    rows, labels = list(range(len(table))), plain_all(table["token"])
    figure = go.Figure()
    figure.add_bar(
        y=rows, x=table["drawn"], orientation="h", width=0.66, marker_color=DRAWN, name="drawn",
        customdata=labels, hovertemplate="<b>%{customdata}</b><br>drawn %{x:,} times<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        y=rows, x=table["expected"], mode="markers", name="expected, ± 2 standard deviations",
        marker={"symbol": "line-ns", "size": 13, "line": {"width": 2.4, "color": INK}},
        error_x={"array": 2 * table["spread"], "color": INK, "thickness": 1.2, "width": 3},
        customdata=labels, hovertemplate="<b>%{customdata}</b><br>expected %{x:.1f}<extra></extra>",
    )  # fmt: skip
    figure = styled(figure, height=24 * len(rows) + 120, x="times")
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0})
    figure.update_xaxes(rangemode="tozero", nticks=6, tickangle=0, title_standoff=8)
    figure.update_yaxes(
        tickvals=rows, ticktext=labels, range=[len(rows) - 0.4, -0.6], showgrid=False, ticklabelstandoff=6,
        tickfont={"family": "JetBrains Mono, monospace", "size": 13},
    )  # fmt: skip
    return figure


def _share(q: float, p: float) -> str:
    if q == 0:
        return f"  {_percent(p)} → cut"
    return f"  {_percent(q)}" if abs(p - q) < 1e-9 else f"  {_percent(p)} → {_percent(q)}"


def _percent(share: float) -> str:
    """A share in per cent with at least two digits that mean something."""
    if share >= 0.0995:
        return f"{share:.1%}"
    return f"{share:.2%}" if share >= 0.000995 else f"{share:.2g}" if share < 1e-6 else f"{share * 100:.2g}%"
