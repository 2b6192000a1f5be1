"""Tables as files that a spreadsheet opens without running anything."""

import csv
import io
import math
from collections.abc import Iterable
from typing import Protocol

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class Table(Protocol):
    """A pandas DataFrame, as far as it matters here."""

    @property
    def columns(self) -> Iterable[object]:
        """The names of the columns."""
        ...

    def __len__(self) -> int:
        """How many rows."""
        ...

    def head(self, n: int = ...) -> "Table":
        """The first rows."""
        ...

    def itertuples(self, index: bool = ...) -> Iterable[tuple[object, ...]]:
        """The rows."""
        ...


def csv_bytes(table: Table) -> bytes:
    """``table`` as RFC 4180 CSV in UTF-8 with a byte order mark, so that every spreadsheet reads its letters right.

    A text that a spreadsheet would take for a formula gets a leading apostrophe; numbers stay numbers at full
    precision; what is not finite is left empty.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(table.columns)
    for row in table.itertuples(index=False):
        writer.writerow([_cell(value) for value in row])
    return out.getvalue().encode("utf-8-sig")


def _cell(value: object) -> object:
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA_STARTS) else value
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else ""
    return value
