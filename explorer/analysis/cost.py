"""What a model costs, as tables: its tensors, its operations and its cache by context, and other models beside it."""

import math
from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from explorer.architecture.cost import (
    BYTES,
    attention_operations,
    causal_attention_operations,
    kv_bytes,
    kv_bytes_per_token,
    matmul_operations,
    newest_crossover,
    weight_bytes,
)
from explorer.architecture.decoder_sizes import DecoderSizes
from explorer.architecture.parameters import Group, in_one_block, kaplan_estimate, parameter_count, weights
from explorer.architecture.roofline import Accelerator, Work, decoding, least_time, prefill

FEWEST_TOKENS = 16
WORDS = {
    Group.EMBEDDING: "embedding",
    Group.ATTENTION: "attention",
    Group.FEED_FORWARD: "feed-forward",
    Group.NORM: "norms",
    Group.UNEMBEDDING: "unembedding",
}
SCORES = "scores and mix"


def matrix_table(sizes: DecoderSizes) -> pd.DataFrame:
    """Every learned tensor: its ``shape`` (output × input), how many ``copies``, ``each`` one's numbers, ``parameters``
    in all, their ``share`` of the model, and the ``operations`` of one token with all that it meets.
    """
    total = parameter_count(sizes).total
    return pd.DataFrame(
        {
            "tensor": weight.name,
            "belongs to": WORDS[weight.group],
            "shape": " × ".join(f"{length:,}" for length in weight.shape),
            "copies": 0 if weight.shared else weight.copies,
            "each": weight.size,
            "parameters": weight.parameters,
            "share": weight.parameters / total,
            "operations": weight.operations,
        }
        for weight in weights(sizes)
    )


def share_table(sizes: DecoderSizes, context: int, block_of: Mapping[str, DecoderSizes]) -> pd.DataFrame:
    """Who has how much of the parameters and of the operations of a token: one row per (``of``, ``part``).

    ``block_of`` names other models whose single block is shown for comparison.
    """
    rows = []
    model = {word: 0 for word in WORDS.values()}
    operations = model | {SCORES: attention_operations(sizes, context)}
    for weight in weights(sizes):
        model[WORDS[weight.group]] += weight.parameters
        operations[WORDS[weight.group]] += weight.operations
    shares = {
        "All parameters": model,
        "Parameters of one block": _block(sizes),
        f"Operations of a token that reads {context:,}": operations,
    }
    shares |= {f"Parameters of one block of {name}": _block(other) for name, other in block_of.items()}
    for of, parts in shares.items():
        whole = sum(parts.values())
        rows += [{"of": of, "part": part, "amount": n, "share": n / whole} for part, n in parts.items() if n]
    return pd.DataFrame(rows)


def _block(sizes: DecoderSizes) -> dict[str, int]:
    found: dict[str, int] = {}
    for weight in weights(sizes):
        found[WORDS[weight.group]] = found.get(WORDS[weight.group], 0) + in_one_block(weight, sizes)
    return found


def crossover(sizes: DecoderSizes) -> int | None:
    """The context at which the newest token's attention costs as much as all its matrices; None if there is none."""
    return newest_crossover(sizes)


def bytes_of_weights(sizes: DecoderSizes, precision: str) -> int:
    """Bytes of all parameters in ``precision``."""
    return weight_bytes(parameter_count(sizes).total, precision)


def contexts(sizes: DecoderSizes, at: int) -> list[int]:
    """Lengths of context to draw, four to each doubling, past the crossover, the model's own and ``at``."""
    most = max(sizes.context, 2 * at, 4 * (newest_crossover(sizes) or 1), 1 << 17)
    steps = math.ceil(4 * math.log2(most / FEWEST_TOKENS))
    marks = {round(FEWEST_TOKENS * 2 ** (step / 4)) for step in range(steps + 1)}
    return sorted(marks | {at, sizes.context})


