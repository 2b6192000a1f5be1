"""A text whose tokens carry a number each."""

from collections.abc import Callable, Sequence

import streamlit as st

from explorer.ui.components import MAX_CHIPS, component

_WEIGHTED_TEXT = component("weighted_text")


def weighted_text(
    labels: Sequence[str],
    values: Sequence[float],
    shown: Sequence[str],
    *,
    name: str,
    selected: int,
    tones: tuple[str, str],
    on_pick: Callable[[int], None],
    key: str,
    arcs: bool = False,
) -> None:
    """Tokens coloured by ``values`` from -1 to 1, in ``tones`` for below and above 0; a click calls ``on_pick``.

    ``shown`` says each value in words. With ``arcs``, lines go from the selected token to those with the largest ones.
    """
    data = {
        "labels": list(labels[:MAX_CHIPS]),
        "values": [float(f"{value:.3g}") for value in values[:MAX_CHIPS]],
        "shown": list(shown[:MAX_CHIPS]),
        "name": name,
        "selected": selected,
        "tones": tones,
        "arcs": arcs,
    }

    def picked() -> None:
        place = st.session_state[key].picked
        if isinstance(place, int):
            on_pick(place)

    _WEIGHTED_TEXT(key=key, data=data, on_picked_change=picked)
