"""The sizes in a config.json, against transformers' own reading, published totals and the cases."""

import json
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import CONFIG_MAPPING, AutoConfig

from explorer.architecture.blueprint import Blueprint
from explorer.config import ConfigError, LinearScaling, Llama3Scaling, UnsupportedFamily
from explorer.config.description import config_from_json
from explorer.config.hugging_face import config_from_hugging_face, eos_ids, sliding_window
from tests.conftest import DATA

CONFIGS = DATA / "cases" / "files" / "configs"
REFUSED = {
    "mixtral-8x7b": "'mixtral' \\(a mixture of experts\\)",
    "gemma2-9b": "'gemma2' \\(soft-capped scores",
    "gpt2": "'gpt2' \\(learned positions",
}
READ = sorted(path.stem for path in CONFIGS.glob("*.json") if path.stem not in REFUSED)
PUBLISHED = {
    "qwen3-4b": 4_022_468_096,  # case C04
    "llama3.1-405b": 405_853_388_800,  # case C06
    "qwen2.5-7b": 7_615_616_512,  # case C10
    "llama3.3-70b-instruct": 70_553_706_496,  # case C12
    "llama3.1-8b": 8_030_261_248,
    "mistral-7b-v0.1": 7_241_732_096,
}
LLAMA3 = Llama3Scaling(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_context=8192)
SMALL = {
    "model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
    "intermediate_size": 96, "vocab_size": 512, "rms_norm_eps": 1e-5, "max_position_embeddings": 64,
}  # fmt: skip
LLAMA3_ROPE = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}  # fmt: skip


def table(name):
    return json.loads((CONFIGS / f"{name}.json").read_text())


def small(**changes):
    return config_from_hugging_face(SMALL | changes, name="small")


