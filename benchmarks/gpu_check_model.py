"""Random models for ``gpu_check.py`` and ``load_memory.py``: in memory, and as a folder in Hugging Face's format."""

import json
import zlib
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from explorer.checkpoint.names import HUGGING_FACE_NAMES, parameter_shapes
from explorer.config import Llama3Scaling, ModelConfig
from explorer.model.llama import Llama

SCALING = Llama3Scaling(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_context=8192)
MIDDLE = ModelConfig(
    name="middle", vocab_size=8192, d_model=512, n_layers=6, n_heads=8, n_kv_heads=2, head_dim=64, d_ff=1408,
    context=8192, rope_theta=500_000.0, rope_scaling=SCALING, norm_eps=1e-5, tied_embedding=False,
)  # fmt: skip
SMALL = ModelConfig(
    name="small", vocab_size=16_384, d_model=768, n_layers=8, n_heads=12, n_kv_heads=4, head_dim=64, d_ff=2048,
    context=8192, rope_theta=500_000.0, rope_scaling=SCALING, norm_eps=1e-5, tied_embedding=False,
)  # fmt: skip
SHARD_BYTES = 5_000_000_000


def random_llama(config: ModelConfig, device: torch.device, dtype: torch.dtype) -> Llama:
    """A model whose random weights keep activations near 1; the same on every machine if made on the CPU."""
    with torch.device("meta"):
        model = Llama(config)
    weights = {name: random_weight(name, shape, device, dtype) for name, shape in parameter_shapes(config).items()}
    model.load_state_dict(weights, assign=True)
    return model.requires_grad_(False)


def random_weight(name: str, shape: tuple[int, ...], device: torch.device, dtype: torch.dtype) -> Tensor:
    """One parameter, drawn from a seed of its own."""
    generator = torch.Generator(device).manual_seed(zlib.crc32(name.encode()))
    if name.endswith("gain"):
        return torch.ones(shape, device=device, dtype=dtype)
    drawn = torch.empty(shape, device=device, dtype=dtype)
    return drawn.normal_(0.0, shape[-1] ** -0.5, generator=generator)


def write_folder(
    folder: Path, config: ModelConfig, device: torch.device, shard_bytes: int = SHARD_BYTES, dtype: str = "bfloat16"
) -> None:
    """Write a random model as ``config.json`` and safetensors shards of up to ``shard_bytes``."""
    kind = getattr(torch, dtype)
    shards: list[dict[str, Tensor]] = [{}]
    held = 0
    index: dict[str, str] = {}

    def write() -> None:
        name = f"model-{len(shards):05}.safetensors"
        save_file(shards[-1], folder / name)
        index.update(dict.fromkeys(shards[-1], name))
        shards[-1].clear()

    for name, shape in parameter_shapes(config).items():
        weight = random_weight(name, shape, device, kind).cpu()
        if shards[-1] and held + weight.nbytes > shard_bytes:
            write()
            shards.append({})
            held = 0
        shards[-1][HUGGING_FACE_NAMES.stored_name(name)] = weight
        held += weight.nbytes
    write()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    (folder / "config.json").write_text(json.dumps(description(config)))


def description(config: ModelConfig) -> dict[str, object]:
    """The ``config.json`` of a Llama with llama3 scaling."""
    scaling = config.rope_scaling
    assert isinstance(scaling, Llama3Scaling)
    return {
        "model_type": "llama",
        "vocab_size": config.vocab_size,
        "hidden_size": config.d_model,
        "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.n_heads,
        "num_key_value_heads": config.n_kv_heads,
        "head_dim": config.head_dim,
        "intermediate_size": config.d_ff,
        "max_position_embeddings": config.context,
        "rope_theta": config.rope_theta,
        "rms_norm_eps": config.norm_eps,
        "tie_word_embeddings": config.tied_embedding,
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": scaling.factor,
            "low_freq_factor": scaling.low_freq_factor,
            "high_freq_factor": scaling.high_freq_factor,
            "original_max_position_embeddings": scaling.original_context,
        },
    }
