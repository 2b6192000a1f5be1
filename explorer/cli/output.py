"""What a command prints: standard JSON on stdout, everything for people on stderr."""

import json
import math
import sys
from collections.abc import Callable, Mapping

from explorer.config import ConfigError
from explorer.errors import ExplorerError
from explorer.settings import SettingError

Json = Mapping[str, object]


def print_json(answer: Json) -> None:
    """``answer`` as one standard JSON object: what is not finite becomes null, floats keep full precision."""
    sys.stdout.write(json.dumps(_standard(answer), ensure_ascii=False, allow_nan=False))
    sys.stdout.write("\n")


def print_note(text: str) -> None:
    """A line for the person at the terminal."""
    sys.stderr.write(f"{text}\n")


def one_line(error: ExplorerError | ConfigError | SettingError) -> str:
    """What was found and what to do, as two sentences in one line."""
    found = error.found if error.found.endswith((".", "!", "?")) else f"{error.found}."
    return f"{found} {error.remedy}".strip().replace("\n", " ")


def progress_notes() -> Callable[[float, str], None]:
    """A reporter of progress that writes a line for every twentieth of the way."""
    told = 0

    def tell(fraction: float, sentence: str) -> None:
        nonlocal told
        if int(20 * fraction) > told:
            told = int(20 * fraction)
            print_note(f"{fraction:4.0%}  {sentence}")

    return tell


def _standard(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _standard(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_standard(each) for each in value]
    return value
