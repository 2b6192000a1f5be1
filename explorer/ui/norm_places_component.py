"""Four small diagrams: where a norm can stand around a sub-layer."""

from collections.abc import Sequence
from dataclasses import asdict

from explorer.architecture.norm_places import NormPlace
from explorer.figures.theme import ATTENTION, RESIDUAL
from explorer.ui.components import component

_NORM_PLACES = component("norm_places")


def norm_places(places: Sequence[NormPlace], *, here: str, key: str) -> None:
    """A card for each of ``places``; ``here`` is the id of the one that the running model uses."""
    cards = [asdict(place) | {"here": place.id == here, "summary": place.summary} for place in places]
    _NORM_PLACES(key=key, data={"places": cards, "residual": RESIDUAL, "attention": ATTENTION})
