"""Models from the hub: what is chosen, checked, resumed, and refused in plain words. The hub is one of our own."""

import hashlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from explorer.checkpoint.catalogue import found_models
from explorer.checkpoint.hub_download import HUB_NAME, fetch_from_hub
from explorer.checkpoint.open_checkpoint import open_checkpoint
from explorer.cli.main import main
from explorer.errors import DownloadFailed
from tests.checkpoint.fake_hub import Hub, fake_hub, folder_files
from tests.checkpoint.tiny_folders import CASES, EXPECTED, FIRST, LOGITS, logits

ROOT = Path(__file__).parents[2]
OTHERS = {
    "README.md": b"# a card",
    "pytorch_model.bin": b"the same weights again",
    "consolidated.safetensors": b"the same weights again",
    "original/consolidated.00.pth": b"the same weights again",
    "../escape.json": b"{}",
    ".gitattributes": b"",
}


@pytest.fixture
def hub() -> Iterator[Hub]:
    with fake_hub(folder_files(CASES / "tiny_a_hf") | OTHERS) as made:
        yield made


def fetched(hub: Hub, folder: Path, name: str = "owner/tiny") -> Path:
    return fetch_from_hub(name, folder, endpoint=hub.address).path


def test_a_fetched_model_is_whole_listed_and_computes_the_published_scores(hub: Hub, tmp_path: Path) -> None:
    told: list[float] = []
    done = fetch_from_hub("owner/tiny", tmp_path, lambda share, _: told.append(share), endpoint=hub.address)
    assert done.path == tmp_path / "owner" / "tiny"
    names = {path.name for path in done.path.iterdir() if not path.name.startswith(".")}
    wanted = set(folder_files(CASES / "tiny_a_hf"))
    assert names == wanted
    assert done.n_bytes == sum(path.stat().st_size for path in (CASES / "tiny_a_hf").iterdir())
    assert done.sha256 is None and told[-1] == 1.0 and told == sorted(told)
    assert [(found.id, found.path) for found in found_models([tmp_path])] == [("tiny", done.path)]
    torch.testing.assert_close(logits(open_checkpoint(done.path, "tiny")), LOGITS, atol=1e-4, rtol=0)


def test_an_interrupted_download_keeps_what_came_and_goes_on_from_there(hub: Hub, tmp_path: Path) -> None:
    hub.stop_after, hub.then_down = 100_000, True
    with pytest.raises(DownloadFailed, match="503") as refusal:
        fetched(hub, tmp_path)
    assert "what has arrived is kept" in refusal.value.remedy
    assert found_models([tmp_path])[0].name == "tiny" and not list(tmp_path.rglob("*.safetensors"))
    hub.stop_after, hub.down, hub.asked = None, False, []
    path = fetched(hub, tmp_path)
    assert (path / FIRST).read_bytes() == hub.files[FIRST]
    assert [asked for place, asked in hub.asked if place.endswith(FIRST)] == ["bytes=100000-"]
    assert not list(tmp_path.rglob("*.part"))


