"""A GGUF file converted once to float32, so that later starts map it instead of dequantising it.

The copy is a folder: ``weights.safetensors`` holds every tensor of the GGUF file under its own name, and
``metadata.json`` what the header said, the types the tensors had, and the hashes of both files. float32 because the
numbers of a quantised file (scale * integer + minimum) do not fit into bfloat16: the copy is larger, but exact.
"""

import errno
import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from explorer.checkpoint.digest import file_sha256
from explorer.checkpoint.file_check import unreadable
from explorer.checkpoint.gguf_file import GGUFFile
from explorer.checkpoint.home_files import exclusive, never, not_writable, stop_if
from explorer.checkpoint.safetensors_header import read_safetensors_header
from explorer.errors import BadModelFile

WEIGHTS, METADATA = "weights.safetensors", "metadata.json"
FORMAT = 1
FLOAT32_BYTES = 4
MAX_METADATA_BYTES = 256 << 20
ALIGNMENT = 64  # where the data of a safetensors file should start, for the speed of mapped reads

Progress = Callable[[int, int], None]


class ConvertedFile:
    """A whole converted copy, mapped: its pages are read when used and shared by all processes.

    Raises ``BadModelFile`` unless both files are there, belong together and are sound in header and size.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self._record = _read_record(folder / METADATA)
        weights = folder / WEIGHTS
        header = read_safetensors_header(weights)
        self.shapes = {name: tensor.shape for name, tensor in header.tensors.items()}
        if weights.stat().st_size != self._recorded("weights", "bytes") or set(self.shapes) != set(self.types):
            raise _incomplete(folder, f"{WEIGHTS} is not the file that {METADATA} describes")
        self._weights = safe_open(weights, framework="pt")

    @property
    def source(self) -> str:
        """The name of the GGUF file and what was done to it."""
        return f"{self._recorded('source', 'file')}, converted to float32"

    @property
    def metadata(self) -> Mapping[str, object]:
        """The metadata of the GGUF file that was converted."""
        return _table(self._record, "metadata", self.path)

    @property
    def types(self) -> dict[str, str]:
        """The ggml type that every tensor had before it was converted."""
        return {name: str(kind) for name, kind in _table(self._record, "types", self.path).items()}

    @property
    def source_sha256(self) -> str:
        """Which GGUF file was converted."""
        return str(self._recorded("source", "sha256"))

    def file_of(self, name: str) -> str:
        """The name of the file that holds a tensor."""
        return WEIGHTS

    def mapped_as(self, name: str) -> torch.dtype | None:
        """The precision of every tensor, as all are mapped."""
        return torch.float32

    def read(self, name: str) -> Tensor:
        """The tensor ``name`` in float32. Its pages are read from the disk when it is used, not here."""
        tensor: Tensor = self._weights.get_tensor(name)  # type: ignore[no-untyped-call]
        return tensor

    def verify(self) -> None:
        """Read every byte of the copy. Raises ``BadModelFile`` if one of them has changed since it was written."""
        found, expected = file_sha256(self.path / WEIGHTS), self._recorded("weights", "sha256")
        if found != expected:
            raise _incomplete(self.path, f"{WEIGHTS} has the SHA-256 {found}, expected {expected}")

    def _recorded(self, part: str, key: str) -> object:
        return _table(self._record, part, self.path).get(key)


def convert(
    gguf: Path, folder: Path, progress: Progress = lambda done, total: None, cancelled: Callable[[], bool] = never
) -> None:
    """Write the converted copy of ``gguf`` to ``folder``, unless a whole one is there.

    ``progress`` is told bytes written and bytes in all. The folder appears whole or not at all; of several processes
    one converts and the others wait. Raises ``DownloadFailed`` when the disk is full or not writable.
    """
    source = GGUFFile(gguf)
    record = {"file": gguf.name, "bytes": gguf.stat().st_size, "sha256": file_sha256(gguf)}
    unfinished = folder.with_name(folder.name + ".unfinished")
    try:
        with exclusive(folder.with_name(folder.name + ".lock"), cancelled):
            if _is_copy_of(folder, str(record["sha256"])):
                return
            shutil.rmtree(unfinished, ignore_errors=True)  # what an interrupted attempt has left
            unfinished.mkdir()
            try:
                weights = _write_weights(source, unfinished / WEIGHTS, progress, cancelled)
                _write_record(unfinished / METADATA, source, record, weights)
                _put_in_place(unfinished, folder)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    except OSError as error:
        raise not_writable(folder, error) from error


def _is_copy_of(folder: Path, source_sha256: str) -> bool:
    try:
        return ConvertedFile(folder).source_sha256 == source_sha256
    except BadModelFile:
        return False


def _write_weights(
    source: GGUFFile, path: Path, progress: Progress, cancelled: Callable[[], bool]
) -> dict[str, object]:
    """Write all tensors, one at a time in memory; the size and hash of the file."""
    header, end = {}, 0
    for name, shape in source.shapes.items():
        start, end = end, end + math.prod(shape) * FLOAT32_BYTES
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % ALIGNMENT)
    if shutil.disk_usage(path.parent).free < len(text) + end:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    digest, done = hashlib.sha256(), 0
    with path.open("xb") as file:
        for data in (len(text).to_bytes(8, "little"), text):
            digest.update(data)
            file.write(data)
        for name in source.shapes:
            stop_if(cancelled)
            numbers = source.read(name).numpy().data.cast("B")
            digest.update(numbers)
            file.write(numbers)
            done += len(numbers)
            progress(done, end)
        file.flush()
        os.fsync(file.fileno())
        return {"bytes": file.tell(), "sha256": digest.hexdigest()}


def _write_record(path: Path, source: GGUFFile, origin: dict[str, object], weights: dict[str, object]) -> None:
    record = {
        "format": FORMAT,
        "source": origin,
        "weights": weights,
        "types": source.types,
        "metadata": dict(source.metadata),
    }
    with path.open("x", encoding="utf-8") as file:
        json.dump(record, file, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())


def _put_in_place(unfinished: Path, folder: Path) -> None:
    discarded = folder.with_name(folder.name + ".discarded")
    shutil.rmtree(discarded, ignore_errors=True)
    if folder.exists():
        os.replace(folder, discarded)
    os.replace(unfinished, folder)
    shutil.rmtree(discarded, ignore_errors=True)


def _read_record(path: Path) -> dict[str, object]:
    try:
        if path.stat().st_size > MAX_METADATA_BYTES:
            raise _incomplete(path.parent, f"{METADATA} has {path.stat().st_size} bytes")
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, RecursionError) as error:
        raise _incomplete(path.parent, f"{METADATA} is not JSON") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise _incomplete(path.parent, f"{METADATA} is not of the format {FORMAT}")
    return record


def _table(record: Mapping[str, object], key: str, folder: Path) -> dict[str, object]:
    table = record.get(key)
    if not isinstance(table, dict):
        raise _incomplete(folder, f"{METADATA} lacks {key!r}")
    return table


def _incomplete(folder: Path, found: str) -> BadModelFile:
    return BadModelFile(f"{folder.name}: {found}", "Delete the folder and convert the model again.")
