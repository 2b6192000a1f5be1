"""Controls of the unembedding page, and the readings that it waits for."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.trace.lens import Lens, LensRequest
from explorer.ui import resources, state
from explorer.ui.lens_component import MOST_CELLS
from explorer.ui.page import Page
from explorer.ui.state import bound
from explorer.ui.token_choice import HOW_TO_NAME, chosen_token
from explorer.ui.waiting import named_errors, wait_for

FEW_TOKENS = 8  # so many are read at once, without being asked
AT_ONCE = 4
COLOURS = {"p": "its probability", "rank": "rank of the final answer", "entropy": "how sure it is", "kl": "how close"}


def lens_controls(n_tokens: int, n_read: int) -> None:
    """What the grid shows, and whether all of it."""
    st.radio("Colour", [*COLOURS], format_func=COLOURS.__getitem__, **bound("lens_colour"))
    st.caption(
        "The further from the background, the likelier, the better the rank, the surer (its entropy), or the closer to "
        "the final prediction (its KL divergence)."
    )
    st.toggle("Leave out the final norm", **bound("without_norm"))
    st.caption("Scores the raw vectors instead. Long and short ones then no longer compare.")
    if n_tokens > FEW_TOKENS:
        st.toggle(f"Read all {n_tokens:,} tokens", **bound("whole"))
        st.caption(f"{n_read:,} of them are read. Each costs about as much as running the model on one token.")


def read_lens(
    page: Page,
    tokens: Sequence[int],
    slot: DeltaGenerator,
    *,
    count: int = 1,
    normalised: bool = True,
    watched: tuple[int, ...] = (),
) -> Lens:
    """Some tokens of the prompt at every depth, with progress in ``slot``. Call ``page.run`` first."""
    request = LensRequest(
        model=page.view.model, token_ids=page.encoding.ids, tokens=tuple(tokens), count=count, normalised=normalised,
        watched=watched,
    )  # fmt: skip
    engine = resources.engine()
    with named_errors():
        return wait_for(lambda session: engine.submit_lens(request, session), slot, "Reading the layers")


def read_grid(page: Page, columns: range, selected: int) -> list[Lens]:
    """The tokens ``columns`` at every depth, in blocks, nearest to the selected one first, with progress.

    The selected one alone where all would take long and nobody asked for them. Each block is a job of its own in the
    engine's queue: others come in between, and what has been read stays when this session turns to something else.
    """
    normalised, slot = not page.view.without_norm, st.empty()
    if len(columns) > FEW_TOKENS and not page.view.whole:
        return [read_lens(page, [selected], slot, normalised=normalised)]
    blocks = [columns[start : start + AT_ONCE] for start in range(0, len(columns), AT_ONCE)]
    blocks.sort(key=lambda block: min(abs(token - selected) for token in block))
    read = []
    for done, block in enumerate(blocks):
        read.append(read_lens(page, block, slot, normalised=normalised))
        if len(blocks) > 2:
            slot.progress((done + 1) / len(blocks), text=f"Read {done * AT_ONCE + len(block)} of {len(columns)} tokens")
    slot.empty()
    return read


def drawn_columns(n_tokens: int, selected: int, n_depths: int) -> range:
    """The tokens that the grid shows: all, or as many around the selected one as can be drawn."""
    most = min(n_tokens, MOST_CELLS // n_depths)
    start = max(0, min(selected - most // 2, n_tokens - most))
    return range(start, start + most)


def token_controls(page: Page, answer: int) -> tuple[int, int | None]:
    """Which token's score is taken apart, and which other one is subtracted, if any; ``answer`` is the model's own."""
    first, second = st.columns(2, gap="medium")
    with first:
        st.text_input("Token", placeholder=page.tokenizer.label(answer), max_chars=200, **bound("answer"))
        token = _told(page, "answer")
        st.caption(f"Empty: the model's own answer. {HOW_TO_NAME}")
    with second:
        st.text_input("Less the score of", placeholder="none", max_chars=200, **bound("rival"))
        rival = _told(page, "rival")
        st.caption("Empty: the score alone. With a second token: what speaks for the one and against the other.")
    return (answer if token is None else token), rival


def _told(page: Page, field: str) -> int | None:
    """The token that a field names, with what there is to say about it."""
    choice = chosen_token(page.tokenizer, getattr(state.current(), field))
    if choice.problem:
        st.text(choice.problem)
    if choice.id is not None:
        others = "".join(f"; also #{other} {page.tokenizer.label(other)}" for other in choice.others)
        st.text(f"{page.tokenizer.label(choice.id)} id {choice.id}{others}")
    return choice.id
