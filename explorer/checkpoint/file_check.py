"""The first look at a file that claims to hold a model, before any reader of a format sees it."""

import re
from pathlib import Path

from explorer.errors import BadModelFile

LFS_POINTER = b"version https://git-lfs.github.com/spec/"
PICKLE_SUFFIXES = frozenset({".pth", ".pt", ".bin", ".pkl", ".pickle", ".ckpt"})
TENSOR_NAME = re.compile(r"[\w.\-:+]{1,256}", re.ASCII)


def checked_size(path: Path) -> int:
    """The size in bytes of a file that may be opened as a model.

    Raises ``BadModelFile`` for what cannot be one: nothing there, an empty file, a Git LFS pointer, a saved web page,
    a file that Python would have to execute.
    """
    size, start = first_look(path)
    if path.suffix.lower() in PICKLE_SUFFIXES or _is_pickle(start):
        raise BadModelFile(
            f"{path.name}: this file may contain code (it is a Python pickle), so it is not opened",
            "Use the same model as GGUF or safetensors, or open the folder of a Meta checkpoint.",
        )
    return size


def first_look(path: Path) -> tuple[int, bytes]:
    """The size in bytes of a file and how it starts; raises ``BadModelFile`` for what is no file of a model at all."""
    try:
        if not path.is_file():
            raise BadModelFile(f"{path.name}: there is no such file", "Check the path.")
        with path.open("rb") as file:
            start = file.read(512)
        size = path.stat().st_size
    except OSError as error:
        raise unreadable(path, error) from error
    if not start:
        raise BadModelFile(f"{path.name} is empty", "Download or copy the file again.")
    if start.startswith(LFS_POINTER):
        raise BadModelFile(
            f"{path.name}: this is a {size}-byte Git LFS pointer, the real file was not downloaded",
            "Run `git lfs pull` in the folder that the file came from, or download the file itself.",
        )
    if start.lstrip().lower().startswith((b"<!doctype", b"<html")):
        raise BadModelFile(
            f"{path.name}: this is a web page that was saved under the name of a model file",
            "Download the file again, from its direct link.",
        )
    return size, start


def check_tensor_name(path: Path, name: str) -> None:
    """Refuse a tensor name that could be anything but a name."""
    if not TENSOR_NAME.fullmatch(name):
        raise BadModelFile(
            f"{path.name}: {name[:40]!r} is not a tensor name: expected up to 256 letters, digits, '.', '_' and '-'",
            "Download the file again from a source you trust.",
        )


def unreadable(path: Path, error: OSError) -> BadModelFile:
    """What to tell when the operating system refuses to read ``path``."""
    return BadModelFile(
        f"{path.name} cannot be read: {error.strerror or type(error).__name__}",
        "Check that the file exists, that you may read it, and that the disk is sound.",
    )


def _is_pickle(start: bytes) -> bool:
    """A pickle of protocol 2 or later, or the zip archive in which torch wraps one."""
    if start.startswith(b"PK\x03\x04"):
        return True
    # The length that opens a safetensors file can be the same two bytes; there the header's "{" is the ninth byte.
    return start[0] == 0x80 and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05") and start[8:9] != b"{"
