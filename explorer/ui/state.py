"""The view of this session: read once per run from the address, changed only by callbacks.

No other module touches ``st.query_params`` or the keys of widgets.
"""

from collections.abc import Callable, Collection
from typing import TypedDict

import streamlit as st

from explorer.ui.view import UnusableValueError, Value, View

_VIEW = "view"
_LINK = "link"  # the view before ``fit`` has held it to what this model has
_PAGE = "page"
_ASKED = "asked-for"
_TOLD = "told"


class Binding(TypedDict):
    """What ties a widget to a field of the view."""

    key: str
    on_change: Callable[[], None]


def begin(page: str) -> View:
    """The view that the address asks for. The first call of every run; tells what could not be used, once."""
    st.session_state[_PAGE] = page
    view, problems = View.parse({name: st.query_params[name] for name in st.query_params})
    st.session_state[_VIEW] = st.session_state[_LINK] = view
    _tell("link", problems)
    return view


def fit(**most: int) -> View:
    """The view with the named fields held to what this model and prompt have; tells what was out of reach, once."""
    view = current()
    beyond = {name: limit for name, limit in most.items() if getattr(view, name) > limit}
    if beyond:
        view = view.changed(**beyond)
        st.session_state[_VIEW] = view
    _tell(
        f"fit-{'-'.join(most)}", [f"{name} goes up to {limit} here; that is shown." for name, limit in beyond.items()]
    )
    return view


def fit_choice(**allowed: Collection[str]) -> View:
    """The view with the named fields held to what there is to choose; anything else falls back, and is told once."""
    view = current()
    lost = [name for name, names in allowed.items() if getattr(view, name) not in names]
    if lost:
        view = view.changed(**{name: getattr(View(), name) for name in lost})
        st.session_state[_VIEW] = view
    _tell(f"choice-{'-'.join(allowed)}", [f"{name} is not one of {', '.join(allowed[name])}." for name in lost])
    return view


def _tell(subject: str, problems: list[str]) -> None:
    """A note at the edge of the page, in the run in which it is new."""
    if problems and st.session_state.get(f"{_TOLD}-{subject}") != problems:
        st.toast("Part of this link could not be used. " + " ".join(problems), icon=":material/link_off:")
    st.session_state[f"{_TOLD}-{subject}"] = problems


def current() -> View:
    """The view of this run."""
    view: View = st.session_state[_VIEW]
    return view


def go(**changes: Value) -> None:
    """Change the view and the address in one step of the browser's history. Only callbacks may call this.

    A change of the model begins with what the link asks for: what the old model was too small for may fit the new one.
    """
    base: View = st.session_state[_LINK] if "model" in changes else current()
    try:
        view = base.changed(**changes)
    except UnusableValueError as error:
        st.toast(f"Not changed: {', '.join(changes)} {error}.", icon=":material/block:")
        return
    if view != current():
        st.session_state[_VIEW] = st.session_state[_LINK] = view
        st.query_params.from_dict(view.params())


def ask_for(page: str) -> None:
    """Ask that the coming run opens another page. Only callbacks may call this: they cannot switch by themselves."""
    st.session_state[_ASKED] = page


def asked_for() -> str | None:
    """The page that a callback has asked for; the question is answered once."""
    page: str | None = st.session_state.pop(_ASKED, None)
    return page


def bound(name: str) -> Binding:
    """Tie a widget to one field: ``st.slider("Layer", 0, 31, **bound("layer"))``.

    The widget gets a new key when something else changes the field: a link, Back, a click elsewhere. Writing to the old
    key would race: until the browser has drawn the new value, its next message still carries the old one, Streamlit
    takes that for a change by the reader, and the callback would undo the selection.
    """
    state, value = st.session_state, getattr(current(), name)
    revision, last = state.get(f"revision-{name}", (0, value))
    if last != value:
        revision += 1
    state[f"revision-{name}"] = (revision, value)
    key = f"{state[_PAGE]}-{name}-{revision}"  # Streamlit forgets a page's widgets, not their keys, when it is left
    state.setdefault(key, value)

    def changed() -> None:
        if state[f"revision-{name}"][0] != revision:  # a late message from a widget that has been replaced
            return
        go(**{name: state[key]})
        state[f"revision-{name}"] = (revision, getattr(current(), name))  # its own change: same key, focus stays

    return {"key": key, "on_change": changed}
