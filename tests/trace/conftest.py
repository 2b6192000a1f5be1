"""Models and runs that several files look at."""

from pathlib import Path

import pytest

from explorer.model.llama import Llama
from tests.loaded_models import default_model, tiny_a


@pytest.fixture(scope="session")
def tiny_a_llama() -> Llama:
    return tiny_a().model


@pytest.fixture(scope="session")
def default_llama(explorer_home: Path) -> Llama:
    return default_model(explorer_home).model
