"""Where a norm can stand: the diagrams say what the formulas say."""

import pytest

from explorer.analysis.norm_gradients import PLACES
from explorer.architecture.norm_places import NORM_PLACES, NormPlace


@pytest.mark.parametrize("place", NORM_PLACES, ids=lambda place: place.id)
def test_the_formula_read_from_the_inside_out_is_the_drawn_path(place: NormPlace) -> None:
    branch = "x"
    for step in place.branch:
        branch = f"{'Norm' if step == 'norm' else 'F'}({branch})"
    total = f"x + {branch}"
    assert place.formula == f"x ← {f'Norm({total})' if place.after else total}"


def test_the_four_places_are_those_whose_gradients_are_computed() -> None:
    assert [place.id for place in NORM_PLACES] == list(PLACES)


def test_only_post_norm_stands_on_the_stream() -> None:
    assert [place.id for place in NORM_PLACES if place.after] == ["post"]
