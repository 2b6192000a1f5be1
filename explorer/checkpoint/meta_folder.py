"""A folder as Meta publishes it: ``params.json``, ``tokenizer.model`` and ``consolidated.NN.pth``, one file per GPU."""

import re
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from explorer.checkpoint.json_file import read_json
from explorer.checkpoint.llama3_vocabulary import LLAMA3_ROWS
from explorer.checkpoint.torch_archive import read_torch_archive
from explorer.config import ModelConfig, TokenizerSource
from explorer.config.meta import config_from_meta, rotation_note
from explorer.errors import BadModelFile

PARAMS, TOKENIZER = "params.json", "tokenizer.model"
SHARD = re.compile(r"consolidated\.(\d{2})\.pth")
EMBEDDING, QUERY = "tok_embeddings.weight", "layers.0.attention.wq.weight"
# Row-parallel matrices are cut along their inputs; all others along their outputs (fairscale's ``RowParallelLinear``).
CUT_ALONG_INPUTS = re.compile(r"\.(attention\.wo|feed_forward\.w2)\.weight$")
TYPES: Mapping[torch.dtype, str] = {
    torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.float64: "F64",
}  # fmt: skip


class MetaFolder:
    """The tensors of all files merged, under Meta's names; a single file stays mapped.

    Rows of query and key are adjacent pairs already. Raises ``BadModelFile`` for a folder that is incomplete, for files
    that do not fit together, and for any that contains code.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder
        if not (folder / PARAMS).is_file():
            raise BadModelFile(
                f"{folder.name}: there is no {PARAMS}, which says how large the model is",
                f"Fetch {PARAMS} from where the other files came from.",
            )
        self.description = read_json(folder / PARAMS)
        self._files = _files(folder)
        self._shards = [read_torch_archive(folder / file) for file in self._files]
        if len({frozenset(shard) for shard in self._shards}) > 1:
            raise BadModelFile(f"{folder.name}: {self._files[0]} and another file hold different tensors", _REMEDY)
        self._axes = {name: self._axis(name) for name in self._shards[0]}
        self.shapes = {name: self._merged_shape(name) for name in self._shards[0]}

    @property
    def source(self) -> str:
        """The name of the folder and what lies in it."""
        count = len(self._files)
        return f"{self.path.name}, " + (f"merged from {count} files" if count > 1 else self._files[0])

    @property
    def types(self) -> dict[str, str]:
        """The number format of every tensor, such as "BF16"."""
        return {name: TYPES[tensor.dtype] for name, tensor in self._shards[0].items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user might not expect of the model."""
        notes = [rotation_note(self.description)]
        if self.tokenizer().format == "none":
            fits = self.shapes.get(EMBEDDING, (0,))[0] == LLAMA3_ROWS
            notes.append(
                f"There is no {TOKENIZER}: "
                + ("the vocabulary of Llama 3 has as many tokens." if fits else "prompts are token ids.")
            )
        return tuple(note for note in notes if note is not None)

    def config(self, name: str) -> ModelConfig:
        """The sizes; ``name`` is what to call the model. Raises ``ConfigError``, ``BadModelFile``."""
        rows = self.shapes[EMBEDDING][0] if EMBEDDING in self.shapes else None
        config = config_from_meta(self.description, name=name, vocab_size=rows)
        whole, part = config.n_heads * config.head_dim, self._shards[0].get(QUERY)
        if part is not None and part.dim() == 2 and part.shape[0] > 0 and whole % part.shape[0] == 0:
            expected = whole // part.shape[0]
            if expected != len(self._files):
                raise BadModelFile(
                    f"{self.path.name}: {len(self._files)} of {expected} files are here, as {QUERY} has "
                    f"{part.shape[0]} of {whole} rows in each",
                    "The download looks incomplete: fetch the missing files.",
                )
        return config

    def file_of(self, name: str) -> str:
        """The file that holds the tensor ``name``, or the first of those that do."""
        return self._files[0]

    def mapped_as(self, name: str) -> torch.dtype | None:
        """The precision of a tensor of a single file, which is mapped; what is put together is a copy."""
        single = self._axes[name] is None or len(self._shards) == 1
        return self._shards[0][name].dtype if single else None

    def read(self, name: str) -> Tensor:
        """The tensor ``name`` in the files' precision: mapped from a single file, else put together."""
        parts = [shard[name] for shard in self._shards]
        axis = self._axes[name]
        return parts[0] if axis is None or len(parts) == 1 else torch.cat(parts, axis)

    def tokenizer(self) -> TokenizerSource:
        """The tokenizer that lies in the folder, if any: its file is read when it is needed."""
        path = self.path / TOKENIZER
        if not path.is_file():
            return TokenizerSource(format="none")
        return TokenizerSource(format="tiktoken", data={"path": path})

    def _axis(self, name: str) -> int | None:
        """Along which axis a tensor was cut; None for those of which every file holds a copy."""
        part = self._shards[0][name]
        if part.dim() < 2:
            return None
        if name == EMBEDDING:  # Llama 3 cuts the vocabulary, Llama 2 the width
            return 0 if part.shape[1] == self.description.get("dim") else 1
        return 1 if CUT_ALONG_INPUTS.search(name) else 0

    def _merged_shape(self, name: str) -> tuple[int, ...]:
        shapes = [tuple(shard[name].shape) for shard in self._shards]
        axis = self._axes[name]
        if len({(len(shape), *(size for at, size in enumerate(shape) if at != axis)) for shape in shapes}) > 1 or (
            len({shard[name].dtype for shard in self._shards}) > 1
        ):
            raise BadModelFile(f"{self.path.name}: the parts of tensor {name} do not fit together", _REMEDY)
        if axis is None:
            return shapes[0]
        return (*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :])


_REMEDY = "Fetch all files of the folder again, from one source."


def _files(folder: Path) -> list[str]:
    """The names of the weight files, which are numbered from 00 without a gap."""
    found = sorted(path.name for path in folder.iterdir() if SHARD.fullmatch(path.name))
    count = max(int(name[len("consolidated.") : -len(".pth")]) for name in found) + 1 if found else 1
    expected = [f"consolidated.{number:02d}.pth" for number in range(count)]
    missing = [name for name in expected if name not in found]
    if missing:
        raise BadModelFile(
            f"{folder.name}: {missing[0]} is missing{f', and {len(missing) - 1} more' if missing[1:] else ''}",
            "The download looks incomplete: fetch the missing files.",
        )
    return expected
