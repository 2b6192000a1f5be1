"""What a reader sees while something is fetched, loaded or computed, and when it fails."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer.config import ConfigError
from explorer.engine.engine import Engine, LoadState, Phase, Ticket
from explorer.errors import ExplorerError
from explorer.settings import SettingError
from explorer.trace.trace import Trace, TraceRequest

NAMED_ERRORS = (ExplorerError, ConfigError, SettingError)
Answer = TypeVar("Answer")

POLL_SECONDS = 0.4
FLASH_SECONDS = 0.15  # a run that is shorter shows no progress at all


def show_error(error: ExplorerError | ConfigError | SettingError) -> None:
    """What went wrong and what to do, as plain text: a message may quote what a user typed."""
    with st.container(border=True, key="named-error"):
        st.markdown(":material/error: **This could not be done**")
        st.text(error.found)
        if error.remedy:
            st.text(error.remedy)


@contextmanager
def named_errors() -> Iterator[None]:
    """Show what a user, a file or the machine caused, with its remedy, and end the page there."""
    try:
        yield
    except NAMED_ERRORS as error:
        show_error(error)
        st.stop()


def wait_for_trace(engine: Engine, request: TraceRequest) -> Trace:
    """The answer to ``request``, with progress and the place in the queue while it takes. Raises what the engine does.

    The slot is there in every run: one that comes and goes would remount all that follows.
    """
    seconds = engine.info(request.model).seconds
    slow = "" if seconds is None else f", whose layers are read from the files: about {max(seconds, 1):.0f} s"
    return wait_for(lambda session: engine.submit(request, session), st.empty(), f"Running the model{slow}")


def wait_for(submit: Callable[[str], Ticket[Answer]], slot: DeltaGenerator, text: str) -> Answer:
    """What ``submit`` asks for, given the name of this session; ``text`` says in ``slot`` what takes so long.

    Every Streamlit call in the loop is a point where a newer run of this session, or a closed tab, ends this one; the
    work behind it then stops unless somebody else waits for the same. Raises what the engine raises.
    """
    context = get_script_run_ctx()
    ticket = submit(context.session_id if context else "no-session")
    try:
        if not ticket.wait(FLASH_SECONDS):
            while not ticket.wait(POLL_SECONDS):
                ahead = ticket.ahead
                slot.progress(min(ticket.fraction, 1.0), text=f"{text}: {ahead} ahead of you" if ahead else text)
        return ticket.result()
    finally:
        ticket.leave()
        slot.empty()


def wake(engine: Engine, name: str) -> None:
    """Begin to load what nobody has asked for yet. After a failure only a person tries again."""
    if engine.state(name).phase is Phase.ABSENT:
        engine.prepare(name)


def model_progress(engine: Engine, model: str) -> None:
    """A box that follows a model on its way into memory, and runs the page again once it is there."""

    @st.fragment(run_every=1.0)
    def follow() -> None:
        state = engine.state(model)
        if state.phase is Phase.READY:
            st.rerun()
        _loading_box(state)
        if state.phase is Phase.FAILED:
            st.button("Try again", icon=":material/refresh:", on_click=engine.prepare, args=(model,))

    follow()


def _loading_box(state: LoadState) -> None:
    if state.error is not None:
        show_error(state.error)
    else:
        st.progress(min(state.fraction, 1.0), text=state.sentence or "Getting ready")
