"""The frame of the guided tour: where one is, the prediction, the way on, and the way out."""

from collections.abc import Sequence

import streamlit as st

from explorer.ui import state
from explorer.ui.navigation import page_link
from explorer.ui.page import Page
from explorer.ui.words import literal


def tour_head(page: Page, titles: Sequence[str]) -> int:
    """How far along the tour is; returns the place of the stop that is shown."""
    step = min(page.view.stop, len(titles)) - 1
    st.progress((step + 1) / len(titles), text=f"Stop {step + 1} of {len(titles)}: {titles[step]}")
    return step


def prediction(options: Sequence[str], guess: int) -> int | None:
    """The options as buttons; the place of the one that was chosen, if any."""
    for place, (option, column) in enumerate(zip(options, st.columns(len(options)), strict=True)):
        column.button(
            literal(option),
            key=f"guess-{place}",
            icon=":material/check:" if place == guess else None,
            width="stretch",
            on_click=state.go,
            kwargs={"guess": place},
        )
    return guess if 0 <= guess < len(options) else None


def tour_way(page: Page, n_stops: int, deeper: str) -> None:
    """Back, on, deeper, and out."""
    step = page.view.stop
    back, deep, on = st.columns(3)
    back.button(
        "Back", icon=":material/arrow_back:", disabled=step <= 1, width="stretch",
        on_click=lambda: state.go(stop=step - 1, guess=-1, token=-1),
    )  # fmt: skip
    on.button(
        "Next stop" if step < n_stops else "Start again", icon=":material/arrow_forward:",
        width="stretch", on_click=lambda: state.go(stop=step % n_stops + 1, guess=-1, token=-1),
    )  # fmt: skip
    with deep:
        page_link(deeper, page.view, "See all of it on its page")
    st.caption("Leave by any link at the side: the address keeps your place, and Back brings you here again.")
