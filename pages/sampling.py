"""What a sampler makes of the last token's scores."""

import streamlit as st

from explorer.analysis.sampling import NEXT_TOKEN, candidates, drawn, sampled
from explorer.figures.sampling import candidate_bars, draw_ruler
from explorer.ui.chart import chart, numbers
from explorer.ui.components import Fact, fact_list
from explorer.ui.controls import draw_controls, sampler_controls
from explorer.ui.details import details
from explorer.ui.page import open_page

SHOWN = 20
SNIPPET = """from explorer.analysis.sampling import NEXT_TOKEN, candidates, drawn, sampled
from explorer.cli.session import Session

session = Session({model!r})
trace = session.trace({prompt!r}, taps=NEXT_TOKEN, scored=[{token}])
distribution = sampled(trace, temperature={temperature}, top_k={top_k}, top_p={top_p}, min_p={min_p})
u, drawn_id = drawn(distribution, seed={seed}, draw={draw})
print(candidates(trace, distribution, session.tokenizer.label, drawn_id, count=20))
print("u =", u, "draws", session.tokenizer.label(drawn_id), "id", drawn_id)"""

page = open_page("sampling")
view = page.view
run = page.run(taps=NEXT_TOKEN)
distribution = sampled(run.trace, **view.sampler)
u, drawn_id = drawn(distribution, view.seed, view.draw)
table = candidates(run.trace, distribution, page.tokenizer.label, drawn_id, count=SHOWN)
label = page.tokenizer.label(drawn_id)
drawn_q = table[table["drawn"]]["q"].iloc[0]

fact_list(
    [
        Fact(name="Drawn token", value=label, literal=True, note=f"id {drawn_id}"),
        Fact(name="Its probability", value=f"{drawn_q:.2%}", note="q, after the filters"),
        Fact(name="Tokens kept", value=f"{distribution.kept:,}", note=f"of {len(distribution.ids):,}"),
        Fact(name="Cut by the filters", value=f"{distribution.tail_mass:.2%}", note="the tail mass of p"),
        Fact(name="Entropy of p", value=f"{distribution.entropy:.3f} nats"),
    ],
    key="sampling-facts",
    tile=120,
)
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
details(
    page.blueprint,
    n_tokens=len(run.tokens),
    subject="sampling",
    formula=r"""
p_i = \frac{e^{z_i / T}}{\sum_{j} e^{z_j / T}} \qquad
q_i = \frac{p_i}{\sum_{j\,\text{kept}} p_j} \quad \text{if } i \text{ is kept, else } 0
""",
    taps=("tap.normalised", "tap.logits"),
    code="explorer.model.sampling.next_token",
)
