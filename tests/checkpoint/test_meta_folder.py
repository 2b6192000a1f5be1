"""Folders of Meta: one file or several, what is missing, and files that would run code."""

import json
import os
import pickle
import shutil
import struct
import time
import zipfile

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.checkpoint.open_checkpoint import open_checkpoint
from explorer.checkpoint.torch_archive import read_torch_archive
from explorer.errors import BadModelFile, ExplorerError, UnsupportedModel
from explorer.tokenizer.tokenizer import build_tokenizer
from tests.checkpoint.tiny_folders import CASES, EXPECTED, LOGITS, changed_json, copied, loaded, logits

FIRST = "consolidated.00.pth"
ALONG_INPUTS = ("attention.wo", "feed_forward.w2")
MARKER = "PICKLE_EXECUTED_MARKER"


def whole():
    return dict(torch.load(CASES / "tiny_a_meta" / FIRST, weights_only=True))


def cut(folder, count, *, embedding_axis=0):
    """Write the weights as ``count`` GPUs would hold them: fairscale's column- and row-parallel layers."""
    for number in range(count):
        part = {}
        for name, tensor in whole().items():
            axis = 1 if any(key in name for key in ALONG_INPUTS) else 0
            axis = embedding_axis if name.startswith("tok_embeddings") else axis
            part[name] = tensor.clone() if tensor.dim() == 1 else tensor.chunk(count, axis)[number].clone()
        part["rope.freqs"] = torch.zeros(8)
        torch.save(part, folder / f"consolidated.{number:02d}.pth")


@pytest.mark.parametrize(("count", "embedding_axis"), [(1, 0), (2, 0), (2, 1), (4, 1), (8, 0)])
def test_any_number_of_files_merges_into_the_same_model(tmp_path, count, embedding_axis):
    folder = copied(tmp_path, "tiny_a_meta")
    cut(folder, count, embedding_axis=embedding_axis)
    checkpoint = open_checkpoint(folder, "tiny")
    assert checkpoint.parameters == EXPECTED["n_params"]
    assert "rope.freqs (8) is a buffer, not a parameter." in checkpoint.notes
    torch.testing.assert_close(logits(checkpoint), LOGITS, atol=1e-4, rtol=0)
    for name, weight in loaded(checkpoint).named_parameters():
        torch.testing.assert_close(weight, loaded(open_checkpoint(CASES / "tiny_a_meta", "tiny")).get_parameter(name))


def test_a_file_of_a_llama_2_takes_its_vocabulary_from_the_weights(tmp_path):
    folder = copied(tmp_path, "tiny_a_meta")
    changed_json(folder / "params.json", lambda params: params.update(vocab_size=-1))
    for axis in (0, 1):
        cut(folder, 2, embedding_axis=axis)
        assert open_checkpoint(folder, "tiny").config.vocab_size == 512


def test_one_file_is_mapped_and_several_are_copied(tmp_path):
    cpu = torch.device("cpu")
    single = open_checkpoint(CASES / "tiny_a_meta", "tiny")
    assert sum(single.bytes_to_load(torch.float32, cpu).values()) == 0
    folder = copied(tmp_path, "tiny_a_meta")
    cut(folder, 2)
    norms = 7 * 64
    assert sum(open_checkpoint(folder, "tiny").bytes_to_load(torch.float32, cpu).values()) == 4 * (
        EXPECTED["n_params"] - norms
    )


@pytest.mark.parametrize(("gone", "found"), [(0, "consolidated.00.pth is missing"), (2, "consolidated.02.pth is"),
                                             (3, "3 of 4 files are here")])  # fmt: skip
def test_a_missing_file_is_found_out_even_the_last(tmp_path, gone, found):
    folder = copied(tmp_path, "tiny_a_meta")
    cut(folder, 4)
    (folder / f"consolidated.{gone:02d}.pth").unlink()
    with pytest.raises(BadModelFile, match=found) as refused:
        open_checkpoint(folder, "tiny")
    assert "incomplete" in refused.value.remedy


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    folder = copied(tmp_path, "tiny_a_meta")
    cut(folder, 2)
    part = torch.load(folder / "consolidated.01.pth", weights_only=True)
    torch.save({name: tensor for name, tensor in part.items() if "wo" not in name}, folder / "consolidated.01.pth")
    with pytest.raises(BadModelFile, match="another file hold different tensors"):
        open_checkpoint(folder, "tiny")
    torch.save(part | {"layers.0.attention.wo.weight": torch.ones(60, 32)}, folder / "consolidated.01.pth")
    with pytest.raises(BadModelFile, match=r"parts of tensor layers.0.attention.wo.weight do not fit"):
        open_checkpoint(folder, "tiny")


