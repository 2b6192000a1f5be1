"""Our module paths against the names in files."""

import dataclasses

import pytest
from gguf import MODEL_ARCH, TensorNameMap

from explorer.checkpoint.names import GGUF_NAMES, match_names, parameter_shapes
from explorer.errors import BadModelFile, UnsupportedModel
from tests.conftest import random_llama

HUGGING_FACE = {
    "embedding.weight": "model.embed_tokens.weight",
    "norm.gain": "model.norm.weight",
    "unembedding.weight": "lm_head.weight",
    "attention_norm.gain": "input_layernorm.weight",
    "attention.query.weight": "self_attn.q_proj.weight",
    "attention.key.weight": "self_attn.k_proj.weight",
    "attention.value.weight": "self_attn.v_proj.weight",
    "attention.output.weight": "self_attn.o_proj.weight",
    "feed_forward_norm.gain": "post_attention_layernorm.weight",
    "feed_forward.gate.weight": "mlp.gate_proj.weight",
    "feed_forward.up.weight": "mlp.up_proj.weight",
    "feed_forward.down.weight": "mlp.down_proj.weight",
}


@pytest.fixture
def stored(tiny_config):
    return {GGUF_NAMES.stored_name(name): shape for name, shape in parameter_shapes(tiny_config).items()}


@pytest.mark.parametrize("tied", [False, True])
def test_the_expected_parameters_are_those_of_the_model(tiny_config, tied):
    config = dataclasses.replace(tiny_config, tied_embedding=tied)
    model = random_llama(config)
    assert parameter_shapes(config) == {name: tuple(weight.shape) for name, weight in model.named_parameters()}


def test_every_name_is_the_one_that_llama_cpp_gives_the_same_weight(tiny_config):
    theirs = TensorNameMap(MODEL_ARCH.LLAMA, tiny_config.n_layers)
    for parameter in parameter_shapes(tiny_config):
        if parameter.startswith("layers."):
            _, layer, rest = parameter.split(".", 2)
            known_as = f"model.layers.{layer}.{HUGGING_FACE[rest]}"
        else:
            known_as = HUGGING_FACE[parameter]
        assert GGUF_NAMES.stored_name(parameter) == theirs.get_name(known_as, (".weight",))


def test_a_complete_file_is_matched_without_a_note(tiny_config, stored):
    matched = match_names(GGUF_NAMES, tiny_config, stored, "tiny.gguf")
    assert list(matched.stored) == list(parameter_shapes(tiny_config))
    assert matched.notes == ()


@pytest.mark.parametrize("missing", ["token_embd.weight", "blk.0.attn_norm.weight", "blk.2.ffn_up.weight"])
def test_a_missing_tensor_is_refused_and_named(tiny_config, stored, missing):
    del stored[missing]
    with pytest.raises(BadModelFile, match=f"the tensor {missing} is missing"):
        match_names(GGUF_NAMES, tiny_config, stored, "tiny.gguf")


def test_a_claim_of_a_billion_layers_is_refused_at_once(tiny_config, stored):
    config = dataclasses.replace(tiny_config, n_layers=1_000_000_000)
    with pytest.raises(BadModelFile, match=r"blk.3.attn_norm.weight is missing, .* 1000000000 layers"):
        match_names(GGUF_NAMES, config, stored, "tiny.gguf")


def test_a_wrong_shape_is_refused_with_both_shapes(tiny_config, stored):
    stored["blk.1.attn_k.weight"] = (36, 20)
    with pytest.raises(BadModelFile, match=r"blk.1.attn_k.weight is 36 by 20, .* ask for 20 by 36"):
        match_names(GGUF_NAMES, tiny_config, stored, "tiny.gguf")


@pytest.mark.parametrize("name", ["rope_freqs.weight", "blk.0.attn.rotary_emb.inv_freq", "blk.1.rotary_emb.inv_freq"])
def test_a_buffer_of_the_rotation_is_noted_as_harmless(tiny_config, stored, name):
    notes = match_names(GGUF_NAMES, tiny_config, stored | {name: (5,)}, "tiny.gguf").notes
    assert notes == (f"{name} (5) is a buffer, not a parameter.",)


def test_an_unknown_tensor_is_reported_by_name(tiny_config, stored):
    notes = match_names(GGUF_NAMES, tiny_config, stored | {"blk.0.foo": (2, 3)}, "tiny.gguf").notes
    assert notes == ("blk.0.foo (2 by 3) is unknown and was left out.",)


@pytest.mark.parametrize(
    "name",
    ["blk.0.attn_q.bias", "blk.0.attn_q_norm.weight", "blk.0.ffn_gate_exps.weight", "blk.0.ffn_gate_shexp.weight"],
)
def test_a_tensor_that_would_change_the_numbers_is_refused(tiny_config, stored, name):
    with pytest.raises(UnsupportedModel, match=f"the tensor {name} .* has no place in a Llama model"):
        match_names(GGUF_NAMES, tiny_config, stored | {name: (36,)}, "tiny.gguf")
