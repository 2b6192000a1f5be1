"""From a file's list of merges to ranks, and whether ranks alone encode as the list does.

GGUF and Hugging Face files list the *pairs* that join; tiktoken knows only the *results*, and joins any two neighbours
whose concatenation is a token. Both agree for every vocabulary that was trained in the usual way. This file checks it,
because ids need not be in merge order, and a list made by hand need not be closed.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from explorer.tokenizer.bpe import Merges

Pair = tuple[bytes, bytes]


def ordered_merges(ids: Mapping[bytes, int], pairs: Sequence[Pair], *, whole: bool) -> Merges:
    """The merges of a vocabulary whose tokens made of text are ``ids``.

    ``pairs`` is the file's list, first merge first; ``whole`` says that a piece which is a token is not merged. The
    ranks are the ids themselves when those are in merge order, as in most files.
    """
    order = {pair: rank for rank, pair in reversed(list(enumerate(pairs)))}
    ranks = _ranks_by_result(ids, order, whole=whole)
    if ranks is None:
        return Merges(ranks=dict(ids), pairs=order, whole=whole)
    return Merges(ranks=ranks)


def _ranks_by_result(ids: Mapping[bytes, int], order: Mapping[Pair, int], *, whole: bool) -> dict[bytes, int] | None:
    """Ranks from which tiktoken encodes exactly as the list says, or None if there are none."""
    pairs_of: dict[bytes, list[Pair]] = {}
    for pair in sorted(order, key=order.__getitem__):
        pairs_of.setdefault(pair[0] + pair[1], []).append(pair)
    singles = [token for token in ids if len(token) == 1]
    # Tokens that only a whole piece can become; tiktoken must not be able to merge into them.
    unlisted = [token for token in ids if len(token) > 1 and token not in pairs_of] if whole else []
    if any(_splits(token, ids) for token in unlisted):
        return None

    listed = [order[pair] for group in pairs_of.values() for pair in group]
    unbroken = all(before < after for before, after in pairwise(listed))
    complete = whole and unbroken and all(_splits(token, ids) == len(of) for token, of in pairs_of.items())
    if not complete and not _all_stable(pairs_of):
        return None

    in_order = [*sorted(singles, key=ids.__getitem__), *pairs_of, *unlisted]
    merged_ids = [ids[token] for token in pairs_of]
    if all(before < after for before, after in pairwise(merged_ids)):
        return {token: ids[token] for token in in_order}
    return {token: rank for rank, token in enumerate(in_order)}


def _splits(token: bytes, ids: Mapping[bytes, int]) -> int:
    """How many ways there are to cut a token into two tokens."""
    return sum(token[:cut] in ids and token[cut:] in ids for cut in range(1, len(token)))


def _all_stable(pairs_of: Mapping[bytes, list[Pair]]) -> bool:
    """Whether every token has one pair, and its own bytes merge into it and nothing else.

    Then ranks by result are exact. Suppose two neighbours stand side by side whose concatenation is the token t: each
    merge so far was the first possible inside these bytes alone too, so merging t's bytes by themselves passes through
    the same state; as that ends in t, the pair is listed.
    """
    if any(len(of) > 1 for of in pairs_of.values()):
        return False
    rank = {token: position for position, token in enumerate(pairs_of)}
    halves = {token: of[0] for token, of in pairs_of.items()}
    return all(_is_stable(token, rank, halves) for token in pairs_of)


def _is_stable(token: bytes, rank: Mapping[bytes, int], halves: Mapping[bytes, Pair]) -> bool:
    """Whether the last merge of a token comes before any merge across its seam: undo both sides, last merge first.

    The walk is that of ``is_valid_token_pair`` in github.com/github/rust-gems, crates/bpe.
    """
    left, right = halves[token]
    until = rank[token]
    if max(rank.get(left, -1), rank.get(right, -1)) >= until:
        return False  # a merge listed before its own parts
    while True:
        across = left + right
        if halves.get(across) == (left, right) and rank[across] < until:
            return False
        left_rank, right_rank = rank.get(left, -1), rank.get(right, -1)
        if left_rank > right_rank:
            until, left = left_rank, halves[left][1]
        elif right_rank >= 0:
            # Among equal ranks the leftmost joins first, so a merge across the seam also wins a tie with the right.
            until, right = right_rank + 1, halves[right][0]
        else:
            return True
