"""The Noise page in a browser: open, train both models, see whom the better one distrusts, flip more labels."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e
TRAINING = 120_000
"""Milliseconds that two trainings may take on a busy machine."""
RETRAINED = (
    "old => !location.search.includes(old) || "
    "document.querySelector('.st-key-train button').innerText.includes('with these settings')"
)
"""Whether a change has started a training by itself, or waits for its button."""


def test_flipped_labels_are_found_and_more_of_them_compared(studio_url, page):
    page.goto(f"{studio_url}/Noise?data=planted_flips")
    expect(page.get_by_role("heading", level=1, name="Noise")).to_be_visible()
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.locator(".st-key-state").last).to_contain_text("finished", timeout=TRAINING)
    expect(page.locator(".st-key-verdict")).to_contain_text("flipped ones")
    expect(page.locator(".st-key-noise_error [data-points]").first).to_be_visible()
    before = re.search(r"run=([\w%-]+)", page.url).group(1)
    page.get_by_role("slider", name="Labels flipped, per cent").press("ArrowRight")
    page.wait_for_function(RETRAINED, arg=before, timeout=TRAINING)
    expect(page.locator("[data-test-script-state='notRunning']")).to_have_count(1)
    if before in page.url:  # it takes too long to train by itself
        page.locator(".st-key-train button").click()
    expect(page.locator(".st-key-change")).to_contain_text("25% of the training labels flipped", timeout=TRAINING)
    assert page.get_by_test_id("stException").count() == 0
    assert page.foreign == []
