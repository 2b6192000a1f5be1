"""What a safetensors file says about itself, checked before the safetensors library sees the file.

Format: https://github.com/huggingface/safetensors#format: eight bytes with the length of a JSON header, the header,
then the tensors without a gap.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from explorer.checkpoint.file_check import check_tensor_name, checked_size, unreadable
from explorer.checkpoint.json_file import damaged, parsed_table
from explorer.errors import BadModelFile

MAX_HEADER_BYTES = 16 << 20
MAX_TENSORS = 65_536
MAX_DIMENSIONS = 8
LENGTH_BYTES = 8
DTYPE_BYTES = MappingProxyType(
    {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1}
    | {"U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1}
)


@dataclass(frozen=True, kw_only=True)
class StoredTensor:
    """One tensor of the file; ``start`` and ``end`` count bytes from the end of the header."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class SafetensorsHeader:
    """A header that has been checked."""

    path: Path
    metadata: Mapping[str, str]
    tensors: Mapping[str, StoredTensor]


def read_safetensors_header(path: Path) -> SafetensorsHeader:
    """Read and check the header of ``path``. Raises ``BadModelFile`` for anything but a sound, whole file."""
    size = checked_size(path)
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(LENGTH_BYTES), "little")
            if not 2 <= length <= MAX_HEADER_BYTES:
                raise damaged(path, f"the header claims {length} bytes, expected 2 to {MAX_HEADER_BYTES}")
            if LENGTH_BYTES + length > size:
                raise _truncated(path, "the header", LENGTH_BYTES + length, size)
            text = file.read(length)
    except OSError as error:
        raise unreadable(path, error) from error
    entries = parsed_table(path, text, "the header")
    metadata = entries.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise damaged(path, "__metadata__ is not a table of texts")
    if len(entries) > MAX_TENSORS:
        raise damaged(path, f"the header lists {len(entries)} tensors, expected at most {MAX_TENSORS}")
    tensors = {name: _tensor(path, name, entry) for name, entry in entries.items()}
    _check_tiling(path, tensors, start=LENGTH_BYTES + length, size=size)
    return SafetensorsHeader(path=path, metadata=MappingProxyType(metadata), tensors=MappingProxyType(tensors))


def _tensor(path: Path, name: str, entry: object) -> StoredTensor:
    check_tensor_name(path, name)
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise damaged(path, f"tensor {name} is not described by dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPE_BYTES:
        raise damaged(path, f"tensor {name} is of the unknown dtype {str(dtype)[:12]!r}")
    if not _are_sizes(shape) or len(shape) > MAX_DIMENSIONS:
        raise damaged(path, f"the shape of tensor {name} is not a list of at most {MAX_DIMENSIONS} sizes")
    if not _are_sizes(offsets) or len(offsets) != 2:
        raise damaged(path, f"the data_offsets of tensor {name} are not two numbers")
    start, end = offsets
    if math.prod(shape) * DTYPE_BYTES[dtype] != end - start:
        raise damaged(
            path, f"tensor {name} has {end - start} bytes, its shape needs {math.prod(shape) * DTYPE_BYTES[dtype]}"
        )
    return StoredTensor(name=name, dtype=dtype, shape=tuple(shape), start=start, end=end)


def _are_sizes(numbers: object) -> bool:
    # Bounded, so that the product of a shape stays a number that is quick to compute.
    return isinstance(numbers, list) and all(type(number) is int and 0 <= number < 1 << 48 for number in numbers)


def _check_tiling(path: Path, tensors: Mapping[str, StoredTensor], *, start: int, size: int) -> None:
    """The tensors fill the rest of the file: no overlap, no hole, nothing after the last."""
    end = 0
    for tensor in sorted(tensors.values(), key=lambda tensor: (tensor.start, tensor.end)):
        if tensor.start != end:
            raise damaged(path, f"tensor {tensor.name} starts at byte {tensor.start}, expected {end}")
        end = tensor.end
        if start + end > size:
            raise _truncated(path, f"tensor {tensor.name}", start + end, size)
    if start + end != size:
        raise damaged(path, f"the last tensor ends at byte {start + end}, the file has {size}")


def _truncated(path: Path, what: str, needed: int, size: int) -> BadModelFile:
    return BadModelFile(
        f"{path.name}: the file is truncated: {what} needs bytes up to {needed}, the file has {size}",
        "Download or copy the file again.",
    )
