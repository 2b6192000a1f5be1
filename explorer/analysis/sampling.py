"""One token's scores, what a sampler keeps of them, and what it draws."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.model.sampling import ORDER, NextToken, SamplerSettings, next_token, uniforms
from explorer.trace.trace import Trace

__all__ = ["NEXT_TOKEN", "ORDER", "STAGES", "candidates", "draw_counts", "drawn", "rows_of", "sampled", "stages"]

NEXT_TOKEN = frozenset({"tap.logits"})
STAGES = ("logits", "temperature", "softmax", "top-k", "top-p", "min-p", "renormalise")


def sampled(
    trace: Trace, *, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, min_p: float = 0.0, row: int = -1
) -> NextToken:
    """The distribution after one of the scored tokens. Needs ``tap.logits``; ``row`` counts the scored tokens."""
    settings = SamplerSettings(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    return next_token(trace["tap.logits"][row], settings)


def drawn(distribution: NextToken, seed: int, draw: int) -> tuple[float, int]:
    """The uniform number and the token id of draw number ``draw`` (from 1) in the sequence that ``seed`` starts."""
    u = uniforms(seed, draw)[-1]
    return u, distribution.draw(u)


def candidates(
    trace: Trace, distribution: NextToken, label: Callable[[int], str], drawn_id: int, count: int, row: int = -1
) -> pd.DataFrame:
    """The ``count`` likeliest tokens, and the drawn one if it is not among them; columns as ``rows_of``."""
    ids = distribution.ids[:count].tolist()
    return rows_of(trace["tap.logits"][row], distribution, label, drawn_id, list(dict.fromkeys([*ids, drawn_id])))


def rows_of(
    logits: Tensor, distribution: NextToken, label: Callable[[int], str], drawn_id: int, ids: Sequence[int]
) -> pd.DataFrame:
    """What the model and the sampler say of the tokens ``ids``, in that order.

    Columns: ``rank`` from 1, ``id``, ``token`` (as ``label`` shows it), ``logit``, ``p`` (after temperature, over the
    whole vocabulary), ``log_p`` (its natural logarithm), ``q`` (after the filters, 0 where they cut), ``cumulative`` of
    q up to and with this token, and ``drawn``.
    """
    place_of = torch.empty_like(distribution.ids)
    place_of[distribution.ids] = torch.arange(len(distribution.ids))
    places = place_of[list(ids)].tolist()
    cumulative = distribution.q.cumsum(0)
    rows = []
    for place in places:
        token = int(distribution.ids[place])
        kept = place < distribution.kept
        rows.append(
            {
                "rank": place + 1,
                "id": token,
                "token": label(token),
                "logit": float(logits[token]),
                "p": float(distribution.p[place]),
                "log_p": math.log(p) if (p := float(distribution.p[place])) > 0 else -math.inf,
                "q": float(distribution.q[place]) if kept else 0.0,
                "cumulative": float(cumulative[place]) if kept else 1.0,
                "drawn": token == drawn_id,
            }
        )
    return pd.DataFrame(rows)


def stages(
    logits: Tensor,
    label: Callable[[int], str],
    count: int,
    *,
    temperature: float,
    top_k: int,
    top_p: float,
    min_p: float,
) -> tuple[pd.DataFrame, dict[str, int]]:
    """What every stage of the pipeline makes of the ``count`` likeliest tokens, and how many tokens each one leaves.

    Columns ``id`` and ``token``, then one for each of ``STAGES``: scores before the softmax, shares after it, 0 where a
    filter has cut. Dividing by a temperature of 0 is left out: the column is NaN.
    """
    settings = SamplerSettings(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    through = {
        "softmax": replace(settings, top_k=0, top_p=1.0, min_p=0.0),
        "top-k": replace(settings, top_p=1.0, min_p=0.0),
        "top-p": replace(settings, min_p=0.0),
        "min-p": settings,
    }
    final = next_token(logits, settings)
    ids = final.ids[:count]
    left = {stage: next_token(logits, controls).kept for stage, controls in through.items()}
    scores = logits[ids].double().numpy()
    p = final.p[:count].numpy()
    q = np.zeros(len(ids))
    q[: final.kept] = final.q[:count].numpy()
    place = np.arange(len(ids))
    with np.errstate(divide="ignore", invalid="ignore"):
        divided = scores / settings.temperature if settings.temperature else np.full(len(ids), math.nan)
    table = pd.DataFrame(
        {"id": ids.numpy(), "token": [label(each) for each in ids.tolist()], "logits": scores, "temperature": divided}
        | {stage: np.where(place < kept, p, 0.0) for stage, kept in left.items()}
        | {"renormalise": q}
    )
    return table, left | {"renormalise": final.kept}


def draw_counts(
    distribution: NextToken, label: Callable[[int], str], seed: int, count: int, shown: int
) -> pd.DataFrame:
    """How often ``count`` draws of ``seed`` fall on the ``shown`` likeliest tokens, beside how often they should.

    ``rank``, ``id``, ``token``, ``q``, ``expected``, ``spread`` (one standard deviation of the count) and ``drawn``;
    the last row holds all other tokens together, with id -1, where the filters left more than ``shown``.
    """
    ends = distribution.q.cumsum(0)
    u = torch.tensor(uniforms(seed, count), dtype=torch.float64)
    places = torch.searchsorted(ends, u, right=True).clamp_max(distribution.kept - 1)
    shown = min(shown, distribution.kept)
    drawn = torch.bincount(places, minlength=distribution.kept).numpy()
    q: NDArray[np.float64] = distribution.q[:shown].numpy()
    ids, names = distribution.ids[:shown].tolist(), [label(each) for each in distribution.ids[:shown].tolist()]
    counts = drawn[:shown].tolist()
    if shown < distribution.kept:
        q, ids, names = np.append(q, distribution.q[shown:].sum().item()), [*ids, -1], [*names, "all others"]
        counts.append(int(drawn[shown:].sum()))
    return pd.DataFrame(
        {
            "rank": range(1, len(ids) + 1),
            "id": ids,
            "token": names,
            "q": q,
            "expected": count * q,
            "spread": np.sqrt(count * q * (1 - q).clip(0)),
            "drawn": counts,
        }
    )
