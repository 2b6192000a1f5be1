"""What the panel beside the diagram says of one part: words, formula, shapes, counts, costs, and the code that runs."""

import inspect
from collections.abc import Sequence

import streamlit as st

from explorer.architecture.blueprint import source_of
from explorer.architecture.catalogue import PARTS
from explorer.architecture.cost import kv_bytes_per_token, matrix_operations
from explorer.architecture.facts import in_bytes, rounded
from explorer.architecture.part import Flow, FlowKind, Kind, Part
from explorer.architecture.plan import present
from explorer.architecture.prose import explanation, summary
from explorer.architecture.shapes import in_numbers, in_words
from explorer.figures.diagram import Drawing
from explorer.ui.components import ASSETS, Fact, fact_list
from explorer.ui.navigation import PAGES, page_link
from explorer.ui.view import View

CATEGORIES = {
    Kind.ATTENTION: "Attention",
    Kind.FEED_FORWARD: "Feed-forward",
    Kind.NORM: "Norm / residual",
    Kind.EMBEDDING: "Embedding / head",
    Kind.AUXILIARY: "Auxiliary",
    Kind.STRUCTURE: "Structure",
}
CACHED = ("key", "value", "kv_cache", "attention", "layer")
MARKED = "  # ← here"


def part_head(part: Part, drawing: Drawing) -> None:
    """The name of a part, its category, and one sentence."""
    st.caption(CATEGORIES[part.kind])
    st.subheader(part.title, anchor=False)
    st.markdown(summary(part.id, drawing.facts))


def part_facts(part: Part, drawing: Drawing) -> None:
    """Shapes in and out for this prompt, parameters, operations and cache."""
    flows = present(drawing.model.config)[1]
    inward = [flow for flow in flows if _belongs(flow.target, part) and not _belongs(flow.source, part)]
    outward = [flow for flow in flows if _belongs(flow.source, part) and not _belongs(flow.target, part)]
    facts = [
        *_shapes("Reads", inward, drawing),
        *_shapes("Hands on", outward, drawing),
        _parameters(part, drawing),
        _operations(part, drawing),
    ]
    if part.id in CACHED:
        facts.append(_cache(part, drawing))
    fact_list(facts, key="part-facts", tile=150)


def part_words(part: Part, drawing: Drawing) -> None:
    """How it works and why it is so."""
    st.markdown(explanation(part.id, drawing.facts))


def part_code(part: Part) -> None:
    """The class or function that runs, its lines for this part marked."""
    with st.expander(f"The code that runs: {part.code.rpartition('.')[2]}", icon=":material/code:"):
        st.code(marked_source(part), language="python")


def marked_source(part: Part) -> str:
    """The source of a part's class or function, with a mark behind the lines that are this part."""
    source = inspect.cleandoc("\n" + source_of(part.code))
    return "\n".join(line + MARKED if part.line in line else line for line in source.splitlines())


def deeper(part: Part, view: View) -> None:
    """The way to the page that goes deeper, where there is one."""
    if part.page in PAGES:
        page_link(part.page, view, f"Deeper: {PAGES[part.page].title}")


def keep_panel_in_sight() -> None:
    """Let the panel stay while a tall diagram scrolls, where both stand side by side."""
    st.html(ASSETS / "diagram" / "panel.css")


def _belongs(part_id: str, part: Part) -> bool:
    return part_id == part.id or part_id in _INSIDE.get(part.id, ())


def _shapes(name: str, flows: Sequence[Flow], drawing: Drawing) -> list[Fact]:
    order = [flow for kind in (FlowKind.DATA, FlowKind.AUXILIARY) for flow in flows if flow.kind is kind]
    axes = dict.fromkeys(drawing.axes(flow) for flow in order)
    if not axes:
        return []
    numbers = [in_numbers(each, drawing.model.config, drawing.n_tokens) for each in axes]
    return [Fact(name=name, value="; ".join(numbers), note="; ".join(in_words(each) for each in axes))]


def _parameters(part: Part, drawing: Drawing) -> Fact:
    own, all_parameters = drawing.model.parameters_of(part.id), drawing.model.parameters
    if own == 0:
        note = "tied: counted with the embedding" if part.id == "unembedding" else "nothing learned"
        return Fact(name="Parameters", value="0", note=note)
    if not part.repeated:
        return Fact(name="Parameters", value=f"{own:,}", note=f"{own / all_parameters:.2%} of the model")
    n_layers = drawing.model.config.n_layers
    total = own * n_layers
    return Fact(
        name="Parameters",
        value=f"{own:,}",
        note=f"in each layer; {total:,} in all {n_layers}, {total / all_parameters:.2%} of the model",
    )


def _operations(part: Part, drawing: Drawing) -> Fact:
    count = matrix_operations(part.id, drawing.model.config, drawing.n_tokens)
    name = "Operations per token"
    if count == 0:
        return Fact(name=name, value="0", note="no matrix product")
    where = "in each layer; " if part.repeated else ""
    return Fact(name=name, value=rounded(count), note=f"{where}additions and multiplications, {count:,}")


def _cache(part: Part, drawing: Drawing) -> Fact:
    config = drawing.model.config
    share = 2 if part.id in ("key", "value") else 1
    layer, all_layers = (kv_bytes_per_token(config, n) // share for n in (1, config.n_layers))
    full = in_bytes(all_layers * config.context)
    note = f"in each layer, bfloat16; {in_bytes(all_layers)} in all, {full} when full"
    return Fact(name="Cache per token", value=in_bytes(layer), note=note)


def _insides() -> dict[str, frozenset[str]]:
    direct = {frame: {part.id for part in PARTS if part.inside == frame} for frame in {part.inside for part in PARTS}}
    return {
        frame: frozenset(inner | {deep for part in inner for deep in direct.get(part, ())})
        for frame, inner in direct.items()
    }


_INSIDE = _insides()
