"""The words that are written by hand: one Markdown file for each subject, in ``prose/``."""

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "prose"


@cache
def prose(subject: str) -> str:
    """What is to be said about ``subject``, in Markdown."""
    return (FOLDER / f"{subject}.md").read_text("utf-8")
