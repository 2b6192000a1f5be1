"""The default model as a Hugging Face folder, so that every peer runs the same weights.

python benchmarks/default_as_hugging_face.py FOLDER
"""

import json
import sys
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor

from explorer.checkpoint.default_model import default_checkpoint, fetch_default_model
from explorer.settings import read_settings

NAMES = {
    "attention.query": "self_attn.q_proj", "attention.key": "self_attn.k_proj", "attention.value": "self_attn.v_proj",
    "attention.output": "self_attn.o_proj", "feed_forward.gate": "mlp.gate_proj", "feed_forward.up": "mlp.up_proj",
    "feed_forward.down": "mlp.down_proj", "attention_norm": "input_layernorm",
    "feed_forward_norm": "post_attention_layernorm",
}  # fmt: skip


def write(folder: Path) -> None:
    """Write config.json and model.safetensors; queries and keys in Hugging Face's order of pairs."""
    home = read_settings().home
    checkpoint = default_checkpoint(home) or fetch_default_model(home)
    config, tensors = checkpoint.config, {}
    for name, tensor in checkpoint.tensors():
        if name == "embedding.weight":
            tensors["model.embed_tokens.weight"] = tensor.clone()
        elif name == "norm.gain":
            tensors["model.norm.weight"] = tensor.clone()
        else:
            _, layer, rest = name.split(".", 2)
            part = rest.rpartition(".")[0]
            if part in ("attention.query", "attention.key"):
                tensor = halved(tensor, config.head_dim)
            tensors[f"model.layers.{layer}.{NAMES[part]}.weight"] = tensor.contiguous().clone()
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    # The peers insist on a tokenizer; the benchmarks give ids, so one with a single word will do.
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": [], "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
    }))  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "a", "eos_token": "a", "pad_token": "a",
    }))  # fmt: skip
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
        "vocab_size": config.vocab_size, "hidden_size": config.d_model, "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.n_heads, "num_key_value_heads": config.n_kv_heads, "head_dim": config.head_dim,
        "intermediate_size": config.d_ff, "max_position_embeddings": config.context, "rms_norm_eps": config.norm_eps,
        "rope_theta": config.rope_theta, "tie_word_embeddings": config.tied_embedding, "torch_dtype": "float32",
    }, indent=2))  # fmt: skip


def halved(tensor: Tensor, head_dim: int) -> Tensor:
    """Rows of the pairs (2i, 2i + 1) of every head -> of the pairs (i, i + head_dim / 2)"""
    return tensor.unflatten(0, (-1, head_dim // 2, 2)).transpose(1, 2).flatten(0, 2)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
