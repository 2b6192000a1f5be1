"""One head, one cell, and what is left out of a map."""

import math

import numpy as np
import pytest
import torch

from explorer.analysis.attention import (
    attention_taps,
    cache_bytes,
    cell,
    cell_table,
    entropies,
    group,
    head_pattern,
    kv_head,
    mixing_error,
    pooled,
    row_table,
    strongest_key,
    value_weighted,
    without_first,
    write_lengths,
)
from explorer.cli.session import Session
from explorer.config import ModelConfig
from explorer.model.kv_cache import KVCache
from explorer.model.llama import Llama
from explorer.trace.trace import Trace, TraceRequest
from tests.conftest import DATA
from tests.loaded_models import tiny_a
from tests.trace.runs import live, traced

PROMPT = "The capital of France is"
IDS = (5, 17, 3, 90, 41, 17, 8, 2, 66, 12, 33)
LAYER = 1
PUBLISHED = np.load(DATA / "cases" / "files" / "tiny_a_expected.npz")
LAST_QUERY_ON_FIRST = [
    0.3016, 0.1638, 0.5628, 0.8284, 0.7676, 0.7797, 0.8711, 0.9073, 0.8472, 0.6354,
    0.4652, 0.2087, 0.4648, 0.5619, 0.7004, 0.7844, 0.3842, 0.7842, 0.8708, 0.6897,
    0.9431, 0.708, 0.4977, 0.7279, 0.8962, 0.8998, 0.7882, 0.6602, 0.8442, 0.6346,
]  # fmt: skip


@pytest.fixture(scope="module")
def trace(tiny_llama: Llama) -> Trace:
    return traced(tiny_llama, TraceRequest(model="tiny", token_ids=IDS, taps=attention_taps(LAYER)))


def test_each_layer_of_the_default_model_gives_the_first_token_its_published_share(default_session: Session) -> None:
    for layer, published in enumerate(LAST_QUERY_ON_FIRST):  # case A04
        trace = default_session.trace(PROMPT, taps=attention_taps(layer))
        shares = [head_pattern(trace, layer, head)[-1, 0] for head in range(9)]
        assert np.mean(shares) == pytest.approx(published, abs=1e-3)


def test_every_map_of_the_default_model_times_the_values_is_what_its_kernel_mixed(default_session: Session) -> None:
    for layer in range(30):
        trace = default_session.trace(PROMPT, taps=attention_taps(layer))
        for head in range(9):
            weights = head_pattern(trace, layer, head)
            assert np.array_equal(weights, np.tril(weights))
            assert mixing_error(trace, layer, head, weights) < 2e-5
            np.testing.assert_allclose(weights.sum(1), 1, atol=1e-6)


def test_a_head_has_the_map_that_other_code_published_for_it() -> None:
    llama = tiny_a().model
    ids = tuple(int(token) for token in PUBLISHED["ids"])
    for layer in range(3):
        trace = traced(llama, TraceRequest(model="tiny_a", token_ids=ids, taps=attention_taps(layer)))
        for head in range(4):  # case A02
            np.testing.assert_allclose(head_pattern(trace, layer, head), PUBLISHED["attn"][layer, head], atol=1e-5)


def test_a_single_token_has_a_map_of_one_cell_and_no_entropy() -> None:
    trace = traced(tiny_a().model, TraceRequest(model="tiny_a", token_ids=(256,), taps=attention_taps(0)))
    for head in range(4):  # case A01
        weights = head_pattern(trace, 0, head)
        assert weights.tolist() == [[1.0]]
        assert entropies(weights).tolist() == [0.0]
        assert without_first(weights).tolist() == [[0.0]]
        assert strongest_key(weights, 0) == 0


def test_neighbouring_query_heads_read_the_same_key_value_head() -> None:
    config = ModelConfig(
        name="8b", vocab_size=10, d_model=64, n_layers=1, n_heads=32, n_kv_heads=8, head_dim=2, d_ff=4, context=8,
        rope_theta=1e4, rope_scaling=None, norm_eps=1e-5, tied_embedding=True,
    )  # fmt: skip
    assert {head: kv_head(head, config) for head in (0, 3, 4, 7, 8, 31)} == {0: 0, 3: 0, 4: 1, 7: 1, 8: 2, 31: 7}
    assert list(group(6, config)) == [4, 5, 6, 7]  # case A05


