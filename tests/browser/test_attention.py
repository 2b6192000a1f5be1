"""The pictures of attention and of neurons, under a hand and under a keyboard."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit, assert_accessible, settle

pytestmark = pytest.mark.browser

MARGIN = 26  # pixels left of the first column of the grid


@pytest.mark.parametrize("path", ["/attention?layer=18&head=6", "/feed_forward?layer=20"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit: Visit, path: str, scheme: str) -> None:
    page = visit(path, scheme=scheme)
    page.locator("tbody tr").first.wait_for()
    assert_accessible(page)


@pytest.mark.parametrize("path", ["/attention?layer=18&head=6", "/feed_forward?layer=20"])
def test_a_phone_does_not_scroll_sideways(visit: Visit, path: str) -> None:
    page = visit(path, width=390, height=844)
    page.locator("tbody tr").first.wait_for()
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_a_square_of_the_grid_opens_its_head_and_back_returns(visit: Visit) -> None:
    page = visit("/attention")
    grid = page.locator('.grid canvas[data-drawn^="Attention of every head"]')
    step = (grid.bounding_box()["width"] - MARGIN) / 30
    grid.click(position={"x": MARGIN + 18.5 * step, "y": 6.5 * step})
    page.wait_for_url("**/attention?layer=18&head=6")
    settle(page)
    expect(page.get_by_role("heading", name="Layer 18, head 6")).to_be_visible()
    page.go_back()
    settle(page)
    expect(page.get_by_role("heading", name="Layer 0, head 0")).to_be_visible()


def test_a_cell_of_the_map_is_chosen_by_the_keyboard_and_never_in_the_future(visit: Visit) -> None:
    page = visit("/attention?layer=18&head=6&token=2&source=0")
    settle(page)
    drawing = page.locator(".map canvas").first
    told = page.locator(".map .told").first
    drawing.focus()
    page.keyboard.press("ArrowRight")
    expect(told).to_contain_text("2 ·of reads 1 ·capital: ")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    expect(told).to_contain_text("cannot read 3 ·France: it comes later")
    page.keyboard.press("Enter")
    assert "source=0" in page.url or "source" not in page.url
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/attention?token=3&layer=18&head=6&source=3")


def test_the_table_sorts_by_a_column_and_opens_a_head(visit: Visit) -> None:
    page = visit("/attention")
    first = page.locator("tbody tr").first
    expect(first).to_contain_text("induction")
    page.locator("th button", has_text="Token before").click()
    expect(first).to_contain_text("previous token")
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("Token before")
    name = first.locator("button").text_content()
    first.locator("button").click()
    layer = name.removeprefix("L").split(" H")[0]
    page.wait_for_url(re.compile(rf"layer={layer}\b"))
    settle(page)
    expect(page.locator("tbody tr[aria-current=true]")).to_contain_text(name)


def test_a_neuron_is_opened_and_shown_along_the_text(visit: Visit) -> None:
    page = visit("/feed_forward?layer=20")
    button = page.locator("tbody tr").nth(2).locator("button")
    name = button.text_content()
    button.click()
    page.wait_for_url(f"**/feed_forward?layer=20&neuron={name.replace(',', '')}")
    settle(page)
    expect(page.get_by_role("heading", name=f"Neuron {name} along the text")).to_be_visible()
