"""How fast pairs turn, and what turning leaves alone."""

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from explorer.config import FactorScaling, LinearScaling, Llama3Scaling
from explorer.model.rope import base_speeds, kept_share, rotate, rotation_angles, rotation_speeds
from tests.conftest import DATA

PAIRS = json.loads((DATA / "cases" / "files" / "rope_llama31_64.json").read_text())["pairs"]  # to 50 digits, by others
LLAMA31 = Llama3Scaling(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_context=8192)


def test_all_64_speeds_of_llama_3_1_are_the_published_ones() -> None:
    np.testing.assert_allclose(base_speeds(128, 500000.0), [pair["unscaled"] for pair in PAIRS], rtol=1e-12)
    np.testing.assert_allclose(
        rotation_speeds(128, 500000.0, LLAMA31), [float(pair["scaled_50digits"]) for pair in PAIRS], rtol=1e-12
    )


def test_29_pairs_are_kept_6_blended_and_29_slowed() -> None:
    share = kept_share(base_speeds(128, 500000.0), LLAMA31)  # case R01
    zones = ["kept" if x == 1 else "slowed" if x == 0 else "blended" for x in share.tolist()]
    assert zones == ["kept"] * 29 + ["blended"] * 6 + ["slowed"] * 29


def test_a_slowed_pair_is_divided_by_exactly_the_factor() -> None:
    base, scaled = base_speeds(128, 500000.0), rotation_speeds(128, 500000.0, LLAMA31)
    assert torch.equal(scaled[35:], base[35:] / 8)
    assert torch.equal(scaled[:29], base[:29])


def test_without_scaling_no_pair_is_slowed() -> None:
    assert float(rotation_speeds(128, 500000.0, None)[40]) == pytest.approx(0.0002742481756762073, rel=1e-12)  # R03


@pytest.mark.parametrize(("theta", "wavelength"), [(10000, 54410.14313077674), (500000, 2559195.5173713593)])
def test_theta_sets_the_longest_wavelength(theta: float, wavelength: float) -> None:
    assert 2 * math.pi / float(rotation_speeds(128, theta, None)[-1]) == pytest.approx(wavelength, rel=1e-12)  # R04


def test_linear_scaling_and_factors_divide_every_speed() -> None:
    base = base_speeds(10, 500.0)
    assert torch.equal(rotation_speeds(10, 500.0, LinearScaling(factor=4.0)), base / 4)
    factors = (1.0, 2.0, 3.0, 4.0, 5.0)
    assert torch.equal(rotation_speeds(10, 500.0, FactorScaling(factors=factors)), base / torch.tensor(factors))


def test_pair_i_is_dimensions_2i_and_2i_plus_1() -> None:
    unit = torch.zeros(1, 128)
    unit[0, 0] = 1.0
    turned = rotate(unit, *rotation_angles(torch.tensor([1]), base_speeds(128, 500000.0)))[0]  # case R02
    assert turned.nonzero().flatten().tolist() == [0, 1]
    assert turned[:2].tolist() == pytest.approx([0.5403023058681398, 0.8414709848078965], abs=1e-7)


@pytest.mark.parametrize("scaling", [None, LLAMA31])
def test_pair_1_is_fast_enough_to_turn_alike_in_llama_3_and_3_1(scaling: Llama3Scaling | None) -> None:
    cos, sin = rotation_angles(torch.tensor([5]), rotation_speeds(128, 500000.0, scaling))  # case R06
    assert float(5 * rotation_speeds(128, 500000.0, scaling)[1]) == pytest.approx(4.073086169282724, rel=1e-12)
    assert float(cos[0, 1]) == pytest.approx(-0.5966360840100452, abs=1e-6)
    assert float(sin[0, 1]) == pytest.approx(-0.8025119209439561, abs=1e-6)


def test_position_0_changes_nothing() -> None:
    x = torch.randn(3, 1, 10, generator=torch.Generator().manual_seed(0))
    assert torch.equal(rotate(x, *rotation_angles(torch.tensor([0]), base_speeds(10, 500.0))), x)  # case R05


def turned(x: Tensor, position: int, scaling: Llama3Scaling | None = None) -> Tensor:
    """``x`` (head_dim,) at ``position``, with angles in float64 so that only the rule itself is judged."""
    angle = position * rotation_speeds(len(x), 500.0, scaling)[None]
    return rotate(x[None], angle.cos(), angle.sin())[0]


vectors = st.integers(0, 10_000).map(
    lambda seed: torch.randn(2, 10, generator=torch.Generator().manual_seed(seed)).double()
)
positions = st.integers(0, 100_000)


@given(vectors, positions, positions, st.integers(0, 100_000))
def test_a_product_depends_only_on_the_distance(pair: Tensor, i: int, j: int, shift: int) -> None:
    query, key = pair
    scaling = Llama3Scaling(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_context=32)
    here = turned(query, i, scaling) @ turned(key, j, scaling)
    there = turned(query, i + shift, scaling) @ turned(key, j + shift, scaling)
    torch.testing.assert_close(here, there, atol=1e-9, rtol=0)


@given(vectors, positions)
def test_turning_keeps_every_length(pair: Tensor, position: int) -> None:
    after = turned(pair[0], position).unflatten(0, (-1, 2)).norm(dim=-1)
    torch.testing.assert_close(after, pair[0].unflatten(0, (-1, 2)).norm(dim=-1), atol=1e-12, rtol=0)


@given(vectors, st.integers(0, 8000))
def test_turning_is_multiplying_by_a_complex_number(pair: Tensor, position: int) -> None:
    number = torch.view_as_complex(pair[0].unflatten(0, (-1, 2)).contiguous())
    unit = torch.polar(torch.ones(5).double(), position * base_speeds(10, 500.0))
    torch.testing.assert_close(turned(pair[0], position), torch.view_as_real(number * unit).flatten())


def test_distances_3_to_7_and_103_to_107_give_the_same_product_in_float32() -> None:
    query, key = torch.randn(2, 1, 128, generator=torch.Generator().manual_seed(3))
    cos, sin = rotation_angles(torch.arange(110), rotation_speeds(128, 500000.0, LLAMA31))

    def product(i: int, j: int) -> float:
        return float((rotate(query, cos[i, None], sin[i, None]) * rotate(key, cos[j, None], sin[j, None])).sum())

    assert product(3, 7) == pytest.approx(product(103, 107), abs=1e-4)  # case R05; |query| |key| is about 128
