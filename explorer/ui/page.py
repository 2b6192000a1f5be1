"""The frame that all pages share: head, prompt, tokens, model, errors, and what stands under every picture."""

from dataclasses import asdict, dataclass

import streamlit as st

from explorer.architecture.blueprint import Blueprint
from explorer.engine.engine import ModelInfo, Phase
from explorer.tokenizer.encoding import Encoding, Token
from explorer.tokenizer.tokenizer import Tokenizer
from explorer.trace.embedding_rows import NearestRows
from explorer.trace.readout import Readout, Vectors
from explorer.trace.trace import Trace, TraceRequest
from explorer.ui import resources, state
from explorer.ui.components import ASSETS, token_strip
from explorer.ui.model_picker import model_picker
from explorer.ui.navigation import PAGES, navigation
from explorer.ui.recorded import can_stand_in, recorded_trace
from explorer.ui.view import MAX_CHARACTERS, OWN, View
from explorer.ui.waiting import model_progress, named_errors, wait_for_trace, wake
from explorer.ui.words import literal

ICON = str(ASSETS / "favicon.png")


@dataclass(frozen=True, kw_only=True)
class Run:
    """A trace with the tokens that it belongs to. ``selected`` is the token whose row was scored.

    ``recorded`` says that the recorded run stands in for one that cannot be made yet.
    """

    trace: Trace
    tokens: tuple[Token, ...]
    selected: int
    recorded: bool = False

    @property
    def labels(self) -> list[str]:
        """What stands for each token on the screen."""
        return [token.label for token in self.tokens]


@dataclass(frozen=True, kw_only=True)
class Page:
    """What a page works with: the view, and the prompt as the model's tokenizer cuts it."""

    view: View
    tokenizer: Tokenizer
    encoding: Encoding

    @property
    def selected(self) -> int:
        """The place of the selected token: the last one, unless the view names another that is there."""
        return self.view.place(len(self.encoding))

    @property
    def blueprint(self) -> Blueprint:
        """The model's shapes and code, with or without its weights."""
        return resources.blueprint(self.view.model)

    def snippet(self, template: str, **values: object) -> str:
        """``template`` with the fields of the view, and ``values``, in place of their names."""
        return template.format(**(asdict(self.view) | values))

    def reader(self, vocabulary: str) -> Tokenizer:
        """The tokenizer of a vocabulary. Ends the page, with progress, while that vocabulary is fetched."""
        if vocabulary == OWN:
            return self.tokenizer
        engine = resources.engine()
        wake(engine, vocabulary)
        if engine.state(vocabulary).phase is not Phase.READY:
            model_progress(engine, vocabulary)
            st.stop()
        return resources.vocabulary(vocabulary)

    def read_as(self, tokenizer: Tokenizer) -> Encoding:
        """The prompt as ``tokenizer`` cuts it, with the special tokens that the view asks for."""
        return tokenizer.encode(self.view.prompt, special=self.view.special, bos=self.view.with_bos)

    def wait_for_model(self) -> None:
        """Ends the page, with progress, while the model is on its way: for pages that only read its weights."""
        engine, model = resources.engine(), self.view.model
        with named_errors():
            if engine.state(model).phase is Phase.READY:
                return
        model_progress(engine, model)
        st.stop()

    def parameter(self, name: str, rows: tuple[int, ...] | None = None) -> Vectors:
        """Learned numbers by their address, such as ``layers.3.attention_norm.gain``; call ``run`` first."""
        with named_errors():
            return resources.engine().parameter(self.view.model, name, rows)

    def readout(self, vectors: Vectors, *, count: int, normalised: bool, watched: tuple[int, ...] = ()) -> Readout:
        """Vectors (vector, d_model) read through the unembedding; call ``run`` first."""
        with named_errors():
            return resources.engine().readout(
                self.view.model, vectors, count=count, normalised=normalised, watched=watched
            )

    def nearest(self, vectors: Vectors, *, count: int) -> NearestRows:
        """The rows of the embedding nearest to vectors (vector, d_model), by cosine; the model must be ready."""
        with named_errors():
            return resources.engine().nearest(self.view.model, vectors, count=count)

    def one_hot_product(self, token_id: int) -> Vectors:
        """One-hot vector times embedding matrix, multiplied out: (d_model,); the model must be ready."""
        with named_errors():
            return resources.engine().one_hot_product(self.view.model, token_id)

    def run(
        self,
        *,
        taps: frozenset[str] = frozenset(),
        norms: frozenset[str] = frozenset(),
        rows: frozenset[str] = frozenset(),
    ) -> Run:
        """What the page needs of a run on the prompt, with the selected token scored.

        Of what ``rows`` names only the selected token is kept. While the model is on its way the recorded run stands
        in, and is said to. Ends the page where there is neither.
        """
        engine, model = resources.engine(), self.view.model
        with named_errors():
            if engine.state(model).phase is Phase.READY:
                request = TraceRequest(
                    model=model,
                    token_ids=self.encoding.ids,
                    taps=taps,
                    norms=norms,
                    rows=rows,
                    scored=(self.selected,),
                )
                trace = wait_for_trace(engine, request)
                return Run(trace=trace, tokens=self.encoding.tokens, selected=self.selected)
        model_progress(engine, model)
        if rows or not can_stand_in(model, taps, norms):
            st.stop()
        return self._recorded_run()

    def trace(self, token_ids: tuple[int, ...], *, taps: frozenset[str]) -> Trace:
        """A run on any tokens, without scores: the same whichever token is selected.

        Ends the page, with progress, while the model is on its way.
        """
        engine, model = resources.engine(), self.view.model
        with named_errors():
            if engine.state(model).phase is Phase.READY:
                return wait_for_trace(engine, TraceRequest(model=model, token_ids=token_ids, taps=taps))
        model_progress(engine, model)
        st.stop()

    def _recorded_run(self) -> Run:
        trace = recorded_trace()
        tokens = self.tokenizer.encode(View().prompt).tokens
        st.badge("recorded run", icon=":material/videocam:", color="orange")
        st.caption(f"Until the model is ready: a recorded run on “{View().prompt}”. Yours follows by itself.")
        return Run(trace=trace, tokens=tokens, selected=len(tokens) - 1, recorded=True)


