"""What is asked of a generation, and what each of its steps leaves behind."""

from dataclasses import dataclass, field
from enum import StrEnum

from torch import Tensor

from explorer.model.sampling import SamplerSettings, next_token


@dataclass(frozen=True, kw_only=True)
class StepRequest:
    """The scores of what follows ``token_ids``, of which the first ``prompt_length`` were there before the first step.

    ``capacity`` is how many tokens the cache must have room for in the end. Two requests for the same tokens are equal.
    """

    model: str
    token_ids: tuple[int, ...]
    prompt_length: int = field(compare=False)
    capacity: int = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One pass through the model: ``logits`` (vocab,) in float32, after reading ``n_read`` new tokens.

    ``n_read`` is 1 where the cache held all tokens but the last (decoding), all of them where it held none (prefill).
    ``cache_bytes`` is what keys and values of all layers take afterwards.
    """

    logits: Tensor
    n_read: int
    milliseconds: float
    cache_bytes: int

    @property
    def n_bytes(self) -> int:
        """Bytes of the scores."""
        return self.logits.nbytes


@dataclass(frozen=True, kw_only=True)
class GenerationRequest:
    """A whole generation, a pure function of its fields.

    At most ``limit`` tokens follow ``token_ids``; one of ``stop_ids`` ends it. ``uniforms`` are the draws, one for each
    token. ``forced`` holds pairs of a step and the token that is taken there instead of drawn.
    """

    model: str
    token_ids: tuple[int, ...]
    settings: SamplerSettings
    uniforms: tuple[float, ...]
    limit: int
    context: int
    stop_ids: tuple[int, ...] = ()
    forced: tuple[tuple[int, int], ...] = ()


class StopReason(StrEnum):
    """Why a generation ended."""

    END_TOKEN = "end token"
    LIMIT = "limit"
    CONTEXT = "context full"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The token that a step ended with.

    ``model_p`` is the model's own share of it, at temperature 1. ``p`` and ``rank`` (from 1) are those after
    temperature over the whole vocabulary, ``q`` is that after the filters (0 where a forced token was cut); ``u`` is
    the draw, None where the token was forced.
    """

    token_id: int
    model_p: float
    p: float
    q: float
    rank: int
    entropy: float
    u: float | None
    step: Step


@dataclass(frozen=True, kw_only=True)
class Generation:
    """All choices of a generation in order, and why it ended."""

    request: GenerationRequest
    choices: tuple[Choice, ...]
    reason: StopReason

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The new tokens."""
        return tuple(choice.token_id for choice in self.choices)

    @property
    def n_bytes(self) -> int:
        """Bytes of the scores of all steps."""
        return sum(choice.step.n_bytes for choice in self.choices)

    def before(self, at: int) -> tuple[int, ...]:
        """All tokens that stood there when step ``at`` was made."""
        return self.request.token_ids + self.token_ids[:at]


def choose(step: Step, request: GenerationRequest, at: int) -> Choice:
    """The token that step number ``at`` ends with: the forced one, or the one that its draw falls on."""
    distribution = next_token(step.logits, request.settings)
    forced = dict(request.forced).get(at)
    u = request.uniforms[at] if forced is None else None
    token_id = distribution.draw(request.uniforms[at]) if forced is None else forced
    place = int((distribution.ids == token_id).nonzero()[0, 0])
    return Choice(
        token_id=token_id,
        model_p=float(step.logits.double().log_softmax(0)[token_id].exp()),
        p=float(distribution.p[place]),
        q=float(distribution.q[place]) if place < distribution.kept else 0.0,
        rank=place + 1,
        entropy=distribution.entropy,
        u=u,
        step=step,
    )
