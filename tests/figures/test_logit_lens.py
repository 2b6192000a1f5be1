"""Pictures of the logit lens, of attribution and of a generation: what they show is what the tables say."""

import math

import numpy as np
import pandas as pd
import pytest

from explorer.analysis.logit_lens import UNREAD, LensGrid
from explorer.figures.attribution import attribution_bars, head_bars
from explorer.figures.generation import cache_bars, sureness_bars, time_bars
from explorer.figures.logit_lens import depth_lines, numbered, reading_bars, shades, sureness_lines
from explorer.figures.sampling import count_bars, stage_bars

VOCAB = 1000
GRID = LensGrid(
    top_ids=np.array([[7, UNREAD], [8, 7]]),
    p=np.array([[0.0, np.nan], [1.0, 0.5]]),
    rank=np.array([[VOCAB, np.nan], [1, 1]]),
    entropy=np.array([[math.log(VOCAB), np.nan], [0.0, 1.0]]),
    kl=np.array([[50.0, np.nan], [0.0, math.log(2)]]),
)
NAMES = ["embedding", "layer 0", "layer 1"]
DEPTHS = pd.DataFrame(
    {
        "depth": [0, 1, 2],
        "watched_p": [0.001, 0.2, 0.9],
        "watched_p_without_norm": [0.0, 0.1, 0.2],
        "watched_rank": [900, 12, 1],
        "entropy_nats": [3.0, 2.0, 1.0],
        "kl_nats": [9.0, 1.0, 0.0],
    }
)
STEPS = pd.DataFrame(
    {
        "step": [0, 1], "token": ["<b>", "·x"], "model_p": [0.4, 0.9], "rank": [2, 1], "entropy_nats": [1.0, 0.2],
        "read": [5, 1], "milliseconds": [40.0, 12.0], "cache_bytes": [5_000_000, 6_000_000],
    }
)  # fmt: skip


@pytest.mark.parametrize("colour", ["p", "rank", "entropy", "kl"])
def test_the_worst_reading_is_palest_the_best_darkest_and_the_unread_has_no_shade(colour: str) -> None:
    found = shades(GRID, colour, VOCAB)
    assert found[0, 0] == 1
    assert found[1, 0] == 255
    assert found[0, 1] == 0
    assert colour in ("rank", "entropy") or found[1, 1] == 128


def test_every_cell_points_to_the_label_of_its_token() -> None:
    assert numbered(GRID, {7: 0, 8: 1}).tolist() == [[0, 0], [1, 0]]


def test_tokens_that_look_like_markup_are_shown_as_they_are() -> None:
    table = pd.DataFrame({"id": [1, 2], "token": ["<b>", "<b>"], "p": [0.7, 0.3]})
    figure = reading_bars(table)
    assert figure.layout.yaxis.ticktext == ("&lt;b&gt;", "&lt;b&gt;")
    assert list(figure.data[0].y) == [0, 1]
    assert "&lt;b&gt;" in depth_lines(DEPTHS, NAMES, "<b>", 1).layout.yaxis.title.text
    assert "&lt;b&gt;" in time_bars(STEPS, 0).data[0].customdata[0][0]


def test_probability_and_rank_run_through_all_depths() -> None:
    figure = depth_lines(DEPTHS, NAMES, "x", 1)
    lines = {(line.yaxis, line.line.dash): list(line.y) for line in figure.data}
    assert lines["y", None] == [0.001, 0.2, 0.9]
    assert lines["y", "dot"] == [0.0, 0.1, 0.2]
    assert lines["y2", None] == [900, 12, 1]
    assert [list(line.y) for line in sureness_lines(DEPTHS, NAMES, 0).data] == [[3, 2, 1], [9, 1, 0]]


def test_contributions_stand_at_their_layers_and_run_up_to_the_logit() -> None:
    layers = pd.DataFrame({"layer": [0, 1], "attention": [1.0, -2.0], "feed-forward": [0.5, 4.0], "so_far": [1.7, 3.7]})
    figure = attribution_bars(layers, 0.2, 1)
    by_name = {part.name: part for part in figure.data}
    assert list(by_name["attention"].y) == [1.0, -2.0]
    assert list(by_name["feed-forward"].customdata) == [0, 1]
    assert list(by_name["sum so far"].y) == [0.2, 1.7, 3.7]
    assert list(head_bars(pd.DataFrame({"head": [0, 1], "contribution": [0.1, -0.2]})).data[0].y) == [0.1, -0.2]


def test_prefill_and_decode_are_told_apart_by_more_than_colour() -> None:
    prefill, decode = time_bars(STEPS, 1).data
    assert (list(prefill.y), list(decode.y)) == ([40.0], [12.0])
    assert prefill.marker.pattern.shape != decode.marker.pattern.shape
    assert list(cache_bars(STEPS, 1).data[0].y) == [5.0, 6.0]
    assert list(sureness_bars(STEPS, 1).data[0].y) == [0.4, 0.9]


def test_a_cut_token_stays_and_says_so() -> None:
    table = pd.DataFrame({"token": ["a", "b"], "top-p": [0.9, 0.0], "logits": [2.0, -3.0]})
    assert stage_bars(table, "top-p", scores=False).data[0].text == ("90.0%", "cut")
    assert stage_bars(table, "logits", scores=True).data[0].text == ("2.00", "-3.00")


def test_counts_stand_beside_what_is_expected() -> None:
    table = pd.DataFrame({"token": ["a", "b"], "drawn": [6, 4], "expected": [5.0, 5.0], "spread": [1.0, 1.0]})
    bars, marks = count_bars(table).data
    assert list(bars.x) == [6, 4]
    assert list(marks.x) == [5.0, 5.0]
    assert list(marks.error_x.array) == [2.0, 2.0]
