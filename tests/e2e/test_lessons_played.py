"""A lesson played to its end in a real browser as a pupil does: each thing done, a wrong answer, the right one."""

from __future__ import annotations

import pytest
from e2e_studio import PATIENCE, TRAINING, choose, idle, retrain, run_of, trained
from playwright.sync_api import Page, TimeoutError, expect

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


def answered(page: Page, key: str, options: list[str]) -> None:
    """Answer the last question, wrong ones first, and once more: only the right one passes."""
    panel, summary = page.locator(".st-key-lesson_panel"), LESSONS[key].summary
    right = next(option for option in options if passes(page, option, summary))
    panel.get_by_role("button", name="Once more").click()
    wrong = next(option for option in options if option != right)
    assert not passes(page, wrong, summary)
    at_step(page, key, len(LESSONS[key].steps))
    assert passes(page, right, summary)
    assert page.get_by_test_id("stException").count() == 0


def passes(page: Page, option: str, summary: str) -> bool:
    """Give an answer; return whether it passed the lesson."""
    panel = page.locator(".st-key-lesson_panel")
    expect(panel.get_by_role("radiogroup")).to_have_count(1, timeout=TRAINING)
    idle(page)
    passed, refused = panel.get_by_text(summary), panel.get_by_text("Not so.", exact=False)
    again = refused.count() > 0  # in the same words, so that nothing but time tells a second refusal from the first
    panel.get_by_role("radio", name=option, exact=True).locator("xpath=ancestor::label").click()
    try:
        (passed if again else passed.or_(refused)).wait_for(timeout=PATIENCE / 2 if again else TRAINING)
    except TimeoutError:
        expect(panel).to_contain_text("Not so.")
    return passed.is_visible()


def test_a_noisy_source(studio_url, page):
    begin(page, f"{studio_url}/Consensus?data=planted&rounds=10", "noise")
    train(page)
    at_step(page, "noise", 2)
    before = run_of(page)
    choose(page, page.get_by_role("combobox", name="Noise in a source", exact=False), "source_1")
    retrain(page, before)
    trained(page, before)
    at_step(page, "noise", 3)
    named = page.locator(".st-key-lesson_panel").get_by_role("radio")
    expect(named).not_to_have_count(0)
    options = named.evaluate_all("all => all.map(each => each.closest('label').innerText.trim())")
    assert "source_1" in options and len(options) >= 2
    answered(page, "noise", options)
