"""A model without weights: what can be said of a size before, or without, loading it."""

import importlib
import inspect
from functools import cached_property

import torch

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

    def shape(self, address: str, n_tokens: int) -> tuple[tuple[str, int], ...]:
        """The named axes of a tap for a prompt of ``n_tokens``, and how long each is."""
        sizes = self.config.axis_sizes(n_tokens)
        return tuple((axis, sizes[axis]) for axis in self.taps[address].axes)


def source_of(name: str) -> str:
    """The code of a class or function by its dotted name, as it runs in this process."""
    module, _, part = name.rpartition(".")
    return inspect.getsource(getattr(importlib.import_module(module), part))
