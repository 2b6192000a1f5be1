"""Which model reads the text: a choice in the sidebar of every page, where there is more than one."""

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from explorer.engine.engine import Listed
from explorer.ui import resources, state
from explorer.ui.components import Fact, fact_list

TOKENIZERS = {
    "gguf": "tokenizer in the file",
    "huggingface": "tokenizer.json",
    "tiktoken": "tokenizer.model",
    "none": "no tokenizer: texts cannot be read",
}
TILE = 240


def model_picker(model: str) -> None:
    """The models that can be chosen, ``model`` being the one in use, and what is known of each.

    A choice changes the model alone. Bad models cannot be chosen; they are listed with what is wrong with their files.
    """
    listing = resources.listing()
    if len(listing) < 2:
        return
    labels = _labels(listing)
    choices = [each.id for each in listing if each.problem is None]
    if model not in choices:  # of a bad model or an old link: it stays chosen until another is
        choices.append(model)
    st.selectbox(
        "Model",
        choices,
        format_func=lambda each: labels.get(each, f"{each}: not here"),
        **state.bound("model"),
    )
    st.caption("Your text and everything else that you chose stay as they are.")
    n_bad = sum(each.problem is not None for each in listing)
    with st.expander(f"{len(listing)} models" + (f", {n_bad} cannot run" if n_bad else ""), icon=":material/list:"):
        fact_list([model_fact(each, labels[each.id]) for each in listing], key="models", tile=TILE)


def model_fact(listed: Listed, name: str) -> Fact:
    """Size, precision, device, source and tokenizer of a model, or why it cannot run."""
    if listed.facts is None:
        problem = listed.problem
        reason = "" if problem is None else f"{problem.found.rstrip('.')}. {problem.remedy}"
        return Fact(name=name, value="cannot run", note=reason.strip())
    facts = listed.facts
    known = [
        "parameters",
        " + ".join(facts.precision),
        f"on {listed.device}",
        facts.source,
        TOKENIZERS[facts.card.tokenizer.format],
        *facts.notes,
    ]
    return Fact(
        name=name,
        value=f"{facts.parameters:,}",
        note=" · ".join(each.rstrip(".") for each in known if each),
    )


def _labels(listing: Sequence[Listed]) -> dict[str, str]:
    """What each model is called in the list: its name, with its id where two share one."""
    counts = Counter(each.name for each in listing)
    return {each.id: each.name if counts[each.name] == 1 else f"{each.name} ({each.id})" for each in listing}
