"""What there is to know about one token."""

import unicodedata
from collections.abc import Sequence

from explorer.tokenizer.encoding import Token
from explorer.ui.components import Fact, fact_list

WHY = {
    "word": "Begins a piece of the text.",
    "subword": "Continues the piece before it: the whole word has no token of its own.",
    "number": "Digits.",
    "contraction": "The end of a contraction, cut off before merging.",
    "punctuation": "Signs without letters or digits.",
    "whitespace": "Only spaces, line breaks or tabs.",
    "byte fragment": "Part of a character: only together with its neighbours it can be read.",
    "special": "Never comes from ordinary text; it tells the model where things begin and end.",
}


def token_facts(tokens: Sequence[Token], place: int) -> None:
    """The chosen token: id, kind, bytes, and the characters that it holds or is a part of."""
    token = tokens[place]
    group = [other for other in tokens if token.group is not None and other.group == token.group]
    fact_list(
        [
            Fact(name="Token", value=token.label, literal=True, note=f"number {place} of {len(tokens)}, from 0"),
            Fact(name="Id", value=f"{token.id:,}", note="its row in the embedding table"),
            Fact(name="Kind", value=str(token.kind), note=WHY[str(token.kind)]),
            Fact(name="Bytes", value=token.bytes.hex(" ").upper(), literal=True, note=f"{len(token.bytes)} in UTF-8"),
            Fact(name="Characters", value=_characters(token, group), note=_together(group)),
        ],
        key="token-facts",
        tile=170,
    )


def _characters(token: Token, group: Sequence[Token]) -> str:
    text = token.text if not group else b"".join(each.bytes for each in group).decode("utf-8", "replace")
    if text is None:
        return "no whole character"
    shown = [f"U+{ord(character):04X} {unicodedata.name(character, 'unnamed').lower()}" for character in text[:6]]
    return ", ".join(shown) + (", …" if len(text) > len(shown) else "")


def _together(group: Sequence[Token]) -> str:
    return f"completed by {len(group)} tokens together" if group else ""
