"""What is wrong with a folder of Hugging Face, or was put there to hurt: refused at once, by name."""

import json
import time

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file

from explorer.checkpoint.open_checkpoint import open_checkpoint
from explorer.errors import BadModelFile, ExplorerError, UnsupportedModel
from tests.checkpoint.tiny_folders import CASES, FIRST, INDEX, SECOND, changed_json, changed_shard, copied, loaded


@pytest.mark.parametrize(
    "name", ["../tiny_a_hf/x.safetensors", "/etc/hostname", "a/b.safetensors", "..\\x.safetensors", "..", "", 7,
             ".safetensors", "x.safetensors\n", "c:x.safetensors"],
)  # fmt: skip
def test_a_shard_name_with_a_path_in_it_is_refused_before_anything_is_opened(tmp_path, name):
    folder = copied(tmp_path)
    changed_json(folder / INDEX, lambda index: index["weight_map"].update({"model.norm.weight": name}))
    (folder / FIRST).write_bytes(b"never looked at")
    with pytest.raises(BadModelFile, match="is not the name of a safetensors file in this folder"):
        open_checkpoint(folder, "tiny")


def test_the_message_about_a_path_prints_nothing_of_the_file_it_points_at():
    with pytest.raises(BadModelFile) as refused:
        open_checkpoint(CASES / "traversal_index", "evil")  # case X02
    text = (CASES / "tiny_a_hf" / "config.json").read_text()
    assert "model-00001" in refused.value.found and text[:20] not in refused.value.found


@pytest.mark.parametrize(("layer", "shard"), [(0, FIRST), (2, SECOND)])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused_with_the_first_layer_that_holds_one(tmp_path, layer, shard, value):
    folder = copied(tmp_path)
    for later in range(layer, 3):
        name = f"model.layers.{later}.mlp.up_proj.weight"
        where = FIRST if name in load_file(folder / FIRST) else SECOND
        changed_shard(folder, lambda tensors, name=name: tensors[name].view(-1)[7:9].fill_(value), where)
    with pytest.raises(BadModelFile, match=rf"2 of 6,144 numbers of .*up_proj.weight of layer {layer} are NaN") as no:
        loaded(open_checkpoint(folder, "tiny"))
    assert ".safetensors" in no.value.found


@pytest.mark.parametrize(
    ("change", "error", "found"),
    [
        (lambda folder: (folder / "config.json").unlink(), BadModelFile, "there is no config.json"),
        (lambda folder: (folder / INDEX).unlink(), BadModelFile, f"neither model.safetensors nor {INDEX}"),
        (lambda folder: (folder / INDEX).write_text("{"), BadModelFile, f"{INDEX}: the file is not JSON"),
        (lambda folder: (folder / INDEX).write_text("[" * 10**5), BadModelFile, "nested 100000 deep"),
        (lambda folder: (folder / INDEX).write_text("{}"), BadModelFile, "weight_map is missing"),
        (
            lambda folder: changed_json(folder / INDEX, lambda index: index["weight_map"].update({"x": SECOND})),
            BadModelFile,
            f"{SECOND} does not hold 'x'",
        ),
        (
            lambda folder: changed_json(folder / "config.json", lambda table: table.update(vocab_size=600)),
            BadModelFile,
            "embed_tokens.weight is 512 by 64, .* ask for 600 by 64",
        ),
        (
            lambda folder: changed_json(folder / "config.json", lambda table: table.update(num_hidden_layers=10**9)),
            BadModelFile,
            "model.layers.3.input_layernorm.weight is missing",
        ),
        (
            lambda folder: changed_json(folder / "config.json", lambda table: table.update(model_type="mixtral")),
            UnsupportedModel,
            "tiny_a_hf: config.json: .*mixture of experts",
        ),
        (
            lambda folder: changed_shard(
                folder, lambda tensors: tensors.update({"model.layers.0.self_attn.q_proj.bias": torch.ones(64)})
            ),
            UnsupportedModel,
            "q_proj.bias .* has no place",
        ),
        (
            lambda folder: changed_shard(
                folder, lambda tensors: tensors.update({"model.norm.weight": torch.ones(64, dtype=torch.int32)})
            ),
            UnsupportedModel,
            "weights of the type I32 cannot be read",
        ),
        (lambda folder: (folder / FIRST).write_bytes((folder / FIRST).read_bytes()[:-9]), BadModelFile, "truncated"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_folder_is_said_at_once(tmp_path, change, error, found):
    folder = copied(tmp_path)
    change(folder)
    started = time.perf_counter()
    with pytest.raises(error, match=found) as refused:
        open_checkpoint(folder, "tiny")
    assert time.perf_counter() - started < 1.0
    assert refused.value.remedy


def test_a_folder_of_pickles_is_refused_as_such(tmp_path):
    (tmp_path / "config.json").write_text((CASES / "tiny_a_hf" / "config.json").read_text())
    with pytest.raises(BadModelFile, match="there are no weights"):
        open_checkpoint(tmp_path, "tiny")
    (tmp_path / "pytorch_model.bin").write_bytes(b"PK\x03\x04")
    with pytest.raises(UnsupportedModel, match="pickles, which may contain code"):
        open_checkpoint(tmp_path, "tiny")


@given(place=st.integers(0, 2_300), byte=st.integers(0, 255), file=st.sampled_from([INDEX, "config.json"]))
@settings(max_examples=80, deadline=1000)
def test_damage_to_index_or_config_causes_nothing_but_named_errors(tmp_path_factory, place, byte, file):
    folder = tmp_path_factory.getbasetemp() / "damaged"
    if not folder.exists():
        copied(folder)
    folder = folder / "tiny_a_hf"
    content = bytearray((CASES / "tiny_a_hf" / file).read_bytes())
    content[place % len(content)] = byte
    for name in (INDEX, "config.json"):
        (folder / name).write_bytes(content if name == file else (CASES / "tiny_a_hf" / name).read_bytes())
    try:
        open_checkpoint(folder, "damaged")
    except ExplorerError as error:
        assert error.found and error.remedy


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(weight_map=st.dictionaries(st.text(max_size=12), st.sampled_from([FIRST, SECOND]) | JSON) | JSON)
@settings(max_examples=80, deadline=1000)
def test_any_index_is_read_or_refused_by_name(tmp_path_factory, weight_map):
    folder = tmp_path_factory.getbasetemp() / "indexed"
    if not folder.exists():
        copied(folder)
    folder = folder / "tiny_a_hf"
    (folder / INDEX).write_text(json.dumps({"weight_map": weight_map}))
    try:
        open_checkpoint(folder, "any")
    except ExplorerError as error:
        assert error.found and error.remedy
