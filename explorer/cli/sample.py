"""``sample``: what a sampler makes of one row of scores."""

import argparse

import torch
from torch import Tensor

from explorer.analysis.sampling import NEXT_TOKEN
from explorer.cli.arguments import finite, floats_argument, text_argument
from explorer.cli.output import Json
from explorer.cli.session import session_from
from explorer.errors import BadValue
from explorer.model.sampling import ORDER, SamplerSettings, next_token, uniforms

MOST_DRAWS = 1_000_000


def sample(given: argparse.Namespace) -> Json:
    """The kept ids, likeliest first, their probabilities, and seeded draws from them."""
    settings = _settings(given)
    logits = _logits(given)
    if not 0 <= given.draws <= MOST_DRAWS:
        raise BadValue(f"--draws is {given.draws}.", f"Give a number from 0 to {MOST_DRAWS:,}.")
    if not 0 <= given.seed < 2**63:
        raise BadValue(f"--seed is {given.seed}.", "Give a whole number from 0 on.")
    distribution = next_token(logits, settings)
    return {
        "kept": distribution.ids[: distribution.kept].tolist(),
        "probabilities": distribution.q.tolist(),
        "tail_mass": distribution.tail_mass,
        "entropy_nats": distribution.entropy,
        "draws": [{"u": u, "id": distribution.draw(u)} for u in uniforms(given.seed, given.draws)],
        "order": list(ORDER),
    }


def _settings(given: argparse.Namespace) -> SamplerSettings:
    try:
        return SamplerSettings(
            temperature=finite("--temperature", given.temperature),
            top_k=given.top_k,
            top_p=finite("--top-p", given.top_p),
            min_p=finite("--min-p", given.min_p),
        )
    except ValueError as error:
        raise BadValue(str(error), "See: python -m explorer sample --help.") from None


def _logits(given: argparse.Namespace) -> Tensor:
    if (given.text is None) == (given.logits is None):
        raise BadValue("A sample needs a text or --logits, not both.", 'Such as: sample "Once upon a time".')
    if given.logits is not None:
        scores = [finite("a score of --logits", score) for score in floats_argument("--logits", given.logits)]
        return torch.tensor(scores, dtype=torch.float64)
    return session_from(given).trace(text_argument(given.text), taps=NEXT_TOKEN)["tap.logits"][-1]
