"""The sizes that everyone asks about, whether or not their weights are here: one JSON each in ``assets/models``.

An entry holds a ``config`` in our own words, or as its ``description`` the ``config.json`` that its makers published.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from explorer.config.hugging_face import config_from_hugging_face
from explorer.config.model_config import (
    FactorScaling,
    LinearScaling,
    Llama3Scaling,
    ModelConfig,
    RopeScaling,
    UnsupportedFamily,
)

MODELS = Path(__file__).parent.parent.parent / "assets" / "models"
SCALINGS: Mapping[str, type[RopeScaling]] = {
    "linear": LinearScaling,
    "llama3": Llama3Scaling,
    "factors": FactorScaling,
}


@dataclass(frozen=True, kw_only=True)
class KnownModel:
    """A model by its published sizes; ``source`` is the address of its description.

    ``family`` is the ``model_type`` of Hugging Face, ``tokenizer`` a vocabulary of ours that it reads with, if any.
    """

    id: str
    name: str
    source: str
    config: ModelConfig
    family: str = "llama"
    tokenizer: str | None = None


@cache
def known_models() -> dict[str, KnownModel]:
    """Every known model that would run here by its id, smallest first; those of other families are left out."""
    models = [model for path in MODELS.glob("*.json") if (model := _read(path)) is not None]
    return {model.id: model for model in sorted(models, key=lambda model: (_sorting_size(model.config), model.id))}


def _read(path: Path) -> KnownModel | None:
    entry = json.loads(path.read_text("utf-8"))
    name, description = entry["name"], entry.get("description")
    if description is None:
        sizes, family = entry["config"], "llama"
        scaling = sizes.pop("rope_scaling")
        if scaling is not None:
            scaling = SCALINGS[scaling.pop("kind")](**scaling)
        config = ModelConfig(name=name, rope_scaling=scaling, **sizes)
    else:
        family = description["model_type"]
        try:
            config = config_from_hugging_face(description, name=name, file_name=path.name)
        except UnsupportedFamily:
            return None
    return KnownModel(
        id=entry["id"],
        name=name,
        source=entry["source"],
        config=config,
        family=family,
        tokenizer=entry.get("tokenizer"),
    )


def _sorting_size(config: ModelConfig) -> int:
    return config.n_layers * config.d_model * (config.d_model + config.d_ff)