def test_without_params_json_the_folder_is_refused_and_the_file_named(tmp_path):
    folder = copied(tmp_path, "tiny_a_meta")
    (folder / "params.json").unlink()  # case L10
    with pytest.raises(BadModelFile, match=r"there is no params\.json") as refused:
        open_checkpoint(folder, "tiny")
    assert "params.json" in refused.value.remedy


def test_without_a_tokenizer_the_model_loads_and_llama_3s_is_not_offered_for_another_size(tmp_path):
    folder = copied(tmp_path, "tiny_a_meta")
    (folder / "tokenizer.model").unlink()  # case L10
    checkpoint = open_checkpoint(folder, "tiny")
    assert checkpoint.tokenizer.format == "none"
    assert "There is no tokenizer.model: prompts are token ids." in checkpoint.notes
    torch.testing.assert_close(logits(checkpoint), LOGITS, atol=1e-4, rtol=0)
    with pytest.raises(UnsupportedModel, match="no tokenizer"):
        build_tokenizer(checkpoint.tokenizer.format, checkpoint.tokenizer.data)


def test_the_tokenizer_is_the_file_in_the_folder_and_sentencepiece_is_refused_by_name(tmp_path):
    source = open_checkpoint(CASES / "tiny_a_meta", "tiny").tokenizer
    assert build_tokenizer(source.format, source.data, rows=512).encode("Hi", bos=False).ids == (72, 105)
    folder = copied(tmp_path, "tiny_a_meta")
    (folder / "tokenizer.model").write_bytes(b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02")
    source = open_checkpoint(folder, "tiny").tokenizer
    with pytest.raises(UnsupportedModel, match="sentencepiece"):
        build_tokenizer(source.format, source.data, rows=512)


class Evil:
    def __reduce__(self):
        return open, (MARKER, "w")


class Hidden:
    def __reduce__(self):
        return os.system, (f"touch {MARKER}",)


def evil_files(folder):
    """Everything that would run code when a careless program opens it."""
    shutil.copyfile(CASES / "pickle_payload_legacy.pth", folder / FIRST)  # case X01
    yield
    for protocol in (0, 2, 4, 5):
        (folder / FIRST).write_bytes(pickle.dumps({"tok_embeddings.weight": Evil()}, protocol))
        yield
    for protocol in (2, 4):
        torch.save({"a": torch.ones(2), "b": Hidden()}, folder / FIRST, pickle_protocol=protocol)
        yield
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), str(folder / FIRST))
    yield


def test_a_file_that_contains_code_is_refused_and_the_code_does_not_run(tmp_path, monkeypatch):
    folder = copied(tmp_path, "tiny_a_meta")
    monkeypatch.chdir(tmp_path)
    count = 0
    for _ in evil_files(folder):
        with pytest.raises(BadModelFile, match=r"consolidated\.00\.pth: this file contains code") as refused:
            open_checkpoint(folder, "evil")
        assert refused.value.remedy
        count += 1
    assert count == 8
    assert not list(tmp_path.rglob(MARKER))


