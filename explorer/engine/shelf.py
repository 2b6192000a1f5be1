"""The models that this process can run, and how far each is on its way into memory."""

import gc
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.checkpoint.catalogue import FoundModel, found_models
from explorer.checkpoint.checkpoint import Checkpoint
from explorer.checkpoint.default_model import (
    DEFAULT_MODEL_ID,
)
from explorer.config import ConfigError
from explorer.engine.device import is_out_of_memory, visible_devices
from explorer.engine.engine import Listed, LoadState, ModelCard, ModelInfo, Phase
from explorer.engine.entries import ShelfEntry, default_entry, file_entry
from explorer.engine.memory import Memory, memory_of
from explorer.engine.placement import fits_as_preferred, place, placement
from explorer.engine.vocabularies import VOCABULARIES
from explorer.errors import BadModelFile, ExplorerError, ModelNotReady, NoSuchModel, TooLarge
from explorer.model.llama import Llama
from explorer.settings import Settings


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

    def listing(self) -> tuple[Listed, ...]:
        """Every model with what its files say; a bad one with its reason, and is read again every time."""
        return tuple(self._listed(model) for model in self._entries)

    def _listed(self, model: str) -> Listed:
        loaded = self._loaded.get(model)
        name = self._entries[model].name
        device = loaded.info.device if loaded is not None else _first_device(self._settings)
        try:
            return Listed(id=model, name=name, device=device, facts=self._entries[model].facts())
        except ExplorerError as error:
            return Listed(id=model, name=name, device=device, problem=error)

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
        seconds=seconds,
    )
    return LoadedModel(info=info, model=llama, read=checkpoint.read)


def standard_shelf(settings: Settings, memory: Callable[[torch.device], Memory] = memory_of) -> Shelf:
    """The default model, every model in the folders that EXPLORER_MODELS names, and those fetched from the hub."""
    entries = {DEFAULT_MODEL_ID: default_entry(settings)}
    for model, found in found_by_id(settings).items():
        entries[model] = file_entry(found.path, settings, model=model, name=found.name)
    return Shelf(settings, entries, memory)


def found_by_id(settings: Settings) -> dict[str, FoundModel]:
    """Every model in the searched folders. Where it lies is for the command line only."""
    found = found_models(settings.searched_folders, taken=(DEFAULT_MODEL_ID, *VOCABULARIES))
    return {model.id: model for model in found}


def _first_device(settings: Settings) -> str:
    try:
        return str(visible_devices(settings.device)[0])
    except ExplorerError:  # a GPU that is not there: whoever loads a model is told
        return settings.device


def _named(error: Exception, model: str) -> ExplorerError:
    if isinstance(error, ExplorerError):
        return error
    if isinstance(error, ConfigError):
        return BadModelFile(error.found, error.remedy)
    if is_out_of_memory(error):
        return TooLarge(f"{model} does not fit into this machine's memory.", "Use a smaller model or a narrower dtype.")
    return BadModelFile(f"{model} could not be loaded.", "The server's log holds the details.")
