"""The whole model as one diagram whose boxes run."""

import streamlit as st

from explorer.analysis.part_values import (
    PartValues,
    angle_values,
    first_values,
    has_heads,
    histogram_of,
    part_taps,
    part_values,
    summary_of,
)
from explorer.analysis.sampling import NEXT_TOKEN, candidates, drawn, sampled
from explorer.figures.diagram import diagrams
from explorer.figures.part_values import value_histogram
from explorer.figures.sampling import candidate_bars
from explorer.ui.chart import chart, numbers
from explorer.ui.components import Fact, fact_list
from explorer.ui.controls import head_control, layer_control
from explorer.ui.details_panel import deeper, keep_panel_in_sight, part_code, part_facts, part_head, part_words
from explorer.ui.diagram_component import architecture_diagram, selected_part
from explorer.ui.page import open_page
from explorer.ui.size_choice import choose_sizes, comparison_table
from explorer.ui.strip_component import strip

MOST_ROWS = 40
SNIPPET = """from explorer.analysis.part_values import part_taps, part_values
from explorer.architecture.catalogue import PART
from explorer.cli.session import Session

session, part = Session({model!r}), PART[{part!r}]
trace = session.trace({prompt!r}, taps=part_taps(part, {layer}), scored=({selected},))
for values in part_values(trace, part, session.card.config, layer={layer}, head={head}):
    print(values.name, values.map)"""

page = open_page("architecture")
choice = choose_sizes(page)
drawing, view, part = choice.drawing, page.view, selected_part()
labels = [token.label for token in page.encoding.tokens]

picture, panel = st.columns([6, 5], gap="medium")
with picture:
    wide, narrow = diagrams(drawing)
    architecture_diagram(wide, narrow, selected=part.id, symbols=drawing.symbols, file=drawing.model.config.name)
    comparison_table(drawing)
keep_panel_in_sight()
with panel, st.container(key="part-panel"):
    part_head(part, drawing)
    part_facts(part, drawing)
    live = st.container()
    part_words(part, drawing)
    part_code(part)
    deeper(part, view)


def show(values: PartValues) -> None:
    """One tensor: a map of it, its summary, how its numbers are spread."""
    rows = labels if len(values.map) == len(labels) else [labels[page.selected]]
    row = page.selected if len(values.map) == len(labels) else 0
    first = max(0, min(row - MOST_ROWS // 2, len(rows) - MOST_ROWS))
    head = "" if values.head is None else f", head {values.head}"
    st.markdown(f"**{values.name}**{head}")
    strip(
        values.map[first : first + MOST_ROWS],
        name=f"{part.title}, {values.name}{head}: one row for each token",
        key=f"strip-{values.name}",
        rows=rows[first : first + MOST_ROWS],
        column=values.column,
        scale="root",
        height=16,
        gutter=64,
        selected=(row - first, -1),
    )
    numbers_of = summary_of(values, row)
    tiles = {"min": "Least", "mean": "Mean", "max": "Greatest", "deviation": "Deviation", "length": "Length (L2)"}
    notes = {"length": "of the selected row"}
    fact_list(
        [Fact(name=title, value=f"{numbers_of[name]:.4g}", note=notes.get(name, "")) for name, title in tiles.items()],
        key=f"summary-{values.name}",
        tile=84,
    )
    chart(
        value_histogram(histogram_of(values), part.kind),
        name=f"histogram-{values.name}",
        summary=f"How the {values.finite.size:,} numbers are spread, from {numbers_of['min']:.4g} to "
        f"{numbers_of['max']:.4g}.",
    )
    numbers(
        first_values(values, rows),
        name=f"values-{values.name}",
        snippet=page.snippet(SNIPPET, part=part.id, selected=page.selected),
    )


with live:
    if not choice.running:
        st.caption("No weights of this size are here: shapes, counts, words and code only, no invented numbers.")
    elif part.id == "rope_angles":
        for values in angle_values(drawing.model.config, len(labels)):
            show(values)
    elif part.id == "next_token":
        run = page.run(taps=NEXT_TOKEN)
        distribution = sampled(run.trace, **view.sampler)
        _, drawn_id = drawn(distribution, view.seed, view.draw)
        table = candidates(run.trace, distribution, page.tokenizer.label, drawn_id, count=8)
        chart(
            candidate_bars(table, tail_mass=distribution.tail_mass, compact=True),
            name="next-token",
            summary=f"The likeliest next token is {table['token'][0]} with probability {table['p'][0]:.1%}.",
        )
    elif taps := part_taps(part, view.layer):
        st.markdown("**What just flowed out of it**")
        if part.repeated:
            layer_control(drawing.model.config.n_layers)
        if has_heads(part):
            head_control(drawing.model.config.n_heads)
        run = page.run(taps=taps)
        if not run.recorded:
            for values in part_values(run.trace, part, drawing.model.config, layer=view.layer, head=view.head):
                show(values)
