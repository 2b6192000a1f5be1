"""What there is to know about one token."""

import unicodedata
from collections.abc import Mapping, Sequence

from explorer.errors import NoSuchToken
from explorer.tokenizer.encoding import Token
from explorer.tokenizer.tokenizer import Tokenizer
from explorer.tokenizer.visible import visible
from explorer.ui.components import Fact, fact_list

LONGEST_ID = 12
MOST_SHOWN = 40
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
    group = {} if token.group is None else {at: other for at, other in enumerate(tokens) if other.group == token.group}
    fact_list(
        [
            Fact(name="Token", value=token.label, literal=True, note=f"number {place} of {len(tokens)}, from 0"),
            Fact(name="Id", value=f"{token.id:,}", note="its row in the embedding table"),
            Fact(name="Kind", value=str(token.kind), note=WHY[str(token.kind)]),
            Fact(name="Bytes", value=token.bytes.hex(" ").upper(), literal=True, note=f"{len(token.bytes)} in UTF-8"),
            Fact(name="Characters", value=_characters(token, group), note=_together(place, group)),
        ],
        key="token-facts",
        tile=170,
    )


def looked_up(tokenizer: Tokenizer, text: str) -> None:
    """What the vocabulary knows of ``text``: as an id, as a token, as a token with a space before it, and cut."""
    vocabulary = tokenizer.vocabulary
    facts = []
    if text.strip().isdecimal() and len(text) <= LONGEST_ID:
        facts.append(_by_id(tokenizer, int(text)))
    if text in vocabulary.special:
        facts.append(Fact(name="Special token", value=f"{vocabulary.special[text]:,}", note="its id"))
    for name, form in (("The token", text), ("With a space before it", f" {text}")):
        found = vocabulary.ids.get(form.encode("utf-8", "replace"))
        value = "no such token" if found is None else f"id {found:,}"
        facts.append(Fact(name=name, value=value, note=visible(form)))
    cut = tokenizer.encode(text, bos=False)
    count = f"{len(cut)} token{'' if len(cut) == 1 else 's'}"
    shown = " | ".join(token.label for token in cut.tokens[:MOST_SHOWN]) + (" | …" if len(cut) > MOST_SHOWN else "")
    facts.append(Fact(name="As text it is cut into", value=count, note=shown))
    fact_list(facts, key="lookup", tile=190)


def _by_id(tokenizer: Tokenizer, token_id: int) -> Fact:
    try:
        token = tokenizer.token(token_id)
    except NoSuchToken as error:
        return Fact(name=f"Id {token_id}", value="no such token", note=error.found)
    note = f"{token.kind}, bytes {token.bytes.hex(' ').upper()}"
    return Fact(name=f"Id {token_id}", value=token.label, literal=True, note=note)


def _characters(token: Token, group: Mapping[int, Token]) -> str:
    text = token.text if not group else b"".join(each.bytes for each in group.values()).decode("utf-8", "replace")
    if text is None:
        return "no whole character"
    shown = [f"U+{ord(character):04X} {unicodedata.name(character, 'unnamed').lower()}" for character in text[:6]]
    return ", ".join(shown) + (", …" if len(text) > len(shown) else "")


def _together(place: int, group: Mapping[int, Token]) -> str:
    others = [f"{at} ({token.label})" for at, token in group.items() if at != place]
    if not others:
        return ""
    listed = others[0] if len(others) == 1 else f"{', '.join(others[:-1])} and {others[-1]}"
    return f"complete only together with token{'' if len(others) == 1 else 's'} {listed}"
