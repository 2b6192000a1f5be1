"""The reader of GGUF headers, against the gguf package and against files made to hurt."""

import struct
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader
from gguf.constants import GGML_QUANT_SIZES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.checkpoint.ggml_type import GGML_TYPES
from explorer.checkpoint.gguf_header import GGUFHeader, read_gguf_header
from explorer.errors import BadModelFile, ExplorerError, UnsupportedModel
from tests.checkpoint.gguf_bytes import (
    ARCHITECTURE,
    ARRAY,
    STRING,
    UINT8,
    array,
    number,
    pair,
    tensor,
    text,
    write_gguf,
)
from tests.conftest import DATA

CASES = DATA / "cases" / "files"
TINY = CASES / "tiny_a.gguf"


def assert_same_header(header: GGUFHeader, reader: GGUFReader) -> None:
    own = {field.name: field for field in reader.fields.values() if not field.name.startswith("GGUF.")}
    assert set(header.metadata) == set(own)
    for name, field in own.items():
        assert header.metadata[name] == field.contents(), name
    assert list(header.tensors) == [tensor.name for tensor in reader.tensors]
    for theirs in reader.tensors:
        ours = header.tensors[theirs.name]
        assert ours.shape == tuple(int(size) for size in reversed(theirs.shape))
        assert (ours.type, ours.offset, ours.n_bytes) == (
            theirs.tensor_type.name,
            theirs.data_offset,
            theirs.n_bytes,
        )


def test_the_header_of_a_small_file_says_what_the_gguf_package_reads():
    assert_same_header(read_gguf_header(TINY), GGUFReader(TINY))


def test_the_block_sizes_are_those_of_the_gguf_package():
    theirs = {int(kind): (kind.name, *sizes) for kind, sizes in GGML_QUANT_SIZES.items()}
    for kind, ours in GGML_TYPES.items():
        assert (ours.name, ours.block_weights, ours.block_bytes) == theirs[kind]


def test_the_header_of_the_default_model_is_read_in_a_fraction_of_a_second(default_gguf):
    started = time.perf_counter()
    header = read_gguf_header(default_gguf)
    assert time.perf_counter() - started < 1.0  # 0.06 s when nothing else runs; the gguf package takes 5 s
    assert len(header.tensors) == 272
    assert len(header.metadata["tokenizer.ggml.tokens"]) == 49_152


def test_a_header_with_the_vocabulary_of_llama_3_is_read_in_a_second(tmp_path):
    tokens = array(STRING, 128_256, b"".join(text(b"token%d" % index) for index in range(128_256)))
    merges = array(STRING, 280_147, b"".join(text(b"left%d right" % index) for index in range(280_147)))
    pairs = [pair(b"tokenizer.ggml.tokens", ARRAY, tokens), pair(b"tokenizer.ggml.merges", ARRAY, merges)]
    path = write_gguf(tmp_path / "large.gguf", [ARCHITECTURE, *pairs])
    started = time.perf_counter()
    header = read_gguf_header(path)
    assert time.perf_counter() - started < 2.0  # 0.15 s when nothing else runs
    assert header.metadata["tokenizer.ggml.merges"][-1] == "left280146 right"


@pytest.mark.parametrize(
    ("file", "found"),
    [
        ("array_u8_len_2e40.gguf", r"tokenizer.ggml.token_type needs bytes up to 1099511627849, the file has 89"),
        ("kv_string_length_2e62.gguf", "metadata key 0 needs bytes up to 4611686018427387936, the file has 52"),
        ("ndims_one_million.gguf", "token_embd.weight has 1000000 dimensions, expected 1 to 4"),
        ("bad_magic.gguf", "starts with b'GGML', expected b'GGUF'"),
    ],
)
def test_a_known_hostile_file_is_refused_at_once_and_by_name(file, found):
    started = time.perf_counter()
    with pytest.raises(BadModelFile, match=found) as refused:
        read_gguf_header(CASES / file)
    assert time.perf_counter() - started < 1.0
    assert refused.value.found.startswith(file)
    assert refused.value.remedy


