"""Each page opens by its own address in a browser that was nowhere before, and asks no other host for anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).resolve().parents[2]
TITLES = {"": "hetcore studio"} | {
    path.stem[2:]: path.stem[2:].replace("_", " ") for path in sorted((ROOT / "pages").glob("[0-9]_*.py"))
}


@pytest.mark.parametrize("address", TITLES)
def test_page_opens_cold_no_wider_than_a_telephone_and_on_a_desk(studio_url, page, address):
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(f"{studio_url}/{address}")
    expect(page.get_by_role("heading", level=1, name=TITLES[address])).to_be_visible()
    expect(page.locator("[data-test-script-state='notRunning']")).to_have_count(1)
    main = page.get_by_test_id("stMain")
    assert main.evaluate("node => node.scrollWidth - node.clientWidth") <= 1
    page.set_viewport_size({"width": 1440, "height": 1000})
    expect(page.get_by_role("heading", level=1, name=TITLES[address])).to_be_visible()
    expect(page.locator("[data-test-script-state='notRunning']")).to_have_count(1)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert page.foreign == []
