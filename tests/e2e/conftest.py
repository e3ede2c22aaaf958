"""A studio of its own, and a real Chromium that opens it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from statistics import median
from tempfile import TemporaryDirectory
from urllib.parse import urlparse

import pytest
from e2e_studio import PATIENCE, studio

CHROMIUM = "/usr/bin/chromium"
DESK = {"width": 1440, "height": 1000}
FORGOTTEN = "cookies,local_storage,indexeddb,service_workers,cache_storage"
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
def browser() -> Iterator[Callable]:
    """A function that starts a Chromium; the tests that need it are skipped where there is none.

    Each has a folder of its own, in which it keeps the studio's scripts compiled: a browser that keeps nothing on disk
    compiles megabytes of them for each page, two fifths of the time of opening one.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = CHROMIUM if os.access(CHROMIUM, os.X_OK) else shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium: install Debian's chromium to open the studio in a real browser")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as driver, ExitStack() as started:

        def start():
            folder = started.enter_context(TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True))
            launched = driver.chromium.launch_persistent_context(
                folder, executable_path=path, args=ARGUMENTS, viewport=DESK
            )
            return started.enter_context(launched)

        yield start


@pytest.fixture(scope="session")
def contexts() -> list:
    """Browsers that were nowhere: whoever ends with one forgets what it was told and puts it back."""
    return []


@pytest.fixture
def window(browser, contexts) -> Iterator[Callable]:
    """A function that opens a window of a browser that was nowhere before.

    Its `foreign` lists the requests to other hosts than this machine. The studio's scripts are kept from test to test,
    for each browser loads the same megabytes; cookies and what pages store are not.
    """
    taken = []

    def opened():
        context = contexts.pop() if contexts else browser()
        page = context.new_page()
        taken.append((page, origins := set()))
        page.set_default_timeout(PATIENCE)
        page.foreign = []
        page.on("request", lambda request: page.foreign.extend(_foreign(request.url)))
        page.on("framenavigated", lambda frame: origins.add(frame.url))
        return page

    yield opened
    for page, urls in taken:
        _forget(page, urls)
        contexts.append(page.context)


@pytest.fixture
def page(window):
    """A window of a browser that was nowhere before."""
    return window()


def _forget(page, urls: set[str]) -> None:
    """Clear what was stored by the pages of these addresses, and close the window."""
    devtools = page.context.new_cdp_session(page)
    page.goto("about:blank")  # a page that is open stores again
    for origin in {f"{parts.scheme}://{parts.netloc}" for parts in map(urlparse, urls) if parts.netloc}:
        devtools.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": FORGOTTEN})
    page.context.clear_cookies()
    for each in page.context.pages[1:]:  # the first is the browser's own, which ends with its last
        each.close()


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
