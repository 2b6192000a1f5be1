"""Where each layer of a model lies: on one device, spread over several, or in the files until it is needed.

Layers are never cut: a tap sees the same whole tensor wherever its layer runs.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import torch
from torch import Tensor, nn

from explorer.checkpoint.checkpoint import Checkpoint
from explorer.engine.device import DTYPES
from explorer.engine.memory import Memory, gigabytes
from explorer.errors import TooLarge
from explorer.model.llama import Llama

LAYERS_AT_ONCE = 2  # while one is replaced by the next


@dataclass(frozen=True, kw_only=True)
class Placement:
    """``outer`` holds embedding, final norm and unembedding; ``layers`` names the device of each layer.

    With ``streamed`` the layers run on their device, but are read from the files every time.
    """

    dtype: torch.dtype
    outer: torch.device
    layers: tuple[torch.device, ...]
    streamed: bool = False

    @property
    def device(self) -> str:
        """The devices for people, such as "cuda:0 and cuda:1"."""
        return " and ".join(dict.fromkeys(str(device) for device in (self.outer, *self.layers)))


def placement(checkpoint: Checkpoint, setting: str, memories: Sequence[Memory]) -> Placement:
    """The first way that fits: on the first device, over all of them, layer by layer from the files.

    ``setting`` is EXPLORER_DTYPE. Its ``auto`` is bfloat16 on a GPU and float32 on the CPU, or there the 16 bits of the
    file where float32 does not fit. Raises ``TooLarge`` with what is needed, what is free, and what could be done.
    """
    choices = _choices(checkpoint, setting, memories[0].device)
    for some in (memories[:1], memories):
        for dtype in choices:
            layers = _spread(checkpoint, dtype, some)
            if layers is not None:
                return Placement(dtype=dtype, outer=memories[0].device, layers=layers)
    if _streamed_bytes(checkpoint, choices[0], memories[0].device) <= memories[0].usable:
        here = memories[0].device
        return Placement(dtype=choices[0], outer=here, layers=(here,) * checkpoint.config.n_layers, streamed=True)
    raise _too_large(checkpoint, choices[-1], memories)


def fits_as_preferred(checkpoint: Checkpoint, setting: str, memories: Sequence[Memory]) -> bool:
    """Whether the weights fit in the precision that comes first for this setting."""
    return _spread(checkpoint, _choices(checkpoint, setting, memories[0].device)[0], memories) is not None


def place(model: Llama, checkpoint: Checkpoint, where: Placement) -> float | None:
    """Load ``model``, made on the meta device, as ``where`` says.

    For a streamed model the seconds that reading all its layers will take at every run, as far as one layer can tell.
    """
    checkpoint.load_into(
        model, where.dtype, where.outer, layers=[None] * len(where.layers) if where.streamed else where.layers
    )
    model.requires_grad_(False)
    model.eval()
    if len({where.outer, *where.layers}) > 1:
        for layer, device in zip(model.layers, where.layers, strict=True):
            layer.register_forward_pre_hook(_mover(device))
        model.norm.register_forward_pre_hook(_mover(where.outer))
    return _stream(model, checkpoint, where) if where.streamed else None


def _mover(device: torch.device) -> Callable[[nn.Module, tuple[object, ...]], tuple[object, ...]]:
    """A hook that brings what a module reads to the device on which it runs."""

    def moved(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(moved(part) for part in value)
        return value.to(device) if isinstance(value, Tensor) else value

    return lambda _module, inputs: tuple(moved(value) for value in inputs)


def _stream(model: Llama, checkpoint: Checkpoint, where: Placement) -> float:
    """Have every layer read its weights before it runs and let them go afterwards; one thread at a time."""
    running = threading.RLock()

    def give(layer: nn.Module, number: int) -> None:
        weights = {name: checkpoint.read(f"layers.{number}.{name}") for name in layer.state_dict()}
        placed = {name: weight.to(device=where.outer, dtype=where.dtype) for name, weight in weights.items()}
        layer.load_state_dict(placed, assign=True)
        layer.requires_grad_(False)

    def take(layer: nn.Module) -> None:
        layer.load_state_dict({name: weight.to("meta") for name, weight in layer.state_dict().items()}, assign=True)

    def before(number: int) -> Callable[[nn.Module, tuple[object, ...]], None]:
        def hook(layer: nn.Module, _inputs: tuple[object, ...]) -> None:
            running.acquire()
            give(layer, number)

        return hook

    def after(layer: nn.Module, _inputs: tuple[object, ...], _output: object) -> None:
        take(layer)
        running.release()

    for number, layer in enumerate(model.layers):
        layer.register_forward_pre_hook(before(number))
        layer.register_forward_hook(after, always_call=True)  # also when the run is cancelled inside the layer
    started = perf_counter()
    give(model.layers[0], 0)
    seconds = perf_counter() - started
    take(model.layers[0])
    return seconds * len(model.layers)


def _choices(checkpoint: Checkpoint, setting: str, device: torch.device) -> tuple[torch.dtype, ...]:
    """The precisions to try, the preferred one first."""
    if setting != "auto":
        return (DTYPES[setting],)
    narrow = torch.float16 if torch.float16 in checkpoint.mapped.values() else torch.bfloat16
    return (torch.float32, narrow) if device.type == "cpu" else (torch.bfloat16,)


def _spread(checkpoint: Checkpoint, dtype: torch.dtype, memories: Sequence[Memory]) -> tuple[torch.device, ...] | None:
    """The device of every layer, filling one device after the other; None if the last one overflows."""
    at, free = 0, memories[0].usable
    outer, _ = _parts(checkpoint, dtype, memories[0].device)
    free -= outer
    if free < 0:
        return None
    layers: list[torch.device] = []
    needs = {memory.device: _parts(checkpoint, dtype, memory.device)[1] for memory in memories}
    for layer in range(checkpoint.config.n_layers):
        while needs[memories[at].device][layer] > free:
            at += 1
            if at == len(memories):
                return None
            free = memories[at].usable
        free -= needs[memories[at].device][layer]
        layers.append(memories[at].device)
    return tuple(layers)


def _parts(checkpoint: Checkpoint, dtype: torch.dtype, device: torch.device) -> tuple[int, list[int]]:
    """Bytes of what lies outside the layers, and of each layer."""
    outer, layers = 0, [0] * checkpoint.config.n_layers
    for name, count in checkpoint.bytes_to_load(dtype, device).items():
        if name.startswith("layers."):
            layers[int(name.split(".")[1])] += count
        else:
            outer += count
    return outer, layers


def _streamed_bytes(checkpoint: Checkpoint, dtype: torch.dtype, device: torch.device) -> int:
    outer, layers = _parts(checkpoint, dtype, device)
    return outer + LAYERS_AT_ONCE * max(layers)


def _too_large(checkpoint: Checkpoint, dtype: torch.dtype, memories: Sequence[Memory]) -> TooLarge:
    """The figures, and every way out that would work here."""
    here = memories[0]
    sizes = {name: sum(checkpoint.bytes_to_load(other, here.device).values()) for name, other in DTYPES.items()}
    options = [f"EXPLORER_DTYPE={name} needs {gigabytes(size)}" for name, size in sizes.items() if size <= here.usable]
    if here.device.type == "cuda":
        options.append("EXPLORER_DEVICE=cpu uses the memory of the host")
    options.append("a smaller model, or a machine with more memory")
    name = str(dtype).removeprefix("torch.")
    return TooLarge(
        f"{checkpoint.config.name} in {name} needs {gigabytes(sizes[name])}, and "
        f"{gigabytes(_streamed_bytes(checkpoint, dtype, here.device))} even if read layer by layer; "
        f"{' and '.join(f'{memory.device} has {gigabytes(memory.usable)}' for memory in memories)} to give.",
        f"Options: {'; '.join(options)}.",
    )
