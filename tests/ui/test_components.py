"""Which chips of a long text are drawn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.ui.components import MAX_CHIPS, drawn_part


@given(count=st.integers(0, 100_000), selected=st.integers(-1, 100_000), most=st.integers(2, 5_000))
def test_the_selected_place_is_drawn_and_never_more_than_may_be(count: int, selected: int, most: int) -> None:
    selected = min(selected, count - 1)
    drawn = drawn_part(count, selected, most)
    assert len(drawn) == min(count, most)
    assert 0 <= drawn.start <= drawn.stop <= count
    assert selected == -1 or selected in drawn


@pytest.mark.parametrize("count", [1, MAX_CHIPS])
def test_a_text_that_fits_is_drawn_whole(count: int) -> None:
    assert drawn_part(count, count - 1) == range(count)


def test_most_steps_to_a_neighbour_draw_the_same_part() -> None:
    count = 5 * MAX_CHIPS
    moves = sum(drawn_part(count, place) != drawn_part(count, place + 1) for place in range(count - 1))
    assert moves < 12
