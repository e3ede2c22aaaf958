"""The Collective page in a real browser: three models, the network, a click on a node, its label hidden."""

from __future__ import annotations

import re
import time

import pytest
from e2e_studio import CLICKS, PATIENCE, TRAINING, idle, run_of, trained
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.e2e
SPOT = """() => {
  const node = document.querySelector(".network-chart"), { xaxis, yaxis } = node._fullLayout;
  const dots = node._fullData.filter(trace => trace.customdata).map(trace => ({
    x: Array.from(trace.x), y: Array.from(trace.y), known: trace.marker.symbol === "circle" }));
  const all = dots.flatMap(({ x, y }) => x.map((each, i) => [each, y[i]]));
  const lonely = ([x, y]) => Math.min(...all.map(([a, b]) => Math.hypot(x - a, y - b) || 9));
  const known = dots.filter(each => each.known).flatMap(({ x, y }) => x.map((each, i) => [each, y[i]]));
  const [x, y] = known.reduce((best, each) => lonely(each) > lonely(best) ? each : best);
  return [xaxis._offset + xaxis.l2p(x), yaxis._offset + yaxis.l2p(y)];
}"""
"""Where the node of known label lies that is farthest from all others, in pixels of the chart."""
FRESH = """([before, seen]) => !location.search.includes(before) &&
  [...document.querySelectorAll(".st-key-collective_error [data-version]")].some(
    node => Number(node.dataset.points) > 0 && !seen.includes(node.dataset.version))"""
"""Whether the chart of errors shows a point of another run than before."""
ENDED = """() => [...document.querySelectorAll(".st-key-state")].at(-1)?.textContent.includes("finished")"""
"""Whether all three trainings have ended."""


def test_train_click_a_node_hide_its_label_see_who_changes(studio_url, page):
    page.goto(f"{studio_url}/Collective?data=autocorrelated&first=20&trees=20&stages=8&lesson=left")
    page.get_by_role("button", name="Train", exact=True).click()
    trained(page)
    expect(page.locator(".st-key-verdict")).to_contain_text("Inferring together saves")
    lesson(page)
    network = page.locator(".st-key-network [data-nodes='1000']")
    expect(network).to_be_visible(timeout=TRAINING)
    idle(page)
    # the network shows the stage that the charts show, of eight after F_0, up to the one that is kept
    for turn, shown in (("1", "1"), ("9", re.compile("[2-9]"))):
        page.get_by_label("Round that the charts show").fill(turn)
        expect(network).to_have_attribute("data-round", shown)
        expect(page.locator(".timeline output")).to_contain_text(f"Stage {int(turn) - 1} of 8")
        expect(page.locator(".st-key-headline")).to_have_attribute("data-late", "true" if turn == "1" else "false")
    network.scroll_into_view_if_needed()
    click(page)
    expect(page.get_by_role("tab", name="Sweeps")).to_be_visible()
    idle(page)
    for chosen in ("MGB", "Prediction"):
        expect(page.get_by_role("radio", name=chosen, exact=True)).to_be_checked()
    page.get_by_role("button", name="Hide the label", exact=False).click()
    expect(page.locator(".st-key-who")).to_contain_text("inferred again", timeout=TRAINING)
    expect(page.locator(".st-key-edits")).to_contain_text("without the label of")
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert page.foreign == []


def lesson(page: Page) -> None:
    """Take the lesson of the page: a wrong answer is told so, right ones pass it."""
    panel = page.locator(".st-key-lesson_panel")
    expect(panel).to_contain_text("step 2 of 3")  # training is the first
    answer(panel, "GB")
    expect(panel).to_contain_text("Not so: “GB”")
    answer(panel, "MGB")
    expect(panel).to_contain_text("step 3 of 3")
    expect(panel.get_by_role("radio", checked=True)).to_have_count(0)
    answer(panel, "MGB")
    expect(panel).to_contain_text("What neighbours share")


def answer(panel: Locator, name: str) -> None:
    """Give an answer, by its words as a person does: the circle itself is not drawn."""
    expect(panel.get_by_role("radiogroup")).to_have_count(1)  # that of the question before is gone
    panel.get_by_role("radio", name=name, exact=True).locator("xpath=ancestor::label").click()


def test_the_opening_data_train_while_one_watches(studio_url, page, report):
    page.goto(f"{studio_url}/Collective")
    train = page.locator(".st-key-train button")
    train.click()
    trained(page)
    if CLICKS:  # every worker has loaded what is compiled
        firsts, ends = zip(*(timed(page) for _ in range(CLICKS)))
        report("Collective, opening data: Train to the first point", *firsts)
        report("Collective, opening data: Train to GB, RGB and MGB done", *ends)
    expect(page.locator(".st-key-verdict")).to_contain_text("Error, held out")
    expect(page.get_by_test_id("stException")).to_have_count(0)


def timed(page: Page) -> tuple[float, float]:
    """Train again; return the seconds to the first point of the curves, and to the end of all three."""
    idle(page)
    before = run_of(page)
    seen = page.locator(".st-key-collective_error [data-version]").evaluate_all(
        "all => all.map(e => e.dataset.version)"
    )
    pressed = time.monotonic()
    page.locator(".st-key-train button").click()
    page.wait_for_function(FRESH, arg=[before, seen], timeout=TRAINING, polling=20)
    first = time.monotonic() - pressed
    page.wait_for_function(ENDED, timeout=TRAINING, polling=20)
    return first, time.monotonic() - pressed


def click(page: Page) -> None:
    """Click the node, as a person does: the pointer comes first."""
    box = page.locator(".network-chart").first.bounding_box(timeout=PATIENCE)
    x, y = page.evaluate(SPOT)
    page.mouse.move(box["x"] + x - 6, box["y"] + y - 6)
    page.mouse.move(box["x"] + x, box["y"] + y, steps=4)
    expect(page.locator(".network-chart .hoverlayer .hovertext")).to_be_visible()
    page.mouse.click(box["x"] + x, box["y"] + y)
