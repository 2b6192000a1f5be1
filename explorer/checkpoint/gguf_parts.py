"""One GGUF model in several files, as llama.cpp's ``gguf-split`` writes it: ``name-00001-of-00003.gguf``."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from explorer.checkpoint.gguf_file import GGUFFile
from explorer.checkpoint.gguf_header import PART_OF_NAME, read_part_header
from explorer.errors import BadModelFile

MAX_PARTS = 512


def part_count(path: Path) -> int:
    """How many files the model has, as the name of one of them says."""
    match = PART_OF_NAME.search(path.name)
    return int(match[2]) if match else 1


def is_first_part(path: Path) -> bool:
    """Whether ``path`` is the first of several files."""
    match = PART_OF_NAME.search(path.name)
    return match is not None and int(match[1]) == 1 and int(match[2]) > 1


class GGUFParts:
    """The tensors of all parts; the metadata is that of the first.

    Raises ``BadModelFile`` when a part is missing, damaged, or belongs to another model.
    """

    def __init__(self, first: Path) -> None:
        self.path = first
        count = part_count(first)
        names = [PART_OF_NAME.sub(f"-{number:05d}-of-{count:05d}.gguf", first.name) for number in range(1, count + 1)]
        missing = [name for name in names[:MAX_PARTS] if not first.with_name(name).is_file()]
        if missing or count > MAX_PARTS:
            raise BadModelFile(
                f"{first.name}: this is part 1 of {count}, and {', '.join(missing[:3])} "
                f"{'are' if len(missing) > 1 else 'is'} missing{f' ({len(missing)} in all)' if missing[3:] else ''}",
                "Put all parts together in one folder, under their own names.",
            )
        paths = [first.with_name(name) for name in names]
        self._parts = [GGUFFile(path, read_part_header(path)) for path in paths]
        self._part_of: dict[str, GGUFFile] = {}
        for number, part in enumerate(self._parts):
            stated = (part.metadata.get("split.no"), part.metadata.get("split.count"))
            if stated != (number, count):
                raise _mixed(part, f"it says that it is part {_plus_one(stated[0])} of {stated[1]}, not {number + 1}")
            for name in part.shapes:
                if name in self._part_of:
                    raise _mixed(part, f"the tensor {name} lies in {self._part_of[name].path.name} as well")
                self._part_of[name] = part
        expected = self.metadata.get("split.tensors.count", len(self._part_of))
        if expected != len(self._part_of):
            raise _mixed(self._parts[0], f"it says that the parts hold {expected} tensors, not {len(self._part_of)}")

    @property
    def source(self) -> str:
        """The name of the first file and what is done to it."""
        return f"{self.path.name} and {len(self._parts) - 1} more, dequantised to float32"

    @property
    def metadata(self) -> Mapping[str, object]:
        """The metadata of the first part."""
        return self._parts[0].metadata

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor of every part, in torch's order."""
        return {name: shape for part in self._parts for name, shape in part.shapes.items()}

    @property
    def types(self) -> dict[str, str]:
        """The ggml type of every tensor of every part."""
        return {name: kind for part in self._parts for name, kind in part.types.items()}

    def file_of(self, name: str) -> str:
        """The name of the part that holds a tensor."""
        return self._part_of[name].path.name

    def mapped_as(self, name: str) -> torch.dtype | None:
        """None: every tensor is read into memory of its own."""
        return None

    def read(self, name: str) -> Tensor:
        """The tensor ``name`` in float32, in its torch shape."""
        return self._part_of[name].read(name)


def _mixed(part: GGUFFile, found: str) -> BadModelFile:
    return BadModelFile(
        f"{part.path.name} does not belong to the other parts: {found}", "Fetch all parts again, from one source."
    )


def _plus_one(number: object) -> object:
    return number + 1 if isinstance(number, int) else number
