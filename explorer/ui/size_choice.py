"""Which model the diagram shows, and beside which other: the running one, a published size, or one of this server's."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from explorer.architecture.blueprint import Blueprint
from explorer.architecture.facts import comparison
from explorer.config import ModelConfig
from explorer.config.known_models import known_models
from explorer.figures.diagram import Drawing
from explorer.ui import resources, state
from explorer.ui.components import Fact, fact_list
from explorer.ui.page import Page
from explorer.ui.state import bound
from explorer.ui.words import literal

RUNNING = "running"
NONE = "none"
SHAPES = {"numbers": "for this prompt", "symbols": "as symbols"}


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What is drawn; ``running`` says whether it is the model that this page can run."""

    drawing: Drawing
    running: bool


def choose_sizes(page: Page) -> Choice:
    """The controls above the diagram, the head of the model's facts, and what they ask for."""
    known = {name: model.config for name, model in known_models().items() if name != page.view.model}
    sizes = {RUNNING: page.blueprint.config} | known
    view = state.fit_choice(size=tuple(sizes), against=(NONE, *sizes))
    size, against, shapes = st.columns([3, 3, 3], gap="medium")
    with size:
        st.selectbox("Model", [*sizes], format_func=lambda name: _named(name, sizes), **bound("size"))
        st.caption("Only the running one has numbers of your prompt; the others show sizes, words and code.")
    with against:
        others = [NONE, *(name for name in sizes if name != view.size)]
        if view.against not in others:
            view = state.fit_choice(against=others)
        st.selectbox("Compare with", others, format_func=lambda name: _named(name, sizes), **bound("against"))
        st.caption("Marks every box and shape that is unlike, and lists the differences.")
    with shapes:
        st.radio("Shapes on the arrows", [*SHAPES], format_func=SHAPES.__getitem__, horizontal=True, **bound("shapes"))
        st.caption("Numbers follow the tokens of your text; symbols hold for any text.")
    drawing = Drawing(
        model=resources.blueprint_of(sizes[view.size]),
        other=None if view.against == NONE else resources.blueprint_of(sizes[view.against]),
        n_tokens=len(page.encoding),
        opened=view.opened,
        symbols=view.shapes == "symbols",
    )
    _head(drawing.model, page.view.model if view.size == RUNNING else view.size, drawing.facts)
    return Choice(drawing=drawing, running=view.size == RUNNING)


def comparison_table(drawing: Drawing) -> None:
    """Two models' facts side by side, those that differ marked."""
    if drawing.other is None:
        return
    names = [_unlike(drawing.model.config.name), _unlike(drawing.other.config.name)]
    st.subheader("What differs", anchor=False)
    rows = [
        {"": "≠" if row.differs else "", "Fact": row.fact, names[0]: row.first, f"{names[1]} ": row.second}
        for row in comparison(drawing.facts, drawing.other_facts)
    ]
    narrow = {"": st.column_config.Column(width=34), "Fact": st.column_config.Column(width=150)}
    st.dataframe(rows, column_config=narrow, hide_index=True, width="stretch", height="content", key="comparison")


def _named(name: str, sizes: dict[str, ModelConfig]) -> str:
    if name == NONE:
        return "nothing"
    return f"{sizes[name].name} (runs here)" if name == RUNNING else sizes[name].name


def _unlike(name: str) -> str:
    return name or "model"


def _head(blueprint: Blueprint, model: str, facts: dict[str, str]) -> None:
    config = blueprint.config
    shared = f"{facts['group']} query heads share each of {facts['n_kv_heads']}"
    tiles: Sequence[Fact] = (
        Fact(name="Parameters", value=facts["parameters_short"], note=facts["parameters"]),
        Fact(name="Layers", value=f"×{facts['n_layers']}", note=f"{facts['layer_parameters']} parameters each"),
        Fact(name="Width", value=facts["d_model"], note=f"feed-forward {facts['d_ff']}"),
        Fact(name="Heads", value=f"{facts['n_heads']} : {facts['n_kv_heads']}", note=shared),
        Fact(name="Context", value=facts["context"], note=f"RoPE θ {facts['rope_theta']}, {facts['rope_scaling']}"),
        Fact(name="Vocabulary", value=facts["vocab_size"], note=f"unembedding: {facts['tying']}"),
    )
    fact_list(tiles, key="model-facts", tile=120)
    if model in known_models():
        link = f"[where these sizes are published ↗]({known_models()[model].source})"
        st.markdown(f":small[{literal(config.name)}: {link}]")
