"""Counts from descriptions, against transformers' own models, the published totals and the cases."""

import json
import warnings

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForCausalLM

from explorer.architecture.blueprint import Blueprint
from explorer.architecture.cost import matmul_operations, square_attention_operations
from explorer.architecture.counted_model import counted_from_json, counted_from_text
from explorer.architecture.decoder_sizes import sizes_of
from explorer.architecture.parameters import parameter_count
from explorer.architecture.presets import presets
from explorer.config import ConfigError, UnsupportedFamily
from explorer.config.known_models import known_models
from tests.conftest import DATA

CONFIGS = DATA / "cases" / "files" / "configs"
N_TOKENS = 7
SMALL = {
    "vocab_size": 211, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3, "num_attention_heads": 6,
    "num_key_value_heads": 2, "max_position_embeddings": 64,
}  # fmt: skip
MODELS = {
    "llama": SMALL | {"model_type": "llama"},
    "llama tied": SMALL | {"model_type": "llama", "tie_word_embeddings": True},
    "llama with biases": SMALL | {"model_type": "llama", "attention_bias": True, "mlp_bias": True},
    "llama with wide heads": SMALL | {"model_type": "llama", "head_dim": 20},
    "mistral": SMALL | {"model_type": "mistral", "sliding_window": None},
    "qwen2": SMALL | {"model_type": "qwen2"},
    "qwen3": SMALL | {"model_type": "qwen3", "head_dim": 10},
    "gemma2": SMALL | {"model_type": "gemma2", "head_dim": 10, "sliding_window": 16},
    "mixtral": SMALL | {"model_type": "mixtral", "num_local_experts": 5, "num_experts_per_tok": 2},
    "gpt2": {"model_type": "gpt2", "vocab_size": 211, "n_embd": 48, "n_layer": 3, "n_head": 6, "n_positions": 64},
    "gpt2 of another width": {
        "model_type": "gpt2", "vocab_size": 211, "n_embd": 48, "n_layer": 3, "n_head": 6, "n_positions": 64,
        "n_inner": 90,
    },
}  # fmt: skip
PUBLISHED = {
    "gemma2-9b": 9_241_705_984,  # case C08
    "gpt2": 124_439_808,  # case K03
    "llama2-7b": 6_738_415_616,  # case K02
    "llama3-8b": 8_030_261_248,
    "llama3.1-405b": 405_853_388_800,  # case C06
    "llama3.1-70b": 70_553_706_496,
    "llama3.1-8b": 8_030_261_248,
    "llama3.2-1b": 1_235_814_400,  # case K04
    "llama3.3-70b-instruct": 70_553_706_496,  # case C12
    "mistral-7b-v0.1": 7_241_732_096,
    "mixtral-8x7b": 46_702_792_704,  # case C07
    "qwen2.5-7b": 7_615_616_512,  # case C10
    "qwen3-4b": 4_022_468_096,  # case C04
    "qwen3-8b": 8_190_735_360,
    "smollm2-360m": 361_821_120,
    "tinyllama-1.1b": 1_100_048_384,
}  # the rest: case K10
META_8B = {
    "dim": 4096, "n_layers": 32, "n_heads": 32, "n_kv_heads": 8, "vocab_size": 128256, "ffn_dim_multiplier": 1.3,
    "multiple_of": 1024, "norm_eps": 1e-05, "rope_theta": 500000.0, "use_scaled_rope": True,
}  # fmt: skip


def sizes(description):
    return counted_from_json(description, name="counted", file_name="config.json").sizes


def from_file(name):
    return sizes(json.loads((CONFIGS / f"{name}.json").read_text()))


def theirs(description, device="meta"):
    with warnings.catch_warnings(), torch.device(device):
        warnings.simplefilter("ignore")
        return AutoModelForCausalLM.from_config(AutoConfig.for_model(**description), attn_implementation="eager")


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_those_of_the_model_that_transformers_builds(name):
    model = theirs(MODELS[name])
    assert parameter_count(sizes(MODELS[name])).total == sum(each.numel() for each in model.parameters())


