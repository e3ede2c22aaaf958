"""The menu on a phone, charts and their controls, and the toolbar of charts."""

from __future__ import annotations

import pytest
from e2e_studio import idle, trained

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
expect = playwright.expect

pytestmark = pytest.mark.e2e
ROOM = "chart => chart.querySelector('.line-chart')?.clientHeight >= 190 && chart.offsetHeight > 330"
"""Whether the lines have room below a legend of many lines."""


def test_the_menu_closes_behind_who_goes_to_a_page_on_a_phone(studio_url, page):
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(f"{studio_url}/Consensus")
    idle(page)
    menu = page.get_by_test_id("stSidebar")
    for name in ("Data", "Runs"):
        page.get_by_test_id("stExpandSidebarButton").click()
        expect(menu).to_have_attribute("data-collapsed", "false")
        menu.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
        expect(menu).to_have_attribute("data-collapsed", "true")


def test_the_menu_stays_where_it_covers_nothing(studio_url, page):
    page.goto(f"{studio_url}/Consensus")
    idle(page)
    page.get_by_role("link", name="Runs", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Runs")).to_be_visible()
    expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "false")


def test_who_goes_back_from_a_page_that_was_opened_is_where_they_were(studio_url, page):
    def seen(name):
        expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
        idle(page)

    page.goto(studio_url)
    idle(page)
    for name in ("Consensus", "Playground"):
        page.get_by_test_id("stSidebar").get_by_role("link", name=name, exact=True).click()
        seen(name)
        page.wait_for_function("location.search.length > 1")  # all controls are in the address
    page.go_back()
    seen("Consensus")
    page.go_back()
    seen("hetcore studio")


def test_a_chart_is_in_view_on_a_phone_its_controls_follow_and_its_toolbar_is_asked_for(studio_url, page):
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(f"{studio_url}/Consensus?data=planted")
    page.get_by_role("button", name="Train", exact=True).click()
    trained(page)
    chart = page.locator(".st-key-live_curves .live-chart")
    expect(chart.locator(".line-chart")).to_be_visible()
    assert chart.bounding_box()["y"] < 700  # without scrolling
    moves = page.get_by_test_id("stSlider").filter(has_text="λ0")
    assert chart.bounding_box()["y"] < moves.bounding_box()["y"] < page.get_by_role("tab").first.bounding_box()["y"]
    views = page.locator(".st-key-live_views .live-chart")
    views.scroll_into_view_if_needed()
    page.wait_for_function(ROOM, arg=views.element_handle())
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.get_by_role("tab", name="Take away").scroll_into_view_if_needed()
    assert 0 < moves.bounding_box()["y"] < 500  # beside whatever one scrolls to
    expect(chart.locator(".modebar-btn")).to_have_count(0)
    page.get_by_text("Chart tools", exact=True).click()
    expect(chart.locator(".modebar-btn").first).to_be_attached()


def test_a_card_of_an_example_is_pressed_on_its_picture(studio_url, page):
    page.goto(f"{studio_url}/Data")
    idle(page)
    page.get_by_role("textbox", name="Find an example").fill("falling worth")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("stRadioCaption")).to_have_count(2)
    page.locator(".st-key-examples img").first.click(force=True)  # what lies over it takes the press
    expect(page.get_by_role("heading", name="In use: Planted truth")).to_be_visible()


def test_chips_and_buttons_follow_the_scheme_of_the_system_on_an_open_page(studio_url, page):
    page.goto(f"{studio_url}/Consensus?data=planted")
    idle(page)
    chip, button = page.locator("[data-tag]").first, page.locator(".st-key-train button")
    for scheme, colour in (
        ("light", "rgb(255, 255, 255)"),
        ("dark", "rgb(11, 26, 36)"),
        ("light", "rgb(255, 255, 255)"),
    ):
        page.emulate_media(color_scheme=scheme)
        for each in (chip, button):
            expect(each).to_have_css("color", colour)
    button.evaluate("node => { node.disabled = true; }")
    page.emulate_media(color_scheme="light")
    expect(button).not_to_have_css("color", "rgb(255, 255, 255)")  # it stands on the page's white then


def test_a_network_is_fitted_anew_to_a_narrow_page(studio_url, page):
    page.goto(f"{studio_url}/Collective?data=autocorrelated&first=20&trees=20&stages=4")
    page.get_by_role("button", name="Train", exact=True).click()
    trained(page)
    expect(page.locator(".network-chart[data-nodes]").first).to_be_attached()
    wide = "() => document.querySelector('.network-chart')._fullLayout?.xaxis.range[1]"
    page.wait_for_function(f"() => ({wide})() > 1.2")
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_function(f"() => ({wide})() < 1.1")