@pytest.mark.parametrize("name", READ)
def test_every_size_is_the_one_that_transformers_reads(name):
    ours = config_from_hugging_face(table(name), name=name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = AutoConfig.for_model(**table(name))
    assert ours.vocab_size == theirs.vocab_size
    assert (ours.d_model, ours.n_layers, ours.d_ff) == (
        theirs.hidden_size, theirs.num_hidden_layers, theirs.intermediate_size,
    )  # fmt: skip
    assert (ours.n_heads, ours.n_kv_heads) == (theirs.num_attention_heads, theirs.num_key_value_heads)
    assert ours.head_dim == (getattr(theirs, "head_dim", None) or theirs.hidden_size // theirs.num_attention_heads)
    assert ours.rope_theta == theirs.rope_parameters["rope_theta"]
    assert ours.norm_eps == theirs.rms_norm_eps
    assert ours.tied_embedding == theirs.tie_word_embeddings
    scaling = theirs.rope_parameters
    assert (ours.rope_scaling is None) == (scaling["rope_type"] == "default")
    if isinstance(ours.rope_scaling, Llama3Scaling):
        assert ours.rope_scaling.factor == scaling["factor"]
        assert ours.rope_scaling.original_context == scaling["original_max_position_embeddings"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_model_of_these_sizes_has_the_published_number_of_parameters(name):
    config = config_from_hugging_face(table(name), name=name)
    assert Blueprint(config).parameters == PUBLISHED[name]


def test_the_implicit_biases_of_qwen2_are_129024_numbers():
    config = config_from_hugging_face(table("qwen2.5-7b"), name="qwen2.5")  # case C10
    biases = [weight for name, weight in Blueprint(config).model.named_parameters() if name.endswith("bias")]
    assert sum(bias.numel() for bias in biases) == 129_024
    assert len(biases) == 3 * config.n_layers


def test_the_head_size_of_qwen3_is_not_the_width_shared_by_the_heads():
    config = config_from_hugging_face(table("qwen3-4b"), name="qwen3")  # case C04
    attention = Blueprint(config).model.layers[0].attention
    assert config.head_dim == 128
    assert tuple(attention.query.weight.shape) == (4096, 2560)
    assert tuple(attention.output.weight.shape) == (2560, 4096)
    assert tuple(attention.key.weight.shape) == (1024, 2560)
    assert attention.query_norm.gain.numel() + attention.key_norm.gain.numel() == 2 * 128


@pytest.mark.parametrize("name", REFUSED)
def test_a_family_that_would_be_computed_wrongly_is_refused_by_name(name):
    with pytest.raises(UnsupportedFamily, match=REFUSED[name]) as refused:
        config_from_hugging_face(table(name), name=name)
    assert "qwen3" in refused.value.remedy


@pytest.mark.parametrize(
    ("rope", "theta", "scaling"),
    [
        ({"rope_theta": 500_000.0, "rope_scaling": LLAMA3_ROPE}, 500_000.0, LLAMA3),  # case C01
        ({"rope_scaling": LLAMA3_ROPE | {"rope_theta": 500_000.0}}, 500_000.0, LLAMA3),
        ({"rope_parameters": LLAMA3_ROPE | {"rope_theta": 500_000.0}}, 500_000.0, LLAMA3),  # case C02
        ({"rope_scaling": {**LLAMA3_ROPE, "type": "llama3", "rope_type": None}}, 10_000.0, LLAMA3),
        ({"rope_scaling": {"type": "linear", "factor": 4.0}}, 10_000.0, LinearScaling(factor=4.0)),
        ({"rope_scaling": {"rope_type": "default"}}, 10_000.0, None),
        ({"rope_scaling": None, "rope_theta": 1000}, 1000.0, None),
        ({}, 10_000.0, None),
    ],
)
def test_the_rotation_is_read_in_every_spelling(rope, theta, scaling):
    config = small(**rope)
    assert (config.rope_theta, config.rope_scaling) == (theta, scaling)


@pytest.mark.parametrize("head_dim", [{}, {"head_dim": None}, {"head_dim": 128}])
def test_the_head_size_may_be_absent_null_or_stated(head_dim):
    sizes = {"num_attention_heads": 48, "hidden_size": 6144, "num_key_value_heads": 8, "num_hidden_layers": 56}
    assert small(**sizes, **head_dim).head_dim == 128  # case C03


def test_without_key_value_heads_every_query_head_has_its_own():
    config = small(num_attention_heads=32, hidden_size=4096, num_hidden_layers=32)  # case C11
    assert config.n_kv_heads == 32
    assert 2 * config.n_layers * config.n_kv_heads * config.head_dim * 2 == 524_288


@pytest.mark.parametrize(("kv_heads", "total"), [(8, 405_853_388_800), (16, 410_081_247_232)])
def test_the_count_follows_the_file_for_both_uploads_of_405b(kv_heads, total):
    config = config_from_hugging_face(table("llama3.1-405b") | {"num_key_value_heads": kv_heads}, name="405b")
    assert Blueprint(config).parameters == total  # case C06


@pytest.mark.parametrize("eps", [1e-5, 1e-6])
def test_epsilon_is_the_files(eps):
    assert small(rms_norm_eps=eps).norm_eps == eps  # case C09


def test_one_end_token_or_a_list_of_them_is_read():
    assert eos_ids(table("llama3.3-70b-instruct")) == (128_001, 128_008, 128_009)  # case C12
    assert eos_ids({"eos_token_id": 2}) == (2,)
    assert eos_ids({"eos_token_id": None}) == eos_ids({}) == ()


def test_a_sliding_window_ends_the_context_where_it_begins_to_matter():
    mistral = table("mistral-7b-v0.1")
    assert config_from_hugging_face(mistral, name="m").context == 4096
    assert config_from_hugging_face(mistral | {"sliding_window": None}, name="m").context == 32_768
    assert sliding_window(table("qwen2.5-7b")) is None
    windowed = table("qwen2.5-7b") | {"use_sliding_window": True, "sliding_window": 1024}
    assert config_from_hugging_face(windowed, name="q").context == 1024


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"num_local_experts": 8}, "num_local_experts asks for a mixture of experts"),
        ({"attn_logit_softcapping": 50.0}, "soft-capped attention"),
        ({"attention_bias": True}, "a bias behind attention"),
        ({"mlp_bias": True}, "biases in the feed-forward"),
        ({"quantization_config": {"quant_method": "awq"}}, r"quantised \(awq\)"),
        ({"hidden_act": "gelu"}, "hidden_act is 'gelu'"),
        ({"partial_rotary_factor": 0.5}, "part of each head"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "rope scaling is 'yarn'"),
        ({"rope_parameters": {"full_attention": {"rope_type": "default"}}}, "from layer to layer"),
        ({"model_type": "llama4_text"}, "family 'llama4_text'"),
        ({"model_type": None, "architectures": ["FalconForCausalLM"]}, "family 'falcon'"),
    ],
)
def test_whatever_would_change_the_numbers_is_refused_by_name(changes, found):
    with pytest.raises(UnsupportedFamily, match=found):
        small(**changes)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"hidden_size": None}, "hidden_size is missing"),
        ({"hidden_size": -64}, "hidden_size is -64, expected a whole number"),
        ({"hidden_size": 64.5}, "hidden_size is 64.5, expected a whole number"),
        ({"hidden_size": True}, "hidden_size is True"),
        ({"vocab_size": 10**4000}, "vocab_size is a number of 13288 bits"),
        ({"hidden_size": 66}, "66 numbers do not divide into 4 heads"),
        ({"num_key_value_heads": 3}, "4 query heads cannot share 3"),
        ({"rms_norm_eps": float("nan")}, "rms_norm_eps is nan"),
        ({"tie_word_embeddings": "yes"}, "tie_word_embeddings is 'yes', expected true or false"),
        ({"rope_scaling": [8]}, "rope_scaling is \\[8\\], expected a table"),
        ({"rope_scaling": {"rope_type": "linear"}}, "factor is missing"),
        ({"rope_scaling": LLAMA3_ROPE | {"high_freq_factor": 1.0}}, "low_freq_factor 1.0, high_freq_factor 1.0"),
        ({"model_type": None}, "neither model_type nor architectures"),
    ],
)
def test_an_impossible_size_is_refused_with_what_was_expected(changes, found):
    with pytest.raises(ConfigError, match=found) as refused:
        small(**changes)
    assert refused.value.remedy


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.lists(st.integers())


@given(changes=st.dictionaries(st.sampled_from([*SMALL, "head_dim", "rope_scaling", "layer_types"]), VALUES))
@settings(max_examples=200, deadline=None)
def test_any_value_under_any_key_is_read_or_refused_by_name(changes):
    try:
        config_from_json(SMALL | changes, name="any", file_name="config.json")
    except ConfigError as error:
        assert error.found and error.remedy


def test_what_is_neither_format_is_refused():
    with pytest.raises(ConfigError, match="states neither hidden_size"):
        config_from_json({"width": 3}, name="other", file_name="other.json")
    assert "qwen3" in CONFIG_MAPPING
