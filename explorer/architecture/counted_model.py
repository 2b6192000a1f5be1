"""A model to be counted, from the ``config.json`` or ``params.json`` that describes it; it need not run here.

Keys and defaults are those of transformers' ``GPT2Config``, ``Gemma2Config`` and ``MixtralConfig``; what runs here is
read by the readers of ``explorer.config``.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from explorer.architecture.decoder_sizes import DecoderSizes, Experts, sizes_of
from explorer.architecture.parameters import parameter_count
from explorer.config import ConfigError, UnsupportedFamily
from explorer.config.hugging_face import FAMILIES, REASONS, config_from_hugging_face, sliding_window
from explorer.config.meta import config_from_meta
from explorer.config.stated import Stated

# Keys that change what is computed, or how numbers are stored, but not how many there are.
NO_MATTER = ("rope_scaling", "rope_parameters", "quantization_config", "partial_rotary_factor")
ATTENTION_MATRICES = frozenset({"query", "key", "value", "output"})
FEED_FORWARD_MATRICES = frozenset({"gate", "up", "down"})
FIRST_VOCABULARY = 32_000  # the tokenizer of Llama 1 and 2, whose params.json states -1
MOST_PARAMETERS = 10**15  # beyond these, sums at long contexts leave the 64 bits that tables hold
MOST_SCORED = 10**9  # numbers of all queries of a token
REMEDY = "Paste the whole config.json or params.json, with its braces."

Table = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class CountedModel:
    """The sizes that a description states, and what had to be assumed or left out."""

    sizes: DecoderSizes
    notes: tuple[str, ...] = ()


def counted_from_text(text: str, *, name: str) -> CountedModel:
    """The model that the text of a description stands for. Raises ``ConfigError`` for what cannot be counted."""
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        raise ConfigError("The text is not JSON.", REMEDY) from None
    if not isinstance(table, dict):
        raise ConfigError("The text is JSON, but not a table of names and values.", REMEDY)
    return counted_from_json(table, name=name, file_name="The description")


def counted_from_json(table: Table, *, name: str, file_name: str) -> CountedModel:
    """The model that a parsed description stands for.

    Raises ``UnsupportedFamily``, naming the family, for what would be counted wrongly; ``ConfigError`` for a missing or
    impossible size, for a file that describes no model, and for a model that nobody could build.
    """
    counted = _read(table, name, file_name)
    sizes, total = counted.sizes, parameter_count(counted.sizes).total
    if total > MOST_PARAMETERS or sizes.n_layers * sizes.n_heads * sizes.head_dim > MOST_SCORED:
        raise ConfigError(
            f"{file_name} describes a model of {total:,} parameters and {sizes.n_layers:,} layers",
            f"Models of up to {MOST_PARAMETERS:,} parameters are counted: check the sizes for a digit too many.",
        )
    return counted


def _read(table: Table, name: str, file_name: str) -> CountedModel:
    if "model_type" not in table and "architectures" not in table and "dim" in table:
        return _from_meta(table, name, file_name)
    if not {"model_type", "architectures"} & table.keys():
        raise ConfigError(
            f"{file_name} states neither model_type or architectures, as a config.json of Hugging Face, nor dim, as a "
            "params.json of Meta",
            "Choose the config.json or params.json of a model.",
        )
    stated = Stated(table, file_name)
    family = _family(stated)
    if family in OTHERS:
        return OTHERS[family](stated, name)
    if family in FAMILIES:
        return _runs_here(stated, name, family)
    reason = f" ({REASONS[family]})" if family in REASONS else ""
    raise UnsupportedFamily(
        f"{file_name}: the model is of the family {family[:40]!r}{reason}, which this code would count wrongly",
        f"Families that are counted: {', '.join((*FAMILIES, *OTHERS))}.",
    )


def _family(stated: Stated) -> str:
    names = stated.table.get("architectures")
    architecture = str(names[0]) if isinstance(names, list) and names else ""
    return stated.text("model_type") or architecture.split("For")[0].removesuffix("LMHeadModel").lower()


def _runs_here(stated: Stated, name: str, family: str) -> CountedModel:
    table = {key: value for key, value in stated.table.items() if key not in (*NO_MATTER, "attention_bias", "mlp_bias")}
    table.setdefault("model_type", family)
    sizes = sizes_of(config_from_hugging_face(table, name=name, file_name=stated.file_name), family)
    window = sliding_window(table, file_name=stated.file_name) or 0
    biased = sizes.biased
    biased |= ATTENTION_MATRICES if stated.flag("attention_bias") and family != "qwen2" else frozenset()
    biased |= FEED_FORWARD_MATRICES if stated.flag("mlp_bias") else frozenset()
    context = stated.size("max_position_embeddings", FAMILIES[family].context)
    windowed = _windowed_layers(stated, family, sizes.n_layers) if window else 0
    sizes = replace(sizes, biased=biased, context=context, window=window if windowed else 0, windowed=windowed)
    notes = (_quantised(stated), _window_note(sizes))
    return CountedModel(sizes=sizes, notes=tuple(note for note in notes if note))


def _windowed_layers(stated: Stated, family: str, n_layers: int) -> int:
    kinds = stated.table.get("layer_types")
    if isinstance(kinds, list):
        return sum(kind == "sliding_attention" for kind in kinds[:n_layers])
    if family == "mistral":
        return n_layers
    first = stated.table.get("max_window_layers")
    return max(0, n_layers - first) if isinstance(first, int) else n_layers


def _gpt2(stated: Stated, name: str) -> CountedModel:
    d_model, n_heads, positions = (stated.size(key) for key in ("n_embd", "n_head", "n_positions"))
    n_layers = stated.size("n_layer")
    sizes = DecoderSizes(
        name=name,
        family="gpt2",
        vocab_size=stated.size("vocab_size"),
        d_model=d_model,
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=n_heads,
        head_dim=_divided(stated, d_model, n_heads),
        d_ff=stated.size("n_inner", 4 * d_model),
        context=positions,
        tied_embedding=_tied_by_default(stated),
        gated=False,
        positions=positions,
        centred_norms=True,
        biased=ATTENTION_MATRICES | FEED_FORWARD_MATRICES,
        stored_buffers=n_layers * positions**2,
    )
    return CountedModel(sizes=sizes, notes=("Query, key and value are one matrix in the file; here they are three.",))


def _gemma2(stated: Stated, name: str) -> CountedModel:
    n_layers = stated.size("num_hidden_layers")
    sizes = DecoderSizes(
        name=name,
        family="gemma2",
        vocab_size=stated.size("vocab_size"),
        d_model=stated.size("hidden_size"),
        n_layers=n_layers,
        n_heads=stated.size("num_attention_heads"),
        n_kv_heads=stated.size("num_key_value_heads"),
        head_dim=stated.size("head_dim", 256),
        d_ff=stated.size("intermediate_size"),
        context=stated.size("max_position_embeddings", 8192),
        tied_embedding=_tied_by_default(stated),
        norms_per_layer=4,
        biased=ATTENTION_MATRICES if stated.flag("attention_bias") else frozenset(),
        window=stated.size("sliding_window", 4096),
        windowed=(n_layers + 1) // 2,  # every other layer, the first among them
    )
    return CountedModel(sizes=sizes, notes=(_window_note(sizes),))


def _mixtral(stated: Stated, name: str) -> CountedModel:
    d_model, n_heads = stated.size("hidden_size"), stated.size("num_attention_heads")
    n_layers = stated.size("num_hidden_layers")
    window = stated.size("sliding_window") if stated.has("sliding_window") else 0
    sizes = DecoderSizes(
        name=name,
        family="mixtral",
        vocab_size=stated.size("vocab_size"),
        d_model=d_model,
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=stated.size("num_key_value_heads", 8),
        head_dim=stated.size("head_dim") if stated.has("head_dim") else _divided(stated, d_model, n_heads),
        d_ff=stated.size("intermediate_size"),
        context=stated.size("max_position_embeddings", 131_072),
        tied_embedding=stated.flag("tie_word_embeddings"),
        experts=_experts(stated.size("num_local_experts", 8), stated.size("num_experts_per_tok", 2), stated),
        window=window,
        windowed=n_layers if window else 0,
    )
    notes = (_experts_note(sizes), _window_note(sizes), _quantised(stated))
    return CountedModel(sizes=sizes, notes=tuple(note for note in notes if note))


def _from_meta(table: Table, name: str, file_name: str) -> CountedModel:
    stated = Stated(table, file_name)
    kept = {key: value for key, value in table.items() if key not in ("sliding_window", "moe", "quantization_args")}
    notes = []
    if table.get("vocab_size", -1) == -1:
        notes.append(f"{file_name} leaves the vocabulary to the tokenizer; Llama 1 and 2 have {FIRST_VOCABULARY:,}.")
    sizes = sizes_of(config_from_meta(kept, name=name, vocab_size=FIRST_VOCABULARY, file_name=file_name))
    if stated.has("moe"):
        moe = stated.inner("moe")
        experts = _experts(moe.size("num_experts"), moe.size("num_experts_per_tok"), moe)
        sizes = replace(sizes, family="mixtral", experts=experts, stored_buffers=0)
    if stated.has("head_dim"):  # Mistral's own format states it
        sizes = replace(sizes, head_dim=stated.size("head_dim"))
    if stated.has("sliding_window"):
        sizes = replace(sizes, window=stated.size("sliding_window"), windowed=sizes.n_layers)
    notes.append(
        f"{file_name} does not say whether the unembedding is the embedding's own table; counted as a second one. In "
        f"Llama 3.2 they are one: {sizes.vocab_size * sizes.d_model:,} fewer."
    )
    notes += [note for note in (_experts_note(sizes), _window_note(sizes)) if note]
    return CountedModel(sizes=sizes, notes=tuple(notes))


def _divided(stated: Stated, d_model: int, n_heads: int) -> int:
    if d_model % n_heads:
        found = f"{stated.file_name}: {d_model} numbers do not divide into {n_heads} heads"
        raise ConfigError(found, "Fetch the file again.")
    return d_model // n_heads


def _tied_by_default(stated: Stated) -> bool:
    return stated.flag("tie_word_embeddings") or not stated.has("tie_word_embeddings")


def _experts(count: int, used: int, stated: Stated) -> Experts:
    if used > count:
        found = f"{stated.file_name}: every token is sent through {used} of {count} experts"
        raise ConfigError(found, "Fetch the file again.")
    return Experts(count=count, used=used)


def _experts_note(sizes: DecoderSizes) -> str:
    experts = sizes.experts
    if experts is None:
        return ""
    return (
        f"A mixture of experts: each layer has {experts.count} feed-forwards and sends a token through {experts.used}. "
        "All must be in memory; operations count those that are used."
    )


def _window_note(sizes: DecoderSizes) -> str:
    if not sizes.windowed:
        return ""
    return f"{sizes.windowed} of {sizes.n_layers} layers read and keep the last {sizes.window:,} tokens only."


def _quantised(stated: Stated) -> str:
    return "The weights are quantised; numbers are counted, not bytes." if stated.has("quantization_config") else ""


OTHERS = cast(
    "Mapping[str, Callable[[Stated, str], CountedModel]]", {"gpt2": _gpt2, "gemma2": _gemma2, "mixtral": _mixtral}
)
