"""Byte-pair encoding one merge at a time, for the eye; tiktoken does the same thing faster.

Sennrich, Haddow and Birch 2016: start from single bytes, and join the neighbours with the lowest rank until none may.
"""

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from explorer.errors import TextTooLong

# Every step keeps all parts, so the steps of one piece grow with the square of its length.
MAX_SHOWN_BYTES = 1_000


@dataclass(frozen=True, kw_only=True)
class Merges:
    """Which neighbours may join, and which first.

    ``ranks`` holds every token made of text. Two neighbours join when their concatenation is in it, the lowest rank
    first, the leftmost among equals. Where that is not the whole truth, ``pairs`` lists the only pairs that join, with
    their ranks. ``whole``: a piece that is a token as it stands is taken without merging.
    """

    ranks: Mapping[bytes, int]
    pairs: Mapping[tuple[bytes, bytes], int] | None = None
    whole: bool = True

    def rank(self, left: bytes, right: bytes) -> int | None:
        """The rank of joining two neighbours; None when they stay apart."""
        return self.ranks.get(left + right) if self.pairs is None else self.pairs.get((left, right))


@dataclass(frozen=True, kw_only=True)
class MergeStep:
    """One merge: ``left`` and ``right`` became ``result`` at ``position``; ``parts`` is the piece afterwards."""

    left: bytes
    right: bytes
    rank: int
    result: bytes
    position: int
    parts: tuple[bytes, ...]


def merge_steps(piece: bytes, merges: Merges) -> list[MergeStep]:
    """How merging alone builds a piece, step by step.

    The last step may differ from ``piece_parts``: tiktoken takes a piece that is a token whole, and a few tokens of
    Llama 3 (" Việt") cannot be reached by merging. Raises TextTooLong beyond ``MAX_SHOWN_BYTES``.
    """
    if len(piece) > MAX_SHOWN_BYTES:
        raise TextTooLong(
            f"The piece is {len(piece):,} bytes long; its merges can be shown up to {MAX_SHOWN_BYTES:,} bytes",
            "Choose a shorter piece.",
        )
    steps: list[MergeStep] = []
    parts = {at: piece[at : at + 1] for at in range(len(piece))}  # start of the part -> its bytes, in order
    for merge in _merges(piece, merges):
        del parts[merge.middle]
        parts[merge.start] = merge.left + merge.right
        steps.append(
            MergeStep(
                left=merge.left,
                right=merge.right,
                rank=merge.rank,
                result=parts[merge.start],
                position=list(parts).index(merge.start),
                parts=tuple(parts.values()),
            )
        )
    return steps


def piece_parts(piece: bytes, merges: Merges) -> list[bytes]:
    """The tokens of one piece, as bytes: the piece itself if it is a token, otherwise what merging leaves."""
    if merges.whole and piece in merges.ranks:
        return [piece]
    borders = dict.fromkeys(range(len(piece)))
    for merge in _merges(piece, merges):
        del borders[merge.middle]
    starts = [*borders, len(piece)]
    return [piece[start:end] for start, end in pairwise(starts)]


@dataclass(frozen=True, order=True, slots=True)
class _Merge:
    """A pair that may join; the order of the fields is the order of the merges."""

    rank: int
    start: int
    middle: int
    end: int
    left: bytes
    right: bytes


def _merges(piece: bytes, merges: Merges) -> Iterator[_Merge]:
    """The merges of a piece in the order they happen; n log n through a heap of the pairs that may join."""
    end_of = {at: at + 1 for at in range(len(piece))}  # of the part that starts here
    start_of = {at + 1: at for at in range(len(piece))}  # of the part that ends here
    waiting: list[_Merge] = []

    def consider(start: int, middle: int, end: int) -> None:
        left, right = piece[start:middle], piece[middle:end]
        rank = merges.rank(left, right)
        if rank is not None:
            heapq.heappush(waiting, _Merge(rank, start, middle, end, left, right))

    for at in range(len(piece) - 1):
        consider(at, at + 1, at + 2)
    while waiting:
        merge = heapq.heappop(waiting)
        if end_of.get(merge.start) != merge.middle or end_of.get(merge.middle) != merge.end:
            continue  # one of the two has joined another neighbour since
        del end_of[merge.middle], start_of[merge.middle]
        end_of[merge.start], start_of[merge.end] = merge.end, merge.start
        yield merge
        if merge.start in start_of:
            consider(start_of[merge.start], merge.start, merge.end)
        if merge.end in end_of:
            consider(merge.start, merge.end, end_of[merge.end])
