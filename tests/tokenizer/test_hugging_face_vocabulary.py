"""The reader of tokenizer.json, against the tokenizers library that wrote it."""

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers import Tokenizer as TheirTokenizer

from explorer.errors import BadModelFile, ExplorerError, UnsupportedModel
from explorer.tokenizer.pretokenizer import PATTERNS
from explorer.tokenizer.tokenizer import build_tokenizer
from tests.conftest import DATA

TINY = DATA / "cases" / "files" / "tiny_a_hf" / "tokenizer.json"
BEGIN = "<|begin_of_text|>"
TEXTS = [
    "The capital of France is Paris, isn't it? I'LL say we've 12345 of them.\n\n\tdef f(x):\r\n    return  x\n",
    "Grüße aus Köln: naïve café, Ελλάδα, Россия, 日本語のテキスト, 한국어, العربية, हिन्दी 🙂👨‍👩‍👧 e\u0301",
]


def split_by(name):
    cut = pre_tokenizers.Split(Regex(PATTERNS[name]), "isolated")
    return pre_tokenizers.Sequence([cut, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


PRE_TOKENIZERS = {
    "llama3": split_by("llama3"),
    "qwen2": split_by("qwen2"),
    "smollm": pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    ),
    "gpt2": pre_tokenizers.ByteLevel(add_prefix_space=False),
    "whole": pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
}


def trained(pattern):
    """A tokenizer of theirs with a few hundred merges, two roles and one token that is found in any text."""
    theirs = TheirTokenizer(models.BPE(ignore_merges=pattern == "llama3"))
    theirs.pre_tokenizer = PRE_TOKENIZERS[pattern]
    if pattern == "qwen2":
        theirs.normalizer = normalizers.NFC()
    trainer = trainers.BpeTrainer(
        vocab_size=700, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    theirs.train_from_iterator(TEXTS * 3, trainer)
    theirs.add_special_tokens([BEGIN, "<|eot_id|>"])
    theirs.add_tokens([AddedToken("<tool_call>", special=False, normalized=False)])
    if pattern == "llama3":
        at = theirs.token_to_id(BEGIN)
        theirs.post_processor = processors.TemplateProcessing(single=f"{BEGIN} $A", special_tokens=[(BEGIN, at)])
    return theirs


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """For every pattern their tokenizer, and ours read from the file that theirs wrote."""
    pairs = {}
    for pattern in PRE_TOKENIZERS:
        path = tmp_path_factory.mktemp(pattern) / "tokenizer.json"
        theirs = trained(pattern)
        theirs.save(str(path))
        pairs[pattern] = (theirs, build_tokenizer("huggingface", {"path": path, "eos_ids": (3,)}, rows=800))
    return pairs


@pytest.mark.parametrize("pattern", PRE_TOKENIZERS)
@given(text=st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=60) | st.sampled_from(TEXTS))
@settings(max_examples=25, deadline=None)
def test_every_text_gets_the_ids_that_the_tokenizers_library_gives_it(both, pattern, text):
    theirs, ours = both[pattern]
    assert list(ours.encode(text, special=True).ids) == theirs.encode(text).ids
    shown = unicodedata.normalize("NFC", text) if pattern == "qwen2" else text
    assert ours.decode(ours.encode(text, bos=False).ids) == shown


@pytest.mark.parametrize("pattern", PRE_TOKENIZERS)
def test_the_pattern_is_recognised_and_roles_are_known(both, pattern):
    theirs, ours = both[pattern]
    vocabulary = ours.vocabulary
    assert (vocabulary.pattern, vocabulary.size) == (pattern, 800)
    assert vocabulary.adds_bos == (pattern == "llama3")
    assert vocabulary.eos_ids == (3, theirs.token_to_id("<|eot_id|>"))
    text = f"{BEGIN} <tool_call>"
    assert list(ours.encode(text, special=True, bos=False).ids) == theirs.encode(text, add_special_tokens=False).ids
    assert theirs.token_to_id("<tool_call>") in ours.encode(text).ids
    assert theirs.token_to_id(BEGIN) not in ours.encode(text, bos=False).ids


def test_a_text_that_is_brought_to_another_form_says_so(both):
    encoding = both["qwen2"][1].encode("e\u0301")
    assert any("NFC" in note for note in encoding.notes)
    assert not both["qwen2"][1].encode("é").notes


def test_the_tiny_tokenizer_has_a_token_for_every_byte_and_its_roles():
    tokenizer = build_tokenizer("huggingface", {"path": TINY}, rows=512)
    assert tokenizer.encode("Hello", bos=False).ids == (72, 101, 108, 108, 111)
    assert tokenizer.vocabulary.bos_id == 256
    assert 257 in tokenizer.vocabulary.eos_ids


def changed(tmp_path, change):
    file = json.loads(TINY.read_text("utf-8"))
    change(file)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file), "utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "error", "found"),
    [
        (lambda file: file["model"].update(byte_fallback=True), UnsupportedModel, "sentencepiece"),
        (lambda file: file["model"].update(type="Unigram"), UnsupportedModel, "sentencepiece"),
        (lambda file: file["model"].update(type="WordPiece"), UnsupportedModel, "'WordPiece', expected 'BPE'"),
        (lambda file: file.update(pre_tokenizer={"type": "Metaspace"}), UnsupportedModel, "pre-tokenizer 'Metaspace'"),
        (lambda file: file.update(pre_tokenizer=None), UnsupportedModel, "pre-tokenizer 'none'"),
        (
            lambda file: file.update(
                pre_tokenizer={
                    "type": "Sequence",
                    "pretokenizers": [
                        {"type": "Split", "pattern": {"Regex": r"\d+"}, "behavior": "Isolated", "invert": False},
                        {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
                    ],
                }
            ),
            UnsupportedModel,
            "an expression of its own",
        ),
        (lambda file: file.update(normalizer={"type": "Lowercase"}), UnsupportedModel, "normalizer 'Lowercase'"),
        (lambda file: file["model"]["vocab"].update({"Ā": 1}), BadModelFile, "one id to two tokens"),
        (lambda file: file["model"].update(merges=["Ā ā"]), BadModelFile, "two tokens that join into a third"),
        (lambda file: file["model"].update(vocab=[]), BadModelFile, "vocab is missing"),
        (lambda file: file["model"]["vocab"].update({"x y": 10**9}), BadModelFile, "not a table of ids"),
        (lambda file: file.update(added_tokens=[{"id": -1, "content": "x"}]), BadModelFile, "added_tokens"),
    ],
)
def test_a_tokenizer_that_would_give_other_ids_is_refused_by_name(tmp_path, change, error, found):
    with pytest.raises(error, match=found) as refused:
        build_tokenizer("huggingface", {"path": changed(tmp_path, change)})
    assert "tokenizer.json" in refused.value.found and refused.value.remedy


def test_more_tokens_than_rows_of_the_embedding_are_refused():
    with pytest.raises(BadModelFile, match="512 tokens for an embedding of 300 rows"):
        build_tokenizer("huggingface", {"path": TINY}, rows=300)


@given(place=st.integers(0, 56_000), byte=st.integers(0, 255))
@settings(max_examples=25, deadline=None)
def test_a_damaged_file_causes_nothing_but_named_errors(tmp_path_factory, place, byte):
    content = bytearray(TINY.read_bytes())
    content[place] = byte
    path = tmp_path_factory.getbasetemp() / "damaged" / "tokenizer.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    try:
        build_tokenizer("huggingface", {"path": path})
    except ExplorerError as error:
        assert error.found and error.remedy
