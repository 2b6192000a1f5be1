"""An engine inside this process."""

from collections.abc import Callable, Mapping
from typing import cast

import torch
from cachetools import LRUCache
from torch import Tensor

from explorer.checkpoint.known_models import known_models
from explorer.config import ModelConfig, TokenizerSource
from explorer.engine.device import is_out_of_memory
from explorer.engine.engine import Listed, LoadState, ModelCard, ModelInfo
from explorer.engine.generation import Caches
from explorer.engine.scheduler import JobTicket, Scheduler
from explorer.engine.shelf import Shelf
from explorer.engine.vocabularies import VOCABULARIES, Vocabularies
from explorer.errors import BadValue, NoSuchTap, NoSuchToken, TextTooLong, TooLarge
from explorer.model.llama import Llama
from explorer.settings import Settings
from explorer.trace.budget import check_budget
from explorer.trace.checkpoints import Checkpoints, run
from explorer.trace.embedding_rows import NearestRows, nearest_rows, one_hot_product
from explorer.trace.generation import Step, StepRequest
from explorer.trace.lens import BLOCK_ROWS, Lens, LensRequest, lens
from explorer.trace.readout import Readout, readout
from explorer.trace.replay import replay
from explorer.trace.trace import Trace, TraceRequest

Request = TraceRequest | LensRequest | StepRequest
Answer = Trace | Lens | Step


class LocalEngine:
    """Runs the models of a shelf on one worker thread, behind a fair queue."""

    def __init__(self, shelf: Shelf, settings: Settings) -> None:
        torch.set_num_threads(settings.threads)
        self._shelf = shelf
        self._vocabularies = Vocabularies(settings.home)
        self._cache_bytes = settings.trace_cache_bytes // 2
        self._checkpoints: LRUCache[tuple[str, tuple[int, ...]], Checkpoints] = LRUCache(
            self._cache_bytes, getsizeof=lambda checkpoints: checkpoints.n_bytes
        )
        self._caches = Caches(self._cache_bytes)
        self._scheduler: Scheduler[Request, Answer] = Scheduler(
            self._answer,
            cost=_cost,
            size=lambda answer: answer.n_bytes,
            cache_bytes=self._cache_bytes,
            max_waiting=settings.max_waiting,
        )
        self.forward_passes = 0

    def models(self) -> tuple[str, ...]:
        """The ids of all models that can run here."""
        return self._shelf.ids()

    def card(self, model: str) -> ModelCard:
        """What is known of ``model`` without its weights."""
        return self._shelf.card(model)

    def listing(self) -> tuple[Listed, ...]:
        """Every model with what its files say, bad ones with their reason."""
        return self._shelf.listing()

    def known(self) -> Mapping[str, ModelConfig]:
        """The published sizes that everyone asks about, by id, whether or not their weights are here."""
        return {model: known.config for model, known in known_models().items()}

    def state(self, name: str) -> LoadState:
        """Where a model or a vocabulary stands. Raises ``NoSuchModel``."""
        return self._vocabularies.state(name) if name in VOCABULARIES else self._shelf.state(name)

    def prepare(self, name: str) -> None:
        """Begin to fetch and load a model or a vocabulary in the background."""
        if name in VOCABULARIES:
            self._vocabularies.prepare(name)
        else:
            self._shelf.prepare(name)

    def vocabulary(self, name: str) -> TokenizerSource:
        """A vocabulary without a model, such as "llama3"."""
        return self._vocabularies.source(name)

    def info(self, model: str) -> ModelInfo:
        """What is known of a ready model."""
        return self._shelf.loaded(model).info

    def parameter(self, model: str, name: str, rows: tuple[int, ...] | None = None) -> Tensor:
        """Learned numbers by their address, all of them or some rows, in float32 on the CPU."""
        loaded = self._shelf.loaded(model)
        try:
            values = loaded.model.get_parameter(name)
        except AttributeError:
            raise NoSuchTap(
                f"The model has no parameter {name!r}.", "Names look like layers.3.attention.query.weight."
            ) from None
        if values.is_meta:  # of a layer that is read from the files whenever it runs
            values = torch.nn.Parameter(loaded.read(name), requires_grad=False)
        return (values if rows is None else values[list(rows)]).detach().float().cpu()

    def readout(
        self, model: str, vectors: Tensor, *, count: int, normalised: bool, watched: tuple[int, ...] = ()
    ) -> Readout:
        """Vectors (vector, d_model) read through the unembedding."""
        llama = self._shelf.loaded(model).model
        return readout(llama, vectors, count=count, normalised=normalised, watched=watched)

    def nearest(self, model: str, vectors: Tensor, *, count: int) -> NearestRows:
        """The rows of the embedding that point most nearly where each of the vectors (vector, d_model) points."""
        return nearest_rows(self._shelf.loaded(model).model, vectors, count=count)

    def one_hot_product(self, model: str, token_id: int) -> Tensor:
        """One-hot vector times embedding matrix, multiplied out: (d_model,)."""
        llama = self._shelf.loaded(model).model
        if not 0 <= token_id < llama.config.vocab_size:
            raise NoSuchToken(
                f"The model has no token {token_id}.", f"Ids run from 0 to {llama.config.vocab_size - 1}."
            )
        return one_hot_product(llama, token_id)

    def submit(self, request: TraceRequest, session: str) -> JobTicket[TraceRequest, Trace]:
        """Ask for a trace; raises at once what is wrong with the request."""
        loaded = self._shelf.loaded(request.model)
        check_tokens(request.token_ids, request.scored, loaded.info.card)
        check_budget(loaded.model, request, self._cache_bytes)
        return cast(JobTicket[TraceRequest, Trace], self._scheduler.submit(request, session))

    def submit_lens(self, request: LensRequest, session: str) -> JobTicket[LensRequest, Lens]:
        """Ask for the readings of some tokens at every depth; raises at once what is wrong with the request."""
        loaded = self._shelf.loaded(request.model)
        check_tokens(request.token_ids, request.tokens, loaded.info.card)
        if not request.tokens:
            raise BadValue("No token was named to read.", "Name at least one.")
        check_budget(loaded.model, TraceRequest(model=request.model, token_ids=request.token_ids), self._cache_bytes)
        return cast(JobTicket[LensRequest, Lens], self._scheduler.submit(request, session))

    def submit_step(self, request: StepRequest, session: str) -> JobTicket[StepRequest, Step]:
        """Ask for one step of a generation; raises at once what is wrong with the request."""
        loaded = self._shelf.loaded(request.model)
        check_tokens(request.token_ids, (), loaded.info.card)
        self._caches.check(loaded.model, request)
        return cast(JobTicket[StepRequest, Step], self._scheduler.submit(request, session))

    def _answer(self, request: Request, progress: Callable[[float], None]) -> Answer:
        model = self._shelf.loaded(request.model).model
        try:
            match request:
                case StepRequest():
                    return self._caches.step(model, request, progress)
                case LensRequest():
                    return lens(model, self._run(model, request, progress), request, progress)
                case TraceRequest():
                    return replay(model, self._run(model, request, progress), request, progress)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            self._checkpoints.clear()
            self._caches.clear()
            raise TooLarge(
                f"A prompt of {len(request.token_ids)} tokens needs more memory than is free.",
                "Use a shorter prompt; what was held for older prompts has been let go.",
            ) from error

    def _run(self, model: Llama, request: TraceRequest | LensRequest, progress: Callable[[float], None]) -> Checkpoints:
        """The checkpoints of a run on the request's tokens: those at hand, or new ones."""
        key = (request.model, request.token_ids)
        checkpoints = self._checkpoints.get(key)
        if checkpoints is None:
            self.forward_passes += 1
            checkpoints = run(model, request.token_ids, progress)
            self._checkpoints[key] = checkpoints
        return checkpoints


