"""Turning real queries and keys, against other code and published figures."""

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from explorer.analysis.rope import (
    Vector,
    extensions,
    half_split_order,
    half_split_turned,
    head_vector,
    length_check,
    pair_table,
    pairing_residual,
    reached,
    rope_taps,
    schedule,
    score_by_distance,
    shift_check,
    speeds_of,
    theta_alone,
    turned,
    zones,
)
from explorer.checkpoint.known_models import known_models
from explorer.cli.session import Session
from explorer.config import ModelConfig
from explorer.trace.trace import Trace
from tests.conftest import DATA

PUBLISHED = json.loads((DATA / "cases" / "files" / "rope_llama31_64.json").read_text())["pairs"]
PROMPT = "The capital of France is"
LAYER = 4


@pytest.fixture(scope="module")
def llama31() -> ModelConfig:
    return known_models()["llama-3.1-8b"].config


@pytest.fixture(scope="module")
def real(default_session: Session) -> Trace:
    return default_session.trace(PROMPT, taps=rope_taps(LAYER))


def test_the_schedule_of_llama_3_1_is_the_published_one(llama31: ModelConfig) -> None:
    table = schedule(llama31)  # case R01
    np.testing.assert_allclose(table["base"], [pair["unscaled"] for pair in PUBLISHED], rtol=1e-12)
    np.testing.assert_allclose(table["speed"], [float(pair["scaled_50digits"]) for pair in PUBLISHED], rtol=1e-12)
    np.testing.assert_allclose(table["base_wavelength"], [pair["wavelength"] for pair in PUBLISHED], rtol=1e-12)
    published_zones = {"kept": "kept", "smoothed": "blended", "divided": "slowed", "divided_by_8": "slowed"}
    assert [published_zones[pair["zone"]] for pair in PUBLISHED] == table["zone"].tolist()
    assert zones(table) == "29 kept, 6 blended, 29 slowed ×8"
    assert table["base_wavelength"][35] == pytest.approx(8218.718, abs=1e-3)
    assert table["base_wavelength"][28] == pytest.approx(1956.497, abs=1e-3)


def test_the_default_model_is_not_scaled(default_session: Session) -> None:
    table = schedule(default_session.card.config)
    assert zones(table) == "32 kept"
    assert table["speed"].tolist() == pytest.approx([100_000 ** (-i / 32) for i in range(32)], rel=1e-12)
    assert reached(default_session.card.config).factor == 1


@pytest.mark.parametrize(("theta", "wavelength"), [(10_000, 54410.14313077674), (500_000, 2559195.5173713593)])
def test_theta_is_used(theta: float, wavelength: float, llama31: ModelConfig) -> None:
    from dataclasses import replace

    table = schedule(replace(llama31, rope_theta=theta, rope_scaling=None))  # case R04
    assert table["wavelength"].iloc[-1] == pytest.approx(wavelength, rel=1e-12)


def test_each_way_to_extend_slows_the_last_pair_by_the_whole_factor(llama31: ModelConfig) -> None:
    assert (reached(llama31).original, reached(llama31).factor) == (8192, 8)
    ways = extensions(llama31, 8.0)
    for way in ("every_pair", "theta", "llama3"):
        assert ways[way].iloc[-1] == pytest.approx(1 / 8, rel=1e-12)
    assert ways["every_pair"].iloc[0] == 1 / 8
    assert ways["theta"].iloc[0] == ways["llama3"].iloc[0] == 1
    assert theta_alone(llama31, 8.0) ** (-126 / 128) == pytest.approx(500_000 ** (-126 / 128) / 8, rel=1e-12)


@pytest.mark.parametrize("head", [0, 5, 8])
@pytest.mark.parametrize("side", ["query", "key"])
def test_real_vectors_are_turned_as_the_model_turns_them(
    real: Trace, default_session: Session, head: int, side: str
) -> None:
    speeds = speeds_of(default_session.card.config)
    for token in range(5):
        vector = head_vector(real, LAYER, head, token, side)
        ours = turned(vector.before, token, speeds)
        np.testing.assert_allclose(ours, vector.after, atol=2e-6 * np.abs(vector.before).max() + 1e-6)
        check = length_check(vector.before, vector.after)
        assert check.after == pytest.approx(check.before, rel=1e-6)
        assert check.largest_pair_change < 1e-5


