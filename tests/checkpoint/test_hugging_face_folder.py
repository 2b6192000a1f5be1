"""Folders of Hugging Face: the cases, what transformers itself writes, and what is wrong with a folder."""

import json
import time

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)  # fmt: skip

from explorer.checkpoint.open_checkpoint import open_checkpoint
from explorer.errors import BadModelFile, ExplorerError, UnsupportedModel
from tests.checkpoint.tiny_folders import (
    CASES,
    EXPECTED,
    FIRST,
    INDEX,
    LOGITS,
    SECOND,
    changed_json,
    changed_shard,
    copied,
    loaded,
    logits,
)  # fmt: skip

SIZES = dict(
    vocab_size=97, hidden_size=36, intermediate_size=44, num_hidden_layers=3, num_attention_heads=6,
    num_key_value_heads=2, max_position_embeddings=128, bos_token_id=None, eos_token_id=None, pad_token_id=None,
)  # fmt: skip
ROPE = {"rope_theta": 500.0, "rope_type": "default"}
SCALED = ROPE | {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}  # fmt: skip
FAMILIES = {
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**SIZES, head_dim=10, rope_parameters=SCALED)),
    "llama, tied": lambda: LlamaForCausalLM(LlamaConfig(**SIZES, rope_parameters=ROPE, tie_word_embeddings=True)),
    "mistral": lambda: MistralForCausalLM(MistralConfig(**SIZES, rope_parameters=ROPE, sliding_window=60)),
    "qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**SIZES, rope_parameters=ROPE)),
    "qwen3": lambda: Qwen3ForCausalLM(Qwen3Config(**SIZES, head_dim=10, rope_parameters=ROPE)),
}


def random_model(family):
    torch.manual_seed(3)
    model = FAMILIES[family]().eval().requires_grad_(False)
    for name, weight in model.named_parameters():
        if "norm" in name:
            weight.uniform_(0.5, 1.5)
        else:
            weight.normal_(0.0, 0.5 if name.endswith("bias") else weight.shape[-1] ** -0.5)
    return model


