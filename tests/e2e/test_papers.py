"""The Papers page in a browser: read a claim, run it, pause, go on, see the figure, the verdict and take it away."""

from __future__ import annotations

import pytest
from e2e_studio import saved
from playwright.sync_api import expect

from studio.runs import rendering

pytestmark = pytest.mark.e2e
RUNNING = 120_000
"""Milliseconds that forty small fits may take on a busy machine."""


def test_a_claim_is_run_paused_and_evaluated(studio_url, page, tmp_path):
    page.goto(f"{studio_url}/Papers?part=gbc-theorem-4.1")
    expect(page.get_by_role("heading", level=1, name="Papers")).to_be_visible()
    expect(page.locator(".st-key-claim")).to_contain_text("The paper claims")
    expect(page.get_by_text("27 of 27 fits to do, about")).to_be_visible(timeout=RUNNING)
    page.get_by_role("button", name="Run", exact=True).click(timeout=RUNNING)
    page.get_by_role("button", name="Pause").click(timeout=RUNNING)
    expect(page.get_by_text("Paused ·")).to_be_visible(timeout=RUNNING)
    page.get_by_role("button", name="Play").click(timeout=RUNNING)
    expect(page.get_by_role("button", name="Done")).to_be_visible(timeout=RUNNING)
    verdict = page.locator(".st-key-verdict").last
    expect(verdict.get_by_role("heading")).to_contain_text("old")
    expect(verdict).to_contain_text("for, 0 against of", timeout=RUNNING)
    expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=RUNNING)
    assert saved(page, "Cells (CSV)", tmp_path).read_text().startswith("theorem,method,level,split")
    if not rendering.missing():
        assert saved(page, "Figure (PNG)", tmp_path).read_bytes().startswith(b"\x89PNG")
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert page.foreign == []
