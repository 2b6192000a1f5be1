"""The vocabularies side by side: what they are called, and which are here."""

from collections.abc import Mapping

import streamlit as st

from explorer.engine.engine import Phase
from explorer.tokenizer.tokenizer import Tokenizer
from explorer.ui import resources
from explorer.ui.view import OWN
from explorer.ui.waiting import model_progress, wake

LLAMA3, LLAMA3_NAME = "llama3", "Llama 3.1"


def vocabulary_names(own_name: str) -> dict[str, str]:
    """What each vocabulary is called; ``own_name`` is the model's."""
    return {OWN: own_name, LLAMA3: LLAMA3_NAME, "cl100k_base": "cl100k_base", "o200k_base": "o200k_base"}


def readers(own: Tokenizer, own_name: str) -> dict[str, Tokenizer]:
    """The tokenizers that are here, by name. One that is not is on its way; ``await_rest`` shows it."""
    found = {own_name: own}
    for vocabulary, name in vocabulary_names(own_name).items():
        if vocabulary != OWN:
            wake(resources.engine(), vocabulary)
            if resources.engine().state(vocabulary).phase is Phase.READY:
                found[name] = resources.vocabulary(vocabulary)
    return found


def await_rest(found: Mapping[str, Tokenizer]) -> None:
    """Follow the one vocabulary that does not ship, if it is not ``found``; the page runs again once it is here."""
    engine = resources.engine()
    if LLAMA3_NAME in found:
        return
    if engine.state(LLAMA3).phase is Phase.FAILED:
        st.caption("The vocabulary of Llama 3.1 could not be fetched. Choose it above to see why, and to try again.")
    else:
        model_progress(engine, LLAMA3)
