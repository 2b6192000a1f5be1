"""From the last vector to a score for every token, and how the answer comes up through the layers."""

import streamlit as st

from explorer.analysis.attribution import attribution, attribution_rows, by_layer, head_parts
from explorer.analysis.logit_lens import depth_rows, lens_depth_name, lens_grid, lens_rows, reading
from explorer.analysis.residual_stream import account
from explorer.analysis.sampling import NEXT_TOKEN, candidates, sampled
from explorer.figures import logit_lens as pictures
from explorer.figures.attribution import attribution_bars, head_bars
from explorer.figures.sampling import candidate_bars
from explorer.ui import lens_component, state
from explorer.ui.chart import chart, numbers
from explorer.ui.components import Fact, fact_list
from explorer.ui.controls import layer_control
from explorer.ui.details import details
from explorer.ui.page import open_page
from explorer.ui.unembedding_controls import drawn_columns, lens_controls, read_grid, read_lens, token_controls
from explorer.ui.words import error

SHOWN, TOP = 10, 10
SCORES_SNIPPET = """from explorer.analysis.sampling import NEXT_TOKEN, candidates, sampled
from explorer.cli.session import Session

session = Session({model!r})
trace = session.trace({prompt!r}, taps=NEXT_TOKEN, scored=[{place}])
print(candidates(trace, sampled(trace), session.tokenizer.label, drawn_id={answer}, count=10))"""
LENS_SNIPPET = """from explorer.cli.lens import readings
from explorer.cli.session import Session

session = Session({model!r})
lens = readings(session, {prompt!r}, tokens=[{place}], count=10, normalised={normalised}, watched=[{token_id}])
print([session.tokenizer.label(each) for each in lens.top_ids[:, 0, 0].tolist()])
print("probability and rank of id {token_id}:", lens.watched_p[:, 0, 0], lens.watched_ranks[:, 0, 0])"""
PARTS_SNIPPET = """from explorer.cli.attribution import attributed
from explorer.cli.session import Session

session = Session({model!r})
found, heads = attributed(session, {prompt!r}, place={place}, token={token_id}, against={rival}, layer={layer})
print(found.parts, heads)
print("sum", found.total, "logit", found.logit, "apart by", found.residual)"""

page = open_page("unembedding")
config = page.blueprint.config
depths = [lens_depth_name(depth) for depth in range(config.n_layers + 1)]
view = state.fit(depth=2 * config.n_layers)
run = page.run(taps=NEXT_TOKEN)
place, label_of = run.selected, page.tokenizer.label
at = config.n_layers if view.depth < 0 else (view.depth + 1) // 2
logits = run.trace["tap.logits"][-1].float()
distribution = sampled(run.trace)
answer = int(distribution.ids[0])


def scores() -> None:
    """Norm, projection, and the scores of the chosen token's vector."""
    table = candidates(run.trace, distribution, label_of, answer, count=SHOWN)
    fact_list(
        [
            Fact(name="Final norm", value=f"{config.d_model:,} → {config.d_model:,}", note="root mean square 1, gains"),
            Fact(
                name="Unembedding",
                value=f"{config.d_model:,} → {config.vocab_size:,}",
                note="the embedding's own table" if config.tied_embedding else "a table of its own",
            ),
            Fact(name="After", value=run.labels[place], literal=True, note=f"token {place}: what follows it is scored"),
            Fact(name="Highest logit", value=f"{float(logits.max()):.4f}", note=f"lowest {float(logits.min()):.3f}"),
            Fact(name="Sum of all p", value=f"{float(distribution.p.sum()):.12g}", note="over the whole vocabulary"),
            Fact(name="Entropy", value=f"{distribution.entropy:.3f} nats"),
        ],
        key="score-facts",
        tile=130,
    )
    chart(
        candidate_bars(table, tail_mass=0, compact=True),
        name="scores",
        summary=f"The {len(table)} highest scores as probabilities; first is {table['token'][0]} {table['p'][0]:.2%}.",
    )
    snippet = page.snippet(SCORES_SNIPPET, place=place, answer=answer)
    numbers(table.drop(columns=["q", "cumulative", "drawn"]), name="scores", snippet=snippet)


def lens() -> None:
    """The grid of readings, and the reading that is chosen in it."""
    st.subheader("The answer through the layers", anchor=False)
    columns = drawn_columns(len(run.tokens), place, len(depths))
    picture, controls = st.columns([5, 2], gap="large")
    read = read_grid(page, columns, place)
    grid = lens_grid(read, columns)
    with controls:
        lens_controls(len(columns), sum(len(part.tokens) for part in read))
    found = sorted({int(each) for each in grid.top_ids.flatten() if each >= 0})
    number_of = {token_id: number for number, token_id in enumerate(found)}
    with picture:
        lens_component.lens_grid(
            lens_component.LensCells(
                names=pictures.numbered(grid, number_of),
                shades=pictures.shades(grid, view.lens_colour, config.vocab_size),
                shares=grid.p,
                measures=pictures.measured(grid, view.lens_colour),
            ),
            labels=[label_of(each) for each in found],
            rows=depths,
            columns=[run.labels[token] for token in columns],
            first=columns.start,
            measure=pictures.MEASURES[view.lens_colour],
            name="The likeliest next token at every depth, for every token of the text",
            selected=(at, place - columns.start),
            on_pick=lambda row, column: state.go(
                depth=-1 if row == config.n_layers else 2 * row,
                token=-1 if columns[column] == len(run.tokens) - 1 else columns[column],
            ),
            key="lens",
        )
        st.caption(
            "Each cell names the likeliest next token if the model ended there. Click a cell to see what follows."
        )
    lens_snippet = page.snippet(LENS_SNIPPET, place=place, token_id=answer, normalised=not view.without_norm)
    numbers(lens_rows(grid, columns, label_of), name="lens", snippet=lens_snippet)