def operation_table(sizes: DecoderSizes, at: int) -> pd.DataFrame:
    """Operations of a token by context: ``matrices``, attention of the ``newest`` token, its ``mean`` over a prompt of
    that length (half as much, as early tokens read little), and the ``total`` of the newest.
    """
    matrices = matmul_operations(sizes)
    return pd.DataFrame(
        {
            "context": n,
            "matrices": matrices,
            "newest": attention_operations(sizes, n),
            "mean": causal_attention_operations(sizes, n) / n,
            "total": matrices + attention_operations(sizes, n),
        }
        for n in contexts(sizes, at)
    )


def cache_table(sizes: DecoderSizes, at: int) -> pd.DataFrame:
    """Bytes of the cache by context, 2 to each number: with a key/value head for every query head (``mha``), with those
    that the model has (``own``), and with a single one (``mqa``).
    """
    kinds = {
        "mha": replace(sizes, n_kv_heads=sizes.n_heads),
        "own": sizes,
        "mqa": replace(sizes, n_kv_heads=1),
    }
    return pd.DataFrame(
        {"context": n} | {name: kv_bytes(kind, n) for name, kind in kinds.items()} for n in contexts(sizes, at)
    )


def steps_of_work(sizes: DecoderSizes, *, context: int, batch: int, n_tokens: int, precision: str) -> list[Work]:
    """A new token for one text and for ``batch`` texts, a prompt of ``context`` tokens, and one of ``n_tokens``."""
    batches = (1,) if batch == 1 else (1, batch)
    works = [decoding(sizes, context=context, batch=each, precision=precision) for each in batches]
    prompts = dict.fromkeys(each for each in (context, n_tokens) if each > 0)
    return works + [prefill(sizes, n_tokens=each, precision=precision) for each in prompts]


def time_table(works: list[Work], accelerator: Accelerator) -> pd.DataFrame:
    """One row per step of work: its ``intensity``, seconds that ``memory`` and ``compute`` take, the ``least`` of all,
    what it is ``bound`` by, and the operations per second that the least time comes to (``reached``).
    """
    rows = []
    for work in works:
        time = least_time(work, accelerator)
        rows.append(
            {
                "work": work.name,
                "operations": float(work.operations),
                "bytes": float(work.moved),
                "intensity": work.intensity,
                "memory": time.memory,
                "compute": time.compute,
                "least": time.seconds,
                "bound": time.bound,
                "reached": work.operations / time.seconds,
            }
        )
    return pd.DataFrame(rows)


def model_table(models: Mapping[str, DecoderSizes], chosen: str, context: int, precision: str) -> pd.DataFrame:
    """Models side by side, one row each; the ``chosen`` one is marked."""
    rows = []
    for name, sizes in models.items():
        sums, matmul = parameter_count(sizes), matmul_operations(sizes)
        element_bytes = BYTES["bfloat16"]
        rows.append(
            {
                "": "▶" if name == chosen else "",
                "Model": sizes.name,
                "Parameters": sums.total,
                "Active": sums.active,
                "Without embeddings": sums.non_embedding,
                "12·L·d² is off by": kaplan_estimate(sizes) / sums.non_embedding - 1,
                "One block": sums.block,
                "Feed-forward of it": sums.feed_forward_share,
                "d_ff ÷ d_model": sizes.d_ff / sizes.d_model,
                "Query heads : key/value": f"{sizes.n_heads} : {sizes.n_kv_heads}",
                "GFLOPs a token, matrices": matmul / 1e9,
                f"attention at {context:,}": attention_operations(sizes, context) / 1e9,
                "Equal at": newest_crossover(sizes),
                "Cache a token, KiB": kv_bytes_per_token(sizes, sizes.n_layers, element_bytes) / 2**10,
                f"Cache at {context:,}, GiB": kv_bytes(sizes, context) / 2**30,
                f"Weights in {precision}, GB": weight_bytes(sums.total, precision) / 1e9,
            }
        )
    return pd.DataFrame(rows).astype({"Equal at": "Int64"})
