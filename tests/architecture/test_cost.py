"""Costs against torch's own counter and the cache's own bytes."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from explorer.architecture.blueprint import Blueprint
from explorer.architecture.catalogue import PARTS
from explorer.architecture.cost import kv_bytes_per_token, matrix_operations, operations_per_token
from explorer.architecture.facts import comparison, facts, in_bytes, rounded
from explorer.config import ModelConfig
from explorer.config.known_models import known_models
from explorer.model.kv_cache import KVCache

N_TOKENS = 11
MODELS = ("llama-3.1-8b", "llama-3.1-70b", "smollm2-135m-instruct")


def counted(config: ModelConfig) -> dict[str, int]:
    model = Blueprint(config).model
    with FlopCounterMode(display=False) as counter, torch.device("meta"), torch.no_grad():
        model(torch.zeros(1, N_TOKENS, dtype=torch.long))
    return {str(name): sum(by_kind.values()) for name, by_kind in counter.get_flop_counts().items()}


@pytest.mark.parametrize("model", MODELS)
def test_operations_are_those_that_torch_counts(model: str) -> None:
    config = known_models()[model].config
    measured = counted(config)
    assert N_TOKENS * operations_per_token(config, N_TOKENS) == measured["Global"]
    for part in PARTS:
        if part.address:
            name = f"Llama.{part.address.format(layer=0)}"
            assert N_TOKENS * matrix_operations(part.id, config, N_TOKENS) == measured.get(name, 0), part.id


def test_scores_and_mix_are_what_is_left_of_attention_without_its_matrices() -> None:
    config = known_models()["llama-3.1-8b"].config
    measured = counted(config)
    inside = {name: count for name, count in measured.items() if name.startswith("Llama.layers.0.attention.")}
    kernel = measured["Llama.layers.0.attention"] - sum(inside.values())
    both = sum(matrix_operations(part, config, N_TOKENS) for part in ("scores", "mix"))
    assert N_TOKENS * both == kernel


def test_the_cache_takes_the_bytes_that_a_real_one_holds(tiny_config: ModelConfig) -> None:
    cache = KVCache(tiny_config, 16, dtype=torch.bfloat16)
    cache.advance(1)
    assert kv_bytes_per_token(tiny_config, tiny_config.n_layers) == cache.filled_bytes


def test_known_figures_of_the_cache_come_out() -> None:
    # 8B in bfloat16: 128 KiB a token; without sharing four times as much
    values = facts(Blueprint(known_models()["llama-3.1-8b"].config), N_TOKENS)
    assert values["kv_bytes_token"] == "128 KiB"
    assert (values["kv_bytes_context"], values["kv_bytes_without_sharing"]) == ("16 GiB", "64 GiB")


def test_a_comparison_marks_what_is_unlike_and_nothing_else() -> None:
    small, large = (facts(Blueprint(known_models()[f"llama-3.1-{size}"].config), 5) for size in ("8b", "70b"))
    rows = {row.fact: row for row in comparison(small, large)}
    assert rows["Layers"].differs and rows["Layers"].first == "32" and rows["Layers"].second == "80"
    assert not any(rows[name].differs for name in ("Vocabulary", "RoPE θ", "RoPE scaling", "Key/value heads"))
    assert not any(row.differs for row in comparison(small, small))


def test_large_numbers_are_said_in_words() -> None:
    assert [rounded(n) for n in (950, 8_030_261_248, 405_853_388_800, 2_500_000)] == [
        "950", "8.03 billion", "406 billion", "2.5 million",
    ]  # fmt: skip
    assert [in_bytes(n) for n in (768, 4096, 16 << 30)] == ["768 bytes", "4 KiB", "16 GiB"]
