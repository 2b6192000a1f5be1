"""Meta's own model.py, run straight out of the llama-models wheel: the code that the weights were made with."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor, nn

from explorer.config import ModelConfig
from explorer.model.llama import Llama

OF_LAYER = {
    "attention.wq.weight": "attention.query.weight",
    "attention.wk.weight": "attention.key.weight",
    "attention.wv.weight": "attention.value.weight",
    "attention.wo.weight": "attention.output.weight",
    "feed_forward.w1.weight": "feed_forward.gate.weight",
    "feed_forward.w3.weight": "feed_forward.up.weight",
    "feed_forward.w2.weight": "feed_forward.down.weight",
    "attention_norm.weight": "attention_norm.gain",
    "ffn_norm.weight": "feed_forward_norm.gain",
}


class PlainLinear(nn.Linear):
    """What fairscale's parallel linear layers are when there is one process."""

    def __init__(self, width_in: int, width_out: int, bias: bool = False, **_: object) -> None:
        super().__init__(width_in, width_out, bias=bias)


class PlainEmbedding(nn.Embedding):
    """What fairscale's parallel embedding is when there is one process."""

    def __init__(self, rows: int, width: int, **_: object) -> None:
        super().__init__(rows, width)


def import_reference(wheel: Path, patch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    """Meta's modules ``model`` and ``args``; ``patch`` undoes what importing them needed."""
    names = ("", ".nn", ".nn.model_parallel", ".nn.model_parallel.initialize", ".nn.model_parallel.layers")
    for name in names:
        patch.setitem(sys.modules, f"fairscale{name}", ModuleType(f"fairscale{name}"))
    initialize = sys.modules["fairscale.nn.model_parallel.initialize"]
    initialize.get_model_parallel_world_size = lambda: 1  # type: ignore[attr-defined]
    sys.modules["fairscale.nn.model_parallel"].initialize = initialize  # type: ignore[attr-defined]
    layers = sys.modules["fairscale.nn.model_parallel.layers"]
    layers.ColumnParallelLinear = layers.RowParallelLinear = PlainLinear  # type: ignore[attr-defined]
    layers.VocabParallelEmbedding = PlainEmbedding  # type: ignore[attr-defined]
    patch.syspath_prepend(wheel)
    return importlib.import_module("llama_models.llama3.model"), importlib.import_module("llama_models.llama3.args")


def twin(model: Llama, reference: tuple[ModuleType, ModuleType], *, positions: int, d_ff_over_4d: float) -> nn.Module:
    """Meta's Transformer with the weights of ``model``. Its d_ff follows from d_model and two knobs of its own."""
    code, arguments = reference
    config: ModelConfig = model.config
    meta_arguments = arguments.ModelArgs(
        dim=config.d_model,
        n_layers=config.n_layers,
        n_heads=config.n_heads,
        n_kv_heads=config.n_kv_heads,
        vocab_size=config.vocab_size,
        multiple_of=4,
        ffn_dim_multiplier=d_ff_over_4d,
        norm_eps=config.norm_eps,
        rope_theta=config.rope_theta,
        use_scaled_rope=config.rope_scaling is not None,
        max_batch_size=1,
        max_seq_len=positions,
    )
    other: nn.Module = code.Transformer(meta_arguments).eval().requires_grad_(False)
    ours = model.state_dict()
    theirs: dict[str, Tensor] = {
        "tok_embeddings.weight": ours["embedding.weight"],
        "norm.weight": ours["norm.gain"],
        "output.weight": ours["unembedding.weight"],
    }
    for layer in range(config.n_layers):
        for their_name, our_name in OF_LAYER.items():
            theirs[f"layers.{layer}.{their_name}"] = ours[f"layers.{layer}.{our_name}"]
    other.load_state_dict(theirs)
    return other


def fill(other: nn.Module, keys: list[Tensor], values: list[Tensor]) -> None:
    """Put (1, kv_head, token, head_dim) per layer into the caches of Meta's model."""
    for layer, key, value in zip(other.layers, keys, values, strict=True):  # type: ignore[arg-type]
        with torch.no_grad():
            layer.attention.cache_k[:1, : key.shape[2]] = key.transpose(1, 2)
            layer.attention.cache_v[:1, : value.shape[2]] = value.transpose(1, 2)
