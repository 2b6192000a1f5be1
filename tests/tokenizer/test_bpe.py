from itertools import pairwise

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import TextTooLong
from explorer.tokenizer.bpe import MAX_SHOWN_BYTES, Merges, merge_steps, piece_parts
from explorer.tokenizer.tokenizer import Tokenizer

WORDS = (" hippopotamus unbelievable internationalization ^^^^^^^^^ naïveté Việt 東京都 👨‍👩‍👧‍👦 aaaaaaaaaaaaa"
         "                 \n\n\n\t\t x0123456789")  # fmt: skip
PIECES = st.text(st.sampled_from(WORDS) | st.characters(codec="utf-8"), min_size=1, max_size=30).map(str.encode)


@given(piece=PIECES)
def test_the_replay_ends_where_tiktoken_ends(llama3: Tokenizer, meta_llama3: tiktoken.Encoding, piece: bytes) -> None:
    expected = [meta_llama3.decode_single_token_bytes(token) for token in meta_llama3._encode_single_piece(piece)]
    assert piece_parts(piece, llama3.vocabulary.merges) == expected
    if piece not in llama3.vocabulary.ids:
        steps = merge_steps(piece, llama3.vocabulary.merges)
        assert [*(steps[-1].parts if steps else (bytes([byte]) for byte in piece))] == expected


@given(piece=PIECES)
def test_every_step_joins_the_lowest_rank_there_is_and_the_leftmost_of_equals(llama3: Tokenizer, piece: bytes) -> None:
    merges = llama3.vocabulary.merges
    parts = [bytes([byte]) for byte in piece]
    for step in merge_steps(piece, merges):
        ranks = [merges.rank(left, right) for left, right in pairwise(parts)]
        best = min(rank for rank in ranks if rank is not None)
        assert (step.rank, step.position) == (best, ranks.index(best))
        assert (step.left, step.right) == (parts[step.position], parts[step.position + 1])
        parts[step.position : step.position + 2] = [step.result]
        assert step.parts == tuple(parts)
    assert all(merges.rank(left, right) is None for left, right in pairwise(parts))


def test_the_hippopotamus_is_merged_as_published(llama3: Tokenizer) -> None:
    steps = llama3.merge_steps(" hippopotamus")
    assert steps[-1].parts == (b" hipp", b"opot", b"amus")
    assert [step.rank for step in steps[-3:]] == [44656, 56455, 89490]  # the ids of the three tokens


def test_a_piece_that_is_a_token_is_taken_whole_even_if_merging_cannot_reach_it(llama3: Tokenizer) -> None:
    piece = " Việt".encode()
    assert piece_parts(piece, llama3.vocabulary.merges) == [piece]
    assert [llama3.vocabulary.ids[part] for part in merge_steps(piece, llama3.vocabulary.merges)[-1].parts] == [
        11655, 26298, 83,
    ]  # fmt: skip


def test_pairs_that_are_not_listed_stay_apart() -> None:
    ranks = {b"a": 0, b"b": 1, b"c": 2, b"ab": 3, b"bc": 4, b"abc": 5}
    listed = Merges(ranks=ranks, pairs={(b"b", b"c"): 0, (b"ab", b"c"): 1}, whole=False)
    assert piece_parts(b"abc", listed) == [b"a", b"bc"]
    assert piece_parts(b"abc", Merges(ranks=ranks, whole=False)) == [b"abc"]


def test_a_piece_too_long_to_be_shown_is_refused_by_its_length(llama3: Tokenizer) -> None:
    with pytest.raises(TextTooLong, match="1,001 bytes"):
        llama3.merge_steps("^" * (MAX_SHOWN_BYTES + 1))
    assert llama3.merge_steps("^" * MAX_SHOWN_BYTES)[-1].parts == (b"^^^^",) * (MAX_SHOWN_BYTES // 4)
