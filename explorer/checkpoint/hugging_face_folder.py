"""A folder as Hugging Face writes it: ``config.json`` and one or several safetensors files."""

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from explorer.checkpoint.file_check import checked_size
from explorer.checkpoint.json_file import damaged, read_json
from explorer.checkpoint.safetensors_header import SafetensorsHeader, read_safetensors_header
from explorer.config import TokenizerSource
from explorer.config.hugging_face import eos_ids, sliding_window
from explorer.errors import BadModelFile, UnsupportedModel

CONFIG, GENERATION = "config.json", "generation_config.json"
INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
SHARD = re.compile(r"\w[\w.\-]{0,200}\.safetensors", re.ASCII)
DTYPES: Mapping[str, torch.dtype] = {
    "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64,
}  # fmt: skip
NAMED_AT_MOST = 4


class HuggingFaceFolder:
    """The tensors of a folder under their names in it, mapped: pages are read when they are used.

    Only the files that the index names count. All of them are checked, header and size, before anything is read from
    one. Raises ``BadModelFile`` naming what is missing or wrong, ``UnsupportedModel`` for other formats of weights.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self.description = read_json(folder / CONFIG)
        shard_of = _shard_of(folder)
        self._headers = {shard: read_safetensors_header(folder / shard) for shard in dict.fromkeys(shard_of.values())}
        self._shard_of = _held_by(folder, shard_of, self._headers)
        self._open: dict[str, safe_open] = {}

    @property
    def source(self) -> str:
        """The name of the folder and what lies in it."""
        count = len(self._headers)
        return f"{self.path.name}, safetensors in {count} file{'s' if count > 1 else ''}"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor."""
        return {name: self._headers[shard].tensors[name].shape for name, shard in self._shard_of.items()}

    @cached_property
    def types(self) -> dict[str, str]:
        """The number format of every tensor, such as "BF16"."""
        return {name: self._headers[shard].tensors[name].dtype for name, shard in self._shard_of.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user might not expect of the model."""
        window = sliding_window(self.description)
        if window is None:
            return ()
        return (f"Prompts end at {window:,} tokens: beyond them this model reads a sliding window.",)

    def file_of(self, name: str) -> str:
        """The file that holds the tensor ``name``."""
        return self._shard_of[name]

    def mapped_as(self, name: str) -> torch.dtype | None:
        """The precision of a tensor, as all are mapped."""
        return DTYPES.get(self.types[name])

    def read(self, name: str) -> Tensor:
        """The tensor ``name`` in the file's precision, mapped. Raises ``BadModelFile`` if its file has changed."""
        shard = self._shard_of[name]
        try:
            if shard not in self._open:
                self._open[shard] = safe_open(self.path / shard, framework="pt")
            tensor: Tensor = self._open[shard].get_tensor(name)  # type: ignore[no-untyped-call]
        except (SafetensorError, OSError) as error:
            raise BadModelFile(
                f"{shard} has changed since it was opened: tensor {name} cannot be read",
                "Leave model files alone while they are in use, and open the model again.",
            ) from error
        return tensor

    def tokenizer(self) -> TokenizerSource:
        """The tokenizer that lies in the folder, if any: its file is read when it is needed."""
        if (self.path / "tokenizer.json").is_file():
            ids = dict.fromkeys((*eos_ids(self.description), *self._generation_eos_ids()))
            return TokenizerSource(
                format="huggingface", data={"path": self.path / "tokenizer.json", "eos_ids": tuple(ids)}
            )
        if (self.path / "tokenizer.model").is_file():
            return TokenizerSource(format="tiktoken", data={"path": self.path / "tokenizer.model"})
        return TokenizerSource(format="none")

    def _generation_eos_ids(self) -> tuple[int, ...]:
        return eos_ids(read_json(self.path / GENERATION)) if (self.path / GENERATION).is_file() else ()


def _shard_of(folder: Path) -> dict[str, str]:
    """Which file holds which tensor, as the folder says; for a single file the file alone, under no tensor's name."""
    if (folder / INDEX).exists():
        return _indexed(folder)
    if (folder / SINGLE).exists():
        checked_size(folder / SINGLE)
        return {"": SINGLE}
    names = {path.name for path in folder.iterdir()}
    if any(name.endswith(".safetensors") for name in names):
        raise BadModelFile(
            f"{folder.name}: there is neither {SINGLE} nor {INDEX}, which says what lies in which file",
            "The download looks incomplete: fetch the folder again.",
        )
    if any(name.endswith((".bin", ".pth", ".pt")) for name in names):
        raise UnsupportedModel(
            f"{folder.name}: the weights are Python pickles, which may contain code; expected {SINGLE} or {INDEX}",
            "Use the same model as safetensors or GGUF.",
        )
    raise BadModelFile(
        f"{folder.name}: there are no weights, expected {SINGLE} or {INDEX}",
        "The download looks incomplete: fetch the folder again.",
    )


def _indexed(folder: Path) -> dict[str, str]:
    """The ``weight_map`` of the index, all of whose files are there."""
    path = folder / INDEX
    weight_map = read_json(path).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise damaged(path, "weight_map is missing or not a table")
    shard_of: dict[str, str] = {}
    for name, shard in weight_map.items():
        # Before anything is opened: a name with a path in it could point at any file of this machine.
        if not isinstance(shard, str) or not SHARD.fullmatch(shard):
            raise damaged(path, f"{str(shard)[:60]!r} is not the name of a safetensors file in this folder")
        shard_of[name] = shard
    missing = sorted(shard for shard in set(shard_of.values()) if not (folder / shard).is_file())
    if missing:
        more = f" and {len(missing) - NAMED_AT_MOST} more" if len(missing) > NAMED_AT_MOST else ""
        raise BadModelFile(
            f"{folder.name}: {', '.join(missing[:NAMED_AT_MOST])}{more} of {len(set(shard_of.values()))} files "
            f"{'are' if len(missing) > 1 else 'is'} missing, which {INDEX} names",
            "The download looks incomplete: fetch the missing files.",
        )
    return shard_of


def _held_by(folder: Path, shard_of: Mapping[str, str], headers: Mapping[str, SafetensorsHeader]) -> dict[str, str]:
    """Every tensor of the files, and its file. Where two hold one of the same name, the index decides."""
    for name, shard in shard_of.items():
        if name and name not in headers[shard].tensors:
            raise damaged(folder / INDEX, f"{shard} does not hold {name[:80]!r}, which it is said to hold")
    held = {name: shard for shard, header in headers.items() for name in header.tensors}
    return held | {name: shard for name, shard in shard_of.items() if name}
