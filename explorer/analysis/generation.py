"""A generation as tables: its steps, and what its cache holds."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import pandas as pd
import torch

from explorer.analysis.sampling import rows_of
from explorer.model.sampling import NextToken, SamplerSettings, next_token, uniforms
from explorer.trace.generation import Choice, Generation, GenerationRequest
from explorer.trace.trace import Trace

Steps: TypeAlias = pd.DataFrame  # as from ``step_rows``


def generation_request(
    model: str,
    token_ids: tuple[int, ...],
    *,
    limit: int,
    seed: int,
    context: int,
    stop_ids: tuple[int, ...] = (),
    forced: Mapping[int, int] | None = None,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
) -> GenerationRequest:
    """A generation of at most ``limit`` tokens whose draws are the first of the sequence that ``seed`` starts.

    Raises ``ValueError`` for controls that the sampler refuses.
    """
    return GenerationRequest(
        model=model,
        token_ids=token_ids,
        settings=SamplerSettings(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p),
        uniforms=tuple(uniforms(seed, limit)),
        limit=limit,
        context=context,
        stop_ids=stop_ids,
        forced=tuple(sorted((forced or {}).items())),
    )


def step_rows(choices: Sequence[Choice], label: Callable[[int], str]) -> pd.DataFrame:
    """One row per step: the token, how likely it was, and what the step cost.

    ``step`` from 0, ``id``, ``token``, ``model_p`` (the model's own share, at temperature 1), ``p`` (after
    temperature, over the whole vocabulary), ``q`` (after the filters), ``rank``, ``entropy_nats`` of p,
    ``u`` (NaN where the token was taken by hand), ``read`` (how many tokens the model read in this step),
    ``milliseconds``, ``cache_bytes`` afterwards.
    """
    return pd.DataFrame(
        [
            {
                "step": place,
                "id": choice.token_id,
                "token": label(choice.token_id),
                "model_p": choice.model_p,
                "p": choice.p,
                "q": choice.q,
                "rank": choice.rank,
                "entropy_nats": choice.entropy,
                "u": float("nan") if choice.u is None else choice.u,
                "read": choice.step.n_read,
                "milliseconds": choice.step.milliseconds,
                "cache_bytes": choice.step.cache_bytes,
            }
            for place, choice in enumerate(choices)
        ]
    )


def distribution_at(generation: Generation, at: int) -> NextToken:
    """The whole distribution from which the token of step ``at`` came."""
    return next_token(generation.choices[at].step.logits, generation.request.settings)


def turns(
    generation: Generation, at: int, distribution: NextToken, label: Callable[[int], str], count: int
) -> pd.DataFrame:
    """The ``count`` likeliest tokens of step ``at``, and the one that was taken; the columns of ``rows_of``.

    ``model_p`` comes before them: the model's own share at temperature 1, whatever the sampler makes of it.
    """
    choice = generation.choices[at]
    ids = list(dict.fromkeys([*distribution.ids[:count].tolist(), choice.token_id]))
    table = rows_of(choice.step.logits, distribution, label, choice.token_id, ids)
    table.insert(0, "model_p", choice.step.logits.double().softmax(0)[ids].numpy())
    return table


def cached_difference(generation: Generation, at: int, trace: Trace) -> float:
    """The largest difference of any logit of step ``at`` between the cached pass and ``trace``, a whole pass.

    Needs ``tap.logits`` of the last token of ``generation.before(at)``.
    """
    return float((generation.choices[at].step.logits - trace["tap.logits"][-1].float()).abs().max())


def median_milliseconds(choices: Sequence[Choice]) -> float | None:
    """The middle of the times of the steps that read one token; None without such a step."""
    times = [choice.step.milliseconds for choice in choices[1:] if choice.step.n_read == 1]
    return float(torch.tensor(times).median()) if times else None
