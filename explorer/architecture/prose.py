"""The words that are written by hand: one Markdown file for each subject, in ``prose/``."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template

FOLDER = Path(__file__).parent / "prose"


class _Words(Template):
    """Text in which ``@name`` stands for a fact; ``$`` is left to formulas."""

    delimiter = "@"


@cache
def prose(subject: str) -> str:
    """What is to be said about ``subject``, in Markdown."""
    return (FOLDER / f"{subject}.md").read_text("utf-8")


def filled(text: str, facts: Mapping[str, str]) -> str:
    """``text`` with its facts in place of their names. Raises ``KeyError`` for a name that is no fact."""
    return _Words(text).substitute(facts)


def summary(part: str, facts: Mapping[str, str]) -> str:
    """One sentence on a part of the catalogue: the first paragraph of its words."""
    return filled(" ".join(prose(f"parts/{part}").partition("\n\n")[0].split()), facts)


def explanation(part: str, facts: Mapping[str, str]) -> str:
    """Everything on a part after that sentence, in Markdown."""
    return filled(prose(f"parts/{part}").partition("\n\n")[2], facts)
