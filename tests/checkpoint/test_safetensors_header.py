"""The check of safetensors headers, against the safetensors library and against files made to hurt."""

import json
import struct
import time

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from explorer.checkpoint.safetensors_header import read_safetensors_header
from explorer.errors import BadModelFile
from tests.conftest import DATA

CASES = DATA / "cases" / "files"


def entry(shape, offsets, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def write(path, header, content=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + content)
    return path


GOOD = {"a": entry([2], [0, 8])}
TWICE = b'{"a":%s,"a":%s}' % ((json.dumps(GOOD["a"]).encode(),) * 2)
LIES = {
    "length 2^64 - 1": (GOOD, bytes(8), 2**64 - 1, "header claims 18446744073709551615 bytes, expected"),
    "length beyond the file": (GOOD, bytes(8), 10_000, "truncated: the header needs bytes up to 10008"),
    "no header": (b"", b"", None, "header claims 0 bytes"),
    "not JSON": (b'{"a":', b"", None, "header is not JSON"),
    "not UTF-8": (b'{"\xff":1}', b"", None, "header is not JSON"),
    "a list": (b"[1, 2]", b"", None, "the header is not a table"),
    "nested deep": (b'{"__metadata__":' + b"[" * 200_000 + b"]" * 200_000 + b"}", b"", None, "nested 200001 deep"),
    "name twice": (TWICE, bytes(8), None, "'a' appears twice"),
    "overlap": ({"a": entry([2], [0, 8]), "b": entry([2], [4, 12])}, bytes(12), None, "b starts at byte 4, expected 8"),
    "hole": ({"a": entry([2], [0, 8]), "b": entry([2], [16, 24])}, bytes(24), None, "b starts at byte 16, expected 8"),
    "bytes after": (GOOD, bytes(99), None, "the last tensor ends at byte"),
    "truncated": ({"a": entry([1000], [0, 4000])}, bytes(100), None, "truncated: tensor a needs bytes up to"),
    "negative size": ({"a": entry([-2], [0, 8])}, bytes(8), None, "shape of tensor a is not"),
    "size 2^62": ({"a": entry([2**62, 4], [0, 8])}, bytes(8), None, "shape of tensor a is not"),
    "bool as size": ({"a": entry([True, 2], [0, 8])}, bytes(8), None, "shape of tensor a is not"),
    "end before start": ({"a": entry([2], [8, 0])}, bytes(8), None, "tensor a has -8 bytes, its shape needs 8"),
    "unknown dtype": ({"a": entry([2], [0, 8], "F33")}, bytes(8), None, "unknown dtype 'F33'"),
    "list as dtype": ({"a": entry([2], [0, 8], ["F32"])}, bytes(8), None, "unknown dtype"),
    "field missing": ({"a": {"dtype": "F32"}}, b"", None, "not described by dtype, shape and data_offsets"),
    "path as name": ({"../../etc/passwd": entry([2], [0, 8])}, bytes(8), None, "is not a tensor name"),
    "markup as name": ({"<img src=x>": entry([2], [0, 8])}, bytes(8), None, "is not a tensor name"),
    "metadata of numbers": ({"__metadata__": {"a": 1}} | GOOD, bytes(8), None, "not a table of texts"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_in_the_header_is_refused_at_once_and_by_name(tmp_path, lie):
    header, content, length, found = LIES[lie]
    path = write(tmp_path / "lie.safetensors", header, content, length)
    started = time.perf_counter()
    with pytest.raises(BadModelFile, match=found) as refused:
        read_safetensors_header(path)
    assert time.perf_counter() - started < 1.0
    assert refused.value.found.startswith("lie.safetensors")
    assert refused.value.remedy


def test_a_git_lfs_pointer_and_a_huge_header_are_refused_in_plain_words():
    with pytest.raises(BadModelFile, match="135-byte Git LFS pointer, the real file was not downloaded"):
        read_safetensors_header(CASES / "lfs_pointer.safetensors")
    with pytest.raises(BadModelFile, match="header claims 1152921504606846976 bytes"):
        read_safetensors_header(CASES / "header_len_huge.safetensors")


@pytest.mark.parametrize("file", ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"])
def test_a_sound_file_has_the_tensors_that_the_library_reads(file):
    path = CASES / "tiny_a_hf" / file
    header = read_safetensors_header(path)
    with safe_open(path, framework="pt") as theirs:
        assert set(header.tensors) == set(theirs.keys())
        for name, tensor in header.tensors.items():
            assert list(tensor.shape) == theirs.get_slice(name).get_shape()


def test_no_length_of_the_header_makes_a_sound_file_look_like_a_pickle(tmp_path):
    path = tmp_path / "model.safetensors"
    lengths = set()
    for padding in range(40):
        save_file({"a": torch.zeros(2)}, path, metadata={"note": "x" * (500 + 8 * padding)})
        read_safetensors_header(path)
        lengths.add(path.read_bytes()[:2])
    assert b"\x80\x02" in lengths  # the two bytes that begin a pickle of protocol 2
