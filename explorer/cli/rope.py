"""``rope``: how fast each pair of dimensions turns."""

from dataclasses import asdict
from pathlib import Path

import torch

from explorer.checkpoint.json_file import read_json
from explorer.checkpoint.known_models import SCALINGS, known_models
from explorer.cli.output import Json
from explorer.cli.session import Session
from explorer.config import ModelConfig
from explorer.config.description import config_from_json
from explorer.errors import BadValue
from explorer.model.rope import base_speeds, rotation_speeds

KINDS = {scaling: kind for kind, scaling in SCALINGS.items()}


def rope(*, model: str | None, config: str | None) -> Json:
    """The speeds before and after scaling, in radians per position, and how many pairs each zone holds."""
    sizes = _sizes(model, config)
    base = base_speeds(sizes.head_dim, sizes.rope_theta)
    speeds = rotation_speeds(sizes.head_dim, sizes.rope_theta, sizes.rope_scaling)
    slowing = base / speeds
    kept = torch.isclose(slowing, torch.ones_like(slowing), rtol=1e-9)
    slowed = torch.isclose(slowing, slowing.max(), rtol=1e-9) & ~kept
    scaling = sizes.rope_scaling
    return {
        "theta": sizes.rope_theta,
        "scaling": None if scaling is None else {"type": KINDS[type(scaling)], **asdict(scaling)},
        "base_speeds": base.tolist(),
        "speeds": speeds.tolist(),
        "kept": int(kept.sum()),
        "blended": int((~kept & ~slowed).sum()),
        "slowed": int(slowed.sum()),
    }


def _sizes(model: str | None, config: str | None) -> ModelConfig:
    if config is not None:
        if model is not None:
            raise BadValue("Both --config and --model are given.", "Give one of them.")
        path = Path(config)
        return config_from_json(read_json(path), name=path.stem, file_name=path.name)
    if model in known_models():
        return known_models()[model].config
    return Session(model).card.config if model else Session().card.config
