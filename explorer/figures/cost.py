"""What a model costs as bars and lines: shares, operations and cache by context, and the roofline."""

import math

import pandas as pd
import plotly.graph_objects as go

from explorer.architecture.facts import in_bytes
from explorer.figures.theme import ATTENTION, DRAWN, EMBEDDING, FEED_FORWARD, INK, MUTED, RESIDUAL, plain, styled

COLOURS = {
    "embedding": EMBEDDING,
    "attention": ATTENTION,
    "scores and mix": DRAWN,
    "feed-forward": FEED_FORWARD,
    "norms": RESIDUAL,
    "unembedding": "#5aa0e6",
}
TOKEN_TICKS = [16**power for power in range(1, 8)]
OPERATION_TICKS = [10**power for power in range(3, 22)]
LETTERS = ("", "k", "M", "G", "T", "P", "E", "Z")
BAR_HEIGHT = 62
LEGEND = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom", "font": {"color": INK}}


def share_bars(shares: pd.DataFrame) -> go.Figure:
    """One bar for each of ``analysis.cost.share_table``'s wholes, cut into its parts."""
    wholes = list(dict.fromkeys(shares["of"]))
    figure = go.Figure()
    for part, colour in COLOURS.items():
        own = shares[shares["part"] == part]
        if own.empty:
            continue
        figure.add_bar(
            y=[wholes.index(of) for of in own["of"]], x=own["share"], orientation="h", width=0.5, name=part,
            marker={"color": colour}, text=[f"{share:.1%}" if share > 0.06 else "" for share in own["share"]],
            textposition="inside", insidetextanchor="middle", textangle=0,
            textfont={"color": "white", "size": 13}, customdata=[f"{amount:,}" for amount in own["amount"]],
            hovertemplate=f"{part}<br>%{{customdata}}<br>%{{x:.2%}}<extra></extra>",
        )  # fmt: skip
    for place, whole in enumerate(wholes):
        figure.add_annotation(
            x=0, y=place - 0.3, xref="paper", text=plain(whole), showarrow=False, xanchor="left", yanchor="bottom",
            font={"size": 13, "color": INK},
        )  # fmt: skip
    figure = styled(figure, height=BAR_HEIGHT * len(wholes) + 70)
    figure.update_layout(barmode="stack", showlegend=True, legend={**LEGEND, "traceorder": "normal"})
    figure.update_xaxes(visible=False, range=[0, 1])
    figure.update_yaxes(visible=False, range=[len(wholes) - 0.6, -0.75])
    return figure


def operation_lines(operations: pd.DataFrame, *, at: int, crossover: int | None) -> go.Figure:
    """Operations of a token by context, both on log axes, with the crossover and the chosen context marked.

    ``operations`` as from ``analysis.cost.operation_table``.
    """
    looks = {
        "matrices": ("all matrices", FEED_FORWARD, "solid"),
        "newest": ("attention of the newest token", ATTENTION, "solid"),
        "mean": ("attention, mean of a prompt", ATTENTION, "dot"),
        "total": ("newest token in all", INK, "dash"),
    }
    figure = go.Figure()
    for column, (name, colour, dash) in looks.items():
        figure.add_scatter(
            x=operations["context"], y=operations[column], mode="lines", name=name,
            line={"color": colour, "width": 2.5, "dash": dash},
            hovertemplate=f"{name}<br>at %{{x:,}} tokens<br>%{{y:.4s}}FLOP<extra></extra>",
        )  # fmt: skip
    figure = _by_context(figure, operations["context"], at, y="operations per token (log)")
    figure.update_yaxes(tickvals=OPERATION_TICKS, ticktext=[in_operations(tick) for tick in OPERATION_TICKS])
    if crossover is not None:
        level = float(operations["matrices"].iloc[0])
        figure.add_scatter(
            x=[crossover], y=[level], mode="markers", showlegend=False,
            marker={"size": 12, "color": DRAWN, "symbol": "diamond"},
            hovertemplate=f"attention costs as much<br>from {crossover:,} tokens<extra></extra>",
        )  # fmt: skip
        figure.add_annotation(
            x=math.log10(crossover), y=math.log10(level), text=f"<b>equal at {crossover:,}</b>", showarrow=False,
            xanchor="right", yanchor="bottom", yshift=26, font={"size": 12, "color": DRAWN},
        )  # fmt: skip
    return figure


