"""A text that grows by one token at a time, with the cache, and every step kept."""

import streamlit as st

from explorer.analysis import generation as analysis
from explorer.figures import generation as pictures
from explorer.figures.sampling import candidate_bars
from explorer.figures.theme import DRAWN
from explorer.ui import generation as ui
from explorer.ui import state
from explorer.ui.chart import chart, numbers
from explorer.ui.components import Fact, fact_list, token_strip
from explorer.ui.controls import sampler_controls
from explorer.ui.details import details
from explorer.ui.page import draw_tokens, open_page
from explorer.ui.score_table import Column, Row, score_table
from explorer.ui.words import error

SHOWN = 12
CANDIDATES = (
    Column(title="Token"),
    Column(title="Rank", digits=0),
    Column(title="Model", note="the model's own probability, at temperature 1", digits=4, bar=1.0),
    Column(title="p", note="after temperature, over the whole vocabulary", digits=4, bar=1.0),
    Column(title="q", note="after the filters", digits=4, bar=1.0),
)
SNIPPET = """from explorer.analysis.generation import step_rows
from explorer.cli.generate import generated
from explorer.cli.session import Session

session = Session({model!r})
made = generated(
    session, {prompt!r}, limit={most}, seed={seed}, chat={chat}, system={system!r}, special={special},
    bos={begin}, temperature={temperature}, top_k={top_k}, top_p={top_p}, min_p={min_p}, forced={taken},
)
print(made.reason, repr(session.tokenizer.decode(made.token_ids)))
print(step_rows(made.choices, session.tokenizer.label))"""

page = open_page("generation", strip=False)
view, config, label = page.view, page.blueprint.config, page.tokenizer.label
picture, controls = st.columns([5, 2], gap="large")
with controls:
    ui.prompt_controls(page)
    ui.length_control()
    ui.seed_control()
    sampler_controls()
with picture:
    prompt, encoding = ui.prompt_of(page)
    st.markdown(f"**What the model reads first:** {len(encoding)} tokens")
    draw_tokens(encoding, len(encoding) - 1)
ui.until_ready(page)
request = analysis.generation_request(
    view.model,
    encoding.ids,
    limit=view.limit,
    seed=view.seed,
    context=ui.context_of(page),
    stop_ids=page.tokenizer.vocabulary.eos_ids,
    forced={step: taken for step, taken in view.choices.items() if taken < config.vocab_size},
    **view.sampler,
)
with picture:
    st.markdown("**What it writes,** one token at a time")
    generation = ui.run_generation(page, request)
    reason, sentence = ui.why_ended(page, generation)


def written(steps: analysis.Steps, at: int) -> None:
    """The new tokens, why they end, and what can be done next."""
    assert generation is not None
    tokens = [page.tokenizer.token(each) for each in generation.token_ids]
    token_strip(tokens, selected=at, on_pick=lambda place: state.go(at=place), name="Tokens written", key="written")
    st.text(page.tokenizer.decode(generation.token_ids))
    prefill, decode = generation.choices[0].step, analysis.median_milliseconds(generation.choices)
    total = generation.choices[-1].step.cache_bytes
    read = len(generation.before(len(generation.choices) - 1))
    fact_list(
        [
            Fact(name="Why it ended", value=reason, note=sentence),
            Fact(
                name="Prefill", value=f"{prefill.milliseconds:,.1f} ms", note=f"{prefill.n_read:,} tokens read at once"
            ),
            Fact(
                name="Each step after it",
                value="–" if decode is None else f"{decode:,.1f} ms",
                note="middle value; one token read, the rest from the cache",
            ),
            Fact(name="Cache, all layers", value=f"{total:,} bytes", note=f"keys and values of {read:,} tokens"),
            Fact(
                name="Cache, each layer",
                value=f"{total // config.n_layers:,} bytes",
                note=f"{total // config.n_layers // read:,} a token: 2 × {config.n_kv_heads} heads × {config.head_dim}",
            ),
        ],
        key="generation-facts",
        tile=150,
    )
    chart(
        pictures.sureness_bars(steps, at),
        name="sureness",
        summary=f"How likely each of {len(steps)} tokens was: from {steps['model_p'].min():.2%} to "
        f"{steps['model_p'].max():.2%} by the model itself.",
    )
    st.caption(
        "The model's own probability of each token that was taken, at temperature 1. Click a token to step there."
    )


