"""The sizes that define one Llama model."""

from collections.abc import Mapping
from dataclasses import dataclass, field

LARGEST_FACTOR = 1e9


class ConfigError(ValueError):
    """A description of a model that cannot be used; ``remedy`` says what to do."""

    def __init__(self, found: str, remedy: str = "") -> None:
        super().__init__(found)
        self.found = found
        self.remedy = remedy


class UnsupportedFamily(ConfigError):
    """A sound description of a model that this code would compute wrongly."""


@dataclass(frozen=True, kw_only=True)
class LinearScaling:
    """Every rotation slowed by the same factor."""

    factor: float

    def __post_init__(self) -> None:
        _check_factor(self.factor)


@dataclass(frozen=True, kw_only=True)
class Llama3Scaling:
    """The slow rotations slowed by ``factor``, the fast ones kept, those between blended.

    Meta's ``apply_scaling`` in llama-models ``models/llama3/model.py``.
    """

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_context: int

    def __post_init__(self) -> None:
        _check_factor(self.factor)
        if not 0 < self.low_freq_factor < self.high_freq_factor < LARGEST_FACTOR or self.original_context < 1:
            raise ConfigError(
                f"the llama3 rope scaling has low_freq_factor {self.low_freq_factor}, high_freq_factor "
                f"{self.high_freq_factor} and an original context of {self.original_context}",
                "Expected 0 < low_freq_factor < high_freq_factor, and a context of at least 1.",
            )


@dataclass(frozen=True, kw_only=True)
class FactorScaling:
    """One divisor per pair, as llama.cpp stores it in the tensor ``rope_freqs.weight``."""

    factors: tuple[float, ...]


RopeScaling = LinearScaling | Llama3Scaling | FactorScaling


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The sizes of one model; nothing about how or where it runs.

    ``query_key_value_bias`` is what Qwen2 adds to a Llama, ``query_key_norm`` what Qwen3 does: an RMSNorm over every
    head's query and key before they are rotated.
    """

    name: str
    vocab_size: int
    d_model: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    d_ff: int
    context: int
    rope_theta: float
    rope_scaling: RopeScaling | None
    norm_eps: float
    tied_embedding: bool
    query_key_value_bias: bool = False
    query_key_norm: bool = False

    def __post_init__(self) -> None:
        for size in ("vocab_size", "d_model", "n_layers", "n_heads", "n_kv_heads", "head_dim", "d_ff", "context"):
            if getattr(self, size) < 1:
                raise ConfigError(f"{self.name}: {size} is {getattr(self, size)}", "Every size must be at least 1.")
        if self.n_heads % self.n_kv_heads:
            raise ConfigError(
                f"{self.name}: {self.n_heads} query heads cannot share {self.n_kv_heads} key/value heads evenly",
                "The number of query heads must be a multiple of the number of key/value heads.",
            )
        if self.head_dim % 2:
            raise ConfigError(f"{self.name}: head_dim is {self.head_dim}", "RoPE turns pairs: head_dim must be even.")

    @property
    def heads_per_kv_head(self) -> int:
        """How many query heads read one key/value head."""
        return self.n_heads // self.n_kv_heads

    def axis_sizes(self, n_tokens: int) -> dict[str, int]:
        """The length of every axis that a tap may name, for one prompt of ``n_tokens``."""
        return {
            "batch": 1,
            "token": n_tokens,
            "source": n_tokens,
            "head": self.n_heads,
            "kv_head": self.n_kv_heads,
            "head_dim": self.head_dim,
            "d_model": self.d_model,
            "d_ff": self.d_ff,
            "vocab": self.vocab_size,
        }


@dataclass(frozen=True, kw_only=True)
class TokenizerSource:
    """The raw material of a model's tokenizer, as its files hold it.

    ``format`` is "gguf" (``data`` is the file's ``tokenizer.*`` metadata), "tiktoken" (``data["path"]`` names a
    ``tokenizer.model`` of base64 ranks), "huggingface" (``data["path"]`` names a ``tokenizer.json``,
    ``data["eos_ids"]`` the ids that end a generation) or "none".
    """

    format: str
    data: Mapping[str, object] = field(default_factory=dict)


def _check_factor(factor: float) -> None:
    if not 0 < factor < LARGEST_FACTOR:
        raise ConfigError(f"the factor of the rope scaling is {factor}", "It must be above 0.")
