"""Merge lists of every kind against Hugging Face's BPE, which follows the list itself."""

import json
import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as HuggingFaceTokenizer
from tokenizers import models, pre_tokenizers, trainers

from explorer.tokenizer.merge_list import Pair, ordered_merges
from explorer.tokenizer.tokenizer import Tokenizer, build_tokenizer

PRE = {True: "llama-bpe", False: "smollm"}  # by whether a piece that is a token is taken whole


def metadata(tokens: Sequence[str], merges: Sequence[tuple[str, str]], *, whole: bool) -> dict[str, object]:
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": PRE[whole],
        "tokenizer.ggml.tokens": list(tokens),
        "tokenizer.ggml.merges": [" ".join(pair) for pair in merges],
        "tokenizer.ggml.add_bos_token": False,
    }


@st.composite
def vocabularies(draw: st.DrawFn) -> tuple[list[str], list[tuple[str, str]]]:
    """Tokens in any order, some that no merge makes, and a list of pairs in any order, or of all pairs there are."""
    tokens = ["a", "b", "c"]
    merges: list[tuple[str, str]] = []
    for _ in range(draw(st.integers(0, 9))):
        pair = (draw(st.sampled_from(tokens)), draw(st.sampled_from(tokens)))
        if pair not in merges and len("".join(pair)) < 7:
            merges.append(pair)
            tokens += {"".join(pair)} - set(tokens)
    whole_only = st.text("abc", min_size=2, max_size=5).filter(lambda token: token not in tokens)
    tokens = tokens + draw(st.lists(whole_only, max_size=2, unique=True))
    if draw(st.booleans()):
        cuts = [(token[:cut], token[cut:]) for token in tokens for cut in range(1, len(token))]
        merges = [(left, right) for left, right in cuts if left in tokens and right in tokens]
    if draw(st.booleans()):
        merges = draw(st.permutations(merges))
    return draw(st.permutations(tokens)), merges


@pytest.mark.parametrize("whole", [True, False])
@given(vocabulary=vocabularies(), words=st.lists(st.text("abc", min_size=1, max_size=14), min_size=5, max_size=30))
@settings(max_examples=400)
def test_any_list_of_merges_is_followed(
    whole: bool, vocabulary: tuple[list[str], list[tuple[str, str]]], words: list[str]
) -> None:
    tokens, merges = vocabulary
    ours = build_tokenizer("gguf", metadata(tokens, merges, whole=whole))
    ids = {token: at for at, token in enumerate(tokens)}
    theirs = HuggingFaceTokenizer(models.BPE(ids, merges, ignore_merges=whole))
    for word in [*words, *tokens]:
        assert list(ours.encode(word).ids) == theirs.encode(word).ids


def test_the_two_ways_to_one_token_may_have_different_ranks() -> None:
    merges = [("b", "c"), ("ab", "c"), ("bc", "a"), ("a", "b"), ("a", "bc")]
    tokens = ["a", "b", "c", "bc", "abc", "bca", "ab"]
    encoding = build_tokenizer("gguf", metadata(tokens, merges, whole=True)).encode("abca")
    assert [token.text for token in encoding.tokens] == ["a", "bca"]  # (bc, a) comes before (a, bc)


def test_a_trained_vocabulary_with_ids_in_no_order_still_goes_through_tiktoken() -> None:
    corpus = ["the cat sat on the mat, the hat on the cat; that is that, naïveté 東京 🙂🙁 1234 12 999"] * 3
    trained = HuggingFaceTokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.train_from_iterator(
        corpus, trainers.BpeTrainer(vocab_size=340, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    )
    merges = [(first, second) for first, second in json.loads(trained.to_str())["model"]["merges"]]
    tokens = sorted(trained.get_vocab(), key=lambda token: random.Random(token).random())
    gguf = metadata(tokens, merges, whole=False) | {"tokenizer.ggml.pre": "gpt-2"}
    ours = build_tokenizer("gguf", gguf)
    assert ours.vocabulary.merges.pairs is None
    for text in [*corpus, "hat mat cat 東 🙃 the\nthat  999"]:
        assert [tokens[at] for at in ours.encode(text).ids] == trained.encode(text).tokens


def test_the_list_that_hugging_face_writes_for_llama_3_gives_back_the_ranks(llama3: Tokenizer) -> None:
    """Its converter lists every way to cut every token in two, in the order of the ranks."""
    ids = {token: at for token, at in llama3.vocabulary.ids.items() if at < 20_000}
    pairs: list[Pair] = []
    for token in ids:
        cuts = [(token[:cut], token[cut:]) for cut in range(1, len(token))]
        known = [pair for pair in cuts if pair[0] in ids and pair[1] in ids]
        pairs += sorted(known, key=lambda of: (ids[of[0]], ids[of[1]]))
    merges = ordered_merges(ids, pairs, whole=True)
    assert merges.pairs is None
    assert merges.ranks == ids


def test_the_default_models_ids_are_its_ranks(smollm: Tokenizer) -> None:
    assert smollm.vocabulary.merges.pairs is None
    assert all(smollm.vocabulary.ids[token] == rank for token, rank in smollm.vocabulary.merges.ranks.items())
