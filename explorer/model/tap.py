"""Test points: the only places where the model can be observed."""

from typing import TYPE_CHECKING

from torch import Tensor, nn


class Tap(nn.Module):
    """Pass a tensor through unchanged, so that a forward hook can read it or replace it.

    ``axes`` names the tensor's axes in order; ``ModelConfig.axis_sizes`` gives their lengths.
    """

    def __init__(self, axes: str) -> None:
        super().__init__()
        self.axes = tuple(axes.split())

    def forward(self, x: Tensor) -> Tensor:
        """(...) -> (...), the same tensor"""
        return x

    def extra_repr(self) -> str:
        """The axes, for the printed model."""
        return " ".join(self.axes)


class Taps(nn.Module):
    """The named taps of one module: ``Taps(query="batch head token head_dim")``."""

    def __init__(self, **axes: str) -> None:
        super().__init__()
        for name, axis_names in axes.items():
            self.add_module(name, Tap(axis_names))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Tap: ...


def taps_of(model: nn.Module) -> dict[str, Tap]:
    """Every tap of ``model`` by its address, in the order in which data flows through the modules."""
    return {address: module for address, module in model.named_modules() if isinstance(module, Tap)}
