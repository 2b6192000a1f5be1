"""The tensors of one GGUF file, dequantised on demand."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor

from explorer.checkpoint.dequantize import dequantize
from explorer.checkpoint.file_check import unreadable
from explorer.checkpoint.gguf_header import GGUFHeader, read_gguf_header
from explorer.errors import BadModelFile


class GGUFFile:
    """A checked GGUF file. Nothing but its header is read until ``read`` asks for a tensor.

    Tensors are read rather than mapped: a mapped file that someone truncates ends the whole process, and a quantised
    tensor has to be copied anyway. May be used from several threads.
    """

    def __init__(self, path: Path, header: GGUFHeader | None = None) -> None:
        self.header = read_gguf_header(path) if header is None else header
        self.path = path
        self._identity = _identity(os.stat(path))

    @property
    def source(self) -> str:
        """The name of the file and what is done to it."""
        return f"{self.path.name}, dequantised to float32"

    @property
    def metadata(self) -> Mapping[str, object]:
        """Everything that the header says beside the tensors."""
        return self.header.metadata

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor, in torch's order."""
        return {name: entry.shape for name, entry in self.header.tensors.items()}

    @property
    def types(self) -> dict[str, str]:
        """The ggml type of every tensor, such as "Q4_K"."""
        return {name: entry.type for name, entry in self.header.tensors.items()}

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        """Every tensor with its name, in the file's order."""
        return ((name, self.read(name)) for name in self.header.tensors)

    def file_of(self, name: str) -> str:
        """The name of the file that holds a tensor."""
        return self.path.name

    def mapped_as(self, name: str) -> torch.dtype | None:
        """None: every tensor is read into memory of its own."""
        return None

    def read(self, name: str) -> Tensor:
        """The tensor ``name`` in float32, in its torch shape.

        Raises ``UnsupportedModel`` for a type that cannot be dequantised, ``BadModelFile`` if the file has changed
        since it was opened.
        """
        entry = self.header.tensors[name]
        data = bytearray(entry.n_bytes)
        try:
            with self.path.open("rb") as file:
                same = _identity(os.fstat(file.fileno())) == self._identity
                file.seek(entry.offset)
                complete = file.readinto(data) == entry.n_bytes
        except OSError as error:
            raise unreadable(self.path, error) from error
        if not (same and complete):
            raise BadModelFile(
                f"{self.path.name} has changed since it was opened: tensor {name} cannot be read",
                "Leave model files alone while they are in use, and open the model again.",
            )
        return dequantize(entry.type, torch.frombuffer(data, dtype=torch.uint8)).view(entry.shape)


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns
