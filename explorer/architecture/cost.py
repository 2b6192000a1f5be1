"""What one token costs: parameters, operations and bytes of every part, one formula each.

An operation is one multiplication or one addition, so a matrix product takes two per entry of the matrix. What works
number by number (norms, rotation, softmax, SiLU, additions) is left out, as in torch's own counter: it is thousands of
times less.
"""

from explorer.architecture.catalogue import PARTS
from explorer.config import ModelConfig

BYTES = {"float32": 4, "bfloat16": 2, "int8": 1}


def matrix_operations(part: str, config: ModelConfig, n_tokens: int) -> int:
    """Operations of the matrix products of ``part`` for one token among ``n_tokens``, in one layer.

    A block counts what is inside it. Scores and mix count all ``n_tokens`` keys, as kernels and torch's counter do when
    a prompt is read in one go; the triangle that survives the mask is half of it.
    """
    query_width, kv_width = config.n_heads * config.head_dim, config.n_kv_heads * config.head_dim
    match part:
        case "query" | "output":
            return 2 * config.d_model * query_width
        case "key" | "value":
            return 2 * config.d_model * kv_width
        case "scores" | "mix":
            return 2 * query_width * n_tokens
        case "gate" | "up" | "down":
            return 2 * config.d_model * config.d_ff
        case "unembedding":
            return 2 * config.d_model * config.vocab_size
        case _:
            return sum(matrix_operations(each.id, config, n_tokens) for each in PARTS if each.inside == part)


def operations_per_token(config: ModelConfig, n_tokens: int) -> int:
    """Operations of the whole model for one token among ``n_tokens``."""
    layer = matrix_operations("layer", config, n_tokens)
    return config.n_layers * layer + matrix_operations("unembedding", config, n_tokens)


def kv_bytes_per_token(config: ModelConfig, n_layers: int, element_bytes: int = BYTES["bfloat16"]) -> int:
    """Bytes that one token leaves in the cache of ``n_layers`` layers: a key and a value for each key/value head."""
    return 2 * n_layers * config.n_kv_heads * config.head_dim * element_bytes
