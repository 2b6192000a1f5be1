"""Ten stops on the way of a prompt, each with a question that this very run answers.

Questions ask for ranks and sizes, never for what a random draw says: everyone with the link has the same answer.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

from explorer.analysis.residual_stream import STREAM_NORMS
from explorer.config import ModelConfig
from explorer.model.attention import pattern
from explorer.model.rope import rotation_speeds
from explorer.model.sampling import SamplerSettings, next_token
from explorer.trace.trace import Trace

MOST_OPTIONS = 5
TAPS = frozenset({"tap.embedded", "tap.final", "tap.logits"})
NORMS = STREAM_NORMS | {"tap.final"}


@dataclass(frozen=True, kw_only=True)
class Question:
    """What to predict: ``options`` with their true ``values`` (in ``unit``), the right one, and why it is right."""

    asks: str
    options: list[str]
    values: list[float]
    unit: str
    answer: int
    because: str


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the questions are made from: the run, the tokens as the screen shows them, and the text itself."""

    trace: Trace
    labels: Sequence[str]
    config: ModelConfig
    text: str
    label: Callable[[int], str]

    @property
    def layer(self) -> int:
        """The layer that the tour looks into: two thirds of the way up."""
        return look_layer(self.config)


@dataclass(frozen=True, kw_only=True)
class Stop:
    """One idea, the page that goes deeper, and the question."""

    title: str
    idea: str
    page: str
    ask: Callable[[Seen], Question]


def look_layer(config: ModelConfig) -> int:
    """Two thirds of the way up, where heads are busy and the answer is not out yet."""
    return config.n_layers * 2 // 3


def tour_taps(config: ModelConfig) -> frozenset[str]:
    """All tensors that the questions need: one layer is replayed, once."""
    layer = f"layers.{look_layer(config)}"
    return TAPS | {
        f"{layer}.attention.tap.rotated_query",
        f"{layer}.attention.tap.rotated_key",
        f"{layer}.feed_forward.tap.product",
    }


def _pieces(seen: Seen) -> Question:
    n, words, characters = len(seen.labels), len(seen.text.split()), len(seen.text)
    counts = sorted({n, words, characters, n + 2, max(1, n - 1)})
    return Question(
        asks="Into how many tokens is your text cut?",
        options=[f"{count:,}" for count in counts],
        values=[float(count == n) for count in counts],
        unit="",
        answer=counts.index(n),
        because=f"{words:,} words and {characters:,} characters make {n:,} tokens: common words are one piece, "
        "rare ones are several, and a space belongs to the word that follows it.",
    )


def _rows(seen: Seen) -> Question:
    places = _spread(len(seen.labels))
    lengths = seen.trace.norms["tap.embedded"][places].tolist()
    return _largest(
        seen, places, lengths, "Which of these tokens has the longest row in the embedding table?", "L2 length",
        "A row is looked up, not computed: the same id has the same row in every text. Frequent tokens tend to have "
        "other lengths than rare ones.",
    )  # fmt: skip


def _stream(seen: Seen) -> Question:
    places = _spread(len(seen.labels))
    lengths = seen.trace.layer_norms("tap.after_feed_forward")[seen.layer][places].tolist()
    return _largest(
        seen, places, lengths, f"After layer {seen.layer}, which token's vector is the longest?", "L2 length",
        "Every sub-layer adds to the vector and nothing is overwritten. In most trained Llamas the first token's "
        "vector is written up to an enormous length: the place where attention is parked.",
    )  # fmt: skip


def _norm(seen: Seen) -> Question:
    before = float(seen.trace.norms["tap.final"][-1])
    after = math.sqrt(seen.config.d_model)
    values = sorted({round(after, 4), 1.0, round(before, 4), round(before / 10, 4)})
    return Question(
        asks=f"The last token's final vector is {before:,.1f} long. Divided by its root mean square, how long is it?",
        options=[f"{value:,.1f}" for value in values],
        values=values,
        unit="L2 length",
        answer=values.index(round(after, 4)),
        because=f"RMSNorm makes the mean of the squares 1, so the length becomes the square root of the width: "
        f"√{seen.config.d_model:,} = {after:.1f}, whatever it was before.",
    )


