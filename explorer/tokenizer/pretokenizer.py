"""The first cut: one regular expression splits a text into pieces, and no token ever crosses a piece.

Meta's own Llama 3 code also cuts runs of more than 25,000 characters that are all white space or all not, to spare an
older tiktoken; Hugging Face does not, and neither does this: the model never saw such a cut as a rule of its language.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import regex

_CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"

PATTERNS: Mapping[str, str] = MappingProxyType(
    {
        # Radford et al. 2019, encoder.py of the GPT-2 release.
        "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        # Hugging Face cuts out every digit first, then applies the GPT-2 pattern between the digits. As one expression:
        # white space before a digit then ends its text and so stays whole, which is the branch \s+(?=\p{N}).
        "smollm": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?=\p{N})|\s+(?!\S)|\s+",
        # Meta's models/llama3/tokenizer.py.
        "llama3": _CONTRACTION
        + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        # Qwen2 and Qwen3: Llama 3's, with every digit on its own (transformers' tokenization_qwen2.py).
        "qwen2": _CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        # No cut at all.
        "whole": r"[\s\S]+",
        # tiktoken_ext/openai_public.py; \Z is what Rust's regex calls $.
        "cl100k_base": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++\Z|\s*[\r\n]|\s+(?!\S)|\s",
        "o200k_base": rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}?"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    }
)


def split(text: str, pattern: str) -> list[str]:
    """The pieces of a text, which joined give it back; ``pattern`` is a name in ``PATTERNS``."""
    pieces: list[str] = _compiled(pattern).findall(text)
    return pieces


@cache
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(PATTERNS[pattern])
