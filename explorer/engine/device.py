"""Where a model runs, and in which precision."""

import torch

from explorer.errors import BadValue

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def choose_device(setting: str) -> torch.device:
    """The device that EXPLORER_DEVICE asks for; ``auto`` is the first GPU, or the CPU.

    Raises ``BadValue`` when it asks for a GPU that is not there.
    """
    if setting == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(setting)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise BadValue(
            f"EXPLORER_DEVICE is {setting!r}, and torch {torch.__version__} sees {torch.cuda.device_count()} GPUs.",
            "Set EXPLORER_DEVICE to auto or cpu, or install a CUDA build of torch.",
        )
    return device


def visible_devices(setting: str) -> tuple[torch.device, ...]:
    """The devices that EXPLORER_DEVICE lets a model take, the first one first: every GPU, unless it names one."""
    first = choose_device(setting)
    if first.type == "cpu" or ":" in setting:
        return (first,)
    return tuple(torch.device("cuda", index) for index in range(torch.cuda.device_count()))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether ``error`` says that host or device memory is used up; on the host torch raises a plain RuntimeError."""
    if isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and ("alloc_cpu" in str(error) or "not enough memory" in str(error))
