"""The account of the stream, against the cases and plain arithmetic."""

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from explorer.analysis.residual_stream import (
    ACCOUNT_ROWS,
    STREAM_NORMS,
    Account,
    account,
    account_table,
    as_rms,
    depth_cosines,
    depth_name,
    giant_dimensions,
    largest_dimensions,
    largest_jump,
    stream_norms,
)
from explorer.cli.session import Session
from explorer.model.llama import Llama
from explorer.trace.trace import TraceRequest
from tests.conftest import DATA
from tests.loaded_models import tiny_a
from tests.trace.runs import live, traced

PROMPT = "The capital of France is"
IDS = (5, 17, 3, 90, 41, 17, 8)


@pytest.fixture(scope="module")
def norms(default_session: Session) -> pd.DataFrame:
    return stream_norms(default_session.trace(PROMPT, norms=STREAM_NORMS))


@pytest.fixture(scope="module", params=[0, 4])
def book(request: pytest.FixtureRequest, default_session: Session) -> Account:
    return account(default_session.trace(PROMPT, rows=ACCOUNT_ROWS, scored=[request.param]))


def test_the_lengths_are_those_of_the_case(norms: pd.DataFrame, cases: dict[str, dict[str, Any]]) -> None:
    for token, name in ((0, "first_token_L2"), (4, "last_token_L2")):  # case S01
        ours = norms[(norms["token"] == token) & (norms["after"] != "attention")].sort_values("depth")["norm"]
        np.testing.assert_allclose(ours, cases["S01"]["expected"][name], rtol=1e-3)
    last = norms[(norms["token"] == 4) & (norms["depth"] == 60)]["norm"].item()
    assert last == pytest.approx(cases["S02"]["expected"]["last_point_before_final_norm"], rel=1e-3)


def test_the_spike_is_named_where_it_is(norms: pd.DataFrame) -> None:
    jump = largest_jump(norms, 0)
    assert depth_name(jump.depth) == "layer 11, after feed-forward"
    lengths = norms[norms["token"] == 0].set_index("depth")["norm"]
    assert jump.times == pytest.approx(lengths[24] / lengths[23])
    assert jump.times > 100
    assert largest_jump(norms, 4).times < 3


def test_root_mean_squares_are_lengths_over_the_root_of_the_width(norms: pd.DataFrame) -> None:
    assert as_rms(pd.DataFrame({"norm": [math.sqrt(30)]}), 4)["norm"][0] == pytest.approx(2.7386127875258306)  # S04
    np.testing.assert_allclose(as_rms(norms, 576)["norm"] * 24, norms["norm"])


def test_the_embedding_and_all_writes_add_up_to_the_final_vector(book: Account) -> None:
    length = np.linalg.norm(book.final)
    assert book.residual < 5e-6 * length
    table = account_table(book)
    assert table["toward_final"].sum() == pytest.approx(length, rel=1e-5)
    assert len(table) == 61


def test_every_write_is_the_difference_of_its_neighbours(book: Account) -> None:
    steps = np.diff(book.stream, axis=0)
    size = np.linalg.norm(book.stream[1:], axis=1, keepdims=True)
    assert (np.abs(steps - book.writes[1:]) < 1e-6 * size).all()


def test_the_cosine_follows_from_three_lengths(book: Account) -> None:
    table = account_table(book)
    before, after, size = (table[name].to_numpy() for name in ("length", "length", "size"))
    by_lengths = (after[1:] ** 2 - before[:-1] ** 2 - size[1:] ** 2) / (2 * before[:-1] * size[1:])
    np.testing.assert_allclose(table["cosine"][1:], by_lengths, atol=2e-3)
    assert math.isnan(table["share"][0])
    assert table["share"][24] == pytest.approx(size[24] / before[23])


def test_the_lengths_of_the_account_are_those_of_the_chart(default_session: Session, norms: pd.DataFrame) -> None:
    book = account(default_session.trace(PROMPT, rows=ACCOUNT_ROWS, scored=[2]))
    chart = norms[norms["token"] == 2].sort_values("depth")["norm"]
    np.testing.assert_allclose(account_table(book)["length"], chart, rtol=1e-6)


def test_the_account_of_any_model_is_what_flows_through_it(tiny_llama: Llama) -> None:
    trace = traced(tiny_llama, TraceRequest(model="tiny", token_ids=IDS, rows=ACCOUNT_ROWS, scored=(3,)))
    book, seen = account(trace), live(tiny_llama, IDS)
    np.testing.assert_array_equal(book.writes[3], seen["layers.1.attention.tap.output"][3])
    np.testing.assert_array_equal(book.stream[6], seen["layers.2.tap.after_feed_forward"][3])
    assert book.residual < 1e-5


def test_the_published_lengths_of_the_tiny_model_come_back(cases: dict[str, dict[str, Any]]) -> None:
    ids = tuple(json.loads((DATA / "cases" / "files" / "tiny_a_expected.json").read_text())["ids"])
    for token, name in ((0, "first_token_L2"), (len(ids) - 1, "last_token_L2")):  # case S03
        request = TraceRequest(model="tiny_a", token_ids=ids, rows=ACCOUNT_ROWS, scored=(token,))
        book = account(traced(tiny_a().model, request))
        assert account_table(book)["length"][::2].tolist() == pytest.approx(cases["S03"]["expected"][name], abs=1e-4)
        assert book.residual < 1e-5


def test_giant_dimensions_are_those_that_carry_the_spike(default_session: Session) -> None:
    book = account(default_session.trace(PROMPT, rows=ACCOUNT_ROWS, scored=[0]))
    assert largest_dimensions(book.stream[24], 3)["dimension"].tolist() == [507, 247, 14]  # case S01
    assert largest_dimensions(book.stream[24], 1)["value"][0] == pytest.approx(22543, rel=1e-3)
    assert giant_dimensions(book.stream)[0] == 507
    assert 247 in giant_dimensions(book.stream)
    assert giant_dimensions(np.random.default_rng(0).normal(size=(5, 200))) == []


def test_shares_of_all_dimensions_add_up_to_one(book: Account) -> None:
    assert largest_dimensions(book.final, 576)["share"].sum() == pytest.approx(1)


def test_cosines_between_depths_are_symmetric_and_one_with_themselves(book: Account) -> None:
    cosines = depth_cosines(book)
    assert cosines.shape == (31, 31)
    np.testing.assert_allclose(np.diag(cosines), 1)
    np.testing.assert_allclose(cosines, cosines.T)
    a, b = book.stream[10], book.stream[40]
    assert cosines[5, 20] == pytest.approx(a @ b / math.sqrt((a @ a) * (b @ b)))
