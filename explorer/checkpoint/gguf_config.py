"""The sizes of a model as the metadata of a GGUF file states them.

Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, section "LLM".
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from explorer.config import (
    ConfigError,
    FactorScaling,
    LinearScaling,
    ModelConfig,
    RopeScaling,
    TokenizerSource,
)
from explorer.errors import BadModelFile, UnsupportedModel

ROPE_FACTORS = "rope_freqs.weight"
EMBEDDING = "token_embd.weight"
UNEMBEDDING = "output.weight"
TOKENS = "tokenizer.ggml.tokens"
DEFAULT_ROPE_THETA = 10_000.0  # llama.cpp's value for files that do not state one
SMALLEST, LARGEST = 1e-30, 1e30


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """What a value of ``general.architecture`` implies; ``half_split`` is the order of query and key rows.

    llama.cpp's ``LLAMA_ROPE_TYPE_NORM`` turns adjacent rows, ``LLAMA_ROPE_TYPE_NEOX`` those half a head apart.
    """

    name: str
    half_split: bool = False
    query_key_value_bias: bool = False
    query_key_norm: bool = False


ARCHITECTURES: Mapping[str, Architecture] = {
    "llama": Architecture(name="llama"),
    "qwen2": Architecture(name="qwen2", half_split=True, query_key_value_bias=True),
    "qwen3": Architecture(name="qwen3", half_split=True, query_key_norm=True),
}

Metadata = Mapping[str, object]
Shapes = Mapping[str, tuple[int, ...]]


def gguf_config(
    metadata: Metadata, shapes: Shapes, rope_factors: tuple[float, ...] | None, *, name: str, file_name: str
) -> ModelConfig:
    """The model that ``metadata`` and the ``shapes`` of the tensors describe.

    ``rope_factors`` is the content of the tensor ``rope_freqs.weight``, where the file has one. Raises
    ``UnsupportedModel`` for another architecture or variant, ``BadModelFile`` for a missing or impossible size.
    """
    architecture = architecture_of(metadata, file_name)
    keys = _Keys(metadata, file_name)
    if keys.number("expert_count", 0) > 0:
        raise UnsupportedModel(
            f"{file_name}: a mixture of {keys.size('expert_count')} experts, expected one feed-forward per layer",
            "Choose a dense Llama model.",
        )
    d_model, n_heads = keys.size("embedding_length"), keys.size("attention.head_count")
    head_dim = keys.size("attention.key_length", keys.size("rope.dimension_count", max(d_model // n_heads, 1)))
    for key in ("attention.value_length", "rope.dimension_count"):
        if keys.size(key, head_dim) != head_dim:
            raise UnsupportedModel(
                f"{file_name}: {keys.prefix}.{key} is {keys.size(key)}, expected the head size {head_dim}",
                "Choose a model whose keys and values have one size and are rotated whole.",
            )
    try:
        return ModelConfig(
            name=name,
            vocab_size=_vocab_size(keys, shapes),
            d_model=d_model,
            n_layers=keys.size("block_count"),
            n_heads=n_heads,
            n_kv_heads=keys.size("attention.head_count_kv", n_heads),
            head_dim=head_dim,
            d_ff=keys.size("feed_forward_length"),
            context=keys.size("context_length"),
            rope_theta=keys.positive("rope.freq_base", DEFAULT_ROPE_THETA),
            rope_scaling=_rope_scaling(keys, rope_factors, head_dim),
            norm_eps=keys.positive("attention.layer_norm_rms_epsilon"),
            tied_embedding=UNEMBEDDING not in shapes,
            query_key_value_bias=architecture.query_key_value_bias,
            query_key_norm=architecture.query_key_norm,
        )
    except ConfigError as error:
        raise BadModelFile(f"{file_name}: {error.found}", error.remedy) from error


def architecture_of(metadata: Metadata, file_name: str) -> Architecture:
    """What the file's architecture implies. Raises ``UnsupportedModel`` for another than those in ``ARCHITECTURES``."""
    name = metadata.get("general.architecture")
    if not isinstance(name, str) or name not in ARCHITECTURES:
        raise UnsupportedModel(
            f"{file_name}: the architecture is {str(name)[:40]!r}, expected one of {', '.join(ARCHITECTURES)}",
            "Choose a Llama, Mistral, Qwen2 or Qwen3 model, or another that llama.cpp stores as one.",
        )
    return ARCHITECTURES[name]


