"""The numbers of the Overview page."""

import math

import pytest

from explorer.analysis.overview import FIRST, LAST, OVERVIEW_NORMS, OVERVIEW_TAPS, STRIP_CELLS, shown_places, token_rows
from explorer.cli.session import Session

PROMPT = "The quick brown fox jumps over the lazy dog and sleeps"


@pytest.fixture(scope="module")
def trace(default_session: Session):
    return default_session.trace(PROMPT, taps=OVERVIEW_TAPS, norms=OVERVIEW_NORMS)


@pytest.mark.parametrize("n_tokens", range(1, 30))
def test_the_first_and_the_last_tokens_are_shown_in_order(n_tokens: int) -> None:
    places = shown_places(n_tokens)
    shown = [place for place in places if place is not None]
    assert shown == sorted(set(shown))
    assert shown[0] == 0
    assert shown[-1] == n_tokens - 1
    assert (None in places) == (len(shown) < n_tokens)
    assert len(places) <= FIRST + LAST + 1


def test_the_length_of_a_row_is_that_of_its_vector_after_the_last_layer(trace, default_session: Session) -> None:
    last = default_session.trace(PROMPT, taps={"tap.final"})["tap.final"]
    for row in token_rows(trace):
        if row is not None:
            assert row.length == pytest.approx(math.sqrt(sum(float(x) ** 2 for x in last[row.place])), rel=1e-5)


def test_a_strip_cell_is_the_largest_value_of_its_dimensions(trace) -> None:
    rows = [row for row in token_rows(trace) if row is not None]
    embedded = trace["tap.embedded"]
    largest = max(float(embedded[row.place].abs().max()) for row in rows)
    width = math.ceil(embedded.shape[1] / STRIP_CELLS)
    for row in rows:
        for cell, drawn in enumerate(row.embedding):
            values = embedded[row.place, cell * width : (cell + 1) * width].tolist()
            wanted = max(values, key=abs) if values else 0.0
            assert drawn == pytest.approx(100 * wanted / largest, abs=0.51)


def test_heights_follow_the_lengths(trace) -> None:
    rows = [row for row in token_rows(trace) if row is not None]
    ends = sorted((row.length, row.lengths[-1]) for row in rows)
    assert [height for _, height in ends] == sorted(height for _, height in ends)
    heights = [height for row in rows for height in row.lengths]
    assert (min(heights), max(heights)) == (0, 100)
