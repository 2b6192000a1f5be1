"""``attribution``: which writes raised a token's score."""

import argparse
from functools import partial

from explorer.analysis.attribution import Attribution, Heads, attribution_rows, head_parts
from explorer.analysis.attribution import attribution as parts_of
from explorer.analysis.residual_stream import account
from explorer.analysis.sampling import NEXT_TOKEN
from explorer.cli.arguments import in_range, text_argument
from explorer.cli.output import Json
from explorer.cli.session import Session, session_from


def attribution(given: argparse.Namespace) -> Json:
    """What embedding, attentions and feed-forwards contribute to the score of what follows the text."""
    session = session_from(given)
    config = session.card.config
    for name, token in (("--token", given.token), ("--against", given.against)):
        if token is not None:
            in_range(name, token, config.vocab_size)
    layer = 0 if given.layer is None else in_range("--layer", given.layer, config.n_layers)
    found, heads = attributed(session, text_argument(given.text), token=given.token, against=given.against, layer=layer)
    parts = [
        {"part": row["part"] if row["layer"] < 0 else f"layers.{row['layer']}.{row['part']}".replace("-", "_"),
         "contribution": row["contribution"]}
        for row in found.parts.to_dict("records")
    ]  # fmt: skip
    answer: dict[str, object] = {
        "parts": parts, "sum": found.total, "logit": found.logit, "residual": found.residual,
    }  # fmt: skip
    return answer if given.layer is None else answer | {"heads": heads.to_dict("records")}


def attributed(
    session: Session,
    text: str | tuple[int, ...],
    *,
    place: int | None = None,
    token: int | None = None,
    against: int | None = None,
    layer: int = 0,
) -> tuple[Attribution, Heads]:
    """The parts of a token's score, less that of ``against``, and those of the heads of ``layer``.

    Scored is what follows the token at ``place``, the last one by default; ``token`` is by default the likeliest.
    """
    scored = None if place is None else [place]
    trace = session.trace(text, rows=attribution_rows(layer), taps=NEXT_TOKEN, scored=scored)
    logits = trace["tap.logits"][-1].float()
    token = int(logits.argmax()) if token is None else token
    ids = (token,) if against is None else (token, against)
    logit = float(logits[token]) - (0.0 if against is None else float(logits[against]))

    parameter = partial(session.engine.parameter, session.model)
    gain, rows = parameter("norm.gain"), parameter("unembedding.weight", ids)
    found = parts_of(account(trace), gain, session.card.config.norm_eps, rows, logit)
    return found, head_parts(trace, layer, parameter(f"layers.{layer}.attention.output.weight"), found.direction)
