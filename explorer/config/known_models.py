"""The sizes that everyone asks about, whether or not their weights are here: one JSON each in ``assets/models``."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from explorer.config.model_config import FactorScaling, LinearScaling, Llama3Scaling, ModelConfig, RopeScaling

MODELS = Path(__file__).parent.parent.parent / "assets" / "models"
SCALINGS: Mapping[str, type[RopeScaling]] = {
    "linear": LinearScaling,
    "llama3": Llama3Scaling,
    "factors": FactorScaling,
}


@dataclass(frozen=True, kw_only=True)
class KnownModel:
    """A model by its published sizes; ``source`` is the address of its description."""

    id: str
    name: str
    source: str
    config: ModelConfig


@cache
def known_models() -> dict[str, KnownModel]:
    """Every known model by its id, smallest first."""
    models = [_read(path) for path in MODELS.glob("*.json")]
    return {model.id: model for model in sorted(models, key=lambda model: model.config.n_layers * model.config.d_model)}


def _read(path: Path) -> KnownModel:
    entry = json.loads(path.read_text("utf-8"))
    sizes = entry["config"]
    scaling = sizes.pop("rope_scaling")
    if scaling is not None:
        scaling = SCALINGS[scaling.pop("kind")](**scaling)
    config = ModelConfig(name=entry["name"], rope_scaling=scaling, **sizes)
    return KnownModel(id=entry["id"], name=entry["name"], source=entry["source"], config=config)