A = tensor(b"a", [2])
LIES = {
    "version 9": ({"version": struct.pack("<I", 9)}, "GGUF version 9, expected 2 or 3"),
    "big-endian": ({"version": struct.pack(">I", 3)}, "big-endian, expected little-endian"),
    "2^63 keys": ({"n_pairs": 2**63}, "metadata keys is 9223372036854775808, expected at most"),
    "2^63 tensors": ({"n_tensors": 2**63}, "number of tensors is 9223372036854775808, expected at most"),
    "array of 2^60 numbers": ({"pairs": [pair(b"x", ARRAY, array(UINT8, 2**60))]}, "value of x needs bytes up to"),
    "array of 2^40 texts": ({"pairs": [pair(b"x", ARRAY, array(STRING, 2**40))]}, "value of x needs bytes up to"),
    "array of arrays": (
        {"pairs": [pair(b"x", ARRAY, array(ARRAY, 1) * 5000 + array(UINT8, 0))]},
        "value of x is an array of arrays",
    ),
    "array of 3 million": (
        {"pairs": [pair(b"x", ARRAY, array(UINT8, 3_000_000, bytes(3_000_000)))]},
        "3000000 elements in all, expected at most",
    ),
    "text of 2 million": (
        {"pairs": [pair(b"x", STRING, text(bytes(2_000_000)))]},
        "text of 2000000 bytes, expected at most",
    ),
    "value type 99": ({"pairs": [pair(b"x", 99, bytes(8))]}, "value of x is of the unknown type 99"),
    "key twice": ({"pairs": [ARCHITECTURE, ARCHITECTURE]}, "general.architecture appears twice"),
    "key with a newline": ({"pairs": [number(b"a\nb", 1)]}, r"'a\\nb', expected printable text"),
    "key not UTF-8": ({"pairs": [number(b"\xff\xfe", 1)]}, "not UTF-8"),
    "tensor twice": ({"tensors": [A, tensor(b"a", [2], offset=32)]}, "tensor a appears twice"),
    "name not UTF-8": ({"tensors": [tensor(b"\xff\xfe", [2])]}, "tensor 0 holds text that is not UTF-8"),
    "name of markup": ({"tensors": [tensor(b"<img src=x>", [2])]}, "'<img src=x>' is not a tensor name"),
    "no dimensions": ({"tensors": [tensor(b"a", [])]}, "a has 0 dimensions"),
    "2^31 dimensions": ({"tensors": [tensor(b"a", [2], dimensions=2**31)]}, "a has 2147483648 dimensions"),
    "no rows": ({"tensors": [tensor(b"a", [0])]}, "rows of 0 numbers"),
    "overflowing shape": ({"tensors": [tensor(b"a", [2**33, 2**33])]}, "a needs bytes up to 295147905179352825984"),
    "part of a block": ({"tensors": [tensor(b"a", [33], kind=8)]}, "rows of 33 numbers, expected a multiple of 32"),
    "unknown type": ({"tensors": [tensor(b"a", [2], kind=77)]}, "a is of the unknown ggml type 77"),
    "offset 2^62": ({"tensors": [tensor(b"a", [2], offset=2**62)]}, "a needs bytes up to"),
    "offset between": ({"tensors": [tensor(b"a", [2], offset=8)]}, "offset of tensor a is not a multiple of 32"),
    "overlap": ({"tensors": [tensor(b"a", [16]), tensor(b"b", [2], offset=32)]}, "tensors a and b overlap"),
    "tensor past the end": ({"tensors": [tensor(b"a", [2**20])]}, "truncated: tensor a needs bytes up to 4194"),
    "alignment 0": ({"pairs": [ARCHITECTURE, number(b"general.alignment", 0)]}, "general.alignment is 0, expected"),
    "alignment 7": ({"pairs": [ARCHITECTURE, number(b"general.alignment", 7)]}, "general.alignment is 7, expected"),
    "alignment 2^31": ({"pairs": [number(b"general.alignment", 2**31)]}, "general.alignment is 2147483648, expected"),
    "second of three parts": (
        {"pairs": [ARCHITECTURE, number(b"split.no", 1), number(b"split.count", 3)]},
        "this is part 2 of 3",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_in_any_field_is_refused_at_once_in_bounded_memory(tmp_path, lie):
    arguments, found = LIES[lie]
    path = write_gguf(tmp_path / "lie.gguf", **arguments)
    tracemalloc.start()
    started = time.perf_counter()
    try:
        with pytest.raises((BadModelFile, UnsupportedModel), match=found) as refused:
            read_gguf_header(path)
        assert time.perf_counter() - started < 1.0
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
    assert "lie.gguf" in refused.value.found
    assert refused.value.remedy


@pytest.mark.parametrize(("bytes_kept", "tensor_name"), [(649_248 * 6 // 10, "blk.1.ffn_down.weight"), (40, None)])
def test_a_truncated_file_is_refused_with_what_it_lacks(tmp_path, bytes_kept, tensor_name):
    path = tmp_path / "short.gguf"
    path.write_bytes(TINY.read_bytes()[:bytes_kept])
    with pytest.raises(BadModelFile, match=f"file is truncated: .* up to .*, the file has {bytes_kept}") as refused:
        read_gguf_header(path)
    if tensor_name:
        first_lost = next(t for t in GGUFReader(TINY).tensors if t.data_offset + t.n_bytes > bytes_kept)
        assert first_lost.name == tensor_name
        end = first_lost.data_offset + first_lost.n_bytes
        assert f"tensor {first_lost.name} needs bytes up to {end}" in refused.value.found


def test_one_part_of_a_model_is_recognised_by_its_name(tmp_path):
    path = tmp_path / "model-00002-of-00003.gguf"
    path.write_bytes(TINY.read_bytes())
    with pytest.raises(BadModelFile, match="this is part 2 of 3"):
        read_gguf_header(path)


def test_a_git_lfs_pointer_is_called_by_its_name(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes((CASES / "lfs_pointer.safetensors").read_bytes())
    with pytest.raises(BadModelFile, match="135-byte Git LFS pointer, the real file was not downloaded"):
        read_gguf_header(path)


def test_an_empty_file_a_folder_and_a_missing_file_are_refused(tmp_path):
    (tmp_path / "empty.gguf").touch()
    for path in (tmp_path / "empty.gguf", tmp_path, tmp_path / "nothing.gguf"):
        with pytest.raises(BadModelFile, match=path.name):
            read_gguf_header(path)


def test_version_2_is_read_like_version_3(tmp_path):
    path = tmp_path / "two.gguf"
    content = bytearray(TINY.read_bytes())
    content[4] = 2
    path.write_bytes(content)
    assert read_gguf_header(path).version == 2
    assert read_gguf_header(path).tensors == read_gguf_header(TINY).tensors


HEADER_BYTES = 16_640
small_changes = st.lists(
    st.tuples(
        st.integers(0, HEADER_BYTES - 9),
        st.one_of(
            st.binary(min_size=1, max_size=8),
            st.sampled_from([2**63, 2**62, 2**40, 2**32 - 1, 0]).map(lambda size: struct.pack("<Q", size)),
        ),
    ),
    min_size=1,
    max_size=4,
)


@settings(
    max_examples=300,
    deadline=1000,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(changes=small_changes, bytes_kept=st.one_of(st.none(), st.integers(0, 649_248)))
def test_no_change_of_the_bytes_causes_anything_but_a_named_error(tmp_path, changes, bytes_kept):
    content = bytearray(TINY.read_bytes())
    for place, change in changes:
        content[place : place + len(change)] = change
    path = Path(tmp_path) / "changed.gguf"
    path.write_bytes(content[:bytes_kept])
    try:
        header = read_gguf_header(path)
    except ExplorerError as error:
        assert "changed.gguf" in error.found and error.remedy
    else:
        size = path.stat().st_size
        assert all(entry.offset + entry.n_bytes <= size for entry in header.tensors.values())
        assert all(np.prod(entry.shape) > 0 for entry in header.tensors.values())
