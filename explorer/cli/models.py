"""``models`` and ``fetch``."""

from explorer.architecture.blueprint import Blueprint
from explorer.checkpoint.default_model import (
    DEFAULT_MODEL_FILE,
    DEFAULT_MODEL_ID,
    default_checkpoint,
    fetch_default_model,
)
from explorer.checkpoint.known_models import known_models
from explorer.checkpoint.wheel_file import fetch
from explorer.cli.output import Json, progress_notes
from explorer.errors import NoSuchModel
from explorer.settings import Settings, read_settings


def models() -> Json:
    """Every known size, and whether its weights are on this machine."""
    settings = read_settings()
    return {"models": [_described(model, settings) for model in known_models()]}


def fetch_model(model: str | None) -> Json:
    """Bring the default model to this machine: download, check, convert."""
    if model not in (None, DEFAULT_MODEL_ID):
        raise NoSuchModel(f"{model!r} cannot be fetched.", f"This can: {DEFAULT_MODEL_ID}.")
    home = read_settings().home
    fetch_default_model(home, progress_notes())
    file = DEFAULT_MODEL_FILE
    path = fetch(file, home)
    return {"id": DEFAULT_MODEL_ID, "path": str(path), "bytes": file.member_bytes, "sha256": file.member_sha256}


def _described(model: str, settings: Settings) -> Json:
    known = known_models()[model]
    is_default = model == DEFAULT_MODEL_ID
    return {
        "id": model,
        "name": known.name,
        "architecture": known.family,
        "parameters": Blueprint(known.config).parameters,
        "dtype": "float32" if is_default else None,
        "source": known.source,
        "has_weights": is_default and default_checkpoint(settings.home) is not None,
        "tokenizer": "own" if is_default else known.tokenizer,
        "context": known.config.context,
    }
