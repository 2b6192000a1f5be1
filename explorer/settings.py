"""The environment variables of the explorer, read here and nowhere else."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

MEBIBYTE = 1 << 20


class SettingError(ValueError):
    """An environment variable that cannot be used."""

    def __init__(self, name: str, value: str, expected: str) -> None:
        super().__init__(f"{name} is {value!r}")
        self.found = str(self)
        self.remedy = f"Set {name} to {expected}, or unset it."


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How this process runs. Every field has a default that works on a laptop without a GPU."""

    home: Path
    model_folders: tuple[Path, ...] = ()
    device: str = "auto"
    dtype: str = "auto"
    threads: int = 1
    max_tokens: int = 2048
    trace_cache_bytes: int = 512 * MEBIBYTE
    max_waiting: int = 64

    @property
    def models_home(self) -> Path:
        """Where converted weights are kept."""
        return self.home / "models"

    @property
    def models_from_hub(self) -> Path:
        """Where models that were fetched from the Hugging Face hub are kept, each in OWNER/NAME."""
        return self.home / "models-from-hub"

    @property
    def searched_folders(self) -> tuple[Path, ...]:
        """Every folder in which models are looked for."""
        return (*self.model_folders, self.models_from_hub)


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings that ``environment`` asks for.

    Raises ``SettingError`` naming the variable, its value and what it may be.
    """
    home = environment.get("EXPLORER_HOME")
    folders = environment.get("EXPLORER_MODELS", "")
    return Settings(
        home=Path(home).expanduser() if home else user_cache_path("llama-explorer"),
        model_folders=tuple(Path(folder).expanduser() for folder in folders.split(os.pathsep) if folder),
        device=_device(environment.get("EXPLORER_DEVICE", "auto")),
        dtype=_choice(environment, "EXPLORER_DTYPE", ("auto", "float32", "bfloat16", "float16")),
        threads=_count(environment, "EXPLORER_THREADS", 1),
        max_tokens=_count(environment, "EXPLORER_MAX_TOKENS", 2048),
        trace_cache_bytes=_count(environment, "EXPLORER_CACHE_MIB", 512) * MEBIBYTE,
        max_waiting=_count(environment, "EXPLORER_MAX_WAITING", 64),
    )


def _device(value: str) -> str:
    kind, _, index = value.partition(":")
    if value in ("auto", "cpu", "cuda") or (kind == "cuda" and index.isdecimal()):
        return value
    raise SettingError("EXPLORER_DEVICE", value, "auto, cpu, cuda or cuda:N")


def _choice(environment: Mapping[str, str], name: str, options: tuple[str, ...]) -> str:
    value = environment.get(name, options[0])
    if value not in options:
        raise SettingError(name, value, " or ".join(options))
    return value


def _count(environment: Mapping[str, str], name: str, default: int) -> int:
    value = environment.get(name, str(default))
    if not value.isdecimal() or int(value) < 1:
        raise SettingError(name, value, "a whole number above 0")
    return int(value)
