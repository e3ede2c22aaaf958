"""A studio of its own, and a real Chromium that opens it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from statistics import median
from urllib.parse import urlparse

import pytest
from e2e_studio import PATIENCE, studio

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def studio_url(tmp_path_factory) -> Iterator[str]:
    """A studio with a home of its own and the kernels that the other tests compiled."""
    with studio(tmp_path_factory.mktemp("studio")) as url:
        yield url


@pytest.fixture(scope="session")
def browser() -> Iterator:
    """One Chromium; the tests that need it are skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = CHROMIUM if os.access(CHROMIUM, os.X_OK) else shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium: install Debian's chromium to open the studio in a real browser")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser) -> Iterator:
    """A new browser window; `page.foreign` lists the requests to other hosts than this machine."""
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE)
    context = browser.new_context(viewport={"width": 1440, "height": 1000}, accept_downloads=True)
    window = context.new_page()
    window.set_default_timeout(PATIENCE)
    window.foreign = []
    window.on("request", lambda request: window.foreign.extend(_foreign(request.url)))
    yield window
    context.close()


def _foreign(url: str) -> list[str]:
    parts = urlparse(url)
    local = parts.scheme in ("data", "blob", "about") or parts.hostname == "127.0.0.1"
    return [] if local else [url]


@pytest.fixture
def report(capsys) -> Callable[..., None]:
    """Print a measured time past pytest's capture; times are reported, never asserted."""

    def tell(what: str, *seconds: float) -> None:
        words = f"{median(seconds):.2f} s"
        if len(seconds) > 1:
            words += f" (median of {len(seconds)}, {min(seconds):.2f} to {max(seconds):.2f})"
        with capsys.disabled():
            print(f"\n  {what}: {words}")  # noqa: T201

    return tell
