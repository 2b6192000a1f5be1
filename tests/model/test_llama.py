"""The whole model against transformers, Meta's code, its own declared shapes and published totals."""

import json
from dataclasses import replace
from types import ModuleType

import pytest
import torch
from torch import Tensor, nn

from explorer.config import FactorScaling, LinearScaling, Llama3Scaling, ModelConfig, RopeScaling
from explorer.model.kv_cache import KVCache
from explorer.model.llama import Llama
from explorer.model.rope import base_speeds, rotation_speeds
from explorer.model.tap import taps_of
from explorer.trace.recorder import recording
from tests.conftest import DATA, random_llama
from tests.model import hugging_face
from tests.model import meta_reference as meta

LLAMA3 = Llama3Scaling(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_context=32)
PUBLISHED_PARAMETERS = {
    "llama3.1-8b": 8_030_261_248,
    "llama3.1-70b": 70_553_706_496,
    "llama3.1-405b": 405_853_388_800,
}


def some_tokens(config: ModelConfig, count: int, seed: int = 1) -> Tensor:
    return torch.randint(config.vocab_size, (1, count), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("rope_scaling", [None, LinearScaling(factor=3.0), LLAMA3], ids=["plain", "linear", "llama3"])
@torch.inference_mode()
def test_the_logits_are_those_of_transformers_for_every_rope_scaling(
    tiny_config: ModelConfig, rope_scaling: RopeScaling | None
) -> None:
    model = random_llama(replace(tiny_config, rope_scaling=rope_scaling))
    tokens = some_tokens(tiny_config, 100)  # three times the original context of LLAMA3
    torch.testing.assert_close(model(tokens), hugging_face.twin(model)(tokens).logits, atol=1e-4, rtol=0)


@torch.inference_mode()
@pytest.mark.parametrize("tied_embedding", [False, True])
@pytest.mark.parametrize("n_kv_heads", [1, 2, 6])
def test_the_logits_are_those_of_transformers_for_every_way_to_share_heads(
    tiny_config: ModelConfig, n_kv_heads: int, tied_embedding: bool
) -> None:
    model = random_llama(replace(tiny_config, n_kv_heads=n_kv_heads, tied_embedding=tied_embedding))
    tokens = some_tokens(tiny_config, 40)
    torch.testing.assert_close(model(tokens), hugging_face.twin(model)(tokens).logits, atol=1e-4, rtol=0)


def test_the_parity_test_can_see_a_wrong_scaling_and_a_wrong_pairing(tiny_config: ModelConfig) -> None:
    model, tokens = random_llama(tiny_config), some_tokens(tiny_config, 40)
    expected = hugging_face.twin(model)(tokens).logits
    unscaled = random_llama(replace(tiny_config, rope_scaling=None))
    assert (unscaled(tokens) - expected).abs().max() > 1e-2
    for layer in model.layers:
        layer.attention.query.weight.copy_(hugging_face.half_split(layer.attention.query.weight, tiny_config.n_heads))
    assert (model(tokens) - expected).abs().max() > 1e-2


def test_factors_per_pair_do_what_llama3_scaling_does_when_they_hold_its_quotients(tiny_config: ModelConfig) -> None:
    base = base_speeds(tiny_config.head_dim, tiny_config.rope_theta)
    quotients = base / rotation_speeds(tiny_config.head_dim, tiny_config.rope_theta, tiny_config.rope_scaling)
    by_factors = random_llama(replace(tiny_config, rope_scaling=FactorScaling(factors=tuple(quotients.tolist()))))
    tokens = some_tokens(tiny_config, 100)
    torch.testing.assert_close(by_factors(tokens), random_llama(tiny_config)(tokens), atol=1e-4, rtol=0)


META_CONFIG = ModelConfig(
    name="meta", vocab_size=97, d_model=60, n_layers=3, n_heads=6, n_kv_heads=2, head_dim=10, d_ff=176, context=9000,
    rope_theta=500000.0, norm_eps=1e-5, tied_embedding=False,
    rope_scaling=Llama3Scaling(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_context=8192),
)  # fmt: skip


@pytest.mark.parametrize("scaled", [False, True])
@torch.inference_mode()
def test_the_logits_are_those_of_metas_code(meta_reference: tuple[ModuleType, ModuleType], scaled: bool) -> None:
    model = random_llama(META_CONFIG if scaled else replace(META_CONFIG, rope_scaling=None))
    reference = meta.twin(model, meta_reference, positions=9000, d_ff_over_4d=1.1)
    tokens = some_tokens(META_CONFIG, 200)
    torch.testing.assert_close(model(tokens), reference(tokens, 0), atol=1e-4, rtol=0)


@pytest.mark.parametrize("scaled", [False, True])
@torch.inference_mode()
def test_the_logits_are_those_of_metas_code_beyond_the_original_context(
    meta_reference: tuple[ModuleType, ModuleType], scaled: bool
) -> None:
    model = random_llama(META_CONFIG if scaled else replace(META_CONFIG, rope_scaling=None))
    reference = meta.twin(model, meta_reference, positions=9000, d_ff_over_4d=1.1)
    cache, read = KVCache(META_CONFIG, 9000), 8400
    generator = torch.Generator().manual_seed(2)
    for store in (*cache.keys, *cache.values):  # what was read before need not be text: any keys notice wrong angles
        store[:, :, :read].normal_(generator=generator)
    cache.advance(read)
    meta.fill(reference, [k[:, :, :read] for k in cache.keys], [v[:, :, :read] for v in cache.values])
    tokens = some_tokens(META_CONFIG, 30)
    expected = reference(tokens, read)
    # Meta rounds the speeds to float32 before it scales them: at position 8,400 that moves an angle by up to 5e-4.
    torch.testing.assert_close(model(tokens, cache), expected, atol=1e-3, rtol=0)

    other_scaling = None if scaled else META_CONFIG.rope_scaling
    wrong = random_llama(replace(META_CONFIG, rope_scaling=other_scaling))
    cache.length = read
    assert (wrong(tokens, cache) - expected).abs().max() > 0.1


@torch.inference_mode()
def test_every_tap_records_the_shape_that_it_declares(tiny_config: ModelConfig, tiny_llama: Llama) -> None:
    n_tokens = 7
    shapes: dict[str, tuple[int, ...]] = {}

    def note(address: str) -> None:
        readers[address] = lambda x: shapes.__setitem__(address, tuple(x.shape))

    readers: dict = {}
    taps = taps_of(tiny_llama)
    for address in taps:
        note(address)
    with recording(tiny_llama, readers):
        tiny_llama(some_tokens(tiny_config, n_tokens))
    sizes = tiny_config.axis_sizes(n_tokens)
    assert shapes == {address: tuple(sizes[axis] for axis in tap.axes) for address, tap in taps.items()}


def test_the_tiny_model_has_no_two_equal_sizes(tiny_config: ModelConfig) -> None:
    sizes = tiny_config.axis_sizes(7)
    del sizes["source"]  # as long as "token" by nature
    assert len(set(sizes.values())) == len(sizes)


@pytest.mark.parametrize("name", PUBLISHED_PARAMETERS)
def test_the_published_sizes_give_the_published_parameters_and_declared_shapes(name: str) -> None:
    model, config = model_on_meta(name)
    assert sum(parameter.numel() for parameter in model.parameters()) == PUBLISHED_PARAMETERS[name]

    n_tokens, seen = 5, []
    sizes = config.axis_sizes(n_tokens)
    readers = {
        address: lambda x, tap=tap: seen.append(tuple(x.shape) == tuple(sizes[axis] for axis in tap.axes))
        for address, tap in taps_of(model).items()
    }
    with recording(model, readers):
        model(torch.zeros(1, n_tokens, dtype=torch.long, device="meta"))
    assert len(seen) == len(readers)
    assert all(seen)


def model_on_meta(name: str) -> tuple[Llama, ModelConfig]:
    sizes = json.loads((DATA / "cases" / "files" / "configs" / f"{name}.json").read_text())
    config = ModelConfig(
        name=name,
        vocab_size=sizes["vocab_size"],
        d_model=sizes["hidden_size"],
        n_layers=sizes["num_hidden_layers"],
        n_heads=sizes["num_attention_heads"],
        n_kv_heads=sizes["num_key_value_heads"],
        head_dim=sizes["hidden_size"] // sizes["num_attention_heads"],
        d_ff=sizes["intermediate_size"],
        context=sizes["max_position_embeddings"],
        rope_theta=sizes["rope_theta"],
        rope_scaling=None,
        norm_eps=sizes["rms_norm_eps"],
        tied_embedding=sizes["tie_word_embeddings"],
    )
    with torch.device("meta"):
        return Llama(config), config


def test_a_tied_model_has_one_table_for_both_ends(tiny_config: ModelConfig) -> None:
    tied, untied = (Llama(replace(tiny_config, tied_embedding=choice)) for choice in (True, False))
    table = tiny_config.vocab_size * tiny_config.d_model
    assert tied.unembedding.weight is tied.embedding.weight
    assert count(untied) - count(tied) == table


def test_the_batch_axis_keeps_prompts_apart(tiny_config: ModelConfig, tiny_llama: Llama) -> None:
    first, second = some_tokens(tiny_config, 9, seed=1), some_tokens(tiny_config, 9, seed=2)
    both = tiny_llama(torch.cat((first, second)))
    torch.testing.assert_close(both[0], tiny_llama(first)[0], atol=1e-5, rtol=0)
    torch.testing.assert_close(both[1], tiny_llama(second)[0], atol=1e-5, rtol=0)


def count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