@pytest.mark.parametrize("name", [name for name in MODELS if name != "mixtral"])
def test_operations_are_those_that_torch_counts_in_transformers_model(name):
    counted, model = sizes(MODELS[name]), theirs(MODELS[name])
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(1, N_TOKENS, dtype=torch.long, device="meta"))
    ours = N_TOKENS * matmul_operations(counted) + square_attention_operations(counted, N_TOKENS)
    assert counter.get_total_flops() == ours


def test_every_file_of_the_cases_has_a_published_total():
    assert set(PUBLISHED) == {path.stem for path in CONFIGS.glob("*.json")}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_total_comes_out_to_the_unit(name):
    assert parameter_count(from_file(name)).total == PUBLISHED[name]


def test_a_mixture_of_experts_is_counted_whole_and_for_one_token(cases):
    counted = parameter_count(from_file("mixtral-8x7b"))
    rule = cases["C07"]["expected"]["rule"]
    assert f"{counted.total:,}" in rule and f"{counted.active:,}" in rule


def test_a_meta_file_gives_the_same_model(cases):
    counted = sizes(META_8B)
    assert counted.d_ff == cases["C05"]["expected"]["intermediate_size"] == 14_336
    assert parameter_count(counted).total == cases["C05"]["expected"]["total_params"]


def test_a_meta_file_without_a_vocabulary_is_counted_with_that_of_llama_2():
    first = {"dim": 4096, "multiple_of": 256, "n_heads": 32, "n_layers": 32, "norm_eps": 1e-5, "vocab_size": -1}
    counted = counted_from_json(first, name="x", file_name="params.json")
    assert parameter_count(counted.sizes).total == PUBLISHED["llama2-7b"]
    assert any("32,000" in note for note in counted.notes)


def test_mistrals_own_files_are_counted():
    dense = {
        "dim": 4096, "n_layers": 32, "head_dim": 128, "hidden_dim": 14336, "n_heads": 32, "n_kv_heads": 8,
        "norm_eps": 1e-05, "vocab_size": 32000, "sliding_window": 4096,
    }  # fmt: skip
    assert parameter_count(sizes(dense)).total == PUBLISHED["mistral-7b-v0.1"]
    experts = dense | {"moe": {"num_experts": 8, "num_experts_per_tok": 2}, "sliding_window": None}
    assert parameter_count(sizes(experts)).total == PUBLISHED["mixtral-8x7b"]


def test_key_value_heads_follow_the_file_and_not_the_name(cases):
    table = json.loads((CONFIGS / "llama3.1-405b.json").read_text())
    expected = cases["C06"]["expected"]
    for heads in (8, 16):
        counted = sizes(table | {"num_key_value_heads": heads})
        assert parameter_count(counted).total == expected[f"kv{heads}"]


def test_a_null_head_width_is_derived_and_missing_key_value_heads_are_all(cases):
    assert sizes(SMALL | {"model_type": "llama", "head_dim": None}).head_dim == 8
    without = {key: value for key, value in SMALL.items() if key != "num_key_value_heads"}
    assert sizes(without | {"model_type": "llama"}).n_kv_heads == 6


def test_what_changes_only_the_rotation_or_the_storage_is_counted_all_the_same():
    changed = MODELS["llama"] | {
        "rope_scaling": {"type": "yarn", "factor": 4.0}, "quantization_config": {"quant_method": "gptq"},
    }  # fmt: skip
    counted = counted_from_json(changed, name="x", file_name="config.json")
    assert parameter_count(counted.sizes) == parameter_count(sizes(MODELS["llama"]))
    assert any("quantised" in note for note in counted.notes)


