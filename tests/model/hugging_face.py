"""The same weights inside transformers' LlamaForCausalLM: a second implementation by other people."""

from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from explorer.config import LinearScaling, Llama3Scaling, ModelConfig
from explorer.model.llama import Llama

OF_LAYER = {
    "self_attn.q_proj.weight": "attention.query.weight",
    "self_attn.k_proj.weight": "attention.key.weight",
    "self_attn.v_proj.weight": "attention.value.weight",
    "self_attn.o_proj.weight": "attention.output.weight",
    "mlp.gate_proj.weight": "feed_forward.gate.weight",
    "mlp.up_proj.weight": "feed_forward.up.weight",
    "mlp.down_proj.weight": "feed_forward.down.weight",
    "input_layernorm.weight": "attention_norm.gain",
    "post_attention_layernorm.weight": "feed_forward_norm.gain",
}


def twin(model: Llama) -> LlamaForCausalLM:
    """transformers' model with the weights of ``model``."""
    other = LlamaForCausalLM(hugging_face_config(model.config)).eval().requires_grad_(False)
    ours, config = model.state_dict(), model.config
    theirs = {"model.embed_tokens.weight": ours["embedding.weight"], "model.norm.weight": ours["norm.gain"]}
    theirs["lm_head.weight"] = ours["unembedding.weight"]
    for layer in range(config.n_layers):
        for their_name, our_name in OF_LAYER.items():
            weight = ours[f"layers.{layer}.{our_name}"]
            if their_name == "self_attn.q_proj.weight":
                weight = half_split(weight, config.n_heads)
            if their_name == "self_attn.k_proj.weight":
                weight = half_split(weight, config.n_kv_heads)
            theirs[f"model.layers.{layer}.{their_name}"] = weight
    other.load_state_dict(theirs)
    return other


def half_split(weight: Tensor, n_heads: int) -> Tensor:
    """Rows for the pairs (i, i + d/2) of Hugging Face, out of rows for the pairs (2i, 2i + 1)."""
    return weight.unflatten(0, (n_heads, -1, 2)).transpose(1, 2).flatten(0, 2)


def hugging_face_config(config: ModelConfig) -> LlamaConfig:
    rope: dict[str, object] = {"rope_theta": config.rope_theta, "rope_type": "default"}
    match config.rope_scaling:
        case None:
            pass
        case LinearScaling(factor=factor):
            rope |= {"rope_type": "linear", "factor": factor}
        case Llama3Scaling() as scaling:
            rope |= {
                "rope_type": "llama3",
                "factor": scaling.factor,
                "low_freq_factor": scaling.low_freq_factor,
                "high_freq_factor": scaling.high_freq_factor,
                "original_max_position_embeddings": scaling.original_context,
            }
        case other:
            raise ValueError(f"transformers has no counterpart of {other}")
    return LlamaConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.d_model,
        intermediate_size=config.d_ff,
        num_hidden_layers=config.n_layers,
        num_attention_heads=config.n_heads,
        num_key_value_heads=config.n_kv_heads,
        head_dim=config.head_dim,
        max_position_embeddings=config.context,
        rms_norm_eps=config.norm_eps,
        rope_parameters=rope,
        tie_word_embeddings=config.tied_embedding,
        attn_implementation="eager",
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )
