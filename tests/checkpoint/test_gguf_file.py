"""Reading tensors out of a GGUF file that may change under us."""

import os

import pytest
import torch
from gguf import GGUFReader

from explorer.checkpoint.gguf_file import GGUFFile
from explorer.errors import BadModelFile
from tests.conftest import DATA

TINY = DATA / "cases" / "files" / "tiny_a.gguf"


def test_every_tensor_of_a_small_file_is_the_one_that_the_gguf_package_reads():
    theirs = {tensor.name: tensor for tensor in GGUFReader(TINY).tensors}
    ours = dict(GGUFFile(TINY))
    assert set(ours) == set(theirs)
    for name, tensor in ours.items():
        assert torch.equal(tensor, torch.from_numpy(theirs[name].data.copy())), name


def test_a_file_that_shrinks_while_it_is_open_is_an_error_and_not_the_end_of_the_process(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(TINY.read_bytes())
    file = GGUFFile(path)
    os.truncate(path, 300_000)
    with pytest.raises(BadModelFile, match=r"model.gguf has changed since it was opened: tensor output.weight"):
        file.read("output.weight")


def test_a_file_that_is_replaced_while_it_is_open_is_not_read_with_the_old_header(tmp_path):
    path, other = tmp_path / "model.gguf", tmp_path / "other.gguf"
    path.write_bytes(TINY.read_bytes())
    other.write_bytes(TINY.read_bytes())
    file = GGUFFile(path)
    os.replace(other, path)
    with pytest.raises(BadModelFile, match="has changed since it was opened"):
        file.read("output.weight")


def test_a_file_that_vanishes_while_it_is_open_is_a_named_error(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(TINY.read_bytes())
    file = GGUFFile(path)
    path.unlink()
    with pytest.raises(BadModelFile, match=r"model.gguf cannot be read: No such file"):
        file.read("output.weight")
