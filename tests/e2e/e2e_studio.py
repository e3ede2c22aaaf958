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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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
