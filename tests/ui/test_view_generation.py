"""The choices of a generation, in a link."""

import pytest

from explorer.ui.view import View


def test_choices_come_back_from_their_link() -> None:
    view = View().changed(forced="3-260.7-284", halt=12, chat=True, system="Be brief.")
    again, problems = View.parse(view.params())
    assert again == view
    assert problems == []
    assert again.choices == {3: 260, 7: 284}
    assert View().choices == {}


@pytest.mark.parametrize("text", ["3", "3-", "-1-2", "3-260.", "a-b", "3-12345678", "1-2" + ".1-2" * 40])
def test_choices_that_cannot_be_read_are_told(text: str) -> None:
    view, problems = View.parse({"forced": text})
    assert view.forced == ""
    assert len(problems) == 1
