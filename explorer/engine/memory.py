"""How much memory is free, on the host and on each GPU."""

import os
from dataclasses import dataclass
from pathlib import Path

import torch

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


def gigabytes(count: int) -> str:
    """A number of bytes for people, in the unit in which memory is sold."""
    return f"{count / GIGABYTE:.1f} GB" if count >= GIGABYTE / 10 else f"{count / MEGABYTE:.1f} MB"


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