def test_a_query_head_reads_the_key_head_of_its_group(real: Trace) -> None:
    keys = real[f"layers.{LAYER}.attention.tap.key"]
    for head, group in ((0, 0), (2, 0), (3, 1), (8, 2)):
        assert np.array_equal(head_vector(real, LAYER, head, 1, "key").before, keys[group, 1].double().numpy())


def test_the_score_at_the_real_distance_is_the_models_own(real: Trace, default_session: Session) -> None:
    speeds = speeds_of(default_session.card.config)
    query, key = (head_vector(real, LAYER, 7, token, side) for token, side in ((4, "query"), (1, "key")))
    scores = score_by_distance(query.before, key.before, speeds, reach=64)
    assert scores["score"][3] == pytest.approx(float(query.after @ key.after) / 8, abs=1e-5)
    assert scores["score"][0] == pytest.approx(float(query.before @ key.before) / 8, abs=1e-12)
    slow = [pair for pair in range(32) if 64 * 100_000 ** (-pair / 32) < 2 * math.pi]
    far = turned(query.before, 64, speeds).reshape(-1, 2)[slow] * key.before.reshape(-1, 2)[slow]
    assert scores["slow"][64] == pytest.approx(far.sum() / 8, abs=1e-12)


def vectors(seed: int) -> tuple[Vector, Vector]:
    query, key = torch.randn(2, 10, generator=torch.Generator().manual_seed(seed)).double().numpy()
    return query, key


places = st.integers(0, 10_000)


@given(st.integers(0, 1000), places, places, places)
def test_a_score_depends_only_on_the_distance(tiny_config: ModelConfig, seed: int, i: int, j: int, shift: int) -> None:
    query, key = vectors(seed)
    speeds = speeds_of(tiny_config)
    moved = shift_check(query, key, (i, j), shift, speeds)
    assert moved.residual < 1e-9
    if i >= j and i - j <= 300:
        assert moved.score == pytest.approx(score_by_distance(query, key, speeds, 300)["score"][i - j], abs=1e-9)


def test_moving_only_the_query_changes_a_real_score(real: Trace, default_session: Session) -> None:
    query, key = (head_vector(real, LAYER, 0, token, side).before for token, side in ((4, "query"), (3, "key")))
    moved = shift_check(query, key, (4, 3), 100, speeds_of(default_session.card.config))
    assert abs(moved.query_moved - moved.score) > 0.01
    assert moved.residual < 1e-10
    assert 0 < moved.residual_float32 < 1e-2


@given(st.integers(0, 1000), st.integers(0, 5000))
def test_both_orders_of_the_pairs_give_the_same(tiny_config: ModelConfig, seed: int, position: int) -> None:
    assert pairing_residual(vectors(seed)[0], position, speeds_of(tiny_config)) < 1e-12


def test_the_half_split_order_is_hugging_faces() -> None:
    order = half_split_order(10)
    assert order == [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]
    half = torch.randn(1, 1, 1, 10, generator=torch.Generator().manual_seed(1)).double()
    speeds = torch.tensor([1.0, 0.5, 0.25, 0.125, 0.1]).double()
    angles = torch.cat((7 * speeds, 7 * speeds))[None, None]
    theirs, _ = apply_rotary_pos_emb(half, half, angles.cos(), angles.sin())
    np.testing.assert_allclose(half_split_turned(half.flatten().numpy(), 7, speeds), theirs.flatten(), atol=1e-15)


def test_a_unit_vector_shows_both_layouts(llama31: ModelConfig) -> None:
    unit, speeds = np.zeros(128), speeds_of(llama31)
    unit[0] = 1.0
    adjacent = turned(unit, 1, speeds)  # case R02
    assert (adjacent[0], adjacent[1]) == pytest.approx((0.5403023058681398, 0.8414709848078965), abs=1e-9)
    half = half_split_turned(unit, 1, speeds)
    assert (half[0], half[64]) == pytest.approx((0.5403023058681398, 0.8414709848078965), abs=1e-9)


def test_the_table_of_pairs_holds_what_was_drawn(real: Trace, default_session: Session) -> None:
    vector = head_vector(real, LAYER, 3, 2, "query")
    table = pair_table(vector.before, 40, speeds_of(default_session.card.config))
    assert table["before_y"].tolist() == vector.before[1::2].tolist()
    assert table["turns"][0] == pytest.approx(40 / (2 * math.pi))
    np.testing.assert_allclose(np.hypot(table["after_x"], table["after_y"]), table["length"], rtol=1e-12)
