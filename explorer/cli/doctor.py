"""``doctor``: what is installed, where it runs, and what to do about what is wrong."""

import os
import platform
import shutil
from pathlib import Path

import torch

from explorer.checkpoint.default_model import DEFAULT_MODEL_ID, default_checkpoint
from explorer.cli.output import Json, one_line
from explorer.engine.device import choose_device
from explorer.engine.shelf import standard_shelf
from explorer.errors import ExplorerError
from explorer.settings import Settings, read_settings

NEEDED_BYTES = 800_000_000  # download, file and converted copy of the default model


def doctor() -> Json:
    """The state of this installation; ``problems`` is empty when everything is well."""
    settings = read_settings()
    problems: list[str] = []
    device = _device(settings, problems)
    has_default = default_checkpoint(settings.home) is not None
    cache = _existing(settings.home)
    free = shutil.disk_usage(cache).free
    if not os.access(cache, os.W_OK):
        problems.append(f"The cache folder {settings.home} cannot be written. Set EXPLORER_HOME to one that can.")
    elif not has_default and free < NEEDED_BYTES:
        problems.append(f"{free:,} bytes are free for the default model, which needs {NEEDED_BYTES:,}.")
    if not has_default:
        problems.append("The default model is not here yet. Run: python -m explorer fetch")
    for folder in settings.model_folders:
        if not folder.is_dir():
            problems.append(f"EXPLORER_MODELS names {folder}, which is no folder.")
    listing = [listed for listed in standard_shelf(settings).listing() if listed.id != DEFAULT_MODEL_ID]
    problems += [f"{each.id} cannot run: {one_line(each.problem)}" for each in listing if each.problem is not None]
    here = [DEFAULT_MODEL_ID] if has_default else []
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": device,
        "cache": {"path": str(settings.home), "free_bytes": free},
        "models": [*here, *(each.id for each in listing if each.problem is None)],
        "problems": problems,
    }


def _device(settings: Settings, problems: list[str]) -> str | None:
    try:
        return str(choose_device(settings.device))
    except ExplorerError as error:
        problems.append(f"{error.found} {error.remedy}")
        return None


def _existing(folder: Path) -> Path:
    """``folder`` or the nearest of its parents that exists."""
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())
