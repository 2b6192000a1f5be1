"""The small vector of a link."""

import pytest

from explorer.ui.view import UnusableValueError, View


def test_a_vector_is_read_from_a_link_and_written_in_its_shortest_form() -> None:
    view, problems = View.parse({"vector": "1, -2.50 3e2"})
    assert (view.vector, view.numbers, problems) == ("1,-2.5,300", (1.0, -2.5, 300.0), [])
    assert View.parse(view.params()) == (view, [])


def test_the_default_vector_is_not_written() -> None:
    assert View().numbers == (2.0, 4.0, 6.0)
    assert "vector" not in View().changed(vector="2, 4, 6").params()


@pytest.mark.parametrize("bad", ["", "1", "1,nan", "inf,1", "a,b", "1e13,1", ",".join("1" * 13), "1;2", "1,2<b>"])
def test_a_vector_that_cannot_be_used_falls_back_and_is_reported(bad: str) -> None:
    view, problems = View.parse({"vector": bad})
    assert view.numbers == (2.0, 4.0, 6.0)
    assert len(problems) == 1
    with pytest.raises(UnusableValueError):
        View().changed(vector=bad)
