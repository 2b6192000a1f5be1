"""Four small diagrams: where a norm can stand around a sub-layer."""

from dataclasses import asdict

from explorer.architecture.norm_places import NORM_PLACES
from explorer.figures.theme import ATTENTION, RESIDUAL
from explorer.ui.components import component

_NORM_PLACES = component("norm_places")


def norm_places(*, here: str, key: str) -> None:
    """A card for each place; ``here`` is the id of the one that the running model uses."""
    cards = [asdict(place) | {"here": place.id == here, "summary": place.summary} for place in NORM_PLACES]
    _NORM_PLACES(key=key, data={"places": cards, "residual": RESIDUAL, "attention": ATTENTION})