@pytest.mark.parametrize("shard_size", ["5MB", "20KB"])
@pytest.mark.parametrize("family", FAMILIES)
@torch.inference_mode()
def test_what_transformers_writes_gives_the_logits_of_transformers(tmp_path, family, shard_size):
    theirs = random_model(family)
    theirs.save_pretrained(tmp_path, max_shard_size=shard_size)
    assert (tmp_path / INDEX).exists() == (shard_size == "20KB")
    checkpoint = open_checkpoint(tmp_path, family)
    tokens = torch.randint(97, (1, 60), generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(loaded(checkpoint)(tokens), theirs(tokens).logits, atol=1e-4, rtol=0)
    assert checkpoint.parameters == sum(weight.numel() for weight in theirs.parameters())


def test_the_three_formats_give_the_same_published_logits():
    for name in ("tiny_a_hf", "tiny_a_meta", "tiny_a.gguf"):  # case L01
        checkpoint = open_checkpoint(CASES / name, "tiny")
        scores = logits(checkpoint)
        torch.testing.assert_close(scores, LOGITS, atol=1e-4, rtol=0)
        torch.testing.assert_close(scores[-1, :8], torch.tensor(EXPECTED["logits_last_first8"]), atol=1e-4, rtol=0)
        assert checkpoint.parameters == EXPECTED["n_params"]


def test_rows_in_the_wrong_order_would_have_been_seen(tmp_path):
    def swap(tensors):
        for name, rows in tensors.items():
            if "q_proj" in name or "k_proj" in name:
                tensors[name] = rows.unflatten(0, (-1, 8, 2)).transpose(1, 2).flatten(0, 2).contiguous()

    folder = copied(tmp_path)
    for shard in (FIRST, SECOND):
        changed_shard(folder, swap, shard)
    wrong = torch.tensor(EXPECTED["wrong_qk_pairing_logits_last_first8"])
    torch.testing.assert_close(logits(open_checkpoint(folder, "tiny"))[-1, :8], wrong, atol=1e-4, rtol=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_weights_are_read_as_they_are_and_computed_in_float32(tmp_path, dtype):
    folder = copied(tmp_path)
    for shard in (FIRST, SECOND):  # case L11
        changed_shard(folder, lambda tensors: tensors.update({n: t.to(dtype) for n, t in tensors.items()}), shard)
    checkpoint = open_checkpoint(folder, "tiny")
    assert checkpoint.precision == {"BF16" if dtype is torch.bfloat16 else "F16": 30}
    assert checkpoint.read("layers.0.feed_forward.up.weight").dtype == dtype
    scores = logits(checkpoint)
    if dtype is torch.bfloat16:
        expected = torch.tensor([-0.019521, 1.590134, 0.970737, -3.021411, 0.2696, 2.424136, -0.477708, 0.597247])
        torch.testing.assert_close(scores[-1, :8], expected, atol=1e-4, rtol=0)
    theirs = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.inference_mode():
        torch.testing.assert_close(scores, theirs(torch.tensor([EXPECTED["ids"]])).logits[0], atol=1e-4, rtol=0)


def test_mapped_weights_are_not_copied_except_for_the_rows_that_are_reordered(tmp_path):
    folder = copied(tmp_path)
    for shard in (FIRST, SECOND):
        changed_shard(folder, lambda tensors: tensors.update({n: t.bfloat16() for n, t in tensors.items()}), shard)
    checkpoint = open_checkpoint(folder, "tiny")
    rotated = 3 * (64 * 64 + 32 * 64)
    cpu = torch.device("cpu")
    assert checkpoint.bytes_to_load(torch.bfloat16, cpu) == 2 * rotated
    assert checkpoint.bytes_to_load(torch.float32, cpu) == 4 * checkpoint.parameters
    assert checkpoint.bytes_to_load(torch.bfloat16, torch.device("cuda")) == 2 * checkpoint.parameters
    first, again = (checkpoint.read("layers.1.feed_forward.up.weight") for _ in range(2))
    assert first.data_ptr() == again.data_ptr()


def test_only_files_that_the_index_names_count(tmp_path):
    folder = copied(tmp_path)
    save_file({"model.norm.weight": torch.zeros(64)}, folder / "extra.safetensors")  # case L04
    torch.testing.assert_close(logits(open_checkpoint(folder, "tiny")), LOGITS, atol=1e-4, rtol=0)


def test_a_missing_file_is_named_before_anything_is_computed(tmp_path):
    folder = copied(tmp_path)
    (folder / SECOND).unlink()  # case L03
    with pytest.raises(BadModelFile, match=f"{SECOND} of 2 files is missing") as refused:
        open_checkpoint(folder, "tiny")
    assert "incomplete" in refused.value.remedy


def test_a_missing_tensor_is_named_and_never_made_up(tmp_path):
    folder = copied(tmp_path)
    changed_shard(folder, lambda tensors: tensors.pop("model.embed_tokens.weight"))  # case L07
    with pytest.raises(BadModelFile, match=r"model\.embed_tokens\.weight is missing"):
        open_checkpoint(folder, "tiny")


def test_a_buffer_is_listed_and_an_unknown_tensor_reported(tmp_path):
    folder = copied(tmp_path)
    extra = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(8), "model.layers.0.foo": torch.ones(2, 3)}
    changed_shard(folder, lambda tensors: tensors.update(extra))  # case L08
    checkpoint = open_checkpoint(folder, "tiny")
    assert checkpoint.parameters == EXPECTED["n_params"]
    assert checkpoint.notes == (
        "model.layers.0.foo (2 by 3) is unknown and was left out.",
        "model.layers.0.self_attn.rotary_emb.inv_freq (8) is a buffer, not a parameter.",
    )
    torch.testing.assert_close(logits(checkpoint), LOGITS, atol=1e-4, rtol=0)


def test_a_pointer_in_place_of_a_file_is_called_by_its_name(tmp_path):
    folder = copied(tmp_path)
    (folder / SECOND).write_bytes((CASES / "lfs_pointer.safetensors").read_bytes())  # case L05
    with pytest.raises(BadModelFile, match=f"{SECOND}: this is a 135-byte Git LFS pointer"):
        open_checkpoint(folder, "tiny")


def test_fused_matrices_are_named_rather_than_reported_missing(tmp_path):
    def fuse(tensors):
        gate, up = (tensors.pop(f"model.layers.0.mlp.{name}_proj.weight") for name in ("gate", "up"))
        tensors["model.layers.0.mlp.gate_up_proj.weight"] = torch.cat((gate, up))

    folder = copied(tmp_path)
    changed_shard(folder, fuse)  # case F04
    with pytest.raises(UnsupportedModel, match=r"gate_up_proj.weight \(192 by 64\) holds several matrices in one"):
        open_checkpoint(folder, "tiny")


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


def test_a_tied_model_may_hold_its_table_twice_and_an_untied_one_must(tmp_path):
    folder = copied(tmp_path)
    changed_json(folder / "config.json", lambda table: table.update(tie_word_embeddings=True))
    checkpoint = open_checkpoint(folder, "tiny")
    assert any("lm_head.weight (512 by 64) was left out" in note for note in checkpoint.notes)
    model = loaded(checkpoint)
    assert model.unembedding.weight is model.embedding.weight
    changed_json(folder / "config.json", lambda table: table.update(tie_word_embeddings=False))
    where = FIRST if "lm_head.weight" in load_file(folder / FIRST) else SECOND
    changed_shard(folder, lambda tensors: tensors.pop("lm_head.weight"), where)
    with pytest.raises(BadModelFile, match=r"lm_head\.weight is missing"):
        open_checkpoint(folder, "tiny")


def test_the_tokenizer_is_the_one_in_the_folder(tmp_path):
    source = open_checkpoint(CASES / "tiny_a_hf", "tiny").tokenizer
    assert (source.format, source.data["eos_ids"]) == ("huggingface", (257,))
    folder = copied(tmp_path)
    (folder / "tokenizer.json").unlink()
    assert open_checkpoint(folder, "tiny").tokenizer.format == "none"
    (folder / "tokenizer.model").write_bytes(b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02")
    assert open_checkpoint(folder, "tiny").tokenizer.format == "tiktoken"


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
