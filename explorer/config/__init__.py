"""The sizes that define one Llama model, and the readers of the files that state them."""

from explorer.config.model_config import (
    ConfigError,
    FactorScaling,
    LinearScaling,
    Llama3Scaling,
    ModelConfig,
    RopeScaling,
    TokenizerSource,
    UnsupportedFamily,
)

__all__ = [
    "ConfigError",
    "FactorScaling",
    "LinearScaling",
    "Llama3Scaling",
    "ModelConfig",
    "RopeScaling",
    "TokenizerSource",
    "UnsupportedFamily",
]
