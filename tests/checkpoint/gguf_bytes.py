"""GGUF files built byte by byte, so that a test can put a lie in any of their fields."""

import struct
from collections.abc import Sequence
from pathlib import Path

UINT8, UINT32, FLOAT32, STRING, ARRAY = 0, 4, 6, 8, 9


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def pair(key: bytes, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def number(key: bytes, value: int) -> bytes:
    return pair(key, UINT32, struct.pack("<I", value))


def array(kind: int, count: int, content: bytes = b"") -> bytes:
    return struct.pack("<IQ", kind, count) + content


def tensor(name: bytes, sizes: Sequence[int], kind: int = 0, offset: int = 0, dimensions: int | None = None) -> bytes:
    count = len(sizes) if dimensions is None else dimensions
    return text(name) + struct.pack(f"<I{len(sizes)}QIQ", count, *sizes, kind, offset)


ARCHITECTURE = pair(b"general.architecture", STRING, text(b"llama"))


def write_gguf(
    path: Path,
    pairs: Sequence[bytes] = (ARCHITECTURE,),
    tensors: Sequence[bytes] = (),
    *,
    magic: bytes = b"GGUF",
    version: bytes = struct.pack("<I", 3),
    n_tensors: int | None = None,
    n_pairs: int | None = None,
    content: bytes = bytes(64),
) -> Path:
    counts = struct.pack(
        "<QQ", len(tensors) if n_tensors is None else n_tensors, len(pairs) if n_pairs is None else n_pairs
    )
    header = magic + version + counts + b"".join(pairs) + b"".join(tensors)
    path.write_bytes(header + bytes(-len(header) % 32) + content)
    return path
