"""Names from files and users inside our own sentences."""

import re

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~:$&^=@/])")


def literal(text: str) -> str:
    """``text`` so that Markdown shows it exactly as it is: no emphasis, formulas, links, icons or tags."""
    return _MARKDOWN.sub(r"\\\1", text).replace("\n", " ")


def error(largest: float) -> str:
    """The largest error of an identity, as it is printed beside the claim."""
    return f"± {largest:.0e}" if largest else "exactly"
