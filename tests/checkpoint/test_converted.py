"""The float32 copy of a GGUF file: exact, whole or absent, and rebuilt when damaged."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch
from safetensors.torch import load_file

from explorer.checkpoint.converted import ConvertedFile, convert
from explorer.checkpoint.digest import file_sha256
from explorer.checkpoint.gguf_file import GGUFFile
from explorer.checkpoint.open_checkpoint import open_checkpoint
from explorer.errors import BadModelFile, Cancelled, DownloadFailed
from tests.conftest import DATA

TINY = DATA / "cases" / "files" / "tiny_a.gguf"

CONVERT = """
import sys, time
from pathlib import Path
from explorer.checkpoint.converted import convert
def progress(done, total):
    print(done, flush=True)
    time.sleep(float(sys.argv[3]))
convert(Path(sys.argv[1]), Path(sys.argv[2]), progress)
"""


def start_converting(folder, seconds_per_tensor):
    command = [sys.executable, "-c", CONVERT, str(TINY), str(folder), str(seconds_per_tensor)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "models" / "tiny"
    convert(TINY, folder)
    return folder


def only_the_copy_is_left(folder):
    return sorted(path.name for path in folder.parent.iterdir()) == ["tiny", "tiny.lock"]


def test_the_copy_holds_every_tensor_bit_for_bit_and_all_metadata(folder):
    original, copy = GGUFFile(TINY), ConvertedFile(folder)
    assert copy.metadata == dict(original.metadata)
    assert copy.types == original.types
    for name, tensor in load_file(folder / "weights.safetensors").items():
        assert torch.equal(tensor, original.read(name)) and torch.equal(tensor, copy.read(name))
    assert copy.shapes == original.shapes
    assert only_the_copy_is_left(folder)


def test_the_copy_opens_as_the_same_model(folder):
    original, copy = open_checkpoint(TINY, "tiny"), open_checkpoint(folder, "tiny")
    assert (copy.config, copy.tokenizer, copy.precision) == (original.config, original.tokenizer, original.precision)
    assert (copy.parameters, copy.notes) == (original.parameters, original.notes)
    assert copy.source == "tiny_a.gguf, converted to float32"
    for (name, ours), (other_name, theirs) in zip(copy.tensors(), original.tensors(), strict=True):
        assert name == other_name and torch.equal(ours, theirs)


def test_the_record_names_the_source_by_its_hash(folder):
    record = json.loads((folder / "metadata.json").read_text())
    assert record["source"] == {"file": "tiny_a.gguf", "bytes": 649_248, "sha256": file_sha256(TINY)}
    assert record["weights"]["sha256"] == file_sha256(folder / "weights.safetensors")


def test_progress_counts_the_bytes_up_to_all_of_them(tmp_path):
    seen = []
    convert(TINY, tmp_path / "tiny", lambda done, total: seen.append((done, total)))
    total = sum(4 * torch.Size(shape).numel() for shape in GGUFFile(TINY).shapes.values())
    assert seen == sorted(seen) and seen[-1] == (total, total)


def test_a_whole_copy_is_not_written_again(folder):
    before = (folder / "weights.safetensors").stat()
    convert(TINY, folder)
    after = (folder / "weights.safetensors").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_copy_of_another_file_is_replaced(folder, tmp_path):
    other = tmp_path / "other.gguf"
    other.write_bytes(TINY.read_bytes()[:-4] + bytes(4))
    convert(other, folder)
    assert ConvertedFile(folder).source_sha256 == file_sha256(other)
    assert ConvertedFile(folder).read("rope_freqs.weight")[-1] == 0


def truncate_weights(folder):
    os.truncate(folder / "weights.safetensors", 100_000)


def grow_weights(folder):
    with (folder / "weights.safetensors").open("ab") as file:
        file.write(bytes(64))


def remove_weights(folder):
    (folder / "weights.safetensors").unlink()


def remove_record(folder):
    (folder / "metadata.json").unlink()


def halve_record(folder):
    os.truncate(folder / "metadata.json", 500)


def empty_record(folder):
    (folder / "metadata.json").write_text("{}")


def record_of_another_kind(folder):
    (folder / "metadata.json").write_text('{"format": 1, "types": [], "weights": 3, "source": null}')


@pytest.mark.parametrize(
    "damage",
    [truncate_weights, grow_weights, remove_weights, remove_record, halve_record, empty_record, record_of_another_kind],
)
def test_a_damaged_copy_is_detected_and_rebuilt(folder, damage):
    damage(folder)
    with pytest.raises(BadModelFile) as refused:
        ConvertedFile(folder)
    assert refused.value.remedy
    convert(TINY, folder)
    ConvertedFile(folder).verify()
    assert only_the_copy_is_left(folder)


def test_a_changed_weight_is_found_by_verifying(folder):
    with (folder / "weights.safetensors").open("r+b") as file:
        file.seek(-1000, os.SEEK_END)
        file.write(b"\x01")
    with pytest.raises(BadModelFile, match=r"weights.safetensors has the SHA-256"):
        ConvertedFile(folder).verify()


def test_a_cancelled_conversion_leaves_nothing_behind(tmp_path):
    folder, seen = tmp_path / "tiny", []
    with pytest.raises(Cancelled):
        convert(TINY, folder, lambda done, total: seen.append(done), lambda: len(seen) > 5)
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.lock"]


def test_a_killed_conversion_is_not_taken_for_whole_and_is_done_again(tmp_path):
    folder = tmp_path / "tiny"
    process = start_converting(folder, 0.5)
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not folder.exists()
    assert (tmp_path / "tiny.unfinished").exists()
    convert(TINY, folder)
    ConvertedFile(folder).verify()
    assert only_the_copy_is_left(folder)


def test_of_two_processes_one_converts_and_the_other_waits(tmp_path):
    folder = tmp_path / "tiny"
    first = start_converting(folder, 0.02)
    first.stdout.readline()
    written = []
    convert(TINY, folder, lambda done, total: written.append(done))
    assert first.wait(timeout=20) == 0
    assert written == []
    ConvertedFile(folder).verify()


def test_waiting_for_another_process_can_be_cancelled(tmp_path):
    folder = tmp_path / "tiny"
    first = start_converting(folder, 0.5)
    first.stdout.readline()
    started = time.perf_counter()
    with pytest.raises(Cancelled):
        convert(TINY, folder, cancelled=lambda: time.perf_counter() > started + 0.3)
    first.kill()
    first.wait()


def test_a_place_that_refuses_writing_is_named_with_a_remedy(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DownloadFailed, match="could not be written") as failed:
        convert(TINY, tmp_path / "file" / "tiny")
    assert "EXPLORER_HOME" in failed.value.remedy
