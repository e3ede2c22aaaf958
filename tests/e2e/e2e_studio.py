"""A studio of its own on a free port, for tests in a real browser."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Error, Locator, Page, TimeoutError, expect

ROOT = Path(__file__).resolve().parents[2]
CLICKS = int(os.environ.get("JOURNEY_CLICKS", "0"))
"""Of each kind that is timed; some where the seconds are what one is after."""
PATIENCE = 30_000
"""Milliseconds that a page may take on a busy machine."""
TRAINING = 180_000
"""Milliseconds that trainings may take on a busy machine."""
_RETRAINED = (
    "old => !location.search.includes(old) || "
    "document.querySelector('.st-key-train button')?.textContent.includes('with these settings')"
)

_SETTLED = """before => {
  const run = new URLSearchParams(location.search).get("run");
  return run && !(before && location.search.includes(before)) && [...document.querySelectorAll(".timeline")].some(
    bar => bar.dataset.settled === "true" && bar.dataset.run === run);
}"""


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:
            return reply.status == 200
    except (urllib.error.URLError, OSError):
        return False


def _await_health(server: subprocess.Popen, url: str, log: Path, seconds: float) -> None:
    until = time.monotonic() + seconds
    pause = threading.Event()
    while not _answers(url):
        if server.poll() is not None or time.monotonic() > until:
            pytest.fail(f"The server did not start:\n{log.read_text(errors='replace')[-4000:]}")
        pause.wait(0.1)


@contextmanager
def serving(
    command: list[str], folder: Path, environment: Mapping[str, str], health: str, log: Path, seconds: float = 90.0
) -> Iterator[None]:
    """Start a server in a folder, wait until its health page answers, and end it."""
    with log.open("wb") as output:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output)
        try:
            _await_health(server, health, log, seconds)
            yield
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait(10)


@contextmanager
def studio(home: Path, **settings: str) -> Iterator[str]:
    """Start a studio with its files in `home`; yield its address; end it and its workers."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    environment = os.environ | {"HETCORE_HOME": str(home)} | settings
    with serving(command, ROOT, environment, health=f"{url}/_stcore/health", log=home / "studio.log"):
        yield url


def saved(page: Page, name: str, folder: Path) -> Path:
    """Press a download button once the page is still; return the file. A file withdrawn by a page drawn anew: again.

    Streamlit keeps a file that was made on request for one more end of a script, also of a fragment.
    """
    for last in (False, True):
        idle(page)
        try:
            with page.expect_download() as download:
                page.get_by_role("button", name=name, exact=True).click()
            path = folder / download.value.suggested_filename
            download.value.save_as(path)
            return path
        except Error:
            if last:
                raise


def idle(page: Page) -> None:
    """Wait until no script runs."""
    expect(page.locator("[data-test-script-state='notRunning']")).to_have_count(1)


def run_of(page: Page) -> str:
    """Return the run id in the address."""
    return next(part for part in page.url.replace("?", "&").split("&") if part.startswith("run="))


def trained(page: Page, before: str | None = None) -> None:
    """Wait until the trainings of the address, not those of `before`, have finished and all of the page is of them."""
    page.wait_for_function(_SETTLED, arg=before, timeout=TRAINING)
    expect(page.locator(".st-key-state").last).to_contain_text("finished")
    idle(page)


def retrain(page: Page, before: str, within: float = TRAINING) -> None:
    """Wait for the training that a change starts, or press its button where it takes too long to start by itself."""
    page.wait_for_function(_RETRAINED, arg=before, timeout=within)
    idle(page)
    if run_of(page) == before:
        page.locator(".st-key-train button").click()


def choose(page: Page, box: Locator, option: str) -> None:
    """Take an option of a list, and open it again where the page, drawn anew in that moment, has closed it."""
    wanted = page.get_by_role("option", name=option, exact=True)
    for _ in range(6):
        box.click()
        try:
            return wanted.click(timeout=PATIENCE / 6)
        except TimeoutError:
            page.keyboard.press("Escape")
    pytest.fail(f"The option {option} was never there to be chosen.")


def use_files(page: Page) -> None:
    """Use the files in hand, also where a column of theirs seems to give the label away."""
    page.get_by_role("button", name="Use this data", exact=False).click()
    used, accept = page.get_by_text("In use: Your data"), page.get_by_role("button", name="Use them")
    expect(used.or_(accept).first).to_be_visible(timeout=PATIENCE)
    if accept.is_visible():
        accept.click()
    expect(used).to_be_visible(timeout=PATIENCE)


def open_files(page: Page, url: str) -> None:
    """Open the Data page's tab for one's own files."""
    page.goto(f"{url}/Data")
    expect(page.get_by_role("heading", level=1, name="Data")).to_be_visible()
    idle(page)
    page.get_by_role("tab", name="Your files").click()
