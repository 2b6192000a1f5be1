"""GGUF files of other families and in several parts, written by llama.cpp's own Python package."""

import numpy as np
import pytest
import torch
from gguf import MODEL_ARCH, GGMLQuantizationType, GGUFWriter, TensorNameMap
from gguf.quants import quantize

from explorer.checkpoint.open_checkpoint import open_checkpoint
from explorer.errors import BadModelFile
from tests.checkpoint.test_hugging_face_folder import random_model
from tests.checkpoint.tiny_folders import loaded

TOKENS = torch.randint(97, (1, 60), generator=torch.Generator().manual_seed(1))


def permuted(rows, n_heads):
    """What llama.cpp's converter does to the rows of query and key for the architecture "llama"."""
    return rows.reshape(n_heads, 2, rows.shape[0] // n_heads // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def write(path, theirs, architecture, *, split=0, kind=GGMLQuantizationType.F32):
    """``theirs``, a model of transformers, as llama.cpp's converter writes it; ``split``: tensors in each part."""
    config = theirs.config
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer = GGUFWriter(path, architecture, split_max_tensors=split)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    names = TensorNameMap(MODEL_ARCH.LLAMA if architecture == "llama" else MODEL_ARCH[architecture.upper()], 3)
    for name, weight in theirs.state_dict().items():
        rows = weight.numpy()
        if architecture == "llama" and ("q_proj" in name or "k_proj" in name):
            rows = permuted(rows, config.num_attention_heads if "q_proj" in name else config.num_key_value_heads)
        stored = names.get_name(name, (".weight", ".bias"))
        if rows.ndim == 1 or rows.shape[-1] % 32:
            writer.add_tensor(stored, np.ascontiguousarray(rows))
        else:
            writer.add_tensor(stored, quantize(np.ascontiguousarray(rows), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize(
    ("family", "architecture"), [("llama, tied", "llama"), ("mistral", "llama"), ("qwen2", "qwen2"), ("qwen3", "qwen3")]
)
@torch.inference_mode()
def test_a_file_of_every_family_gives_the_logits_of_transformers(tmp_path, family, architecture):
    theirs = random_model(family)
    if theirs.config.tie_word_embeddings:
        theirs.lm_head = torch.nn.Identity()
    write(tmp_path / "model.gguf", theirs, architecture)
    ours = loaded(open_checkpoint(tmp_path / "model.gguf", family))
    torch.testing.assert_close(ours(TOKENS), random_model(family)(TOKENS).logits, atol=1e-4, rtol=0)


def split_in_parts(tmp_path, count_at_once=8):
    theirs = random_model("qwen3")
    write(tmp_path / "big.gguf", theirs, "qwen3", split=count_at_once)
    parts = sorted(tmp_path.glob("big-*.gguf"))
    assert len(parts) > 2
    return theirs, parts


@torch.inference_mode()
def test_a_model_in_several_parts_is_opened_by_its_first(tmp_path):
    theirs, parts = split_in_parts(tmp_path)
    for path in (parts[0], tmp_path):
        checkpoint = open_checkpoint(path, "big")
        torch.testing.assert_close(loaded(checkpoint)(TOKENS), theirs(TOKENS).logits, atol=1e-4, rtol=0)
    assert f"and {len(parts) - 1} more" in checkpoint.source


def test_a_part_that_is_missing_or_of_another_model_is_named(tmp_path):
    _, parts = split_in_parts(tmp_path)
    with pytest.raises(BadModelFile, match=f"this is part 2 of {len(parts)}") as refused:  # case L12
        open_checkpoint(parts[1], "big")
    assert "open part 1" in refused.value.remedy
    content = parts[1].read_bytes()
    parts[1].unlink()
    with pytest.raises(BadModelFile, match=f"part 1 of {len(parts)}, and {parts[1].name} is missing"):
        open_checkpoint(parts[0], "big")
    parts[1].write_bytes(parts[2].read_bytes())
    with pytest.raises(BadModelFile, match=r"says that it is part 3 of \d+, not 2"):
        open_checkpoint(parts[0], "big")
    parts[1].write_bytes(content[:-1000])
    with pytest.raises(BadModelFile, match=f"{parts[1].name}: the file is truncated"):
        open_checkpoint(parts[0], "big")
