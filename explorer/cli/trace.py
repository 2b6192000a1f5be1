"""``trace``: one run of the model."""

import argparse
from pathlib import Path

import torch

from explorer.analysis.residual_stream import STREAM_NORMS, stream_norms
from explorer.analysis.sampling import sampled
from explorer.cli.arguments import ids_argument, text_argument
from explorer.cli.output import Json
from explorer.cli.session import Session, session_from
from explorer.errors import BadValue, NoSuchToken
from explorer.trace.codec import encode
from explorer.trace.trace import Trace

FIRST_LOGITS = 8
TOP = 10


def trace(given: argparse.Namespace) -> Json:
    """What the run left behind: lengths, the last token's scores, and the tensors that were asked for.

    ``stream_norms`` has one row for the embedding and one after each layer, ``stream_norms_after_attention`` one per
    layer.
    """
    session = session_from(given)
    tokens = _tokens(given)
    run = session.trace(tokens, taps={"tap.logits", *given.tap}, norms=STREAM_NORMS)
    distribution = sampled(run)
    logits = run["tap.logits"][-1].float()
    norms = stream_norms(run).pivot(index="depth", columns="token", values="norm").to_numpy()
    if given.out:
        _write(run, Path(given.out))
    return {
        "model": session.model,
        "token_ids": list(run.token_ids),
        "stream_norms": norms[0::2].tolist(),
        "stream_norms_after_attention": norms[1::2].tolist(),
        "logits_last": (logits if given.logits else logits[:FIRST_LOGITS]).tolist(),
        "top": [
            {
                "id": token,
                "text": _text(session, token),
                "logit": float(logits[token]),
                "probability": float(distribution.p[place]),
            }
            for place, token in enumerate(distribution.ids[:TOP].tolist())
        ],
        "entropy_nats": distribution.entropy,
        "taps": {
            address: {"shape": list(tensor.shape), "norm": float(torch.linalg.vector_norm(tensor.double()))}
            for address, tensor in run.tensors.items()
            if address != "tap.logits" or "tap.logits" in given.tap
        },
    }


def _tokens(given: argparse.Namespace) -> str | tuple[int, ...]:
    if (given.text is None) == (given.ids is None):
        raise BadValue("A run needs a text or --ids, not both.", 'Such as: trace "The capital of France is".')
    return ids_argument(given.ids) if given.text is None else text_argument(given.text)


def _text(session: Session, token_id: int) -> str | None:
    tokenizer = session.tokenizer_or_none
    try:
        return None if tokenizer is None else tokenizer.token(token_id).text
    except NoSuchToken:  # a row of the embedding that no text leads to
        return None


def _write(run: Trace, path: Path) -> None:
    try:
        path.write_bytes(encode(run))
    except OSError as error:
        raise BadValue(
            f"{path} cannot be written: {error.strerror}.", "Give a path in a folder that exists."
        ) from error