def cache_lines(cache: pd.DataFrame, *, at: int, heads: tuple[int, int], weights: int) -> go.Figure:
    """Bytes of the cache by context, both on log axes, for as many key/value heads as query heads, the model's own
    number, and one. ``heads`` are query and key/value heads, ``weights`` the bytes of the model for comparison.
    """
    n_heads, n_kv_heads = heads
    kind = {n_heads: "multi-head", 1: "multi-query"}.get(n_kv_heads, "grouped-query")
    looks = {
        "mha": (f"{n_heads} key/value heads: multi-head", MUTED, "dash"),
        "own": (f"{n_kv_heads}: {kind}, this model", ATTENTION, "solid"),
        "mqa": ("1: multi-query", EMBEDDING, "dot"),
    }
    drawn = {"own": looks["own"]}
    drawn |= {"mha": looks["mha"]} if n_kv_heads < n_heads else {}
    drawn |= {"mqa": looks["mqa"]} if n_kv_heads > 1 else {}
    figure = go.Figure()
    for column in sorted(drawn, key=list(looks).index):
        name, colour, dash = drawn[column]
        figure.add_scatter(
            x=cache["context"], y=cache[column], mode="lines", name=name,
            line={"color": colour, "width": 2.5, "dash": dash},
            customdata=[in_bytes(n) for n in cache[column]],
            hovertemplate=f"{name}<br>at %{{x:,}} tokens<br>%{{customdata}}<extra></extra>",
        )  # fmt: skip
    figure.add_scatter(
        x=[cache["context"].min(), cache["context"].max()], y=[weights, weights], mode="lines", name="the weights",
        line={"color": INK, "width": 1.5, "dash": "dashdot"},
        hovertemplate=f"the weights take {in_bytes(weights)}<extra></extra>",
    )  # fmt: skip
    figure = _by_context(figure, cache["context"], at, y="bytes (log)")
    lowest, highest = float(cache[[*drawn]].min().min()), float(max(cache[[*drawn]].max().max(), weights))
    ticks = [2 ** (5 * step) for step in range(2, 12) if lowest / 4 <= 2 ** (5 * step) <= highest * 4]
    figure.update_yaxes(tickvals=ticks, ticktext=[in_bytes(tick) for tick in ticks])
    return figure


def roofline(times: pd.DataFrame, *, bandwidth: float, compute: float) -> go.Figure:
    """Operations per second that a machine can reach, by operations per byte, and where each step of work stands.

    ``times`` as from ``analysis.cost.time_table``.
    """
    ridge = compute / bandwidth
    lowest = min(0.25, float(times["intensity"].min()) / 2)
    highest = max(8 * ridge, float(times["intensity"].max()) * 4)
    figure = go.Figure()
    figure.add_scatter(
        x=[lowest, ridge, highest], y=[lowest * bandwidth, compute, compute], mode="lines", showlegend=False,
        line={"color": INK, "width": 2.5}, hoverinfo="skip",
    )  # fmt: skip
    figure.add_vline(x=ridge, line={"color": MUTED, "width": 1, "dash": "dot"})
    for place, row in enumerate(times.itertuples(index=False)):
        colour = (ATTENTION, FEED_FORWARD, EMBEDDING, RESIDUAL)[place % 4]
        figure.add_scatter(
            x=[row.intensity], y=[row.reached], mode="markers", name=plain(str(row.work)),
            marker={"size": 13, "color": colour, "symbol": ("circle", "square", "diamond", "cross")[place % 4]},
            hovertemplate=(
                f"{plain(str(row.work))}<br>%{{x:,.4g}} operations per byte<br>at most %{{y:.4s}}FLOP a second"
                f"<br>bound by {row.bound}<extra></extra>"
            ),
        )  # fmt: skip
    figure = styled(figure, height=380, x="operations per byte moved (log)", y="operations per second (log)")
    figure.update_layout(showlegend=True, legend=LEGEND)
    figure.update_xaxes(type="log", dtick=1, range=[math.log10(lowest), math.log10(highest)], tickformat="~g")
    figure.update_yaxes(
        type="log", range=[math.log10(lowest * bandwidth), math.log10(compute * 3)], tickvals=OPERATION_TICKS,
        ticktext=[in_operations(tick) for tick in OPERATION_TICKS],
    )  # fmt: skip
    figure.add_annotation(
        x=math.log10(ridge), y=math.log10(compute), text=f"<b>ridge: {ridge:,.0f}</b>", showarrow=False,
        xanchor="right", yanchor="bottom", xshift=-4, yshift=4, font={"size": 12, "color": INK},
    )  # fmt: skip
    return figure


def in_operations(count: int) -> str:
    """``10 G``, for a whole power of ten."""
    step = (len(str(count)) - 1) // 3
    return f"{count // 1000**step} {LETTERS[step]}".strip()


def _by_context(figure: go.Figure, lengths: pd.Series, at: int, *, y: str) -> go.Figure:
    figure = styled(figure, height=400, x="tokens in the context (log)", y=y)
    figure.update_layout(showlegend=True, legend=LEGEND)
    low, high = math.log10(lengths.min()), math.log10(lengths.max())
    figure.update_xaxes(
        type="log", range=[low, high], tickvals=TOKEN_TICKS, ticktext=[f"{tick:,}" for tick in TOKEN_TICKS], tickangle=0
    )
    figure.update_yaxes(type="log")
    figure.add_vline(x=at, line={"color": MUTED, "width": 1.2, "dash": "dash"})
    side, shift = ("right", -4) if math.log10(at) > (low + high) / 2 else ("left", 4)
    figure.add_annotation(
        x=math.log10(at), yref="paper", y=0.01, text=f"{at:,}", showarrow=False,
        xanchor=side, xshift=shift, yanchor="bottom", font={"size": 12, "color": INK},
    )  # fmt: skip
    return figure
