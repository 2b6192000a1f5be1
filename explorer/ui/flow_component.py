"""The five stages of a prompt as one picture."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import streamlit as st

from explorer.figures.theme import ATTENTION, DRAWN, EMBEDDING, MUTED, RESIDUAL
from explorer.ui.components import component


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage: the page that it opens, and what happens in it, in a few words."""

    page: str
    title: str
    about: str


@dataclass(frozen=True, kw_only=True)
class FlowToken:
    """One token's row: its label and id, its embedding strip, its lengths through the layers, and the last length."""

    label: str
    id: int
    embedding: list[int]
    lengths: list[int]
    length: str
    last: bool


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One of the likeliest next tokens."""

    label: str
    p: float
    share: str
    drawn: bool


_FLOW = component("flow")


def flow(
    stages: Sequence[Stage],
    tokens: Sequence[FlowToken | None],
    candidates: Sequence[Candidate],
    *,
    every_label: Sequence[str],
    drawn: tuple[str, str],
    on_open: Callable[[str], None],
    key: str = "flow",
) -> None:
    """Five cards from left to right; a token that joined ``every_label`` since the last drawing arrives visibly.

    ``drawn`` is the drawn token's label and what to say about it. A click on a stage's title calls ``on_open``.
    """

    def opened() -> None:
        page = st.session_state[key].opened
        if isinstance(page, str):
            on_open(page)

    data = {
        "stages": [asdict(stage) for stage in stages],
        "tokens": [None if token is None else asdict(token) for token in tokens],
        "candidates": [asdict(candidate) for candidate in candidates],
        "everyLabel": list(every_label),
        "drawn": {"label": drawn[0], "about": drawn[1]},
        "colours": {
            "muted": MUTED, "embedding": EMBEDDING, "blocks": RESIDUAL, "drawn": DRAWN,
            "positive": EMBEDDING, "negative": ATTENTION,
        },
    }  # fmt: skip
    _FLOW(key=key, data=data, on_opened_change=opened)
