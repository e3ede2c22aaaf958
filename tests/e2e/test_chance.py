"""Chance in a real browser: ten seeds from start to end, the map of λ0 and λ1 clicked, two scenarios side by side."""

from __future__ import annotations

import re

import pytest
from e2e_studio import PATIENCE, TRAINING, choose, idle, retrain, run_of, trained
from playwright.sync_api import Page, TimeoutError, expect

pytestmark = pytest.mark.e2e
QUICK = "data=planted&printed=1&rounds=5&known=5&l1auto=0&l1=0.0"
"""As printed and of few rounds, so that a hundred trainings take seconds."""


def moved(page: Page, name: str, key: str) -> None:
    """Move a slider to its end by the keyboard; wait for the training that this starts.

    A key is pressed again where the page, drawn anew in that moment, has lost it.
    """
    before, slider = run_of(page), page.get_by_role("slider", name=name, exact=False)
    for _ in range(4):
        slider.press(key)
        try:
            # the first with neighbours may have compiled: too long for a change to train by itself
            retrain(page, before, within=PATIENCE / 2)
            break
        except TimeoutError:
            continue
    trained(page, before)


def over_seeds(page: Page, within: str) -> None:
    """Compare over ten seeds; only once all are there is it told whether the difference is chance."""
    part = page.locator(within)
    part.get_by_role("button", name="Over 10 seeds").click()
    verdict = part.get_by_text(re.compile(r"over 10 seeds: (within|beyond) chance"))
    expect(verdict).to_be_visible(timeout=TRAINING)
    expect(verdict).to_contain_text(re.compile(r"→.*\(.* to .*\)"))  # both means, and the interval
    expect(part.get_by_role("button", name="Stop comparing")).to_have_count(0)


def test_a_change_over_ten_seeds_the_map_clicked_and_two_scenarios_side_by_side(studio_url, page):
    page.goto(f"{studio_url}/Consensus?{QUICK}")
    idle(page)
    page.get_by_role("button", name="Train", exact=True).click()
    trained(page)
    moved(page, "λ0", "End")
    over_seeds(page, ".st-key-change")
    click_the_map(page)
    side_by_side(page)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert page.foreign == []


def click_the_map(page: Page) -> None:
    """Have the map made, and take over the pair of a square."""
    page.get_by_role("button", name="Map λ0 and λ1").click()
    squares = page.locator(".st-key-lambda_map path.point")
    expect(squares).to_have_count(17, timeout=TRAINING)  # λ0 = 3 is none of them: a diamond
    expect(page.get_by_role("button", name="Stop the map")).to_have_count(0, timeout=TRAINING)
    idle(page)
    before, box = run_of(page), squares.nth(9).bounding_box()  # λ0 = 0.3, λ1 = 0.1
    at = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*at)  # Plotly clicks what the pointer is over
    page.mouse.click(*at)
    retrain(page, before)
    trained(page, before)
    for name, value in (("λ0 · consensus", "0.3"), ("λ1 · neighbours", "0.1")):
        expect(page.get_by_role("slider", name=name, exact=False)).to_have_value(value)
    expect(page.get_by_text("Framed: λ0 = 0.3, λ1 = 0.1, trained above")).to_be_visible()


def side_by_side(page: Page) -> None:
    """Pin two scenarios; see A, B and now, any two of them with what differs, and compare them over seeds."""
    page.get_by_role("tab", name="Pinned scenarios").click()
    for pinned in (1, 2):
        page.get_by_role("button", name="Pin this scenario").click()
        expect(page.get_by_role("button", name="Let go of a pin")).to_be_visible()
        expect(page.get_by_role("combobox", name="B", exact=True)).to_have_count(pinned - 1)
        idle(page)  # a key pressed while the page is drawn with the pin may be lost
        moved(page, "λ1", "End" if pinned == 1 else "Home")
    now = "shown now: λ1 0, λ0 0.3, trained on 5% of the labels"
    choose(page, page.get_by_role("combobox", name="B", exact=True), now)
    expect(page.get_by_text("A → B: λ1 0.1 → 0:")).to_be_visible()
    for letter in "AB":
        expect(page.locator(f"[class*='st-key-pane-{letter}-']")).to_have_count(2)
    over_seeds(page, "[role='tabpanel']:visible")


def test_two_methods_of_a_page_over_ten_seeds(studio_url, page):
    page.goto(f"{studio_url}/Noise?data=planted_flips&noise_rounds_classification=5")
    idle(page)
    page.get_by_role("button", name="Train", exact=True).click()
    trained(page)
    over_seeds(page, "[data-testid='stMain']")
    expect(page.get_by_test_id("stException")).to_have_count(0)
