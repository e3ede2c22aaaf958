"""The Noise page in a browser: open, train both models, see whom the better one distrusts, flip more labels."""

from __future__ import annotations

import pytest
from e2e_studio import TRAINING, retrain, run_of, trained
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e


def test_flipped_labels_are_found_and_more_of_them_compared(studio_url, page):
    page.goto(f"{studio_url}/Noise?data=planted_flips")
    expect(page.get_by_role("heading", level=1, name="Noise")).to_be_visible()
    page.get_by_role("button", name="Train", exact=True).click()
    trained(page)
    expect(page.locator(".st-key-verdict")).to_contain_text("flipped ones")
    expect(page.locator(".st-key-noise_error [data-points]").first).to_be_visible()
    before = run_of(page)
    page.get_by_role("slider", name="Labels flipped, per cent").press("ArrowRight")
    retrain(page, before)
    expect(page.locator(".st-key-change")).to_contain_text("25% of the training labels flipped", timeout=TRAINING)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert page.foreign == []
