"""Which token a reader means."""

from dataclasses import dataclass

from explorer.errors import NoSuchToken
from explorer.tokenizer.tokenizer import Tokenizer

HOW_TO_NAME = (
    "A token as it stands in the vocabulary, or its id after #. A word is looked up with a space before it first."
)


@dataclass(frozen=True, kw_only=True)
class TokenChoice:
    """The id that is meant, or None and the ``problem``; ``others`` are ids that could have been meant as well."""

    id: int | None
    others: tuple[int, ...] = ()
    problem: str = ""


def chosen_token(tokenizer: Tokenizer, text: str) -> TokenChoice:
    """The token that ``text`` names; nothing is meant by an empty one.

    The form with a space before it comes first: it is how most words begin when they are predicted.
    """
    if not text:
        return TokenChoice(id=None)
    if text.startswith("#") and text[1:].isdecimal():
        token_id = int(text[1:12])
        if token_id < tokenizer.vocabulary.size:
            return TokenChoice(id=token_id)
        return TokenChoice(id=None, problem=f"The ids run from 0 to {tokenizer.vocabulary.size - 1:,}.")
    try:
        found = tokenizer.find(text)
    except NoSuchToken:
        cut = tokenizer.encode(text, bos=False)
        pieces = " | ".join(token.label for token in cut.tokens[:12])
        return TokenChoice(id=None, problem=f"“{text}” is no single token here; it is cut into {pieces}.")
    return TokenChoice(id=found[-1], others=found[:-1])
