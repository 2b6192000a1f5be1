"""One token's scores, what a sampler keeps of them, and what it draws."""

from collections.abc import Callable

import pandas as pd

from explorer.model.sampling import NextToken, SamplerSettings, next_token, uniforms
from explorer.trace.trace import Trace

NEXT_TOKEN = frozenset({"tap.logits"})


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
    """The ``count`` likeliest tokens, and the drawn one if it is not among them.

    Columns: ``rank`` from 1, ``id``, ``token`` (as ``label`` shows it), ``logit``, ``p`` (after temperature, over the
    whole vocabulary), ``q`` (after the filters, 0 where they cut), ``cumulative`` of q up to and with this token, and
    ``drawn``.
    """
    logits = trace["tap.logits"][row]
    count = min(count, len(distribution.ids))
    places = list(range(count))
    drawn_place = int((distribution.ids == drawn_id).nonzero()[0, 0])
    if drawn_place >= count:
        places.append(drawn_place)
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
                "q": float(distribution.q[place]) if kept else 0.0,
                "cumulative": float(cumulative[place]) if kept else 1.0,
                "drawn": token == drawn_id,
            }
        )
    return pd.DataFrame(rows)
