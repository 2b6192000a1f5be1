"""How a position turns queries and keys."""

import streamlit as st

from explorer.analysis import rope
from explorer.analysis.rope import Vector
from explorer.figures.rope import extension_lines, score_line, wavelength_lines
from explorer.figures.theme import ATTENTION, EMBEDDING
from explorer.ui import state
from explorer.ui.chart import chart, numbers
from explorer.ui.components import Fact, fact_list, token_strip
from explorer.ui.controls import head_control, layer_control
from explorer.ui.details import details
from explorer.ui.dials_component import dials
from explorer.ui.page import open_page
from explorer.ui.resources import known_sizes
from explorer.ui.rope_controls import pairing_control, reach_control, shift_control, side_control
from explorer.ui.strip_component import strip
from explorer.ui.words import literal

COMPARED = "llama-3.1-8b"
PAIRS_SNIPPET = """from explorer.analysis.rope import head_vector, pair_table, rope_taps, speeds_of
from explorer.cli.session import Session

session = Session({model!r})
trace = session.trace({prompt!r}, taps=rope_taps({layer}))
vector = head_vector(trace, layer={layer}, head={head}, token={place}, side={side!r})
print(pair_table(vector.before, {at}, speeds_of(session.card.config)))"""
SCORES_SNIPPET = """from explorer.analysis.rope import head_vector, rope_taps, score_by_distance, speeds_of
from explorer.cli.session import Session

session = Session({model!r})
trace = session.trace({prompt!r}, taps=rope_taps({layer}))
query = head_vector(trace, {layer}, {head}, {place}, "query").before
key = head_vector(trace, {layer}, {head}, {key_place}, "key").before
print(score_by_distance(query, key, speeds_of(session.card.config), reach={most}))"""
SPEEDS_SNIPPET = """from explorer.analysis.rope import schedule
from explorer.checkpoint.known_models import known_models

print(schedule(known_models()[{known!r}].config))"""

page = open_page("rope")
config = page.blueprint.config
layer_side, head_side, arrow_side = st.columns([3, 3, 2], gap="large")
with layer_side:
    layer_control(config.n_layers)
with head_side:
    head_control(config.n_heads)
with arrow_side:
    side_control()
