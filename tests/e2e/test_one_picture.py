"""What the model sees, in a real browser: the Playground's pictures, the map with its table, and one case edited."""

from __future__ import annotations

import re

import pytest
from e2e_studio import TRAINING, idle, trained
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.e2e
PLANES = ("Consensus", "West", "East", "Noise", "Links")
VERSIONS = """() => [...document.querySelectorAll(".st-key-plane_picture .live-chart")].map(
  each => each.dataset.version)"""
DONE = """seen => document.querySelector(".st-key-plane_state")?.textContent.startsWith("Shade")
  && (VERSIONS)().length === 5 && (VERSIONS)().every(version => version && !seen.includes(version))""".replace(
    "VERSIONS", VERSIONS
)


def test_regenerate_draws_all_pictures_anew_and_the_link_has_the_draw(studio_url, page):
    page.goto(f"{studio_url}/Playground?plane_known=30")
    page.wait_for_function(DONE, arg=[], timeout=TRAINING)
    titles = [page.locator(".st-key-plane_picture strong", has_text=name) for name in PLANES]
    assert [title.count() for title in titles] == [1] * len(PLANES)
    seen = page.evaluate(VERSIONS)
    page.get_by_role("button", name="Regenerate").click()
    page.wait_for_function(DONE, arg=seen, timeout=TRAINING)
    expect(page).to_have_url(re.compile("plane_seed=3"))
    assert page.get_by_test_id("stException").count() == 0


def around(page: Page, chart: Locator) -> None:
    """Draw around the upper left part of a chart."""
    chart.evaluate("node => node.scrollIntoView({ block: 'center' })")
    box = chart.locator(".nsewdrag").first.bounding_box()
    left, top, right, low = box["x"] + 5, box["y"] + 5, box["x"] + 0.7 * box["width"], box["y"] + 0.7 * box["height"]
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, low), (left, low), (left, top)):
        page.mouse.move(x, y, steps=5)
    page.mouse.up()


def test_points_that_are_drawn_around_are_listed_and_rows_are_ringed(studio_url, page):
    page.goto(f"{studio_url}/Consensus?data=planted_flips&rounds=10&after=Map")
    page.get_by_role("button", name="Train", exact=True).click()
    trained(page)
    chart = page.locator(".map-chart")
    expect(chart.locator(".nsewdrag").first).to_be_attached(timeout=TRAINING)
    expect(page.get_by_text("Nothing is chosen")).to_be_visible()
    idle(page)
    around(page, chart)
    chosen = page.get_by_text(re.compile(r"[\d,]+ instances chosen, [\d.]+% of those with a label wrong"))
    expect(chosen).to_be_visible()
    table = page.locator(".st-key-map-rows canvas").first
    table.scroll_into_view_if_needed()
    table.click(position={"x": 16, "y": 52}, force=True)  # the box of the first row, below what scrolls
    page.wait_for_function("document.querySelector('.map-chart').data?.some(trace => trace.name === 'chosen')")


def test_one_case_is_edited_predicted_and_refused_where_it_is_no_number(studio_url, page):
    page.goto(f"{studio_url}/Consensus?data=planted_flips&rounds=10&after=One case")
    page.get_by_role("button", name="Train", exact=True).click()
    trained(page)
    case = page.get_by_role("tabpanel", name="One case")
    field, predict = case.get_by_role("textbox").first, case.get_by_test_id("stBaseButton-primaryFormSubmit")
    expect(field).to_be_visible(timeout=TRAINING)
    idle(page)
    start = field.input_value()
    field.fill("nonsense")
    predict.click()
    expect(case.get_by_role("alert")).to_contain_text("no number", timeout=TRAINING)
    field.fill(str(float(start) + 3))
    predict.click()
    expect(case.get_by_text("As recorded")).to_be_visible(timeout=TRAINING)
    # One: what was said before is gone.
    expect(case.get_by_text(re.compile("By column"))).to_have_count(1, timeout=TRAINING)
    expect(case.get_by_role("alert").filter(has_text="no number")).to_have_count(0)
    case.get_by_role("button", name="Nearest change that turns the class").click()
    expect(case.get_by_role("button", name="Take it over")).to_be_visible(timeout=TRAINING)
    assert page.get_by_test_id("stException").count() == 0
