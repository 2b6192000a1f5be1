"""The shape of every tensor on an arrow: in words, in symbols, and in numbers."""

from explorer.architecture.part import Flow
from explorer.config import ModelConfig

SYMBOLS = {
    "token": ("T", "tokens"),
    "source": ("T", "tokens"),
    "d_model": ("d", "width of a token's vector"),
    "head": ("H", "query heads"),
    "kv_head": ("G", "key/value heads"),
    "head_dim": ("h", "width of a head"),
    "pair": ("h/2", "pairs of a head"),
    "d_ff": ("f", "width of the feed-forward"),
    "vocab": ("V", "vocabulary"),
}
SEPARATOR = " × "


def sizes(config: ModelConfig, n_tokens: int) -> dict[str, int]:
    """The length of every axis that an arrow may name."""
    return config.axis_sizes(n_tokens) | {"pair": config.head_dim // 2}


def flow_axes(flow: Flow, tap_axes: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The axes of what ``flow`` carries for one prompt; ``tap_axes`` are those of the model's taps, by address."""
    axes = tap_axes[flow.tap.format(layer=0)] if flow.tap else tuple(flow.axes.split())
    return tuple(axis for axis in axes if axis != "batch")


def in_symbols(axes: tuple[str, ...]) -> str:
    """``T × d``"""
    return SEPARATOR.join(SYMBOLS[axis][0] for axis in axes)


def in_numbers(axes: tuple[str, ...], config: ModelConfig, n_tokens: int) -> str:
    """``5 × 576``"""
    lengths = sizes(config, n_tokens)
    return SEPARATOR.join(f"{lengths[axis]:,}" for axis in axes)


def in_words(axes: tuple[str, ...]) -> str:
    """``token × d_model``"""
    return SEPARATOR.join(axes)
