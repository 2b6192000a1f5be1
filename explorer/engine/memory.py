"""What fits, computed before anything is loaded."""

import os
from dataclasses import dataclass
from pathlib import Path

import torch

from explorer.checkpoint.checkpoint import Checkpoint
from explorer.engine.device import DTYPES
from explorer.errors import TooLarge

GIGABYTE, MEGABYTE = 1e9, 1e6
KERNEL = Path("/proc/meminfo")
LIMIT, USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
SPARE = 0.05  # of the free memory, left for the prompt's own tensors


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Bytes that may still be used on a device."""

    device: torch.device
    free: int

    @property
    def usable(self) -> int:
        """What weights may take of it."""
        return int(self.free * (1 - SPARE))


def memory_of(device: torch.device) -> Memory:
    """How much memory is free on ``device`` now; on the host within the limit of a container, too."""
    if device.type == "cuda":
        return Memory(device=device, free=torch.cuda.mem_get_info(device)[0])
    return Memory(device=device, free=min(_kernel_free(), _container_free()))


def fitting_dtype(checkpoint: Checkpoint, setting: str, memory: Memory) -> torch.dtype:
    """The precision that EXPLORER_DTYPE asks for, if the weights fit in it.

    ``auto`` is float32 on the CPU, where that fits, and bfloat16 otherwise: on a GPU, or where half as much fits.
    Raises ``TooLarge`` with what is needed, what is free, and what could be done.
    """
    wanted = _wanted(checkpoint, setting, memory.device)
    for dtype in wanted:
        if _fits(checkpoint, dtype, memory):
            return dtype
    raise too_large(checkpoint, wanted[-1], memory)


def fits_as_preferred(checkpoint: Checkpoint, setting: str, memory: Memory) -> bool:
    """Whether the weights fit in the precision that comes first for this setting."""
    return _fits(checkpoint, _wanted(checkpoint, setting, memory.device)[0], memory)


def too_large(checkpoint: Checkpoint, dtype: torch.dtype, memory: Memory) -> TooLarge:
    """What to tell of a model that does not fit: the figures, and every way out that would work here."""
    options = [
        f"EXPLORER_DTYPE={name} needs {_gigabytes(checkpoint.bytes_to_load(other, memory.device))}"
        for name, other in DTYPES.items()
        if _fits(checkpoint, other, memory)
    ]
    if memory.device.type == "cuda":
        options.append("EXPLORER_DEVICE=cpu uses the memory of the host")
    options.append("or use a smaller model, or a machine with more memory")
    needed = checkpoint.bytes_to_load(dtype, memory.device)
    return TooLarge(
        f"{checkpoint.config.name} in {str(dtype).removeprefix('torch.')} needs {_gigabytes(needed)}; "
        f"{memory.device} has {_gigabytes(memory.usable)} to give.",
        f"Options: {'; '.join(options)}.",
    )


def _wanted(checkpoint: Checkpoint, setting: str, device: torch.device) -> tuple[torch.dtype, ...]:
    """The precisions to try, the preferred one first; the narrow one on a CPU is that of the mapped file, if any."""
    if setting != "auto":
        return (DTYPES[setting],)
    narrow = torch.float16 if torch.float16 in checkpoint.mapped.values() else torch.bfloat16
    return (torch.float32, narrow) if device.type == "cpu" else (torch.bfloat16,)


def _fits(checkpoint: Checkpoint, dtype: torch.dtype, memory: Memory) -> bool:
    return checkpoint.bytes_to_load(dtype, memory.device) <= memory.usable


def _kernel_free() -> int:
    try:
        lines = dict(line.split(":", 1) for line in KERNEL.read_text("ascii").splitlines())
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return _physical()


def _container_free() -> int:
    """What the container's limit leaves. Pages of files count as used there although they can be given back."""
    try:
        limit = LIMIT.read_text("ascii").strip()
        return int(limit) - int(USED.read_text("ascii")) if limit != "max" else _physical()
    except (OSError, ValueError):
        return _physical()


def _physical() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 62  # no way to know: let the allocator say


def _gigabytes(count: int) -> str:
    return f"{count / GIGABYTE:.1f} GB" if count >= GIGABYTE / 10 else f"{count / MEGABYTE:.1f} MB"
