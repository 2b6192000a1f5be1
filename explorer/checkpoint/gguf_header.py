"""What a GGUF file says about itself: its metadata and where each tensor lies.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Nothing in the file is believed before it is held
against the size of the file, so that a hostile one costs neither time nor memory.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from explorer.checkpoint.file_check import check_tensor_name, checked_size, unreadable
from explorer.checkpoint.ggml_type import GGML_TYPES
from explorer.checkpoint.gguf_cursor import GGUFCursor
from explorer.errors import BadModelFile, UnsupportedModel

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_ENTRIES = 65_536
MAX_DIMENSIONS = 4
ALIGNMENTS = tuple(1 << power for power in range(3, 17))
DEFAULT_ALIGNMENT = 32
PART_OF_NAME = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")


@dataclass(frozen=True, kw_only=True)
class TensorEntry:
    """One tensor of the file: ``shape`` in torch's order, ``offset`` in bytes from the start of the file."""

    name: str
    shape: tuple[int, ...]
    type: str
    offset: int
    n_bytes: int


@dataclass(frozen=True, kw_only=True)
class GGUFHeader:
    """A header that has been checked. Arrays of the metadata are lists."""

    path: Path
    version: int
    metadata: Mapping[str, object]
    tensors: Mapping[str, TensorEntry]


def read_gguf_header(path: Path) -> GGUFHeader:
    """Read and check the header of ``path``.

    Raises ``BadModelFile`` for a file that is damaged, truncated, hostile or one part of several, and
    ``UnsupportedModel`` for versions and byte orders that are sound but not read here.
    """
    _refuse_part_by_name(path)
    header = read_part_header(path)
    _refuse_part_by_metadata(path, header.metadata)
    return header


def read_part_header(path: Path) -> GGUFHeader:
    """Read and check the header of a file that may be one part of several."""
    size = checked_size(path)
    try:
        with path.open("rb") as file:
            cursor = GGUFCursor(file, size, path.name)
            version = _version(path, cursor)
            n_tensors = cursor.count("the number of tensors", MAX_ENTRIES)
            n_keys = cursor.count("the number of metadata keys", MAX_ENTRIES)
            metadata = _metadata(path, cursor, n_keys)
            tensors = _tensors(path, cursor, n_tensors, _alignment(path, metadata))
    except OSError as error:
        raise unreadable(path, error) from error
    _check_places(path, tensors, size)
    return GGUFHeader(
        path=path, version=version, metadata=MappingProxyType(metadata), tensors=MappingProxyType(tensors)
    )


def _version(path: Path, cursor: GGUFCursor) -> int:
    magic = cursor.raw(4, "the magic number")
    if magic != MAGIC:
        raise BadModelFile(
            f"{path.name} is not a GGUF file: it starts with {magic!r}, expected {MAGIC!r}",
            "Choose another file, or download this one again.",
        )
    version = cursor.uint32("the version")
    if version in VERSIONS:
        return version
    if int.from_bytes(version.to_bytes(4, "little"), "big") in VERSIONS:
        raise UnsupportedModel(
            f"{path.name}: the numbers in this GGUF file are big-endian, expected little-endian",
            "Use the little-endian file of the same model.",
        )
    raise UnsupportedModel(
        f"{path.name}: GGUF version {version}, expected {' or '.join(map(str, VERSIONS))}",
        "Convert the model again with a current llama.cpp.",
    )


def _metadata(path: Path, cursor: GGUFCursor, n_keys: int) -> dict[str, object]:
    metadata: dict[str, object] = {}
    for index in range(n_keys):
        key = cursor.text(f"the name of metadata key {index}")
        if not key.isprintable() or not 0 < len(key) <= 256:
            raise _damaged(path, f"the name of metadata key {index} is {key[:40]!r}, expected printable text")
        if key in metadata:
            raise _damaged(path, f"the metadata key {key} appears twice")
        metadata[key] = cursor.value(cursor.uint32(f"the type of {key}"), f"the value of {key}")
    return metadata