run = page.run(taps=rope.rope_taps(page.view.layer))
view = state.fit(pair=config.head_dim // 2 - 1, position=config.context - 1, reach=config.context - 1)
place, speeds = run.selected, rope.speeds_of(config)
at = view.position if view.position >= 0 else place
key_place = view.source if 0 <= view.source <= place else max(place - 1, 0)
vector = rope.head_vector(run.trace, view.layer, view.head, place, view.side)
after = rope.turned(vector.before, at, speeds)
query = rope.head_vector(run.trace, view.layer, view.head, place, "query").before
key = rope.head_vector(run.trace, view.layer, view.head, key_place, "key").before


def arrows() -> None:
    """The vector as arrows that turn with the position, and what turning keeps."""
    dials(
        vector.pairs.tolist(),
        speeds.tolist(),
        name=f"Pairs of the {view.side} of token {place}; choose one",
        key="dials",
        colour=ATTENTION if view.side == "query" else EMBEDDING,
        position=at,
        own=place,
        most=config.context - 1,
        selected=view.pair,
        on_move=lambda position: state.go(position=-1 if position == place else position),
        on_pick=lambda pair: state.go(pair=pair),
    )
    st.caption(
        "Each dial is one pair of numbers of this head's vector. Dashed: before turning; solid: at this position. "
        "Directions are real; a longer arrow is a longer pair, but not to scale. Pair 0 turns by one radian for every "
        "position; before any scaling, each next pair is slower by the same factor. Click a dial to follow its pair."
    )
    table = rope.pair_table(vector.before, at, speeds)
    pair, check = table.iloc[view.pair], rope.length_check(vector.before, after)
    apart = abs(rope.turned(vector.before, place, speeds) - vector.after).max()
    fact_list(
        [
            Fact(name=f"Pair {view.pair} before", value=f"{pair.before_x:.4f}, {pair.before_y:.4f}"),
            Fact(name=f"At position {at:,}", value=f"{pair.after_x:.4f}, {pair.after_y:.4f}", note="the arrow, turned"),
            Fact(name="Its speed", value=f"{pair.speed:.5g}", note="radians per position"),
            Fact(name="One turn in", value=f"{pair.wavelength:,.1f}", note="positions"),
            Fact(
                name="Length of the whole vector",
                value=f"{check.before:.6g} → {check.after:.6g}",
                note=f"no pair's length changes by more than {check.largest_pair_change:.1e}",
            ),
            Fact(
                name="The model's own result",
                value=f"{apart:.1e} apart",
                note=f"largest difference at position {place}, where the token stands",
            ),
        ],
        key="pair-facts",
        tile=230,
    )
    numbers(table, name="pairs", snippet=page.snippet(PAIRS_SNIPPET, place=place, at=at))


def order_in_files() -> None:
    """The numbers in a row, in the two orders that files use."""
    st.subheader("The same numbers in a row, and in files", anchor=False)
    pairing_control()
    n_pairs, half = config.head_dim // 2, view.pairing == "half"
    order = rope.half_split_order(config.head_dim) if half else list(range(config.head_dim))
    first, second = (view.pair, view.pair + n_pairs) if half else (2 * view.pair, 2 * view.pair + 1)
    strip(
        [vector.before[order].tolist(), after[order].tolist()],
        name=f"The {view.side} of token {place} before turning, and turned to position {at}",
        key="vector-strip",
        rows=["before", f"at {at:,}"],
        column="number",
        marks=[(first, f"pair {view.pair}"), *([(second, f"pair {view.pair}")] if half else [])],
        scale="root",
        height=26,
        gutter=76,
        hint=f"Pair {view.pair} is the numbers {first} and {second} in this order.",
        on_pick=lambda _row, column: state.go(pair=column % n_pairs if half else column // 2),
    )
    residual = rope.pairing_residual(vector.before, at, speeds)
    fact_list(
        [
            Fact(name="Meta's files (.pth)", value="adjacent", note="pair i is (2i, 2i+1), as a complex number"),
            Fact(name="GGUF files of a Llama", value="adjacent", note="the converter reorders the rows of q and k"),
            Fact(name="Hugging Face (safetensors)", value="half-split", note="pair i is (i, i + d/2): rotate_half"),
            Fact(name="From one to the other", value="adjacent[2i] = half[i]", note="adjacent[2i+1] = half[i + d/2]"),
            Fact(name="Both ways agree", value=f"{residual:.1e} apart", note="reorder, turn halves, reorder back"),
        ],
        key="order-facts",
        tile=150,
    )


def score_and_distance(query: Vector, key: Vector) -> None:
    """A real query and a real key, moved apart and moved together."""
    st.subheader("A score knows only the distance", anchor=False)
    st.caption(f"The query is token {place}, chosen above. Choose the key that it looks at:")
    token_strip(
        run.tokens[: place + 1],
        selected=key_place,
        on_pick=lambda source: state.go(source=source),
        name="The key's token",
        key="sources",
    )
    reach_control(config.context)
    distance = place - key_place
    most = min(max(view.reach, distance), config.context - 1)
    scores = rope.score_by_distance(query, key, speeds, most)
    at_home = scores["score"].iloc[distance]
    chart(
        score_line(scores, distance),
        name="score-by-distance",
        summary=(
            f"The score of the two real vectors at every distance up to {most}: from {scores['score'].min():.3f} to "
            f"{scores['score'].max():.3f}. At their own distance of {distance} it is {at_home:.3f}."
        ),
    )
    st.caption(
        "The real vectors of this head, held fixed and moved apart. Dotted: the slow pairs alone, those that turn less "
        "than once within this reach; all the rest is the fast pairs. Nothing forces a score to fall with distance."
    )
    numbers(scores, name="scores", snippet=page.snippet(SCORES_SNIPPET, place=place, key_place=key_place, most=most))
    shift_control()
    moved = rope.shift_check(query, key, (place, key_place), view.shift, speeds)
    new_place, new_key_place = place + view.shift, key_place + view.shift
    fact_list(
        [
            Fact(name=f"Query at {place}, key at {key_place}", value=f"{moved.score:.6f}"),
            Fact(
                name=f"Both moved, to {new_place:,} and {new_key_place:,}",
                value=f"{moved.both_moved:.6f}",
                note=f"changed by {moved.residual:.1e}",
            ),
            Fact(
                name="The same in the model's float32",
                value=f"{moved.residual_float32:.1e} changed",
                note="large angles lose digits: far from 0 the rule holds less exactly",
            ),
            Fact(
                name=f"Only the query moved, to {new_place:,}",
                value=f"{moved.query_moved:.6f}",
                note=f"changed by {abs(moved.query_moved - moved.score):.3g}",
            ),
        ],
        key="shift-facts",
        tile=190,
    )


def speeds_and_scaling() -> None:
    """The running model's speeds, Llama 3.1's beside them, and what scaling does to each pair."""
    st.subheader("How fast every pair turns", anchor=False)
    known = known_sizes()[COMPARED]
    here, there = rope.schedule(config), rope.schedule(known)
    running, published = st.columns(2, gap="large")
    with running:
        st.markdown(f"**Runs here: {literal(config.name)}**")
        scaled = config.rope_scaling is not None
        how = f"scaled, {rope.zones(here)}" if scaled else "no scaling"
        st.caption(f"theta {config.rope_theta:,.0f}, {len(here)} pairs: {how}. The ring marks pair {view.pair}.")
        chart(
            wavelength_lines(here, {"context": config.context}, shade=scaled, selected=view.pair),
            name="speeds-here",
            summary=(
                f"Positions per turn in {config.name}: from {here['wavelength'].min():.3g} for pair 0 to "
                f"{here['wavelength'].max():,.0f} for the last."
            ),
        )
    zones = rope.zones(there)
    reached = rope.reached(known)
    with published:
        st.markdown(f"**For comparison: {known.name}** (its sizes only; it does not run)")
        st.caption(f"theta {known.rope_theta:,.0f}, {len(there)} pairs: {zones}. Dotted: before scaling.")
        chart(
            wavelength_lines(there, {"trained on": reached.original, "reaches": known.context}, shade=True),
            name="speeds-known",
            summary=(
                f"Positions per turn in {known.name} before and after scaling: {zones}. The slowest goes from "
                f"{there['base_wavelength'].max():,.0f} to {there['wavelength'].max():,.0f} positions per turn."
            ),
        )
    numbers(there, name="speeds", snippet=page.snippet(SPEEDS_SNIPPET, known=COMPARED))
    st.subheader("Three ways to reach further", anchor=False)
    chart(
        extension_lines(rope.extensions(known, reached.factor), reached.factor),
        name="extensions",
        summary=(
            f"What is left of every pair's speed when the reach grows {reached.factor:g} times: a fixed share if all "
            "are slowed alike, ever less with a larger theta alone, and all or the fixed share in Llama 3.1."
        ),
    )
    st.caption(
        f"For {known.name}. Slowing every pair alike blurs neighbours: the fast pairs are what tells them apart. A "
        f"larger theta alone ({rope.theta_alone(known, reached.factor):,.0f} instead of {known.rope_theta:,.0f}) slows "
        "pairs the more, the slower they are. Llama 3.1 leaves alone the pairs that turn several times within the "
        "lengths that it was first trained on, and slows those that do not finish a turn."
    )


arrows()
order_in_files()
score_and_distance(query, key)
speeds_and_scaling()
details(
    page.blueprint,
    n_tokens=len(run.tokens),
    subject="rope",
    formula=r"""
\begin{gathered}
\omega_i = \theta^{-2i/d} \\[0.5em]
\begin{pmatrix} x'_{2i} \\ x'_{2i+1} \end{pmatrix} =
\begin{pmatrix} \cos m\omega_i & -\sin m\omega_i \\ \sin m\omega_i & \cos m\omega_i \end{pmatrix}
\begin{pmatrix} x_{2i} \\ x_{2i+1} \end{pmatrix}
\end{gathered}
""",
    taps=("layers.0.attention.tap.query", "layers.0.attention.tap.rotated_query", "layers.0.attention.tap.rotated_key"),
    code="explorer.model.rope.rotate",
)
