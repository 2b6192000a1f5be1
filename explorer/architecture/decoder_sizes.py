"""What a count needs to know of a model, of whatever family: enough to list every learned tensor, and no more."""

from dataclasses import dataclass
from functools import cache

from explorer.config import ModelConfig

QUERY_KEY_VALUE = frozenset({"query", "key", "value"})


@dataclass(frozen=True, kw_only=True)
class Experts:
    """Several feed-forwards in each layer, of which every token is sent through ``used``."""

    count: int
    used: int


@dataclass(frozen=True, kw_only=True)
class DecoderSizes:
    """One decoder-only transformer by its sizes; unlike a ``ModelConfig`` it need not be one that runs here.

    ``gated`` feed-forwards have three matrices, others two. ``biased`` names the matrices that have a bias.
    ``positions`` is the height of a learned table of positions. A ``windowed`` layer reads the last ``window`` tokens
    only. ``stored_buffers`` counts the numbers that a file of this family may hold although they were not learned.
    """

    name: str
    family: str
    vocab_size: int
    d_model: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    d_ff: int
    context: int
    tied_embedding: bool
    gated: bool = True
    experts: Experts | None = None
    positions: int = 0
    norms_per_layer: int = 2
    centred_norms: bool = False
    query_key_norm: bool = False
    biased: frozenset[str] = frozenset()
    window: int = 0
    windowed: int = 0
    stored_buffers: int = 0

    @property
    def heads_per_kv_head(self) -> int:
        """How many query heads read one key/value head."""
        return self.n_heads // self.n_kv_heads


@cache
def sizes_of(config: ModelConfig, family: str = "llama") -> DecoderSizes:
    """The sizes of a model that runs here.

    Files made by older converters hold the rotation speeds, one for each pair of a head, once for every layer.
    """
    return DecoderSizes(
        name=config.name,
        family=family,
        vocab_size=config.vocab_size,
        d_model=config.d_model,
        n_layers=config.n_layers,
        n_heads=config.n_heads,
        n_kv_heads=config.n_kv_heads,
        head_dim=config.head_dim,
        d_ff=config.d_ff,
        context=config.context,
        tied_embedding=config.tied_embedding,
        query_key_norm=config.query_key_norm,
        biased=QUERY_KEY_VALUE if config.query_key_value_bias else frozenset(),
        stored_buffers=config.n_layers * config.head_dim // 2,
    )
