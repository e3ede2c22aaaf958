"""Take the pictures of the studio: `.venv/bin/python -m docs.picture` trains in it and writes docs/picture.png, the
README's, and docs/studio-*.png, those of docs/studio.md.

Needs requirements-dev.txt and Debian's chromium.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from tests.e2e.e2e_studio import studio

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FOLDER = Path(__file__).parent
PHONE = {"width": 400, "height": 800}
SIZE = {"width": 1360, "height": 800}
PATIENCE = 120_000  # milliseconds: a first start compiles
DRAWN = 1_000  # that charts take after the script
COLOURS = 128
LINES = 8  # three of errors, five of weights


def main() -> None:
    """Start a studio with no runs, train with its first data set, photograph."""
    with tempfile.TemporaryDirectory() as home, studio(Path(home)) as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = _opened(browser, f"{url}/Consensus?known=10", SIZE)
        train(page)
        photograph(page, "picture")
        train(phone := _opened(browser, f"{url}/Consensus?known=10", PHONE, "dark"))
        photograph(phone, "studio-phone")
        page = _opened(browser, f"{url}/Data", SIZE)
        page.locator(".st-key-examples img").nth(LINES - 1).wait_for()
        photograph(page, "studio-data")
        page = _opened(browser, f"{url}/Playground", SIZE)
        page.get_by_text("Shade: what is predicted").wait_for()
        photograph(page, "studio-playground")
        browser.close()


def _opened(browser: Browser, address: str, size: Any, scheme: str = "light") -> Page:
    page = browser.new_page(viewport=size, color_scheme=scheme)
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    return page


def train(page: Page) -> None:
    """Train, and wait until the charts have drawn the last round."""
    page.get_by_role("button", name="Train", exact=True).click()
    page.get_by_text("Training finished").wait_for()
    page.locator(".stApp[data-test-script-state='notRunning']").wait_for()
    page.locator(".line-legend li").nth(LINES - 1).wait_for()
    page.locator(".timeline[data-playing='false']").wait_for()


def photograph(page: Page, name: str) -> None:
    """Write what the page shows, in few colours."""
    page.locator(".stApp[data-test-script-state='notRunning']").wait_for()
    page.wait_for_timeout(DRAWN)
    image = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
    image.convert("RGB").quantize(COLOURS).save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
