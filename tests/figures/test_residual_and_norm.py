"""What the pictures of the stream and of the norms show."""

import numpy as np
import pandas as pd
import pytest

from explorer.analysis.norm_gradients import gradient_lengths
from explorer.analysis.normalization import eps_curve
from explorer.analysis.residual_stream import Account, account_table, largest_dimensions
from explorer.figures.normalization import by_hand_bars, eps_lines, gradient_lines, histogram, sorted_gains
from explorer.figures.residual_stream import stream_norm_lines
from explorer.figures.residual_writes import dimension_bars, waterfall, write_marks


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    writes = np.random.default_rng(0).normal(size=(7, 20))
    return account_table(Account(stream=writes.cumsum(axis=0), writes=writes))


def test_the_waterfall_ends_at_the_length_of_the_final_vector(table: pd.DataFrame) -> None:
    figure = waterfall(table)
    bars = {trace.name: trace for trace in figure.data if trace.type == "bar"}
    assert bars["the final vector"].y[0] == pytest.approx(table["length"].iloc[-1])
    last = bars["feed-forward"]
    assert last.base[-1] + last.y[-1] == pytest.approx(table["length"].iloc[-1])
    assert bars["attention"].base[0] == pytest.approx(bars["embedding"].y[0])
    assert len(bars["attention"].x) == len(bars["feed-forward"].x) == 3


def test_every_write_has_a_mark_for_its_size_and_its_cosine(table: pd.DataFrame) -> None:
    figure = write_marks(table)
    assert [len(trace.x) for trace in figure.data] == [3, 3, 3, 3]
    assert list(figure.data[1].y) == table["share"][2::2].tolist()
    assert list(figure.data[2].y) == table["cosine"][1::2].tolist()
    assert {trace.marker.symbol for trace in figure.data} == {"circle", "diamond"}


def test_negative_dimensions_are_hatched() -> None:
    figure = dimension_bars(largest_dimensions(np.array([0.0, -3.0, 2.0]), 3))
    assert list(figure.data[0].marker.pattern.shape) == ["/", "", ""]
    assert list(figure.layout.xaxis.ticktext) == ["1", "2", "0"]


def test_the_ring_marks_the_chosen_depth() -> None:
    norms = pd.DataFrame({"depth": [0, 1, 2, 0, 1, 2], "token": [0, 0, 0, 1, 1, 1], "norm": [1.0, 2, 3, 4, 5, 6]})
    figure = stream_norm_lines(norms, ["a", "b"], 1, measure="root mean square", depth=1)
    ring = figure.data[-1]
    assert (ring.x[0], ring.y[0]) == (0.5, 5)
    assert "root mean square" in figure.layout.yaxis.title.text
    without = stream_norm_lines(norms, ["a", "b"], 1)
    assert len(without.data) == len(figure.data) - 1


def test_gains_are_sorted_and_keep_their_dimension() -> None:
    line = sorted_gains(np.array([0.5, -1.0, 2.0])).data[0]
    assert list(line.y) == [-1.0, 0.5, 2.0]
    assert list(line.customdata) == [1, 0, 2]


def test_a_histogram_counts_every_number_once() -> None:
    values = np.random.default_rng(1).normal(size=576)
    assert np.nansum(histogram(values, x="value").data[0].y) == 576
    assert np.nansum(histogram(np.ones(5), x="value").data[0].y) == 5


def test_hand_made_bars_and_curves_hold_what_they_were_given() -> None:
    bars = by_hand_bars((2, 4), (0.6, 1.3), (-1, 1)).data
    assert [list(bar.y) for bar in bars] == [[2, 4], [0.6, 1.3], [-1, 1]]
    lines = eps_lines(eps_curve((1e-5, 1e-6)), {"here": 0.5}).data
    assert [line.name for line in lines] == ["eps 1e-05", "eps 1e-06"]
    assert len(gradient_lines(gradient_lengths(6)).data) == 4