def _tensors(path: Path, cursor: GGUFCursor, n_tensors: int, alignment: int) -> dict[str, TensorEntry]:
    stated: dict[str, TensorEntry] = {}
    for index in range(n_tensors):
        entry = _stated_entry(path, cursor, index)
        if entry.name in stated:
            raise _damaged(path, f"the tensor {entry.name} appears twice")
        if entry.offset % alignment:
            raise _damaged(path, f"the offset of tensor {entry.name} is not a multiple of {alignment}")
        stated[entry.name] = entry
    start = -(-cursor.position // alignment) * alignment  # offsets in the file count from the end of the header
    return {
        entry.name: TensorEntry(
            name=entry.name, shape=entry.shape, type=entry.type, offset=start + entry.offset, n_bytes=entry.n_bytes
        )
        for entry in stated.values()
    }


def _stated_entry(path: Path, cursor: GGUFCursor, index: int) -> TensorEntry:
    name = cursor.text(f"the name of tensor {index}")
    check_tensor_name(path, name)
    n_dimensions = cursor.uint32(f"the number of dimensions of {name}")
    if not 1 <= n_dimensions <= MAX_DIMENSIONS:
        raise _damaged(path, f"tensor {name} has {n_dimensions} dimensions, expected 1 to {MAX_DIMENSIONS}")
    sizes = [cursor.uint64(f"the shape of {name}") for _ in range(n_dimensions)]
    number = cursor.uint32(f"the type of {name}")
    offset = cursor.uint64(f"the offset of {name}")
    kind = GGML_TYPES.get(number)
    if kind is None:
        raise UnsupportedModel(
            f"{path.name}: tensor {name} is of the unknown ggml type {number}",
            "Use the same model in another quantisation, such as Q8_0 or Q4_K_M.",
        )
    if min(sizes) < 1 or sizes[0] % kind.block_weights:
        raise _damaged(
            path, f"tensor {name} has rows of {sizes[0]} numbers, expected a multiple of {kind.block_weights}"
        )
    n_bytes = math.prod(sizes) // kind.block_weights * kind.block_bytes
    # The file writes the fastest axis first; torch writes it last.
    return TensorEntry(name=name, shape=tuple(reversed(sizes)), type=kind.name, offset=offset, n_bytes=n_bytes)


def _check_places(path: Path, tensors: Mapping[str, TensorEntry], size: int) -> None:
    """Every tensor lies inside the file, and no two of them share a byte."""
    end, previous = 0, ""
    for entry in sorted(tensors.values(), key=lambda entry: entry.offset):
        if entry.offset < end:
            raise _damaged(path, f"the tensors {previous} and {entry.name} overlap")
        end, previous = entry.offset + entry.n_bytes, entry.name
        if end > size:
            raise BadModelFile(
                f"{path.name}: the file is truncated: tensor {entry.name} needs bytes up to {end}, the file has {size}",
                "Download or copy the file again.",
            )


def _alignment(path: Path, metadata: Mapping[str, object]) -> int:
    alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or alignment not in ALIGNMENTS:
        raise _damaged(
            path,
            f"general.alignment is {str(alignment)[:40]}, expected a power of two from {ALIGNMENTS[0]} "
            f"to {ALIGNMENTS[-1]}",
        )
    return alignment


def _refuse_part_by_name(path: Path) -> None:
    match = PART_OF_NAME.search(path.name)
    if match and int(match[2]) > 1:
        raise _part(path, int(match[1]), int(match[2]))


def _refuse_part_by_metadata(path: Path, metadata: Mapping[str, object]) -> None:
    count, index = metadata.get("split.count", 1), metadata.get("split.no", 0)
    if isinstance(count, int) and isinstance(index, int) and count > 1:
        raise _part(path, index + 1, count)


def _part(path: Path, part: int, count: int) -> BadModelFile:
    return BadModelFile(
        f"{path.name}: this is part {part} of {count} of a model, not the whole model",
        f"Put all {count} parts together in one folder, under their own names, and open part 1.",
    )


def _damaged(path: Path, found: str) -> BadModelFile:
    return BadModelFile(f"{path.name}: {found}", "The file is damaged: download it again from a source you trust.")
