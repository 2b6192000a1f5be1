"""The grid of readings, and a generation that is stopped and takes another turn, in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit, settle

pytestmark = pytest.mark.browser


def test_a_cell_of_the_lens_is_chosen_by_click_and_by_keyboard(visit: Visit) -> None:
    page = visit("/unembedding")
    grid = page.locator(".lens canvas")
    grid.scroll_into_view_if_needed()
    box = grid.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.3, box["y"] + 22 + 21 * 10.5)  # second of five tokens, eleventh row
    page.wait_for_url("**/unembedding?token=1&depth=20")
    settle(page)
    expect(page.locator(".lens .told")).to_contain_text("layer 9 · token 1 ·capital")
    grid.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url("**/unembedding?token=1&depth=18")


def test_a_generation_stops_at_once_and_the_link_says_where(visit: Visit) -> None:
    page = visit("/generation?limit=8&seed=40")
    page.get_by_label("Tokens at most").fill("400")
    page.get_by_label("Tokens at most").press("Enter")
    stop = page.locator(".st-key-stop button")
    expect(page.get_by_text("of at most 400 tokens")).to_be_visible()
    stop.click()
    page.wait_for_url("**/generation?*halt=*", timeout=10_000)
    settle(page)
    expect(page.get_by_text("stopped by you")).to_be_visible()


def test_another_turn_stands_in_the_link(visit: Visit) -> None:
    page = visit("/generation?limit=6&seed=5&at=2")
    page.locator("table tbody tr:nth-child(4) button").click()
    page.wait_for_url("**/generation?*forced=2-*")
    settle(page)
    expect(page.get_by_text("taken by hand")).to_be_visible()
