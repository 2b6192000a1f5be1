"""What people say about the cost of a model, each answered by a number that is worked out here."""

from dataclasses import dataclass, replace

from explorer.architecture.cost import (
    attention_operations,
    kv_bytes,
    matmul_operations,
    newest_crossover,
    pair_operations,
    training_operations,
    weight_bytes,
)
from explorer.architecture.decoder_sizes import DecoderSizes
from explorer.architecture.facts import in_bytes, rounded
from explorer.architecture.parameters import Group, kaplan_estimate, parameter_count, weight_by_name, weights
from explorer.architecture.presets import presets
from explorer.architecture.roofline import decoding, prefill

KAPLANS_KIND = "gpt-2-small"  # the kind of model that the rules of thumb were made for
SHORT_PROMPT = 512  # tokens


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence that is often heard, the number that answers it for this model, and why."""

    says: str
    number: str
    because: str


def claims(sizes: DecoderSizes, context: int, precision: str) -> list[Claim]:
    """The claims and their answers for a model that has read ``context`` tokens."""
    sums, rule = parameter_count(sizes), presets()[KAPLANS_KIND]
    rule_sums = parameter_count(rule.sizes)
    matmul, attention = matmul_operations(sizes), attention_operations(sizes, context)
    with_every_head = replace(sizes, n_kv_heads=sizes.n_heads)
    weights_read = weight_bytes(sums.total, precision)
    equal = newest_crossover(sizes)
    matrices = len([w for w in weights(sizes) if w.group is Group.FEED_FORWARD and w.multiplied and w.name != "router"])
    kaplan = kaplan_estimate(sizes)
    saved = matmul_operations(with_every_head) - matmul
    one, many = (
        decoding(sizes, context=context, batch=1, precision=precision),
        prefill(sizes, n_tokens=SHORT_PROMPT, precision=precision),
    )
    return [
        Claim(
            says="The feed-forward is two thirds of a block.",
            number=f"{sums.feed_forward_share:.1%}",
            because=(
                f"Two thirds is right for {rule.name}: {rule_sums.feed_forward_share:.1%}, with two matrices four "
                f"times as wide as the stream and a key/value head for every query head. Here there are {matrices} "
                f"matrices, {sizes.d_ff / sizes.d_model:.3g} times as wide, and {sizes.n_kv_heads} key/value heads for "
                f"{sizes.n_heads} query heads."
            ),
        ),
        Claim(
            says="d_ff is 4 · d_model.",
            number=f"{sizes.d_ff / sizes.d_model:.3g} · d_model",
            because=(
                "A gated feed-forward has three matrices instead of two, so two thirds of the width cost the same; "
                "each maker then scales and rounds. The width is a choice, not a law."
            ),
        ),
        Claim(
            says="12 · layers · width² counts the parameters.",
            number=f"{kaplan / sums.non_embedding - 1:+.1%}",
            because=(
                f"The rule gives {rounded(kaplan)}; without embeddings there are {rounded(sums.non_embedding)}. It "
                "assumes four square matrices in attention and 8 · width² in the feed-forward. That two errors may "
                "cancel is luck."
            ),
        ),
        Claim(
            says="Sharing key/value heads saves attention's arithmetic.",
            number=f"{pair_operations(sizes):,} operations",
            because=(
                "is what a pair of tokens costs in a layer, with and without sharing: every query head still makes its "
                f"own scores. Smaller key and value matrices save {saved / matmul_operations(with_every_head):.1%} of "
                f"the matrices' work, and the cache shrinks from {in_bytes(kv_bytes(with_every_head, context))} to "
                f"{in_bytes(kv_bytes(sizes, context))}."
            ),
        ),
        Claim(
            says="Attention is quadratic, so it is where the time goes.",
            number=f"{attention / (attention + matmul):.1%}",
            because=(
                f"of the newest token's operations at {context:,} tokens. "
                + (
                    f"It passes the matrices at {equal:,} tokens."
                    if equal
                    else "With its windows it never passes them."
                )
            ),
        ),
        Claim(
            says="A token costs 2 operations for each parameter.",
            number=f"{matmul / sums.total:.3f} per parameter",
            because=(
                f"before attention: {matmul:,} operations for {sums.total:,} parameters. A lookup in the embedding "
                "multiplies nothing, and a shared table is stored once and multiplied by all the same."
                + ("" if sizes.experts is None else " Experts that a token is not sent to cost it nothing.")
            ),
        ),
        Claim(
            says="Training takes 6N operations a token.",
            number=" or ".join(f"{training_operations(n) / 1e9:,.4g}" for n in (sums.non_embedding, sums.total)),
            because=(
                "billions: N without embeddings, as Kaplan et al. (2020) mean it, or with them. Check which N a paper "
                "means; neither has the part that grows with the context."
            ),
        ),
        Claim(
            says="The embedding is the cheap part.",
            number=f"{(sums.embedding + sums.unembedding) / sums.total:.1%} of the parameters",
            because=(
                "are the tables of tokens. Reading a row costs no operations, but scoring against every row takes "
                f"{weight_by_name(sizes)['unembedding'].operations / matmul:.1%} of the matrices' work."
            ),
        ),
        Claim(
            says="Gigabytes are gigabytes.",
            number=f"{weights_read / 1e9:,.4g} GB = {weights_read / 2**30:,.4g} GiB",
            because="for the weights. A GB is 10⁹ bytes, a GiB 2³⁰; tables that mix them are off by 7%.",
        ),
        Claim(
            says="A faster chip writes faster.",
            number=f"{one.intensity:,.3g} operations per byte",
            because=(
                "when one text is continued: all weights are read for a single token, and memory decides. Reading a "
                f"prompt of {SHORT_PROMPT} tokens has {many.intensity:,.3g}: there arithmetic decides."
            ),
        ),
    ]
