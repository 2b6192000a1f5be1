"""Pictures of neurons."""

import numpy as np
import pandas as pd

from explorer.analysis.activations import activation_curves
from explorer.figures.feed_forward import curve_lines, needed_line, quiet_line, stage_bars


def test_every_neuron_is_counted_once_at_every_stage() -> None:
    numbers = np.random.default_rng(0).normal(size=(4, 300))
    table = pd.DataFrame(dict(zip(("gate", "silu_gate", "up", "product"), numbers, strict=True)))
    figure = stage_bars(table)
    assert [sum(bars.y) for bars in figure.data] == [300] * 4
    assert {annotation.text for annotation in figure.layout.annotations} == {"gate", "SiLU(gate)", "up", "product"}


def test_neurons_that_are_all_alike_still_have_a_bar() -> None:
    table = pd.DataFrame(dict.fromkeys(("gate", "silu_gate", "up", "product"), [0.0] * 5))
    assert [sum(bars.y) for bars in stage_bars(table).data] == [5] * 4


def test_the_marked_place_is_the_first_that_leaves_little_enough() -> None:
    errors = np.concatenate([[1.0], np.linspace(0.9, 0.0, 500)])
    line, marked = needed_line(errors, 0.1).data
    place = marked.x[0]
    assert errors[place] <= 0.1 < errors[place - 1]
    assert line.x[0] == 0
    assert line.x[-1] == 500
    np.testing.assert_array_equal(line.y, errors[line.x])


def test_the_quiet_share_is_marked_at_the_chosen_threshold() -> None:
    shares = pd.DataFrame({"threshold": [0.01, 0.1, 1.0], "share": [0.1, 0.5, 0.9]})
    line, marked = quiet_line(shares, 0.1, 0.5).data
    assert list(line.y) == [0.1, 0.5, 0.9]
    assert (marked.x[0], marked.y[0]) == (0.1, 0.5)


def test_every_function_has_a_line_and_inputs_far_out_are_marked_at_the_edge() -> None:
    figure = curve_lines(activation_curves(), [0.5, 0.501, -80.0], "slope")
    *lines, rug = figure.data
    assert [line.name for line in lines] == ["ReLU", "GELU", "GELU (tanh)", "SiLU"]
    assert list(rug.x) == [-6.0, 0.5]
    assert max(rug.y) < min(min(line.y) for line in lines)
