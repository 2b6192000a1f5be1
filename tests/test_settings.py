"""The environment is read once, and a bad value is refused by name."""

import os
from pathlib import Path

import pytest

from explorer.settings import SettingError, Settings, read_settings

MEBIBYTE = 1024 * 1024


def test_an_empty_environment_gives_the_defaults() -> None:
    settings = read_settings({})
    assert settings == Settings(home=settings.home)
    assert settings.home.name == "llama-explorer"
    assert settings.models_home == settings.home / "models"


def test_every_variable_reaches_its_field() -> None:
    settings = read_settings(
        {
            "EXPLORER_HOME": "somewhere",
            "EXPLORER_MODELS": os.pathsep.join(["first", "", "second"]),
            "EXPLORER_DEVICE": "cuda:1",
            "EXPLORER_DTYPE": "bfloat16",
            "EXPLORER_THREADS": "4",
            "EXPLORER_MAX_TOKENS": "100",
            "EXPLORER_CACHE_MIB": "3",
            "EXPLORER_MAX_WAITING": "7",
        }
    )
    assert settings == Settings(
        home=Path("somewhere"),
        model_folders=(Path("first"), Path("second")),
        device="cuda:1",
        dtype="bfloat16",
        threads=4,
        max_tokens=100,
        trace_cache_bytes=3 * MEBIBYTE,
        max_waiting=7,
    )


def test_a_tilde_is_the_home_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = read_settings({"EXPLORER_HOME": "~/cache", "EXPLORER_MODELS": "~/weights"})
    assert settings.home == tmp_path / "cache"
    assert settings.model_folders == (tmp_path / "weights",)


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda", "cuda:0", "cuda:12"])
def test_devices_are_taken_by_their_torch_names(device: str) -> None:
    assert read_settings({"EXPLORER_DEVICE": device}).device == device


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EXPLORER_DEVICE", "gpu"),
        ("EXPLORER_DEVICE", "cuda:"),
        ("EXPLORER_DEVICE", "cuda:x"),
        ("EXPLORER_DEVICE", "cpu:0"),
        ("EXPLORER_DTYPE", "float64"),
        ("EXPLORER_DTYPE", ""),
        ("EXPLORER_THREADS", "0"),
        ("EXPLORER_THREADS", "two"),
        ("EXPLORER_MAX_TOKENS", "-1"),
        ("EXPLORER_MAX_TOKENS", "1.5"),
        ("EXPLORER_CACHE_MIB", ""),
        ("EXPLORER_MAX_WAITING", "٣x"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(SettingError) as refusal:
        read_settings({name: value})
    assert refusal.value.found == f"{name} is {value!r}"
    assert refusal.value.remedy.startswith(f"Set {name} to ")
