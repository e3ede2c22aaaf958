"""What axe-core finds on the studio's pages, under WCAG 2.0 to 2.2 A and AA, before and after training.

    python -m benchmarks.reliability.accessibility            # all pages, light and dark, 1440 and 400 wide
    python -m benchmarks.reliability.accessibility --trained  # those that train, after it; light 1440 and dark 400

`requirements-bench.txt` has the package that brings axe-core.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

from benchmarks.reliability.load_studio import ARGUMENTS, CHROMIUM, ROOT, Server

PATIENCE = 180_000
PAGES = ["", *(path.stem[2:] for path in sorted((ROOT / "pages").glob("[0-9]_*.py")))]
TRAINED = {
    "Consensus": "",
    "Collective": "",
    "Transfer": "planted_domains",
    "Noise": "planted_flips",
    "Two_learners": "two_modalities",
}
"""The pages that train, and the example that they do it with."""
LOOKS = [(scheme, width) for width in (1440, 400) for scheme in ("light", "dark")]
RUN = """
() => axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }).then(
  found => found.violations.map(each => [each.impact, each.id, each.nodes.length, each.nodes[0].html.slice(0, 160)]))
"""
ENDED = "() => [...document.querySelectorAll('.timeline')].some(bar => bar.dataset.settled === 'true')"


def findings(page: Any, address: str, train: bool) -> list[tuple[str, str, int, str]]:
    """Return impact, rule, count and an example of what axe-core finds on a page."""
    page.goto(address)
    _idle(page)
    if train:
        page.get_by_role("button", name="Train", exact=True).click()
        page.wait_for_function(ENDED, timeout=PATIENCE)
        _idle(page)
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    return [tuple(each) for each in page.evaluate(RUN)]


def _idle(page: Any) -> None:
    page.locator("[data-test-script-state='notRunning']").wait_for()
    page.wait_for_timeout(800)  # charts are drawn after the script


def main() -> None:
    """Print a line for each page and look, and one for each finding."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trained", action="store_true", help="the pages that train, after it")
    trained = parser.parse_args().trained
    pages, looks = (TRAINED, [LOOKS[0], LOOKS[3]]) if trained else (dict.fromkeys(PAGES, ""), LOOKS)
    with tempfile.TemporaryDirectory() as home, Server(Path(home)) as server, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for scheme, width in looks:
            page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
            page.set_default_timeout(PATIENCE)
            for name, example in pages.items():
                found = findings(page, f"{server.url}/{name}" + (f"?data={example}" if example else ""), train=trained)
                sys.stdout.write(f"{name or 'Home'}, {scheme}, {width}: {len(found) or 'nothing'}\n")
                for impact, rule, count, html in found:
                    sys.stdout.write(f"  {impact} {rule}, {count} times: {html}\n")
        browser.close()


if __name__ == "__main__":
    main()
