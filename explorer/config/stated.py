"""Numbers as a file states them, each checked to be one before anything is computed from it."""

from collections.abc import Mapping

from explorer.config.model_config import ConfigError

LARGEST_SIZE = (1 << 31) - 1
SMALLEST, LARGEST = 1e-30, 1e30
REMEDY = "The file is damaged or was edited by hand: fetch it again."


class Stated:
    """One table of a JSON file; ``file_name`` is what messages call it.

    A key that is null counts as absent. Without a default the key must be there. Raises ``ConfigError`` naming the
    file, the key, what it holds and what was expected.
    """

    def __init__(self, table: Mapping[str, object], file_name: str) -> None:
        self.table = table
        self.file_name = file_name

    def has(self, key: str) -> bool:
        """Whether the file states ``key`` at all."""
        return self.table.get(key) is not None

    def size(self, key: str, default: int | None = None) -> int:
        """A whole number of at least 1."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_SIZE:
            raise self.refused(key, f"is {_shown(value)}", f"a whole number from 1 to {LARGEST_SIZE}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A number above 0."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not SMALLEST < value < LARGEST:
            raise self.refused(key, f"is {_shown(value)}", "a number above 0")
        return float(value)

    def flag(self, key: str) -> bool:
        """true or false; absent is false."""
        value = self._value(key, False)
        if not isinstance(value, bool):
            raise self.refused(key, f"is {_shown(value)}", "true or false")
        return value

    def text(self, key: str, default: str = "") -> str:
        """A text."""
        value = self._value(key, default)
        if not isinstance(value, str):
            raise self.refused(key, f"is {_shown(value)}", "a text")
        return value

    def inner(self, key: str) -> "Stated":
        """The table under ``key``; absent is empty."""
        value = self._value(key, {})
        if not isinstance(value, Mapping):
            raise self.refused(key, f"is {_shown(value)}", "a table")
        return Stated(value, f"{self.file_name}, {key}")

    def refused(self, key: str, found: str, expected: str) -> ConfigError:
        """The error for a key that cannot be used."""
        return ConfigError(f"{self.file_name}: {key} {found}, expected {expected}", REMEDY)

    def _value(self, key: str, default: object) -> object:
        value = self.table.get(key)
        if value is not None:
            return value
        if default is None:
            raise self.refused(key, "is missing", "a number")
        return default


def _shown(value: object) -> str:
    # A number of a thousand digits is not worth printing, and Python refuses to print one of ten thousand.
    if isinstance(value, int) and value.bit_length() > 128:
        return f"a number of {value.bit_length()} bits"
    return repr(value)[:40]
