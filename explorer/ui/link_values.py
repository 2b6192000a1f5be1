"""The values that a link may hold: how each kind is read from it, written to it, and held to its bounds."""

import base64
import math
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass

MAX_CHARACTERS = 20_000
MAX_SHORT = 200
PACKED = "z."
PACK_LONGER_THAN = 200
MODEL_ID = re.compile(r"[a-z0-9][a-z0-9.-]{0,59}")

Value = str | int | float | bool | None


class UnusableValueError(ValueError):
    """A parameter of a link that cannot be used; the message completes the sentence "layer …"."""


def whole(low: int, high: int) -> Callable[[str], int]:
    """Reads whole numbers from ``low`` to ``high``."""

    def read(text: str) -> int:
        if not re.fullmatch(r"-?[0-9]{1,12}", text):
            raise UnusableValueError("is not a whole number")
        if not low <= int(text) <= high:
            raise UnusableValueError(f"must be between {low} and {high:,}")
        return int(text)

    return read


def real(low: float, high: float) -> Callable[[str], float]:
    """Reads numbers from ``low`` to ``high``."""

    def read(text: str) -> float:
        try:
            value = float(text[:40])
        except ValueError:
            raise UnusableValueError("is not a number") from None
        if not (math.isfinite(value) and low <= value <= high):
            raise UnusableValueError(f"must be between {low:g} and {high:g}")
        return round(value, 6)

    return read


def switch(text: str) -> bool:
    """Reads 0 or 1."""
    if text not in ("0", "1"):
        raise UnusableValueError("must be 0 or 1")
    return text == "1"


def choice(*options: str) -> Callable[[str], str]:
    """Reads one of ``options``."""

    def read(text: str) -> str:
        if text not in options:
            raise UnusableValueError(f"must be one of {', '.join(options)}")
        return text

    return read


def numbers(fewest: int, most: int) -> Callable[[str], str]:
    """Reads a row of ``fewest`` to ``most`` numbers."""

    def read(text: str) -> str:
        try:
            values = [float(part) for part in text[:400].replace(",", " ").split()]
        except ValueError:
            raise UnusableValueError("must be numbers with commas between them") from None
        if not fewest <= len(values) <= most:
            raise UnusableValueError(f"must hold {fewest} to {most} numbers")
        if not all(abs(value) <= 1e12 for value in values):
            raise UnusableValueError("must be numbers from -1e12 to 1e12")
        return ",".join(f"{value:.6g}" for value in values)

    return read


def model_id(text: str) -> str:
    """Reads the id of a model."""
    if not MODEL_ID.fullmatch(text):
        raise UnusableValueError("is not the id of a model")
    return text


def short(text: str) -> str:
    """Reads a text of one line."""
    if len(text) > MAX_SHORT:
        raise UnusableValueError(f"has {len(text):,} characters; the limit is {MAX_SHORT}")
    return text


def forced(text: str) -> str:
    """Reads the tokens that were chosen by hand: steps and token ids."""
    if text and not re.fullmatch(r"[0-9]{1,4}-[0-9]{1,7}(\.[0-9]{1,4}-[0-9]{1,7}){0,31}", text):
        raise UnusableValueError("must look like 3-260.7-284: steps and token ids")
    return text


def prompt(text: str) -> str:
    """Reads a text, packed or as it is."""
    if text.startswith(PACKED):
        try:
            unpacker = zlib.decompressobj()
            packed = text[len(PACKED) :]
            data = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
            text = unpacker.decompress(data, 4 * MAX_CHARACTERS + 1).decode()
        except (ValueError, zlib.error):
            raise UnusableValueError("could not be unpacked") from None
    if len(text) > MAX_CHARACTERS:
        raise UnusableValueError(f"has {len(text):,} characters; the limit is {MAX_CHARACTERS:,}")
    return text


def packed_prompt(value: Value) -> str:
    """A text as it is, or packed where that is shorter."""
    text = str(value)
    if len(text) <= PACK_LONGER_THAN and not text.startswith(PACKED):
        return text
    return PACKED + base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def plain(value: Value) -> str:
    """A value as a link spells it."""
    if isinstance(value, bool):
        return "1" if value else "0"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Rule:
    """How one field is read from a link and written to it."""

    read: Callable[[str], Value]
    write: Callable[[Value], str] = plain
