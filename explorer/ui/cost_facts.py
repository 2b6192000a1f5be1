"""The numbers of the cost page in tiles."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from explorer.architecture.cost import (
    BYTES,
    attention_operations,
    causal_attention_operations,
    kv_bytes,
    kv_bytes_per_token,
    matmul_operations,
    mean_crossover,
    newest_crossover,
    pair_operations,
    prompt_operations,
    square_attention_operations,
    training_operations,
    weight_bytes,
)
from explorer.architecture.decoder_sizes import DecoderSizes
from explorer.architecture.facts import in_bytes, rounded
from explorer.architecture.parameters import kaplan_estimate, parameter_count, weights
from explorer.architecture.roofline import Accelerator
from explorer.ui.components import Fact, fact_list
from explorer.ui.cost_controls import Counted

GIGA, GIBI = 10**9, 2**30


def summary_facts(counted: Counted, context: int, precision: str) -> None:
    """The model in six numbers."""
    sizes, sums = counted.sizes, parameter_count(counted.sizes)
    matmul, attention = matmul_operations(sizes), attention_operations(sizes, context)
    stored = weight_bytes(sums.total, precision)
    active = "" if sizes.experts is None else f"; {sums.active:,} of them for one token"
    facts = [
        Fact(name="Parameters", value=rounded(sums.total), note=f"{sums.total:,}{active}"),
        Fact(name="Without embeddings", value=rounded(sums.non_embedding), note=f"{sums.non_embedding:,}"),
        Fact(name="One of its layers", value=rounded(sums.block), note=f"{sums.block:,}, ×{sizes.n_layers}"),
        Fact(
            name="Operations of a token",
            value=rounded(matmul + attention),
            note=f"{matmul:,} with matrices, {attention:,} in attention at {context:,} tokens",
        ),
        Fact(name="Weights", value=f"{stored / GIGA:,.4g} GB", note=f"{stored / GIBI:,.4g} GiB, {stored:,} bytes"),
        Fact(
            name=f"Cache at {context:,}",
            value=in_bytes(kv_bytes(sizes, context)),
            note=f"{kv_bytes(sizes, context) / GIGA:,.4g} GB; "
            f"{in_bytes(kv_bytes_per_token(sizes, sizes.n_layers))} a token",
        ),
    ]
    fact_list(facts, key="cost-summary", tile=230)


def parameter_facts(counted: Counted) -> None:
    """What the parameters add up to, each sum against another way to it."""
    sizes, sums = counted.sizes, parameter_count(counted.sizes)
    kaplan = kaplan_estimate(sizes)
    listed = sum(weight.parameters for weight in weights(sizes))
    outside = sum(weight.parameters for weight in weights(sizes) if not weight.in_layer)
    apart = listed - (sizes.n_layers * sums.block + outside)
    facts = [
        Fact(
            name="Layers and the rest",
            value=f"{sizes.n_layers} × {sums.block:,} + {outside:,}",
            note=f"differs from the sum of the table by {apart:,}",
        ),
        Fact(name="12 · L · d²", value=rounded(kaplan), note=f"{kaplan / sums.non_embedding - 1:+.2%}, {kaplan:,}"),
        Fact(name="Feed-forward", value=f"{sums.feed_forward_share:.1%}", note="of one block"),
        Fact(name="Attention", value=f"{sums.attention_in_block / sums.block:.1%}", note="of one block"),
        Fact(
            name="Token tables",
            value=f"{(sums.embedding + sums.unembedding) / sums.total:.1%}",
            note="shared: one table, counted once" if sizes.tied_embedding else "embedding and unembedding, two tables",
        ),
        _published(counted, sums.total),
    ]
    fact_list(facts, key="cost-parameters", tile=230)


def operation_facts(sizes: DecoderSizes, context: int, prompt: int) -> None:
    """Where attention catches up, and what a whole prompt costs in three ways of counting."""
    newest, mean = newest_crossover(sizes), mean_crossover(sizes)
    causal, square = causal_attention_operations(sizes, context), square_attention_operations(sizes, context)
    sums = parameter_count(sizes)
    facts = [
        Fact(
            name="Attention equals the matrices",
            value=f"at {newest:,}" if newest else "never",
            note="tokens, for the newest token; "
            + (f"on a prompt's average at {mean:,}" if mean else "it has windows"),
        ),
        Fact(name="Two tokens, one layer", value=f"{pair_operations(sizes):,}", note="4 · heads · head width"),
        Fact(
            name=f"Reading {context:,} tokens",
            value=rounded(prompt_operations(sizes, context)),
            note=f"{prompt_operations(sizes, context):,}, every token scored",
        ),
        Fact(
            name="Its attention: triangle",
            value=rounded(causal),
            note=f"the full square takes {rounded(square)}, ×{square / causal:.4g}",
        ),
        Fact(
            name="Training, 6N",
            value=rounded(training_operations(sums.non_embedding)),
            note=f"a token, N without embeddings; {rounded(training_operations(sums.total))} with them",
        ),
        Fact(
            name=f"Your text: {prompt:,} token{'' if prompt == 1 else 's'}",
            value=rounded(prompt_operations(sizes, prompt)) if prompt else "0",
            note="operations to read it, by the running model's count of tokens",
        ),
    ]
    fact_list(facts, key="cost-operations", tile=230)


def cache_facts(sizes: DecoderSizes, context: int) -> None:
    """The cache with as many key/value heads as query heads, with those of the model, and with one."""
    kinds = {
        f"Multi-head: {sizes.n_heads}": replace(sizes, n_kv_heads=sizes.n_heads),
        f"This model: {sizes.n_kv_heads}": sizes,
        "Multi-query: 1": replace(sizes, n_kv_heads=1),
    }
    facts = [
        Fact(
            name=name,
            value=in_bytes(kv_bytes(kind, context)),
            note=f"{kv_bytes(kind, context) / GIGA:,.4g} GB; {kv_bytes_per_token(kind, kind.n_layers):,} bytes a token",
        )
        for name, kind in kinds.items()
    ]
    facts.append(
        Fact(
            name="How it comes about",
            value=f"2 × {sizes.n_layers} × {sizes.n_kv_heads} × {sizes.head_dim} × {BYTES['bfloat16']}",
            note="key and value × layers × key/value heads × head width × bytes",
        )
    )
    fact_list(facts, key="cost-cache", tile=170)


def time_facts(
    times: Sequence[Mapping[str, object]],
    sizes: DecoderSizes,
    machine: Accelerator,
    *,
    context: int,
    batch: int,
    precision: str,
) -> None:
    """The least time of each step of work, what it waits for, and whether everything fits into the machine."""
    facts = []
    for row in times:
        memory, compute = float(str(row["memory"])), float(str(row["compute"]))
        least = max(memory, compute)
        each = f"{batch / least:,.4g} tokens a second; " if "new token for each" in str(row["work"]) else ""
        each = each or (f"{1 / least:,.4g} tokens a second; " if row["work"] == "one new token" else "")
        facts.append(
            Fact(
                name=str(row["work"]).capitalize(),
                value=in_seconds(least),
                note=f"{each}memory {in_seconds(memory)}, arithmetic {in_seconds(compute)}",
            )
        )
    needed = weight_bytes(parameter_count(sizes).total, precision) + batch * kv_bytes(sizes, context)
    fits = "fit" if needed <= machine.memory else "do not fit"
    facts.append(
        Fact(
            name="Weights and cache" if batch == 1 else "Weights and caches",
            value=f"{needed / GIGA:,.4g} GB",
            note=f"{fits} into {machine.memory / GIGA:,.4g} GB",
        )
    )
    fact_list(facts, key="cost-times", tile=170)


def in_seconds(seconds: float) -> str:
    """``4.8 ms``"""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:,.3g} {unit}" if seconds < 1000 else f"{seconds:,.0f} s"
    return f"{seconds / 1e-9:,.3g} ns"


def _published(counted: Counted, total: int) -> Fact:
    if counted.published is None:
        possible = counted.sizes.stored_buffers
        note = f"older files hold {possible:,} buffers besides" if possible else "no file of it was counted"
        return Fact(name="Numbers in its files", value="unknown", note=note)
    buffers = counted.published - total
    note = f"{buffers:,} of them buffers, not learned" if buffers else "differs from this count by 0"
    return Fact(name="Numbers in its files", value=f"{counted.published:,}", note=note)
