"""Real models in memory, loaded the way the explorer loads them and once for all tests."""

from functools import cache
from pathlib import Path

from explorer.engine.entries import ShelfEntry, default_entry, file_entry
from explorer.engine.shelf import LoadedModel, load
from explorer.settings import Settings
from tests.conftest import DATA

TINY_A = DATA / "cases" / "files" / "tiny_a.gguf"


@cache
def default_model(home: Path) -> LoadedModel:
    """The default model; ``home`` is the fixture ``explorer_home``."""
    settings = Settings(home=home)
    return _loaded(default_entry(settings), settings)


@cache
def tiny_a() -> LoadedModel:
    """The random model of the cases, written by other code: three layers, context of 64 tokens."""
    settings = Settings(home=DATA)
    return _loaded(file_entry(TINY_A, settings), settings)


def _loaded(entry: ShelfEntry, settings: Settings) -> LoadedModel:
    return load(entry.card(), entry.open(lambda fraction, sentence: None), settings)
