"""The engine that the settings ask for."""

from explorer.engine.engine import Engine
from explorer.engine.local import LocalEngine
from explorer.engine.shelf import standard_shelf
from explorer.settings import Settings


def connect(settings: Settings) -> Engine:
    """An engine inside this process, on the models of this machine."""
    return LocalEngine(standard_shelf(settings), settings)
