"""A model without weights: what can be said of a size before, or without, loading it."""

import importlib
import inspect
from functools import cached_property

import torch

from explorer.architecture.catalogue import PARTS
from explorer.architecture.plan import present
from explorer.config import ModelConfig
from explorer.model.llama import Llama
from explorer.model.tap import Tap, taps_of


class Blueprint:
    """Shapes, counts and source code of the model that ``config`` describes, read off the real modules."""

    def __init__(self, config: ModelConfig) -> None:
        self.config = config

    @cached_property
    def model(self) -> Llama:
        """The modules on torch's ``meta`` device: shapes without memory."""
        with torch.device("meta"):
            return Llama(self.config)

    @cached_property
    def taps(self) -> dict[str, Tap]:
        """Every tap by its address."""
        return taps_of(self.model)

    @property
    def parameters(self) -> int:
        """How many numbers were learned; a table that is shared is counted once."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def parameters_of(self, part: str) -> int:
        """How many numbers a part of the catalogue learned, in one layer; a block counts what is inside it."""
        return self._own_parameters[part] + sum(self.parameters_of(each.id) for each in PARTS if each.inside == part)

    @cached_property
    def owners(self) -> dict[str, list[str]]:
        """The parts that each parameter belongs to, by its address: one each, or the catalogue is wrong."""
        modules = {part.id: part.address for part in present(self.config)[0] if part.address}
        blocks = {part.inside for part in PARTS}
        return {
            name: [
                part
                for part, address in modules.items()
                if part not in blocks and name.startswith(address.format(layer=layer_of(name)) + ".")
            ]
            for name, _ in self.model.named_parameters()
        }

    @cached_property
    def _own_parameters(self) -> dict[str, int]:
        """What belongs to each part itself, in the first layer or outside all layers."""
        counts = dict.fromkeys((part.id for part in PARTS), 0)
        for name, parameter in self.model.named_parameters():
            if layer_of(name) == "0":
                counts[self.owners[name][0]] += parameter.numel()
        return counts

    def shape(self, address: str, n_tokens: int) -> tuple[tuple[str, int], ...]:
        """The named axes of a tap for a prompt of ``n_tokens``, and how long each is."""
        sizes = self.config.axis_sizes(n_tokens)
        return tuple((axis, sizes[axis]) for axis in self.taps[address].axes)


def layer_of(address: str) -> str:
    """The number of the layer in an address, "0" for what is in none."""
    stack, _, rest = address.partition(".")
    return rest.partition(".")[0] if stack == "layers" else "0"


def source_of(name: str) -> str:
    """The code of a class or function by its dotted name, as it runs in this process."""
    module, _, part = name.rpartition(".")
    return inspect.getsource(getattr(importlib.import_module(module), part))