def open_page(name: str, *, strip: bool = True) -> Page:
    """Draw the frame of a page and read the prompt: the first line of every page.

    With ``strip`` the tokens follow; the tokenizer's own page draws them itself. Where the prompt cannot be read the
    reason is shown and the page ends here.
    """
    entry = PAGES[name]
    st.set_page_config(page_title=f"{entry.title} · Llama explorer", page_icon=ICON, layout="wide")
    st.logo(ICON, size="large")
    view = state.begin(name)
    if (asked := state.asked_for()) is not None:
        st.switch_page(PAGES[asked].file, query_params=view.params())
    with st.sidebar:
        st.markdown("### Llama explorer")
        navigation(view)
        with named_errors():
            model_picker(view.model)
        model_box = st.container()
    st.header(entry.title, anchor=False)
    st.markdown(entry.opening)
    st.text_area("Your text", height="content", max_chars=MAX_CHARACTERS, **state.bound("prompt"))
    with named_errors():
        engine = resources.engine()
        config = engine.card(view.model).config
        wake(engine, view.model)
        tokenizer = resources.tokenizer(view.model)
        if engine.state(view.model).phase is Phase.READY:
            with model_box:
                _model_facts(engine.info(view.model))
        encoding = tokenizer.encode(view.prompt, special=view.special, bos=view.with_bos)
    view = state.fit(layer=config.n_layers - 1, head=config.n_heads - 1, token=max(len(encoding) - 1, 0))
    page = Page(view=view, tokenizer=tokenizer, encoding=encoding)
    if strip:
        draw_tokens(page.encoding, page.selected)
    return page


def draw_tokens(encoding: Encoding, selected: int, *, coloured: bool = False) -> None:
    """The tokens as chips that can be clicked, and what a reader might not expect of them."""
    token_strip(encoding.tokens, selected=selected, coloured=coloured, on_pick=lambda place: state.go(token=place))
    for note in encoding.notes:
        st.text(note)


def _model_facts(info: ModelInfo) -> None:
    """Which model is running, in the sidebar of every page."""
    config = info.card.config
    st.caption(
        f"**{literal(config.name)}** runs here: {info.parameters:,} parameters, {config.n_layers} layers, "
        f"{info.dtype} on {info.device}. Weights: {literal(info.source)}."
    )
