"""Read the taps of a model while it runs."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase

from torch import Tensor, nn

from explorer.errors import NoSuchTap
from explorer.model.tap import taps_of

Reader = Callable[[Tensor], None]


def matching(addresses: Iterable[str], pattern: str) -> list[str]:
    """The addresses that ``pattern`` names, in the model's order.

    Raises ``NoSuchTap`` when there is none.
    """
    found = [address for address in addresses if fnmatchcase(address, pattern)]
    if not found:
        raise NoSuchTap(
            f"No tensor of the model has the address {pattern!r}.",
            "Addresses look like layers.3.attention.tap.rotated_query; * stands for any layer.",
        )
    return found


@contextmanager
def recording(model: nn.Module, readers: Mapping[str, Reader]) -> Iterator[None]:
    """Hand the tensor that flows through each named tap to its reader, until the block ends.

    Only what this thread runs is read: two threads may run the same model at once and never see each other's tensors.
    """
    thread = threading.get_ident()
    taps = taps_of(model)

    def hook(reader: Reader) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
        def read(_tap: nn.Module, _inputs: tuple[Tensor, ...], output: Tensor) -> None:
            if threading.get_ident() == thread:
                reader(output)

        return read

    with ExitStack() as hooks:
        for address, reader in readers.items():
            if address not in taps:
                matching(taps, address)
            hooks.callback(taps[address].register_forward_hook(hook(reader)).remove)
        yield
