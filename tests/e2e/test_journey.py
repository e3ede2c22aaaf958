"""The studio's promise in one go: open, train, watch, change, compare, take away."""

from __future__ import annotations

import re
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from e2e_studio import CLICKS, PATIENCE, TRAINING, idle, retrain, run_of, saved, studio, trained
from playwright.sync_api import Page, expect

from studio.session import OPENING

pytestmark = pytest.mark.e2e
MOST_POINTS = (
    "chart => Math.max(0, ...[...document.querySelectorAll(`.st-key-${chart} [data-points]`)]"
    ".map(node => Number(node.dataset.points)))"
)
"""How many points a live chart shows."""
FRESH = (
    "([chart, run, seen]) => !location.search.includes(run) && ("
    "[...document.querySelectorAll(`.st-key-${chart} [data-version]`)]"
    ".some(node => !seen.includes(node.dataset.version)) || "
    "[...document.querySelectorAll('.timeline')]"
    ".some(bar => bar.dataset.settled === 'true' && !run.includes(bar.dataset.run)))"
)
"""Whether a chart shows what it did not show before, of another run, or all of that is there already."""
FINAL = """before => {
  const run = new URLSearchParams(location.search).get("run");
  return run && !before.includes(run) && document.querySelector(".st-key-change")
    && [...document.querySelectorAll(".timeline")].some(({ dataset: bar }) =>
      bar.run === run && bar.settled === "true" && bar.round === bar.last);
}"""
"""Whether all is drawn of a training other than the one before, and its recording has been played to its end."""
HEIGHTS = (
    "() => [...document.querySelectorAll('.st-key-live_weights .line-chart path')]"
    ".map(line => line.getAttribute('d')).join()"
)
"""The drawn lines of the source weights."""
MOVED = f"before => before !== ({HEIGHTS})()"
RESTED = """() => new Promise(done => {
  const round = () => [...document.querySelectorAll('.timeline')].map(bar => bar.dataset.round).join();
  const look = before => setTimeout(() => round() === before ? requestIdleCallback(done) : look(round()), 400);
  look(round());
})"""
"""Resolves when the browser has drawn all it has: no training is played any more."""


def state(page: Page):
    """Return the element that says how the training is."""
    return page.locator(".st-key-state").last


def await_points(page: Page, chart: str, more_than: int) -> None:
    """Wait until a live chart shows more points."""
    page.wait_for_function(
        "([chart, least]) => [...document.querySelectorAll(`.st-key-${chart} [data-points]`)]"
        ".some(node => Number(node.dataset.points) > least)",
        arg=[chart, more_than],
        timeout=TRAINING,
        polling=20,
    )


def press_train(page: Page, url: str) -> float:
    """Open Home and press Train; return when."""
    page.goto(url)
    expect(page.get_by_text("five tables and two graphs about 1,797 instances")).to_be_visible()
    pressed = time.monotonic()
    page.get_by_role("button", name="Train", exact=False).first.click()
    return pressed


def move(page: Page, label: str, steps: int) -> float:
    """Move a slider by the keyboard; return when the last key was pressed."""
    thumb = page.get_by_test_id("stSlider").filter(has_text=label).get_by_role("slider")
    thumb.focus()
    for _ in range(steps):
        thumb.press("ArrowRight")
    return time.monotonic()


def retrained(page: Page, before: str) -> None:
    """Wait for the training that a change starts, by itself or by its button, and for the sentence of what changed."""
    retrain(page, before)
    trained(page, before)
    expect(page.locator(".st-key-change")).to_be_visible()


