"""The command line, as its contract says."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

from explorer.cli.main import main
from tests.conftest import DATA

ROOT = Path(__file__).parents[2]
TINY = str(DATA / "cases" / "files" / "tiny_a.gguf")
PROMPT = "The capital of France is"


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str], explorer_home: Path):
    """The JSON that a command prints."""

    def run(*arguments: str) -> dict:
        assert main(arguments) == 0, capsys.readouterr().err
        out = capsys.readouterr().out
        return json.loads(out, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))

    return run


@pytest.fixture
def refusal(capsys: pytest.CaptureFixture[str], explorer_home: Path):
    """The exit code and the line on stderr of a command that is refused."""

    def run(*arguments: str) -> tuple[int, str]:
        code = main(arguments)
        captured = capsys.readouterr()
        assert captured.out == ""
        return code, captured.err.strip().splitlines()[-1]

    return run


def test_models_lists_the_known_sizes(answer) -> None:
    models = {model["id"]: model for model in answer("models")["models"]}
    assert models["llama-3.1-8b"]["parameters"] == 8_030_261_248
    assert models["llama-3.1-70b"]["parameters"] == 70_553_706_496
    assert models["llama-3.1-405b"]["parameters"] == 405_853_388_800
    assert not models["llama-3.1-8b"]["has_weights"]
    assert models["smollm2-135m-instruct"] | {"has_weights": True} == models["smollm2-135m-instruct"]


def test_fetch_says_where_the_file_is(answer) -> None:
    fetched = answer("fetch")
    assert Path(fetched["path"]).stat().st_size == fetched["bytes"] == 98_362_432
    assert fetched["sha256"].startswith("b179c952")


def test_doctor_finds_nothing_wrong(answer) -> None:
    report = answer("doctor")
    assert report["problems"] == []
    assert report["models"] == ["smollm2-135m-instruct"]


def test_models_and_doctor_list_the_models_of_the_users_folders_and_say_what_is_wrong_with_bad_ones(
    answer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("tiny_a.gguf", "bad_magic.gguf"):
        shutil.copy(DATA / "cases" / "files" / name, tmp_path / name)
    monkeypatch.setenv("EXPLORER_MODELS", f"{tmp_path}{os.pathsep}{tmp_path / 'nowhere'}")
    models = {model["id"]: model for model in answer("models")["models"]}
    keys = {"id", "name", "architecture", "parameters", "dtype", "source", "has_weights", "tokenizer", "context"}
    assert all(keys <= model.keys() for model in models.values())
    expected = json.loads((DATA / "cases" / "files" / "tiny_a_expected.json").read_text())
    assert models["tiny-a"] | {
        "architecture": "llama", "parameters": expected["n_params"], "dtype": "F32", "has_weights": True,
        "source": str(tmp_path / "tiny_a.gguf"), "tokenizer": "gguf", "context": 64,
    } == models["tiny-a"]  # fmt: skip
    assert "not a GGUF file" in models["bad-magic"]["problem"] and not models["bad-magic"]["has_weights"]
    assert answer("trace", "--ids", "1,2", "--model", "tiny-a")["model"] == "tiny-a"
    report = answer("doctor")
    assert report["models"] == ["smollm2-135m-instruct", "tiny-a"]
    assert len(report["problems"]) == 2
    assert "nowhere" in report["problems"][0] and report["problems"][1].startswith("bad-magic cannot run: ")


def test_tokens_of_the_default_model(answer) -> None:
    said = answer("tokens", PROMPT)
    assert [token["id"] for token in said["tokens"]] == [504, 3575, 282, 4649, 314]
    assert said["count"] == 5
    assert bytes.fromhex("".join(token["bytes"] for token in said["tokens"])) == PROMPT.encode()


def test_tokens_of_llama_with_and_without_bos(answer) -> None:
    text = "A hippopotamus is drinking water."
    ids = [32, 44656, 89490, 56455, 374, 16558, 3090, 13]
    assert [token["id"] for token in answer("tokens", text, "--encoding", "llama3")["tokens"]] == ids
    with_bos = answer("tokens", text, "--encoding", "llama3", "--bos")["tokens"]
    assert [token["id"] for token in with_bos] == [128000, *ids]
    assert with_bos[0]["kind"] == "special"


def test_a_second_bos_is_left_out_and_said(answer) -> None:
    said = answer("tokens", "<|begin_of_text|>Hello world", "--encoding", "llama3", "--bos", "--special")
    assert [token["id"] for token in said["tokens"]] == [128000, 9906, 1917]
    assert any("only one is kept" in note for note in said["notes"])


def test_a_fragment_has_bytes_and_no_text(answer) -> None:
    first, second = answer("tokens", "∩", "--encoding", "llama3")["tokens"]
    assert (first["text"], first["bytes"], second["bytes"]) == (None, "e288", "a9")


def test_decode_names_an_id_without_a_token(answer) -> None:
    said = answer("decode", "504", "7042", "99999")
    assert said["text"] == "The Paris"
    assert said["tokens"][2]["text"] is None
    assert "99999" in said["tokens"][2]["problem"]


def test_text_from_stdin_is_taken_exactly(explorer_home: Path) -> None:
    command = [sys.executable, "-m", "explorer", "tokens", "-"]
    text = " a\r\n\tb  \n"
    ran = subprocess.run(command, cwd=ROOT, input=text.encode(), capture_output=True, timeout=60)
    tokens = json.loads(ran.stdout)["tokens"]
    assert bytes.fromhex("".join(token["bytes"] for token in tokens)) == text.encode()
    ran = subprocess.run(command, cwd=ROOT, input=b"\xff\xfe", capture_output=True, timeout=60)
    assert ran.returncode == 2
    assert b"not UTF-8" in ran.stderr


def test_trace_of_the_capital_of_france(answer, cases) -> None:
    said = answer("trace", PROMPT)
    assert said["token_ids"] == [504, 3575, 282, 4649, 314]
    expected = cases["S01"]["expected"]
    assert [row[0] for row in said["stream_norms"]] == pytest.approx(expected["first_token_L2"], rel=1e-3)
    assert [row[4] for row in said["stream_norms"]] == pytest.approx(expected["last_token_L2"], rel=1e-3)
    for found, wanted in zip(said["top"], cases["G01"]["expected"]["top5"], strict=False):
        assert found["id"] == wanted[0]
        assert (found["logit"], found["probability"]) == pytest.approx(tuple(wanted[2:]), rel=1e-3)
    assert said["entropy_nats"] == pytest.approx(1.48117, rel=1e-3)
    assert len(said["logits_last"]) == 8


def test_trace_writes_the_tensors_it_was_asked_for(answer, tmp_path: Path) -> None:
    out = tmp_path / "trace.safetensors"
    address = "layers.1.attention.tap.query"
    said = answer("trace", "--ids", "256,72,101", "--model", TINY, "--tap", address, "--out", str(out), "--logits")
    tensors = load_file(out)
    assert said["taps"][address]["shape"] == list(tensors[address].shape)
    assert said["taps"][address]["norm"] == pytest.approx(float(tensors[address].norm()), rel=1e-6)
    assert len(said["logits_last"]) == 512


def test_sample_reads_scores_that_begin_with_a_minus(answer) -> None:
    said = answer("sample", "--logits", "-1,2,3", "--top-p", "0.8", "--draws", "3")
    assert said["kept"] == [2, 1]
    assert sum(said["probabilities"]) == pytest.approx(1)
    assert all(draw["id"] in said["kept"] for draw in said["draws"])


def test_sample_of_a_text_is_the_same_in_every_process(answer, explorer_home: Path) -> None:
    arguments = ["sample", PROMPT, "--temperature", "1.5", "--seed", "7", "--draws", "4"]
    ran = subprocess.run([sys.executable, "-m", "explorer", *arguments], cwd=ROOT, capture_output=True, timeout=120)
    assert json.loads(ran.stdout)["draws"] == answer(*arguments)["draws"]


def test_rope_of_llama_and_of_the_default_model(answer) -> None:
    llama = answer("rope", "--model", "llama-3.1-8b")
    assert (llama["kept"], llama["blended"], llama["slowed"]) == (29, 6, 29)
    expected = json.loads((DATA / "cases" / "files" / "rope_llama31_64.json").read_text())
    assert llama["speeds"] == pytest.approx([pair["scaled"] for pair in expected["pairs"]], rel=1e-12)
    plain = answer("rope")
    assert plain["scaling"] is None
    assert plain["speeds"] == plain["base_speeds"]
    assert (plain["theta"], plain["kept"]) == (100_000.0, 32)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fetch", "llama"], "OWNER/NAME"),
        (["fetch", "../up/there"], "cannot be fetched"),
        (["tokens", "x", "--encoding", "nope"], "nope"),
        (["tokens", "x", "--model", "/no/such/folder"], "/no/such/folder"),
        (["trace"], "needs a text or --ids"),
        (["trace", "--ids", "1,x"], "whole numbers"),
        (["trace", "--ids", "999999"], "999999"),
        (["trace", ""], "no token"),
        (["trace", "a", "--tap", "layers.0.nothing"], "layers.0.nothing"),
        (["trace", "--model", str(DATA / "cases/files/bad_magic.gguf"), "--ids", "1"], "bad_magic.gguf"),
        (
            ["trace", "--model", str(DATA / "cases/files/array_u8_len_2e40.gguf"), "--ids", "1"],
            "array_u8_len_2e40.gguf",
        ),
        (["sample", "--logits", "nan,1"], "finite"),
        (["sample", "--logits", "1,2", "--top-k", "-1"], "top-k is -1"),
        (["sample", "--logits", "1,2", "--temperature", "-1"], "temperature"),
        (["sample", "--logits", "a,b"], "numbers with commas"),
    ],
)
def test_bad_input_ends_with_two_and_one_line(refusal, arguments: list[str], words: str) -> None:
    code, line = refusal(*arguments)
    assert code == 2
    assert words in line
