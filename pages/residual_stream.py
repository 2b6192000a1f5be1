"""How far each token's vector has grown after every sub-layer, and who wrote what into it."""

import numpy as np
import streamlit as st

from explorer.analysis import residual_stream as analysis
from explorer.analysis.residual_stream import ACCOUNT_ROWS, STREAM_NORMS, stream_norms
from explorer.figures.normalization import histogram
from explorer.figures.residual_stream import stream_norm_lines
from explorer.figures.residual_writes import dimension_bars, waterfall, write_marks
from explorer.ui import state
from explorer.ui.chart import chart, numbers
from explorer.ui.components import Fact, fact_list
from explorer.ui.details import details
from explorer.ui.page import open_page
from explorer.ui.residual_controls import MEASURES, measure_control, skip_first_control
from explorer.ui.strip_component import strip

MOST_ROWS = 24
NORMS_SNIPPET = """from explorer.analysis.residual_stream import STREAM_NORMS, stream_norms
from explorer.cli.session import Session

trace = Session({model!r}).trace({prompt!r}, norms=STREAM_NORMS)
norms = stream_norms(trace)
print(norms[norms["token"] == {place}])"""
ACCOUNT_SNIPPET = """from explorer.analysis.residual_stream import ACCOUNT_ROWS, account, account_table
from explorer.cli.session import Session

book = account(Session({model!r}).trace({prompt!r}, rows=ACCOUNT_ROWS, scored=[{place}]))
print(account_table(book))
print("embedding + all writes - final vector:", book.residual)"""
VECTOR_SNIPPET = """from explorer.analysis.residual_stream import ACCOUNT_ROWS, account, largest_dimensions
from explorer.cli.session import Session

book = account(Session({model!r}).trace({prompt!r}, rows=ACCOUNT_ROWS, scored=[{place}]))
print(largest_dimensions(book.stream[{at}]))"""

page = open_page("residual_stream")
config = page.blueprint.config
view = state.fit(depth=2 * config.n_layers)
run = page.run(norms=STREAM_NORMS)
place, label = run.selected, run.labels[run.selected]
at = view.depth if view.depth >= 0 else 2 * config.n_layers
norms = stream_norms(run.trace)


