"""The diagram in a real browser: clicked, walked, opened, exported."""

from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from playwright.sync_api import Page, expect

from explorer.architecture.catalogue import PART, PARTS
from explorer.architecture.plan import plan
from explorer.config.known_models import known_models
from tests.browser.conftest import Visit, assert_accessible, settle

pytestmark = pytest.mark.browser
CONFIG = known_models()["smollm2-135m-instruct"].config
COVERED_TITLES = """() => {
  const roots = [...document.querySelectorAll('*')].map(each => each.shadowRoot);
  const root = roots.find(each => each?.querySelector('.plan')) ?? document;
  const names = [...root.querySelectorAll('.name')];
  const signs = [...root.querySelectorAll('.corner, .unlike')].map(each => each.getBoundingClientRect());
  return names.filter(name => {
    const box = name.getBoundingClientRect();
    return signs.some(sign => sign.left < box.right && sign.right > box.left && sign.top < box.bottom
      && sign.bottom > box.top);
  }).map(name => name.textContent);
}"""
CLOSED = [part.id for part in plan(CONFIG).parts]


def box(page: Page, part: str):
    return page.locator(f'[data-part="{part}"]')


def test_every_box_opens_its_panel_by_a_click(visit: Visit) -> None:
    page = visit("/architecture?size=llama-3.1-8b&inside=both&part=layer", width=1440)
    for part in (part for part in PARTS if not part.optional and part.id != "layer"):
        box(page, part.id).locator("rect").click()
        expect(page.locator(".st-key-part-panel h3").first).to_have_text(part.title)
        expect(box(page, part.id)).to_have_attribute("aria-pressed", "true")


def test_the_keyboard_follows_the_data_and_enter_selects(visit: Visit) -> None:
    page = visit("/architecture?size=llama-3.1-8b&part=token_ids", width=1440)
    box(page, "token_ids").focus()
    walked = ["token_ids"]
    for _ in range(len(CLOSED) + 1):
        page.keyboard.press("ArrowDown")
        focused = "document.activeElement.shadowRoot?.activeElement?.dataset ?? document.activeElement.dataset"
        walked += [page.evaluate(f"({focused}).part ?? ''")]
    assert [part for part in walked if part] == CLOSED
    page.keyboard.press("Enter")
    page.wait_for_url("**part=next_token*")
    assert sum(each.get_attribute("tabindex") == "0" for each in page.locator(".sheet [role=button]").all()) == 1


def test_a_block_opens_in_place_and_back_closes_it(visit: Visit) -> None:
    page = visit("/architecture?size=llama-3.1-8b", width=1440)
    page.get_by_role("button", name="Open Grouped-query attention").click()
    page.wait_for_url("**inside=attention*")
    expect(box(page, "softmax")).to_be_visible()
    box(page, "softmax").click()
    page.wait_for_url("**part=softmax*")
    page.get_by_role("button", name="Close Grouped-query attention").click()
    expect(box(page, "softmax")).to_have_count(0)
    page.go_back()
    settle(page)
    expect(box(page, "softmax")).to_have_attribute("aria-pressed", "true")


def test_pointing_says_one_sentence_without_asking_the_server(visit: Visit) -> None:
    page = visit("/architecture?size=llama-3.1-8b", width=1440)
    box(page, "final_norm").hover()
    expect(page.locator(".status").first).to_contain_text("The last of 65 norms")
    assert page.locator(".wire.near").count() == 2
    assert page.url.endswith("size=llama-3.1-8b")


def test_what_is_shown_is_what_is_exported(visit: Visit, tmp_path: Path) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        page = visit("/architecture?size=llama-3.1-8b&part=softmax", width=1440, scheme=scheme)
        with page.expect_download() as waiting:
            page.get_by_role("button", name="SVG", exact=True).click()
        waiting.value.save_as(tmp_path / "diagram.svg")
        text = (tmp_path / "diagram.svg").read_text("utf-8")
        root = fromstring(text)
        assert waiting.value.suggested_filename.endswith(".svg") and "var(" not in text
        shown = {each.attrib["data-part"] for each in root.iter() if "data-part" in each.attrib}
        assert "softmax" in shown and "silu" not in shown
        colours[scheme] = next(each.attrib["fill"] for each in root if each.tag.endswith("rect"))
        with page.expect_download() as waiting:
            page.get_by_role("button", name="PNG", exact=True).click()
        waiting.value.save_as(tmp_path / "diagram.png")
        data = (tmp_path / "diagram.png").read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n" and int.from_bytes(data[16:20], "big") > 1200
    assert colours["light"] != colours["dark"]


def test_the_legend_fades_a_category(visit: Visit) -> None:
    page = visit("/architecture?size=llama-3.1-8b", width=1440)
    page.get_by_role("button", name="feed-forward", exact=True).click()
    expect(box(page, "feed_forward")).to_have_class("box feed_forward faded")
    expect(box(page, "attention")).to_have_class("box attention")
    page.get_by_role("button", name="feed-forward", exact=True).click()
    expect(box(page, "feed_forward")).to_have_class("box feed_forward")


def test_the_wheel_scrolls_the_page_and_with_control_it_zooms(visit: Visit) -> None:
    page = visit("/architecture?size=llama-3.1-8b", width=1440, height=700)
    box(page, "embedding").hover()
    wide = page.locator("svg.diagram").bounding_box()["width"]
    top = page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop")
    page.mouse.wheel(0, 200)
    page.wait_for_timeout(300)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") > top
    assert page.locator("svg.diagram").bounding_box()["width"] == wide
    page.get_by_role("button", name="Larger").click()
    assert page.locator("svg.diagram").bounding_box()["width"] == pytest.approx(1.25 * wide, rel=0.02)
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_a_selected_box_far_down_is_scrolled_into_view(visit: Visit) -> None:
    page = visit("/architecture?size=llama-3.1-8b&inside=both&part=next_token", width=1440, height=700)
    expect(box(page, "next_token")).to_be_in_viewport()


@pytest.mark.parametrize("width", [1440, 1024, 390])
@pytest.mark.parametrize("inside", ["none", "both"])
@pytest.mark.parametrize("sizes", ["size=llama-3.1-70b&against=llama-3.1-405b", "against=llama-3.1-8b"])
def test_no_text_sticks_out_of_its_box_and_the_page_does_not_scroll_sideways(
    visit: Visit, width: int, inside: str, sizes: str
) -> None:
    link = f"/architecture?{sizes}&part=layer&inside={inside}"
    page = visit(link, width=width)
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    for group in page.locator(".sheet .box").all():
        outside = group.evaluate(
            "group => { const body = group.querySelector('rect').getBoundingClientRect();"
            "const texts = [...group.querySelectorAll('text:not(.unlike)')];"
            "return texts.map(text => [text.textContent, text.getBoundingClientRect()])"
            ".filter(([, box]) => box.left < body.left || box.right > body.right || box.bottom > body.bottom + 1)"
            ".map(([text]) => text); }"
        )
        assert not outside, outside
    covered = page.evaluate(COVERED_TITLES)
    assert not covered, covered


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit: Visit, scheme: str) -> None:
    page = visit("/architecture?inside=both&part=rotary", scheme=scheme, width=1440)
    assert_accessible(page)


def test_every_part_is_known_to_these_tests() -> None:
    assert set(CLOSED) <= set(PART)