def test_a_line_that_breaks_again_and_again_is_taken_up_again(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.checkpoint.hub_download.SECONDS_BEFORE_AGAIN", 0)
    hub.stop_after = 100_000
    path = fetched(hub, tmp_path)
    assert all((path / name).read_bytes() == data for name, data in folder_files(CASES / "tiny_a_hf").items())


def test_fetching_again_downloads_nothing(hub: Hub, tmp_path: Path) -> None:
    fetched(hub, tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    fetched(hub, tmp_path)
    assert len(times) == 2 and all(path.stat().st_mtime_ns == time for path, time in times.items())


@pytest.mark.parametrize("name", [FIRST, "config.json"])
def test_a_file_that_was_changed_is_fetched_again(hub: Hub, tmp_path: Path, name: str) -> None:
    path = fetched(hub, tmp_path)
    (path / name).write_bytes(b"x" * len(hub.files[name]))
    assert (fetched(hub, tmp_path) / name).read_bytes() == hub.files[name]


@pytest.mark.parametrize("name", [FIRST, "config.json"])
def test_a_file_that_is_not_what_the_hub_promised_is_refused_and_thrown_away(
    hub: Hub, tmp_path: Path, name: str
) -> None:
    sound = hub.files[name]
    hub.served[name] = b"x" * len(sound)
    with pytest.raises(DownloadFailed, match="another hash") as refusal:
        fetched(hub, tmp_path)
    assert name in refusal.value.found and not list(tmp_path.rglob(f"*{name}*"))
    hub.served.clear()
    assert (fetched(hub, tmp_path) / name).read_bytes() == sound


def test_one_gguf_file_is_fetched_by_its_name_and_the_others_are_named_without_it(tmp_path: Path) -> None:
    data = (CASES / "tiny_a.gguf").read_bytes()
    files = {"tiny-F32.gguf": data, "tiny-Q8-00001-of-00002.gguf": b"a", "tiny-Q8-00002-of-00002.gguf": b"b"}
    with fake_hub(files) as hub:
        done = fetch_from_hub("owner/tiny/tiny-F32.gguf", tmp_path, endpoint=hub.address)
        assert done.path.read_bytes() == data and done.sha256 == hashlib.sha256(data).hexdigest()
        assert sorted(path.name for path in done.path.parent.glob("*.gguf")) == ["tiny-F32.gguf"]
        fetched(hub, tmp_path, "owner/tiny/tiny-Q8-00001-of-00002.gguf")
        assert len(list(done.path.parent.glob("*.gguf"))) == 3
        for name in ("owner/tiny", "owner/tiny/other.gguf"):
            with pytest.raises(DownloadFailed) as refusal:
                fetched(hub, tmp_path, name)
            assert "tiny-F32.gguf" in refusal.value.remedy


@pytest.mark.parametrize(("missing", "words"), [(".safetensors", "safetensors"), ("config.json", "config.json")])
def test_what_is_no_whole_model_is_refused_before_anything_is_fetched(
    hub: Hub, tmp_path: Path, missing: str, words: str
) -> None:
    hub.files = {name: data for name, data in hub.files.items() if not name.endswith(missing)}
    with pytest.raises(DownloadFailed, match=words):
        fetched(hub, tmp_path)
    assert not list(tmp_path.rglob("*.json"))


def test_a_gated_model_says_where_its_licence_is_accepted_and_how_to_name_the_token(hub: Hub, tmp_path: Path) -> None:
    hub.gated = True
    with pytest.raises(DownloadFailed, match="gated") as refusal:
        fetched(hub, tmp_path)
    assert "huggingface.co/owner/tiny" in refusal.value.remedy and "HF_TOKEN" in refusal.value.remedy


def test_a_model_that_is_not_there_and_a_hub_that_is_not_there_are_told_apart(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(DownloadFailed, match="knows no model owner/other") as refusal:
        fetched(hub, tmp_path, "owner/other")
    assert "spelling" in refusal.value.remedy
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(DownloadFailed, match="cannot be reached") as refusal:
        fetch_from_hub("owner/tiny", tmp_path, endpoint=nobody)
    assert "HF_ENDPOINT" in refusal.value.remedy


def test_a_full_disk_is_told_before_anything_is_fetched(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10_000})())
    with pytest.raises(DownloadFailed, match="disk is too full"):
        fetched(hub, tmp_path)


@pytest.mark.parametrize(
    "name",
    ["", "tiny", "../tiny/x", "a/../b", "/a/b", "a/b/../c.gguf", "a/b/c.safetensors", "a/b\n", "ä/b", "https://x/y"],
)
def test_nothing_but_the_name_of_a_model_is_asked_for(name: str) -> None:
    assert HUB_NAME.fullmatch(name) is None


def test_the_command_line_fetches_from_the_hub_that_the_environment_names(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = os.environ | {"HF_ENDPOINT": hub.address, "EXPLORER_HOME": str(tmp_path), "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-m", "explorer", "fetch", "owner/tiny"]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert (said["id"], said["problem"]) == ("tiny", None)
    assert said["path"] == str(tmp_path / "models-from-hub" / "owner" / "tiny")
    monkeypatch.setenv("EXPLORER_HOME", str(tmp_path))
    assert main(["models"]) == 0
    models = {model["id"]: model for model in json.loads(capsys.readouterr().out)["models"]}
    assert models["tiny"]["has_weights"] and models["tiny"]["parameters"] == EXPECTED["n_params"]
