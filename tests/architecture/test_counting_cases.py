"""The counts that people get wrong in public, and the hand counts of a published walkthrough."""

import json
from dataclasses import replace

import pytest

from explorer.architecture.cost import (
    attention_operations,
    causal_attention_operations,
    kv_bytes,
    kv_bytes_per_token,
    matmul_operations,
    mean_crossover,
    newest_crossover,
    pair_operations,
    prompt_operations,
    square_attention_operations,
    training_operations,
    weight_bytes,
)
from explorer.architecture.decoder_sizes import sizes_of
from explorer.architecture.parameters import Group, kaplan_estimate, parameter_count, weight_by_name, weights
from explorer.architecture.presets import presets
from explorer.config.model_config import ModelConfig
from tests.conftest import DATA

WALKTHROUGH = json.loads((DATA / "llama-3.1-8b-reference-run.json").read_text("utf-8"))


def of(model):
    return presets()[model].sizes


def test_k01_a_block_of_llama_31_8b_by_hand(cases):
    expected, sums, named = (
        cases["K01"]["expected"],
        parameter_count(of("llama-3.1-8b")),
        weight_by_name(of("llama-3.1-8b")),
    )
    assert sums.attention_in_block == expected["attention_per_layer"]
    assert sums.feed_forward_in_block == expected["ffn_per_layer"]
    assert 2 * named["attention_norm"].size == expected["two_norms_per_layer"]
    assert (sums.block, sums.total) == (expected["block"], expected["total"])
    assert sums.attention_in_block / sums.block == pytest.approx(expected["attention_share_of_block"], abs=1e-9)
    assert (sums.embedding, sums.unembedding) == (expected["embedding"], expected["lm_head"])
    assert named["final_norm"].parameters == expected["final_norm"]
    stored = weight_bytes(sums.total, "bfloat16")
    assert stored == expected["weights_bf16"]["bytes"]
    assert stored / 1e9 == expected["weights_bf16"]["GB"]
    assert stored / 2**30 == expected["weights_bf16"]["GiB"]


def test_k04_a_shared_table_is_counted_once(cases):
    expected, sums = cases["K04"]["expected"], parameter_count(of("llama-3.2-1b"))
    assert sums.total == expected["total"]
    assert sums.total + sums.embedding == expected["if_head_counted_twice_WRONG"]
    assert sums.embedding / sums.total == pytest.approx(expected["embedding_share"], abs=1e-12)
    assert sums.unembedding == 0 and weight_by_name(of("llama-3.2-1b"))["unembedding"].operations == 2 * sums.embedding


def test_k05_a_gated_feed_forward_has_three_matrices(cases):
    expected, sizes = cases["K05"]["expected"], of("llama-1-7b")
    inside = sum(w.parameters for w in weights(sizes) if w.group in (Group.ATTENTION, Group.FEED_FORWARD))
    assert inside == expected["non_embedding_without_norms"]
    assert parameter_count(sizes).total == expected["total"]
    two = replace(sizes, gated=False)
    assert (
        sum(w.parameters for w in weights(two) if w.multiplied and w.in_layer)
        == cases["K05"]["input"]["their_n_params"]
    )


@pytest.mark.parametrize("size", ["8B", "70B", "405B"])
def test_k06_cache_in_gib_at_exact_token_counts(cases, size):
    expected, sizes = cases["K06"]["expected"], of(f"llama-3.1-{size.lower()}")
    assert kv_bytes_per_token(sizes, sizes.n_layers) == expected["bytes_per_token"][size]
    in_gib = [kv_bytes(sizes, n) / 2**30 for n in (1024, 16_384, 131_072)]
    assert in_gib == expected["GiB_at_1024_16384_131072"][size]


def test_k06_the_blogs_row_of_405b_had_sixteen_key_value_heads(cases):
    first = replace(of("llama-3.1-405b"), n_kv_heads=16)
    in_gib = [round(kv_bytes(first, n) / 2**30, 2) for n in (16_000, 128_000)]
    assert in_gib == cases["K06"]["input"]["blog_table_GB"]["405B"][1:]
    assert kv_bytes_per_token(first, 126) == cases["C06"]["expected"]["kv_bytes_per_token_bf16"]["kv16"]


def test_k07_c11_llama_2_7b_keeps_half_a_mebibyte_a_token(cases):
    sizes = of("llama-2-7b")
    assert kv_bytes_per_token(sizes, 32) == cases["K07"]["expected"]["bytes_per_token"]
    assert kv_bytes_per_token(sizes, 32) == cases["C11"]["expected"]["kv_bytes_per_token_fp16"]
    assert kv_bytes(sizes, 4096) == cases["K07"]["expected"]["per_4096_tokens_GiB"] * 2**30


def test_c03_a_head_width_that_is_null(cases):
    sizes = replace(of("llama-3.1-8b"), d_model=6144, n_heads=48, n_layers=56)
    assert kv_bytes_per_token(sizes, 56) == cases["C03"]["expected"]["kv_bytes_per_token_fp16"]


def test_k08_operations_of_llama_31_8b(cases):
    expected, sizes = cases["K08"]["expected"], of("llama-3.1-8b")
    matmul = matmul_operations(sizes)
    assert matmul == 2 * expected["matmul_parameters"] == expected["flops_per_token_without_attention_scores"]
    assert attention_operations(sizes, 1) == expected["attention_score_and_mix_flops_per_token_per_context_position"]
    assert matmul + attention_operations(sizes, 1) == expected["one_token_context_1"]
    assert 1024 * matmul + square_attention_operations(sizes, 1024) == expected["prompt_1024_full_square"]
    assert prompt_operations(sizes, 1024) == expected["prompt_1024_causal_only"]


