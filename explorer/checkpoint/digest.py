"""Is a file the one that was meant?"""

import hashlib
from pathlib import Path


def file_sha256(path: Path) -> str:
    """The SHA-256 of the content of ``path``, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_file(path: Path, *, n_bytes: int, sha256: str) -> bool:
    """Whether ``path`` is a file of exactly this content. Reads it only if its size is right."""
    return path.is_file() and path.stat().st_size == n_bytes and file_sha256(path) == sha256
