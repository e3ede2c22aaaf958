"""The studio in a real browser: how soon all charts show a round, and how many clicks one's own files take to a model.

    python -m benchmarks.speed.studio_pages

A round is set on the timeline's bar; it counts once every chart that is in view shows it and two frames have passed.
Clicks are counted from Home to the trained model: every press of the mouse in the page, and one for the "Open" of the
file dialog.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl
import psutil

from benchmarks.reliability.load_studio import ARGUMENTS, CHROMIUM, Server

PATIENCE = 180_000
ROUNDS = 30
BARS = {"scrub": 100, "clicks": 6}
SCRUB = """
async round => {
  const bar = document.querySelector(".timeline input");
  const charts = [...document.querySelectorAll(".live-chart")].filter(node => node.clientWidth && node.dataset.round);
  const before = performance.now();
  bar.value = round;
  bar.dispatchEvent(new Event("input", { bubbles: true }));
  const shown = () => charts.every(node => Number(node.dataset.round) === round);
  while (!shown()) await new Promise(done => setTimeout(done, 1));
  for (const frame of [1, 2]) await new Promise(requestAnimationFrame);  // until it is painted
  return [performance.now() - before, charts.length];
}
"""
COUNT = "window.presses = 0; addEventListener('pointerdown', () => { window.presses += 1; }, true);"
ENDED = "() => [...document.querySelectorAll('.timeline')].some(bar => bar.dataset.settled === 'true')"


def scrubbed(page: Any, url: str) -> tuple[list[float], float, int]:
    """Return the milliseconds from setting a round until all charts show it, the mean milliseconds of the browser's
    processors that it takes, which other work on the machine changes little, and how many charts there are.
    """
    page.goto(f"{url}/Consensus")
    page.get_by_role("button", name="Train", exact=True).click()
    page.wait_for_function(ENDED, timeout=PATIENCE)
    _idle(page)
    # The bar plays by itself at first, and would move the round that is set.
    page.wait_for_function("() => document.querySelector('.timeline').dataset.playing === 'false'")
    last = int(page.locator(".timeline input").get_attribute("max"))
    rounds = np.random.default_rng(0).integers(1, last, ROUNDS).tolist()
    started = _browser_seconds()
    # A round that is shown already would count as one that was shown at once.
    found = [page.evaluate(SCRUB, turn) for turn, before in zip(rounds, [last, *rounds]) if turn != before]
    # Beside the clock, which other work on the machine changes.
    busy = 1000 * (_browser_seconds() - started) / len(found)
    return [milliseconds for milliseconds, _ in found], busy, found[0][1]


def _browser_seconds() -> float:
    """Return the processor seconds of the browsers that this process has started."""
    ours = [each for each in psutil.Process().children(recursive=True) if "chrom" in each.name()]
    return sum(sum(each.cpu_times()[:2]) for each in ours)


def clicked(page: Any, url: str, folder: Path) -> int:
    """Bring three tables from Home to a trained model; return how often the mouse was pressed."""
    page.add_init_script(COUNT)
    page.goto(url)
    _idle(page)
    page.get_by_role("link", name="Bring your data").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_test_id("stFileUploaderDropzone").locator("button").click()
    chooser.value.set_files(_files(folder))
    page.get_by_role("button", name="Use this data", exact=False).click()
    page.get_by_text("In use: Your data").wait_for()
    page.get_by_role("link", name="Consensus", exact=True).click()
    page.get_by_role("button", name="Train", exact=True).click()
    page.wait_for_function(ENDED, timeout=PATIENCE)
    # The dialog is the browser's own: its "Open" is no press in the page.
    return page.evaluate("window.presses") + 1


def _idle(page: Any) -> None:
    page.locator("[data-test-script-state='notRunning']").wait_for()


def _files(folder: Path) -> list[Path]:
    """Write films whose kind follows from three tables."""
    rng = np.random.default_rng(0)
    drama, ids = rng.integers(0, 2, 120).astype(float), [f"film {i:03d}" for i in range(120)]
    kinds = np.array(["comedy", "drama"])[drama.astype(int)]
    tables = {
        "money": {"budget": drama + rng.normal(0, 0.7, 120), "screens": rng.normal(size=120)},
        "words": {"length": drama + rng.normal(0, 0.7, 120), "label": kinds},
        "faces": {"cuts": drama + rng.normal(size=120), "scenes": rng.normal(size=120)},
    }
    for name, columns in tables.items():
        pl.DataFrame({"film": ids} | columns).write_csv(folder / f"{name}.csv")
    return [folder / f"{name}.csv" for name in tables]


def main() -> None:
    """Print both."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as home, Server(Path(home)) as server, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        # A context each: the second person has no data of the first.
        pages = [browser.new_context(viewport={"width": 1440, "height": 1000}).new_page() for _ in range(2)]
        for page in pages:
            page.set_default_timeout(PATIENCE)
        times, busy, charts = scrubbed(pages[0], server.url)
        presses = clicked(pages[1], server.url, Path(home))
        browser.close()
    write = sys.stdout.write
    write("| what | aim | reached |\n|---|---|---|\n")
    reached = f"{median(times):.0f} ({min(times):.0f} to {max(times):.0f}); {busy:.0f} of processor"
    write(f"| a round set, to all {charts} charts in view, ms | {BARS['scrub']} | {reached} |\n")
    write(f"| own three files to a model, clicks from Home | {BARS['clicks']} | {presses} |\n")


if __name__ == "__main__":
    main()
