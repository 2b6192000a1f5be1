"""Every number that a text or a box may quote, by its name: ``@d_model`` in a text is ``facts(...)["d_model"]``."""

import math
from dataclasses import dataclass

from explorer.architecture.blueprint import Blueprint
from explorer.architecture.cost import BYTES, kv_bytes_per_token, matrix_operations, operations_per_token
from explorer.config import FactorScaling, LinearScaling, Llama3Scaling, ModelConfig, RopeScaling

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
SCALES = ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"))


def facts(blueprint: Blueprint, n_tokens: int) -> dict[str, str]:
    """What can be said in numbers of a model reading a prompt of ``n_tokens``."""
    config = blueprint.config
    kv_layer, kv_all = kv_bytes_per_token(config, 1), kv_bytes_per_token(config, config.n_layers)
    layer = blueprint.parameters_of("layer")
    shares = {f"{part}_share": f"{blueprint.parameters_of(part) / layer:.1%}" for part in ("attention", "feed_forward")}
    operations = operations_per_token(config, n_tokens)
    head = matrix_operations("unembedding", config, n_tokens)
    return shares | {
        "n_tokens": f"{n_tokens:,}",
        "vocab_size": f"{config.vocab_size:,}",
        "d_model": f"{config.d_model:,}",
        "d_ff": f"{config.d_ff:,}",
        "n_layers": f"{config.n_layers:,}",
        "n_sublayers": f"{2 * config.n_layers:,}",
        "n_norms": f"{2 * config.n_layers + 1:,}",
        "n_heads": f"{config.n_heads:,}",
        "n_kv_heads": f"{config.n_kv_heads:,}",
        "group": f"{config.heads_per_kv_head:,}",
        "head_dim": f"{config.head_dim:,}",
        "n_pairs": f"{config.head_dim // 2:,}",
        "query_width": f"{config.n_heads * config.head_dim:,}",
        "kv_width": f"{config.n_kv_heads * config.head_dim:,}",
        "score_divisor": f"{math.sqrt(config.head_dim):.4g}",
        "widening": f"{config.d_ff / config.d_model:.3g}",
        "context": f"{config.context:,}",
        "rope_theta": f"{config.rope_theta:,.0f}",
        "rope_scaling": scaling_in_words(config.rope_scaling),
        "norm_eps": f"{config.norm_eps:g}",
        "tying": "tied" if config.tied_embedding else "its own table",
        "tied_or_not": _tied_or_not(config),
        "bias_or_not": _bias_or_not(config),
        "head_norm_or_not": _head_norm_or_not(config),
        "parameters": f"{blueprint.parameters:,}",
        "parameters_short": rounded(blueprint.parameters),
        "table_parameters": f"{config.vocab_size * config.d_model:,}",
        "table_share": f"{config.vocab_size * config.d_model / blueprint.parameters:.1%}",
        "layer_parameters": f"{layer:,}",
        "layers_share": f"{config.n_layers * layer / blueprint.parameters:.1%}",
        "kv_bytes_layer": in_bytes(kv_layer),
        "kv_bytes_token": in_bytes(kv_all),
        "kv_bytes_context": in_bytes(kv_all * config.context),
        "kv_bytes_without_sharing": in_bytes(kv_all * config.heads_per_kv_head * config.context),
        "kv_element_bytes": f"{BYTES['bfloat16']}",
        "operations": rounded(operations),
        "unembedding_operations_share": f"{head / operations:.1%}",
        "pattern_numbers": f"{config.n_heads * n_tokens**2:,}",
    }


def scaling_in_words(scaling: RopeScaling | None) -> str:
    """How the rotations were slowed to reach a longer context."""
    match scaling:
        case None:
            return "no scaling"
        case Llama3Scaling(factor=factor):
            return f"llama3 ×{factor:g}"
        case LinearScaling(factor=factor):
            return f"linear ×{factor:g}"
        case FactorScaling():
            return "scaled pair by pair"


def rounded(count: float) -> str:
    """A large count in words: ``8.03 billion``"""
    for size, word in SCALES:
        if count >= size:
            return f"{count / size:.3g}{word}" if count < 1000 * size else f"{count / size:,.0f}{word}"
    return f"{count:,.0f}"


def in_bytes(count: float) -> str:
    """``4 KiB``"""
    step = 0
    while count >= 1024 and step < len(UNITS) - 1:
        count, step = count / 1024, step + 1
    return f"{count:,.4g} {UNITS[step]}"


def _tied_or_not(config: ModelConfig) -> str:
    if config.tied_embedding:
        return (
            "In this model they are **tied**: the unembedding has no matrix of its own and scores with the rows of the "
            "embedding table. Its parameters are counted once."
        )
    return "In this model they are **not tied**: the table that reads tokens in and the one that scores them are two."


def _bias_or_not(config: ModelConfig) -> str:
    if config.query_key_value_bias:
        return "This model adds a learned bias to query, key and value, as Qwen2 does; a Llama has none."
    return "There is no bias to add, here or in any other matrix of the model."


def _head_norm_or_not(config: ModelConfig) -> str:
    if config.query_key_norm:
        return "This model brings every head's query and key to unit size before they are turned, as Qwen3 does."
    return "Queries and keys are not normalised on the way."


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One fact of two models."""

    fact: str
    first: str
    second: str

    @property
    def differs(self) -> bool:
        """Whether the two are unlike."""
        return self.first != self.second


COMPARED = {
    "parameters": "Parameters",
    "n_layers": "Layers",
    "d_model": "Width (d_model)",
    "n_heads": "Query heads",
    "n_kv_heads": "Key/value heads",
    "group": "Query heads per key/value head",
    "head_dim": "Width of a head",
    "d_ff": "Feed-forward width (d_ff)",
    "widening": "d_ff ÷ d_model",
    "vocab_size": "Vocabulary",
    "context": "Context in tokens",
    "tying": "Unembedding",
    "rope_theta": "RoPE θ",
    "rope_scaling": "RoPE scaling",
    "norm_eps": "Norm ε",
    "attention_share": "Attention's share of a layer",
    "feed_forward_share": "Feed-forward's share of a layer",
    "table_share": "One token table, of all parameters",
    "kv_bytes_token": "Cache per token, in bfloat16",
    "kv_bytes_context": "Cache of the whole context",
    "operations": "Operations per token",
}


def comparison(first: dict[str, str], second: dict[str, str]) -> list[Comparison]:
    """Two models' facts, side by side."""
    return [Comparison(fact=title, first=first[name], second=second[name]) for name, title in COMPARED.items()]
