"""Sizes that cannot be a model are refused; what follows from the sizes is right."""

from dataclasses import FrozenInstanceError, replace

import pytest

from explorer.config import ConfigError, ModelConfig


@pytest.mark.parametrize(
    "size", ["vocab_size", "d_model", "n_layers", "n_heads", "n_kv_heads", "head_dim", "d_ff", "context"]
)
@pytest.mark.parametrize("value", [0, -2])
def test_a_size_below_1_is_refused_by_name(tiny_config: ModelConfig, size: str, value: int) -> None:
    with pytest.raises(ConfigError, match=f"tiny: {size} is {value}"):
        replace(tiny_config, **{size: value})


@pytest.mark.parametrize("n_kv_heads", [4, 5, 7, 12])
def test_heads_that_cannot_be_shared_evenly_are_refused_with_both_numbers(
    tiny_config: ModelConfig, n_kv_heads: int
) -> None:
    with pytest.raises(ConfigError, match=f"6 query heads cannot share {n_kv_heads} ") as refusal:
        replace(tiny_config, n_kv_heads=n_kv_heads)
    assert refusal.value.remedy


def test_an_odd_head_is_refused_because_rope_turns_pairs(tiny_config: ModelConfig) -> None:
    with pytest.raises(ConfigError, match="head_dim is 9"):
        replace(tiny_config, head_dim=9)


@pytest.mark.parametrize(("n_kv_heads", "share"), [(6, 1), (2, 3), (1, 6)])
def test_query_heads_share_key_heads_evenly(tiny_config: ModelConfig, n_kv_heads: int, share: int) -> None:
    assert replace(tiny_config, n_kv_heads=n_kv_heads).heads_per_kv_head == share


def test_every_axis_has_the_length_of_its_size(tiny_config: ModelConfig) -> None:
    assert tiny_config.axis_sizes(7) == {
        "batch": 1, "token": 7, "source": 7, "head": 6, "kv_head": 2, "head_dim": 10, "d_model": 36, "d_ff": 44,
        "vocab": 97,
    }  # fmt: skip


def test_a_config_cannot_be_changed_and_may_be_a_key(tiny_config: ModelConfig) -> None:
    with pytest.raises(FrozenInstanceError):
        tiny_config.n_layers = 4  # type: ignore[misc]
    assert {tiny_config: 1}[replace(tiny_config)] == 1
