"""What the engine knows of one model before its weights are in memory, and how it comes by its checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path

from explorer.checkpoint.checkpoint import Checkpoint
from explorer.checkpoint.default_model import (
    DEFAULT_MODEL_ID,
    DEFAULT_MODEL_NAME,
    default_checkpoint,
    fetch_default_model,
)
from explorer.checkpoint.known_models import default_vocabulary, known_models
from explorer.checkpoint.llama3_vocabulary import LLAMA3_ROWS, LLAMA3_VOCABULARY
from explorer.checkpoint.names import parameter_shapes
from explorer.checkpoint.open_checkpoint import open_checkpoint
from explorer.checkpoint.wheel_file import fetched
from explorer.config import ModelConfig, TokenizerSource
from explorer.engine.engine import ModelCard, ModelFacts
from explorer.settings import Settings

Progress = Callable[[float, str], None]
Opener = Callable[[Progress], Checkpoint]


@dataclass(frozen=True, kw_only=True)
class ShelfEntry:
    """One model: what its files say without its weights, and how to open its checkpoint.

    ``facts`` gives the card and more, and may open files for it.
    """

    name: str
    card: Callable[[], ModelCard]
    facts: Callable[[], ModelFacts]
    open: Opener


def default_entry(settings: Settings) -> ShelfEntry:
    """The default model, fetched and converted first where it is not there yet."""

    def card() -> ModelCard:
        return model_card(DEFAULT_MODEL_ID, known_models()[DEFAULT_MODEL_ID].config, default_vocabulary(), settings)

    def open_default(progress: Progress) -> Checkpoint:
        checkpoint = default_checkpoint(settings.home)
        return checkpoint if checkpoint is not None else fetch_default_model(settings.home, progress)

    def facts() -> ModelFacts:
        checkpoint = default_checkpoint(settings.home)
        if checkpoint is not None:
            return _facts(card(), checkpoint)
        return ModelFacts(
            card=card(),
            architecture=known_models()[DEFAULT_MODEL_ID].family,
            parameters=sum(prod(shape) for shape in parameter_shapes(card().config).values()),
            precision={},
            source="to be fetched when it is first used",
        )

    return ShelfEntry(name=DEFAULT_MODEL_NAME, card=card, facts=facts, open=open_default)


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

    return ShelfEntry(
        name=name or path.stem,
        card=card,
        facts=lambda: _facts(card(), checkpoint()),
        open=lambda progress: checkpoint(),
    )


def _facts(card: ModelCard, checkpoint: Checkpoint) -> ModelFacts:
    return ModelFacts(
        card=card,
        architecture=checkpoint.architecture,
        parameters=checkpoint.parameters,
        precision=checkpoint.precision,
        source=checkpoint.source,
        notes=checkpoint.notes,
    )


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
