"""The architecture diagram: drawn on the server, walked and clicked in the browser."""

from collections.abc import Callable, Sequence

import streamlit as st

from explorer.architecture.part import FlowKind, Kind
from explorer.architecture.plan import BLOCKS
from explorer.architecture.shapes import SYMBOLS
from explorer.figures.theme import ATTENTION, DRAWN, EMBEDDING, FEED_FORWARD, MUTED, RESIDUAL
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


def architecture_diagram(
    wide: str,
    narrow: str,
    *,
    selected: str,
    symbols: bool,
    file: str,
    on_pick: Callable[[str], None],
    on_toggle: Callable[[str], None],
    parts: Sequence[str],
    key: str = "diagram",
) -> None:
    """Show the markup ``wide``, or ``narrow`` where there is little room.

    A click or Enter on a box calls ``on_pick`` with its part, on the sign in a block's corner ``on_toggle`` with the
    block. ``file`` names what is exported, ``symbols`` says whether shapes are written in them.
    """
    told = dict.fromkeys(f"{symbol} {words}" for symbol, words in SYMBOLS.values())
    legend = [{"name": str(kind), "label": label, "line": False} for kind, label in LEGEND.items()]
    legend += [{"name": f"line-{kind}", "label": label, "line": True} for kind, label in LINES.items()]

    def picked() -> None:
        part = st.session_state[key].picked
        if isinstance(part, str) and part in parts:
            on_pick(part)

    def toggled() -> None:
        block = st.session_state[key].toggled
        if isinstance(block, str) and block in BLOCKS:
            on_toggle(block)

    data = {
        "target": key, "wide": wide, "narrow": narrow, "colours": COLOURS, "legend": legend, "file": file,
        "hint": "Point at a box for one sentence, click it for everything. The + in a corner opens a block in place.",
        "symbols": " · ".join(told) if symbols else "Shapes leave out the batch: one prompt at a time.",
    }  # fmt: skip
    _DIAGRAM(key=key, data=data, on_picked_change=picked, on_toggled_change=toggled)
    mark(key, part=selected)
