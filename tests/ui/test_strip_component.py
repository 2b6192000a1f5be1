"""What is sent to the browser of a strip."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from explorer.ui.strip_component import MOST_CELLS, joined_columns, strongest_of_blocks


def test_a_small_table_is_sent_as_it_is() -> None:
    table = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert joined_columns(table) == 1
    assert strongest_of_blocks(table, 1, 0.0) is table


@given(st.integers(1, 70), st.integers(1, 17_000), st.integers(0, 99))
def test_joining_columns_loses_no_peak_and_keeps_to_the_limit(rows: int, columns: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    table = np.zeros((rows, columns), dtype=np.float32)
    row, column, value = generator.integers(rows), generator.integers(columns), generator.choice([-7.5, 3.25])
    table[row, column] = value
    block = joined_columns(table)
    shown = strongest_of_blocks(table, block, 0.0)
    assert shown.size <= MOST_CELLS + rows
    assert shown[row, column // block] == value
    assert np.count_nonzero(shown) == 1


def test_of_joined_columns_the_one_furthest_from_the_middle_is_shown() -> None:
    table = np.array([[1.0, 4.0, 2.0, 2.5, 9.0]], dtype=np.float32)
    assert strongest_of_blocks(table, 2, 2.0).tolist() == [[4.0, 2.5, 9.0]]
