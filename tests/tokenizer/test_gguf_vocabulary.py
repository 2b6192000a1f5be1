from collections.abc import Mapping

import pytest
from tokenizers import pre_tokenizers

from explorer.errors import BadModelFile, NoSuchToken, UnsupportedModel
from explorer.tokenizer.byte_alphabet import CHARACTER_OF
from explorer.tokenizer.gguf_vocabulary import vocabulary_from_gguf
from explorer.tokenizer.tokenizer import Tokenizer, build_tokenizer

TINY: Mapping[str, object] = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "llama-bpe",
    "tokenizer.ggml.tokens": [*(CHARACTER_OF[byte] for byte in range(256)), "<bos>", "<eos>", "<tool>", "unused", ""],
    "tokenizer.ggml.token_type": [*[1] * 256, 3, 3, 4, 5, 1],
    "tokenizer.ggml.bos_token_id": 256,
    "tokenizer.ggml.eos_token_id": 257,
}


def test_the_default_model_says_what_is_known_of_it(smollm: Tokenizer) -> None:
    vocabulary = smollm.vocabulary
    assert (vocabulary.size, len(vocabulary.special)) == (49_152, 17)
    assert (vocabulary.pattern, vocabulary.bos_id, vocabulary.adds_bos) == ("smollm", 1, False)
    assert vocabulary.eos_ids[0] == vocabulary.special["<|im_end|>"] == 2
    assert vocabulary.missing_bytes.hex(" ") == ("04 06 13 14 16 1d c0 c1 f1 f2 f5 f6 f7 f8 f9 fa fb fc fd fe ff")
    assert vocabulary.chat_template is not None and "<|im_start|>" in vocabulary.chat_template


def test_the_alphabet_of_bytes_is_that_of_hugging_face() -> None:
    assert set(CHARACTER_OF.values()) == set(pre_tokenizers.ByteLevel.alphabet())
    split = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for character in map(chr, range(0x20, 0x800)):
        spelled = "".join(CHARACTER_OF[byte] for byte in character.encode())
        assert split.pre_tokenize_str(character)[0][0] == spelled


def test_a_file_without_merges_encodes_byte_by_byte() -> None:
    tiny = build_tokenizer("gguf", TINY)
    assert tiny.encode("Hé").ids == (256, ord("H"), 0xC3, 0xA9)


def test_llama_3_adds_bos_unless_the_file_says_no() -> None:
    assert vocabulary_from_gguf(TINY).adds_bos
    assert not vocabulary_from_gguf({**TINY, "tokenizer.ggml.add_bos_token": False}).adds_bos
    assert not vocabulary_from_gguf({**TINY, "tokenizer.ggml.pre": "gpt-2"}).adds_bos
    assert vocabulary_from_gguf({**TINY, "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.add_bos_token": True}).adds_bos


def test_messages_call_a_vocabulary_by_the_name_that_it_was_given() -> None:
    with pytest.raises(NoSuchToken, match="the ids of the GGUF file are"):
        build_tokenizer("gguf", TINY).token(999)
    with pytest.raises(NoSuchToken, match="the ids of Tiny Llama are"):
        build_tokenizer("gguf", TINY, name="Tiny Llama").token(999)


def test_rows_that_no_token_uses_stay_empty() -> None:
    assert vocabulary_from_gguf(TINY).tokens[-2:] == (None, None)
    assert vocabulary_from_gguf(TINY, rows=300).size == 300
    stated = {**TINY, "general.architecture": "llama", "llama.vocab_size": 280}
    assert vocabulary_from_gguf(stated).tokens[259:] == (None,) * 21


def test_a_user_defined_token_is_recognised_even_in_ordinary_text() -> None:
    tiny = build_tokenizer("gguf", TINY)
    assert tiny.encode("a<tool><bos>", bos=False).ids == (97, 258, *b"<bos>")
    assert tiny.encode("a<tool><bos>", bos=False, special=True).ids == (97, 258, 256)


def test_the_longest_special_token_is_recognised() -> None:
    tokens = {"tokenizer.ggml.tokens": ["<bos>", "<bos><bos>", "a"], "tokenizer.ggml.token_type": [3, 3, 1]}
    tiny = build_tokenizer("gguf", {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", **tokens})
    assert tiny.encode("<bos><bos><bos>", special=True).ids == (1, 0)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"tokenizer.ggml.model": "llama"}, "sentencepiece"),
        ({"tokenizer.ggml.model": "bert"}, "bert"),
        ({"tokenizer.ggml.model": None}, "None"),
        ({"tokenizer.ggml.pre": "deepseek-llm"}, "deepseek-llm"),
        ({"tokenizer.ggml.pre": 3}, "3"),
        ({"tokenizer.ggml.pre": "default"}, "does not say how its model splits text: tokenizer.ggml.pre is 'default'"),
        ({"tokenizer.ggml.pre": None}, "tokenizer.ggml.pre is None"),
    ],
)
def test_another_tokenizer_is_refused_by_name(change: Mapping[str, object], found: str) -> None:
    with pytest.raises(UnsupportedModel, match=found):
        vocabulary_from_gguf({**TINY, **change})


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"tokenizer.ggml.tokens": None}, "tokens is missing"),
        ({"tokenizer.ggml.tokens": [1, 2]}, "tokens is missing"),
        ({"tokenizer.ggml.tokens": ["a", "a"], "tokenizer.ggml.token_type": [1, 1]}, "Tokens 0 and 1 are the same"),
        ({"tokenizer.ggml.tokens": ["a b"], "tokenizer.ggml.token_type": [1]}, "alphabet of bytes"),
        ({"tokenizer.ggml.tokens": ["\udcff"], "tokenizer.ggml.token_type": [1]}, "alphabet of bytes"),
        ({"tokenizer.ggml.tokens": ["\ud800"], "tokenizer.ggml.token_type": [3]}, "alphabet of bytes"),
        ({"tokenizer.ggml.token_type": [3] * 261}, "no token made of text"),
        ({"tokenizer.ggml.token_type": [1]}, "one type for each of 261"),
        ({"tokenizer.ggml.token_type": [9] * 261}, "9 is not a valid TokenType"),
        ({"tokenizer.ggml.merges": ["a b"]}, "The merge 'a b'"),
        ({"tokenizer.ggml.merges": ["ab"]}, "The merge 'ab'"),
        ({"tokenizer.ggml.merges": 7}, "merges is missing or not a list"),
        ({"tokenizer.ggml.bos_token_id": 259}, "bos_token_id is 259"),
        ({"tokenizer.ggml.eos_token_id": -1}, "eos_token_id is -1"),
    ],
)
def test_metadata_that_makes_no_sense_is_refused(change: Mapping[str, object], found: str) -> None:
    with pytest.raises(BadModelFile, match=found):
        vocabulary_from_gguf({**TINY, **change})
