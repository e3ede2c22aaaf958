"""A project with scripts, markup, formulas and hidden characters in every name, cell and label, on every page.

R11: no script runs, no other host is asked or linked to, and what was written is shown as text.
"""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest
from e2e_studio import TRAINING, idle, saved, trained, use_files

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
expect = playwright.expect

pytestmark = pytest.mark.e2e
N = 60
HOST = "poison.invalid"
POISON = [
    f"![p](http://{HOST}/i.png)",
    f'<img src="http://{HOST}/j.png" onerror="window.poisoned=1">',
    "<script>window.poisoned=2</script>",
    f"[link](http://{HOST}/) <http://{HOST}/> http://{HOST}/",
    "<svg onload=window.poisoned=3>",
    f'=HYPERLINK("http://{HOST}/k")',
    "\u202egnp.exe $\\href{http://poison.invalid}{x}$ :red[x]",
    "'); window.poisoned=4; ('</script><b>bold</b>",
]
SHOWN = re.compile(re.escape("![p](http:") + "|<img src=|<script>window|<svg onload=")
WATCH = """
window.refused = [];
document.addEventListener("securitypolicyviolation", event => window.refused.push(event.blockedURI));
"""
LOOK = """host => {
  const wrong = [], seen = [document];
  for (const root of seen) for (const node of root.querySelectorAll("*")) {
    if (node.shadowRoot) seen.push(node.shadowRoot);
    for (const { name, value } of node.attributes) {
      const loads = ["src", "href", "xlink:href", "srcset", "action", "data", "style", "poster"].includes(name);
      if (name.startsWith("on") || (loads && value.includes(host))) wrong.push(`${node.tagName} ${name}=${value}`);
    }
    if (node.tagName === "SCRIPT" && node.textContent.includes("poisoned=")) wrong.push("SCRIPT");
  }
  return { wrong, ran: window.poisoned ?? null, refused: window.refused };
}"""


def _quoted(*cells: object) -> str:
    return ",".join('"' + str(cell).replace('"', '""') + '"' for cell in cells) + "\n"


def _ids() -> list[str]:
    return [f"{POISON[k % len(POISON)]} {k}" for k in range(N)]


def _table(names: list[str], columns: list) -> bytes:
    return (_quoted("id", *names) + "".join(_quoted(*row) for row in zip(_ids(), *columns))).encode()


def _file(name: str, content: bytes) -> dict:
    return {"name": name, "mimeType": "text/csv", "buffer": content}


def project() -> list[dict]:
    """Return two tables, labels and a graph, poisoned all over."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, N)
    words = [POISON[k] for k in rng.integers(0, len(POISON), N)]
    classes = [(POISON[1], POISON[5])[label] for label in truth]
    ids = _ids()
    ends = [(i, j) for i, j in rng.integers(0, N, (300, 2)) if truth[i] == truth[j] and i != j]
    links = _quoted("source", "target") + "".join(_quoted(ids[i], ids[j]) for i, j in ends)
    numbers = [rng.normal(size=N), 2 * truth + rng.normal(size=N)]
    return [
        _file("<img src=x onerror=window.poisoned=5>.csv", _table(POISON[:2], [truth + rng.normal(0, 0.6, N), words])),
        _file("=1+1 [x](javascript:window.poisoned=6).csv", _table(POISON[2:4], numbers)),
        _file("labels <b>&lt;script&gt;.csv", _table([POISON[0]], [classes])),
        _file("links ![p](&#104;ttp:poison.invalid).csv", links.encode()),
    ]


def domains() -> list[dict]:
    """Return three tables of the same columns, each with labels of its own."""
    rng = np.random.default_rng(1)
    files = []
    for k, name in enumerate(["<svg onload=window.poisoned=7>", "![p](http:poison.invalid)", "=2+2"]):
        truth = rng.integers(0, 2, 40)
        rows = [(x, z, POISON[y]) for x, z, y in zip(truth + rng.normal(0, 0.5, 40), rng.normal(k, 1, 40), truth)]
        text = _quoted(POISON[0], POISON[1], "label") + "".join(_quoted(*row) for row in rows)
        files.append(_file(f"{name}.csv", text.encode()))
    return files


def clean(page, where: str) -> None:
    """Check that nothing ran, nothing was asked for, and nothing of the poison is more than text."""
    expect(page.locator("[data-test-script-state='notRunning']")).to_have_count(1, timeout=TRAINING)
    found = page.evaluate(LOOK, HOST)
    assert found == {"wrong": [], "ran": None, "refused": []}, where
    expect(page.get_by_test_id("stException"), where).to_have_count(0)
    assert page.foreign == [], where


def shown_as_text(page) -> None:
    """Check that the poison can be read, as it was written."""
    expect(page.locator("body")).to_contain_text(SHOWN, use_inner_text=True)


def go(page, name: str) -> None:
    page.get_by_test_id("stSidebar").get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
    clean(page, name)


def through_tabs(page, where: str) -> None:
    """Open each tab of the page in turn."""
    tabs = page.get_by_role("tab")
    for k in range(tabs.count()):
        if tabs.nth(k).is_visible():
            tabs.nth(k).click()
            clean(page, f"{where}, tab {k}")


def train(page, where: str) -> None:
    """Train with what is set, wait, and look at every tab."""
    page.get_by_role("button", name="Train", exact=True).click()
    trained(page)
    through_tabs(page, f"{where}, trained")


def bring(page, url: str, files: list[dict]) -> None:
    """Upload files and use them."""
    page.add_init_script(WATCH)
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
    page.goto(f"{url}/Data")
    expect(page.get_by_role("heading", level=1, name="Data")).to_be_visible()
    clean(page, "Data")
    idle(page)
    page.get_by_role("tab", name="Your files").click()
    page.locator("input[type=file]").first.set_input_files(files)
    use = page.get_by_role("button", name="Use this data", exact=False)
    expect(use).to_be_visible()
    clean(page, "Data, files read")
    use_files(page)
    shown_as_text(page)
    through_tabs(page, "Data in use")


def test_nothing_of_a_poisoned_project_runs_loads_or_links(studio_url, page, tmp_path):
    bring(page, studio_url, project())
    for name in ("Transfer", "Papers"):
        go(page, name)
    for name in ("Noise", "Two learners", "Collective", "Consensus"):
        go(page, name)
        train(page, name)
    shown_as_text(page)
    _exported(page, tmp_path)
    go(page, "Runs")
    through_tabs(page, "Runs")
    page.get_by_test_id("stSidebar").get_by_role("link", name="Home", exact=True).click()
    clean(page, "Home")


def _exported(page, folder) -> None:
    """Check that no cell of the downloaded predictions is a formula."""
    page.get_by_role("tab", name="Take away").click()
    with saved(page, "Predictions (CSV)", folder).open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    formulas = [cell for cell in cells if re.match(r"[=+@\t\r]|-(?![\d.])", cell)]
    assert formulas == [] and any(cell.startswith("'=HYPERLINK") for cell in cells)


def test_nothing_of_poisoned_domains_runs_loads_or_links(studio_url, page):
    bring(page, studio_url, domains())
    go(page, "Transfer")
    train(page, "Transfer")
