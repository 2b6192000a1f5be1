"""``merges``, and ``tokens`` with every vocabulary."""

import json
from typing import Any

import pytest

from explorer.cli.main import main


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str], explorer_home: object):
    def run(*arguments: str) -> dict[str, Any]:
        assert main(arguments) == 0, capsys.readouterr().err
        return json.loads(capsys.readouterr().out)

    return run


@pytest.mark.parametrize("name", ["llama3", "cl100k_base", "o200k_base"])
def test_tokens_and_decode_of_every_vocabulary(name: str, answer, cases: dict[str, Any]) -> None:
    text = cases["T01"]["input"]["text"]
    expected = cases["T01"]["expected"]["per_encoding"][name]
    said = answer("tokens", text, "--encoding", name)
    assert ([token["id"] for token in said["tokens"]], said["count"]) == (expected["ids"], expected["count"])
    assert bytes.fromhex("".join(token["bytes"] for token in said["tokens"])) == text.encode()
    assert said["tokens"][0]["kind"] == "byte fragment"
    assert answer("decode", *map(str, expected["ids"]), "--encoding", name)["text"] == text


def test_t07_ids_without_a_token_are_named(answer, cases: dict[str, Any]) -> None:
    ids = cases["T07"]["input"]["decode_ids"]["cl100k_base"]
    for row in answer("decode", *map(str, ids), "--encoding", "cl100k_base")["tokens"]:
        if row["id"] == 100_276:
            assert row["text"] == "<|endofprompt|>"
        else:
            assert row["text"] is None and "no such token" in row["problem"]


@pytest.mark.parametrize("choice", [(), ("--encoding", "llama3"), ("--encoding", "o200k_base")])
def test_the_merges_of_every_piece_end_at_its_ids(answer, choice: tuple[str, ...]) -> None:
    text = "A hippopotamus is drinking ∩ water."
    said = answer("merges", text, *choice)
    assert "".join(piece["text"] for piece in said["pieces"]) == text
    ids = [token["id"] for token in answer("tokens", text, *choice)["tokens"]]
    assert [each for piece in said["pieces"] for each in piece["ids"]] == ids
    for piece in said["pieces"]:
        parts = [bytes([byte]) for byte in piece["text"].encode()]
        for step in piece["merges"]:
            left, right, result = (bytes.fromhex(step[f"{name}_bytes"]) for name in ("left", "right", "result"))
            assert parts[step["position"] : step["position"] + 2] == [left, right]
            assert left + right == result
            parts[step["position"] : step["position"] + 2] = [result]
            assert step["result"] in (None, result.decode("utf-8", "replace"))
        assert len(parts) == len(piece["ids"])
        assert piece["whole"] == (len(parts) == 1)


def test_t06_a_piece_that_merging_cannot_reach_is_marked_whole(answer) -> None:
    (piece,) = answer("merges", " Việt", "--encoding", "llama3")["pieces"]
    assert (piece["ids"], piece["whole"]) == ([101_798], True)
    assert piece["merges"][-1]["rank"] == 26_298
    assert len(piece["merges"]) == len(" Việt".encode()) - 3


def test_special_tokens_and_long_pieces_have_no_merges(answer) -> None:
    first, second = answer("merges", "<|eot_id|>" + "^" * 1_001, "--encoding", "llama3", "--special")["pieces"]
    assert (first["ids"], first["merges"], first["special"]) == ([128_009], [], True)
    assert second["merges"] is None and "1,001 bytes" in second["problem"]
    begin = answer("merges", "x", "--encoding", "llama3", "--bos")["pieces"][0]
    assert (begin["text"], begin["ids"]) == ("<|begin_of_text|>", [128_000])