def repacked(source, target, change):
    """The same archive with other members: ``change`` gets the contents by name."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    kind = change(members) or zipfile.ZIP_STORED
    with zipfile.ZipFile(target, "w", kind) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


ROOT = "consolidated.00"
LIES = {
    "a compressed member": (lambda members: zipfile.ZIP_DEFLATED, "is compressed, which torch never does"),
    "a bomb": (lambda members: members.update({f"{ROOT}/data/99": bytes(1 << 28)}) or zipfile.ZIP_DEFLATED, "is compr"),
    "no pickle": (lambda members: members.pop(f"{ROOT}/data.pkl") and None, "expected one data.pkl"),
    "two pickles": (lambda members: members.update({"other/data.pkl": b"."}), "expected one data.pkl"),
    "a huge pickle": (lambda members: members.update({f"{ROOT}/data.pkl": bytes(3 << 20)}), "at most 2097152 bytes"),
    "a path": (lambda members: members.update({"../../evil": b""}), "holds '../../evil'"),
    "big-endian": (lambda members: members.update({f"{ROOT}/byteorder": b"big"}), "big-endian"),
    "a missing storage": (lambda members: members.pop(f"{ROOT}/data/0") and None, "torch cannot read"),
    "a broken pickle": (lambda members: members.update({f"{ROOT}/data.pkl": b"\x80\x02}q\x00(X\xff"}), "pickle in it"),
    "a list": (lambda members: members.update({f"{ROOT}/data.pkl": pickle.dumps([1], 2)}), "not a table of tensors"),
    "numbers": (lambda members: members.update({f"{ROOT}/data.pkl": pickle.dumps({"a": 1}, 2)}), "'a' is not a named"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_in_the_archive_is_refused_at_once(tmp_path, lie):
    folder = copied(tmp_path, "tiny_a_meta")
    change, found = LIES[lie]
    repacked(CASES / "tiny_a_meta" / FIRST, folder / FIRST, change)
    started = time.perf_counter()
    with pytest.raises((BadModelFile, UnsupportedModel), match=found) as refused:
        open_checkpoint(folder, "tiny")
    assert time.perf_counter() - started < 2.0
    assert refused.value.found.startswith(FIRST)


def test_views_that_pretend_to_be_large_and_other_numbers_are_refused(tmp_path):
    path = tmp_path / FIRST
    torch.save({"a": torch.ones(1).expand(10**6, 10**6)}, path)
    with pytest.raises(BadModelFile, match="tensor a is not stored whole"):
        read_torch_archive(path)
    torch.save({"a": torch.ones(3, dtype=torch.int8)}, path)
    with pytest.raises(UnsupportedModel, match="int8 numbers, expected floats"):
        read_torch_archive(path)
    torch.save({"<img src=x>": torch.ones(3)}, path)
    with pytest.raises(BadModelFile, match="is not a tensor name"):
        read_torch_archive(path)


def test_a_directory_of_members_that_claims_too_much_is_not_read(tmp_path):
    content = bytearray((CASES / "tiny_a_meta" / FIRST).read_bytes())
    end = content.rfind(b"PK\x05\x06")
    content[end + 12 : end + 16] = struct.pack("<I", 1 << 30)
    (tmp_path / FIRST).write_bytes(content)
    with pytest.raises(BadModelFile, match="list of members has 1073741824 bytes"):
        read_torch_archive(tmp_path / FIRST)


def test_a_truncated_file_and_a_pointer_are_called_by_their_names(tmp_path):
    content = (CASES / "tiny_a_meta" / FIRST).read_bytes()
    (tmp_path / FIRST).write_bytes(content[: len(content) // 2])
    with pytest.raises(BadModelFile, match="truncated: the end of the zip archive is missing"):
        read_torch_archive(tmp_path / FIRST)
    (tmp_path / FIRST).write_bytes((CASES / "lfs_pointer.safetensors").read_bytes())
    with pytest.raises(BadModelFile, match="135-byte Git LFS pointer"):
        read_torch_archive(tmp_path / FIRST)


def test_weights_that_are_no_numbers_are_refused_with_the_first_layer_that_holds_one(tmp_path):
    folder = copied(tmp_path, "tiny_a_meta")
    weights = whole()
    for layer in (1, 2):
        weights[f"layers.{layer}.attention.wk.weight"].view(-1)[5] = float("nan")
    torch.save(weights, folder / FIRST)
    with pytest.raises(BadModelFile, match=r"1 of 2,048 numbers of layers\.1\.attention\.wk\.weight of layer 1 are"):
        loaded(open_checkpoint(folder, "tiny"))


@given(places=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=4), region=st.booleans())
@settings(max_examples=120, deadline=2000)
def test_random_damage_to_an_archive_causes_nothing_but_named_errors(tmp_path_factory, places, region):
    content = bytearray((CASES / "tiny_a_meta" / FIRST).read_bytes())
    directory = content.rfind(b"PK\x01\x02", 0, len(content) - 3000)
    for share, byte in places:
        start, length = (0, 2_900) if region else (directory, len(content) - directory)
        content[start + int(share * (length - 1))] = byte
    path = tmp_path_factory.getbasetemp() / FIRST
    path.write_bytes(content)
    try:
        assert read_torch_archive(path)
    except ExplorerError as error:
        assert error.found and error.remedy


def test_the_params_of_the_cases_are_those_of_the_weights():
    params = json.loads((CASES / "tiny_a_meta" / "params.json").read_text())
    config = open_checkpoint(CASES / "tiny_a_meta", "tiny").config
    assert (config.d_model, config.vocab_size, config.d_ff) == (params["dim"], 512, 96)
