"""The replay of merges in words and tables."""

import pytest

from explorer.analysis.merges import (
    check_replay,
    moment,
    piece_labels,
    piece_table,
    replay,
    sentence,
    step_table,
)
from explorer.cli.session import tokenizer_named
from explorer.tokenizer.tokenizer import Tokenizer, build_tokenizer
from tests.tokenizer.test_gguf_vocabulary import TINY


@pytest.fixture(scope="module")
def llama3(explorer_home: object) -> Tokenizer:
    return tokenizer_named("llama3")


def test_the_published_pieces_of_the_elephant(llama3: Tokenizer) -> None:
    encoding = llama3.encode("The elephant drinks 123456 litres.", bos=False)
    published = ["The", " elephant", " drinks", " ", "123", "456", " litres", "."]
    assert list(encoding.pieces) == published
    assert piece_labels(encoding) == [piece.replace(" ", "·") for piece in published]
    table = piece_table(encoding)
    assert " ".join(table["ids"]).split() == [str(each) for each in encoding.ids]
    assert table["tokens"].sum() == len(encoding)


def test_every_moment_follows_from_the_one_before(llama3: Tokenizer) -> None:
    piece = " hippopotamus"
    steps = replay(llama3, piece, (44656, 89490, 56455)).steps
    assert steps is not None
    before = moment(llama3, piece, steps, 0)
    assert b"".join(before.parts) == piece.encode() and len(before.parts) == len(piece)
    for taken in range(1, len(steps) + 1):
        after = moment(llama3, piece, steps, taken)
        best = min(rank for rank in before.ranks if rank is not None)
        assert before.next == before.ranks.index(best) == after.made
        joined = before.parts[before.next] + before.parts[before.next + 1]
        assert after.parts == (*before.parts[: before.next], joined, *before.parts[before.next + 2 :])
        assert best == after.ids[after.made]  # in a tiktoken vocabulary the rank of a merge is the id of its result
        before = after
    assert before.ids == (44656, 89490, 56455)
    assert (before.next, set(before.ranks)) == (-1, {None})
    assert before.labels == ["·hipp", "opot", "amus"]


def test_the_words_say_what_joined_and_what_joins_next(llama3: Tokenizer) -> None:
    steps = llama3.merge_steps(" hippopotamus")
    first, last = steps[0], steps[-1]
    assert sentence(steps, 0).startswith(f"Merge 0 of {len(steps)}. Every byte stands alone. Next joins")
    assert f"the lowest rank of all, {first.rank:,}" in sentence(steps, 0)
    assert f"{last.result.decode()}, rank {last.rank:,}. No two neighbours" in sentence(steps, len(steps))
    assert step_table(steps)["parts"].iloc[-1] == "·hipp | opot | amus"


def test_a_piece_that_is_taken_whole_is_said_to_be(llama3: Tokenizer) -> None:
    assert "end elsewhere" in replay(llama3, " Việt", (101798,)).words
    assert "would give the same" in replay(llama3, " water", (3090,)).words
    assert replay(llama3, " hippopotamus", (44656, 89490, 56455)).words == "merged from its bytes"


def test_what_is_not_merged_has_no_steps(llama3: Tokenizer) -> None:
    assert replay(llama3, "<|eot_id|>", (128_009,)).steps is None
    assert replay(llama3, "^" * 1_001, ()).steps is None
    assert len(piece_labels(llama3.encode("^" * 1_001, bos=False))[0]) == 121


@pytest.mark.parametrize("name", ["own", "llama3", "cl100k_base", "o200k_base"])
def test_the_replay_of_a_whole_text_gives_the_ids(name: str, explorer_home: object) -> None:
    tokenizer = tokenizer_named(name)
    text = "I'll pay $12.50 for 👨‍👩‍👧‍👦, naïve Việt\n\n\tdef f(x): return x**2 مرحبا नमस्ते 東京 " + "^" * 1_200
    encoding = tokenizer.encode(text)
    check = check_replay(tokenizer, encoding)
    # A special token is no piece to replay, and the longest run is not replayed.
    different = set(encoding.pieces) - set(tokenizer.vocabulary.special)
    assert check.agreed == check.replayed == len(different) - 1
    assert (check.too_long, check.by) == (1, "tiktoken")


def test_a_wrong_id_is_not_called_right(llama3: Tokenizer) -> None:
    encoding = llama3.encode("The elephant", bos=False)
    wrong = type(encoding)(
        ids=(*encoding.ids[:-1], 0), starts=encoding.starts, pieces=encoding.pieces, missing=(), notes=(),
        vocabulary=encoding.vocabulary,
    )  # fmt: skip
    assert (check_replay(llama3, wrong).agreed, check_replay(llama3, wrong).replayed) == (1, 2)


def test_bytes_without_merges_stay_alone() -> None:
    tiny = build_tokenizer("gguf", TINY)
    steps = replay(tiny, "Hé", (ord("H"), 0xC3, 0xA9)).steps
    assert steps == ()
    assert moment(tiny, "Hé", (), 0).labels == ["H", "C3", "A9"]
    assert step_table(()).columns.tolist() == ["step", "left", "right", "rank", "result", "parts"]
