"""The models that lie in the folders of the user: each gets an id, and nothing else of the disk can be named."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from explorer.checkpoint.converted import METADATA
from explorer.checkpoint.gguf_header import PART_OF_NAME
from explorer.checkpoint.hugging_face_folder import CONFIG, INDEX, SINGLE
from explorer.checkpoint.meta_folder import PARAMS

ID = re.compile(r"[a-z0-9][a-z0-9.-]{0,59}")
LONGEST_ID = 60
MARKS = (CONFIG, PARAMS, METADATA, INDEX, SINGLE, "consolidated.00.pth")
WEIGHTS = (".safetensors", ".pth", ".bin")
MAX_DEPTH = 4  # the cache of huggingface_hub keeps a model three folders down
MAX_FOLDERS, MAX_MODELS = 4096, 512
HUB_FOLDER = re.compile(r"models--.+--(?P<name>[^/]+)")


@dataclass(frozen=True, kw_only=True)
class FoundModel:
    """A file or folder that claims to be a model; whether it is one shows when it is opened."""

    id: str
    name: str
    path: Path


def found_models(folders: Sequence[Path], taken: Collection[str] = ()) -> tuple[FoundModel, ...]:
    """Every model in ``folders`` and up to ``MAX_DEPTH`` folders below, in the order of their paths.

    Ids match ``ID``, come from the names, and differ from each other and from those ``taken``. What cannot be listed is
    passed over.
    """
    found: list[FoundModel] = []
    ids = set(taken)
    seen: set[Path] = set()
    for folder in folders:
        for path in _below(folder, MAX_DEPTH, seen):
            if len(found) == MAX_MODELS:
                return tuple(found)
            name = _name(path)
            model = _free_id(name, ids)
            ids.add(model)
            found.append(FoundModel(id=model, name=name, path=path))
    return tuple(found)


def _below(folder: Path, depth: int, seen: set[Path]) -> Iterator[Path]:
    try:
        real = folder.resolve()
        if real in seen or len(seen) == MAX_FOLDERS:  # a link may lead round in a circle
            return
        seen.add(real)
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
        files = [entry for entry in entries if entry.is_file()]
        folders = [entry for entry in entries if entry.is_dir()]
    except (OSError, RuntimeError):
        return
    ggufs = [file for file in files if file.suffix.lower() == ".gguf" and not _is_later_part(file)]
    names = {file.name for file in files}
    # A folder of GGUF files may hold the config.json of the model that they were made from.
    is_model = bool(names.intersection(MARKS)) and (not ggufs or any(file.suffix in WEIGHTS for file in files))
    if is_model:
        yield folder
    yield from ggufs
    if not is_model and depth > 0:
        for inner in folders:
            yield from _below(inner, depth - 1, seen)


def _is_later_part(file: Path) -> bool:
    part = PART_OF_NAME.search(file.name)
    return part is not None and int(part[1]) > 1


def _name(path: Path) -> str:
    if path.is_file():
        return PART_OF_NAME.sub("", path.name) if PART_OF_NAME.search(path.name) else path.stem
    hub = next((match for parent in path.parents if (match := HUB_FOLDER.fullmatch(parent.name))), None)
    return hub["name"] if hub is not None else path.resolve().name


def _free_id(name: str, taken: Collection[str]) -> str:
    slug = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:LONGEST_ID].rstrip("-.") or "model"
    number = 1
    model = slug
    while model in taken:
        number += 1
        ending = f"-{number}"
        model = slug[: LONGEST_ID - len(ending)] + ending
    return model
