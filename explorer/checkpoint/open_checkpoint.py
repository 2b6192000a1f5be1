"""From a path to a model: which format lies there, and which reader it needs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from explorer.checkpoint.checkpoint import Checkpoint, StoredWeights, checkpoint_of
from explorer.checkpoint.converted import METADATA, ConvertedFile
from explorer.checkpoint.dequantize import DEQUANTIZERS
from explorer.checkpoint.file_check import checked_size, unreadable
from explorer.checkpoint.gguf_config import ROPE_FACTORS, architecture_of, gguf_config, gguf_tokenizer
from explorer.checkpoint.gguf_file import GGUFFile
from explorer.checkpoint.gguf_header import MAGIC
from explorer.checkpoint.gguf_parts import GGUFParts, is_first_part, part_count
from explorer.checkpoint.hugging_face_folder import CONFIG, HuggingFaceFolder
from explorer.checkpoint.meta_folder import PARAMS, MetaFolder
from explorer.checkpoint.names import GGUF_NAMES, HUGGING_FACE_NAMES, META_NAMES
from explorer.config import ConfigError, UnsupportedFamily
from explorer.config.hugging_face import config_from_hugging_face, family_of
from explorer.errors import BadModelFile, UnsupportedModel

FLOATS = ("F32", "F16", "BF16", "F64")


class GGUFWeights(StoredWeights, Protocol):
    """What ``GGUFFile``, ``GGUFParts`` and ``ConvertedFile`` have in common."""

    @property
    def metadata(self) -> Mapping[str, object]:
        """The metadata of the GGUF header."""


def open_checkpoint(path: Path, name: str) -> Checkpoint:
    """The model at ``path``, a GGUF file or the folder of another format; ``name`` is what to call it.

    Reads headers only. Raises ``BadModelFile`` for what is no sound, whole model, ``UnsupportedModel`` for a sound one
    that is not read here.
    """
    try:
        if path.is_dir():
            return _open_folder(path, name)
    except OSError as error:
        raise unreadable(path, error) from error
    checked_size(path)
    if _starts_with(path, MAGIC) or path.suffix.lower() == ".gguf":
        return _open_gguf(GGUFParts(path) if is_first_part(path) else GGUFFile(path), name)
    if path.suffix.lower() == ".safetensors":
        raise UnsupportedModel(
            f"{path.name}: a safetensors file alone does not say which model it is",
            "Open the folder that holds its config.json, or a GGUF file of the model.",
        )
    raise BadModelFile(
        f"{path.name} is not a model file that is read here, expected GGUF",
        "Choose a .gguf file, or the folder of a model of Hugging Face or Meta.",
    )


def _open_folder(folder: Path, name: str) -> Checkpoint:
    if (folder / METADATA).exists():
        return _open_gguf(ConvertedFile(folder), name)
    if (folder / CONFIG).exists():
        return _open_hugging_face(folder, name)
    if (folder / PARAMS).exists() or (folder / "consolidated.00.pth").exists():
        return _open_meta(folder, name)
    if any(folder.glob("*.safetensors")):
        raise BadModelFile(
            f"{folder.name}: there is no {CONFIG}, which says how large the model is",
            f"Fetch {CONFIG} from where the other files came from.",
        )
    ggufs = sorted(folder.glob("*.gguf"))
    if len(ggufs) == 1 or (ggufs and is_first_part(ggufs[0]) and len(ggufs) == part_count(ggufs[0])):
        return open_checkpoint(ggufs[0], name)
    raise BadModelFile(
        f"{folder.name} is a folder without a model that is read here"
        + (f", but with {len(ggufs)} GGUF files" if ggufs else f": expected {CONFIG}, {PARAMS} or one GGUF file"),
        "Choose a .gguf file, or the folder of a model of Hugging Face or Meta.",
    )


def _open_gguf(stored: GGUFWeights, name: str) -> Checkpoint:
    file_name, shapes = stored.path.name, stored.shapes
    has_factors = len(shapes.get(ROPE_FACTORS, ())) == 1 and stored.types[ROPE_FACTORS] in DEQUANTIZERS
    factors = tuple(stored.read(ROPE_FACTORS).tolist()) if has_factors else None
    config = gguf_config(stored.metadata, shapes, factors, name=name, file_name=file_name)
    architecture = architecture_of(stored.metadata, file_name)
    return checkpoint_of(
        stored,
        GGUF_NAMES,
        config,
        gguf_tokenizer(stored.metadata),
        architecture=architecture.name,
        readable=DEQUANTIZERS,
        half_split=architecture.half_split,
    )


def _open_hugging_face(folder: Path, name: str) -> Checkpoint:
    with _named_after(folder):
        stored = HuggingFaceFolder(folder)
        config = config_from_hugging_face(stored.description, name=name)
        return checkpoint_of(
            stored,
            HUGGING_FACE_NAMES,
            config,
            stored.tokenizer(),
            architecture=family_of(stored.description),
            readable=FLOATS,
            half_split=True,
            notes=stored.notes,
        )


def _open_meta(folder: Path, name: str) -> Checkpoint:
    with _named_after(folder):
        stored = MetaFolder(folder)
        return checkpoint_of(
            stored,
            META_NAMES,
            stored.config(name),
            stored.tokenizer(),
            architecture="llama",
            readable=FLOATS,
            notes=stored.notes,
        )


@contextmanager
def _named_after(folder: Path) -> Iterator[None]:
    """What is wrong with a description becomes what is wrong with the folder that it lies in."""
    try:
        yield
    except UnsupportedFamily as error:
        raise UnsupportedModel(f"{folder.name}: {error.found}", error.remedy) from error
    except ConfigError as error:
        raise BadModelFile(f"{folder.name}: {error.found}", error.remedy) from error


def _starts_with(path: Path, magic: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(magic)) == magic
    except OSError as error:
        raise unreadable(path, error) from error
