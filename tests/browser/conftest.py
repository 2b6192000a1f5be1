"""One server and one browser for all browser tests."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
# Streamlit asks under the page's own path first where the server lives, and then takes the right one.
HARMLESS = "/_stcore/"
AXE = (Path(__file__).parent / "axe.min.js").read_text("utf-8")

Visit = Callable[..., Page]


@pytest.fixture(scope="session")
def server(explorer_home: Path) -> Iterator[str]:
    """A running app with the default model in its cache."""
    with serving() as address:
        yield address


@contextmanager
def serving(**environment: str) -> Iterator[str]:
    """A running app with these variables in its environment; its log must stay free of tracebacks."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py"]
    options = ["--server.port", str(port), "--server.address", "127.0.0.1"]
    process = subprocess.Popen(
        [*command, *options],
        cwd=ROOT,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_until_healthy(address)
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        log, _ = process.communicate(timeout=20)
    assert "Traceback" not in log, log[-4000:]


def _wait_until_healthy(address: str) -> None:
    for _ in range(150):
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1)
            return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError("the server did not start")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.fail("Chromium is not installed; install the package chromium, or set CHROMIUM to its path")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def contexts(browser: Browser) -> Iterator[Callable[[str], BrowserContext]]:
    """One context per colour scheme for all tests, so that the scripts are loaded once."""
    made: dict[str, BrowserContext] = {}

    def context(scheme: str) -> BrowserContext:
        if scheme not in made:
            made[scheme] = browser.new_context(color_scheme=scheme, reduced_motion="reduce")
        return made[scheme]

    yield context
    for each in made.values():
        each.close()


@pytest.fixture
def visit(server: str, contexts: Callable[[str], BrowserContext]) -> Iterator[Visit]:
    """Open a path of the app. When the test ends: no console error, no request to anyone else."""
    pages: list[Page] = []
    faults: list[str] = []

    def open_path(path: str, *, width: int = 1280, height: int = 900, scheme: str = "light") -> Page:
        page = contexts(scheme).new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.on("pageerror", lambda error: faults.append(f"page error: {error}"))
        page.on("request", lambda request: faults.extend(_foreign(request.url, server)))
        page.on("console", lambda message: faults.extend(_fault(message.type, message.text, message.location)))
        page.goto(server + path)
        settle(page)
        return page

    yield open_path
    for page in pages:
        page.close()
    assert not faults


def _foreign(url: str, server: str) -> list[str]:
    own = url.startswith((server, server.replace("http", "ws"), "data:", "blob:"))
    return [] if own else [f"request to {url}"]


def _fault(kind: str, text: str, location: dict[str, object]) -> list[str]:
    harmless = "404" in text and HARMLESS in str(location.get("url", ""))
    return [f"console: {text}"] if kind == "error" and not harmless else []


def settle(page: Page) -> None:
    """Wait until the page has been drawn and nothing runs any more."""
    page.wait_for_selector('[data-testid="stHeading"]', timeout=60_000)
    for _ in range(2):
        page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=60_000)
        page.wait_for_timeout(300)


def assert_accessible(page: Page) -> None:
    """axe finds nothing serious or critical on the page as it stands."""
    page.evaluate(AXE)
    rules = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}"
    found = page.evaluate(f"axe.run(document, {rules})")["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert not serious, "\n".join(f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in serious)
