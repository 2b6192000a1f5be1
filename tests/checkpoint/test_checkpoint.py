"""Opening a model from a path: what loads, with which numbers, and what is refused."""

import json

import numpy as np
import pytest
import torch

from explorer.checkpoint.open_checkpoint import open_checkpoint
from explorer.errors import BadModelFile, ExplorerError, UnsupportedModel
from explorer.model.llama import Llama
from tests.conftest import DATA

CASES = DATA / "cases" / "files"
TINY = CASES / "tiny_a.gguf"


def loaded(checkpoint):
    with torch.device("meta"):
        model = Llama(checkpoint.config)
    checkpoint.load_into(model)
    return model.requires_grad_(False)


def renamed(tmp_path, old, new):
    assert len(old) == len(new)
    path = tmp_path / "renamed.gguf"
    path.write_bytes(TINY.read_bytes().replace(old, new))
    return path


def test_a_small_file_gives_the_published_logits():
    checkpoint = open_checkpoint(TINY, "tiny")
    expected = json.loads((CASES / "tiny_a_expected.json").read_text())
    logits = loaded(checkpoint)(torch.tensor([expected["ids"]]))[0, -1]
    torch.testing.assert_close(logits[:8], torch.tensor(expected["logits_last_first8"]), atol=1e-4, rtol=0)
    assert checkpoint.parameters == 158_144
    assert checkpoint.notes == ("rope_freqs.weight (8) is a buffer, not a parameter.",)
    assert checkpoint.config.name == "tiny"


def test_the_default_model_is_read_with_its_mix_of_types(default_gguf):
    checkpoint = open_checkpoint(default_gguf, "SmolLM2")
    assert checkpoint.precision == {"Q4_1": 210, "F32": 61, "Q8_0": 1}
    assert sum(checkpoint.precision.values()) == 272
    assert checkpoint.parameters == 134_515_008
    assert checkpoint.config.tied_embedding
    assert checkpoint.source == "SmolLM2-135M-Instruct.Q4_1.gguf, dequantised to float32"


def test_a_tied_model_shares_one_matrix_after_loading(tmp_path):
    path = renamed(tmp_path, bytes([13, *bytes(7)]) + b"output.weight", bytes([13, *bytes(7)]) + b"spare_.weight")
    model = loaded(open_checkpoint(path, "tied"))
    assert model.unembedding.weight is model.embedding.weight
    assert not any(weight.is_meta for weight in model.parameters())


def test_weights_come_in_the_type_that_is_asked_for():
    name, tensor = next(open_checkpoint(TINY, "tiny").tensors(torch.bfloat16))
    assert (name, tensor.dtype, tensor.shape) == ("embedding.weight", torch.bfloat16, (512, 64))


def test_a_missing_tensor_is_named_before_anything_is_computed(tmp_path):
    with pytest.raises(BadModelFile, match=r"the tensor blk.1.attn_q.weight is missing"):
        open_checkpoint(renamed(tmp_path, b"blk.1.attn_q.weight", b"blk.1.attn_x.weight"), "tiny")


def test_an_unknown_tensor_is_noted_and_a_bias_refused(tmp_path):
    assert open_checkpoint(renamed(tmp_path, b"rope_freqs.weight", b"rope_trees.weight"), "tiny").notes == (
        "rope_trees.weight (8) is unknown and was left out.",
    )
    with pytest.raises(UnsupportedModel, match=r"blk.0.attn_q.bias \(8\) has no place"):
        open_checkpoint(renamed(tmp_path, b"rope_freqs.weight", b"blk.0.attn_q.bias"), "tiny")


@pytest.mark.parametrize("name", ["model.pth", "model.gguf", "model.safetensors", "model"])
def test_a_pickle_under_any_name_is_refused_and_its_code_does_not_run(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    path.write_bytes((CASES / "pickle_payload_legacy.pth").read_bytes())
    with pytest.raises(BadModelFile, match="this file may contain code"):
        open_checkpoint(path, "evil")
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_torch_archive_is_refused_as_code():
    with pytest.raises(BadModelFile, match=r"consolidated.00.pth: this file may contain code"):
        open_checkpoint(CASES / "tiny_a_meta" / "consolidated.00.pth", "meta")


def test_a_git_lfs_pointer_is_called_by_its_name():
    with pytest.raises(BadModelFile, match="135-byte Git LFS pointer"):
        open_checkpoint(CASES / "lfs_pointer.safetensors", "pointer")


@pytest.mark.parametrize(
    ("path", "error", "found"),
    [
        ("configs", BadModelFile, "a folder without a model"),
        ("tiny_a_hf/model-00001-of-00002.safetensors", UnsupportedModel, "does not say which model it is"),
        ("tiny_a_expected.json", BadModelFile, "is not a model file"),
        ("no_such_file.gguf", BadModelFile, "there is no such file"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name_with_a_remedy(path, error, found):
    with pytest.raises(error, match=found) as refused:
        open_checkpoint(CASES / path, "other")
    assert path.split("/")[-1] in refused.value.found and refused.value.remedy


def test_a_saved_web_page_is_not_taken_for_a_model(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_text("\n<!DOCTYPE html><html><body>Sign in</body></html>")
    with pytest.raises(BadModelFile, match="this is a web page"):
        open_checkpoint(path, "page")


def test_a_quantisation_that_is_not_read_is_refused_when_the_file_is_opened(tmp_path):
    content = TINY.read_bytes()
    entry = content.index(b"blk.0.attn_q.weight") + len(b"blk.0.attn_q.weight") + 4 + 2 * 8
    path = tmp_path / "integers.gguf"
    path.write_bytes(content[:entry] + (26).to_bytes(4, "little") + content[entry + 4 :])  # 26 is I32
    with pytest.raises(UnsupportedModel, match="weights of the type I32 cannot be read, only F32"):
        open_checkpoint(path, "integers")


def test_random_damage_to_the_metadata_causes_nothing_but_named_errors(tmp_path):
    random, content, path = np.random.default_rng(3), TINY.read_bytes(), tmp_path / "damaged.gguf"
    for _ in range(150):
        damaged = bytearray(content)
        for place in random.integers(24, 900, 3):
            damaged[place] = random.integers(0, 256)
        path.write_bytes(damaged)
        try:
            checkpoint = open_checkpoint(path, "damaged")
        except ExplorerError as error:
            assert error.found and error.remedy
        else:
            assert dict(checkpoint.tensors()).keys()