def one_step(at: int) -> None:
    """The distribution of one step, other turns that it could have taken, and the check of the cache."""
    assert generation is not None
    choice = generation.choices[at]
    st.subheader(f"Step {at}: what could have come", anchor=False)
    distribution = analysis.distribution_at(generation, at)
    table = analysis.turns(generation, at, distribution, label, SHOWN)
    bars, others = st.columns(2, gap="large")
    with bars:
        chart(
            candidate_bars(table, tail_mass=distribution.tail_mass),
            name="step-tokens",
            summary=f"The likeliest tokens of step {at}; taken was {label(choice.token_id)} with q {choice.q:.2%}.",
        )
        drawn = "taken by hand" if choice.u is None else f"u = {choice.u:.4f}"
        st.text(f"{label(choice.token_id)} ({drawn}), rank {choice.rank:,}, entropy {abs(choice.entropy):.3f} nats.")
    with others:
        score_table(
            CANDIDATES,
            [
                Row(
                    id=str(row["id"]),
                    name=row["token"],
                    cells=[row["token"], row["rank"], row["model_p"], row["p"], row["q"]],
                )
                for row in table.to_dict("records")
            ],
            name="Other turns",
            sort=2,
            opened=str(choice.token_id),
            tone=DRAWN,
            key="other-turns",
            on_pick=lambda token_id: ui.branch(at, int(token_id), choice.token_id),
        )
        st.caption("Take another token here: what came before stays, what follows is drawn anew from there.")
    apart = analysis.cached_difference(generation, at, ui.whole_pass(page, generation.before(at)))
    st.caption(
        f"With and without the cache: reading all {len(generation.before(at)):,} tokens again gives the same "
        f"{config.vocab_size:,} logits {error(apart)}."
    )
    st.markdown("**Open the text as it stood before this step on another page**")
    ui.links_at_step(page, prompt, generation, at)


def costs(steps: analysis.Steps, at: int) -> None:
    """Time and memory of every step."""
    st.subheader("What the cache saves, and what it takes", anchor=False)
    times, bytes_ = st.columns(2, gap="large")
    with times:
        chart(
            pictures.time_bars(steps, at),
            name="times",
            summary=f"Milliseconds of a step: {steps['milliseconds'].min():.1f} to {steps['milliseconds'].max():.1f}.",
        )
        st.caption("Measured here when the step was first made; other work on the machine shows in it.")
    with bytes_:
        chart(
            pictures.cache_bars(steps, at),
            name="cache",
            summary=f"Bytes of keys and values: {steps['cache_bytes'].iloc[0]:,} to {steps['cache_bytes'].iloc[-1]:,}.",
        )
        st.caption("Every token read leaves one key and one value in each key/value head of every layer.")
    values = {
        "most": len(steps),
        "begin": view.with_bos,
        "taken": dict(generation.request.forced) if generation else {},
    }
    numbers(steps, name="steps", snippet=page.snippet(SNIPPET, **values))


with picture:
    if generation is None:
        st.text(sentence)
    else:
        at = view.at if 0 <= view.at < len(generation.choices) else len(generation.choices) - 1
        steps = analysis.step_rows(generation.choices, label)
        written(steps, at)
    ui.after_buttons(page, generation)
if generation is not None:
    one_step(at)
    costs(steps, at)
details(
    page.blueprint,
    n_tokens=len(encoding),
    subject="generation",
    formula=r"""
\begin{aligned}
x_{n+1} &\sim q(\,\cdot \mid x_1 \dots x_n) \\
\text{cache} &= 2 \cdot L \cdot n_{kv} \cdot d_{head} \cdot n \ \text{numbers}
\end{aligned}
""",
    taps=("layers.0.attention.tap.rotated_key", "layers.0.attention.tap.value", "tap.logits"),
    code="explorer.model.kv_cache.KVCache",
)
