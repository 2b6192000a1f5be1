"""The sizes in a params.json, against Meta's formula and the same model's Hugging Face file."""

import json
from dataclasses import replace

import pytest

from explorer.architecture.blueprint import Blueprint
from explorer.config import ConfigError, Llama3Scaling, UnsupportedFamily
from explorer.config.description import config_from_json
from explorer.config.hugging_face import config_from_hugging_face
from explorer.config.meta import config_from_meta, rotation_note
from tests.conftest import DATA

LLAMA31_8B = {
    "dim": 4096, "n_layers": 32, "n_heads": 32, "n_kv_heads": 8, "vocab_size": 128256, "ffn_dim_multiplier": 1.3,
    "multiple_of": 1024, "norm_eps": 1e-05, "rope_theta": 500000.0, "use_scaled_rope": True,
}  # fmt: skip


def test_the_width_of_the_feed_forward_follows_metas_rule():
    config = config_from_meta(LLAMA31_8B, name="8b")  # case C05
    assert config.d_ff == 14_336
    assert Blueprint(config).parameters == 8_030_261_248


def test_the_same_model_has_the_same_sizes_in_both_formats():
    other = json.loads((DATA / "cases" / "files" / "configs" / "llama3.1-8b.json").read_text())
    assert config_from_meta(LLAMA31_8B, name="8b") == config_from_hugging_face(other, name="8b")
    assert config_from_json(LLAMA31_8B, name="8b", file_name="params.json").d_model == 4096


@pytest.mark.parametrize(("key", "factor"), [(None, 8.0), ("rope_scaling_factor", 32.0), ("rope_scale_factor", 32)])
def test_the_hidden_factor_is_8_unless_the_file_gives_another_and_the_note_says_which(key, factor):
    table = LLAMA31_8B if key is None else LLAMA31_8B | {key: factor}
    scaling = config_from_meta(table, name="8b").rope_scaling
    assert scaling == Llama3Scaling(factor=factor, low_freq_factor=1.0, high_freq_factor=4.0, original_context=8192)
    note = rotation_note(table)
    assert f"factor {factor:g} " in note
    assert ("Llama 3.2 needs 32" in note) == (key is None)


def test_without_use_scaled_rope_nothing_is_scaled():
    table = LLAMA31_8B | {"use_scaled_rope": False}
    assert config_from_meta(table, name="8b").rope_scaling is None
    assert rotation_note(table) is None


def test_a_llama_2_states_no_vocabulary_and_no_base():
    table = {"dim": 4096, "multiple_of": 256, "n_heads": 32, "n_layers": 32, "norm_eps": 1e-05, "vocab_size": -1}
    other = json.loads((DATA / "cases" / "files" / "configs" / "llama2-7b.json").read_text())
    expected = config_from_hugging_face(other, name="7b")
    assert config_from_meta(table, name="7b", vocab_size=32_000) == replace(expected, context=4096)
    with pytest.raises(ConfigError, match="vocab_size is -1"):
        config_from_meta(table, name="7b")


@pytest.mark.parametrize("key", ["quantization_args", "lora_args", "moe_args", "sliding_window"])
def test_what_would_be_computed_wrongly_is_refused_by_name(key):
    with pytest.raises(UnsupportedFamily, match=f"{key} asks for"):
        config_from_meta(LLAMA31_8B | {key: {"scheme": "int4"}}, name="8b")


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"dim": None}, "dim is missing"),
        ({"n_heads": 33}, "4096 numbers do not divide into 33 heads"),
        ({"ffn_dim_multiplier": "1.3"}, "ffn_dim_multiplier is '1.3', expected a number above 0"),
        ({"rope_scaling_factor": 0}, "rope_scaling_factor is 0, expected a number above 0"),
    ],
)
def test_an_impossible_size_is_refused_with_what_was_expected(changes, found):
    with pytest.raises(ConfigError, match=found):
        config_from_meta(LLAMA31_8B | changes, name="8b")