def _turn(seen: Seen) -> Question:
    position = len(seen.labels) - 1
    speeds = rotation_speeds(seen.config.head_dim, seen.config.rope_theta, seen.config.rope_scaling)
    pairs = sorted({0, 1, len(speeds) // 4, len(speeds) // 2, len(speeds) - 1})
    degrees = [math.degrees(position * float(speeds[pair])) for pair in pairs]
    return Question(
        asks=f"The last token stands at position {position}. Which pair of its query has turned the furthest?",
        options=[f"pair {pair}" for pair in pairs],
        values=degrees,
        unit="degrees",
        answer=0,
        because="Position enters by turning pairs of numbers in queries and keys. Pair 0 turns by one radian per "
        "position, each following pair more slowly; values are never turned.",
    )


def _attention(seen: Seen) -> Question:
    layer = f"layers.{seen.layer}.attention.tap"
    shares = pattern(seen.trace[f"{layer}.rotated_query"][:1, -1:], seen.trace[f"{layer}.rotated_key"][:1])[0, 0]
    places = _spread(len(seen.labels))
    return _largest(
        seen, places, shares[places].tolist(),
        f"In layer {seen.layer}, head 0, which of these tokens does the last token read the most?", "share",
        "The shares of a row add to 1 over all tokens up to itself. When a head has nothing to look for, most of its "
        "share is parked on the first token.",
    )  # fmt: skip


def _cache(seen: Seen) -> Question:
    config, n = seen.config, len(seen.labels)
    per_head = 2 * config.n_layers * config.head_dim * n * 4
    heads = sorted({1, config.n_kv_heads, config.n_heads})
    sizes = [per_head * count / 1024 for count in heads]
    return Question(
        asks="While generating, the keys and values of your text are kept. How much is that in float32?",
        options=[f"{size:,.0f} KiB" for size in sizes],
        values=sizes,
        unit="KiB",
        answer=heads.index(config.n_kv_heads),
        because=f"{config.n_heads} query heads share {config.n_kv_heads} key and value heads, so only these are kept, "
        f"in each of {config.n_layers} layers. Sharing saves memory; the arithmetic of the scores stays the same.",
    )


def _neurons(seen: Seen) -> Question:
    products = seen.trace[f"layers.{seen.layer}.feed_forward.tap.product"][-1].abs()
    share = float((products > 0.1 * products.max()).float().mean())
    bounds = [0.0, 0.02, 0.2, 0.6, 1.0]
    answer = next(place for place in range(4) if share <= bounds[place + 1])
    return Question(
        asks=f"Of the {len(products):,} neurons of layer {seen.layer}, how many exceed a tenth of the strongest one?",
        options=[f"{low:.0%} to {high:.0%}" for low, high in pairwise(bounds)],
        values=[share if place == answer else 0.0 for place in range(4)],
        unit="share of the neurons",
        answer=answer,
        because=f"It is {share:.1%}. SiLU is hardly ever exactly 0, so no neuron is off, but few matter for one token.",
    )


def _next(seen: Seen) -> Question:
    found = next_token(seen.trace["tap.logits"][-1], SamplerSettings())
    ids = sorted(found.ids[:4].tolist())
    p = {int(id): float(share) for id, share in zip(found.ids[:4], found.p[:4], strict=True)}
    best = int(found.ids[0])
    return Question(
        asks="Four tokens lead the list for what comes next. Which one leads?",
        options=[seen.label(id) for id in ids],
        values=[p[id] for id in ids],
        unit="probability",
        answer=ids.index(best),
        because=f"The last vector is compared with the row of every one of {seen.config.vocab_size:,} tokens. The best "
        f"match gets {p[best]:.1%} after the softmax.",
    )


def _temperature(seen: Seen) -> Question:
    logits = seen.trace["tap.logits"][-1]
    temperatures = [0.5, 1.0, 2.0]
    best = [float(next_token(logits, SamplerSettings(temperature=each)).p[0]) for each in temperatures]
    return Question(
        asks="At which temperature does the likeliest token get the smallest probability?",
        options=[f"{each:g}" for each in temperatures],
        values=best,
        unit="probability of the likeliest token",
        answer=2,
        because="Temperature divides the scores before the softmax. Above 1 it flattens, below 1 it sharpens, and "
        "the order of the tokens never changes.",
    )


STOPS = (
    Stop(title="Text becomes pieces", page="tokenizer", ask=_pieces,
         idea="The model sees no letters. Your text is cut into pieces of a fixed vocabulary; each piece is a number."),
    Stop(title="Numbers become vectors", page="embedding", ask=_rows,
         idea="Each id looks up one row of a table: all that the model knows of a token before it reads the others."),
    Stop(title="Layers add, nothing is erased", page="residual_stream", ask=_stream,
         idea="Each layer reads a token's vector and adds to it, twice: once what attention brings, once what the "
              "feed-forward computes."),
    Stop(title="Size is tamed before reading", page="normalization", ask=_norm,
         idea="Vectors grow very different in length. Before a sub-layer reads one, it is brought to the same size."),
    Stop(title="Position is a turn", page="rope", ask=_turn,
         idea="A token's place in the text turns its queries and keys, so that a score depends on how far apart two "
              "tokens stand."),
    Stop(title="Tokens read tokens", page="attention", ask=_attention,
         idea="Attention is the only place where tokens meet. Each head shares out one unit over the past."),
    Stop(title="Heads share their keys", page="attention", ask=_cache,
         idea="Many query heads read from few key and value heads. What is saved is memory, which limits long texts."),
    Stop(title="Neurons fire", page="feed_forward", ask=_neurons,
         idea="The feed-forward looks at one token alone: thousands of neurons, each gated by how well it matches."),
    Stop(title="The last vector speaks", page="unembedding", ask=_next,
         idea="After the last layer the last token's vector is compared with every token of the vocabulary."),
    Stop(title="One token is drawn", page="sampling", ask=_temperature,
         idea="Scores become probabilities, the sampler may reshape them, a draw takes one. Then all begins again."),
)  # fmt: skip


def _spread(n_tokens: int) -> list[int]:
    """At most five places of a text: the first, the last, and some between."""
    if n_tokens <= MOST_OPTIONS:
        return list(range(n_tokens))
    return sorted({round(step * (n_tokens - 1) / (MOST_OPTIONS - 1)) for step in range(MOST_OPTIONS)})


def _largest(seen: Seen, places: list[int], values: list[float], asks: str, unit: str, because: str) -> Question:
    return Question(
        asks=asks,
        options=[f"{place}: {seen.labels[place]}" for place in places],
        values=values,
        unit=unit,
        answer=int(torch.tensor(values).argmax()),
        because=because,
    )