def test_from_opening_to_taking_away(studio_url, page, report, tmp_path):
    press_train(page, studio_url)
    await_points(page, "live_curves", 0)
    trained(page)
    # The table that was made noisy, as Home promised: it has begun like the others and lost its weight.
    expect(page).to_have_url(re.compile(f"noisy={OPENING['noisy']}"))
    noisy = page.get_by_test_id("stSelectbox").filter(has_text="Noise in a source").get_by_role("combobox")
    expect(noisy).to_have_value(OPENING["noisy"])
    take_lambda1(page)
    what_if(page)
    step_by_step(page)
    files(page, tmp_path)
    page.get_by_role("link", name="Runs", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Runs")).to_be_visible()
    idle(page)
    expect(page.get_by_test_id("stMultiSelect").get_by_text("GBCClassifier", exact=False).first).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert page.foreign == []
    if CLICKS:
        timed(page, studio_url, report)


def timed(page: Page, url: str, report: Callable[..., None]) -> None:
    """Report the seconds of a press and of two sliders, with the settings as they are at first, on warm workers."""
    press_train(page, url)
    trained(page)
    report("Train to the first point of the curve, warm", *(again(page) for _ in range(CLICKS)))
    report("λ0 moved, to the final curve", *(slide(page, "λ0") for _ in range(CLICKS)))
    report("share of labels moved, to the final curve", *(slide(page, "Labels known") for _ in range(CLICKS)))
    report("noise moved, to the final curve", *(slide(page, "Noise, in standard") for _ in range(CLICKS)))
    report("a source left out, to the final curve", *(leave_out(page, name) for name in ("fac", "zer", "fou")))
    take_lambda1(page)
    report("λ1 moved, to the final curve", *(slide(page, "λ1") for _ in range(CLICKS)))


def take_lambda1(page: Page) -> None:
    """Choose λ1 oneself, which trains again and brings its slider."""
    before = run_of(page)
    page.get_by_text("λ1 chosen out of fold").click()
    retrained(page, before)
    expect(page.get_by_test_id("stSlider").filter(has_text="λ1")).to_be_visible()


def again(page: Page) -> float:
    """Train the same again, on a worker that has done it before; return the seconds to the first point."""
    page.evaluate(RESTED)
    before, charts = run_of(page), page.locator(".st-key-live_curves [data-version]")
    seen = charts.evaluate_all("nodes => nodes.map(node => node.dataset.version)")
    pressed = time.monotonic()
    page.locator(".st-key-train button").click()
    page.wait_for_function(FRESH, arg=["live_curves", before, seen], timeout=TRAINING, polling=20)
    seconds = time.monotonic() - pressed
    trained(page, before)
    return seconds


def slide(page: Page, label: str) -> float:
    """Move a slider, which trains again; return the seconds to the end of the curve."""
    page.evaluate(RESTED)
    before = run_of(page)
    seconds = answered(page, before, move(page, label, 1))
    if label.startswith("λ"):
        expect(page.locator(".st-key-change")).to_contain_text(label)
    return seconds


def leave_out(page: Page, name: str) -> float:
    """Leave a source out, which trains again; return the seconds to the end of the curve."""
    page.evaluate(RESTED)
    before = run_of(page)
    page.get_by_test_id("stMultiSelect").filter(has_text="Sources in use").get_by_label(f"Remove {name}").click()
    return answered(page, before, time.monotonic())


def answered(page: Page, before: str, changed: float) -> float:
    """Return the seconds from a change to the end of the curve; wait until all of the page is there."""
    page.wait_for_function(FINAL, arg=before, timeout=TRAINING, polling=20)
    seconds = time.monotonic() - changed
    retrained(page, before)
    return seconds


def step_by_step(page: Page) -> None:
    """Start paused, go on round by round, then play: curves and weights move with each round."""
    before = run_of(page)
    idle(page)
    page.get_by_role("button", name="Step by step", exact=True).click()
    page.wait_for_function("old => !location.search.includes(old)", arg=before, timeout=TRAINING)
    expect(state(page)).to_contain_text("Paused", timeout=TRAINING)
    for _ in range(2):
        idle(page)
        # weights are drawn from round 0 on: a count of points says nothing of which round that is
        shown, heights = page.evaluate(MOST_POINTS, "live_weights"), page.evaluate(HEIGHTS)
        page.get_by_role("button", name="One round", exact=True).click()
        await_points(page, "live_weights", shown)
        expect(state(page)).to_contain_text("Paused", timeout=TRAINING)
        page.wait_for_function(MOVED, arg=heights)
    page.get_by_role("button", name="Play", exact=True).click()
    trained(page, before)


def what_if(page: Page) -> None:
    """Drop a source, which is answered in a sentence. Noise and sliders are of the lessons."""
    before = run_of(page)
    page.get_by_test_id("stMultiSelect").filter(has_text="Sources in use").get_by_label("Remove fou").click()
    retrained(page, before)
    expect(page.locator(".st-key-change")).to_contain_text("without the source fou")


def files(page: Page, folder: Path) -> None:
    """Take predictions, model, figure and script away, and look into each."""
    page.get_by_role("tab", name="Take away").click()
    expect(page).to_have_url(re.compile("after=Take"))
    assert saved(page, "Predictions (CSV)", folder).read_text(encoding="utf-8").startswith("id,")
    assert zipfile.is_zipfile(saved(page, "Model", folder))
    figure = saved(page, "Figure (HTML)", folder).read_text(encoding="utf-8")
    assert "Plotly" in figure and "<script src=" not in figure
    assert "hc.GBCClassifier(" in saved(page, "Script", folder).read_text(encoding="utf-8")


def test_first_ever_start_is_usable_while_it_compiles(page, report, tmp_path):
    began = time.monotonic()
    with studio(tmp_path, HETCORE_CACHE=str(tmp_path / "cache"), HETCORE_COMPILERS="2") as url:
        pressed = press_train(page, url)
        report("first start ever, until Train was pressed", time.monotonic() - began)
        expect(page.get_by_text("ompiling, first run only").first).to_be_visible(timeout=PATIENCE)
        expect(state(page)).to_contain_text("finished", timeout=300_000)
        report("first start ever, Train to the end of the training, compiling included", time.monotonic() - pressed)
    assert page.foreign == []
