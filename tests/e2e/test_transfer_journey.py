"""The Transfer page in a browser: domains train side by side, a source is spoilt, the curve over examples grows."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e
TRAINING = 120_000
"""Milliseconds that some trainings may take on a busy machine."""
RETRAINED = (
    "old => !location.search.includes(old) || "
    "document.querySelector('.st-key-train button').innerText.includes('with these settings')"
)
"""Whether a change has started a training by itself, or waits for its button."""


def test_methods_learn_from_domains_and_a_spoilt_one_is_told(studio_url, page):
    page.goto(f"{studio_url}/Transfer?data=planted_domains")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.locator(".st-key-state").last).to_contain_text("finished", timeout=TRAINING)
    expect(page.locator(".st-key-live_accuracy [data-points]").first).to_be_visible()
    expect(page.locator(".st-key-live_mass [data-points]").first).to_be_visible()
    expect(page.get_by_text("of the target that no method saw")).to_be_visible()
    before = re.search(r"run=([\w%-]+)", page.url).group(1)
    page.get_by_role("combobox", name="Spoil a source").click()
    page.get_by_role("option", name="kin").click()
    expect(page.get_by_role("slider", name="Labels flipped, per cent")).to_be_visible()
    page.wait_for_function(RETRAINED, arg=before, timeout=TRAINING)
    expect(page.locator("[data-test-script-state='notRunning']")).to_have_count(1)
    if before in page.url:  # it takes too long to train by itself
        page.locator(".st-key-train button").click()
    expect(page.locator(".st-key-change")).to_contain_text("50% of the labels of kin flipped", timeout=TRAINING)
    page.get_by_role("button", name="Measure the curve").click()
    expect(page.locator(".st-key-live_curve [data-points]").first).to_be_visible(timeout=TRAINING)
    page.get_by_role("button", name="Stop measuring").click()
    expect(page.locator(".st-key-verdict")).not_to_contain_text("So far", timeout=TRAINING)
    assert page.get_by_test_id("stException").count() == 0
    assert page.foreign == []