def test_k09_norms_have_one_vector_each(cases):
    norms = sum(w.parameters for w in weights(of("llama-3.1-8b")) if w.group is Group.NORM)
    assert norms == cases["K09"]["expected"]["rmsnorm_parameters"]


def test_k11_sharing_key_value_heads_saves_no_scores(cases):
    expected, sizes = cases["K11"]["expected"], of("llama-3.1-70b")
    assert pair_operations(sizes) == expected["flops_per_token_per_context_position_per_layer"]
    assert attention_operations(sizes, 1) == expected["all_layers"]
    assert attention_operations(replace(sizes, n_kv_heads=64), 1) == attention_operations(sizes, 1)


def test_k12_a_state_dict_that_lists_the_tied_table_twice(cases):
    # stories15M of llama2.c: six layers, six heads
    config = ModelConfig(
        name="stories15M", vocab_size=32_000, d_model=288, n_layers=6, n_heads=6, n_kv_heads=6, head_dim=48, d_ff=768,
        context=256, rope_theta=10_000.0, rope_scaling=None, norm_eps=1e-5, tied_embedding=True,
    )  # fmt: skip
    sums = parameter_count(sizes_of(config))
    assert sums.total == cases["K12"]["expected"]["parameters"]
    assert sums.total + sums.embedding == cases["K12"]["input"]["state_dict_sum"]


def test_c10_biases_that_no_key_states(cases):
    biases = sum(w.parameters for w in weights(of("qwen2.5-7b")) if w.name.endswith("_bias"))
    assert biases == cases["C10"]["expected"]["bias_params"]


def test_c04_shapes_where_the_heads_are_wider_than_the_stream(cases):
    named = weight_by_name(of("qwen3-4b"))
    for name in ("q", "k", "o"):
        ours = {"q": "query", "k": "key", "o": "output"}[name]
        assert list(named[ours].shape) == cases["C04"]["expected"][f"{name}_proj_shape"]
    assert named["query_norm"].size + named["key_norm"].size == 2 * 128


def test_d04_the_three_matrices_of_a_feed_forward(cases):
    facts, named = cases["D04"]["expected"]["facts"], weight_by_name(of("llama-3.1-8b"))
    assert named["gate"].shape[0] == facts["rounded_to_1024"]
    assert sum(named[name].size for name in ("gate", "up", "down")) == facts["ffn_params_per_layer"]


def test_the_walkthroughs_figures_of_llama_31_8b():
    expected, sizes = WALKTHROUGH["parameters"], of("llama-3.1-8b")
    sums = parameter_count(sizes)
    assert round(sums.feed_forward_share, 3) == expected["ffn_share_of_block"]
    assert round(sums.non_embedding / 1e9, 2) == expected["non_embedding_billion"]
    assert round(kaplan_estimate(sizes) / 1e9, 2) == expected["kaplan_12Ld2_billion"]
    flops = WALKTHROUGH["flops_8b"]
    assert round(training_operations(sums.non_embedding) / 1e9) == flops["six_n_gflops_non_embedding"]
    assert round(training_operations(sums.total) / 1e9) == flops["six_n_gflops_total"]
    # Kaplan's 2 · layers · context · width is the mean over a prompt
    mean = {n: causal_attention_operations(sizes, n) / n for n in (8192, 131_072)}
    assert round(mean[131_072] / 1e9, 1) == flops["attention_gflops_per_token_at_131072"]
    assert round(mean[8192] / (2 * sums.non_embedding), 2) == flops["attention_share_of_2N_at_8192"]


@pytest.mark.parametrize(("model", "known"), [("qwen2.5-7b", "qwen2.5-7b"), ("gpt-2-small", "gpt2-small")])
def test_the_walkthroughs_figures_of_other_models(model, known):
    expected, sums = WALKTHROUGH["other_models"][known], parameter_count(of(model))
    assert round(sums.feed_forward_share, 3) == pytest.approx(expected["ffn_share_of_block"], abs=0.0011)
    if "non_embedding_billion" in expected:
        assert (sums.block, round(sums.non_embedding / 1e9, 2)) == (
            expected["block"],
            expected["non_embedding_billion"],
        )


def test_attention_reaches_the_matrices_at_the_crossover_and_not_before():
    for preset in presets().values():
        sizes = preset.sizes
        newest, mean = newest_crossover(sizes), mean_crossover(sizes)
        if newest is None:
            assert sizes.windowed == sizes.n_layers and mean is None
            continue
        assert attention_operations(sizes, newest) >= matmul_operations(sizes) > attention_operations(sizes, newest - 1)
        assert causal_attention_operations(sizes, mean) / mean >= matmul_operations(sizes)


def test_the_triangle_is_the_sum_over_its_rows_with_and_without_windows():
    for model in ("llama-3.1-8b", "gemma-2-9b", "mistral-7b-v0.1"):
        sizes = replace(of(model), window=9)
        rows = sum(attention_operations(sizes, n) for n in range(1, 31))
        assert causal_attention_operations(sizes, 30) == rows


def test_a_window_bounds_the_cache():
    sizes = of("mistral-7b-v0.1")
    assert kv_bytes(sizes, 4096) == kv_bytes(sizes, 30_000) == 4096 * 131_072
    gemma = of("gemma-2-9b")
    assert kv_bytes(gemma, 8192) == kv_bytes_per_token(gemma, 21) * 8192 + kv_bytes_per_token(gemma, 21) * 4096


def test_quantised_weights_take_half_a_byte_each():
    assert [weight_bytes(7, name) for name in ("float32", "bfloat16", "int8", "int4")] == [28, 14, 7, 4]
