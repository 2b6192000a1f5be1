"""Drawings that are clicked: Streamlit components from plain files in ``assets/``, without a build step."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import streamlit as st

from explorer.tokenizer.encoding import Token

ASSETS = Path(__file__).parent.parent.parent / "assets"
MAX_CHIPS = 4096


def component(name: str) -> Callable[..., object]:
    """The component whose files stand in ``assets/<name>/``."""
    html, css, js = ((ASSETS / name / f"{name}.{suffix}").read_text("utf-8") for suffix in ("html", "css", "js"))
    made: Callable[..., object] = st.components.v2.component(f"explorer_{name}", html=html, css=css, js=js)
    return made


_TOKEN_STRIP = component("token_strip")
_FACT_LIST = component("fact_list")


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A name and a value; ``literal`` values are shown in the code font, every character as it is."""

    name: str
    value: str
    note: str = ""
    literal: bool = False


def token_strip(
    tokens: Sequence[Token],
    *,
    selected: int,
    on_pick: Callable[[int], None],
    coloured: bool = False,
    name: str = "Tokens of the prompt",
    key: str = "tokens",
) -> None:
    """The tokens as chips; a click calls ``on_pick`` with the token's place. ``coloured`` marks the kind of each."""
    shown = tokens[:MAX_CHIPS]
    groups = [token.group for token in shown]
    data = {
        "name": name,
        "labels": [token.label for token in shown],
        "ids": [token.id for token in shown],
        "kinds": [str(token.kind) for token in shown],
        "joined": [i > 0 and group is not None and group == groups[i - 1] for i, group in enumerate(groups)],
        "selected": selected,
        "coloured": coloured,
        "more": "" if len(tokens) <= MAX_CHIPS else f"{len(tokens) - MAX_CHIPS:,} more tokens are not drawn.",
    }

    def picked() -> None:
        place = st.session_state[key].picked
        if isinstance(place, int):
            on_pick(place)

    _TOKEN_STRIP(key=key, data=data, on_picked_change=picked)


def fact_list(facts: Sequence[Fact], *, key: str, tile: int = 150) -> None:
    """Names and values side by side, each at least ``tile`` pixels wide. Values may be text that a user typed."""
    _FACT_LIST(key=key, data={"facts": [asdict(fact) for fact in facts], "tile": tile})
