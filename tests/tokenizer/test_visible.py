import unicodedata

import pytest

from explorer.tokenizer.visible import visible, visible_bytes


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (" the", "·the"),
        ("\t\tx", "⇥⇥x"),
        ("\n\n\n", "↵↵↵"),
        ("\u00a0", "\u2039U+00A0\u203a"),
        ("\u200b", "\u2039U+200B\u203a"),
        ("\ufe0f", "\u2039U+FE0F\u203a"),
        ("\x00", "\u2039U+0000\u203a"),
        ("\U000e0041", "\u2039U+E0041\u203a"),
        ("\u0301", "◌\u0301"),
        ("é漢🙂", "é漢🙂"),
    ],
)
def test_every_character_leaves_a_mark(text: str, label: str) -> None:
    assert visible(text) == label


def test_a_no_break_space_does_not_look_like_a_space() -> None:
    assert visible("a\u00a0b") != visible("a b")


def test_bytes_that_are_no_whole_characters_are_shown_in_hexadecimal() -> None:
    assert visible_bytes(b"\xf0\x9f") == "F0 9F"
    assert visible_bytes(b" caf\xc3\xa9") == "·café"


def test_no_label_is_empty_or_blank() -> None:
    for character in map(chr, range(0xD800)):
        if unicodedata.category(character) != "Cn":  # what is assigned grows with every Unicode
            assert visible(character).strip() and visible(character).isprintable(), hex(ord(character))
