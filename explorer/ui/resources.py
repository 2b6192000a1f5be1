"""What all sessions of the server share: the engine and the tokenizers."""

import threading
from collections.abc import Mapping
from functools import cache

from cachetools import TTLCache

from explorer.architecture.blueprint import Blueprint
from explorer.config import ModelConfig
from explorer.engine.connect import connect
from explorer.engine.engine import Engine, Listed
from explorer.settings import Settings, read_settings
from explorer.tokenizer.tokenizer import Tokenizer, build_tokenizer

LISTING_SECONDS = 15.0  # after that a model that was repaired can be chosen

_once = threading.Lock()
_tokenizers = threading.Lock()
_vocabularies = threading.Lock()
_listed = threading.Lock()
_listings: TTLCache[str, tuple[Listed, ...]] = TTLCache(maxsize=1, ttl=LISTING_SECONDS)


@cache
def _connected() -> tuple[Settings, Engine]:
    settings = read_settings()
    return settings, connect(settings)


@cache
def _tokenizer(model: str) -> Tokenizer:
    card = engine().card(model)
    config = card.config
    return build_tokenizer(card.tokenizer.format, card.tokenizer.data, rows=config.vocab_size, name=config.name)


def engine() -> Engine:
    """The engine of this server, made when first asked for."""
    with _once:
        return _connected()[1]


@cache
def _vocabulary(name: str) -> Tokenizer:
    source = engine().vocabulary(name)
    return build_tokenizer(source.format, source.data)


@cache
def blueprint(model: str) -> Blueprint:
    """Shapes and code of ``model``, with or without its weights."""
    return Blueprint(engine().card(model).config)


@cache
def blueprint_of(config: ModelConfig) -> Blueprint:
    """Shapes and code of a model of these sizes."""
    return Blueprint(config)


def known_sizes() -> Mapping[str, ModelConfig]:
    """The published sizes that everyone asks about, by id, whether or not their weights are here."""
    return engine().known()


def listing() -> tuple[Listed, ...]:
    """Every model of this server with what its files say; looked at again after ``LISTING_SECONDS``."""
    with _listed:
        if "all" not in _listings:
            _listings["all"] = engine().listing()
        return _listings["all"]


def vocabulary(name: str) -> Tokenizer:
    """The tokenizer of a vocabulary without a model. Raises ``ModelNotReady``, or what kept it from coming."""
    with _vocabularies:
        return _vocabulary(name)


def tokenizer(model: str) -> Tokenizer:
    """The own tokenizer of ``model``. Raises ``NoSuchModel``, or what is wrong with its files."""
    with _tokenizers:
        return _tokenizer(model)
