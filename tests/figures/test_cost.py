"""The drawings of the cost page show the numbers of their tables."""

import pytest

from explorer.analysis.cost import (
    cache_table,
    crossover,
    operation_table,
    share_table,
    steps_of_work,
    time_table,
)
from explorer.architecture.presets import presets
from explorer.architecture.roofline import accelerators
from explorer.figures.cost import COLOURS, cache_lines, in_operations, operation_lines, roofline, share_bars


@pytest.fixture(params=["llama-3.1-8b", "gpt-2-small", "gemma-2-9b", "mistral-7b-v0.1", "mixtral-8x7b"])
def sizes(request):
    return presets()[request.param].sizes


def test_every_bar_is_whole_and_every_part_has_its_colour(sizes):
    shares = share_table(sizes, 8192, {})
    figure = share_bars(shares)
    assert sum(sum(bar.x) for bar in figure.data) == pytest.approx(shares["of"].nunique())
    assert {bar.name: bar.marker.color for bar in figure.data}.items() <= COLOURS.items()


def test_the_crossover_stands_where_the_lines_meet(sizes):
    table, equal = operation_table(sizes, 8192), crossover(sizes)
    figure = operation_lines(table, at=8192, crossover=equal)
    marks = [trace for trace in figure.data if trace.mode == "markers"]
    assert len(marks) == (0 if equal is None else 1)
    assert all((mark.x[0], mark.y[0]) == (equal, table["matrices"][0]) for mark in marks)


def test_the_cache_is_drawn_once_for_each_number_of_key_value_heads(sizes):
    figure = cache_lines(cache_table(sizes, 8192), at=8192, heads=(sizes.n_heads, sizes.n_kv_heads), weights=10**9)
    lines = [tuple(trace.y) for trace in figure.data]
    assert len(lines) == len(set(lines)) == 1 + len({1, sizes.n_kv_heads, sizes.n_heads})


def test_every_step_of_work_stands_on_the_roof(sizes):
    machine = accelerators()["a100"]
    works = steps_of_work(sizes, context=8192, batch=8, n_tokens=5, precision="int8")
    table = time_table(works, machine)
    figure = roofline(table, bandwidth=machine.bandwidth, compute=machine.compute)
    for mark in figure.data[1:]:
        assert mark.y[0] == pytest.approx(min(mark.x[0] * machine.bandwidth, machine.compute))


def test_powers_of_ten_have_letters():
    assert [in_operations(10**n) for n in (3, 7, 9, 14, 15)] == ["1 k", "10 M", "1 G", "100 T", "1 P"]
