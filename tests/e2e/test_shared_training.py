"""A training in several browsers: a reload finds it where it was; whoever comes by its link watches only."""

from __future__ import annotations

import pytest
from e2e_studio import idle, run_of, trained
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e


def at_round(page: Page, turn: int) -> None:
    """Wait until a page says that it is paused at a round and shows that one."""
    expect(page.locator(".st-key-state").last).to_contain_text(f"Paused · round {turn} of")
    expect(page.locator(".timeline")).to_have_attribute("data-round", str(turn))


def test_a_reload_in_mid_training_and_a_second_browser_see_the_same_training(studio_url, window):
    page, another = window(), window()
    page.goto(f"{studio_url}/Consensus?data=planted&rounds=5&printed=1")
    idle(page)
    page.get_by_role("button", name="Step by step").click()
    player = page.locator(".st-key-player")
    for turn in (1, 2, 3):
        player.get_by_role("button", name="One round").click()
        at_round(page, turn)
    run = run_of(page)
    page.reload()
    idle(page)
    at_round(page, 3)
    assert run_of(page) == run
    another.goto(page.url)
    idle(another)
    at_round(another, 3)
    expect(another.get_by_text("somebody else started")).to_be_visible()
    expect(another.locator(".st-key-player button")).to_have_count(0)
    player.get_by_role("button", name="Play").click()
    for each in (page, another):
        trained(each)
        expect(each.locator(".timeline")).to_have_attribute("data-round", "5")
    expect(another.locator(".st-key-headline")).to_have_text(page.locator(".st-key-headline").text_content())
