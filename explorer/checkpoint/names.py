"""Which tensor of a file is which parameter of our model."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from explorer.config import ModelConfig
from explorer.errors import BadModelFile, UnsupportedModel

Shape = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Naming:
    """How one file format names the parameters of a Llama.

    ``outer`` and ``layer`` go from our module paths to the format's names; those of a layer follow ``layer_prefix``.
    ``harmless`` matches tensors that are no parameters and may be left out.
    """

    format: str
    outer: Mapping[str, str]
    layer_prefix: str
    layer: Mapping[str, str]
    harmless: re.Pattern[str]

    def stored_name(self, parameter: str) -> str:
        """The format's name of our ``parameter``."""
        if parameter in self.outer:
            return self.outer[parameter]
        _, layer, rest = parameter.split(".", 2)
        return self.layer_prefix.format(layer=layer) + self.layer[rest]


# llama.cpp stores the rows of query and key as adjacent pairs, as Meta does and as our RoPE turns them: no reordering.
GGUF_NAMES = Naming(
    format="GGUF",
    outer={
        "embedding.weight": "token_embd.weight",
        "norm.gain": "output_norm.weight",
        "unembedding.weight": "output.weight",
    },
    layer_prefix="blk.{layer}.",
    layer={
        "attention_norm.gain": "attn_norm.weight",
        "attention.query.weight": "attn_q.weight",
        "attention.key.weight": "attn_k.weight",
        "attention.value.weight": "attn_v.weight",
        "attention.query.bias": "attn_q.bias",
        "attention.key.bias": "attn_k.bias",
        "attention.value.bias": "attn_v.bias",
        "attention.query_norm.gain": "attn_q_norm.weight",
        "attention.key_norm.gain": "attn_k_norm.weight",
        "attention.output.weight": "attn_output.weight",
        "feed_forward_norm.gain": "ffn_norm.weight",
        "feed_forward.gate.weight": "ffn_gate.weight",
        "feed_forward.up.weight": "ffn_up.weight",
        "feed_forward.down.weight": "ffn_down.weight",
    },
    harmless=re.compile(r"rope_freqs\.weight|(blk\.\d+\.)?(attn\.)?(rotary_emb|rope)\.?(inv_)?freqs?(\.weight)?"),
)

HUGGING_FACE_NAMES = Naming(
    format="Hugging Face",
    outer={
        "embedding.weight": "model.embed_tokens.weight",
        "norm.gain": "model.norm.weight",
        "unembedding.weight": "lm_head.weight",
    },
    layer_prefix="model.layers.{layer}.",
    layer={
        "attention_norm.gain": "input_layernorm.weight",
        "attention.query.weight": "self_attn.q_proj.weight",
        "attention.key.weight": "self_attn.k_proj.weight",
        "attention.value.weight": "self_attn.v_proj.weight",
        "attention.query.bias": "self_attn.q_proj.bias",
        "attention.key.bias": "self_attn.k_proj.bias",
        "attention.value.bias": "self_attn.v_proj.bias",
        "attention.query_norm.gain": "self_attn.q_norm.weight",
        "attention.key_norm.gain": "self_attn.k_norm.weight",
        "attention.output.weight": "self_attn.o_proj.weight",
        "feed_forward_norm.gain": "post_attention_layernorm.weight",
        "feed_forward.gate.weight": "mlp.gate_proj.weight",
        "feed_forward.up.weight": "mlp.up_proj.weight",
        "feed_forward.down.weight": "mlp.down_proj.weight",
    },
    harmless=re.compile(r"(model\.)?(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq"),
)

META_NAMES = Naming(
    format="Meta",
    outer={
        "embedding.weight": "tok_embeddings.weight",
        "norm.gain": "norm.weight",
        "unembedding.weight": "output.weight",
    },
    layer_prefix="layers.{layer}.",
    layer={
        "attention_norm.gain": "attention_norm.weight",
        "attention.query.weight": "attention.wq.weight",
        "attention.key.weight": "attention.wk.weight",
        "attention.value.weight": "attention.wv.weight",
        "attention.output.weight": "attention.wo.weight",
        "feed_forward_norm.gain": "ffn_norm.weight",
        "feed_forward.gate.weight": "feed_forward.w1.weight",
        "feed_forward.up.weight": "feed_forward.w3.weight",
        "feed_forward.down.weight": "feed_forward.w2.weight",
    },
    harmless=re.compile(r"(rope\.freqs|layers\.\d+\.attention\.inner_attention\.rope\.freqs)"),
)

# One matrix that holds several of ours, as other families store them.
FUSED = re.compile(r"gate_up_proj|qkv_proj|\bWqkv\b|query_key_value|attn_qkv")

# An unknown tensor of these kinds would take part in the computation, so leaving it out would give wrong numbers.
CHANGES_THE_MODEL = re.compile(r"bias$|norm|exps?\b|experts?\b|router|shexp|lora|scale")