def check_tokens(token_ids: tuple[int, ...], scored: tuple[int, ...], card: ModelCard) -> None:
    """Raises ``BadValue``, ``TextTooLong`` or ``NoSuchToken`` for tokens that ``card``'s model cannot run or score."""
    count, vocab_size = len(token_ids), card.config.vocab_size
    if count == 0:
        raise BadValue("The prompt holds no token.", "Type at least one character.")
    if count > card.max_tokens:
        limit = "the model's context" if card.max_tokens == card.config.context else "the limit (EXPLORER_MAX_TOKENS)"
        raise TextTooLong(
            f"The prompt has {count:,} tokens; {limit} is {card.max_tokens:,}.",
            f"Shorten it by {_tokens(count - card.max_tokens)}. Nothing was cut.",
        )
    for token in token_ids:
        if not 0 <= token < vocab_size:
            raise NoSuchToken(f"The model has no token {token}.", f"Ids run from 0 to {vocab_size - 1}.")
    for token in scored:
        if not 0 <= token < count:
            raise BadValue(f"The prompt has no token number {token}.", f"Tokens are numbered 0 to {count - 1}.")


def _cost(request: Request) -> float:
    """How much work a request is, in tokens that pass through the model; a reading costs about as much as a token."""
    match request:
        case StepRequest():
            return len(request.token_ids) if len(request.token_ids) == request.prompt_length else 1
        case LensRequest():
            return BLOCK_ROWS * max(1, len(request.tokens) // 4)
        case TraceRequest():
            return len(request.token_ids)


def _tokens(count: int) -> str:
    return f"{count:,} token{'' if count == 1 else 's'}"
