"""Text made readable where it would otherwise look empty, broken or like something else."""

import regex

SPACE, NEWLINE, TAB = "·", "↵", "⇥"

_OPEN, _CLOSE = "\u2039", "\u203a"  # single angle quotation marks
_MARKS = {" ": SPACE, "\n": NEWLINE, "\t": TAB}

# Controls, format characters, surrogates, private use, unassigned, separators, and what fonts draw as nothing.
_UNSEEN = regex.compile(r"[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]")

# A combining mark has nothing to sit on when its token is shown alone; Unicode's custom is a dotted circle.
_LEADING_MARK = regex.compile(r"\p{M}")


def visible(text: str) -> str:
    """The text as a label that shows every character: ``· ↵ ⇥``, and U+200B in angle quotes for others without ink."""
    seen: str = _UNSEEN.sub(lambda found: _MARKS.get(found[0], f"{_OPEN}U+{ord(found[0]):04X}{_CLOSE}"), text)
    return f"◌{seen}" if _LEADING_MARK.match(seen) else seen


def visible_bytes(data: bytes) -> str:
    """A token as a label: its text, or its bytes (``F0 9F``) when they are no whole characters."""
    try:
        return visible(data.decode())
    except UnicodeDecodeError:
        return data.hex(" ").upper()
