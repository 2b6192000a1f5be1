"""What the app knows of the thing that runs models: a promise that a process, a GPU server or a cluster can keep."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

from torch import Tensor

from explorer.config import ModelConfig, TokenizerSource
from explorer.errors import ExplorerError
from explorer.trace.embedding_rows import NearestRows
from explorer.trace.generation import Step, StepRequest
from explorer.trace.lens import Lens, LensRequest
from explorer.trace.readout import Readout
from explorer.trace.trace import Trace, TraceRequest

Answer = TypeVar("Answer", covariant=True)


class Phase(StrEnum):
    """How far a model is on its way to being usable."""

    ABSENT = "absent"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class LoadState:
    """Where a model stands: a sentence for people, the share done (0 to 1), and the error of a failed attempt."""

    phase: Phase
    sentence: str = ""
    fraction: float = 0.0
    error: ExplorerError | None = None


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """What is known of a model before its weights are in memory."""

    id: str
    config: ModelConfig
    tokenizer: TokenizerSource
    max_tokens: int


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """What a model's files say of it before its weights are in memory.

    ``precision`` counts the tensors of each number format in the files; ``parameters`` counts numbers, those of a tied
    embedding once; ``notes`` say what might surprise.
    """

    card: ModelCard
    architecture: str
    parameters: int
    precision: Mapping[str, int]
    source: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One line of the list of models: its facts, or what is wrong with its files. ``device`` is where it would run."""

    id: str
    name: str
    device: str
    facts: ModelFacts | None = None
    problem: ExplorerError | None = None


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """A model that is ready: where its weights came from, and how it runs here.

    ``precision`` counts the tensors of each number format in the file. ``seconds`` is about how long each run takes
    because its layers are read from the files every time; None for a model in memory.
    """

    card: ModelCard
    source: str
    parameters: int
    precision: Mapping[str, int]
    device: str
    dtype: str
    seconds: float | None = None


class Ticket(Protocol[Answer]):
    """A place in the queue. Whoever holds it calls ``leave`` when nobody waits for the answer any more."""

    @property
    def fraction(self) -> float:
        """The share of the work done, 0 while waiting."""
        ...

    @property
    def ahead(self) -> int:
        """How many jobs come first, the running one included; 0 once it runs itself."""
        ...

    def wait(self, seconds: float) -> bool:
        """Wait up to ``seconds``; whether the answer is there."""
        ...

    def result(self) -> Answer:
        """The answer, once ``wait`` said it is there. Raises what went wrong."""
        ...

    def leave(self) -> None:
        """Nobody with this ticket waits any more; work that nobody waits for stops."""
        ...


class Engine(Protocol):
    """Runs models and answers requests; safe to call from any thread."""

    def models(self) -> tuple[str, ...]:
        """The ids of all models that can run here."""
        ...

    def card(self, model: str) -> ModelCard:
        """What is known of ``model`` without its weights. Raises ``NoSuchModel``, or what is wrong with its file."""
        ...

    def listing(self) -> tuple[Listed, ...]:
        """Every model with what its files say, bad ones with their reason. Opens those that it has not opened yet."""
        ...

    def known(self) -> Mapping[str, ModelConfig]:
        """The published sizes that everyone asks about, by id, whether or not their weights are here."""
        ...

    def state(self, name: str) -> LoadState:
        """Where a model or a vocabulary stands. Raises ``NoSuchModel``."""
        ...

    def prepare(self, name: str) -> None:
        """Begin to fetch and load a model or a vocabulary in the background, or again after it failed."""
        ...

    def vocabulary(self, name: str) -> TokenizerSource:
        """A vocabulary without a model, such as "llama3". Raises ``ModelNotReady`` or what kept it from coming."""
        ...

    def info(self, model: str) -> ModelInfo:
        """What is known of a ready model. Raises ``ModelNotReady`` or the error that kept it from loading."""
        ...

    def parameter(self, model: str, name: str, rows: tuple[int, ...] | None = None) -> Tensor:
        """Learned numbers by their address, such as ``layers.3.attention_norm.gain``; all of them or some rows.

        In float32, on the CPU. Raises ``ModelNotReady``, or ``NoSuchTap`` for an address without parameters.
        """
        ...

    def readout(
        self, model: str, vectors: Tensor, *, count: int, normalised: bool, watched: tuple[int, ...] = ()
    ) -> Readout:
        """Vectors (vector, d_model) read through the unembedding, after the final norm where ``normalised`` is set."""
        ...

    def nearest(self, model: str, vectors: Tensor, *, count: int) -> NearestRows:
        """The rows of the embedding that point most nearly where each of the vectors (vector, d_model) points."""
        ...

    def one_hot_product(self, model: str, token_id: int) -> Tensor:
        """One-hot vector times embedding matrix, multiplied out: (d_model,). Raises ``NoSuchToken``."""
        ...

    def submit(self, request: TraceRequest, session: str) -> Ticket[Trace]:
        """Ask for a trace. Raises at once what is wrong with the request: too long, unknown tap, too large, busy."""
        ...

    def submit_lens(self, request: LensRequest, session: str) -> Ticket[Lens]:
        """Ask for the readings of some tokens at every depth. Raises at once what is wrong with the request."""
        ...

    def submit_step(self, request: StepRequest, session: str) -> Ticket[Step]:
        """Ask for one step of a generation. Raises at once what is wrong with the request."""
        ...
