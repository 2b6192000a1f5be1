"""All heads of a model in one table, and the rules by which a head gets a name."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from explorer.analysis.head_scan import HeadScan

REPEATED_TOKENS = 25
REPEATS = 4
RANDOM_SEED = 0


@dataclass(frozen=True, kw_only=True)
class Rule:
    """When a head is called ``label``: its ``score`` is at least ``least``, and ``beyond`` at least ``LEAST_BEYOND``.

    ``beyond`` names the share that is not on the first token in the run that the score is from; None asks for none.
    """

    label: str
    score: str
    least: float
    beyond: str | None
    words: str


LEAST_BEYOND = 0.1
RULES = (
    Rule(
        label="first token", score="first", least=0.8, beyond=None,
        words="four fifths of its attention or more lie on the first token",
    ),
    Rule(
        label="previous token", score="previous_of_rest", least=0.5, beyond="beyond_first_here",
        words="of what is not on the first token, half or more lies on the token just before",
    ),
    Rule(
        label="induction", score="induction_of_rest", least=0.5, beyond="beyond_first",
        words="on the repeated random tokens, half or more of what is not on the first token lies on what came after "
        "earlier copies",
    ),
    Rule(
        label="same token", score="same_token_of_rest", least=0.5, beyond="beyond_first",
        words="on the repeated random tokens, half or more of what is not on the first token lies on earlier copies",
    ),
)  # fmt: skip


def repeated_random_tokens(vocab_size: int, begin: Sequence[int] = (), most: int = sys.maxsize) -> tuple[int, ...]:
    """The test sequence for induction: ``REPEATED_TOKENS`` random ids, ``REPEATS`` times, after a token to begin with.

    That is ``begin``, what the vocabulary begins every text with, or else one more random id. Drawn without repetition
    from the second fifth of the vocabulary: ids grow as tokens get rarer, and very common and very rare ones are to be
    left out. Length and number of repeats as in Olsson et al. 2022, or what fits into ``most`` tokens, so that a model
    with a short context can run them.
    """
    low, high = vocab_size // 5, 2 * vocab_size // 5
    count = min(REPEATED_TOKENS + 1, high - low, (most - len(begin or (0,))) // REPEATS + 1)
    drawn = np.random.default_rng(RANDOM_SEED).choice(np.arange(low, high), size=count, replace=False)
    first, *repeated = (int(token) for token in drawn)
    return (*(begin or (first,)), *repeated * REPEATS)


def head_table(on_prompt: HeadScan, on_repeats: HeadScan) -> pd.DataFrame:
    """One row per head: ``layer``, ``head``, every score, and ``label``, the names of the rules that hold.

    ``on_prompt`` is from ``scan`` of all layers on the prompt, ``on_repeats`` from ``repeat_scan`` on
    ``repeated_random_tokens``; ``label`` is empty where no rule holds.
    """
    n_layers, n_heads = on_prompt.scores["entropy"].shape
    columns: dict[str, NDArray[np.float64] | NDArray[np.int64]] = {
        "layer": np.repeat(np.arange(n_layers), n_heads),
        "head": np.tile(np.arange(n_heads), n_layers),
    }
    for each in (on_prompt, on_repeats):
        columns |= {name: values.ravel() for name, values in each.scores.items()}
    table = pd.DataFrame(columns)
    table["beyond_first_here"] = 1 - table["first"]
    table["label"] = [_label(row) for row in table.to_dict("records")]
    return table


def _label(scores: Mapping[str, float]) -> str:
    """The names of all rules that hold; a score that is NaN fulfils none."""
    return ", ".join(
        rule.label
        for rule in RULES
        if scores[rule.score] >= rule.least and (rule.beyond is None or scores[rule.beyond] >= LEAST_BEYOND)
    )
