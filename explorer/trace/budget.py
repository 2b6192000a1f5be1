"""How many bytes a request will keep, known before it runs."""

from math import prod

from explorer.config import ModelConfig
from explorer.errors import TooLarge
from explorer.model.llama import Llama
from explorer.model.tap import Tap, taps_of
from explorer.trace.recorder import matching
from explorer.trace.replay import SCORED
from explorer.trace.trace import TraceRequest

FLOAT32_BYTES = 4


def shape_of(tap: Tap, config: ModelConfig, n_tokens: int) -> tuple[int, ...]:
    """The shape that ``tap`` declares for one prompt, batch axis left out."""
    sizes = config.axis_sizes(n_tokens)
    return tuple(sizes[axis] for axis in tap.axes if axis != "batch")


def checkpoint_bytes(config: ModelConfig, n_tokens: int, element_bytes: int) -> int:
    """Bytes of the checkpoints of one run: stream and lengths."""
    stream = (config.n_layers + 1) * n_tokens * config.d_model * element_bytes
    return stream + (2 * config.n_layers + 1) * n_tokens * FLOAT32_BYTES


def request_bytes(model: Llama, request: TraceRequest) -> int:
    """Bytes of the trace that answers ``request``.

    Raises ``NoSuchTap`` for an address that the model does not have.
    """
    taps, config = taps_of(model), model.config
    element_bytes = model.embedding.weight.element_size()

    def elements(address: str, *, lengths: bool = False, scored: bool = False) -> int:
        n_tokens = len(request.scored) if scored or address in SCORED else len(request.token_ids)
        shape = shape_of(taps[address], config, n_tokens)
        return prod(shape[:-1] if lengths else shape)

    whole = {address for pattern in request.taps for address in matching(taps, pattern)}
    norms = {address for pattern in request.norms for address in matching(taps, pattern)}
    rows = {address for pattern in request.rows for address in matching(taps, pattern)}
    return (
        sum(elements(address) for address in whole) * element_bytes
        + sum(elements(address, scored=True) for address in rows) * element_bytes
        + sum(elements(address, lengths=True) for address in norms) * FLOAT32_BYTES
    )


def check_budget(model: Llama, request: TraceRequest, limit: int) -> None:
    """Raises ``TooLarge`` when the run and its trace would keep more than ``limit`` bytes."""
    element_bytes = model.embedding.weight.element_size()
    needed = request_bytes(model, request) + checkpoint_bytes(model.config, len(request.token_ids), element_bytes)
    if needed > limit:
        raise TooLarge(
            f"This would keep {needed:,} bytes; the limit is {limit:,}.",
            "Use a shorter prompt, ask for fewer layers, or raise EXPLORER_CACHE_MIB.",
        )
