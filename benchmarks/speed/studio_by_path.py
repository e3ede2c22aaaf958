"""What the studio's server takes while a folder of large tables is opened, trained on and explained in a browser.

    python -m benchmarks.speed.studio_by_path                               # 2 million instances
    python -m benchmarks.speed.studio_by_path --instances 100000 --default  # without joined tables, not as printed
    python -m benchmarks.speed.studio_by_path --instances 20000000 --rounds 2 --worker-gib 21

Eight tables of numbers about 80% of the instances each, as of `benchmarks.speed.scan`, are written to a temporary
folder. A real Chromium opens the folder on the Data page, trains on all rows on the Consensus page, and asks for one
instance. What is printed of each process is the most that it had resident up to the end of the step: the server, and
the worker that reads, trains and predicts (pages of files that the system keeps mapped count too). Seconds are of the
clock.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from benchmarks.reliability.load_studio import ARGUMENTS, CHROMIUM, Server
from benchmarks.speed.scan import COVERED, GIB, TABLES, make, resident

PATIENCE = 1_800_000
ENDED = """() => document.querySelector("[data-testid=stAlertContentError]")
  || [...document.querySelectorAll(".timeline")].some(bar => bar.dataset.settled === "true")"""
BAR = 2.0
"""GiB of the server, at most."""


def peaks() -> tuple[float, float]:
    """Return the most that the server and the largest of its workers had resident so far, in GiB."""
    server = next(each for each in psutil.Process().children() if "streamlit" in each.cmdline())
    workers = [each for each in server.children(recursive=True) if "studio.jobs.worker" in each.cmdline()]
    return resident(server.pid), max(resident(each.pid) for each in workers)


def journey(page: Any, url: str, folder: Path, settings: str) -> None:
    """Open, train and explain; print seconds and memory of server and worker by step."""

    def timed(step: str, run: Callable[[], None]) -> None:
        began = time.perf_counter()
        run()
        seconds, (server, worker) = time.perf_counter() - began, peaks()
        sys.stdout.write(f"| {step} | {seconds:.0f} | {server:.2f} | {worker:.2f} |\n")
        sys.stdout.flush()

    timed("the studio is there", lambda: _home(page, url))
    timed("the folder is looked at", lambda: _look(page, url, folder))
    timed("it is opened: statistics and sample", lambda: _open(page))
    timed("consensus is trained on all rows", lambda: _train(page, url, settings))
    timed("one instance is explained", lambda: _explain(page))


def _home(page: Any, url: str) -> None:
    page.goto(url)
    # The worker has loaded and compiled everything by then.
    page.get_by_text("Ready to train.").wait_for()


def _look(page: Any, url: str, folder: Path) -> None:
    page.goto(f"{url}/Data")
    page.get_by_role("tab", name="A folder of the server").click()
    page.get_by_role("combobox", name="Folder").fill(str(folder))
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Open the folder", exact=False).wait_for()


def _open(page: Any) -> None:
    page.get_by_role("button", name="Open the folder", exact=False).click()
    page.get_by_role("heading", name="In use: Folder", exact=False).wait_for()
    _idle(page)


def _train(page: Any, url: str, settings: str) -> None:
    data = page.url.partition("data=")[2].partition("&")[0]
    page.goto(f"{url}/Consensus?data={data}&{settings}")
    page.get_by_role("button", name="Train", exact=True).click()
    page.wait_for_function(ENDED)
    for failure in page.get_by_test_id("stAlertContentError").all_inner_texts():
        raise SystemExit(f"Not trained: {failure}")
    _idle(page)


def _explain(page: Any) -> None:
    page.get_by_role("tab", name="One instance").click()
    page.get_by_text("Predicted", exact=False).first.wait_for()
    _idle(page)


def _idle(page: Any) -> None:
    page.locator("[data-test-script-state='notRunning']").wait_for()


def main() -> None:
    """Print a row for each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=2_000_000)
    parser.add_argument("--columns", type=int, default=5, help="of each table")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--default", action="store_true", help="the default without joined tables, not as printed")
    parser.add_argument("--worker-gib", type=float, help="address space of a worker; a part of the machine's otherwise")
    given = parser.parse_args()
    if given.worker_gib:
        os.environ["HETCORE_WORKER_GIB"] = f"{given.worker_gib:g}"
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory(prefix="hetcore-by-path-") as home:
        folder = Path(home) / "allowed" / "tables"
        folder.mkdir(parents=True)
        n = make(folder, given.instances * TABLES * COVERED * given.columns * 8 / GIB, given.columns)
        size = sum(file.stat().st_size for file in folder.rglob("*.parquet")) / GIB
        how = "the default without joined tables" if given.default else "as printed"
        what = f"{size:.2f} GiB of Parquet, {n:,} instances, {TABLES} tables of {given.columns} numbers"
        sys.stdout.write(f"{what}; {how}, {given.rounds} rounds\n\n")
        sys.stdout.write(f"| until | s | server, GiB (at most {BAR:g}) | worker, GiB |\n|---|---|---|---|\n")
        os.environ["HETCORE_FOLDERS"] = str(folder.parent)
        with Server(Path(home)) as server, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            page = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
            page.set_default_timeout(PATIENCE)
            journey(page, server.url, folder, f"rounds={given.rounds}&printed={int(not given.default)}")
            browser.close()


if __name__ == "__main__":
    main()
