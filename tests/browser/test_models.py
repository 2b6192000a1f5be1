"""Models of a user's folder in the browser: chosen, described, refused, and never named by a path."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import serving, settle
from tests.checkpoint.tiny_folders import CASES, copied

NAME = "my **tiny** $model$ <b>"


@pytest.fixture(scope="module")
def address(explorer_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("models")
    shutil.copy(CASES / "tiny_a.gguf", folder / f"{NAME}.gguf")
    shutil.copy(CASES / "bad_magic.gguf", folder / "bad_magic.gguf")
    for path in copied(folder, "tiny_a_hf").glob("tokenizer*"):
        path.unlink()
    with serving(EXPLORER_MODELS=str(folder)) as running:
        yield running


@pytest.fixture
def page(address: str, browser: Browser) -> Iterator[Page]:
    context: BrowserContext = browser.new_context(viewport={"width": 1280, "height": 1000}, reduced_motion="reduce")
    yield context.new_page()
    context.close()


def open_link(page: Page, link: str) -> None:
    page.goto(link)
    settle(page)


def choose(page: Page, label: str) -> None:
    page.get_by_test_id("stSidebar").get_by_test_id("stSelectbox").locator("input").click()
    page.get_by_role("option", name=label, exact=True).click()
    settle(page)


def wait_for_link(page: Page, wanted: dict[str, list[str]]) -> None:
    page.wait_for_url(lambda url: parse_qs(urlsplit(url).query) == wanted, timeout=20_000)
    settle(page)


def test_switching_the_model_changes_the_model_alone_and_switching_back_drops_nothing(address: str, page: Page) -> None:
    link = {"prompt": ["Hello"], "layer": ["20"], "head": ["5"], "temperature": ["0.5"]}
    open_link(page, f"{address}/residual_stream?prompt=Hello&layer=20&head=5&temperature=0.5")
    choose(page, NAME)
    wait_for_link(page, link | {"model": ["my-tiny-model-b"]})
    expect(page.get_by_label("Your text")).to_have_value("Hello")
    expect(page.get_by_test_id("stSidebar").get_by_text("runs here")).to_contain_text(NAME, timeout=30_000)
    expect(page.get_by_text("This could not be done")).to_have_count(0)
    choose(page, "SmolLM2-135M-Instruct")
    wait_for_link(page, link)


def test_every_model_is_described_and_a_bad_one_says_why_and_cannot_be_chosen(address: str, page: Page) -> None:
    open_link(page, address)
    sidebar = page.get_by_test_id("stSidebar")
    sidebar.get_by_text("4 models, 1 cannot run").click()
    for words in (NAME, "158,144", "parameters · F32 · on", "tokenizer in the file", "not a GGUF file",
                  "no tokenizer", "safetensors in 2 files"):  # fmt: skip
        expect(sidebar).to_contain_text(words)
    sidebar.get_by_test_id("stSelectbox").locator("input").click()
    labels = page.get_by_role("option").all_inner_texts()
    assert set(labels) == {"SmolLM2-135M-Instruct", NAME, "tiny_a_hf"}


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("bad-magic", "not a GGUF file"),
        ("tiny-a-hf", "hold no tokenizer"),
        ("unheard-of", "There is no model 'unheard-of' here"),
    ],
)
def test_a_model_that_cannot_read_says_why_and_another_can_be_chosen(
    address: str, page: Page, model: str, words: str
) -> None:
    open_link(page, f"{address}/?model={model}&prompt=Hi")
    expect(page.get_by_test_id("stMain")).to_contain_text(words)
    choose(page, NAME)
    wait_for_link(page, {"model": ["my-tiny-model-b"], "prompt": ["Hi"]})
    expect(page.get_by_text("This could not be done")).to_have_count(0)


@pytest.mark.parametrize("path", ["../tiny_a_hf", "/etc/passwd", "tiny_a_hf", "..%2Ftiny-a-hf"])
def test_a_link_that_names_a_path_gets_the_default_model(address: str, page: Page, path: str) -> None:
    open_link(page, f"{address}/?model={path}")
    expect(page.get_by_text("is not the id of a model")).to_be_visible()
    expect(page.get_by_test_id("stSidebar").get_by_text("runs here")).to_contain_text("SmolLM2")
