"""What the pictures of the rotation show."""

import math

import numpy as np
import pandas as pd
import pytest

from explorer.analysis.rope import extensions, schedule, score_by_distance, speeds_of
from explorer.checkpoint.known_models import known_models
from explorer.config import ModelConfig
from explorer.figures.rope import extension_lines, score_line, wavelength_lines


@pytest.fixture(scope="module")
def llama31() -> ModelConfig:
    return known_models()["llama-3.1-8b"].config


def test_both_contexts_and_three_zones_are_drawn_where_they_belong(llama31: ModelConfig) -> None:
    figure = wavelength_lines(schedule(llama31), {"trained on": 8192, "reaches": 131072}, shade=True)
    levels = [shape.y0 for shape in figure.layout.shapes if shape.y0 == shape.y1]
    assert levels == [8192, 131072]
    zones = [(shape.x0, shape.x1) for shape in figure.layout.shapes if shape.x0 not in (0, shape.x1)]
    assert zones == [(-0.5, 28.5), (28.5, 34.5), (34.5, 63.5)]
    texts = " ".join(note.text for note in figure.layout.annotations)
    assert "trained on 8,192" in texts
    assert "<b>blended</b><br>6" in texts
    before, used = figure.data[:2]
    assert used.y[-1] == pytest.approx(8 * before.y[-1])
    assert used.y[0] == before.y[0] == pytest.approx(2 * math.pi)
    assert figure.layout.yaxis.type == "log"


def test_a_schedule_without_scaling_is_one_line(tiny_config: ModelConfig) -> None:
    from dataclasses import replace

    table = schedule(replace(tiny_config, rope_scaling=None))
    figure = wavelength_lines(table, {"context": 128}, shade=False, selected=3)
    lines = [trace for trace in figure.data if trace.mode != "markers"]
    assert len(lines) == 1
    ring = figure.data[-1]
    assert (ring.x[0], ring.y[0]) == (3, table["wavelength"][3])


def test_three_ways_start_and_end_where_they_must(llama31: ModelConfig) -> None:
    figure = extension_lines(extensions(llama31, 8.0), 8.0)
    ends = {trace.name: (trace.y[0], trace.y[-1]) for trace in figure.data}
    assert ends["every pair slowed alike"] == (0.125, 0.125)
    assert ends["a larger theta alone"] == pytest.approx((1, 0.125))
    assert list(figure.layout.yaxis.ticktext) == ["1/8", "1/4", "1/2", "1"]


def test_a_way_that_the_model_does_not_take_is_left_out(tiny_config: ModelConfig) -> None:
    from dataclasses import replace

    figure = extension_lines(extensions(replace(tiny_config, rope_scaling=None), 4.0), 4.0)
    assert len(figure.data) == 2


def test_the_real_distance_lies_on_the_line(tiny_config: ModelConfig) -> None:
    query, key = np.random.default_rng(0).normal(size=(2, 10))
    scores: pd.DataFrame = score_by_distance(query, key, speeds_of(tiny_config), 50)
    mark = score_line(scores, 7).data[-1]
    assert (mark.x[0], mark.y[0]) == (7, scores["score"][7])
