"""What a link says: one frozen value, read from the query string and written back to it.

The query string is the only store of a view. A field that still has its default is not written. A field that cannot be
read falls back to its default and is reported; nothing here ever raises on what a link holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Self, TypedDict

from explorer.architecture.catalogue import PART
from explorer.architecture.plan import BLOCKS
from explorer.ui.link_values import MAX_CHARACTERS, UnusableValueError, Value
from explorer.ui.link_values import Rule as _Rule
from explorer.ui.link_values import choice as _choice
from explorer.ui.link_values import forced as _forced
from explorer.ui.link_values import model_id as _model_id
from explorer.ui.link_values import numbers as _numbers
from explorer.ui.link_values import packed_prompt as _packed_prompt
from explorer.ui.link_values import prompt as _prompt
from explorer.ui.link_values import real as _real
from explorer.ui.link_values import short as _short
from explorer.ui.link_values import switch as _switch
from explorer.ui.link_values import whole as _whole

__all__ = ["MAX_CHARACTERS", "UnusableValueError", "Value", "View"]

VERSION = "1"
OWN = "own"
DEFAULT_SEED = 11
MAX_SEED = 2**31 - 1
MAX_DRAWS = 1_000


def _int(default: int, low: int, high: int) -> int:
    value: int = field(default=default, metadata={"rule": _Rule(_whole(low, high))})
    return value


def _float(default: float, low: float, high: float) -> float:
    value: float = field(default=default, metadata={"rule": _Rule(_real(low, high))})
    return value


class Sampler(TypedDict):
    """The controls of the sampler, by the names that the analysis takes."""

    temperature: float
    top_k: int
    top_p: float
    min_p: float


@dataclass(frozen=True, kw_only=True)
class View:
    """Everything that a reader has chosen. Names are those of the link's parameters."""

    prompt: str = field(default="The capital of France is", metadata={"rule": _Rule(_prompt, _packed_prompt)})
    model: str = field(default="smollm2-135m-instruct", metadata={"rule": _Rule(_model_id)})
    special: bool = field(default=False, metadata={"rule": _Rule(_switch)})
    token: int = _int(-1, -1, 1_000_000)
    layer: int = _int(0, 0, 1_000)
    head: int = _int(0, 0, 1_000)
    skip_first: bool = field(default=False, metadata={"rule": _Rule(_switch)})
    source: int = _int(-1, -1, 1_000_000)
    weighted: bool = field(default=False, metadata={"rule": _Rule(_switch)})
    colour: str = field(default="root", metadata={"rule": _Rule(_choice("root", "linear", "log", "row"))})
    direction: str = field(default="reads", metadata={"rule": _Rule(_choice("reads", "read_by"))})
    stop: int = _int(1, 1, 99)
    guess: int = _int(-1, -1, 99)
    neuron: int = _int(-1, -1, 1_000_000)
    threshold: float = _float(0.05, 0.0, 100.0)
    width_in: int = _int(0, 0, 1_000_000)
    width_factor: float = _float(1.0, 0.01, 16.0)
    width_multiple: int = _int(256, 1, 1_000_000)
    depth: int = _int(-1, -1, 2_000)
    measure: str = field(default="l2", metadata={"rule": _Rule(_choice("l2", "rms"))})
    norm: str = field(default="attention", metadata={"rule": _Rule(_choice("attention", "feed_forward", "final"))})
    vector: str = field(default="2,4,6", metadata={"rule": _Rule(_numbers(2, 12))})
    position: int = _int(-1, -1, 10_000_000)
    pair: int = _int(0, 0, 1_000)
    side: str = field(default="query", metadata={"rule": _Rule(_choice("query", "key"))})
    pairing: str = field(default="adjacent", metadata={"rule": _Rule(_choice("adjacent", "half"))})
    shift: int = _int(100, 0, 1_000_000)
    reach: int = _int(128, 1, 10_000_000)
    temperature: float = _float(1.0, 0.0, 5.0)
    top_k: int = _int(0, 0, 1_000_000)
    top_p: float = _float(1.0, 0.0, 1.0)
    min_p: float = _float(0.0, 0.0, 1.0)
    seed: int = _int(DEFAULT_SEED, 0, MAX_SEED)
    draw: int = _int(1, 1, MAX_DRAWS)
    lens_colour: str = field(default="p", metadata={"rule": _Rule(_choice("p", "rank", "entropy", "kl"))})
    without_norm: bool = field(default=False, metadata={"rule": _Rule(_switch)})
    whole: bool = field(default=False, metadata={"rule": _Rule(_switch)})
    answer: str = field(default="", metadata={"rule": _Rule(_short)})
    rival: str = field(default="", metadata={"rule": _Rule(_short)})
    chat: bool = field(default=False, metadata={"rule": _Rule(_switch)})
    system: str = field(default="", metadata={"rule": _Rule(_short)})
    limit: int = _int(24, 1, 512)
    halt: int = _int(-1, -1, 512)
    at: int = _int(-1, -1, 512)
    forced: str = field(default="", metadata={"rule": _Rule(_forced)})
    vocabulary: str = field(default=OWN, metadata={"rule": _Rule(_choice(OWN, "llama3", "cl100k_base", "o200k_base"))})
    step: int = _int(0, 0, 10_000)
    lookup: str = field(default="Paris", metadata={"rule": _Rule(_short)})
    first_dimension: int = _int(0, 0, 1_000_000)
    n_dimensions: int = _int(4, 1, 64)
    term_a: str = field(default=" king", metadata={"rule": _Rule(_short)})
    term_b: str = field(default=" man", metadata={"rule": _Rule(_short)})
    term_c: str = field(default=" woman", metadata={"rule": _Rule(_short)})
    part: str = field(default="attention", metadata={"rule": _Rule(_choice(*PART))})
    inside: str = field(default="none", metadata={"rule": _Rule(_choice("none", "both", *BLOCKS))})
    shapes: str = field(default="numbers", metadata={"rule": _Rule(_choice("numbers", "symbols"))})
    size: str = field(default="running", metadata={"rule": _Rule(_model_id)})
    against: str = field(default="none", metadata={"rule": _Rule(_model_id)})
    counted: str = field(default="running", metadata={"rule": _Rule(_model_id)})
    description: str = field(default="", metadata={"rule": _Rule(_prompt, _packed_prompt)})
    at_context: int = _int(8192, 1, 100_000_000)
    precision: str = field(default="bfloat16", metadata={"rule": _Rule(_choice("float32", "bfloat16", "int8", "int4"))})
    accelerator: str = field(default="h100", metadata={"rule": _Rule(_model_id)})
    bandwidth: float = _float(0.0, 0.0, 1_000_000.0)
    compute: float = _float(0.0, 0.0, 1_000_000.0)
    batch: int = _int(1, 1, 100_000)
    bos: str = field(default="auto", metadata={"rule": _Rule(_choice("auto", "on", "off"))})

    @property
    def sampler(self) -> Sampler:
        """The controls of the sampler."""
        return Sampler(temperature=self.temperature, top_k=self.top_k, top_p=self.top_p, min_p=self.min_p)

    @property
    def choices(self) -> dict[int, int]:
        """The token ids that a reader has put in place of drawn ones, by the step of the generation."""
        pairs = (pair.split("-") for pair in self.forced.split(".") if pair)
        return {int(step): int(token_id) for step, token_id in pairs}

    @property
    def with_bos(self) -> bool | None:
        """Whether to begin the text with the token that says so; None leaves it to the vocabulary."""
        return {"auto": None, "on": True, "off": False}[self.bos]

    @property
    def opened(self) -> frozenset[str]:
        """The blocks of the diagram that show their inside: those chosen, and the one around the selected part."""
        chosen = BLOCKS if self.inside == "both" else (self.inside,)
        return frozenset((*chosen, PART[self.part].inside)) & frozenset(BLOCKS)

    @property
    def numbers(self) -> tuple[float, ...]:
        """The small vector that a reader edits."""
        return tuple(float(part) for part in self.vector.split(","))

    def place(self, n_tokens: int) -> int:
        """The place of the selected token among ``n_tokens``: the last, unless the view names another that is there."""
        return self.token if 0 <= self.token < n_tokens else n_tokens - 1

    def params(self) -> dict[str, str]:
        """The query parameters of this view: what differs from the defaults, in the order of the fields."""
        return {
            each.name: each.metadata["rule"].write(getattr(self, each.name))
            for each in fields(self)
            if getattr(self, each.name) != each.default
        }

    @classmethod
    def parse(cls, params: Mapping[str, str]) -> tuple[Self, list[str]]:
        """The view of a link, and one sentence for each part of it that could not be used."""
        values: dict[str, Value] = {}
        problems = []
        if params.get("v", VERSION) != VERSION:
            problems.append("The link was made by another version of the explorer; what is known of it is shown.")
        for each in fields(cls):
            if each.name in params:
                try:
                    values[each.name] = each.metadata["rule"].read(params[each.name])
                except UnusableValueError as error:
                    problems.append(f"{each.name} {error}; the default is shown.")
        return cls(**values), problems  # type: ignore[arg-type]

    def changed(self, **changes: Value) -> Self:
        """A view with ``changes``, each held to the same rules as in a link.

        Raises ``UnusableValueError`` for a value that a link could not carry.
        """
        checked: dict[str, Value] = {}
        for each in fields(self):
            if each.name in changes:
                rule = each.metadata["rule"]
                checked[each.name] = rule.read(rule.write(changes[each.name]))
        return replace(self, **checked)  # type: ignore[arg-type]
