"""The architecture diagram: drawn on the server, walked and clicked in the browser."""

import streamlit as st

from explorer.architecture.catalogue import PART
from explorer.architecture.part import FlowKind, Kind, Part
from explorer.architecture.plan import BLOCKS
from explorer.architecture.shapes import SYMBOLS
from explorer.figures.theme import ATTENTION, DRAWN, EMBEDDING, FEED_FORWARD, MUTED, RESIDUAL
from explorer.ui import state
from explorer.ui.attention_component import mark
from explorer.ui.components import component

_DIAGRAM = component("diagram")
COLOURS = {
    "attention": ATTENTION, "feed-forward": FEED_FORWARD, "norm": RESIDUAL, "embedding": EMBEDDING, "auxiliary": MUTED,
    "other": DRAWN,
}  # fmt: skip
LEGEND = {
    Kind.ATTENTION: "attention",
    Kind.FEED_FORWARD: "feed-forward",
    Kind.NORM: "norm / residual",
    Kind.EMBEDDING: "embedding / head",
    Kind.AUXILIARY: "auxiliary",
}
LINES = {FlowKind.DATA: "data", FlowKind.RESIDUAL: "residual", FlowKind.AUXILIARY: "attached"}


def selected_part() -> Part:
    """The part that the view selects."""
    return PART[state.current().part]


def architecture_diagram(
    wide: str, narrow: str, *, selected: str, symbols: bool, file: str, key: str = "diagram"
) -> None:
    """Show the markup ``wide``, or ``narrow`` where there is little room.

    A click or Enter on a box selects its part; on the sign in a block's corner it opens or closes the block. ``file``
    names what is exported, ``symbols`` says whether shapes are written in them.
    """
    told = dict.fromkeys(f"{symbol} {words}" for symbol, words in SYMBOLS.values())
    legend = [{"name": str(kind), "label": label, "line": False} for kind, label in LEGEND.items()]
    legend += [{"name": f"line-{kind}", "label": label, "line": True} for kind, label in LINES.items()]

    def picked() -> None:
        part = st.session_state[key].picked
        if isinstance(part, str) and part in PART:
            state.go(part=part)

    def toggled() -> None:
        block = st.session_state[key].toggled
        if isinstance(block, str) and block in BLOCKS:
            _toggle(block)

    data = {
        "target": key, "wide": wide, "narrow": narrow, "colours": COLOURS, "legend": legend, "file": file,
        "hint": "Point at a box for one sentence, click it for everything. The + in a corner opens a block in place.",
        "symbols": " · ".join(told) if symbols else "Shapes leave out the batch: one prompt at a time.",
    }  # fmt: skip
    _DIAGRAM(key=key, data=data, on_picked_change=picked, on_toggled_change=toggled)
    mark(key, part=selected)


def _toggle(block: str) -> None:
    """Open a block or close it; what was selected inside a block that closes gives way to the block."""
    view = state.current()
    opened = view.opened ^ {block}
    inside = "both" if opened == frozenset(BLOCKS) else next(iter(opened), "none")
    closed_over = PART[view.part].inside == block
    state.go(inside=inside, part=block if closed_over else view.part)
