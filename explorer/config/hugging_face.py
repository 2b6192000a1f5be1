"""The sizes of a model as a Hugging Face ``config.json`` states them.

Keys and their defaults are those of transformers' ``LlamaConfig``, ``MistralConfig``, ``Qwen2Config`` and
``Qwen3Config``, in the spellings of versions 4 and 5.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from explorer.config.model_config import (
    ConfigError,
    LinearScaling,
    Llama3Scaling,
    ModelConfig,
    RopeScaling,
    UnsupportedFamily,
)
from explorer.config.stated import Stated

DEFAULT_THETA, DEFAULT_EPS = 10_000.0, 1e-6
ACTIVATIONS = ("silu", "swish")  # two names of one function


@dataclass(frozen=True, kw_only=True)
class Family:
    """What a ``model_type`` implies without saying it."""

    context: int
    head_dim: int | None = None
    sliding_window: int | None = None
    query_key_value_bias: bool = False
    query_key_norm: bool = False


FAMILIES: Mapping[str, Family] = {
    "llama": Family(context=2048),
    "mistral": Family(context=131_072, sliding_window=4096),
    "qwen2": Family(context=32_768, query_key_value_bias=True),
    "qwen3": Family(context=32_768, head_dim=128, query_key_norm=True),
}

# Why a family that people may well try is not run; any other is refused by its name alone.
REASONS: Mapping[str, str] = {
    "mixtral": "a mixture of experts",
    "qwen2_moe": "a mixture of experts",
    "qwen3_moe": "a mixture of experts",
    "llama4": "a mixture of experts",
    "deepseek_v3": "a mixture of experts",
    "gemma": "other norms, another activation and scaled embeddings",
    "gemma2": "soft-capped scores, other norms, another activation and sliding windows",
    "gemma3": "other norms, another activation and sliding windows",
    "gemma3_text": "other norms, another activation and sliding windows",
    "gpt2": "learned positions, LayerNorm and biases",
    "phi3": "fused projections",
    "mllama": "cross-attention to images",
    "smollm3": "layers without rotation",
}

# Keys that change the computation, whatever the family calls itself.
CHANGES: Mapping[str, str] = {
    "num_local_experts": "a mixture of experts",
    "num_experts": "a mixture of experts",
    "n_routed_experts": "a mixture of experts",
    "attn_logit_softcapping": "soft-capped attention scores",
    "final_logit_softcapping": "soft-capped logits",
    "attention_bias": "a bias behind attention",
    "mlp_bias": "biases in the feed-forward",
    "no_rope_layers": "layers without rotation",
}


def config_from_hugging_face(table: Mapping[str, object], *, name: str, file_name: str = "config.json") -> ModelConfig:
    """The model that a ``config.json`` describes.

    Raises ``UnsupportedFamily``, a ``ConfigError``, for a model that would be computed wrongly, and ``ConfigError`` for
    a missing or impossible size. A model with sliding windows gets the window as its context: up to there every token
    reads all tokens before it, and the numbers are exact.
    """
    stated = Stated(table, file_name)
    family = FAMILIES[_checked_family(stated)]
    d_model, n_heads = stated.size("hidden_size"), stated.size("num_attention_heads")
    theta, scaling = _rotation(stated)
    window = sliding_window(table, file_name=file_name)
    context = stated.size("max_position_embeddings", family.context)
    return ModelConfig(
        name=name,
        vocab_size=stated.size("vocab_size"),
        d_model=d_model,
        n_layers=stated.size("num_hidden_layers"),
        n_heads=n_heads,
        n_kv_heads=stated.size("num_key_value_heads", n_heads),
        head_dim=_head_dim(stated, family, d_model, n_heads),
        d_ff=stated.size("intermediate_size"),
        context=context if window is None else min(context, window),
        rope_theta=theta,
        rope_scaling=scaling,
        norm_eps=stated.number("rms_norm_eps", DEFAULT_EPS),
        tied_embedding=stated.flag("tie_word_embeddings"),
        query_key_value_bias=family.query_key_value_bias,
        query_key_norm=family.query_key_norm,
    )


def family_of(table: Mapping[str, object], *, file_name: str = "config.json") -> str:
    """The ``model_type`` of a model that is computed here. Raises ``UnsupportedFamily`` for any other."""
    return _checked_family(Stated(table, file_name))


def sliding_window(table: Mapping[str, object], *, file_name: str = "config.json") -> int | None:
    """How many tokens a token reads at most, where that is fewer than all."""
    stated = Stated(table, file_name)
    family = FAMILIES[_checked_family(stated)]
    if family.sliding_window is not None:
        if "sliding_window" in table and not stated.has("sliding_window"):
            return None
        return stated.size("sliding_window", family.sliding_window)
    kinds = table.get("layer_types")
    windowed = isinstance(kinds, list) and any(kind == "sliding_attention" for kind in kinds)
    if stated.flag("use_sliding_window") or windowed:
        return stated.size("sliding_window")
    return None


def eos_ids(table: Mapping[str, object]) -> tuple[int, ...]:
    """The ids of all tokens that end a generation: the file states one, or a list of them."""
    found = table.get("eos_token_id")
    listed = found if isinstance(found, list) else [found]
    return tuple(token for token in listed if isinstance(token, int) and not isinstance(token, bool))


def _checked_family(stated: Stated) -> str:
    """The family, if it and everything else in the file is what this code computes."""
    family = stated.text("model_type") or _family_of_architecture(stated)
    if family not in FAMILIES:
        reason = f" ({REASONS[family]})" if family in REASONS else ""
        raise _unsupported(stated, f"the model is of the family {family[:40]!r}{reason}")
    for key, reason in CHANGES.items():
        if stated.table.get(key) not in (None, False, 0, []):
            raise _unsupported(stated, f"{key} asks for {reason}")
    if stated.has("quantization_config"):
        method = stated.inner("quantization_config").table.get("quant_method")
        raise _unsupported(stated, f"the weights are quantised ({str(method)[:40]})")
    activation = stated.text("hidden_act", "silu")
    if activation not in ACTIVATIONS:
        raise _unsupported(stated, f"hidden_act is {activation[:40]!r}")
    if stated.number("partial_rotary_factor", 1.0) != 1.0:
        raise _unsupported(stated, "only a part of each head is rotated (partial_rotary_factor)")
    return family


def _family_of_architecture(stated: Stated) -> str:
    names = stated.table.get("architectures")
    name = str(names[0]) if isinstance(names, list) and names else ""
    if not name:
        raise ConfigError(
            f"{stated.file_name}: neither model_type nor architectures is stated, so the family is unknown",
            "Fetch the config.json of the model again.",
        )
    return name.split("For")[0].lower()


def _unsupported(stated: Stated, found: str) -> UnsupportedFamily:
    return UnsupportedFamily(
        f"{stated.file_name}: {found}, which this code would compute wrongly",
        f"Choose a dense model of one of these families: {', '.join(FAMILIES)}.",
    )


def _head_dim(stated: Stated, family: Family, d_model: int, n_heads: int) -> int:
    if stated.has("head_dim"):
        return stated.size("head_dim")
    if family.head_dim is not None and "head_dim" not in stated.table:
        return family.head_dim
    if d_model % n_heads:
        raise stated.refused("head_dim", "is missing", f"it, as {d_model} numbers do not divide into {n_heads} heads")
    return d_model // n_heads


def _rotation(stated: Stated) -> tuple[float, RopeScaling | None]:
    """Base and scaling, from ``rope_parameters`` (version 5) or ``rope_theta`` and ``rope_scaling`` (before)."""
    rope = stated.inner("rope_parameters" if stated.has("rope_parameters") else "rope_scaling")
    theta = rope.number("rope_theta", stated.number("rope_theta", DEFAULT_THETA))
    if rope.number("partial_rotary_factor", 1.0) != 1.0:
        raise _unsupported(stated, "only a part of each head is rotated (partial_rotary_factor)")
    kind = rope.text("rope_type", rope.text("type", "default"))
    if any(isinstance(value, Mapping) for value in rope.table.values()):
        raise _unsupported(stated, "the rotation differs from layer to layer")
    match kind:
        case "default":
            return theta, None
        case "linear":
            return theta, LinearScaling(factor=rope.number("factor"))
        case "llama3":
            key = "original_max_position_embeddings"
            return theta, Llama3Scaling(
                factor=rope.number("factor"),
                low_freq_factor=rope.number("low_freq_factor"),
                high_freq_factor=rope.number("high_freq_factor"),
                original_context=rope.size(key) if rope.has(key) else stated.size(key),
            )
        case _:
            raise _unsupported(stated, f"the rope scaling is {kind[:40]!r} (default, linear and llama3 are known)")