def test_a_window_is_noted_and_the_context_is_the_models_own():
    counted = counted_from_json(
        json.loads((CONFIGS / "mistral-7b-v0.1.json").read_text()), name="x", file_name="config.json"
    )
    assert (counted.sizes.context, counted.sizes.window, counted.sizes.windowed) == (32_768, 4096, 32)
    assert any("32 of 32 layers" in note for note in counted.notes)
    gemma = from_file("gemma2-9b")
    assert (gemma.window, gemma.windowed, gemma.n_layers) == (4096, 21, 42)


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ({"model_type": "deepseek_v3"}, "'deepseek_v3' \\(a mixture of experts\\)"),
        ({"model_type": "mamba"}, "'mamba'"),
        (MODELS["llama"] | {"num_local_experts": 4}, "a mixture of experts"),
        ({"architectures": ["FalconForCausalLM"]}, "'falcon'"),
    ],
)
def test_a_family_that_would_be_counted_wrongly_is_refused_by_name(description, words):
    with pytest.raises(UnsupportedFamily, match=words):
        sizes(description)


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[1, 2]", "7", "{}", '{"a": 1}', "[" * 5000, '{"model_type": "llama"}', '{"model_type": 5}',
        '{"model_type": "gpt2", "n_embd": 10, "n_layer": 1, "n_head": 3, "n_positions": 8, "vocab_size": 9}',
        '{"model_type": "llama", "hidden_size": -4}', '{"dim": 1e999}', '{"architectures": "x"}',
        '{"model_type": "mixtral", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, '
        '"vocab_size": 9, "intermediate_size": 9, "num_local_experts": 2, "num_experts_per_tok": 3}',
    ],
)  # fmt: skip
def test_a_text_that_describes_no_model_is_refused_with_a_remedy(text):
    with pytest.raises(ConfigError) as refused:
        counted_from_text(text, name="pasted")
    assert refused.value.remedy


@pytest.mark.parametrize(
    "sizes_of_it", [{"hidden_size": 2**31 - 2}, {"num_hidden_layers": 2**31 - 1, "hidden_size": 6}]
)
def test_a_model_that_nobody_could_build_is_refused(sizes_of_it):
    with pytest.raises(ConfigError, match="describes a model of"):
        sizes(MODELS["llama"] | {"head_dim": 2**20} | sizes_of_it)


def test_architectures_alone_name_the_family():
    gpt2 = {key: value for key, value in MODELS["gpt2"].items() if key != "model_type"}
    assert sizes(gpt2 | {"architectures": ["GPT2LMHeadModel"]}) == sizes(MODELS["gpt2"])


def test_presets_hold_what_runs_here_and_what_does_not():
    assert set(known_models()) < set(presets())
    assert {"gpt-2-small", "gemma-2-9b", "mixtral-8x7b"} == set(presets()) - set(known_models())
    totals = [parameter_count(preset.sizes).total for preset in presets().values()]
    assert totals == sorted(totals)


def test_the_numbers_in_published_files_are_the_parameters_and_the_buffers(cases):
    buffers = {preset.id: preset.buffers for preset in presets().values() if preset.buffers}
    assert buffers == {
        "llama-2-7b": cases["K02"]["expected"]["difference"], "llama-2-13b": 40 * 64, "llama-2-70b": 80 * 64,
        "gpt-2-small": cases["K03"]["expected"]["difference"],
    }  # fmt: skip
    assert all(presets()[model].sizes.stored_buffers == count for model, count in buffers.items())


@pytest.mark.parametrize("model", ["smollm2-135m-instruct", "qwen2.5-7b", "qwen3-4b", "llama-3.2-3b"])
def test_the_list_of_tensors_counts_what_the_real_modules_hold(model):
    config = known_models()[model].config
    blueprint, sums = Blueprint(config), parameter_count(sizes_of(config))
    assert blueprint.parameters == sums.total
    assert blueprint.parameters_of("layer") == sums.block
    assert blueprint.parameters_of("feed_forward") == sums.feed_forward_in_block
