"""What a person does, in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ROOT, Visit, assert_accessible, settle

PATHS = ("/", *sorted(f"/{path.stem}?token=2" for path in (ROOT / "pages").glob("*.py")))

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_deep_link_opens_a_page_that_is_whole_accessible_and_fits_a_phone(
    visit: Visit, path: str, scheme: str
) -> None:
    page = visit(path, scheme=scheme)
    assert page.locator('[data-testid="stException"]').count() == 0
    assert page.locator(".st-key-named-error").count() == 0
    assert_accessible(page)
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(300)
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_a_clicked_token_is_in_the_address_and_back_undoes_it(visit: Visit) -> None:
    page = visit("/residual_stream")
    page.get_by_role("radio", name="Token 1:").click()
    page.wait_for_url("**/residual_stream?token=1")
    settle(page)
    expect(page.get_by_role("radio", name="Token 1:")).to_have_attribute("aria-checked", "true")
    page.go_back()
    settle(page)
    assert page.url.endswith("/residual_stream")
    expect(page.get_by_role("radio", name="Token 4:")).to_have_attribute("aria-checked", "true")


def test_a_token_is_chosen_by_the_keyboard(visit: Visit) -> None:
    page = visit("/tokenizer?token=1")
    page.get_by_role("radio", name="Token 1:").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url("**/tokenizer?token=3")


def test_two_quick_clicks_both_count(visit: Visit) -> None:
    page = visit("/sampling")
    page.get_by_role("button", name="Draw again").click(no_wait_after=True)
    page.get_by_role("radio", name="Token 2:").click(no_wait_after=True)
    page.wait_for_url("**/sampling?token=2&draw=2", timeout=15_000)


def test_a_link_carries_the_view_to_another_page_and_back(visit: Visit) -> None:
    page = visit("/residual_stream?prompt=Once+upon+a+time&token=1")
    for name in ("Sampling", "Residual stream", "Sampling"):
        page.get_by_role("link", name=name, exact=True).click()
        page.wait_for_url(f"**/{name.lower().replace(' ', '_')}?prompt=Once+upon+a+time&token=1")
        settle(page)
        expect(page.get_by_label("Your text")).to_have_value("Once upon a time", timeout=20_000)


def test_a_typed_prompt_comes_back_from_its_link_to_the_last_character(visit: Visit) -> None:
    typed = 'a&b=c#d 50% + 1 naïve $5 *a* <img src=x onerror="document.title=1"> :smile: \n\tend '
    page = visit("/tokenizer")
    page.get_by_label("Your text").fill(typed)
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/tokenizer?prompt=*")
    settle(page)
    title, link = page.title(), page.url.partition("/tokenizer")[2]
    again = visit(f"/tokenizer{link}")
    expect(again.get_by_label("Your text")).to_have_value(typed, timeout=20_000)
    assert again.title() == title
    labels = again.get_by_role("radiogroup", name="Tokens of the prompt").locator(".text").all_inner_texts()
    assert "".join(labels).replace("·", " ").replace("↵", "\n").replace("⇥", "\t") == typed


def test_the_same_link_draws_the_same_token_in_another_browser(visit: Visit) -> None:
    link = "/sampling?prompt=My+favourite+colour+is&temperature=1.5&seed=7&draw=3"
    drawn = [visit(link, scheme=scheme).locator("dd.text").first.inner_text() for scheme in ("light", "dark")]
    assert drawn[0] == drawn[1] != ""


def test_a_named_error_keeps_the_prompt(visit: Visit) -> None:
    page = visit("/residual_stream?prompt=" + "a+b+" * 1500)
    expect(page.locator(".st-key-named-error")).to_contain_text("2,048")
    assert page.get_by_label("Your text").input_value().startswith("a b a b")