def test_a_cell_is_the_arithmetic_of_its_weight(trace: Trace, tiny_llama: Llama) -> None:
    seen = live(tiny_llama, IDS)
    where = f"layers.{LAYER}.attention.tap"
    found = cell(trace, LAYER, 5, 9, 4)  # query head 5 of 6 reads key head 1 of 2
    q, k = seen[f"{where}.rotated_query"][5, 9], seen[f"{where}.rotated_key"][1]
    scores = [float(q @ k[source]) / math.sqrt(10) for source in range(10)]
    assert found.dot == pytest.approx(sum(float(a * b) for a, b in zip(q, k[4], strict=True)), abs=1e-5)
    assert found.score == pytest.approx(scores[4], abs=1e-5)
    weight = math.exp(scores[4]) / sum(math.exp(score) for score in scores)
    assert found.weight == pytest.approx(weight, abs=1e-6)
    assert found.weight == pytest.approx(head_pattern(trace, LAYER, 5)[9, 4], abs=1e-6)
    value = seen[f"{where}.value"][1, 4]
    np.testing.assert_allclose(found.contribution, weight * value.numpy(), atol=1e-6)
    table = cell_table(found)
    assert table["product"].sum() == pytest.approx(found.dot, abs=1e-5)


def test_what_all_cells_of_a_row_bring_adds_up_to_what_the_head_mixed(trace: Trace) -> None:
    brought = sum(cell(trace, LAYER, 3, 9, source).contribution for source in range(10))
    np.testing.assert_allclose(brought, trace[f"layers.{LAYER}.attention.tap.mixed"][3, 9], atol=1e-5)


def test_the_future_has_no_cell(trace: Trace) -> None:
    with pytest.raises(ValueError, match="comes later"):
        cell(trace, LAYER, 0, 3, 4)


def test_a_row_lists_every_token_that_can_be_read(trace: Trace) -> None:
    labels = [f"t{place}" for place in range(len(IDS))]
    table = row_table(trace, LAYER, 2, 6, labels)
    assert table["token"].tolist() == labels[:7]
    assert table["distance"].tolist() == [6, 5, 4, 3, 2, 1, 0]
    np.testing.assert_allclose(table["weight"], head_pattern(trace, LAYER, 2)[6, :7], atol=1e-6)
    np.testing.assert_allclose(np.exp(table["score"]) / np.exp(table["score"]).sum(), table["weight"], atol=1e-6)
    assert table["weight_without_first"].sum() == pytest.approx(1)


def test_without_the_first_token_the_other_shares_keep_their_proportions(trace: Trace) -> None:
    weights = head_pattern(trace, LAYER, 0)
    rest = without_first(weights)
    assert not rest[:, 0].any()
    assert not rest[0].any()
    for row in range(1, len(IDS)):
        np.testing.assert_allclose(rest[row, 1:], weights[row, 1:] / weights[row, 1:].sum(), atol=1e-6)


def test_a_row_that_gives_everything_to_the_first_token_has_no_rest() -> None:
    weights = np.array([[1, 0], [1, 0]], np.float32)
    assert without_first(weights).tolist() == [[0, 0], [0, 0]]


def test_weighted_cells_are_the_lengths_of_what_the_layer_adds(trace: Trace, tiny_llama: Llama) -> None:
    output = tiny_llama.layers[LAYER].attention.output.weight.detach()
    weights = head_pattern(trace, LAYER, 4)
    weighted = value_weighted(weights, write_lengths(trace, LAYER, 4, output))
    for query, key in ((3, 0), (10, 10), (7, 5)):
        mixed = torch.zeros(6, 10)
        mixed[4] = trace[f"layers.{LAYER}.attention.tap.value"][1, key] * float(weights[query, key])
        assert weighted[query, key] == pytest.approx(float((output @ mixed.flatten()).norm()), rel=1e-4)


def test_a_pooled_cell_shows_the_largest_weight_that_it_covers() -> None:
    weights = np.random.default_rng(0).random((23, 23)).astype(np.float32)
    small, spans = pooled(weights, 8)
    assert [len(span) for span in spans] == [3] * 7 + [2]
    for row, down in enumerate(spans):
        for column, across in enumerate(spans):
            assert small[row, column] == max(weights[i, j] for i in down for j in across)
    same, single = pooled(weights, 23)
    assert np.array_equal(same, weights)
    assert {len(span) for span in single} == {1}


def test_the_strongest_key_is_never_in_the_future() -> None:
    weights = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.5, 0.3]], np.float32)
    assert [strongest_key(weights, row) for row in range(3)] == [0, 1, 1]


def test_entropy_is_the_log_of_the_number_of_tokens_that_are_read_alike() -> None:
    weights = np.tril(np.ones((5, 5), np.float32)) / np.arange(1, 6, dtype=np.float32)[:, None]
    np.testing.assert_allclose(entropies(weights), np.log(np.arange(1, 6)), atol=1e-6)


def test_the_cache_takes_the_bytes_of_its_tensors(tiny_config: ModelConfig) -> None:
    cache = KVCache(tiny_config, 7, dtype=torch.bfloat16)
    allocated = sum(tensor.nbytes for tensor in (*cache.keys, *cache.values))
    assert cache_bytes(tiny_config, 7, tiny_config.n_kv_heads, 2) == allocated
    assert cache_bytes(tiny_config, 7, tiny_config.n_heads, 2) == 3 * allocated
