"""``lens``: what the model would answer after each layer."""

import argparse
from collections.abc import Sequence

from explorer.cli.arguments import in_range, text_argument
from explorer.cli.output import Json
from explorer.cli.session import Session, session_from
from explorer.trace.lens import Lens, LensRequest


def lens(given: argparse.Namespace) -> Json:
    """The ``--count`` likeliest tokens of every depth and token; depth 0 is the embedding."""
    session = session_from(given)
    count = in_range("--count", given.count, session.card.config.vocab_size + 1)
    found = readings(session, text_argument(given.text), count=count, normalised=not given.without_norm)
    label = session.tokenizer.label
    return {
        "model": session.model,
        "tokens": [label(each) for each in session.tokenizer.encode(text_argument(given.text)).ids],
        "normalised": not given.without_norm,
        "lens": [
            [
                {
                    "top": [
                        {"id": token_id, "text": label(token_id), "probability": p}
                        for token_id, p in zip(ids, shares, strict=True)
                    ],
                    "entropy_nats": entropy,
                    "kl_nats": divergence,
                    "rank_of_answer": rank,
                }
                for ids, shares, entropy, divergence, rank in zip(*row, strict=True)
            ]
            for row in zip(
                found.top_ids.tolist(),
                found.top_p.tolist(),
                found.entropy.tolist(),
                found.divergence.tolist(),
                found.answer_ranks.tolist(),
                strict=True,
            )
        ],
    }


def readings(
    session: Session,
    text: str | Sequence[int],
    *,
    tokens: Sequence[int] | None = None,
    count: int = 1,
    normalised: bool = True,
    watched: Sequence[int] = (),
) -> Lens:
    """The readings of some ``tokens`` of a text, all of them by default, at every depth."""
    token_ids = session.tokenizer.encode(text).ids if isinstance(text, str) else tuple(text)
    request = LensRequest(
        model=session.model,
        token_ids=token_ids,
        tokens=tuple(range(len(token_ids)) if tokens is None else tokens),
        count=count,
        normalised=normalised,
        watched=tuple(watched),
    )
    return session.ready_engine.submit_lens(request, session="session").result()
