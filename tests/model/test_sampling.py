"""From logits to one token: by hand, by Meta's rule, by transformers' filters, and by counting draws."""

import subprocess
import sys
from collections import Counter
from itertools import accumulate

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor
from transformers import MinPLogitsWarper, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from explorer.model.sampling import NextToken, SamplerSettings, next_token, uniforms

LOGITS = torch.tensor([2.0, 1.0, 0.0, -1.0])


def of(probabilities: list[float], **controls: float) -> NextToken:
    """What the filters keep of a distribution that is given as probabilities."""
    return next_token(torch.tensor(probabilities, dtype=torch.float64).log(), SamplerSettings(**controls))  # type: ignore[arg-type]


def assert_keeps(result: NextToken, ids: list[int], probabilities: list[float]) -> None:
    assert result.ids[: result.kept].tolist() == ids
    assert result.q.tolist() == pytest.approx(probabilities, abs=1e-9)


def test_at_an_exact_tie_top_p_keeps_one_token_more_as_metas_code_does() -> None:
    assert_keeps(of([0.5, 0.25, 0.125, 0.125], top_p=0.75), [0, 1, 2], [4 / 7, 2 / 7, 1 / 7])  # case P01


def test_top_p_keeps_the_token_that_crosses_the_line() -> None:
    assert_keeps(of([0.5, 0.35, 0.1, 0.05], top_p=0.9), [0, 1, 2], [10 / 19, 7 / 19, 2 / 19])  # case P02


@pytest.mark.parametrize(("probabilities", "top_p"), [([0.5, 0.25, 0.25], 0.0), ([0.4, 0.35, 0.25], 0.0001)])
def test_the_smallest_top_p_still_keeps_one_token(probabilities: list[float], top_p: float) -> None:
    assert_keeps(of(probabilities, top_p=top_p), [0], [1.0])  # cases P03, P10


def test_top_p_of_1_keeps_the_whole_of_a_large_vocabulary() -> None:
    logits = 3 * torch.randn(128_256, generator=torch.Generator().manual_seed(0))  # case P04
    result = next_token(logits, SamplerSettings(top_p=1.0))
    assert result.kept == 128_256
    assert result.tail_mass == pytest.approx(0, abs=1e-12)


def test_temperature_0_is_greedy_whatever_the_other_filters_say() -> None:
    for controls in ({}, {"top_p": 0.5}, {"top_k": 3}, {"min_p": 0.9}):
        result = next_token(LOGITS, SamplerSettings(temperature=0, **controls))  # type: ignore[arg-type]
        assert_keeps(result, [0], [1.0])  # case P05
        assert result.p.tolist() == [1.0, 0.0, 0.0, 0.0]
        assert result.entropy == 0


def test_equal_logits_are_ordered_by_id() -> None:
    logits = torch.tensor([1.0, 3.0, 3.0, 1.0, 3.0])
    assert next_token(logits, SamplerSettings()).ids.tolist() == [1, 2, 4, 0, 3]
    assert_keeps(next_token(logits, SamplerSettings(temperature=0)), [1], [1.0])


PUBLISHED = {  # case P06
    0.5: [0.864954876799, 0.117058913239, 0.015842201179, 0.002144008784],
    1.0: [0.643914259888, 0.23688281809, 0.087144318742, 0.03205860328],
    2.0: [0.455054233923, 0.276004344707, 0.167405097278, 0.101536324092],
    100.0: [0.253762405733, 0.251237427607, 0.248737573434, 0.246262593226],
    1e12: [0.25, 0.25, 0.25, 0.25],
}


@pytest.mark.parametrize("temperature", PUBLISHED)
def test_temperature_sharpens_below_1_and_flattens_above(temperature: float) -> None:
    result = next_token(LOGITS, SamplerSettings(temperature=temperature))
    assert_keeps(result, [0, 1, 2, 3], PUBLISHED[temperature])


def test_temperature_comes_before_top_p() -> None:
    logits = torch.tensor([3.0, 2.0, 1.0])
    assert_keeps(next_token(logits, SamplerSettings(temperature=0.5, top_p=0.8)), [0], [1.0])  # case P07
    hot = next_token(logits, SamplerSettings(temperature=2.0, top_p=0.8))  # case P11
    assert_keeps(hot, [0, 1], [0.6224593312018546, 0.37754066879814546])


@pytest.mark.parametrize(("top_k", "kept"), [(0, 5), (5, 5), (6, 5), (100_000, 5), (1, 1)])
def test_top_k_of_0_is_off_and_too_large_a_k_keeps_all(top_k: int, kept: int) -> None:
    assert next_token(torch.arange(5.0), SamplerSettings(top_k=top_k)).kept == kept  # case P08


@pytest.mark.parametrize(
    ("controls", "name"),
    [
        ({"top_k": -1}, "top-k is -1"),
        ({"top_p": 1.1}, "top-p is 1.1"),
        ({"top_p": -0.1}, "top-p is -0.1"),
        ({"top_p": float("nan")}, "top-p is nan"),
        ({"min_p": 2.0}, "min-p is 2.0"),
        ({"temperature": -1.0}, "temperature is -1.0"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"temperature": float("inf")}, "temperature is inf"),
    ],
)
def test_a_control_outside_its_range_is_refused_by_name(controls: dict[str, float], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        SamplerSettings(**controls)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("temperature", [1e-4, 1e-300])
def test_a_tiny_temperature_does_not_overflow(dtype: torch.dtype, temperature: float) -> None:
    result = next_token(torch.tensor([20.0, 19.5, 1.0], dtype=dtype), SamplerSettings(temperature=temperature))
    assert result.p.tolist() == [1.0, 0.0, 0.0]  # case P09


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_logits_that_are_not_finite_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="NaN or infinity"):
        next_token(torch.tensor([bad, 1.0, 2.0]), SamplerSettings())  # case G05