def gguf_tokenizer(metadata: Metadata) -> TokenizerSource:
    """The raw material of the tokenizer: every ``tokenizer.*`` key of the file, if it has a vocabulary."""
    if TOKENS not in metadata:
        return TokenizerSource(format="none")
    return TokenizerSource(
        format="gguf", data={key: value for key, value in metadata.items() if key.startswith("tokenizer.")}
    )


class _Keys:
    """Numbers under ``llama.*`` or another architecture, each checked to be one; without a default it must be there."""

    def __init__(self, metadata: Metadata, file_name: str) -> None:
        self.metadata = metadata
        self.file_name = file_name
        self.prefix = str(metadata["general.architecture"])

    def number(self, key: str, default: float | None = None) -> float:
        value = self.metadata.get(f"{self.prefix}.{key}", default)
        if value is None:
            raise self.refused(key, "is missing", "a number")
        if isinstance(value, list):
            raise UnsupportedModel(
                f"{self.file_name}: {self.prefix}.{key} is a list, expected one number for all layers",
                "Choose a model whose layers are all of one size.",
            )
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.refused(key, f"is {str(value)[:40]!r}", "a number")
        return value

    def size(self, key: str, default: int | None = None) -> int:
        value = self.number(key, default)
        if not isinstance(value, int) or not 1 <= value < 1 << 31:
            raise self.refused(key, f"is {value}", "a whole number from 1 to 2147483647")
        return value

    def positive(self, key: str, default: float | None = None) -> float:
        value = self.number(key, default)
        if not SMALLEST < value < LARGEST:
            raise self.refused(key, f"is {value}", f"a number from {SMALLEST} to {LARGEST}")
        # A 32-bit float of the file, as the shortest decimal that means it: 1e-05 rather than 9.999999747378752e-06.
        return float(str(np.float32(value)))

    def refused(self, key: str, found: str, expected: str) -> BadModelFile:
        return BadModelFile(
            f"{self.file_name}: {self.prefix}.{key} {found}, expected {expected}",
            "The file is damaged or was converted wrongly: download it again from another source.",
        )


def _vocab_size(keys: _Keys, shapes: Shapes) -> int:
    if EMBEDDING not in shapes:
        raise BadModelFile(f"{keys.file_name}: the tensor {EMBEDDING} is missing", "Download the file again.")
    rows, tokens = shapes[EMBEDDING][0], keys.metadata.get(TOKENS)
    if isinstance(tokens, list) and len(tokens) != rows:
        raise BadModelFile(
            f"{keys.file_name}: the tokenizer has {len(tokens)} tokens, but {EMBEDDING} has {rows} rows",
            "The file was converted wrongly: download it again from another source.",
        )
    return rows


def _rope_scaling(keys: _Keys, factors: tuple[float, ...] | None, head_dim: int) -> RopeScaling | None:
    kind = keys.metadata.get(f"{keys.prefix}.rope.scaling.type", "none")
    linear_factor = keys.number("rope.scaling.factor" if kind == "linear" else "rope.scale_linear", 1.0)
    if kind not in ("none", "linear") or (factors is not None and linear_factor != 1.0):
        raise UnsupportedModel(
            f"{keys.file_name}: the rope scaling {str(kind)[:40]!r}"
            f"{' together with ' + ROPE_FACTORS if factors is not None else ''}, expected none, 'linear' or "
            f"the tensor {ROPE_FACTORS}",
            "Choose a model with one of these scalings.",
        )
    if factors is None:
        if linear_factor <= 0:
            raise keys.refused("rope.scaling.factor", f"is {linear_factor}", "a number above 0")
        return LinearScaling(factor=linear_factor) if linear_factor != 1.0 else None
    if len(factors) != head_dim // 2 or not all(0 < factor < float("inf") for factor in factors):
        raise BadModelFile(
            f"{keys.file_name}: the tensor {ROPE_FACTORS} holds {len(factors)} numbers, "
            f"expected {head_dim // 2} that are above 0",
            "The file was converted wrongly: download it again from another source.",
        )
    return FactorScaling(factors=factors)
