"""Controls of the cost page: which model is counted, and on what it would run."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from explorer.architecture.counted_model import counted_from_text
from explorer.architecture.decoder_sizes import DecoderSizes, sizes_of
from explorer.architecture.presets import presets
from explorer.architecture.roofline import GIGA, TERA, Accelerator, accelerators
from explorer.engine.engine import Phase
from explorer.ui import resources, state
from explorer.ui.page import Page
from explorer.ui.state import bound
from explorer.ui.view import MAX_CHARACTERS
from explorer.ui.waiting import named_errors
from explorer.ui.words import literal

RUNNING, PASTED = "running", "pasted"
KAPLANS_KIND = "gpt-2-small"  # the kind of model that most rules of thumb were made for
IMPORTS = {
    name: f"from explorer.{module} import {name}"
    for name, module in {
        "cache_table": "analysis.cost",
        "matrix_table": "analysis.cost",
        "model_table": "analysis.cost",
        "operation_table": "analysis.cost",
        "steps_of_work": "analysis.cost",
        "time_table": "analysis.cost",
        "counted_from_text": "architecture.counted_model",
        "presets": "architecture.presets",
        "sizes_of": "architecture.decoder_sizes",
        "Accelerator": "architecture.roofline",
        "Session": "cli.session",
    }.items()
}
PRECISIONS = {"float32": "float32", "bfloat16": "16 bits", "int8": "8 bits", "int4": "4 bits"}


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The model that is counted; ``published`` is how many numbers its files hold, where that is known.

    ``code`` is an expression that gives the same sizes, for the lines that reproduce a number.
    """

    id: str
    sizes: DecoderSizes
    published: int | None
    code: str

    def snippet(self, call: str, *made: str) -> str:
        """The lines that print what ``call`` gives for these sizes, after those that were ``made`` for it."""
        before = [IMPORTS[name] for name in IMPORTS if name in f"{self.code} {call} {' '.join(made)}"]
        return "\n".join([*before, "", f"sizes = {self.code}", *made, f"print({call}.to_string())"])


def choose_counted(page: Page) -> Counted:
    """The controls above the numbers, and the model they ask for. Ends the page where a description is unusable."""
    running = page.blueprint.config
    names = {RUNNING: f"{running.name} (runs here)"}
    names |= {model: preset.name for model, preset in presets().items() if model != page.view.model}
    names[PASTED] = "a configuration that you paste"
    view = state.fit_choice(counted=tuple(names))
    model, context, precision = st.columns([3, 2, 3], gap="medium")
    with model:
        st.selectbox("Model", [*names], format_func=names.__getitem__, **bound("counted"))
        st.caption("Nothing is downloaded: a model is counted from its published sizes.")
    with context:
        st.number_input("Tokens in the context", min_value=1, max_value=100_000_000, step=1024, **bound("at_context"))
        st.caption("The newest token reads this many, itself included.")
    with precision:
        st.radio("Weights in", [*PRECISIONS], format_func=PRECISIONS.__getitem__, horizontal=True, **bound("precision"))
        st.caption("The cache is counted with 2 bytes for each number.")
    if view.counted == PASTED:
        return _pasted(view.description)
    if view.counted == RUNNING:
        code = f"sizes_of(Session({page.view.model!r}).card.config)"
        return Counted(id=RUNNING, sizes=sizes_of(running), published=_loaded(page.view.model), code=code)
    preset = presets()[view.counted]
    st.caption(f"{literal(preset.name)}: [where these sizes are published ↗]({preset.source})")
    _notes(preset.notes)
    code = f"presets()[{preset.id!r}].sizes"
    return Counted(id=preset.id, sizes=preset.sizes, published=preset.published, code=code)


def compared(counted: Counted) -> Mapping[str, DecoderSizes]:
    """The chosen model and all presets, by id."""
    known = {model: preset.sizes for model, preset in presets().items()}
    return known if counted.id in known else {counted.id: counted.sizes} | known


def other_block(counted: Counted) -> Mapping[str, DecoderSizes]:
    """The model whose block is shown beside the chosen one's: that of the rules of thumb."""
    known = presets()[KAPLANS_KIND]
    return {} if counted.sizes == known.sizes else {known.name: known.sizes}


def choose_accelerator() -> Accelerator:
    """On what the model would run: a listed machine, with its figures or others."""
    view = state.fit_choice(accelerator=tuple(accelerators()))
    machine, bandwidth, compute, batch = st.columns([3, 2, 2, 2], gap="medium")
    with machine:
        listed = {name: each.name for name, each in accelerators().items()}
        st.selectbox("Machine", [*listed], format_func=listed.__getitem__, **bound("accelerator"))
        chosen = accelerators()[view.accelerator]
        st.caption(f"[Its maker's figures ↗]({chosen.source}): {chosen.memory / GIGA:,.4g} GB of memory.")
    with bandwidth:
        st.number_input("Memory, GB/s", min_value=0.0, max_value=1e6, step=100.0, format="%g", **bound("bandwidth"))
        st.caption(f"0 takes the maker's {chosen.bandwidth / GIGA:,.5g}.")
    with compute:
        st.number_input("TFLOP/s", min_value=0.0, max_value=1e6, step=10.0, format="%g", **bound("compute"))
        st.caption(f"0 takes the maker's {chosen.compute / TERA:,.5g}: 16 bits, dense.")
    with batch:
        st.number_input("Texts at once", min_value=1, max_value=100_000, step=1, **bound("batch"))
        st.caption("Continued together: they share each read of the weights.")
    if view.bandwidth:
        chosen = replace(chosen, bandwidth=view.bandwidth * GIGA)
    if view.compute:
        chosen = replace(chosen, compute=view.compute * TERA)
    return chosen


def _pasted(text: str) -> Counted:
    st.text_area(
        "config.json or params.json",
        height=200,
        max_chars=MAX_CHARACTERS,
        placeholder='{"model_type": "llama", "hidden_size": …}',
        **bound("description"),
    )
    st.caption("It stays in the link, packed: whoever opens it sees the same count. It is kept nowhere else.")
    if not text.strip():
        st.stop()
    with named_errors():
        counted = counted_from_text(text, name="your configuration")
    _notes(counted.notes)
    code = f"counted_from_text({text!r}, name='your configuration').sizes"
    return Counted(id=PASTED, sizes=counted.sizes, published=None, code=code)


def _notes(notes: tuple[str, ...]) -> None:
    for note in notes:
        st.caption(literal(note))


def _loaded(model: str) -> int | None:
    """How many numbers the weights in memory are, once they are there: a count that knows nothing of this page's."""
    engine = resources.engine()
    return engine.info(model).parameters if engine.state(model).phase is Phase.READY else None
