"""Norms, against torch and published figures."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import layer_norm, rms_norm

from explorer.analysis.norm_gradients import gradient_lengths
from explorer.analysis.normalization import (
    cosine,
    dimension_table,
    eps_curve,
    half_check,
    layer_norm_steps,
    norm_in_model,
    normalised,
    overflowing,
    rms_norm_steps,
    size_after,
    steps_table,
)
from explorer.cli.session import Session

PROMPT = "The capital of France is"
vectors = st.lists(st.floats(-1e4, 1e4), min_size=2, max_size=12)


@pytest.mark.parametrize(("norm", "layer"), [("attention", 0), ("attention", 12), ("feed_forward", 29), ("final", 3)])
@pytest.mark.parametrize("token", [0, 4])
def test_a_real_vector_is_normalised_as_the_model_does(
    default_session: Session, norm: str, layer: int, token: int
) -> None:
    place = norm_in_model(norm, layer)
    trace = default_session.trace(PROMPT, rows=place.rows, scored=[token])
    gain = default_session.engine.parameter(default_session.model, place.gain)
    result = normalised(trace, place, gain, 1e-5)
    assert result.residual < 2e-6 * max(1.0, np.abs(result.after).max())
    theirs = rms_norm(torch.from_numpy(result.before), (576,), gain.double(), 1e-5)
    np.testing.assert_allclose(result.after, theirs, rtol=1e-12)
    assert np.sqrt((result.divided**2).mean()) == pytest.approx(size_after(result.rms, 1e-5), rel=1e-12)
    assert dimension_table(result)["after"].tolist() == result.after.tolist()


def test_one_dimension_makes_up_nearly_all_of_the_first_token(default_session: Session) -> None:
    place = norm_in_model("attention", 12)  # case S01: 22543 of a length of 22704
    trace = default_session.trace(PROMPT, rows=place.rows, scored=[0])
    result = normalised(trace, place, default_session.engine.parameter(default_session.model, place.gain), 1e-5)
    assert int(np.abs(result.before).argmax()) == 507
    assert result.largest_share == pytest.approx((22543 / 22704.5) ** 2, abs=2e-3)
    assert overflowing(result.before) == int((np.abs(result.before) > math.sqrt(65504)).sum()) > 0


def test_one_two_three_is_the_published_example() -> None:
    steps = rms_norm_steps((1, 2, 3), 0.0)
    assert steps[3].values[0] == pytest.approx(2.1602, abs=1e-4)
    assert steps[-1].values == pytest.approx((0.4629, 0.9258, 1.3887), abs=1e-4)


def test_rms_norm_keeps_the_direction_and_layer_norm_moves_the_centre() -> None:
    x = (2.0, 4.0, 6.0)
    by_rms, by_layer = rms_norm_steps(x, 1e-5)[-1].values, layer_norm_steps(x, 1e-5)[-1].values
    assert cosine(x, by_rms) == pytest.approx(1, abs=1e-15)
    assert cosine(x, by_layer) < 0.4
    assert sum(by_layer) == pytest.approx(0, abs=1e-15)
    assert math.isnan(cosine((2.0, 2.0), layer_norm_steps((2.0, 2.0), 1e-5)[-1].values))


@given(vectors)
def test_the_steps_end_where_torch_ends(x: list[float]) -> None:
    tensor = torch.tensor(x, dtype=torch.float64)
    assert rms_norm_steps(x, 1e-5)[-1].values == pytest.approx(rms_norm(tensor, (len(x),), eps=1e-5).tolist(), abs=1e-9)
    theirs = layer_norm(tensor, (len(x),), eps=1e-5).tolist()
    assert layer_norm_steps(x, 1e-5)[-1].values == pytest.approx(theirs, abs=1e-6)


def test_the_table_of_steps_holds_both_calculations() -> None:
    table = steps_table((2, 4, 6), 1e-5)
    assert table["norm"].value_counts().to_dict() == {"LayerNorm": 7, "RMSNorm": 5}
    assert table[table["step"] == "mean"]["0"].tolist() == [4.0]


@pytest.mark.parametrize(("eps", "published"), [(1e-5, 0.3015113445777636), (1e-6, 0.7071067811865476)])
def test_eps_decides_how_large_a_tiny_vector_becomes(eps: float, published: float) -> None:
    assert size_after(0.001, eps) == pytest.approx(published, abs=1e-9)  # case C09
    assert rms_norm_steps([0.001] * 8, eps)[-1].values[3] == pytest.approx(published, abs=1e-9)
    curve = eps_curve([eps])
    assert curve["after"].iloc[-1] == pytest.approx(1, abs=1e-6)
    assert curve["after"].is_monotonic_increasing


def test_squares_in_float16_lose_the_whole_vector() -> None:
    check = half_check((300, -300, 200, 100), 1e-5)  # case S05
    assert check.in_float32 == pytest.approx((1.2511, -1.2511, 0.8341, 0.417), abs=1e-4)
    assert [abs(value) for value in check.in_float16] == [0, 0, 0, 0]
    assert math.isinf(check.squares[0])


def test_post_norm_has_the_larger_last_gradient_and_the_more_so_the_deeper_the_stack() -> None:
    def ratio(depth: int) -> float:
        last = gradient_lengths(depth)
        last = last[last["depth"] == depth].set_index("place")["gradient"]
        return float(last["post"] / last["pre"])

    assert ratio(8) < ratio(48) < ratio(192)  # Xiong et al. 2020: 1 against 1 / sqrt(depth)
    assert ratio(48) > 3


def test_a_norm_on_the_branch_leaves_early_gradients_at_least_as_large_as_late_ones() -> None:
    lengths = gradient_lengths().pivot(index="depth", columns="place", values="gradient")
    for place in ("pre", "both", "output"):
        assert lengths[place].iloc[:8].mean() > lengths[place].iloc[-8:].mean()
