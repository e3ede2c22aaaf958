"""The recording scrubbed while the training goes on: the charts show that round, and stay there as rounds arrive."""

from __future__ import annotations

import pytest
from e2e_studio import TRAINING, idle, trained
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e
ROUNDS = {"Consensus": "data=planted&rounds=30", "Transfer": "data=planted_domains&transfer_rounds=30"}
SEEN = """each => { const { top, bottom, width } = each.getBoundingClientRect();
  return width > 0 && bottom > 0 && top < innerHeight; }"""
"""Whether a chart is in view: one that is not is drawn once it comes into view, or once the training has ended."""
SHOWN = f"() => [...document.querySelectorAll('.live-chart[data-round]')].filter({SEEN})"
SHOWN += ".map(each => Number(each.dataset.round))"
LAST = "least => Number(document.querySelector('.timeline')?.dataset.last) >= least"
WATCHED = f"""() => {{ window.seen = []; new MutationObserver(all => all.map(({{ target }}) => target).filter({SEEN})
  .forEach(({{ dataset, chart }}) =>
    dataset.round && window.seen.push([Number(dataset.round), chart?.last, chart?.title])))
  .observe(document.body, {{ subtree: true, attributes: true, attributeFilter: ["data-round"] }}); }}"""
"""Each round that a chart in view has shown, the last that it had then, and its title."""


def odd(page: Page, *rounds: int) -> list:
    """Return what charts have shown of other rounds than these; of a method that is late, one has no more yet."""
    seen = page.evaluate("window.seen")
    return [(at, last, title) for at, last, title in seen if at not in rounds and not at == last < min(rounds)]


def scrub(page: Page, turn: int) -> None:
    """Go to a round; wait until all charts in view show it."""
    page.get_by_label("Round that the charts show").fill(str(turn))
    page.wait_for_function(f"turn => ({SHOWN})().length && ({SHOWN})().every(each => each === turn)", arg=turn)


@pytest.mark.parametrize("name", ROUNDS)
def test_a_round_that_was_scrubbed_to_stays_while_rounds_arrive(studio_url, page, name):
    page.goto(f"{studio_url}/{name}?{ROUNDS[name]}")
    idle(page)
    page.get_by_role("button", name="Step by step", exact=True).click()
    step = page.get_by_role("button", name="One round", exact=True)
    for number in (1, 2, 3):
        step.click()
        page.wait_for_function(LAST, arg=number, timeout=TRAINING)
    scrub(page, 2)
    page.evaluate(WATCHED)
    page.get_by_role("button", name="Play", exact=True).click()  # the training, not the recording
    page.wait_for_function(LAST, arg=6, timeout=TRAINING)
    assert max(page.evaluate(SHOWN)) == 2 and not odd(page, 2)
    page.get_by_role("button", name="One round on", exact=True).click()
    page.wait_for_function(f"() => ({SHOWN})().every(each => each === 3)")
    trained(page)
    assert set(page.evaluate(SHOWN)) == {3} and not odd(page, 2, 3)
    expect(page.locator(".st-key-headline")).to_have_attribute("data-late", "true")
    expect(page.locator(".timeline")).to_have_attribute("data-playing", "false")
    page.get_by_role("button", name="Play the recording").click()
    expect(page.locator(".timeline")).to_have_attribute("data-playing", "true")
    page.get_by_role("button", name="Pause the recording").click()
    expect(page.locator(".timeline")).to_have_attribute("data-playing", "false")
