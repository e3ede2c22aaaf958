"""Lessons played to their end in a real browser as a pupil does: each thing done, a wrong answer, the right one.

The sixth, on what is left along the links, is played where Collective is.
"""

from __future__ import annotations

import pytest
from e2e_studio import TRAINING, choose, idle, retrain, run_of, trained
from playwright.sync_api import Page, expect

from studio.views.common.lessons import LESSONS

pytestmark = pytest.mark.e2e


def begin(page: Page, url: str, key: str) -> None:
    """Open the page of a lesson, as its link does."""
    page.goto(f"{url}&lesson={key}")
    at_step(page, key, 1)
    idle(page)


def at_step(page: Page, key: str, number: int) -> None:
    """Wait until the lesson is at a step."""
    steps = len(LESSONS[key].steps)
    expect(page.locator(".st-key-lesson_panel")).to_contain_text(f"step {number} of {steps}", timeout=TRAINING)


def train(page: Page) -> None:
    """Press Train for the first time."""
    page.locator(".st-key-train button").click()
    trained(page)


def move(page: Page, name: str, *keys: str) -> None:
    """Move a slider by the keyboard, and have the page train with it."""
    before = run_of(page)
    thumb = page.get_by_test_id("stSlider").filter(has_text=name).get_by_role("slider")
    for key in keys:
        thumb.press(key)
    retrain(page, before)
    trained(page, before)


def answered(page: Page, key: str, wrong: str, right: str) -> None:
    """Answer the last question, wrongly first: only the right answer passes."""
    assert not passes(page, wrong, LESSONS[key].summary)
    assert passes(page, right, LESSONS[key].summary)
    assert page.get_by_test_id("stException").count() == 0


def passes(page: Page, option: str, summary: str) -> bool:
    """Give an answer; return whether it passed the lesson."""
    panel = page.locator(".st-key-lesson_panel")
    expect(panel.get_by_role("radiogroup")).to_have_count(1, timeout=TRAINING)
    idle(page)
    passed = panel.get_by_text(summary)
    panel.get_by_role("radio", name=option, exact=True).locator("xpath=ancestor::label").click()
    passed.or_(panel.get_by_text(f"Not so: “{option}”", exact=False)).wait_for(timeout=TRAINING)
    return passed.is_visible()


def from_end_to_end(page, lesson, label, wrong="less", right="more"):
    """Move a slider to its least and to its most, and answer whether there is more of something there."""
    at_step(page, lesson, 2)
    move(page, label, "Home")
    at_step(page, lesson, 3)
    move(page, label, "End")
    at_step(page, lesson, 4)
    page.reload()  # neither what was done nor the training before is lost
    at_step(page, lesson, 4)
    answered(page, lesson, wrong, right)


def test_a_noisy_source(studio_url, page):
    begin(page, f"{studio_url}/Consensus?data=planted&rounds=10", "noise")
    train(page)
    at_step(page, "noise", 2)
    before = run_of(page)
    choose(page, page.get_by_role("combobox", name="Noise in a source", exact=False), "source_1")
    retrain(page, before)
    trained(page, before)
    expect(page.locator(".st-key-change")).to_contain_text("noise")
    at_step(page, "noise", 3)
    answered(page, "noise", wrong="source_2", right="source_1")
    page.get_by_role("button", name="Once more").click()
    at_step(page, "noise", 3)


def test_sources_that_agree_and_then_neighbours(studio_url, page):
    begin(page, f"{studio_url}/Consensus?data=planted&rounds=10&known=20&l1auto=0", "agreement")
    train(page)
    from_end_to_end(page, "agreement", "λ0", wrong="more", right="less")
    expect(page.locator(".st-key-change")).to_contain_text("λ0")
    choose(page, page.get_by_role("combobox", name="Lesson", exact=False), f"Lesson: {LESSONS['neighbours'].title}")
    at_step(page, "neighbours", 1)  # with too many labels nothing is passed
    move(page, "Labels known, per cent", *["ArrowLeft"] * 2)
    from_end_to_end(page, "neighbours", "λ1")


def test_η_and_when_transfer_hurts(studio_url, page):
    begin(page, f"{studio_url}/Transfer?data=planted_domains&transfer_rounds=10", "transfer")
    train(page)
    from_end_to_end(page, "transfer", "η")


def test_which_rows_to_trust(studio_url, page):
    begin(page, f"{studio_url}/Noise?data=planted_flips", "trust")
    train(page)
    at_step(page, "trust", 2)
    move(page, "flipped", "End")
    answered(page, "trust", wrong="GBM", right="HGBM")


def test_a_challenge_tells_why_an_attempt_does_not_count_and_keeps_one_that_does(studio_url, page):
    page.goto(f'{studio_url}/Consensus?sources=["kar"]&known=10&lesson=challenge one')
    panel = page.locator(".st-key-lesson_panel")
    expect(panel).to_contain_text("No attempt yet")
    idle(page)
    train(page)
    expect(panel).to_contain_text("Reached at attempt 1.", timeout=TRAINING)
    move(page, "Labels known, per cent", "ArrowRight")
    expect(panel.get_by_text("does not count: more than 10% of the labels")).to_have_count(1, timeout=TRAINING)
    page.reload()
    expect(panel).to_contain_text("Reached at attempt 1.")
    expect(panel.get_by_text("does not count", exact=False)).to_have_count(0)


PRESENTED = [("agreement", "l0auto,l0"), ("neighbours", "known,l1auto,l1"), ("noise", "noisy"), ("left", "none"),
             ("transfer", "eta_rule,eta"), ("trust", "flipped")]  # fmt: skip


@pytest.mark.parametrize("key, words", PRESENTED)
def test_a_class_sees_step_check_and_chart_of_a_presented_lesson_at_once(studio_url, page, key, words):
    """The step stood above the charts, which began at the lower edge of the screen, and scrolled out of view."""
    page.set_viewport_size({"width": 1440, "height": 900})
    example = {"Collective": "autocorrelated", "Transfer": "planted_domains", "Noise": "planted_flips"}
    name = LESSONS[key].page
    begin(page, f"{studio_url}/{name}?data={example.get(name, 'planted')}&present={words}", key)
    train(page)
    boxes = [each.bounding_box() for each in (page.locator(".st-key-lesson_panel"), page.locator(".live-chart").first)]
    panel, chart = [(box["y"], box["y"] + box["height"]) for box in boxes]
    assert panel[0] >= 0 and panel[1] <= 900 and chart[0] <= 650
    page.mouse.move(400, 700)
    page.mouse.wheel(0, 900)
    page.wait_for_function("document.querySelector('.live-chart').getBoundingClientRect().bottom < 450")
    expect(page.locator(".st-key-lesson_panel")).to_be_in_viewport(ratio=1)
