"""The tables of the cost page against the formulas' own oracles and published figures."""

import pytest

from explorer.analysis.cost import (
    cache_table,
    crossover,
    matrix_table,
    model_table,
    operation_table,
    share_table,
    steps_of_work,
    time_table,
)
from explorer.analysis.cost_claims import claims
from explorer.architecture.presets import presets
from explorer.architecture.roofline import accelerators


def of(model):
    return presets()[model].sizes


@pytest.mark.parametrize("model", presets())
def test_the_tensors_add_up_to_the_model_and_their_shares_to_one(model):
    table = matrix_table(of(model))
    assert table["share"].sum() == pytest.approx(1)
    own = table[table["copies"] > 0]
    assert (own["each"] * own["copies"] == own["parameters"]).all()


def test_shares_of_every_whole_add_to_one_and_the_blocks_are_known():
    shares = share_table(of("llama-3.1-8b"), 8192, {"GPT-2 small": of("gpt-2-small")})
    assert shares.groupby("of")["share"].sum().tolist() == pytest.approx([1] * 4)
    block = shares[(shares["part"] == "feed-forward")].set_index("of")["share"]
    assert block["Parameters of one block"] == pytest.approx(0.808, abs=5e-4)
    assert block["Parameters of one block of GPT-2 small"] == pytest.approx(0.667, abs=1e-3)


def test_the_mean_of_a_prompt_is_half_of_its_last_token():
    table = operation_table(of("llama-3.1-8b"), 8192).set_index("context")
    assert 8192 in table.index and 131_072 in table.index
    halves = (table.index + 1) / (2 * table.index)
    assert (table["mean"] / table["newest"]).tolist() == pytest.approx(halves.tolist())
    below, above = (table[table.index < crossover(of("llama-3.1-8b"))], table[table.index > 28_628])
    assert (below["newest"] < below["matrices"]).all() and (above["newest"] > above["matrices"]).all()


def test_the_cache_shrinks_by_the_number_of_heads_that_share():
    table = cache_table(of("llama-3.1-8b"), 8192)
    assert (table["mha"] == 4 * table["own"]).all() and (table["own"] == 8 * table["mqa"]).all()
    assert table.set_index("context")["own"][8192] == 1 << 30


def test_the_comparison_has_a_row_for_every_model_and_marks_the_chosen_one():
    table = model_table({name: preset.sizes for name, preset in presets().items()}, "llama-3.1-8b", 8192, "bfloat16")
    row = table.set_index("Model").loc["Llama 3.1 8B"]
    assert len(table) == len(presets()) and (table[""] == "▶").sum() == 1 and row[""] == "▶"
    assert row["12·L·d² is off by"] == pytest.approx(6.44 / 6.98 - 1, abs=1e-3)
    assert row["Cache at 8,192, GiB"] == 1 and row["Weights in bfloat16, GB"] == 16.060522496
    assert table["Equal at"].isna().sum() == 1  # a model whose every layer has a window


def test_every_step_of_work_takes_the_longer_of_two_times():
    works = steps_of_work(of("llama-3.1-8b"), context=8192, batch=64, n_tokens=5, precision="bfloat16")
    table = time_table(works, accelerators()["h100"])
    assert table["work"].tolist() == [
        "one new token", "one new token for each of 64 texts", "reading 8,192 tokens", "reading 5 tokens",
    ]  # fmt: skip
    assert (table["least"] == table[["memory", "compute"]].max(axis=1)).all()
    assert (table["reached"] <= 989e12 * (1 + 1e-9)).all()


def test_an_empty_text_is_no_work():
    works = steps_of_work(of("llama-3.1-8b"), context=8192, batch=1, n_tokens=0, precision="int4")
    assert [work.name for work in works] == ["one new token", "reading 8,192 tokens"]


@pytest.mark.parametrize("model", presets())
def test_every_claim_is_answered_for_every_model(model):
    answers = claims(of(model), 8192, "bfloat16")
    assert len(answers) >= 8
    assert all(claim.number and claim.because and "nan" not in claim.number for claim in answers)


def test_the_answers_for_llama_31_8b_are_the_published_ones():
    answers = {claim.says: claim for claim in claims(of("llama-3.1-8b"), 8192, "bfloat16")}
    assert answers["The feed-forward is two thirds of a block."].number == "80.8%"
    assert "66.6%" in answers["The feed-forward is two thirds of a block."].because
    assert answers["Training takes 6N operations a token."].number == "41.88 or 48.18"
    assert answers["Gigabytes are gigabytes."].number == "16.06 GB = 14.96 GiB"
    assert "from 4 GiB to 1 GiB" in answers["Sharing key/value heads saves attention's arithmetic."].because
