"""The tensors of a file that ``torch.save`` wrote, opened only after our own check that it holds nothing else.

Such a file is a zip archive of raw numbers and a pickle, and a pickle is a program. So the program is read here, opcode
by opcode, without running it: it may do what a table of tensors needs, and nothing more. Only then torch loads it, with
``weights_only``, mapped.
"""

import pickle
import pickletools
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor

from explorer.checkpoint.file_check import check_tensor_name, first_look, unreadable
from explorer.checkpoint.json_file import damaged
from explorer.errors import BadModelFile, UnsupportedModel

MAX_PICKLE_BYTES = 2 << 20
MAX_DIRECTORY_BYTES = 4 << 20
MAX_MEMBERS = 65_536
TAIL_BYTES = (1 << 16) + 256  # where the end record of a zip archive may lie, with room for that of a large archive
MEMBER = re.compile(
    r"[\w.\-]{1,200}/(data\.pkl|data/\d{1,6}|version|byteorder|\.format_version|\.storage_alignment"
    r"|\.data/serialization_id)",
    re.ASCII,
)
ALLOWED = re.compile(
    r"torch\._utils _rebuild_tensor_v2|torch\._utils _rebuild_parameter|collections OrderedDict|torch \w+Storage"
)
HIDDEN_CALLS = frozenset({"STACK_GLOBAL", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "EXT1", "EXT2", "EXT4"})
FLOATS = frozenset({torch.float32, torch.float16, torch.bfloat16, torch.float64})
# Everything that torch has been seen to raise on damaged archives.
TORCH_ERRORS = (
    RuntimeError, ValueError, LookupError, TypeError, AttributeError, EOFError, AssertionError, ArithmeticError,
    MemoryError, OSError, pickle.UnpicklingError, zipfile.BadZipFile,
)  # fmt: skip


def read_torch_archive(path: Path) -> dict[str, Tensor]:
    """The tensors of ``path`` by name, mapped. Raises ``BadModelFile`` for code, and for any other content."""
    size, start = first_look(path)
    if not start.startswith(b"PK\x03\x04"):
        raise _not_an_archive(path)
    try:
        _check_directory(path, size)
        with zipfile.ZipFile(path) as archive:
            program = archive.read(_checked_pickle(path, archive, size))
    except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, LookupError, RuntimeError) as error:
        raise damaged(path, "the zip archive is damaged or truncated") from error
    except OSError as error:
        raise unreadable(path, error) from error
    _check_program(path, program)
    try:
        table = torch.load(path, map_location="cpu", mmap=True, weights_only=True)
    except TORCH_ERRORS as error:
        raise damaged(path, "torch cannot read the table of tensors") from error
    if not isinstance(table, Mapping) or not table:
        raise damaged(path, "the file is not a table of tensors")
    return {name: _checked_tensor(path, name, tensor, size) for name, tensor in table.items()}


def _not_an_archive(path: Path) -> BadModelFile:
    """A pickle without an archive around it: what it would call, or that its format is too old."""
    with path.open("rb") as file:
        _check_program(path, file.read(MAX_PICKLE_BYTES))
    return damaged(path, "this is not an archive of torch 1.6 or later")


def _check_directory(path: Path, size: int) -> None:
    """The archive's list of members is small: Python reads it whole before it looks at it."""
    with path.open("rb") as file:
        file.seek(max(0, size - TAIL_BYTES))
        tail = file.read()
    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or end + 22 > len(tail):
        raise damaged(path, "the file is truncated: the end of the zip archive is missing")
    n_bytes = int.from_bytes(tail[end + 12 : end + 16], "little")
    large = tail.rfind(b"PK\x06\x06", 0, end)
    if large >= 0:
        n_bytes = max(int.from_bytes(tail[large + 40 : large + 48], "little"), 0 if n_bytes == 0xFFFFFFFF else n_bytes)
    if n_bytes > MAX_DIRECTORY_BYTES:
        raise damaged(path, f"the list of members has {n_bytes} bytes, expected at most {MAX_DIRECTORY_BYTES}")


def _checked_pickle(path: Path, archive: zipfile.ZipFile, size: int) -> zipfile.ZipInfo:
    """The member that holds the pickle. No member is compressed, so none can grow; none shares a byte with another."""
    members = archive.infolist()
    if len(members) > MAX_MEMBERS or len({member.filename for member in members}) < len(members):
        raise damaged(path, f"the archive has {len(members)} members, expected at most {MAX_MEMBERS}, each once")
    end = 0
    for member in sorted(members, key=lambda member: member.header_offset):
        if "/code/" in member.filename:
            raise _contains_code(path, "it is a TorchScript archive")
        if not MEMBER.fullmatch(member.filename):
            raise damaged(path, f"the archive holds {member.filename[:60]!r}, which no table of tensors has")
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise damaged(path, f"{member.filename[:60]!r} is compressed, which torch never does")
        if member.header_offset < end:
            raise damaged(path, f"{member.filename[:60]!r} overlaps another member of the archive")
        end = member.header_offset + member.file_size
    if end > size:
        raise damaged(path, f"the file is truncated: the members need {end} bytes, the file has {size}")
    byte_order = next((member for member in members if member.filename.endswith("/byteorder")), None)
    if byte_order is not None and archive.read(byte_order) != b"little":
        raise UnsupportedModel(f"{path.name}: the numbers are big-endian, expected little-endian", "Convert it again.")
    programs = [member for member in members if member.filename.endswith("/data.pkl")]
    if len(programs) != 1 or programs[0].file_size > MAX_PICKLE_BYTES:
        raise damaged(path, f"expected one data.pkl of at most {MAX_PICKLE_BYTES} bytes in the archive")
    return programs[0]


def _check_program(path: Path, program: bytes) -> None:
    """Read a pickle without running it: whatever it would call must be on the list."""
    try:
        for called in _calls(program):
            if not ALLOWED.fullmatch(called):
                raise _contains_code(path, f"it would call {called.replace(' ', '.')[:60]!r}")
    except (ValueError, LookupError) as error:
        raise damaged(path, "the pickle in it is damaged") from error


def _calls(program: bytes) -> Iterator[str]:
    for opcode, argument, _ in pickletools.genops(program):
        if opcode.name == "GLOBAL":
            yield str(argument)
        elif opcode.name in HIDDEN_CALLS:
            yield f"{opcode.name} {argument or ''}".strip()


def _checked_tensor(path: Path, name: object, tensor: object, size: int) -> Tensor:
    if not isinstance(name, str) or not isinstance(tensor, Tensor):
        raise damaged(path, f"{str(name)[:60]!r} is not a named tensor")
    check_tensor_name(path, name)
    if tensor.dtype not in FLOATS:
        raise UnsupportedModel(
            f"{path.name}: tensor {name} holds {str(tensor.dtype).removeprefix('torch.')} numbers, expected floats",
            "Use the model in its original precision.",
        )
    # A view with strides of 0 would be a matrix of any size in a file of a few bytes.
    if tensor.layout != torch.strided or not tensor.is_contiguous() or tensor.nbytes > size or tensor.is_meta:
        raise damaged(path, f"tensor {name} is not stored whole")
    return tensor.detach()


def _contains_code(path: Path, how: str) -> BadModelFile:
    return BadModelFile(
        f"{path.name}: this file contains code ({how}), so it is not opened",
        "Do not open it with anything else either; use the same model as GGUF or safetensors.",
    )
