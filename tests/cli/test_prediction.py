"""``lens``, ``attribution`` and ``generate`` from the command line."""

import json
from typing import Any

import pytest

from explorer.cli.main import main

CAPITAL = "The capital of France is"


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(arguments) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_lens_prints_every_depth_and_token(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "lens", CAPITAL, "--count", "2")["lens"]
    assert (len(found), len(found[0])) == (31, 5)
    last = found[-1][-1]
    assert [(each["id"], each["text"]) for each in last["top"]] == [(7042, "·Paris"), (260, "·the")]
    assert last["top"][0]["probability"] == pytest.approx(0.772532, abs=1e-4)  # case G01
    assert last["entropy_nats"] == pytest.approx(1.48117, abs=1e-3)
    assert found[-2][-1]["top"][0]["text"] == "·capital"  # case G02


def test_attribution_prints_parts_that_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "attribution", CAPITAL, "--token", "7042", "--against", "260", "--layer", "3")
    assert len(found["parts"]) == 61
    assert found["parts"][0]["part"] == "embedding"
    assert found["parts"][8]["part"] == "layers.3.feed_forward"
    assert sum(part["contribution"] for part in found["parts"]) == pytest.approx(found["sum"])
    assert found["logit"] == pytest.approx(17.3713 - 14.8886, abs=2e-3)
    assert abs(found["residual"]) < 1e-3 * abs(found["logit"])
    assert sum(head["contribution"] for head in found["heads"]) == pytest.approx(
        found["parts"][7]["contribution"], abs=1e-5
    )


def test_generate_prints_its_steps(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "generate", CAPITAL, "--max-tokens", "3", "--temperature", "0")
    assert found["token_ids"][0] == 7042
    assert found["text"].startswith(" Paris")
    assert len(found["steps"]) == 3
    assert found["stop_reason"] == "limit" and found["stop_token"] is None
    assert found["prefill_milliseconds"] > 0
    assert found["cache_bytes"] == 2 * 30 * 3 * 64 * 4 * 7  # keys and values, layers, heads, numbers, bytes, tokens


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("generate", CAPITAL, "--max-tokens", "0"), "--max-tokens is 0"),
        (("generate", CAPITAL, "--system", "x"), "--chat"),
        (("generate", CAPITAL, "--temperature", "-1"), "temperature is -1"),
        (("attribution", CAPITAL, "--token", "99999999"), "--token is 99999999"),
        (("attribution", CAPITAL, "--layer", "30"), "--layer is 30"),
        (("lens", CAPITAL, "--count", "-1"), "--count is -1"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str
) -> None:
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert says in told and told.count("\n") == 1
