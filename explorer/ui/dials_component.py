"""Pairs of numbers as arrows on dials, turned by a slider without a word to the server until it is let go."""

from collections.abc import Callable, Sequence

import streamlit as st

from explorer.ui.components import component

_DIALS = component("dials")


def dials(
    pairs: Sequence[Sequence[float]],
    speeds: Sequence[float],
    *,
    name: str,
    key: str,
    colour: str,
    position: int,
    own: int,
    most: int,
    selected: int,
    on_move: Callable[[int], None],
    on_pick: Callable[[int], None],
) -> None:
    """One dial for each of ``pairs`` (x, y) as they are before turning, at ``speeds`` radians per position.

    ``position`` turns them, ``own`` is where the token stands, ``most`` the last position of the slider. Letting the
    slider go calls ``on_move`` with the position, a click on a dial ``on_pick`` with the pair.
    """

    def moved() -> None:
        place = st.session_state[key].moved
        if isinstance(place, int):
            on_move(place)

    def picked() -> None:
        pair = st.session_state[key].picked
        if isinstance(pair, int):
            on_pick(pair)

    _DIALS(
        key=key,
        data={
            "name": name,
            "pairs": [[round(number, 5) for number in pair] for pair in pairs],
            "speeds": list(speeds),
            "colour": colour,
            "position": position,
            "own": own,
            "most": most,
            "selected": selected,
        },
        on_moved_change=moved,
        on_picked_change=picked,
    )
