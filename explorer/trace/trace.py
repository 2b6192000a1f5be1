"""What is asked of one run of the model, and what it left behind."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class TraceRequest:
    """Which tensors of which run to keep.

    ``taps``, ``norms`` and ``rows`` hold addresses such as ``layers.3.attention.tap.query``, where ``*`` stands for any
    layer: tensors to keep whole, tensors of which only the length of every vector is kept, and tensors of which only
    the scored tokens are kept. ``scored`` names the tokens whose final vectors are normalised and scored:
    ``tap.normalised`` and ``tap.logits`` hold these rows only.
    """

    model: str
    token_ids: tuple[int, ...]
    taps: frozenset[str] = frozenset()
    norms: frozenset[str] = frozenset()
    rows: frozenset[str] = frozenset()
    scored: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Recorded tensors by the address of their tap, without their batch axis.

    ``norms`` hold the L2 length of every vector: the tap's axes without the last one. ``rows`` hold the scored tokens
    only, in their order. Nobody may write into a trace: it is shared by everyone who asked for the same.
    """

    token_ids: tuple[int, ...]
    scored: tuple[int, ...]
    tensors: Mapping[str, Tensor]
    norms: Mapping[str, Tensor]
    rows: Mapping[str, Tensor] = field(default_factory=dict)

    def __getitem__(self, address: str) -> Tensor:
        return self.tensors[address]

    def layers(self, tap: str) -> Tensor:
        """What ``tap`` recorded in every layer, stacked along a new first axis."""
        return _stacked(self.tensors, tap)

    def layer_norms(self, tap: str) -> Tensor:
        """The lengths that ``tap`` recorded in every layer, stacked along a new first axis."""
        return _stacked(self.norms, tap)

    def layer_rows(self, tap: str) -> Tensor:
        """The scored tokens' rows of ``tap`` in every layer, stacked along a new first axis."""
        return _stacked(self.rows, tap)

    @property
    def n_bytes(self) -> int:
        """Bytes of all tensors."""
        return sum(tensor.nbytes for kept in (self.tensors, self.norms, self.rows) for tensor in kept.values())


def _stacked(tensors: Mapping[str, Tensor], tap: str) -> Tensor:
    by_layer = {}
    for address, tensor in tensors.items():
        stack, _, rest = address.partition(".")
        layer, _, name = rest.partition(".")
        if stack == "layers" and name == tap:
            by_layer[int(layer)] = tensor
    return torch.stack([by_layer[layer] for layer in sorted(by_layer)])
