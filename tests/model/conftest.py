"""Other people's code, as an oracle."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from explorer.checkpoint.llama3_vocabulary import LLAMA3_VOCABULARY
from explorer.settings import read_settings
from tests.model.meta_reference import import_reference


@pytest.fixture(scope="session")
def llama_models_wheel() -> Path:
    """Meta's published package, fetched once to where the explorer looks for it; never installed or unpacked."""
    wheel = LLAMA3_VOCABULARY.wheel_place(read_settings(os.environ).home)
    if not wheel.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(wheel.parent)]
        subprocess.run([*command, LLAMA3_VOCABULARY.requirement], check=True)
    return wheel


@pytest.fixture(scope="session")
def meta_reference(llama_models_wheel: Path) -> Iterator[tuple[ModuleType, ModuleType]]:
    """Meta's modules ``model`` and ``args``."""
    with pytest.MonkeyPatch.context() as patch:
        yield import_reference(llama_models_wheel, patch)
