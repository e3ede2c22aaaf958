"""A fresh browser that uses the planted domains keeps its sources and methods."""

from __future__ import annotations

import pytest
from e2e_studio import TRAINING, idle

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
expect = playwright.expect

pytestmark = pytest.mark.e2e


def test_sources_and_methods_stay_chosen_while_the_first_training_runs(studio_url, page):
    page.goto(f"{studio_url}/Transfer")
    page.get_by_role("button", name="Use Planted", exact=False).click(timeout=TRAINING)
    sources, methods = page.get_by_test_id("stMultiSelect").nth(0), page.get_by_test_id("stMultiSelect").nth(1)
    expect(page.locator(".st-key-state").last).to_contain_text("finished", timeout=TRAINING)
    idle(page)
    for chosen in ("Weighted MultiSource", "Blend"):
        expect(methods).to_contain_text(chosen)
    expect(sources).not_to_contain_text("Choose options")
    expect(page.get_by_text("No method is chosen")).to_have_count(0)
    expect(page.locator(".st-key-train button")).to_be_enabled()
