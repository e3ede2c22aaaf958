"""The Transfer page in a browser: domains train side by side, a source is corrupted, the curve over examples grows."""

from __future__ import annotations

import pytest
from e2e_studio import TRAINING, choose, retrain, run_of, trained
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e


def test_methods_learn_from_domains_and_a_corrupted_one_is_reported(studio_url, page):
    page.goto(f"{studio_url}/Transfer?data=planted_domains")
    page.get_by_role("button", name="Train", exact=True).click()
    trained(page)
    expect(page.locator(".st-key-live_accuracy [data-points]").first).to_be_visible()
    expect(page.locator(".st-key-live_mass [data-points]").first).to_be_visible()
    expect(page.get_by_text("of the target that no method saw")).to_be_visible()
    before = run_of(page)
    choose(page, page.get_by_role("combobox", name="Spoil a source"), "kin")
    expect(page.get_by_role("slider", name="Labels flipped, per cent")).to_be_visible()
    retrain(page, before)
    expect(page.locator(".st-key-change")).to_contain_text("50% of the labels of kin flipped", timeout=TRAINING)
    page.get_by_role("button", name="Measure the curve").click()
    expect(page.locator(".st-key-live_curve [data-points]").first).to_be_visible(timeout=TRAINING)
    page.get_by_role("button", name="Stop measuring").click()
    expect(page.locator(".st-key-verdict")).not_to_contain_text("So far", timeout=TRAINING)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert page.foreign == []


def test_a_fresh_session_takes_the_example_keeps_its_choices_and_trains(studio_url, page):
    page.goto(f"{studio_url}/Transfer")
    page.get_by_role("button", name="Use Planted domains").click()
    trained(page)
    for name in ("kin", "cousin", "stranger", "hostile"):
        expect(page.locator(".st-key-teachers")).to_contain_text(name)
    sources, methods = page.get_by_test_id("stMultiSelect").nth(0), page.get_by_test_id("stMultiSelect").nth(1)
    for name in ("Weighted MultiSource", "Blend"):
        expect(methods).to_contain_text(name)
    expect(page.locator(".st-key-methods")).to_contain_text("Weighted MultiSource")
    expect(sources).not_to_contain_text("Choose options")
    expect(page.get_by_text("No method is chosen")).to_have_count(0)
    expect(page.locator(".st-key-train button")).to_be_enabled()
    before = run_of(page)
    choose(page, page.get_by_role("combobox", name="Spoil a source"), "hostile")
    retrain(page, before)
    expect(page.locator(".st-key-teachers")).to_contain_text("kin")
