"""Bars of tokens: every number that is drawn is in the table."""

import pandas as pd

from explorer.figures.embedding import neighbour_bars
from explorer.figures.theme import EMBEDDING, MUTED
from explorer.figures.tokens import count_bars

COUNTS = pd.DataFrame(
    {
        "vocabulary": ["<own>", "Llama 3.1"],
        "tokens": [12, 0],
        "characters_per_token": [2.5, float("nan")],
        "bytes_per_token": [3.0, float("nan")],
        "rows": [49_152, 128_256],
    }
)
NEAREST = pd.DataFrame({"rank": [1, 2, 3], "id": [7, 9, 4], "token": ["a", "a", "<b>"], "cosine": [1.0, 0.5, -0.25]})


def test_the_chosen_vocabulary_is_coloured_and_every_count_written() -> None:
    bars, text = count_bars(COUNTS, "<own>").data
    assert list(bars.x) == [12, 0]
    assert list(bars.marker.color) == [EMBEDDING, MUTED]
    assert list(text.text) == ["  <b>12</b> · 2.50", "  <b>0</b>"]


def test_names_cannot_become_markup() -> None:
    assert count_bars(COUNTS, "").layout.yaxis.ticktext[0] == "&lt;own&gt;"
    assert list(neighbour_bars(NEAREST).layout.yaxis.ticktext) == ["a", "a", "&lt;b&gt;"]


def test_tokens_that_look_alike_have_a_bar_each_and_given_ones_are_said_to_be() -> None:
    bars, text = neighbour_bars(NEAREST, {9}).data
    assert list(bars.y) == [0, 1, 2]
    assert list(bars.x) == [1.0, 0.5, -0.25]
    assert list(bars.marker.color) == [EMBEDDING, MUTED, EMBEDDING]
    assert ["given" in each for each in text.text] == [False, True, False]
    low, high = neighbour_bars(NEAREST).layout.xaxis.range
    assert low < -0.25 and high > 1
