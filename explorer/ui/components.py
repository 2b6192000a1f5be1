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
    """The tokens as chips; a click calls ``on_pick`` with the token's place. ``coloured`` marks the kind of each.

    Of more than ``MAX_CHIPS`` those around the selected one are drawn, with a way to those before and after.
    """
    drawn = drawn_part(len(tokens), selected)
    shown = tokens[drawn.start : drawn.stop]
    groups = [token.group for token in shown]
    data = {
        "name": name,
        "word": "Token",
        "labels": [token.label for token in shown],
        "captions": [str(token.id) for token in shown],
        "captioned": "id",
        "kinds": [str(token.kind) for token in shown],
        "joined": [i > 0 and group is not None and group == groups[i - 1] for i, group in enumerate(groups)],
        "coloured": coloured,
    }
    _chips(data, drawn, len(tokens), selected, on_pick, key)


def piece_strip(
    labels: Sequence[str], counts: Sequence[int], *, selected: int, on_pick: Callable[[int], None], name: str, key: str
) -> None:
    """The pieces of a text, with the number of tokens of each; a click calls ``on_pick`` with the piece's place."""
    drawn = drawn_part(len(labels), selected)
    shown = labels[drawn.start : drawn.stop]
    data = {
        "name": name,
        "word": "Piece",
        "labels": list(shown),
        "captions": [f"{count} token{'' if count == 1 else 's'}" for count in counts[drawn.start : drawn.stop]],
        "captioned": "",
        "kinds": [""] * len(shown),
        "joined": [False] * len(shown),
        "coloured": False,
    }
    _chips(data, drawn, len(labels), selected, on_pick, key)


def drawn_part(count: int, selected: int, most: int = MAX_CHIPS) -> range:
    """Which of ``count`` places are drawn: at most ``most``, the selected one well inside.

    The part moves by half its length, so that most clicks leave it where it is.
    """
    half = most // 2
    start = max(0, min(max(selected, 0) // half * half - half // 2, count - most))
    return range(start, min(count, start + most))


def _chips(
    data: dict[str, object], drawn: range, count: int, selected: int, on_pick: Callable[[int], None], key: str
) -> None:
    def picked() -> None:
        place = st.session_state[key].picked
        if isinstance(place, int) and 0 <= place < count:
            on_pick(place)

    data |= {"first": drawn.start, "count": count, "selected": selected}
    _TOKEN_STRIP(key=key, data=data, on_picked_change=picked)


def fact_list(facts: Sequence[Fact], *, key: str, tile: int = 150) -> None:
    """Names and values side by side, each at least ``tile`` pixels wide. Values may be text that a user typed."""
    _FACT_LIST(key=key, data={"facts": [asdict(fact) for fact in facts], "tile": tile})
