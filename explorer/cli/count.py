"""``count``: what a model costs in parameters, operations and bytes."""

from dataclasses import replace
from pathlib import Path

from explorer.architecture.cost import (
    BITS,
    BYTES,
    attention_operations,
    causal_attention_operations,
    kv_bytes,
    kv_bytes_per_token,
    matmul_operations,
    prompt_operations,
    square_attention_operations,
    training_operations,
    weight_bytes,
)
from explorer.architecture.counted_model import CountedModel, counted_from_json
from explorer.architecture.decoder_sizes import DecoderSizes, sizes_of
from explorer.architecture.parameters import kaplan_estimate, parameter_count, weights
from explorer.architecture.presets import presets
from explorer.checkpoint.json_file import read_json
from explorer.checkpoint.open_checkpoint import open_checkpoint
from explorer.cli.output import Json
from explorer.cli.session import Session
from explorer.errors import BadValue, NoSuchModel

LONGEST_CONTEXT = 10**9


def count(*, model: str | None, config: str | None, context: int | None, dtype: str) -> Json:
    """Parameters, operations per token and cache of a model at a context of ``context`` tokens, by default its own.

    ``flops_per_token.attention`` is that of the newest token, which reads all the others; ``prompt_flops`` that of
    reading them all, with the masked half left out or computed. Raises ``BadValue`` for a context or a dtype that
    cannot be, ``NoSuchModel``, and what is wrong with the file.
    """
    if dtype not in BITS:
        raise BadValue(f"--dtype is {dtype!r}.", f"Give one of {', '.join(BITS)}.")
    if context is not None and not 1 <= context <= LONGEST_CONTEXT:
        raise BadValue(f"--context is {context}.", f"Give a number of tokens from 1 to {LONGEST_CONTEXT}.")
    if config is not None and model is not None:
        raise BadValue("Both --config and --model are given.", "Give one of them.")
    counted, buffers = _counted(model, config)
    return _answer(counted, buffers, counted.sizes.context if context is None else context, dtype)


def _counted(model: str | None, config: str | None) -> tuple[CountedModel, int]:
    """The model, and how many numbers a file of it holds beside its parameters."""
    if config is not None:
        path = Path(config)
        counted = counted_from_json(read_json(path), name=path.stem, file_name=path.name)
        return counted, counted.sizes.stored_buffers
    if model is not None and model in presets():
        preset = presets()[model]
        known = preset.sizes.stored_buffers if preset.buffers is None else preset.buffers
        return CountedModel(sizes=preset.sizes, notes=preset.notes), known
    if model is not None and Path(model).exists():
        checkpoint = open_checkpoint(Path(model), Path(model).name)
        sizes = sizes_of(checkpoint.config)
        return CountedModel(sizes=sizes, notes=checkpoint.notes), sizes.stored_buffers
    try:
        sizes = sizes_of((Session(model) if model else Session()).card.config)
    except NoSuchModel as error:
        raise NoSuchModel(error.found, f"Ids that can be counted: {', '.join(presets())}; or give a path.") from None
    return CountedModel(sizes=sizes), sizes.stored_buffers


def _answer(counted: CountedModel, buffers: int, context: int, dtype: str) -> Json:
    sizes = counted.sizes
    sums = parameter_count(sizes)
    element_bytes = BYTES.get(dtype, BYTES["bfloat16"])  # no cache is kept in less than a byte for each number
    matmul, attention = matmul_operations(sizes), attention_operations(sizes, context)
    every_head = replace(sizes, n_kv_heads=sizes.n_heads)
    return {
        "model": sizes.name,
        "family": sizes.family,
        "context": context,
        "dtype": dtype,
        "parameters": {
            "total": sums.total,
            "active": sums.active,
            "embedding": sums.embedding,
            "unembedding": sums.unembedding,
            "block": sums.block,
            "attention_share_of_block": sums.attention_in_block / sums.block,
            "ffn_share_of_block": sums.feed_forward_share,
            "non_embedding": sums.non_embedding,
            "kaplan_estimate": kaplan_estimate(sizes),
            "by_matrix": {
                weight.name: 0 if weight.shared else weight.parameters // (sizes.n_layers if weight.in_layer else 1)
                for weight in weights(sizes)
            },
        },
        "weights_bytes": weight_bytes(sums.total, dtype),
        "buffers": buffers,
        "flops_per_token": {
            "matmul": matmul,
            "attention": attention,
            "attention_per_context_token": attention_operations(sizes, 1),
            "total": matmul + attention,
            "training_6n": training_operations(sums.total),
            "training_6n_non_embedding": training_operations(sums.non_embedding),
        },
        "prompt_flops": {
            "causal": prompt_operations(sizes, context),
            "full_square": context * matmul + square_attention_operations(sizes, context),
            "attention_causal": causal_attention_operations(sizes, context),
        },
        "kv_cache": {
            "bytes_per_token": kv_bytes_per_token(sizes, sizes.n_layers, element_bytes),
            "bytes": kv_bytes(sizes, context, element_bytes),
            "with_mha_bytes": kv_bytes(every_head, context, element_bytes),
        },
        "notes": [*counted.notes, *_notes(sizes, buffers, context, element_bytes)],
    }


def _notes(sizes: DecoderSizes, buffers: int, context: int, element_bytes: int) -> list[str]:
    notes = [
        "by_matrix: learned numbers in one layer, and those outside the layers.",
        "One multiplication and one addition are 2 operations; the lookup in the embedding is none.",
        f"kv_cache: {context:,} tokens, {sizes.n_kv_heads} key/value heads, {element_bytes} bytes for each number.",
    ]
    if sizes.tied_embedding:
        notes.append("The unembedding is the embedding's own table: counted once, multiplied by all the same.")
    if buffers:
        notes.append(f"A file may hold {buffers:,} more numbers that are buffers: worked out, not learned.")
    return notes
