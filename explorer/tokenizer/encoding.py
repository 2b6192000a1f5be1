"""A text as the model sees it: its ids, and what a reader needs to understand each of them."""

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from functools import cached_property

from explorer.errors import NoSuchToken
from explorer.tokenizer.token_kind import TokenKind, character_groups, token_kind
from explorer.tokenizer.visible import visible_bytes
from explorer.tokenizer.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """One token: ``text`` is None when its bytes are no whole characters.

    ``group`` is a number that neighbouring tokens share when only together they complete their characters.
    """

    id: int
    bytes: bytes
    text: str | None
    kind: TokenKind
    group: int | None = None

    @property
    def label(self) -> str:
        """The token for display: every character visible, or its bytes."""
        return visible_bytes(self.bytes)


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingByte:
    """A byte of the text that the vocabulary has no token for; ``position`` counts the bytes of the text's UTF-8."""

    value: int
    position: int


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """The ids of a text. ``pieces`` are what the pre-tokenizer cut, and ``starts`` the index of each one's first token.

    A piece of which no byte has a token starts where the next one does. A special token is a piece of its own.
    ``missing`` lists the bytes that were left out; ``notes`` says in plain sentences what a reader might not expect.
    """

    ids: tuple[int, ...]
    starts: tuple[int, ...]
    pieces: tuple[str, ...]
    missing: tuple[MissingByte, ...]
    notes: tuple[str, ...]
    vocabulary: Vocabulary = field(repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.ids)

    def piece_of(self, place: int) -> int:
        """The number of the piece that the token at ``place`` belongs to."""
        return bisect_right(self.starts, place) - 1

    def span(self, piece: int) -> range:
        """The places of the tokens of a piece; none where all its bytes were left out."""
        end = self.starts[piece + 1] if piece + 1 < len(self.starts) else len(self.ids)
        return range(self.starts[piece], end)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """One ``Token`` per id, made when first asked for: a long text has hundreds of thousands."""
        starts = frozenset(self.starts)
        seen: dict[tuple[int, bool], Token] = {}
        tokens: list[Token] = []
        for at, token_id in enumerate(self.ids):
            key = (token_id, at in starts)
            if key not in seen:
                seen[key] = described_token(self.vocabulary, token_id, begins_piece=at in starts)
            tokens.append(seen[key])
        groups = character_groups([token.bytes for token in tokens], [token.kind for token in tokens])
        return tuple(
            token if group is None else replace(token, group=group) for token, group in zip(tokens, groups, strict=True)
        )


def described_token(vocabulary: Vocabulary, token_id: int, *, begins_piece: bool = True) -> Token:
    """The token of an id; NoSuchToken for an unused row of the embedding, or an id beyond it."""
    if not 0 <= token_id < vocabulary.size:
        raise NoSuchToken(
            f"There is no such token: {token_id}; the ids of {vocabulary.name} are 0 to {vocabulary.size - 1}",
            f"Choose an id from 0 to {vocabulary.size - 1}.",
        )
    token = vocabulary.tokens[token_id]
    if token is None:
        raise NoSuchToken(
            f"There is no such token: {token_id} is an unused row of the embedding of {vocabulary.name}",
            "The row has weights and a place in the softmax, but no text leads to it. Choose another id.",
        )
    is_special = token_id in vocabulary.special_ids
    kind = TokenKind.SPECIAL if is_special else token_kind(token, begins_piece=begins_piece)
    text = None if kind is TokenKind.BYTE_FRAGMENT else token.decode("utf-8", "replace")
    return Token(id=token_id, bytes=token, text=text, kind=kind)
