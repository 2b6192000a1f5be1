"""The models that everyone asks about, ready to be counted: those that run here, and those of other families."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from explorer.architecture.counted_model import CountedModel, counted_from_json
from explorer.architecture.decoder_sizes import DecoderSizes, sizes_of
from explorer.architecture.parameters import parameter_count
from explorer.config.known_models import MODELS, known_models


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A published model; ``source`` is the address of its description.

    ``published`` is how many numbers its makers' files hold by their own account, buffers included; None if unknown.
    """

    id: str
    name: str
    source: str
    sizes: DecoderSizes
    notes: tuple[str, ...]
    published: int | None

    @property
    def buffers(self) -> int | None:
        """How many numbers of the published files were not learned."""
        return None if self.published is None else self.published - parameter_count(self.sizes).total


@cache
def presets() -> Mapping[str, Preset]:
    """Every preset by its id, smallest first."""
    entries = [json.loads(path.read_text("utf-8")) for path in MODELS.glob("*.json")]
    found = sorted(map(_preset, entries), key=lambda preset: (parameter_count(preset.sizes).total, preset.id))
    return {preset.id: preset for preset in found}


def _preset(entry: Mapping[str, object]) -> Preset:
    model, name = str(entry["id"]), str(entry["name"])
    description, published = entry.get("description"), entry.get("published")
    if isinstance(description, dict):
        counted = counted_from_json(description, name=name, file_name=f"{model}.json")
    else:
        counted = CountedModel(sizes=sizes_of(known_models()[model].config))
    return Preset(
        id=model,
        name=name,
        source=str(entry["source"]),
        sizes=counted.sizes,
        notes=counted.notes,
        published=published if isinstance(published, int) else None,
    )
