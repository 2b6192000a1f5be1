"""How wide a gated feed-forward is made: the two-thirds rule and Meta's rounding."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

WIDTHS = Path(__file__).parent.parent.parent / "assets" / "feed_forward_widths.json"


@dataclass(frozen=True, kw_only=True)
class Width:
    """The steps from d_model to d_ff.

    A plain feed-forward is four times as wide as the stream. A gated one has three matrices instead of two, so two
    thirds of that width cost the same; then the model's own multiplier; then rounding up to a convenient multiple.
    """

    d_model: int
    multiplier: float
    multiple_of: int

    @property
    def plain(self) -> int:
        """4 · d_model."""
        return 4 * self.d_model

    @property
    def two_thirds(self) -> int:
        """Two thirds of it, cut to a whole number."""
        return 2 * self.plain // 3

    @property
    def multiplied(self) -> int:
        """That times the multiplier, cut to a whole number."""
        return int(self.multiplier * self.two_thirds)

    @property
    def d_ff(self) -> int:
        """That rounded up to a multiple of ``multiple_of``: ``FeedForward.__init__`` in Meta's model.py."""
        return self.multiple_of * -(-self.multiplied // self.multiple_of)


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A published model: its name, its numbers, and the width that its files have."""

    name: str
    width: Width
    d_ff: int


@cache
def presets() -> tuple[Preset, ...]:
    """Published Llamas whose ``params.json`` states multiplier and multiple."""
    return tuple(
        Preset(
            name=entry["name"],
            width=Width(d_model=entry["d_model"], multiplier=entry["multiplier"], multiple_of=entry["multiple_of"]),
            d_ff=entry["d_ff"],
        )
        for entry in json.loads(WIDTHS.read_text("utf-8"))
    )
