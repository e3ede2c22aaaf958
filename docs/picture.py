"""Take the README's picture: `.venv/bin/python -m docs.picture` trains in the studio and writes docs/picture.png.

Needs requirements-dev.txt and Debian's chromium.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests.e2e.e2e_studio import studio

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PICTURE = Path(__file__).parent / "picture.png"
SIZE = {"width": 1360, "height": 800}
PATIENCE = 120_000  # milliseconds: a first start compiles
COLOURS = 128
LINES = 8  # three of errors, five of weights


def main() -> None:
    """Start a studio with no runs, train with its first data set, photograph."""
    with tempfile.TemporaryDirectory() as home, studio(Path(home)) as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(PATIENCE)
        page.goto(f"{url}/Consensus?known=10")
        photograph(page)
        browser.close()


def photograph(page: Page) -> None:
    """Train, wait until the charts have drawn the last round, and write the picture in few colours."""
    page.get_by_role("button", name="Train", exact=True).click()
    page.get_by_text("Training finished").wait_for()
    page.locator(".stApp[data-test-script-state='notRunning']").wait_for()
    page.locator(".scatterlayer .trace").nth(LINES - 1).wait_for()
    image = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
    image.convert("RGB").quantize(COLOURS).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
