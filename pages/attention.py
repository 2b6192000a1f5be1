"""Who reads whom: all heads, one head, one cell."""

import math
from functools import partial

import numpy as np
import streamlit as st

from explorer.analysis import attention
from explorer.analysis.head_scan import (
    HeadScan,
    drawn_map,
    joined,
    repeat_scan,
    scan,
    scan_batches,
    scan_taps,
    thumbnail_size,
)
from explorer.analysis.head_table import LEAST_BEYOND, RULES, head_table, repeated_random_tokens
from explorer.figures.attention import cell_bars
from explorer.figures.theme import ATTENTION, EMBEDDING
from explorer.ui import state
from explorer.ui.attention_component import Axis, attention_map, head_grid
from explorer.ui.chart import chart, numbers
from explorer.ui.components import Fact, fact_list
from explorer.ui.controls import attention_controls, direction_control, head_control, layer_control
from explorer.ui.details import details
from explorer.ui.head_score_table import head_score_table
from explorer.ui.kept import kept
from explorer.ui.page import open_page
from explorer.ui.weighted_text import weighted_text
from explorer.ui.words import error

SHARED = 96  # pixels of a map among those that share a key
LISTED = 1_200  # heads in the table
MAP_CELLS, NAMED, WINDOW = 256, 48, 32  # cells a side at most, cells that are named, cells around the chosen one
SINK_SHARE = 0.5
SNIPPET = """from explorer.analysis.attention import attention_taps, row_table
from explorer.cli.session import Session

session = Session({model!r})
labels = [token.label for token in session.tokenizer.encode({prompt!r}).tokens]
trace = session.trace({prompt!r}, taps=attention_taps({layer}))
print(row_table(trace, {layer}, {head}, {token}, labels))"""
TABLE_SNIPPET = """from explorer.analysis.head_scan import repeat_scan, scan, scan_taps
from explorer.analysis.head_table import head_table, repeated_random_tokens
from explorer.cli.session import Session

session = Session({model!r})
config = session.card.config
layers = range(config.n_layers)
prompt = session.trace({prompt!r}, taps=scan_taps(layers))
repeats = session.trace(repeated_random_tokens(config.vocab_size, {begin}), taps=scan_taps(layers))
print(head_table(scan(prompt, layers, 32), repeat_scan(repeats, layers)))"""

page = open_page("attention")
view, config, ids, tokens = page.view, page.blueprint.config, page.encoding.ids, page.encoding.tokens
layer, head, token = view.layer, view.head, page.selected
labels = [each.label for each in tokens]
names = [f"{place} {label}" for place, label in enumerate(labels)]
trace = page.trace(ids, taps=attention.attention_taps(layer))

grid_place = st.container()
left, right = st.columns(2, gap="large")
with left:
    layer_control(config.n_layers)
with right:
    head_control(config.n_heads)

full = attention.head_pattern(trace, layer, head)
shown = attention.without_first(full) if view.skip_first else full
if view.weighted:
    output = page.parameter(f"layers.{layer}.attention.output.weight")
    shown = attention.value_weighted(shown, attention.write_lengths(trace, layer, head, output))
source = view.source if 0 <= view.source <= token else attention.strongest_key(shown, token)
quantity = "length added" if view.weighted else "share"


