"""What a sampler makes of the last token's scores."""

import streamlit as st

from explorer.analysis.sampling import (
    NEXT_TOKEN,
    ORDER,
    STAGES,
    candidates,
    draw_counts,
    drawn,
    rows_of,
    sampled,
    stages,
)
from explorer.figures.sampling import candidate_bars, count_bars, draw_ruler, stage_bars
from explorer.ui.chart import chart, numbers
from explorer.ui.components import Fact, fact_list
from explorer.ui.controls import draw_controls, sampler_controls
from explorer.ui.details import details
from explorer.ui.page import open_page
from explorer.ui.state import bound
from explorer.ui.token_choice import HOW_TO_NAME, chosen_token

SHOWN, STAGE_ROWS, COUNTED, MANY = 20, 8, 12, 1_000
WORDS = {
    "logits": "Logits",
    "temperature": "Divided by the temperature",
    "softmax": "Softmax: p",
    "top-k": "Top-k",
    "top-p": "Top-p",
    "min-p": "Min-p",
    "renormalise": "Renormalised: q",
}
SNIPPET = """from explorer.analysis.sampling import NEXT_TOKEN, candidates, drawn, sampled
from explorer.cli.session import Session

session = Session({model!r})
trace = session.trace({prompt!r}, taps=NEXT_TOKEN, scored=[{token}])
distribution = sampled(trace, temperature={temperature}, top_k={top_k}, top_p={top_p}, min_p={min_p})
u, drawn_id = drawn(distribution, seed={seed}, draw={draw})
print(candidates(trace, distribution, session.tokenizer.label, drawn_id, count=20))
print("u =", u, "draws", session.tokenizer.label(drawn_id), "id", drawn_id)"""

COUNTS_SNIPPET = """from explorer.analysis.sampling import NEXT_TOKEN, draw_counts, sampled
from explorer.cli.session import Session

session = Session({model!r})
trace = session.trace({prompt!r}, taps=NEXT_TOKEN, scored=[{token}])
distribution = sampled(trace, temperature={temperature}, top_k={top_k}, top_p={top_p}, min_p={min_p})
print(draw_counts(distribution, session.tokenizer.label, seed={seed}, count=1000, shown=12))"""

page = open_page("sampling")
view = page.view
run = page.run(taps=NEXT_TOKEN)
logits = run.trace["tap.logits"][-1]
distribution = sampled(run.trace, **view.sampler)
u, drawn_id = drawn(distribution, view.seed, view.draw)
table = candidates(run.trace, distribution, page.tokenizer.label, drawn_id, count=SHOWN)
label = page.tokenizer.label(drawn_id)
drawn_q = table[table["drawn"]]["q"].iloc[0]


def overview() -> None:
    """The drawn token, the ruler, and p beside q."""
    picture, controls = st.columns([5, 2], gap="large")
    with controls:
        draw_controls()
        sampler_controls()
    with picture:
        chart(
            draw_ruler(table, u),
            name="draw",
            summary=f"The interval from 0 to 1 cut by the kept probabilities; u = {u:.4f} falls on {label}.",
        )
        chart(
            candidate_bars(table, tail_mass=distribution.tail_mass),
            name="next-token",
            summary=(
                f"The {len(table)} likeliest next tokens. First is {table['token'][0]} with p {table['p'][0]:.2%}. "
                f"The filters cut {distribution.tail_mass:.2%} of the probability. Drawn: {label}."
            ),
        )
        numbers(table, name="next-token", snippet=page.snippet(SNIPPET, token=run.selected))


