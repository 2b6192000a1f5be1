"""A model on the disk, whatever its format: its sizes, its tokenizer, and its weights under our names."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import torch
from torch import Tensor

from explorer.checkpoint.converted import METADATA, ConvertedFile
from explorer.checkpoint.dequantize import check_dequantizable
from explorer.checkpoint.file_check import checked_size, unreadable
from explorer.checkpoint.gguf_config import ROPE_FACTORS, gguf_config, gguf_tokenizer
from explorer.checkpoint.gguf_file import GGUFFile
from explorer.checkpoint.gguf_header import MAGIC
from explorer.checkpoint.names import GGUF_NAMES, match_names, parameter_shapes
from explorer.config import ModelConfig, TokenizerSource
from explorer.errors import BadModelFile, UnsupportedModel
from explorer.model.llama import Llama


@dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """One model, checked and ready to load.

    ``precision`` counts the weights of each number format in the file; ``parameters`` counts numbers, those of a tied
    embedding once; ``notes`` name the tensors of the file that are no parameters.
    """

    config: ModelConfig
    tokenizer: TokenizerSource
    source: str
    precision: Mapping[str, int]
    parameters: int
    notes: tuple[str, ...]
    read: Callable[[str], Tensor]

    def tensors(
        self, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
    ) -> Iterator[tuple[str, Tensor]]:
        """Every parameter under our module path, one at a time, as ``dtype`` on ``device``."""
        for name in parameter_shapes(self.config):
            yield name, self.read(name).to(device=device, dtype=dtype)

    def load_into(self, model: Llama, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu") -> None:
        """Give ``model``, which may be on the meta device, these weights.

        They replace its parameters rather than being copied into them: mapped weights stay mapped.
        """
        weights = dict(self.tensors(dtype, device))
        if self.config.tied_embedding:
            weights["unembedding.weight"] = weights["embedding.weight"]
        model.load_state_dict(weights, assign=True)
        if self.config.tied_embedding:
            model.unembedding.weight = model.embedding.weight


class StoredWeights(Protocol):
    """What ``GGUFFile`` and ``ConvertedFile`` have in common."""

    path: Path

    @property
    def source(self) -> str:
        """The name of the GGUF file and what was done to it."""

    @property
    def metadata(self) -> Mapping[str, object]:
        """The metadata of the GGUF header."""

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of every tensor under its name in the file."""

    @property
    def types(self) -> Mapping[str, str]:
        """The number format of every tensor."""

    def read(self, name: str) -> Tensor:
        """One tensor, in float32."""


def open_checkpoint(path: Path, name: str) -> Checkpoint:
    """The model at ``path``: a GGUF file, or a folder that ``convert`` wrote. ``name`` is what to call it.

    Raises ``BadModelFile`` for what is no sound model file, ``UnsupportedModel`` for a sound one that is not read here.
    """
    if path.is_dir():
        return _open_folder(path, name)
    checked_size(path)
    if _starts_with(path, MAGIC) or path.suffix.lower() == ".gguf":
        return _checkpoint(GGUFFile(path), name)
    if path.suffix.lower() == ".safetensors":
        raise UnsupportedModel(
            f"{path.name}: a safetensors file alone does not say which model it is", "Use a GGUF file of the model."
        )
    raise BadModelFile(f"{path.name} is not a model file that is read here, expected GGUF", "Choose a .gguf file.")


def _open_folder(folder: Path, name: str) -> Checkpoint:
    if (folder / METADATA).exists():
        return _checkpoint(ConvertedFile(folder), name)
    for file, owner in (("config.json", "Hugging Face"), ("params.json", "Meta")):
        if (folder / file).exists():
            raise UnsupportedModel(
                f"{folder.name} is a folder in the format of {owner}, which is not read",
                "Use a GGUF file of the model.",
            )
    raise BadModelFile(f"{folder.name} is a folder without a model that is read here", "Choose a .gguf file.")


def _checkpoint(stored: StoredWeights, name: str) -> Checkpoint:
    file_name, shapes, types = stored.path.name, stored.shapes, stored.types
    has_factors = len(shapes.get(ROPE_FACTORS, ())) == 1
    factors = tuple(stored.read(ROPE_FACTORS).tolist()) if has_factors else None
    config = gguf_config(stored.metadata, shapes, factors, name=name, file_name=file_name)
    matched = match_names(GGUF_NAMES, config, shapes, file_name)
    precision = Counter(types[tensor] for tensor in matched.stored.values())
    for type_name in precision:
        check_dequantizable(type_name)
    return Checkpoint(
        config=config,
        tokenizer=gguf_tokenizer(stored.metadata),
        source=stored.source,
        precision=MappingProxyType(dict(precision.most_common())),
        parameters=sum(prod(shapes[tensor]) for tensor in matched.stored.values()),
        notes=matched.notes,
        read=lambda parameter: stored.read(matched.stored[parameter]),
    )


def _starts_with(path: Path, magic: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(magic)) == magic
    except OSError as error:
        raise unreadable(path, error) from error
