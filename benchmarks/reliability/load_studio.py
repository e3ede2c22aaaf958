"""What the load is put on: a studio in a process of its own, and a browser that looks at it."""

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
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

__all__ = ["Browser", "Server"]

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
MIB = 2**20


class Server:
    """A studio on a free port.

    Parameters
    ----------
    home : Path
        Folder of its runs and of its log.
    """

    def __init__(self, home: Path) -> None:
        with socket.socket() as probe:
            # Port 0 asks the system for one that is free; studios beside this one keep theirs.
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url, self._log = f"http://127.0.0.1:{port}", home / "studio.log"
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                # A home of its own: the runs of whoever measures are not touched.
                command, cwd=ROOT, env=os.environ | {"HETCORE_HOME": str(home)}, stdout=output, stderr=output
            )

    def __enter__(self) -> Server:
        until = time.monotonic() + 90.0
        while not self._answers():
            # A process that ended says why in its log, and is not waited for.
            if time.monotonic() > until or self._process.poll() is not None:
                raise SystemExit(f"The studio did not start:\n{self._log.read_text(errors='replace')[-2000:]}")
            threading.Event().wait(0.2)
        return self

    def __exit__(self, *_: object) -> None:
        # As a system stops it; only one that does not hear is killed.
        self._process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(20)
        self._process.kill()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2) as reply:
                return reply.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def kill(self) -> None:
        """End the server at once; its workers end with their sockets."""
        self._process.kill()
        self._process.wait()

    def threads(self) -> int:
        """Return the number of threads of the server's own process."""
        return psutil.Process(self._process.pid).num_threads()

    def memory(self) -> float:
        """Return the resident memory of the server's own process, in MiB."""
        return psutil.Process(self._process.pid).memory_info().rss / MIB


class Browser:
    """A person with a real browser; Playwright wants one thread of its own."""

    def __init__(self, url: str) -> None:
        self._url, self._turn = url, 0
        # Playwright's objects may be used by the thread alone that made them.
        self._thread = ThreadPoolExecutor(1)
        self._thread.submit(self._open).result()

    @classmethod
    @contextmanager
    def there(cls, url: str) -> Iterator[Browser | None]:
        """Yield a browser on the studio's first page, None where none is installed."""
        try:
            browser = cls(url) if Path(CHROMIUM).exists() else None
        except ImportError:
            browser = None
        try:
            yield browser
        finally:
            if browser is not None:
                browser._thread.submit(browser._close).result()

    def click(self) -> float:
        """Go to the next page by its link; return the seconds until its title is there."""
        return self._thread.submit(self._click).result()

    def _open(self) -> None:
        from playwright.sync_api import sync_playwright

        self._playwright = sync_playwright().start()
        self._chromium = self._playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        self._page = self._chromium.new_page()
        self._page.goto(self._url)
        self._page.get_by_role("link", name="Runs").first.wait_for(timeout=60_000)

    def _click(self) -> float:
        self._turn += 1
        # In turn, for a link to the page that is open draws nothing.
        name = ("Runs", "Data")[self._turn % 2]
        started = time.perf_counter()
        self._page.get_by_role("link", name=name).first.click(timeout=60_000)
        self._page.get_by_role("heading", name=name, level=1).wait_for(timeout=60_000)
        return time.perf_counter() - started

    def _close(self) -> None:
        self._chromium.close()
        self._playwright.stop()
