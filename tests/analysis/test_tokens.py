"""Tables of tokens: what a file of them keeps, and counts side by side."""

import csv
import io
from typing import Any

import pytest

from explorer.analysis.languages import REFERENCE, article_1
from explorer.analysis.tokens import language_counts, token_table, vocabulary_counts
from explorer.cli.session import tokenizer_named
from explorer.tokenizer.tokenizer import Tokenizer
from explorer.ui.export import csv_bytes

NAMES = ("llama3", "cl100k_base", "o200k_base")


@pytest.fixture(scope="module")
def tokenizers(explorer_home: object) -> dict[str, Tokenizer]:
    return {name: tokenizer_named(name) for name in NAMES}


def test_t01_counts_of_an_emoji_family_side_by_side(tokenizers: dict[str, Tokenizer], cases: dict[str, Any]) -> None:
    text = cases["T01"]["input"]["text"]
    table = vocabulary_counts(text, {name: each.encode(text, bos=False) for name, each in tokenizers.items()})
    expected = cases["T01"]["expected"]["per_encoding"]
    assert dict(zip(table["vocabulary"], table["tokens"], strict=True)) == {n: expected[n]["count"] for n in NAMES}
    assert table["bytes_per_token"].tolist() == pytest.approx([25 / expected[name]["count"] for name in NAMES])
    assert table["characters_per_token"].tolist() == pytest.approx([7 / expected[name]["count"] for name in NAMES])
    assert table["rows"].tolist() == [128_256, 100_277, 200_019]


def test_an_empty_text_has_no_characters_per_token(tokenizers: dict[str, Tokenizer]) -> None:
    table = vocabulary_counts("", {name: each.encode("", bos=False) for name, each in tokenizers.items()})
    assert table["tokens"].tolist() == [0, 0, 0]
    assert table["characters_per_token"].isna().all()


def test_every_language_says_the_same_in_its_own_number_of_tokens(tokenizers: dict[str, Tokenizer]) -> None:
    texts = article_1()
    table = language_counts(texts, tokenizers).set_index("language")
    assert list(table.index) == list(texts) and len(texts) == 15
    for language, text in texts.items():
        assert table["characters"][language] == len(text)
        assert table["bytes"][language] == len(text.encode())
        for name, tokenizer in tokenizers.items():
            assert tokenizer.decode(tokenizer.encode(text, bos=False).ids) == text
            assert table[name][language] == len(tokenizer.encode(text, bos=False).ids)
    assert (table["o200k_base"] >= table["o200k_base"][REFERENCE]).all()
    # The larger vocabulary was made for other languages: OpenAI's announcement of GPT-4o names Hindi and Arabic.
    assert table["cl100k_base"]["Hindi"] > 2.5 * table["o200k_base"]["Hindi"]
    assert table["cl100k_base"]["Arabic"] > 1.5 * table["o200k_base"]["Arabic"]


def test_e01_e03_a_file_of_tokens_brings_back_every_id_and_runs_nothing(
    tokenizers: dict[str, Tokenizer], cases: dict[str, Any]
) -> None:
    text = "".join([*cases["E01"]["input"]["tokens"], ',";\n\r\n', "🦙", '"quoted", twice'])
    encoding = tokenizers["llama3"].encode(text, bos=False)
    rows = list(csv.DictReader(io.StringIO(csv_bytes(token_table(encoding.tokens)).decode("utf-8-sig"), newline="")))
    assert [int(row["id"]) for row in rows] == list(encoding.ids)
    assert b"".join(bytes.fromhex(row["bytes"]) for row in rows) == text.encode()
    assert not any(row["token"].startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows)
    assert "F0 9F" in " ".join(row["token"] for row in rows)
