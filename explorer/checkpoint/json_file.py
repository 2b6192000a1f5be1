"""JSON that a stranger wrote, read without believing its size, its nesting or its keys."""

import json
from pathlib import Path

import numpy as np

from explorer.checkpoint.file_check import checked_size, unreadable
from explorer.errors import BadModelFile

MAX_JSON_BYTES = 16 << 20
MAX_NESTING = 8
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def read_json(path: Path) -> dict[str, object]:
    """The table in the file ``path``. Raises ``BadModelFile`` for anything else, and for more than a real one needs."""
    size = checked_size(path)
    if size > MAX_JSON_BYTES:
        raise damaged(path, f"the file has {size} bytes, expected at most {MAX_JSON_BYTES}")
    try:
        text = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    return parsed_table(path, text, "the file")


def parsed_table(path: Path, text: bytes, what: str) -> dict[str, object]:
    """The table in ``text``, which is ``what`` of the file ``path``."""
    deepest = _nesting(text)
    if deepest > MAX_NESTING:
        raise damaged(path, f"{what} is nested {deepest} deep, expected at most {MAX_NESTING}")
    try:
        table = json.loads(text, object_pairs_hook=lambda pairs: _without_duplicates(path, pairs))
    except ValueError as error:
        raise damaged(path, f"{what} is not JSON") from error
    if not isinstance(table, dict):
        raise damaged(path, f"{what} is not a table")
    return table


def damaged(path: Path, found: str) -> BadModelFile:
    """What to tell of a file whose content makes no sense."""
    return BadModelFile(f"{path.name}: {found}", "The file is damaged: download it again from a source you trust.")


def _nesting(text: bytes) -> int:
    """A bound on how deep the JSON parser will recurse. Brackets within texts are counted too."""
    brackets = np.frombuffer(text.translate(None, NO_BRACKETS), np.uint8)
    steps = np.where((brackets == ord("[")) | (brackets == ord("{")), 1, -1).astype(np.int32)
    return int(steps.cumsum(dtype=np.int32).max(initial=0))


def _without_duplicates(path: Path, pairs: list[tuple[str, object]]) -> dict[str, object]:
    table: dict[str, object] = {}
    for name, value in pairs:
        if name in table:
            raise damaged(path, f"{name[:40]!r} appears twice")
        table[name] = value
    return table
