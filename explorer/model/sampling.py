"""From logits to one drawn token.

Order of the filters: temperature, softmax, top-k, top-p, min-p, renormalise, draw. Temperature before top-p is Meta's
order (llama-models ``sample_top_p``) and Hugging Face's; llama.cpp divides by the temperature last.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

TIE = 1e-12  # two sums of probabilities closer than this are equal: what an exact tie looks like after rounding

ORDER = ("temperature", "softmax", "top-k", "top-p", "min-p", "renormalise", "draw")


@dataclass(frozen=True, kw_only=True)
class SamplerSettings:
    """The controls. ``top_k=0``, ``top_p=1`` and ``min_p=0`` switch their filter off; ``temperature=0`` is greedy."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature is {self.temperature}; it must be 0 (greedy) or above")
        if self.top_k < 0:
            raise ValueError(f"top-k is {self.top_k}; it must be 0 (off) or above")
        if not 0 <= self.top_p <= 1:
            raise ValueError(f"top-p is {self.top_p}; it must be between 0 and 1")
        if not 0 <= self.min_p <= 1:
            raise ValueError(f"min-p is {self.min_p}; it must be between 0 and 1")


@dataclass(frozen=True, kw_only=True)
class NextToken:
    """The two distributions of one position, in float64 and ordered from most to least likely.

    ``ids`` (vocab,) orders the vocabulary, ties by lower id; ``p`` (vocab,) is the softmax after temperature over the
    whole vocabulary; ``q`` (kept,) is what remains of its first ``kept`` entries after the filters, renormalised.
    """

    ids: Tensor
    p: Tensor
    q: Tensor

    @property
    def kept(self) -> int:
        """How many tokens the filters left."""
        return len(self.q)

    @property
    def tail_mass(self) -> float:
        """The share of ``p`` that the filters cut."""
        return float(self.p[self.kept :].sum())

    @property
    def entropy(self) -> float:
        """Entropy of ``p`` in nats."""
        return float(-torch.special.xlogy(self.p, self.p).sum())

    def draw(self, u: float) -> int:
        """The id whose slice of the cumulative ``q`` contains ``u`` in [0, 1)."""
        place = int(torch.searchsorted(self.q.cumsum(0), u, right=True))
        return int(self.ids[min(place, self.kept - 1)])


def next_token(logits: Tensor, settings: SamplerSettings) -> NextToken:
    """The distribution over the whole vocabulary and what the filters keep of it: (vocab,) -> NextToken.

    Top-p keeps a token while the sum of those before it does not exceed p (Meta's ``sample_top_p``: at an exact tie it
    keeps one token more than "the smallest set that reaches p"). Sums run in float64: in float32 the cumulative sum of
    a large vocabulary passes 1 and a plain rule cuts the tail even at p = 1.

    Raises ``ValueError`` when a logit is not finite.
    """
    logits = logits.double()
    if not bool(torch.isfinite(logits).all()):
        raise ValueError("the logits hold NaN or infinity")
    ordered, ids = torch.sort(logits, descending=True, stable=True)
    if settings.temperature == 0:
        p = torch.zeros_like(ordered)
        p[0] = 1.0
        return NextToken(ids=ids, p=p, q=p[:1].clone())
    p = ((ordered - ordered[0]) / settings.temperature).softmax(0)
    kept = len(p) if settings.top_k == 0 else min(settings.top_k, len(p))
    if settings.top_p < 1:
        total = p[:kept].cumsum(0)
        before = torch.cat((total.new_zeros(1), total[:-1]))
        kept = max(1, int((before <= settings.top_p * float(total[-1]) + TIE).sum()))
    if settings.min_p > 0:
        kept = max(1, int((p[:kept] >= settings.min_p * p[0]).sum()))
    return NextToken(ids=ids, p=p, q=p[:kept] / p[:kept].sum())


def uniforms(seed: int, count: int) -> list[float]:
    """The first ``count`` draws u in [0, 1) that belong to ``seed``; the same on every machine."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, generator=generator, dtype=torch.float64).tolist()
