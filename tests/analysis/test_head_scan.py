"""All heads at once, against whole maps and against a model whose heads are known."""

import math

import numpy as np
import pytest
import torch

from explorer.analysis import head_scan
from explorer.analysis.attention import attention_taps, head_pattern
from explorer.analysis.head_scan import drawn_map, joined, repeat_scan, scan, scan_batches, scan_taps
from explorer.analysis.head_table import head_table, repeated_random_tokens
from explorer.cli.session import Session
from explorer.config import ModelConfig
from explorer.model.llama import Llama
from explorer.trace.trace import Trace, TraceRequest
from tests.trace.runs import traced

LENGTH = 25  # of the repeated part
OFFSETS = {0: LENGTH - 1, 1: LENGTH, 2: 1}  # head -> how many tokens back it looks; head 3 looks everywhere alike


@pytest.fixture(scope="module")
def known_heads() -> Llama:
    """One layer in which every token is alike, so that RoPE alone decides, and each head looks a set distance back.

    Pair i of a query points along its first axis, pair i of a key is turned by distance x speed: their product is the
    sum of cos((distance between them - set distance) x speed), largest at the set distance.
    """
    config = ModelConfig(
        name="known", vocab_size=200, d_model=8, n_layers=1, n_heads=4, n_kv_heads=4, head_dim=64, d_ff=4, context=256,
        rope_theta=10_000.0, rope_scaling=None, norm_eps=1e-9, tied_embedding=False,
    )  # fmt: skip
    llama = Llama(config).requires_grad_(False)
    for parameter in llama.parameters():
        parameter.zero_()
    llama.embedding.weight[:, 0] = 1.0
    layer = llama.layers[0]
    layer.attention_norm.gain.fill_(1 / math.sqrt(8))  # the normalised vector is then (1, 0, 0, …)
    speeds = 10_000.0 ** (-torch.arange(32) / 32)
    for head, offset in OFFSETS.items():
        query, key = torch.zeros(32, 2), torch.stack(((offset * speeds).cos(), (offset * speeds).sin()), 1)
        query[:, 0] = 400.0
        layer.attention.query.weight[64 * head : 64 * (head + 1), 0] = query.flatten()
        layer.attention.key.weight[64 * head : 64 * (head + 1), 0] = key.flatten()
    return llama


def heads_of(llama: Llama, ids: tuple[int, ...]) -> Trace:
    layers = range(llama.config.n_layers)
    return traced(llama, TraceRequest(model=llama.config.name, token_ids=ids, taps=scan_taps(layers)))


