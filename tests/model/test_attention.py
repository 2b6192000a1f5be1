"""Who reads whom: the kernel, the pattern written out beside it, and which heads share."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from explorer.config import ModelConfig
from explorer.model.attention import GroupedQueryAttention, causality, pattern
from explorer.model.llama import Llama
from explorer.trace.recorder import recording
from tests.model.test_llama import some_tokens


def random_heads(n_heads: int, n_kv_heads: int, new: int, total: int, head_dim: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(total)
    query = torch.randn(n_heads, new, head_dim, generator=generator) * 3
    key, value = torch.randn(2, n_kv_heads, total, head_dim, generator=generator)
    return query, key, value


@given(
    n_kv_heads=st.integers(1, 4),
    share=st.integers(1, 4),
    new=st.integers(1, 20),
    read=st.integers(0, 20),
    half_dim=st.integers(1, 16),
)
@settings(max_examples=60, deadline=None)
def test_the_pattern_times_the_values_is_what_the_kernel_returns(
    n_kv_heads: int, share: int, new: int, read: int, half_dim: int
) -> None:
    query, key, value = random_heads(n_kv_heads * share, n_kv_heads, new, read + new, 2 * half_dim)
    mask, is_causal = causality(query, key)
    mixed = scaled_dot_product_attention(query, key, value, mask, is_causal=is_causal, enable_gqa=True)
    weights = pattern(query, key)
    torch.testing.assert_close(weights @ value.repeat_interleave(share, dim=0), mixed, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(n_kv_heads * share, new))
    assert torch.equal(weights, weights.tril(read))  # the future is exactly 0


@torch.inference_mode()
def test_the_pattern_of_recorded_queries_and_keys_explains_what_the_layer_mixed(
    tiny_config: ModelConfig, tiny_llama: Llama
) -> None:
    seen: dict[str, Tensor] = {}
    where = "layers.1.attention.tap"
    names = ("rotated_query", "rotated_key", "value", "mixed")
    with recording(tiny_llama, {f"{where}.{name}": lambda x, name=name: seen.update({name: x}) for name in names}):
        tiny_llama(some_tokens(tiny_config, 20))
    value = seen["value"].repeat_interleave(tiny_config.heads_per_kv_head, dim=1)
    mixed = pattern(seen["rotated_query"], seen["rotated_key"]) @ value
    torch.testing.assert_close(mixed, seen["mixed"], atol=1e-5, rtol=1e-5)


def test_three_tokens_by_hand() -> None:
    rows = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])  # case A06: queries and keys alike
    expected = torch.tensor([[1.0, 0, 0], [0.330238451, 0.669761549, 0], [0.248255078, 0.248255078, 0.503489843]])
    torch.testing.assert_close(pattern(rows[None], rows[None])[0], expected, atol=1e-7, rtol=0)


def test_a_single_token_reads_only_itself() -> None:
    query, key, _ = random_heads(6, 2, 1, 1, 10)
    assert torch.equal(pattern(query, key), torch.ones(6, 1, 1))


def test_scores_far_apart_do_not_overflow() -> None:
    query = torch.full((1, 3, 2), 1e4)
    weights = pattern(query, query)
    assert torch.equal(weights, torch.tensor([[[1.0, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]]]))


READS = {0: 0, 3: 0, 4: 1, 7: 1, 8: 2, 31: 7}  # case A05: query head -> key/value head, of 32 and 8


def test_neighbouring_query_heads_share_a_value_head() -> None:
    attention = GroupedQueryAttention(layer=0, d_model=1, n_heads=32, n_kv_heads=8, head_dim=2).requires_grad_(False)
    attention.value.weight.copy_(torch.arange(8.0).repeat_interleave(2)[:, None])  # value head g holds the number g
    mixed: list[Tensor] = []
    with recording(attention, {"tap.mixed": mixed.append}):
        attention(torch.ones(1, 3, 1), (torch.ones(3, 1), torch.zeros(3, 1)))
    read = mixed[0][0, :, -1, 0].round().int().tolist()
    assert {head: read[head] for head in READS} == READS
    assert read == [math.floor(head / 4) for head in range(32)]


def test_the_pattern_shares_keys_as_the_kernel_shares_values() -> None:
    key = torch.zeros(8, 2, 2)
    key[:, 1, 0] = torch.arange(8.0)  # key head g scores g for the second token, 0 for the first
    query = torch.tensor([math.sqrt(2), 0.0]).expand(32, 2, 2)
    read = pattern(query, key)[:, 1, 1].logit().round().int().tolist()
    assert {head: read[head] for head in READS} == READS


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_pattern_is_float32_whatever_the_model_runs_in(dtype: torch.dtype) -> None:
    query, key, _ = random_heads(2, 1, 30, 30, 8)
    weights = pattern(query.to(dtype), key.to(dtype))
    assert weights.dtype == torch.float32
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 30))
