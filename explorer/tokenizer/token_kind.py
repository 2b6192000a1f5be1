"""What sort of thing each token of a text is, and which tokens are one character only together."""

from collections.abc import Sequence
from enum import StrEnum

import regex


class TokenKind(StrEnum):
    """The sort of a token, as the token strip colours it."""

    SPECIAL = "special"  # stands for a role, not for text
    BYTE_FRAGMENT = "byte fragment"  # its bytes are no whole characters
    WHITESPACE = "whitespace"
    NUMBER = "number"
    CONTRACTION = "contraction"  # 's 't 're 've 'm 'll 'd
    PUNCTUATION = "punctuation"  # anything else without a letter: signs, emoji, combining marks
    WORD = "word"  # letters that begin a piece, with or without what stands before them
    SUBWORD = "subword"  # letters that continue a piece


_WHITESPACE = regex.compile(r"\s+")
_NUMBER = regex.compile(r"\s?\p{N}+")
_CONTRACTION = regex.compile(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)")
_LETTER = regex.compile(r"\p{L}")


def token_kind(token: bytes, *, begins_piece: bool) -> TokenKind:
    """The kind of a token made of text; ``begins_piece`` says whether the pre-tokenizer cut before it."""
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return TokenKind.BYTE_FRAGMENT
    if _WHITESPACE.fullmatch(text):
        return TokenKind.WHITESPACE
    if _NUMBER.fullmatch(text):
        return TokenKind.NUMBER
    if not _LETTER.search(text):
        return TokenKind.PUNCTUATION
    if not begins_piece:
        return TokenKind.SUBWORD
    return TokenKind.CONTRACTION if _CONTRACTION.fullmatch(text) else TokenKind.WORD


def character_groups(tokens: Sequence[bytes], kinds: Sequence[TokenKind]) -> list[int | None]:
    """For every token the number of its group, counted from 0; None for a token that shares no character.

    Tokens are in one group when a character begins in one and ends in another: the four bytes of an emoji, or a chain
    of tokens that each end in the middle of a character.
    """
    groups: list[int | None] = [None] * len(tokens)
    count = 0
    at = 0
    while at < len(tokens):
        end = at
        while end < len(tokens) and kinds[end] is TokenKind.BYTE_FRAGMENT:
            end += 1
        for first, last in _shared_spans(tokens[at:end]):
            groups[at + first : at + last + 1] = [count] * (last + 1 - first)
            count += 1
        at = max(end, at + 1)
    return groups


def _shared_spans(fragments: Sequence[bytes]) -> list[tuple[int, int]]:
    """First and last index of every chain of neighbours whose borders all lie inside a character."""
    # surrogateescape turns a byte that belongs to no character into one of its own, so every border can be judged.
    characters = b"".join(fragments).decode("utf-8", "surrogateescape")
    edges = {0}
    offset = 0
    for character in characters:
        offset += len(character.encode("utf-8", "surrogateescape"))
        edges.add(offset)
    spans: list[tuple[int, int]] = []
    first = offset = 0
    for at, fragment in enumerate(fragments):
        offset += len(fragment)
        if offset in edges:
            if at > first:
                spans.append((first, at))
            first = at + 1
    return spans