def pipeline() -> None:
    """The same tokens after each stage, in the order in which the stages run."""
    st.subheader("Stage by stage", anchor=False)
    st.caption(
        f"The order is that of Meta's reference code: {', '.join(ORDER)}. Min-p is not Meta's. At an exact tie "
        "top-p keeps one token more than the smallest set that reaches p, as that code does; equal scores are ordered "
        "by id. With top-p at 1 every token is kept."
    )
    stage_table, left = stages(logits, page.tokenizer.label, STAGE_ROWS, **view.sampler)
    for start in range(0, len(STAGES), 3):
        columns = st.columns(3, gap="medium")
        for column, stage in zip(columns, STAGES[start : start + 3], strict=False):
            with column:
                kept = f": {left[stage]:,} token{'s' * (left[stage] > 1)}" if stage in left else ""
                st.markdown(f"**{STAGES.index(stage) + 1}. {WORDS[stage]}**{kept}")
                if stage == "temperature" and view.temperature == 0:
                    st.caption("At temperature 0 nothing is divided: the likeliest token is taken.")
                else:
                    chart(
                        stage_bars(stage_table, stage, scores=stage in ("logits", "temperature")),
                        name=f"stage-{stage}",
                        summary=f"{WORDS[stage]}: the {len(stage_table)} likeliest tokens.",
                    )
    with columns[1]:
        st.markdown(f"**{len(STAGES) + 1}. Draw**")
        st.text(f"u = {u:.6f} falls on {label}")
        st.caption("The ruler above shows where. The next draw takes the next number of the seed's sequence.")


def search() -> None:
    """Any token of the vocabulary, wherever it ranks."""
    st.subheader("Look up any token", anchor=False)
    st.text_input("Token or #id", max_chars=200, **bound("lookup"))
    st.caption(HOW_TO_NAME)
    choice = chosen_token(page.tokenizer, view.lookup)
    if choice.problem:
        st.text(choice.problem)
    if choice.id is not None:
        found = rows_of(logits, distribution, page.tokenizer.label, drawn_id, [choice.id, *choice.others])
        for row in found.to_dict("records"):
            fact_list(
                [
                    Fact(name="Token", value=row["token"], literal=True, note=f"id {row['id']}"),
                    Fact(name="Rank", value=f"{row['rank']:,}", note=f"of {len(distribution.ids):,}"),
                    Fact(name="Logit", value=f"{row['logit']:.4f}"),
                    Fact(name="p", value=f"{row['p']:.4g}", note="after temperature"),
                    Fact(name="log p", value=f"{row['log_p']:.4f}", note="natural logarithm"),
                    Fact(name="q", value=f"{row['q']:.4g}", note="after the filters" if row["q"] else "cut"),
                ],
                key=f"lookup-{row['id']}",
                tile=110,
            )


def many_draws() -> None:
    """A thousand draws of the same seed, counted."""
    st.subheader(f"{MANY:,} draws", anchor=False)
    counts = draw_counts(distribution, page.tokenizer.label, view.seed, MANY, COUNTED)
    inside = int(((counts["drawn"] - counts["expected"]).abs() <= 2 * counts["spread"] + 1e-9).sum())
    chart(
        count_bars(counts),
        name="draws",
        summary=(
            f"{MANY:,} draws of seed {view.seed}: {counts['token'][0]} came {counts['drawn'][0]} times, expected "
            f"{counts['expected'][0]:.1f}."
        ),
    )
    st.caption(
        f"The first {MANY:,} numbers of this seed, each on the ruler above. {inside} of {len(counts)} counts are "
        "within two standard deviations of what is expected; about 19 in 20 should be."
    )
    numbers(counts, name="draws", snippet=page.snippet(COUNTS_SNIPPET, token=run.selected))


fact_list(
    [
        Fact(name="Drawn token", value=label, literal=True, note=f"id {drawn_id}"),
        Fact(name="Its probability", value=f"{drawn_q:.2%}", note="q, after the filters"),
        Fact(name="Tokens kept", value=f"{distribution.kept:,}", note=f"of {len(distribution.ids):,}"),
        Fact(name="Cut by the filters", value=f"{distribution.tail_mass:.2%}", note="the tail mass of p"),
        Fact(name="Entropy of p", value=f"{distribution.entropy:.3f} nats"),
        Fact(name="Sum of q", value=f"{float(distribution.q.sum()):.12g}", note="over all kept tokens"),
    ],
    key="sampling-facts",
    tile=120,
)
overview()
pipeline()
search()
many_draws()
details(
    page.blueprint,
    n_tokens=len(run.tokens),
    subject="sampling",
    formula=r"""
\begin{aligned}
p_i &= \frac{e^{z_i / T}}{\sum_{j} e^{z_j / T}} \\
q_i &= \frac{p_i}{\sum_{j\,\text{kept}} p_j} \ \text{or } 0
\end{aligned}
""",
    taps=("tap.normalised", "tap.logits"),
    code="explorer.model.sampling.next_token",
)