def chosen(token_id: int) -> None:
    """The chosen reading, and one token through all depths."""
    slot = st.empty()
    normed = read_lens(page, [place], slot, count=TOP, watched=(token_id,))
    bare = read_lens(page, [place], slot, count=TOP, normalised=False, watched=(token_id,))
    table, name = depth_rows(normed, bare, label_of), label_of(token_id)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**At the chosen depth: {depths[at]}**")
        shown = reading(bare if view.without_norm else normed, at, label_of)
        summary = f"The {TOP} likeliest tokens at {depths[at]}: first {shown['token'][0]} with {shown['p'][0]:.2%}."
        chart(pictures.reading_bars(shown), name="reading", summary=summary)
        with_norm, without = table["top"][at], table["top_without_norm"][at]
        st.text(f"Likeliest here: {with_norm} with the final norm, {without} without it.")
    with right:
        st.markdown("**One token through all depths**")
        chart(
            pictures.depth_lines(table, depths, name, at),
            name="depth-lines",
            summary=(
                f"Probability and rank of {name} at every depth: rank {table['watched_rank'][0]:,} at the embedding, "
                f"{table['watched_rank'].iloc[-1]:,} at the end, with probability {table['watched_p'].iloc[-1]:.2%}."
            ),
        )
        st.caption("Solid: after the final norm. Dotted: without it. The dashed line is the chosen depth.")
    chart(
        pictures.sureness_lines(table, depths, at),
        name="sureness",
        summary=(
            f"Entropy of the readings, {table['entropy_nats'].iloc[-1]:.3f} nats at the end, and their divergence from "
            f"the final prediction, from {table['kl_nats'][0]:.3f} nats to 0."
        ),
    )
    apart = abs(float(normed.watched_scores[-1, 0, 0]) - float(logits[token_id]))
    st.caption(f"The last reading is the model's own prediction: its score of this token agrees {error(apart)}.")
    snippet = page.snippet(LENS_SNIPPET, place=place, token_id=token_id, normalised=True)
    numbers(table, name="depths", snippet=snippet)


def parts(token_id: int, rival: int | None) -> None:
    """What every write contributes to the score."""
    st.subheader("Who wrote the answer", anchor=False)
    layer = view.layer
    layer_control(config.n_layers)
    st.caption("The heads of this layer are shown one by one.")
    trace = page.run(rows=attribution_rows(layer), taps=NEXT_TOKEN).trace
    ids = (token_id,) if rival is None else (token_id, rival)
    own = float(logits[token_id]) - (0.0 if rival is None else float(logits[rival]))
    rows = page.parameter("unembedding.weight", ids)
    found = attribution(account(trace), page.parameter("norm.gain"), config.norm_eps, rows, own)
    heads = head_parts(trace, layer, page.parameter(f"layers.{layer}.attention.output.weight"), found.direction)
    layers, embedding = by_layer(found.parts), float(found.parts["contribution"].iloc[0])
    wrote, strongest = layers["attention"][layer], found.parts.iloc[found.parts["contribution"].abs().argmax()]
    what = label_of(token_id) if rival is None else f"{label_of(token_id)} less {label_of(rival)}"
    fact_list(
        [
            Fact(name="Score of", value=what, literal=True, note="the final norm's scale held as it was"),
            Fact(name="The model's number", value=f"{found.logit:.5f}"),
            Fact(name="Sum of all parts", value=f"{found.total:.5f}", note=f"apart by {abs(found.residual):.1e}"),
            Fact(
                name="Largest part",
                value=f"{strongest['contribution']:+.3f}",
                note=str(strongest["part"])
                if strongest["layer"] < 0
                else f"layer {strongest['layer']}, {strongest['part']}",
            ),
            Fact(
                name=f"Heads of layer {layer}",
                value=f"{heads['contribution'].sum():+.4f}",
                note=f"apart from its attention by {abs(heads['contribution'].sum() - wrote):.1e}",
            ),
        ],
        key="part-facts",
        tile=150,
    )
    chart(
        attribution_bars(layers, embedding, layer),
        name="attribution",
        summary=(
            f"Contributions of {len(found.parts)} parts to the score of {what}; together {found.total:.4f}. The "
            f"largest is {strongest['contribution']:+.3f}."
        ),
    )
    best = int(heads["contribution"].abs().argmax())
    chart(
        head_bars(heads),
        name="heads",
        summary=f"Contributions of the heads of layer {layer}; strongest is head {best}, "
        f"{heads['contribution'][best]:+.4f}.",
    )
    snippet = page.snippet(PARTS_SNIPPET, place=place, token_id=token_id, rival=rival, layer=layer)
    numbers(found.parts, name="attribution", snippet=snippet)


scores()
if not run.recorded:
    lens()
    st.subheader("One token's way up", anchor=False)
    token_id, rival = token_controls(page, answer)
    chosen(token_id)
    parts(token_id, rival)
details(
    page.blueprint,
    n_tokens=len(run.tokens),
    subject="unembedding",
    formula=r"""
\begin{aligned}
z &= W_U \left( \frac{x}{\sqrt{\operatorname{mean}(x^2)+\epsilon}} \odot g \right) \\
x &= \sum_{w} w \quad\Rightarrow\quad
z_t = \sum_{w} \frac{(W_U[t] \odot g)\cdot w}{\sqrt{\operatorname{mean}(x^2)+\epsilon}}
\end{aligned}
""",
    taps=("tap.final", "tap.normalised", "tap.logits"),
    code="explorer.model.unembedding.Unembedding",
)
