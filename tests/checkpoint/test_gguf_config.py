"""The sizes that GGUF metadata states, and the models that it must not be taken for."""

import pytest

from explorer.checkpoint.gguf_config import gguf_config, gguf_tokenizer
from explorer.checkpoint.gguf_file import GGUFFile
from explorer.config import FactorScaling, LinearScaling
from explorer.errors import BadModelFile, UnsupportedModel
from tests.conftest import DATA

TINY = GGUFFile(DATA / "cases" / "files" / "tiny_a.gguf")


def read(changes=None, *, without=(), factors=None, shapes=None):
    metadata = {key: value for key, value in TINY.metadata.items() if key not in without} | (changes or {})
    return gguf_config(metadata, shapes or TINY.shapes, factors, name="tiny", file_name="tiny.gguf")


def test_the_sizes_of_a_small_file_are_those_of_its_hugging_face_config():
    config = read()
    assert (config.d_model, config.n_layers, config.n_heads, config.n_kv_heads) == (64, 3, 4, 2)
    assert (config.head_dim, config.d_ff, config.vocab_size, config.context) == (16, 96, 512, 64)
    assert (config.rope_theta, config.norm_eps) == (500_000.0, 1e-5)
    assert not config.tied_embedding


def test_a_file_without_an_output_matrix_is_tied():
    shapes = {name: shape for name, shape in TINY.shapes.items() if name != "output.weight"}
    assert read(shapes=shapes).tied_embedding


def test_without_key_value_heads_every_query_head_has_its_own():
    assert read(without={"llama.attention.head_count_kv"}).n_kv_heads == 4


@pytest.mark.parametrize(
    ("changes", "without", "head_dim"),
    [
        ({"llama.attention.key_length": 16}, (), 16),
        ({}, ("llama.rope.dimension_count",), 16),
        ({"llama.attention.key_length": 8, "llama.rope.dimension_count": 8}, (), 8),
        ({"llama.rope.dimension_count": 8}, (), 8),
    ],
)
def test_the_head_size_is_the_stated_one_or_the_width_shared_by_the_heads(changes, without, head_dim):
    assert read(changes, without=without).head_dim == head_dim


def test_rope_factors_in_a_tensor_become_factors_of_the_rotation():
    factors = tuple(TINY.read("rope_freqs.weight").tolist())
    assert read(factors=factors).rope_scaling == FactorScaling(factors=factors)


@pytest.mark.parametrize(
    "changes",
    [
        {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0},
        {"llama.rope.scale_linear": 4.0},
    ],
)
def test_linear_scaling_is_read_in_both_spellings(changes):
    assert read(changes).rope_scaling == LinearScaling(factor=4.0)


def test_a_linear_scaling_of_one_is_none():
    assert read({"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 1.0}).rope_scaling is None


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"general.architecture": "gemma2"}, "architecture is 'gemma2', expected one of llama, qwen2, qwen3"),
        ({"general.architecture": 7}, "architecture is '7', expected one of llama, qwen2, qwen3"),
        ({"llama.expert_count": 8}, "a mixture of 8 experts, expected one feed-forward"),
        ({"llama.rope.scaling.type": "yarn"}, "the rope scaling 'yarn', expected none, 'linear'"),
        ({"llama.attention.head_count_kv": [2, 1, 2]}, "head_count_kv is a list, expected one number"),
        ({"llama.attention.key_length": 32}, "rope.dimension_count is 16, expected the head size 32"),
        ({"llama.attention.value_length": 8}, "value_length is 8, expected the head size 16"),
    ],
)
def test_a_model_that_would_be_computed_wrongly_is_refused_by_name(changes, found):
    with pytest.raises(UnsupportedModel, match=found) as refused:
        read(changes)
    assert refused.value.remedy


def test_linear_scaling_and_factors_together_are_refused():
    with pytest.raises(UnsupportedModel, match=r"'linear' together with rope_freqs.weight"):
        read({"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 2.0}, factors=(1.0,) * 8)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"llama.block_count": 0}, "block_count is 0, expected a whole number from 1"),
        ({"llama.block_count": 2.5}, "block_count is 2.5, expected a whole number"),
        ({"llama.embedding_length": "wide"}, "embedding_length is 'wide', expected a number"),
        ({"llama.embedding_length": True}, "embedding_length is 'True', expected a number"),
        ({"llama.context_length": 2**40}, "context_length is 1099511627776, expected a whole number"),
        ({"llama.attention.head_count": 3}, "3 query heads cannot share 2 key/value heads"),
        ({"llama.attention.layer_norm_rms_epsilon": float("nan")}, "epsilon is nan, expected a number"),
        ({"llama.rope.freq_base": -1.0}, "freq_base is -1.0, expected a number"),
        ({"tokenizer.ggml.tokens": ["a"] * 511}, "511 tokens, but token_embd.weight has 512 rows"),
    ],
)
def test_an_impossible_size_is_refused_with_what_was_expected(changes, found):
    with pytest.raises(BadModelFile, match=found) as refused:
        read(changes)
    assert "tiny.gguf" in refused.value.found and refused.value.remedy


def test_a_missing_size_is_named():
    with pytest.raises(BadModelFile, match=r"llama.feed_forward_length is missing"):
        read(without={"llama.feed_forward_length"})


@pytest.mark.parametrize("factors", [(1.0,) * 7, (1.0,) * 7 + (0.0,), (1.0,) * 7 + (float("nan"),)])
def test_rope_factors_that_cannot_be_divided_by_are_refused(factors):
    with pytest.raises(BadModelFile, match=r"rope_freqs.weight holds . numbers, expected 8 that are above 0"):
        read(factors=factors)


def test_the_tokenizer_is_every_key_of_its_own_and_none_other():
    source = gguf_tokenizer(TINY.metadata)
    assert source.format == "gguf"
    assert source.data["tokenizer.ggml.pre"] == "llama-bpe"
    assert all(key.startswith("tokenizer.") for key in source.data)
    assert gguf_tokenizer({"general.architecture": "llama"}).format == "none"
