"""What one token costs: operations and bytes, one formula each.

An operation is one multiplication or one addition, so a matrix product takes two per entry of the matrix. What works
number by number (norms, rotation, softmax, SiLU, additions) is left out, as in torch's own counter: it is thousands of
times less. Looking up a row of the embedding is no arithmetic at all.
"""

from bisect import bisect_left
from collections.abc import Callable

from explorer.architecture.catalogue import PARTS
from explorer.architecture.decoder_sizes import DecoderSizes, sizes_of
from explorer.architecture.parameters import weight_by_name, weights
from explorer.config import ModelConfig

BITS = {"float32": 32, "bfloat16": 16, "float16": 16, "int8": 8, "int4": 4}
BYTES = {name: bits // 8 for name, bits in BITS.items() if bits >= 8}
FARTHEST = 1 << 40  # tokens; no context that anyone asks about is longer


def matrix_operations(part: str, config: ModelConfig, n_tokens: int) -> int:
    """Operations of the matrix products of ``part`` for one token among ``n_tokens``, in one layer.

    A block counts what is inside it. Scores and mix count all ``n_tokens`` keys, as kernels and torch's counter do when
    a prompt is read in one go; the triangle that survives the mask is half of it.
    """
    sizes = sizes_of(config)
    if part in ("scores", "mix"):
        return pair_operations(sizes) // 2 * n_tokens
    if part in weight_by_name(sizes):
        weight = weight_by_name(sizes)[part]
        return weight.operations // weight.copies
    return sum(matrix_operations(each.id, config, n_tokens) for each in PARTS if each.inside == part)


def operations_per_token(config: ModelConfig, n_tokens: int) -> int:
    """Operations of the whole model for one token among ``n_tokens``."""
    return matmul_operations(sizes_of(config)) + attention_operations(sizes_of(config), n_tokens)


def pair_operations(sizes: DecoderSizes) -> int:
    """Operations of one token looking at one other, in one layer: a score, and a share of a value, in every head.

    The query heads are counted: that several share one key does not make fewer products.
    """
    return 2 * 2 * sizes.n_heads * sizes.head_dim


def matmul_operations(sizes: DecoderSizes) -> int:
    """Operations of one token with all the matrices it meets, the unembedding among them; the same at any context."""
    return sum(weight.operations for weight in weights(sizes))


def attention_operations(sizes: DecoderSizes, context: int) -> int:
    """Operations of one token with the keys and values of ``context`` tokens, itself included."""
    return pair_operations(sizes) * _over_layers(sizes, context, min(context, sizes.window))


def causal_attention_operations(sizes: DecoderSizes, n_tokens: int) -> int:
    """The same of all tokens of a prompt together, each with those up to itself: the triangle below the diagonal."""
    inside = min(n_tokens, sizes.window)
    windowed = _triangle(inside) + (n_tokens - inside) * inside
    return pair_operations(sizes) * _over_layers(sizes, _triangle(n_tokens), windowed)


def square_attention_operations(sizes: DecoderSizes, n_tokens: int) -> int:
    """The same where masked scores are computed all the same, and thrown away: the whole square."""
    return pair_operations(sizes) * sizes.n_layers * n_tokens**2


def prompt_operations(sizes: DecoderSizes, n_tokens: int) -> int:
    """Operations of reading a prompt, every token scored, with the causal triangle alone."""
    return n_tokens * matmul_operations(sizes) + causal_attention_operations(sizes, n_tokens)


def newest_crossover(sizes: DecoderSizes) -> int | None:
    """The context at which the newest token's attention costs as much as all its matrices; None if there is none."""
    return _first(lambda n: attention_operations(sizes, n), matmul_operations(sizes))


def mean_crossover(sizes: DecoderSizes) -> int | None:
    """The length of prompt at which attention costs as much as the matrices, on the average of its tokens."""
    return _first(lambda n: causal_attention_operations(sizes, n) // n, matmul_operations(sizes))


def training_operations(n_parameters: int) -> int:
    """Operations of training on one token: 2 for each parameter forwards, twice that backwards (Kaplan et al. 2020)."""
    return 6 * n_parameters


def kv_bytes_per_token(
    config: ModelConfig | DecoderSizes, n_layers: int, element_bytes: int = BYTES["bfloat16"]
) -> int:
    """Bytes that one token leaves in the cache of ``n_layers`` layers: a key and a value for each key/value head."""
    return 2 * n_layers * config.n_kv_heads * config.head_dim * element_bytes


def kv_bytes(sizes: DecoderSizes, context: int, element_bytes: int = BYTES["bfloat16"]) -> int:
    """Bytes of the cache after ``context`` tokens; a layer with a window keeps only the tokens in it."""
    tokens = _over_layers(sizes, context, min(context, sizes.window))  # in all layers together
    return tokens * kv_bytes_per_token(sizes, 1, element_bytes)


def weight_bytes(n_parameters: int, precision: str) -> int:
    """Bytes of that many numbers in ``precision``, one of ``BITS``; the scales of quantised blocks are left out."""
    return -(-n_parameters * BITS[precision] // 8)


def _over_layers(sizes: DecoderSizes, in_full: int, in_windowed: int) -> int:
    return (sizes.n_layers - sizes.windowed) * in_full + sizes.windowed * in_windowed


def _triangle(n: int) -> int:
    return n * (n + 1) // 2


def _first(cost: Callable[[int], int], enough: int) -> int | None:
    """The first number of tokens of which ``cost``, which never falls, reaches ``enough``."""
    found = 1 + bisect_left(range(1, FARTHEST), enough, key=cost)
    return found if found < FARTHEST else None
