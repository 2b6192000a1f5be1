"""``generate``: one token after the other, with the cache."""

import argparse
from collections.abc import Mapping

from explorer.analysis.generation import generation_request
from explorer.cli.arguments import finite, text_argument
from explorer.cli.output import Json
from explorer.cli.session import Session, session_from
from explorer.engine.generation import generate as run
from explorer.errors import BadValue
from explorer.tokenizer.chat import Message, render_chat
from explorer.trace.generation import Generation, StopReason

MOST_TOKENS = 100_000


def generate(given: argparse.Namespace) -> Json:
    """The new tokens, each with its probability and time, and why it ended."""
    session = session_from(given)
    if not 0 <= given.seed < 2**63:
        raise BadValue(f"--seed is {given.seed}.", "Give a whole number from 0 on.")
    if not 1 <= given.max_tokens <= MOST_TOKENS:
        raise BadValue(f"--max-tokens is {given.max_tokens}.", f"Give a number from 1 to {MOST_TOKENS:,}.")
    if given.system is not None and not given.chat:
        raise BadValue("--system needs --chat.", "Add --chat, or leave the system message out.")
    made = generated(
        session,
        text_argument(given.text),
        limit=given.max_tokens,
        seed=given.seed,
        chat=given.chat,
        system=given.system or "",
        temperature=finite("--temperature", given.temperature),
        top_k=given.top_k,
        top_p=finite("--top-p", given.top_p),
        min_p=finite("--min-p", given.min_p),
    )
    ended = made.choices[-1].token_id
    return {
        "model": session.model,
        "prompt_ids": list(made.request.token_ids),
        "token_ids": list(made.token_ids),
        "text": session.tokenizer.decode(made.token_ids),
        "steps": [
            {
                "id": choice.token_id,
                "probability": choice.q,
                "p": choice.p,
                "rank": choice.rank,
                "u": choice.u,
                "milliseconds": choice.step.milliseconds,
            }
            for choice in made.choices
        ],
        "stop_reason": str(made.reason),
        "stop_token": session.tokenizer.label(ended) if made.reason is StopReason.END_TOKEN else None,
        "prefill_milliseconds": made.choices[0].step.milliseconds,
        "cache_bytes": made.choices[-1].step.cache_bytes,
    }


def generated(
    session: Session,
    text: str,
    *,
    limit: int = 24,
    seed: int = 0,
    chat: bool = False,
    system: str = "",
    bos: bool | None = None,
    special: bool = False,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    forced: Mapping[int, int] | None = None,
) -> Generation:
    """A generation from ``text``, or with ``chat`` from the model's template around it.

    ``forced`` names steps and the token ids that are taken there instead of drawn. Raises ``BadValue`` for controls
    that the sampler refuses.
    """
    tokenizer = session.tokenizer
    if chat:
        turns = [Message(role="system", content=system)] if system else []
        rendered = render_chat(tokenizer.vocabulary, [*turns, Message(role="user", content=text)])
        token_ids = tokenizer.encode(rendered, special=True, bos=False).ids
    else:
        token_ids = tokenizer.encode(text, special=special, bos=bos).ids
    try:
        request = generation_request(
            session.model, token_ids, limit=limit, seed=seed, context=session.card.max_tokens,
            stop_ids=tokenizer.vocabulary.eos_ids, forced=forced, temperature=temperature, top_k=top_k, top_p=top_p,
            min_p=min_p,
        )  # fmt: skip
    except ValueError as error:
        raise BadValue(str(error), "See: python -m explorer generate --help.") from None
    return run(session.ready_engine, request, "session")
