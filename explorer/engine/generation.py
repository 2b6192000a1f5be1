"""Generation: one token after the other, each step a job of its own in the engine's queue.

So a long generation never holds up the others, and it stops at once when nobody asks for the next step. The caches of
the generations under way are kept between their steps, up to a number of bytes; one that has been let go is filled
again by reading all its tokens.
"""

from collections.abc import Callable
from time import perf_counter

import torch
from cachetools import LRUCache
from torch import Tensor

from explorer.engine.engine import Engine, Ticket
from explorer.errors import BadValue, NotFinite, TooLarge
from explorer.model.kv_cache import KVCache
from explorer.model.llama import Llama
from explorer.trace.checkpoints import run
from explorer.trace.generation import Choice, Generation, GenerationRequest, Step, StepRequest, StopReason, choose
from explorer.trace.recorder import recording

Wait = Callable[[Ticket[Step]], Step]


def _at_once(ticket: Ticket[Step]) -> Step:
    return ticket.result()


def _nobody(_choice: Choice) -> None:
    pass


def generate(
    engine: Engine,
    request: GenerationRequest,
    session: str,
    *,
    wait: Wait = _at_once,
    told: Callable[[Choice], None] = _nobody,
) -> Generation:
    """Ask for one step after the other until something ends it; ``told`` hears of every token as it comes.

    ``wait`` turns a ticket into its answer, and may raise to stop. Raises what the engine raises, and ``BadValue`` for
    a limit that allows no token.
    """
    if request.limit < 1:
        raise BadValue(f"The limit is {request.limit} tokens.", "Ask for at least 1.")
    capacity = min(len(request.token_ids) + request.limit, max(request.context, len(request.token_ids)))
    choices: list[Choice] = []
    tokens = list(request.token_ids)
    while True:
        asked = StepRequest(
            model=request.model,
            token_ids=tuple(tokens),
            prompt_length=len(request.token_ids),
            capacity=capacity,
        )
        choice = choose(wait(engine.submit_step(asked, session)), request, len(choices))
        choices.append(choice)
        tokens.append(choice.token_id)
        told(choice)
        reason = _why_stop(request, choice, len(choices), len(tokens))
        if reason is not None:
            return Generation(request=request, choices=tuple(choices), reason=reason)


def _why_stop(request: GenerationRequest, choice: Choice, n_new: int, n_tokens: int) -> StopReason | None:
    if choice.token_id in request.stop_ids:
        return StopReason.END_TOKEN
    if n_new >= request.limit:
        return StopReason.LIMIT
    return StopReason.CONTEXT if n_tokens > request.context else None


class Caches:
    """The key/value caches of generations between their steps. For one thread: the engine's."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._caches: LRUCache[tuple[str, tuple[int, ...]], KVCache] = LRUCache(most_bytes, getsizeof=_held_bytes)

    def clear(self) -> None:
        """Let all of them go."""
        self._caches.clear()

    def check(self, model: Llama, request: StepRequest) -> None:
        """Raises ``TooLarge`` when the cache that ``request`` needs has no room."""
        config, element_bytes = model.config, model.embedding.weight.element_size()
        needed = 2 * config.n_layers * config.n_kv_heads * config.head_dim * request.capacity * element_bytes
        if needed > self._most_bytes:
            raise TooLarge(
                f"The cache for {request.capacity:,} tokens needs {needed:,} bytes; the limit is {self._most_bytes:,}.",
                "Use a shorter prompt, ask for fewer tokens, or raise EXPLORER_CACHE_MIB.",
            )

    def step(self, model: Llama, request: StepRequest, progress: Callable[[float], None]) -> Step:
        """Read what the cache of this text has not read yet, and score what follows.

        ``progress`` is told the share of the layers done, and may raise to stop: the cache then stays as it was.
        Raises ``NotFinite`` naming the first place where NaN or infinity appeared.
        """
        key = (request.model, request.token_ids[:-1])
        cache = self._caches.pop(key, None)
        if cache is None or cache.length >= cache.capacity:
            cache = _empty_cache(model, max(request.capacity, len(request.token_ids)))
        new = request.token_ids[cache.length :]
        started = perf_counter()
        try:
            logits = _read(model, cache, new, progress)
        except BaseException:
            if cache.length:  # nothing was counted: the same step can be asked for again
                self._caches[key] = cache
            raise
        milliseconds = 1000 * (perf_counter() - started)
        if not bool(logits.isfinite().all()):
            run(model, request.token_ids, progress)  # raises, naming the place
            raise NotFinite("The scores hold NaN or infinity.", "Try EXPLORER_DTYPE=float32.")
        if _held_bytes(cache) <= self._most_bytes:
            self._caches[request.model, request.token_ids] = cache
        return Step(logits=logits, n_read=len(new), milliseconds=milliseconds, cache_bytes=cache.filled_bytes)


def _read(model: Llama, cache: KVCache, new: tuple[int, ...], progress: Callable[[float], None]) -> Tensor:
    n_layers = model.config.n_layers
    entered = 0

    def entering(_x: Tensor) -> None:
        nonlocal entered
        progress(entered / n_layers)
        entered += 1

    readers = {f"layers.{layer}.tap.before": entering for layer in range(n_layers)}
    with torch.inference_mode(), recording(model, readers):
        stream = model.stream(torch.tensor([new], device=model.embedding.weight.device), cache)
        logits: Tensor = model.score(stream[:, -1:])[0, -1].float().cpu()
    return logits


def _empty_cache(model: Llama, capacity: int) -> KVCache:
    weight = model.embedding.weight
    places = [model.get_parameter(f"layers.{at}.attention.query.weight").device for at in range(model.config.n_layers)]
    # What is read from the files whenever it runs is on no device now, and then where the embedding is.
    layers = [weight.device if place.type == "meta" else place for place in places]
    return KVCache(model.config, capacity, dtype=weight.dtype, layers=layers)


def _held_bytes(cache: KVCache) -> int:
    return sum(tensor.nbytes for tensor in (*cache.keys, *cache.values))
