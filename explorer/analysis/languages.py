"""The same sentence in several languages: Article 1 of the Universal Declaration of Human Rights.

The translations are those that the United Nations publish; the declaration may be copied freely.
"""

import json
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent.parent.parent / "assets" / "texts" / "human_rights.json"
REFERENCE = "English"


@cache
def article_1() -> dict[str, str]:
    """The article by the name of the language."""
    rows: list[dict[str, str]] = json.loads(FILE.read_text("utf-8"))
    return {row["language"]: row["text"] for row in rows}