def draw_map() -> None:
    """The whole map, and around the chosen cell a part of it whose tokens can be told apart."""
    small, spans = attention.pooled(shown, MAP_CELLS)
    each = len(spans[0])
    spoken = names if each == 1 else [f"tokens {span[0]}–{span[-1]}" for span in spans]
    named = len(spans) <= NAMED
    axis = Axis(names=spoken, labels=labels if named and each == 1 else [str(span[0]) for span in spans])
    attention_map(
        small, axis, axis, key="map", name=f"Attention of layer {layer}, head {head}: rows read columns", named=named,
        hint="Move over a cell, or click it.", selected=(token // each, source // each),
        colour=view.colour, verb="reads" if each == 1 else "read",
        on_pick=lambda row, column: state.go(token=spans[row][-1], source=spans[column][0]),
    )  # fmt: skip
    st.caption("Rows are the tokens that read, from the top; columns are the tokens they read.")
    if each > 1:
        st.caption(f"A cell stands for {each} × {each} tokens and shows the largest value among them.")
    if named:
        return
    st.markdown("**Around the chosen cell**")
    row, column = (max(0, min(place - WINDOW // 2, len(ids) - WINDOW)) for place in (token, source))
    rows, columns = slice(row, row + WINDOW), slice(column, column + WINDOW)
    attention_map(
        shown[rows, columns], Axis(names=names[rows], labels=labels[rows]),
        Axis(names=names[columns], labels=labels[columns]), key="window", ahead=row - column, colour=view.colour,
        name=f"Tokens {row} to {row + WINDOW - 1} read tokens {column} to {column + WINDOW - 1}",
        hint="Move over a cell, or click it.", selected=(token - row, source - column), largest_cell=24,
        on_pick=lambda down, across: state.go(token=row + down, source=column + across),
    )  # fmt: skip


picture, beside = st.columns([3, 2], gap="large")
with picture:
    st.subheader(f"Layer {layer}, head {head}", anchor=False)
    draw_map()
with beside:
    entropy = attention.entropies(full)
    rest = full[1:] if len(ids) > 1 else full
    fact_list(
        [
            Fact(
                name="Entropy of the chosen row", value=f"{entropy[token]:.3f} nats",
                note=f"of at most {math.log(token + 1):.3f}",
            ),
            Fact(name="On the first token", value=f"{rest[:, 0].mean():.1%}", note="mean over the other rows"),
            Fact(name="Every row adds to 1", value=error(abs(full.sum(axis=1) - 1).max()), note="the largest error"),
            Fact(
                name="Map × values = what the model mixed", note="largest difference of an element",
                value=error(attention.mixing_error(trace, layer, head, full)),
            ),
        ],
        key="head-facts",
        tile=150,
    )  # fmt: skip
    if len(ids) > 1 and rest[:, 0].mean() > SINK_SHARE:
        st.caption(
            "Most of it lies on the first token: an attention sink, which trained models do have. Hide it, or choose "
            "the log colour, to see the rest."
        )
    attention_controls()
    if view.skip_first or view.weighted:
        st.caption("The numbers above are of the map as the model computes it.")

st.subheader("One cell", anchor=False)
found = attention.cell(trace, layer, head, token, source)
cell_table = attention.cell_table(found)
fact_list(
    [
        Fact(name="Reads", value=labels[token], literal=True, note=f"the query, token {token}"),
        Fact(name="Is read", value=labels[source], literal=True, note=f"the key, {token - source} tokens back"),
        Fact(name="q · k", value=f"{found.dot:.4f}", note=f"the sum of {len(cell_table)} products"),
        Fact(name=f"÷ √{len(cell_table)}", value=f"{found.score:.4f}", note="the score"),
        Fact(name="Mask", value="stays", note=f"key {source} is not after query {token}"),
        Fact(
            name="Softmax against its row", value=f"{found.weight:.5f}",
            note=f"exp({found.score:.4f} − {found.normaliser:.4f})",
        ),
        Fact(name="Value", value=f"{np.linalg.norm(found.value):.4f}", note="length of the vector read"),
        Fact(name="Share × value", value=f"{np.linalg.norm(found.contribution):.4f}", note="length of what it brings"),
    ],
    key="cell-facts",
    tile=130,
)  # fmt: skip
chart(
    cell_bars(cell_table),
    name="attention-cell",
    summary=f"The {len(cell_table)} products of query and key add to {found.dot:.4f}; below, the value that is read.",
)
st.caption(
    "Above: query × key in every dimension. Below: the value in grey, and in orange what the share leaves of it."
)

st.subheader("Over the text", anchor=False)
direction_control()
reads = view.direction == "reads"
line = shown[token] if reads else shown[:, token]
weighted_text(
    labels, (line / (line.max() or 1.0) if view.weighted else line).tolist(),
    [f"{quantity} {value:.4f}" for value in line],
    name="What the chosen token reads" if reads else "Who reads the chosen token", selected=token,
    tones=(EMBEDDING, ATTENTION), arcs=True, on_pick=lambda place: state.go(token=place), key="arcs",
)  # fmt: skip
st.caption("The stronger the colour, the larger the share; arcs from 2% on. A click chooses another token.")
numbers(
    attention.row_table(trace, layer, head, token, labels),
    name="attention-row",
    snippet=page.snippet(SNIPPET, layer=layer, head=head, token=token),
)

st.subheader("Heads that share a key", anchor=False)
group = attention.group(head, config)
head_grid(
    np.stack([drawn_map(attention.head_pattern(trace, layer, each), SHARED) for each in group])[None],
    name=f"Query heads {group[0]} to {group[-1]}, which read key/value head {attention.kv_head(head, config)}",
    selected=(0, head - group[0]), on_pick=lambda _row, column: state.go(head=group[column]), key="shared",
    column_name="query head", first=(0, group[0]), largest=220, tallest=220,
)  # fmt: skip
each_bytes = attention.element_bytes(trace, layer)


def cache_fact(name: str, n_tokens: int) -> Fact:
    """Bytes of the cache as it is, with the bytes it would take if no head shared."""
    shared = attention.cache_bytes(config, n_tokens, config.n_kv_heads, each_bytes)
    alone = attention.cache_bytes(config, n_tokens, config.n_heads, each_bytes)
    return Fact(name=name, value=f"{shared:,} bytes", note=f"{alone:,} if every query head had its own")


fact_list(
    [
        Fact(
            name="Sharing", value=f"{config.n_heads} query, {config.n_kv_heads} key/value heads",
            note=f"query head {head} reads ⌊{head} / {config.heads_per_kv_head}⌋ = {attention.kv_head(head, config)}",
        ),
        cache_fact(f"Cache for these {len(ids):,} tokens", len(ids)),
        cache_fact(f"Cache for the full context, {config.context:,} tokens", config.context),
    ],
    key="cache-facts",
    tile=220,
)  # fmt: skip
st.caption(f"Keys and values of all {config.n_layers} layers, {each_bytes} bytes a number, as this model runs here.")

st.subheader("All heads", anchor=False)
table_place = st.container()
details(
    page.blueprint,
    n_tokens=len(ids),
    subject="attention",
    formula=r"""
\begin{aligned}
A_{ts} &= \operatorname{softmax}_{s \le t}\left(\frac{q_t \cdot k_s}{\sqrt{d_{\text{head}}}}\right) \\
o_t &= \sum_{s \le t} A_{ts}\, v_s
\end{aligned}
""",
    taps=tuple(f"layers.{layer}.attention.tap.{name}" for name in ("rotated_query", "rotated_key", "value", "mixed")),
    code="explorer.model.attention.pattern",
)


def scanned(batch: range) -> HeadScan:
    """The heads of some layers on the prompt."""
    return scan(page.trace(ids, taps=scan_taps(batch)), batch, size)


def repeated(batch: range) -> HeadScan:
    """The heads of some layers on the repeated random tokens."""
    return repeat_scan(page.trace(random_ids, taps=scan_taps(batch)), batch)


size = thumbnail_size(config)
begin = page.tokenizer.encode("").ids
random_ids = repeated_random_tokens(config.vocab_size, begin, most=config.context)
with grid_place:  # last, because a long prompt takes a while: all else is there already
    every = joined(
        [
            kept(("heads", view.model, ids, size, batch), partial(scanned, batch))
            for batch in scan_batches(config, len(ids))
        ]
    )
    repeats = joined(
        [
            kept(("repeats", view.model, random_ids, batch), partial(repeated, batch))
            for batch in scan_batches(config, len(random_ids))
        ]
    )
    head_grid(
        every.pixels.swapaxes(0, 1), name="Attention of every head, a column for each layer", key="heads",
        row_name="head", column_name="layer", selected=(head, layer),
        on_pick=lambda row, column: state.go(head=row, layer=column),
    )  # fmt: skip
    st.caption(
        "Every square is the map of one head: a column for each layer, a row for each head. Click one to open it."
    )
with table_place:
    table = head_table(every, repeats)
    listed = table.sort_values("induction", ascending=False).head(LISTED)
    head_score_table(
        listed.to_dict("records"),
        n_heads=config.n_heads,
        opened=(layer, head),
        tone=ATTENTION,
        on_pick=lambda row, column: state.go(layer=row, head=column),
    )
    st.markdown("\n".join(f"- **{rule.label}**: {rule.words}." for rule in RULES))
    st.caption(
        f"A head without a name fulfils no rule. A rule about the rest asks that at least {LEAST_BEYOND:.0%} be left. "
        "The last two columns are measured on random tokens repeated four times (Olsson et al. 2022), the others on "
        "your text."
    )
    if len(listed) < len(table):
        st.caption(f"Listed are the {len(listed):,} heads of {len(table):,} with the highest induction score.")
    numbers(listed.sort_index(), name="heads", snippet=page.snippet(TABLE_SNIPPET, begin=begin))
