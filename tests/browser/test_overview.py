"""The landing page in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit, settle

pytestmark = pytest.mark.browser


def test_next_token_appends_what_was_drawn_and_back_takes_it_away(visit: Visit) -> None:
    page = visit("/?temperature=0")
    assert page.locator(".drawn").inner_text() == "·Paris"
    page.get_by_role("button", name="Next token").click()
    page.wait_for_url("**/?prompt=The+capital+of+France+is+Paris&temperature=0&draw=2")
    settle(page)
    assert page.get_by_label("Your text").input_value() == "The capital of France is Paris"
    expect(page.get_by_role("radio", name="Token 5:")).to_have_count(1)
    page.go_back()
    settle(page)
    assert page.get_by_label("Your text").input_value() == "The capital of France is"


def test_a_stage_opens_its_page_with_the_same_state(visit: Visit) -> None:
    page = visit("/?prompt=Once+upon+a+time&seed=5")
    page.get_by_role("button", name="Sample").click()
    page.wait_for_url("**/sampling?prompt=Once+upon+a+time&seed=5")
    settle(page)
    expect(page.get_by_role("heading", name="Sampling")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1024, 1280])
def test_the_five_stages_fit_beside_or_below_each_other(visit: Visit, width: int) -> None:
    page = visit("/?prompt=a+b+c+d+e+f+g+h+i+j+k+l", width=width)
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    boxes = [stage.bounding_box() for stage in page.locator(".stage").all()]
    assert len(boxes) == 5
    assert all(box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
