"""Each page opens by its own address in a browser that was nowhere before, and asks no other host for anything; a link
opens there the screen that it was copied from."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e_studio import choose, idle, trained
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).resolve().parents[2]
TITLES = {"": "hetcore studio"} | {
    path.stem[2:]: path.stem[2:].replace("_", " ") for path in sorted((ROOT / "pages").glob("[0-9]_*.py"))
}
CONTROLS = ".stSlider, .stCheckbox, .stMultiSelect, .stSelectbox, .stNumberInput"
SCREEN = f"""() => [...document.querySelectorAll("{CONTROLS}")].map(each => [
  each.innerText, ...[...each.querySelectorAll("input")].map(input => `${{input.value}} ${{input.checked}}`)].join(" "))
  .concat(document.querySelector(".st-key-headline [data-testid='stMetric']")?.innerText)"""
"""What every control shows, and the error."""


def shows(page, screen):
    """Wait until a page shows what another did: its parts are drawn one after the other."""
    page.wait_for_function(f"wanted => JSON.stringify(({SCREEN})()) === JSON.stringify(wanted)", arg=screen)


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


def test_a_link_opens_the_same_screen_in_a_second_browser(studio_url, window):
    page = window()
    page.goto(f"{studio_url}/Consensus?data=planted&rounds=10&known=10")
    idle(page)
    for name in ("λ0", "Labels known"):  # at their least, which no address may leave out
        page.get_by_test_id("stSlider").filter(has_text=name).get_by_role("slider").press("Home")
        idle(page)
    page.get_by_test_id("stMultiSelect").filter(has_text="Sources in use").get_by_label("Remove source_2").click()
    choose(page, page.get_by_role("combobox", name="Noise in a source", exact=False), "source_1")
    page.get_by_text("Noise, in standard deviations").wait_for()
    idle(page)
    page.locator(".st-key-train button").click()
    trained(page)
    page.locator(".st-key-headline").get_by_test_id("stMetric").first.wait_for()
    first = page.evaluate(SCREEN)
    page.get_by_role("button", name="Share").click()
    link = page.get_by_test_id("stPopoverBody").get_by_test_id("stCode").first.inner_text()
    another = window()
    another.goto(link)
    trained(another)
    shows(another, first)
    assert all(text in " ".join(first) for text in ("λ0", "source_3", "source_1", "noise_1"))
    expect(another.get_by_text("somebody else started")).to_be_visible()
    another.get_by_test_id("stSlider").filter(has_text="λ0").get_by_role("slider").press("ArrowRight")
    expect(another.get_by_text("was trained with other settings")).to_be_visible()
    another.get_by_role("button", name="Back to what was trained").click()
    shows(another, first)