def lengths() -> None:
    """The size of every token's vector at every depth."""
    picture, controls = st.columns([5, 2], gap="large")
    with controls:
        measure_control()
        skip_first_control()
        jump = analysis.largest_jump(norms, 0)
        if jump.times > 10:
            st.caption(
                f"The first token grows {jump.times:,.0f}-fold in one step: {analysis.depth_name(jump.depth)}. It is "
                "real, and most texts show it: see below."
            )
    shown = norms if not view.skip_first or place == 0 else norms[norms["token"] != 0]
    if view.measure == "rms":
        shown = analysis.as_rms(shown, config.d_model)
    chosen = shown[shown["token"] == place]["norm"]
    with picture:
        chart(
            stream_norm_lines(shown, run.labels, place, measure=MEASURES[view.measure], depth=at),
            name="stream-norms",
            summary=(
                f"{MEASURES[view.measure]} of the residual vector of every token through the layers, on a logarithmic "
                f"axis. The selected token {label} starts at {chosen.iloc[0]:.4g}, ends at {chosen.iloc[-1]:.4g}, at "
                f"most {chosen.max():.4g}."
            ),
        )
    tokens = sorted(int(token) for token in shown["token"].unique())
    start = max(0, min(tokens.index(place) - MOST_ROWS // 2, len(tokens) - MOST_ROWS))
    rows = tokens[start : start + MOST_ROWS]
    strip(
        np.stack([shown[shown["token"] == token]["norm"].to_numpy() for token in rows]),
        name=f"{MEASURES[view.measure]} of every token's vector at every depth; choose one",
        key="norm-grid",
        rows=[run.labels[token] for token in rows],
        columns=[analysis.depth_name(depth) for depth in range(2 * config.n_layers + 1)],
        column="",
        scale="log",
        height=22 if len(rows) <= 12 else 15,
        hint="Click a cell: its token and depth are chosen, and shown below.",
        selected=(rows.index(place), at),
        on_pick=lambda row, depth: state.go(
            token=_unless_default(rows[row], len(run.tokens) - 1),
            depth=_unless_default(depth, 2 * config.n_layers),
        ),
    )
    numbers(
        norms.assign(text=norms["token"].map(dict(enumerate(run.labels)))),
        name="stream-norms",
        snippet=page.snippet(NORMS_SNIPPET, place=place),
    )


def one_vector(book: analysis.Account) -> None:
    """The chosen token's vector at the chosen depth, and its dimensions at every depth."""
    st.subheader("One vector", anchor=False)
    vector = book.stream[at]
    largest, length = analysis.largest_dimensions(vector), float(np.linalg.norm(vector))
    facts = [
        Fact(name="Token", value=label, literal=True, note=f"number {place}"),
        Fact(name="Where", value=analysis.depth_name(at)),
        Fact(name="L2 length", value=f"{length:,.5g}"),
        Fact(name="Root mean square", value=f"{length / np.sqrt(len(vector)):,.5g}", note="L2 ÷ √dimensions"),
        Fact(
            name="Largest dimension",
            value=f"{largest['dimension'][0]}",
            note=f"{largest['value'][0]:,.5g}, {largest['share'][0]:.1%} of the squared length",
        ),
    ]
    fact_list(facts, key="vector-facts", tile=140)
    bars, counts = st.columns(2, gap="large")
    with bars:
        words = ", ".join(f"{row.dimension}: {row.value:,.4g}" for row in largest.head(3).itertuples())
        chart(dimension_bars(largest), name="largest-dimensions", summary=f"The largest dimensions: {words}.")
    with counts:
        summary = f"How many of the {len(vector)} numbers have which value: {vector.min():,.4g} to {vector.max():,.4g}."
        chart(histogram(vector, x="value"), name="vector-histogram", summary=summary)
    giants = analysis.giant_dimensions(book.stream)
    strip(
        book.stream[::2],
        name=f"All dimensions of token {place} after every layer",
        key="dimensions",
        rows=["embedding", *[f"layer {layer}" for layer in range(config.n_layers)]],
        marks=[(dimension, str(dimension)) for dimension in giants],
        limit=float(np.quantile(np.abs(book.stream[::2]), 0.995)),
        scale="root",
        height=10,
        selected=((at + 1) // 2, -1),
        hint="One column is one dimension. Click a row: that depth is chosen.",
        on_pick=lambda row, _dimension: state.go(depth=_unless_default(2 * row, 2 * config.n_layers)),
    )
    named = ", ".join(str(dimension) for dimension in giants)
    st.caption(
        (f"Named above: dimensions far larger than the rest of their vector ({named}). " if giants else "")
        + "Colours stop growing at the size that one number in 200 exceeds; the value under the pointer is exact."
    )
    numbers(largest, name="vector", snippet=page.snippet(VECTOR_SNIPPET, place=place, at=at))


def account_book(book: analysis.Account) -> None:
    """What every sub-layer wrote, and that it adds up."""
    st.subheader("The account: who wrote what", anchor=False)
    table = analysis.account_table(book)
    total = float(np.linalg.norm(book.final))
    largest = table.iloc[1:].loc[table["share"].iloc[1:].idxmax()]
    fact_list(
        [
            Fact(
                name="Embedding + all writes",
                value=f"{book.residual:.1e} apart",
                note=f"from the final vector in the worst dimension, {book.residual / total:.0e} of its length",
            ),
            Fact(
                name="The bars add up to",
                value=f"{table['toward_final'].sum():,.6g}",
                note=f"{abs(table['toward_final'].sum() - total):.1e} from that length",
            ),
            Fact(
                name="Largest write for its stream",
                value=f"{largest['share']:,.3g} ×",
                note=analysis.depth_name(int(largest["depth"])),
            ),
        ],
        key="account-facts",
        tile=230,
    )
    chart(
        waterfall(table),
        name="waterfall",
        summary=(
            f"How far the embedding and each of {len(table) - 1} writes move token {place} towards its final vector; "
            f"together {table['toward_final'].sum():,.5g}, the length of that vector."
        ),
    )
    st.caption(
        "Each bar is the part of a write that points along the final vector: up is towards it, down is away from it. "
        "Together they are exactly as long as the final vector."
    )
    chart(
        write_marks(table),
        name="writes",
        summary=(
            f"Size of each write as a share of the stream: {table['share'].min():.3g} to {table['share'].max():.3g}; "
            f"cosine with the stream from {table['cosine'].min():.2f} to {table['cosine'].max():.2f}."
        ),
    )
    st.caption(
        "Above: how large a write is beside the vector that it is added to; over the dashed line it is the larger one. "
        "Below: the cosine between both. Near 0 it adds something new, at 1 it lengthens what is there, at -1 it takes "
        "away."
    )
    numbers(table, name="account", snippet=page.snippet(ACCOUNT_SNIPPET, place=place))


def directions(book: analysis.Account) -> None:
    """How much of the direction survives from depth to depth."""
    st.subheader("Does the direction last?", anchor=False)
    names = ["embedding", *[f"layer {layer}" for layer in range(config.n_layers)]]
    strip(
        analysis.depth_cosines(book),
        name=f"Cosine between the vectors of token {place} at any two depths",
        key="depth-cosines",
        rows=names,
        columns=names,
        column="and",
        limit=1.0,
        height=11,
        hint="The cosine of the vectors after two layers: 1 is the same direction, 0 has nothing in common.",
    )
    st.caption("Blocks of one colour are stretches of layers that keep the direction; an edge is where it turns.")


def _unless_default(value: int, default: int) -> int:
    return -1 if value == default else value


lengths()
if not run.recorded:
    book = analysis.account(page.run(rows=ACCOUNT_ROWS).trace)
    one_vector(book)
    account_book(book)
    directions(book)
details(
    page.blueprint,
    n_tokens=len(run.tokens),
    subject="residual_stream",
    formula=r"""
\begin{aligned}
x_{l+\frac12} &= x_l + \mathrm{Attn}(\mathrm{Norm}(x_l)) \\
x_{l+1} &= x_{l+\frac12} + \mathrm{FFN}(\mathrm{Norm}(x_{l+\frac12}))
\end{aligned}
""",
    taps=("tap.embedded", "layers.0.tap.after_attention", "layers.0.tap.after_feed_forward"),
    code="explorer.model.layer.DecoderLayer",
)
