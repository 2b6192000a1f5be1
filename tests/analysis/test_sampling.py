"""Tables of the sampler, against plain arithmetic."""

import math

import numpy as np
import pytest
import torch
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from explorer.analysis.sampling import STAGES, candidates, draw_counts, rows_of, stages
from explorer.model.sampling import SamplerSettings, next_token, uniforms
from explorer.trace.trace import Trace

LOGITS = torch.tensor([2.0, 0.0, 1.0, -1.0])


def random_logits(seed: int, size: int = 500) -> torch.Tensor:
    return 3 * torch.randn(size, generator=torch.Generator().manual_seed(seed))


def test_any_token_has_its_rank_probability_and_logarithm() -> None:
    logits = random_logits(0)
    ids = [499, 3, 250]
    table = rows_of(logits, next_token(logits, SamplerSettings(temperature=0.7)), str, 3, ids)
    log_p = (logits.double() / 0.7).log_softmax(0)
    assert table["id"].tolist() == ids
    assert table["rank"].tolist() == [int((logits > logits[each]).sum()) + 1 for each in ids]
    assert table["log_p"].tolist() == pytest.approx(log_p[ids].tolist(), abs=1e-9)
    assert table["p"].tolist() == pytest.approx(log_p[ids].exp().tolist(), rel=1e-9)
    assert table["drawn"].tolist() == [False, True, False]


def test_the_drawn_token_is_listed_wherever_it_ranks() -> None:
    logits = random_logits(1)
    last = int(logits.argmin())
    trace = Trace(token_ids=(1,), scored=(0,), tensors={"tap.logits": logits[None]}, norms={})
    table = candidates(trace, next_token(logits, SamplerSettings()), str, last, count=3)
    assert table["rank"].tolist() == [1, 2, 3, 500]


def test_a_token_without_probability_has_no_finite_logarithm() -> None:
    table = rows_of(LOGITS, next_token(LOGITS, SamplerSettings(temperature=0)), str, 0, [0, 3])
    assert table["log_p"].tolist() == [0.0, -math.inf]


@pytest.mark.parametrize("seed", range(4))
def test_every_stage_is_that_of_transformers(seed: int) -> None:
    logits = random_logits(seed)
    table, left = stages(logits, str, 500, temperature=0.8, top_k=40, top_p=0.9, min_p=0.0)
    ids = torch.tensor(table["id"].tolist())
    scores = TemperatureLogitsWarper(0.8)(None, logits[None].double())
    assert table["temperature"].tolist() == pytest.approx(scores[0, ids].tolist(), rel=1e-9)
    assert table["softmax"].tolist() == pytest.approx(scores.softmax(-1)[0, ids].tolist(), abs=1e-12)
    cut = TopKLogitsWarper(40)(None, scores)
    assert (table["top-k"] > 0).tolist() == cut.isfinite()[0, ids].tolist()
    assert left["top-k"] == 40
    cut = TopPLogitsWarper(0.9)(None, cut)
    assert (table["top-p"] > 0).tolist() == cut.isfinite()[0, ids].tolist()
    assert table["renormalise"].tolist() == pytest.approx(cut.softmax(-1)[0, ids].tolist(), abs=1e-12)
    assert [stage for stage in table.columns if stage not in ("id", "token")] == list(STAGES)


def test_at_temperature_0_nothing_is_divided_and_one_token_is_left() -> None:
    table, left = stages(LOGITS, str, 4, temperature=0.0, top_k=0, top_p=1.0, min_p=0.0)
    assert table["temperature"].isna().all()
    assert table["renormalise"].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert set(left.values()) == {1}


def test_the_counts_are_those_of_single_draws() -> None:
    logits = random_logits(2)
    distribution = next_token(logits, SamplerSettings(top_p=0.8))
    table = draw_counts(distribution, str, seed=5, count=400, shown=6)
    drawn = [distribution.draw(u) for u in uniforms(5, 400)]
    assert table["drawn"].sum() == 400
    assert table["drawn"].tolist()[:6] == [drawn.count(each) for each in table["id"].tolist()[:6]]
    assert table["expected"].sum() == pytest.approx(400)
    assert table["token"].iloc[-1] == "all others"


def test_a_thousand_draws_follow_the_probabilities() -> None:
    distribution = next_token(LOGITS, SamplerSettings())
    table = draw_counts(distribution, str, seed=11, count=1000, shown=4)
    statistic = ((table["drawn"] - table["expected"]) ** 2 / table["expected"]).sum()
    assert statistic < 16.27  # chi squared, 3 degrees of freedom, 0.1 %
    assert np.isclose(table["spread"], np.sqrt(1000 * table["q"] * (1 - table["q"]))).all()
