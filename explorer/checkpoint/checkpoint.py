"""A model on the disk, whatever its format: its sizes, its tokenizer, and its weights under our names."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import torch
from torch import Tensor

from explorer.checkpoint.finite import check_finite
from explorer.checkpoint.names import Naming, match_names, parameter_shapes
from explorer.checkpoint.rotary_order import adjacent_pairs, is_rotated
from explorer.config import ModelConfig, TokenizerSource
from explorer.errors import UnsupportedModel
from explorer.model.llama import Llama


@dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """One model, checked and ready to load.

    ``architecture`` is its family as Hugging Face and llama.cpp spell it, such as "qwen3". ``precision`` counts the
    weights of each number format in the file; ``parameters`` counts numbers, those of a tied embedding once; ``notes``
    name the tensors of the file that are no parameters, and what else might surprise.
    ``read`` gives one parameter in the file's precision; for those in ``mapped`` it is part of the mapped file, in this
    precision, and takes no memory of its own.
    """

    config: ModelConfig
    architecture: str
    tokenizer: TokenizerSource
    source: str
    precision: Mapping[str, int]
    parameters: int
    notes: tuple[str, ...]
    read: Callable[[str], Tensor]
    mapped: Mapping[str, torch.dtype]

    def bytes_to_load(self, dtype: torch.dtype, device: torch.device) -> dict[str, int]:
        """Bytes of memory on ``device`` that every parameter takes in ``dtype``, beyond the pages of mapped files."""
        stays = {name for name, kind in self.mapped.items() if device.type == "cpu" and kind == dtype}
        shapes = parameter_shapes(self.config)
        return {name: 0 if name in stays else prod(shape) * dtype.itemsize for name, shape in shapes.items()}

    def tensors(
        self, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
    ) -> Iterator[tuple[str, Tensor]]:
        """Every parameter under our module path, one at a time, as ``dtype`` on ``device``.

        Raises ``BadModelFile`` at the first that holds NaN or infinity.
        """
        for name in parameter_shapes(self.config):
            yield name, self.read(name).to(device=device, dtype=dtype)

    def load_into(
        self,
        model: Llama,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        layers: Sequence[torch.device | None] | None = None,
    ) -> None:
        """Give ``model``, which may be on the meta device, these weights.

        They replace its parameters rather than being copied into them: mapped weights stay mapped. ``layers`` names a
        device for every layer, where they are not all on ``device``; those with None get no weights.
        """
        weights: dict[str, Tensor] = {}
        for name in parameter_shapes(self.config):
            place = device if layers is None or not name.startswith("layers.") else layers[int(name.split(".")[1])]
            if place is not None:
                weights[name] = self.read(name).to(device=place, dtype=dtype)
        if self.config.tied_embedding:
            weights["unembedding.weight"] = weights["embedding.weight"]
        model.load_state_dict(weights, assign=True, strict=layers is None)
        if self.config.tied_embedding:
            model.unembedding.weight = model.embedding.weight


class StoredWeights(Protocol):
    """What all readers of a format have in common: tensors under the names of the file."""

    path: Path

    @property
    def source(self) -> str:
        """The name of the file or folder, and what is done to it."""

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of every tensor."""

    @property
    def types(self) -> Mapping[str, str]:
        """The number format of every tensor."""

    def file_of(self, name: str) -> str:
        """The name of the file that holds a tensor."""

    def mapped_as(self, name: str) -> torch.dtype | None:
        """The precision in which ``read`` gives a part of a mapped file; None where it gives a copy."""

    def read(self, name: str) -> Tensor:
        """One tensor."""


def checkpoint_of(
    stored: StoredWeights,
    naming: Naming,
    config: ModelConfig,
    tokenizer: TokenizerSource,
    *,
    architecture: str,
    readable: Collection[str],
    half_split: bool = False,
    notes: tuple[str, ...] = (),
) -> Checkpoint:
    """The model of ``config`` whose tensors ``stored`` holds under the names of ``naming``.

    ``half_split`` says that rows of query and key are in Hugging Face's order. Raises ``BadModelFile`` for a tensor
    that is missing or of another shape, ``UnsupportedModel`` for a number format that is not ``readable`` or a tensor
    without a place.
    """
    shapes, types = stored.shapes, stored.types
    matched = match_names(naming, config, shapes, stored.path.name)
    precision = Counter(types[tensor] for tensor in matched.stored.values())
    for type_name in precision:
        if type_name not in readable:
            raise UnsupportedModel(
                f"{stored.path.name}: weights of the type {type_name} cannot be read, only {', '.join(readable)}",
                "Use the same model in another precision, such as BF16, or quantised as Q8_0 or Q4_K_M.",
            )

    def read(parameter: str) -> Tensor:
        name = matched.stored[parameter]
        tensor = stored.read(name)
        check_finite(tensor, parameter, stored.file_of(name), name)
        return adjacent_pairs(config, parameter, tensor) if half_split else tensor

    mapped = {
        parameter: kind
        for parameter, name in matched.stored.items()
        if (kind := stored.mapped_as(name)) is not None and not (half_split and is_rotated(parameter))
    }

    return Checkpoint(
        config=config,
        architecture=architecture,
        tokenizer=tokenizer,
        source=stored.source,
        precision=MappingProxyType(dict(precision.most_common())),
        parameters=sum(prod(shapes[tensor]) for tensor in matched.stored.values()),
        notes=(*notes, *matched.notes),
        read=read,
        mapped=MappingProxyType(mapped),
    )