def test_the_induction_score_of_a_head_built_for_it_is_one(known_heads: Llama) -> None:
    ids = repeated_random_tokens(200)
    scores = repeat_scan(heads_of(known_heads, ids), [0]).scores
    np.testing.assert_allclose(scores["induction"][0, :3], [1, 0, 0], atol=1e-3)
    np.testing.assert_allclose(scores["same_token"][0, :3], [0, 1, 0], atol=1e-3)
    asked = range(1 + LENGTH, 1 + 4 * LENGTH)  # one token to begin with, then every token but those of the first round
    alike = np.mean([(place - 1) // LENGTH / (place + 1) for place in asked])
    assert scores["induction"][0, 3] == pytest.approx(alike, abs=1e-6)
    assert scores["same_token"][0, 3] == pytest.approx(alike, abs=1e-6)


def test_heads_built_for_a_pattern_get_its_name_and_others_none(known_heads: Llama) -> None:
    ids = repeated_random_tokens(200)
    trace = heads_of(known_heads, ids)
    table = head_table(scan(trace, [0], 8), repeat_scan(trace, [0]))
    assert table["label"].tolist() == ["induction", "same token", "previous token", ""]
    assert table["distance"][2] == pytest.approx(1, abs=1e-3)


def test_the_random_tokens_are_alike_every_time_and_repeat_in_order() -> None:
    ids = repeated_random_tokens(49_152)
    assert ids == repeated_random_tokens(49_152)
    assert len(ids) == 1 + 4 * LENGTH
    assert len(set(ids)) == 1 + LENGTH
    assert ids[1 : 1 + LENGTH] == ids[1 + LENGTH : 1 + 2 * LENGTH]
    assert repeated_random_tokens(128_256, (128_000,))[0] == 128_000
    assert all(0 <= token < 10 for token in repeated_random_tokens(10))


def whole_maps(llama: Llama, ids: tuple[int, ...], layer: int) -> list[np.ndarray]:
    trace = traced(llama, TraceRequest(model="m", token_ids=ids, taps=attention_taps(layer)))
    return [head_pattern(trace, layer, head) for head in range(llama.config.n_heads)]


@pytest.mark.parametrize("block", [1, 500, 1 << 22])
@pytest.mark.parametrize("n_tokens", [2, 7, 61])
def test_scores_in_blocks_are_the_means_over_whole_maps(
    tiny_llama: Llama, monkeypatch: pytest.MonkeyPatch, block: int, n_tokens: int
) -> None:
    monkeypatch.setattr(head_scan, "BLOCK_WEIGHTS", block)
    ids = tuple(int(token) for token in np.random.default_rng(3).integers(0, 20, n_tokens))
    trace = heads_of(tiny_llama, ids)
    found, repeats = scan(trace, range(3), 8), repeat_scan(trace, range(3))
    for head, weights in enumerate(whole_maps(tiny_llama, ids, 2)):
        rows = range(1, n_tokens)
        first = np.mean([weights[row, 0] for row in rows])
        assert found.scores["first"][2, head] == pytest.approx(first, abs=1e-6)
        assert found.scores["previous"][2, head] == pytest.approx(np.mean([weights[r, r - 1] for r in rows]), abs=1e-6)
        assert found.scores["itself"][2, head] == pytest.approx(np.mean([weights[r, r] for r in rows]), abs=1e-6)
        far = np.mean([sum(weights[r, s] * (r - s) for s in range(r)) for r in rows])
        assert found.scores["distance"][2, head] == pytest.approx(far, abs=1e-4)
        spread = np.mean([-sum(w * math.log(w) for w in weights[r] if w > 0) for r in rows])
        assert found.scores["entropy"][2, head] == pytest.approx(spread, abs=1e-5)
        rest = [(weights[r, r - 1], 1 - weights[r, 0]) for r in rows if r > 1]
        if rest:
            ratio = sum(part for part, _ in rest) / sum(whole for _, whole in rest)
            assert found.scores["previous_of_rest"][2, head] == pytest.approx(ratio, abs=1e-5)
        asked = [r for r in rows if ids[r] in ids[:r]]
        if asked:
            copies = np.mean([sum(weights[r, s] for s in range(r) if ids[s] == ids[r]) for r in asked])
            after = np.mean([sum(weights[r, s + 1] for s in range(r) if ids[s] == ids[r]) for r in asked])
            assert repeats.scores["same_token"][2, head] == pytest.approx(copies, abs=1e-5)
            assert repeats.scores["induction"][2, head] == pytest.approx(after, abs=1e-5)


@pytest.mark.parametrize("n_tokens", [1, 3, 8, 61])
def test_pixels_are_the_largest_weight_that_each_covers(tiny_llama: Llama, n_tokens: int) -> None:
    ids = tuple(range(n_tokens))
    pixels = scan(heads_of(tiny_llama, ids), range(3), 8).pixels
    assert pixels.shape == (3, 6, 8, 8)
    cells = min(8, n_tokens)
    starts = [cell * n_tokens // cells for cell in range(cells)] + [n_tokens]
    for head, weights in enumerate(whole_maps(tiny_llama, ids, 0)):
        assert np.array_equal(pixels[0, head], drawn_map(weights, 8))
        for y in range(8):
            for x in range(8):
                row, column = y * cells // 8, x * cells // 8
                largest = weights[starts[row] : starts[row + 1], starts[column] : starts[column + 1]].max()
                assert pixels[0, head, y, x] == 17 * round(math.sqrt(largest) * 15)


def test_one_token_has_no_scores_and_divides_by_nothing(tiny_llama: Llama) -> None:
    trace = heads_of(tiny_llama, (4,))
    table = head_table(scan(trace, range(3), 8), repeat_scan(trace, range(3)))
    assert len(table) == 18
    assert table.drop(columns=["layer", "head", "label"]).isna().all(axis=None)
    assert not table["label"].any()


def test_scans_in_batches_are_the_scan_of_all(tiny_llama: Llama) -> None:
    trace = heads_of(tiny_llama, (3, 1, 4, 1, 5))
    whole, parts = scan(trace, range(3), 8), joined([scan(trace, [0], 8), scan(trace, [1, 2], 8)])
    assert np.array_equal(whole.pixels, parts.pixels)
    assert all(np.array_equal(whole.scores[name], parts.scores[name]) for name in whole.scores)


def test_batches_hold_every_layer_once_and_little_at_a_time(default_session: Session) -> None:
    config = default_session.card.config
    for n_tokens in (1, 100, 2048):
        batches = scan_batches(config, n_tokens)
        assert [layer for batch in batches for layer in batch] == list(range(30))
        for batch in batches:  # 9 query heads and 3 key heads of 64 numbers, 4 bytes each
            assert len(batch) == 1 or len(batch) * 12 * 64 * 4 * n_tokens <= 24 * 2**20


def test_the_default_model_has_induction_heads_and_its_sink_hides_none_of_them(default_session: Session) -> None:
    ids = repeated_random_tokens(49_152)
    trace = default_session.trace(ids, taps=scan_taps([18]))
    scores = repeat_scan(trace, [18]).scores
    weights = head_pattern(default_session.trace(ids, taps=attention_taps(18)), 18, 6)
    followed = [sum(weights[r, s + 1] for s in range(r) if ids[s] == ids[r]) for r in range(1 + LENGTH, len(ids))]
    assert scores["induction"][0, 6] == pytest.approx(np.mean(followed), abs=1e-5)
    assert scores["induction"][0, 6] > 0.8
