"""Every learned tensor of a model by its sizes, and the sums that people quote."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from math import prod

from explorer.architecture.decoder_sizes import DecoderSizes


class Group(StrEnum):
    """What a tensor belongs to."""

    EMBEDDING = "embedding"
    ATTENTION = "attention"
    FEED_FORWARD = "feed_forward"
    NORM = "norm"
    UNEMBEDDING = "unembedding"


@dataclass(frozen=True, kw_only=True)
class Weight:
    """One kind of learned tensor: ``copies`` of it in the whole model, ``used`` of them by a token.

    A ``multiplied`` one is a matrix that vectors are multiplied by; the others are looked up, added or scaled with. A
    ``shared`` one is another's table under a second name: it is multiplied by, and counts no numbers.
    """

    name: str
    group: Group
    shape: tuple[int, ...]
    copies: int = 1
    used: int = 1
    in_layer: bool = False
    multiplied: bool = False
    shared: bool = False

    @property
    def size(self) -> int:
        """Numbers in one copy."""
        return prod(self.shape)

    @property
    def parameters(self) -> int:
        """Learned numbers in the whole model."""
        return 0 if self.shared else self.size * self.copies

    @property
    def operations(self) -> int:
        """Multiplications and additions for one token: two for each number of the matrices that it meets."""
        return 2 * self.size * self.used if self.multiplied else 0


@dataclass(frozen=True, kw_only=True)
class ParameterCount:
    """The sums that people quote. ``block`` is one layer; ``active`` what one token is processed with.

    ``embedding`` is the table of tokens, ``positions`` that of learned positions. ``non_embedding`` leaves out both and
    the unembedding, as Kaplan et al. 2020 do.
    """

    total: int
    embedding: int
    positions: int
    unembedding: int
    block: int
    attention_in_block: int
    feed_forward_in_block: int
    active: int

    @property
    def non_embedding(self) -> int:
        """What is in the layers, and the final norm."""
        return self.total - self.embedding - self.positions - self.unembedding

    @property
    def feed_forward_share(self) -> float:
        """The feed-forward's share of one block."""
        return self.feed_forward_in_block / self.block


@cache
def weights(sizes: DecoderSizes) -> tuple[Weight, ...]:
    """Every learned tensor, in the order in which a token meets them; a matrix has shape (output, input)."""
    table = (sizes.vocab_size, sizes.d_model)
    found = [Weight(name="embedding", group=Group.EMBEDDING, shape=table)]
    if sizes.positions:
        positions = (sizes.positions, sizes.d_model)
        found.append(Weight(name="position_embedding", group=Group.EMBEDDING, shape=positions))
    found += _norms("attention_norm", sizes)
    found += _attention(sizes)
    if sizes.norms_per_layer == 4:
        found += _norms("attention_output_norm", sizes)
    found += _norms("feed_forward_norm", sizes)
    found += _feed_forward(sizes)
    if sizes.norms_per_layer == 4:
        found += _norms("feed_forward_output_norm", sizes)
    found += _norms("final_norm", sizes, in_layer=False)
    found.append(
        Weight(name="unembedding", group=Group.UNEMBEDDING, shape=table, multiplied=True, shared=sizes.tied_embedding)
    )
    return tuple(found)


@cache
def weight_by_name(sizes: DecoderSizes) -> Mapping[str, Weight]:
    """Every learned tensor by its name, which for a matrix is the id of its part in the catalogue."""
    return {weight.name: weight for weight in weights(sizes)}


@cache
def parameter_count(sizes: DecoderSizes) -> ParameterCount:
    """The sums over ``weights``."""
    listed, named = weights(sizes), weight_by_name(sizes)
    total = sum(weight.parameters for weight in listed)
    return ParameterCount(
        total=total,
        embedding=named["embedding"].parameters,
        positions=named["position_embedding"].parameters if sizes.positions else 0,
        unembedding=named["unembedding"].parameters,
        block=sum(in_one_block(weight, sizes) for weight in listed),
        attention_in_block=sum(in_one_block(w, sizes) for w in listed if w.group is Group.ATTENTION),
        feed_forward_in_block=sum(in_one_block(w, sizes) for w in listed if w.group is Group.FEED_FORWARD),
        active=total - sum(weight.size * (weight.copies - weight.used) for weight in listed),
    )


def in_one_block(weight: Weight, sizes: DecoderSizes) -> int:
    """Learned numbers of ``weight`` in one layer; none for what is in no layer."""
    return weight.parameters // sizes.n_layers if weight.in_layer else 0


def kaplan_estimate(sizes: DecoderSizes) -> int:
    """12 · layers · width²: four square matrices of attention, and a feed-forward of two that is four times as wide.

    Kaplan et al. 2020, "Scaling Laws for Neural Language Models", table 1. It leaves out embeddings, norms and biases.
    """
    return 12 * sizes.n_layers * sizes.d_model**2


def _attention(sizes: DecoderSizes) -> list[Weight]:
    query_width, kv_width = sizes.n_heads * sizes.head_dim, sizes.n_kv_heads * sizes.head_dim
    shapes = {
        "query": (query_width, sizes.d_model),
        "key": (kv_width, sizes.d_model),
        "value": (kv_width, sizes.d_model),
        "output": (sizes.d_model, query_width),
    }
    found = [each for name, shape in shapes.items() for each in _matrix(name, Group.ATTENTION, shape, sizes)]
    if sizes.query_key_norm:
        for name in ("query_norm", "key_norm"):
            found.append(_vector(name, Group.ATTENTION, sizes.head_dim, sizes))
    return found


def _feed_forward(sizes: DecoderSizes) -> list[Weight]:
    wide, narrow = (sizes.d_ff, sizes.d_model), (sizes.d_model, sizes.d_ff)
    names = {"gate": wide, "up": wide, "down": narrow} if sizes.gated else {"up": wide, "down": narrow}
    found: list[Weight] = []
    if sizes.experts:
        found += _matrix("router", Group.FEED_FORWARD, (sizes.experts.count, sizes.d_model), sizes)
    for name, shape in names.items():
        found += _matrix(name, Group.FEED_FORWARD, shape, sizes, repeated=True)
    return found


def _matrix(
    name: str, group: Group, shape: tuple[int, int], sizes: DecoderSizes, *, repeated: bool = False
) -> list[Weight]:
    """A matrix in every layer, with its bias if it has one; ``repeated`` where every expert has its own."""
    experts = sizes.experts if repeated else None
    copies, used = (sizes.n_layers * n for n in ((experts.count, experts.used) if experts else (1, 1)))
    found = [Weight(name=name, group=group, shape=shape, copies=copies, used=used, in_layer=True, multiplied=True)]
    if name in sizes.biased:
        found.append(Weight(name=f"{name}_bias", group=group, shape=shape[:1], copies=copies, used=used, in_layer=True))
    return found


def _norms(name: str, sizes: DecoderSizes, *, in_layer: bool = True) -> list[Weight]:
    """The gain of a norm, and the shift of one that centres."""
    names = (name, f"{name}_bias") if sizes.centred_norms else (name,)
    return [_vector(each, Group.NORM, sizes.d_model, sizes, in_layer=in_layer) for each in names]


def _vector(name: str, group: Group, length: int, sizes: DecoderSizes, *, in_layer: bool = True) -> Weight:
    copies = sizes.n_layers if in_layer else 1
    return Weight(name=name, group=group, shape=(length,), copies=copies, used=copies, in_layer=in_layer)