def test_min_p_keeps_what_reaches_its_share_of_the_largest() -> None:
    assert_keeps(of([0.5, 0.26, 0.16, 0.08], min_p=0.3), [0, 1, 2], [0.5 / 0.92, 0.26 / 0.92, 0.16 / 0.92])
    assert of([0.5, 0.25, 0.25], min_p=0.51).kept == 1
    assert of([0.5, 0.25, 0.25], min_p=1.0).kept == 1
    assert of([0.5, 0.25, 0.25], min_p=0.0).kept == 3


def test_top_p_is_a_share_of_what_top_k_left() -> None:
    assert of([0.4, 0.3, 0.2, 0.1], top_k=2, top_p=0.5).kept == 1  # 0.4 is 57 % of 0.7
    assert of([0.4, 0.3, 0.2, 0.1], top_p=0.5).kept == 2


def test_entropy_and_cut_mass_are_those_of_the_formulas() -> None:
    result = of([0.5, 0.25, 0.125, 0.125], top_k=2)
    assert result.entropy == pytest.approx(1.75 * 0.6931471805599453)  # 1.75 bits
    assert result.tail_mass == pytest.approx(0.25)


distinct_logits = st.lists(st.integers(-2000, 2000), min_size=1, max_size=40, unique=True).map(
    lambda numbers: torch.tensor(numbers, dtype=torch.float64) / 500
)
temperatures = st.floats(0.05, 20)
shares = st.floats(0, 1)


def far_from_a_tie(probabilities: Tensor, top_p: float) -> bool:
    """At a tie transformers, which adds from the small end, rounds either way."""
    return bool(((probabilities.sort(descending=True).values.cumsum(0) - top_p).abs() > 1e-9).all())


@given(distinct_logits, temperatures, st.integers(0, 50), shares, shares)
@settings(max_examples=300, deadline=None)
def test_the_filters_keep_what_transformers_keeps(
    logits: Tensor, temperature: float, top_k: int, top_p: float, min_p: float
) -> None:
    scores = TemperatureLogitsWarper(temperature)(None, logits[None])
    if top_k:
        scores = TopKLogitsWarper(top_k)(None, scores)
    assume(far_from_a_tie(scores[0].softmax(-1), top_p) or top_p == 1)
    if top_p < 1:
        scores = TopPLogitsWarper(top_p)(None, scores)
    before_min_p = scores[0].softmax(-1)
    assume(((before_min_p / before_min_p.max() - min_p).abs() > 1e-9).all())
    expected = MinPLogitsWarper(min_p)(None, scores)[0].softmax(-1)

    ours = next_token(logits, SamplerSettings(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p))
    spread = torch.zeros_like(logits).index_put((ours.ids[: ours.kept],), ours.q)
    torch.testing.assert_close(spread, expected, atol=1e-9, rtol=0)


@given(distinct_logits, temperatures, shares)
@settings(max_examples=300, deadline=None)
def test_top_p_cuts_where_metas_sampler_cuts(logits: Tensor, temperature: float, top_p: float) -> None:
    p = (logits / temperature).softmax(-1)
    assume(far_from_a_tie(p, top_p))
    ordered = p.sort(descending=True).values
    cut = ordered.cumsum(-1) - ordered > top_p  # sample_top_p in llama-models generation.py
    result = next_token(logits, SamplerSettings(temperature=temperature, top_p=top_p))
    assert result.kept == int((~cut).sum())


@given(distinct_logits, shares, st.floats(0, 1, exclude_max=True))
def test_a_draw_takes_the_first_token_whose_running_sum_passes_u(logits: Tensor, top_p: float, u: float) -> None:
    result = next_token(logits, SamplerSettings(top_p=top_p))
    sums = list(accumulate(result.q.tolist()))
    assume(all(abs(total - u) > 1e-12 for total in sums[:-1]))
    expected = next((place for place, total in enumerate(sums) if u < total), result.kept - 1)
    assert result.draw(u) == int(result.ids[expected])


def test_a_draw_at_either_end_stays_inside_what_was_kept() -> None:
    result = of([0.5, 0.25, 0.25], top_k=2)
    assert [result.draw(u) for u in (0.0, 0.6666, 0.6667, 1 - 2**-53, 1.0)] == [0, 0, 1, 1, 1]


def test_a_slice_holds_its_lower_end_and_not_its_upper() -> None:
    result = of([0.5, 0.3, 0.2])
    first, second, _ = result.q.cumsum(0).tolist()
    assert [result.draw(first), result.draw(second)] == [1, 2]


def test_draws_are_as_frequent_as_their_probabilities() -> None:
    result = of([0.4, 0.3, 0.15, 0.1, 0.04, 0.01], top_k=5)
    count = 20_000
    seen = Counter(result.draw(u) for u in uniforms(7, count))
    expected = {int(token): count * float(q) for token, q in zip(result.ids, result.q, strict=False)}
    assert set(seen) == set(expected)
    chi_square = sum((seen[token] - wanted) ** 2 / wanted for token, wanted in expected.items())
    assert chi_square < 18.47  # 4 degrees of freedom, 1 in 1,000


def test_a_seed_gives_the_same_draws_in_another_process() -> None:
    source = "from explorer.model.sampling import uniforms; print(uniforms(123, 5))"
    child = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == str(uniforms(123, 5))


def test_draws_are_in_0_to_1_differ_by_seed_and_begin_alike_for_any_count() -> None:
    assert all(0 <= u < 1 for u in uniforms(1, 1000))
    assert uniforms(1, 10) != uniforms(2, 10)
    assert uniforms(1, 1000)[:10] == uniforms(1, 10)
