"""Tables as files."""

import csv
import io
import math

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from explorer.ui.export import csv_bytes
from explorer.ui.words import literal

HOSTILE = ["=1+1", "+", "-", "@", "\tx", '=HYPERLINK("http://example.invalid")', "\rx"]


def rows(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def test_no_cell_begins_like_a_formula() -> None:
    table = pd.DataFrame({"id": range(len(HOSTILE)), "token": HOSTILE})
    read = rows(csv_bytes(table))[1:]
    assert [row[1] for row in read] == [f"'{text}" for text in HOSTILE]
    assert [row[0] for row in read] == [str(place) for place in range(len(HOSTILE))]


@given(st.lists(st.text(st.characters(codec="utf-8")), max_size=8))
def test_reading_the_file_gives_the_same_rows(tokens: list[str]) -> None:
    table = pd.DataFrame({"id": range(len(tokens)), "token": tokens})
    for (place, text), token in zip(rows(csv_bytes(table))[1:], tokens, strict=True):
        assert tokens[int(place)] == token
        assert text in (token, f"'{token}")


def test_numbers_keep_their_precision_and_what_is_not_finite_is_empty() -> None:
    values = [0.1 + 0.2, -3.5e-300, math.nan, math.inf, -math.inf]
    read = rows(csv_bytes(pd.DataFrame({"value": values})))[1:]
    assert [float(row[0]) for row in read[:2]] == values[:2]
    assert [row for row in read[2:]] == [[""], [""], [""]]


def test_markdown_shows_a_literal_name_as_it_is() -> None:
    assert literal("a*b_c [x](y) $5 :smile: <b>") == r"a\*b\_c \[x\]\(y\) \$5 \:smile\: \<b\>"
