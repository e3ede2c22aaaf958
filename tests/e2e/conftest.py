"""A studio of its own on a free port, and a real Chromium that opens it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlparse

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 30_000
"""Milliseconds that a page may take on a busy machine."""


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as reply:
            return reply.status == 200
    except (urllib.error.URLError, OSError):
        return False


def _await_health(server: subprocess.Popen, url: str, log: Path, seconds: float = 90.0) -> None:
    until = time.monotonic() + seconds
    pause = threading.Event()
    while not _answers(url):
        if server.poll() is not None or time.monotonic() > until:
            pytest.fail(f"The studio did not start:\n{log.read_text(errors='replace')[-4000:]}")
        pause.wait(0.1)


@contextmanager
def studio(home: Path, **settings: str) -> Iterator[str]:
    """Start a studio with its files in `home`; yield its address; end it and its workers."""
    port, log = free_port(), home / "studio.log"
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    environment = os.environ | {"HETCORE_HOME": str(home)} | settings
    with log.open("wb") as output:
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
        try:
            _await_health(server, url, log)
            yield url
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait(10)


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
