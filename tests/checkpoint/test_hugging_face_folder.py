"""Folders of Hugging Face: the cases, what transformers itself writes, and what is wrong with a folder."""

import pytest
import torch
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
from explorer.errors import BadModelFile, UnsupportedModel
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
    assert sum(checkpoint.bytes_to_load(torch.bfloat16, cpu).values()) == 2 * rotated
    assert sum(checkpoint.bytes_to_load(torch.float32, cpu).values()) == 4 * checkpoint.parameters
    assert sum(checkpoint.bytes_to_load(torch.bfloat16, torch.device("cuda")).values()) == 2 * checkpoint.parameters
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
