"""Whose file is it that describes a model?"""

from collections.abc import Mapping

from explorer.config.hugging_face import config_from_hugging_face
from explorer.config.meta import config_from_meta
from explorer.config.model_config import ConfigError, ModelConfig


def config_from_json(table: Mapping[str, object], *, name: str, file_name: str) -> ModelConfig:
    """The model that a parsed ``config.json`` (Hugging Face) or ``params.json`` (Meta) describes.

    Raises ``ConfigError`` for what is neither, or cannot be used.
    """
    if "hidden_size" in table or "model_type" in table or "architectures" in table:
        return config_from_hugging_face(table, name=name, file_name=file_name)
    if "dim" in table:
        return config_from_meta(table, name=name, file_name=file_name)
    raise ConfigError(
        f"{file_name} states neither hidden_size, as a config.json of Hugging Face, nor dim, as a params.json of Meta",
        "Choose the config.json or params.json of a model.",
    )
