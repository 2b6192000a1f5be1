"""Byte-pair encoding replayed: what each piece becomes, merge by merge."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import pandas as pd

from explorer.tokenizer.bpe import MAX_SHOWN_BYTES, MergeStep, piece_parts
from explorer.tokenizer.encoding import Encoding
from explorer.tokenizer.tokenizer import Tokenizer
from explorer.tokenizer.visible import visible, visible_bytes

MOST_SHOWN = 120


@dataclass(frozen=True, kw_only=True)
class Moment:
    """The parts of a piece between two merges.

    ``ids`` are those of the parts, None where a byte has no token; ``ranks`` those of each neighbouring pair, None
    where it may not join. ``made`` is the part that the last merge made and ``next`` the left one of the pair that
    joins next; -1 for none.
    """

    parts: tuple[bytes, ...]
    ids: tuple[int | None, ...]
    ranks: tuple[int | None, ...]
    made: int
    next: int

    @property
    def labels(self) -> list[str]:
        """The parts for display."""
        return [visible_bytes(part) for part in self.parts]


@dataclass(frozen=True, kw_only=True)
class Replay:
    """The merges of one piece, None where there are none to show, and a sentence on how its tokens came about."""

    steps: tuple[MergeStep, ...] | None
    words: str


@dataclass(frozen=True, kw_only=True)
class ReplayCheck:
    """How many different pieces of a text were replayed, and how many of them gave the ids of its encoding.

    ``too_long`` counts the pieces that were not replayed; ``by`` is who made the ids, a key of ``ORIGIN``.
    """

    replayed: int
    agreed: int
    too_long: int
    by: str


ORIGIN = {"tiktoken": "the ids are tiktoken's", "list": "the ids follow the list of pairs in the model's file"}


def piece_labels(encoding: Encoding) -> list[str]:
    """The pieces for display, each cut after ``MOST_SHOWN`` characters."""
    return [
        visible(piece if len(piece) <= MOST_SHOWN else piece[:MOST_SHOWN]) + ("…" if len(piece) > MOST_SHOWN else "")
        for piece in encoding.pieces
    ]


def replay(tokenizer: Tokenizer, piece: str, ids: Sequence[int]) -> Replay:
    """How the tokens ``ids`` of one piece come about."""
    vocabulary = tokenizer.vocabulary
    if vocabulary.special_ids.intersection(ids):
        return Replay(steps=None, words="A special token is put in as it is; nothing is merged.")
    if len(_data(tokenizer, piece)) > MAX_SHOWN_BYTES:
        words = f"The piece has more than {MAX_SHOWN_BYTES:,} bytes; its merges are not shown."
        return Replay(steps=None, words=words)
    steps = tuple(tokenizer.merge_steps(piece))
    reached = [vocabulary.ids[part] for part in steps[-1].parts] == list(ids) if steps else True
    if not tokenizer.takes_whole(piece):
        return Replay(steps=steps, words="merged from its bytes")
    end = "merging would give the same" if reached else "merging alone would end elsewhere"
    return Replay(steps=steps, words=f"It is a token as it stands and is taken whole; {end}.")


def sentence(steps: Sequence[MergeStep], taken: int) -> str:
    """In words: what the last of ``taken`` merges joined, and what joins next."""
    last = steps[taken - 1] if taken else None
    done = "Every byte stands alone."
    if last is not None:
        pair = f"{visible_bytes(last.left)} + {visible_bytes(last.right)}"
        done = f"{pair} became {visible_bytes(last.result)}, rank {last.rank:,}."
    if taken == len(steps):
        return f"Merge {taken} of {len(steps)}. {done} No two neighbours may join any more."
    following = steps[taken]
    pair = f"{visible_bytes(following.left)} + {visible_bytes(following.right)}"
    return f"Merge {taken} of {len(steps)}. {done} Next joins {pair}: the lowest rank of all, {following.rank:,}."


def moment(tokenizer: Tokenizer, piece: str, steps: Sequence[MergeStep], taken: int) -> Moment:
    """The parts of ``piece`` after ``taken`` of its merges."""
    vocabulary = tokenizer.vocabulary
    data = _data(tokenizer, piece)
    parts = steps[taken - 1].parts if taken else tuple(bytes([byte]) for byte in data)
    return Moment(
        parts=parts,
        ids=tuple(vocabulary.ids.get(part) for part in parts),
        ranks=tuple(vocabulary.merges.rank(left, right) for left, right in pairwise(parts)),
        made=steps[taken - 1].position if taken else -1,
        next=steps[taken].position if taken < len(steps) else -1,
    )


def step_table(steps: Sequence[MergeStep]) -> pd.DataFrame:
    """One row per merge: its number from 1, what joined, its rank, the result, and all parts afterwards."""
    return pd.DataFrame(
        [
            {
                "step": number,
                "left": visible_bytes(step.left),
                "right": visible_bytes(step.right),
                "rank": step.rank,
                "result": visible_bytes(step.result),
                "parts": " | ".join(visible_bytes(part) for part in step.parts),
            }
            for number, step in enumerate(steps, start=1)
        ],
        columns=["step", "left", "right", "rank", "result", "parts"],
    )


def piece_table(encoding: Encoding) -> pd.DataFrame:
    """One row per piece that the pre-tokenizer cut: its number, visible text, and the ids of its tokens."""
    spans = [encoding.span(number) for number in range(len(encoding.pieces))]
    return pd.DataFrame(
        {
            "piece": range(len(spans)),
            "text": [visible(piece) for piece in encoding.pieces],
            "tokens": [len(span) for span in spans],
            "ids": [" ".join(str(encoding.ids[place]) for place in span) for span in spans],
        }
    )


def check_replay(tokenizer: Tokenizer, encoding: Encoding) -> ReplayCheck:
    """Merge every different piece of a text again, one pair at a time, and compare with the ids of its encoding."""
    vocabulary = tokenizer.vocabulary
    different = {piece: number for number, piece in enumerate(encoding.pieces)}
    replayed = agreed = too_long = 0
    for piece, number in different.items():
        ids = [encoding.ids[place] for place in encoding.span(number)]
        data = _data(tokenizer, piece)
        if vocabulary.special_ids.intersection(ids):
            continue
        if len(data) > MAX_SHOWN_BYTES:
            too_long += 1
            continue
        replayed += 1
        agreed += [vocabulary.ids[part] for part in piece_parts(data, vocabulary.merges)] == ids
    by = "tiktoken" if vocabulary.merges.pairs is None else "list"
    return ReplayCheck(replayed=replayed, agreed=agreed, too_long=too_long, by=by)


def _data(tokenizer: Tokenizer, piece: str) -> bytes:
    """The bytes of a piece that have a token."""
    return piece.encode("utf-8", "replace").translate(None, tokenizer.vocabulary.missing_bytes)
