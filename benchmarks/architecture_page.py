"""How soon the architecture page is there, and how soon a selected box shows its panel, in a real browser.

    python benchmarks/architecture_page.py http://127.0.0.1:8501

needs a running app, and Chromium on the path or in ``CHROMIUM``. Prints the median and the worst of each, in ms.
"""

import os
import shutil
import statistics
import sys
import time

from playwright.sync_api import Page, sync_playwright

PARTS = ("embedding", "attention_norm", "feed_forward", "unembedding", "layer", "kv_cache", "final_norm")
ROUNDS = 5


def milliseconds(began: float) -> float:
    """Since ``began``."""
    return 1000 * (time.perf_counter() - began)


def first_paints(page: Page, address: str) -> list[float]:
    """From the navigation's start to the first box of the diagram on the screen."""
    times = []
    for size in ("llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b") * ROUNDS:
        began = time.perf_counter()
        page.goto(f"{address}/architecture?size={size}")
        page.locator('[data-part="embedding"]').wait_for()
        times.append(milliseconds(began))
        page.wait_for_timeout(600)
    return times


def selections(page: Page, address: str) -> list[float]:
    """From the click on a box to its title in the panel."""
    page.goto(f"{address}/architecture?size=llama-3.1-8b")
    title = page.locator(".st-key-part-panel h3").first
    title.wait_for()
    page.wait_for_timeout(1500)
    times = []
    for part in PARTS * ROUNDS:
        before = title.inner_text()
        box = page.locator(f'[data-part="{part}"] rect')
        box.scroll_into_view_if_needed()
        began = time.perf_counter()
        box.click()
        page.wait_for_function(
            "before => document.querySelector('.st-key-part-panel h3')?.innerText !== before", arg=before, polling=10
        )
        times.append(milliseconds(began))
        page.wait_for_timeout(300)
    return times


def main(address: str) -> None:
    """Measure and print."""
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{address}/architecture")
        page.locator('[data-part="embedding"]').wait_for(timeout=60_000)
        page.wait_for_timeout(3000)
        for name, times in (("first paint", first_paints(page, address)), ("selection", selections(page, address))):
            print(f"{name}: median {statistics.median(times):.0f} ms, worst {max(times):.0f} ms, {len(times)} times")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