@dataclass(frozen=True, kw_only=True)
class MatchedNames:
    """``stored`` goes from our parameters to the file's tensors; ``notes`` tell of the tensors left over."""

    stored: Mapping[str, str]
    notes: tuple[str, ...]


def parameter_shapes(config: ModelConfig) -> dict[str, Shape]:
    """The shape of every parameter that a model of ``config`` has, in the order in which the data flows."""
    query, key = config.n_heads * config.head_dim, config.n_kv_heads * config.head_dim
    layer: dict[str, Shape] = {
        "attention_norm.gain": (config.d_model,),
        "attention.query.weight": (query, config.d_model),
        "attention.key.weight": (key, config.d_model),
        "attention.value.weight": (key, config.d_model),
    }
    if config.query_key_value_bias:
        layer |= {"attention.query.bias": (query,), "attention.key.bias": (key,), "attention.value.bias": (key,)}
    if config.query_key_norm:
        layer |= {"attention.query_norm.gain": (config.head_dim,), "attention.key_norm.gain": (config.head_dim,)}
    layer |= {
        "attention.output.weight": (config.d_model, query),
        "feed_forward_norm.gain": (config.d_model,),
        "feed_forward.gate.weight": (config.d_ff, config.d_model),
        "feed_forward.up.weight": (config.d_ff, config.d_model),
        "feed_forward.down.weight": (config.d_model, config.d_ff),
    }
    table = (config.vocab_size, config.d_model)
    shapes: dict[str, Shape] = {"embedding.weight": table}
    for index in range(config.n_layers):
        shapes |= {f"layers.{index}.{name}": shape for name, shape in layer.items()}
    shapes["norm.gain"] = (config.d_model,)
    if not config.tied_embedding:
        shapes["unembedding.weight"] = table
    return shapes


def match_names(
    naming: Naming, config: ModelConfig, stored_shapes: Mapping[str, Shape], file_name: str
) -> MatchedNames:
    """Find every parameter of ``config`` among the tensors of a file.

    Raises ``BadModelFile`` naming the first tensor that is missing or has another shape, and ``UnsupportedModel`` for
    a tensor that our model has no place for.
    """
    fused = next((name for name in stored_shapes if FUSED.search(name)), None)
    if fused is not None:
        raise UnsupportedModel(
            f"{file_name}: the tensor {fused} ({_text(stored_shapes[fused])}) holds several matrices in one, which is "
            "not read: expected one tensor each for query, key, value, gate and up",
            "Use the same model with separate matrices, such as the GGUF file that llama.cpp makes of it.",
        )
    # Before any list is built: a damaged header may claim more layers than the file could ever hold.
    if config.n_layers > len(stored_shapes):
        raise _missing(file_name, _first_missing_norm(naming, config, stored_shapes), config)
    shapes = parameter_shapes(config)
    stored = {parameter: naming.stored_name(parameter) for parameter in shapes}
    for parameter, name in stored.items():
        if name not in stored_shapes:
            raise _missing(file_name, name, config)
        if stored_shapes[name] != shapes[parameter]:
            raise BadModelFile(
                f"{file_name}: the tensor {name} is {_text(stored_shapes[name])}, "
                f"but the sizes in the file ask for {_text(shapes[parameter])}",
                "The file is damaged or was converted wrongly: download it again from another source.",
            )
    extra = sorted(set(stored_shapes) - set(stored.values()))
    notes = tuple(_note(naming, name, stored_shapes[name], file_name) for name in extra)
    return MatchedNames(stored=stored, notes=notes)


def _first_missing_norm(naming: Naming, config: ModelConfig, stored_shapes: Mapping[str, Shape]) -> str:
    norms = (naming.stored_name(f"layers.{layer}.attention_norm.gain") for layer in range(config.n_layers))
    return next(norm for norm in norms if norm not in stored_shapes)


def _missing(file_name: str, name: str, config: ModelConfig) -> BadModelFile:
    return BadModelFile(
        f"{file_name}: the tensor {name} is missing, which a model of {config.n_layers} layers needs",
        "The file is incomplete: download it again.",
    )


def _note(naming: Naming, name: str, shape: Shape, file_name: str) -> str:
    if naming.harmless.fullmatch(name):
        return f"{name} ({_text(shape)}) is a buffer, not a parameter."
    if name == naming.outer["unembedding.weight"]:
        return f"{name} ({_text(shape)}) was left out: the model's description ties it to the embedding."
    if CHANGES_THE_MODEL.search(name):
        raise UnsupportedModel(
            f"{file_name}: the tensor {name} ({_text(shape)}) has no place in a Llama model, "
            "so leaving it out would give wrong numbers",
            "Use a model without other biases, adapters or experts.",
        )
    return f"{name} ({_text(shape)}) is unknown and was left out."


def _text(shape: Shape) -> str:
    return " by ".join(map(str, shape))
