"""The menu on a phone, charts and their controls, and the toolbar of charts."""

from __future__ import annotations

from contextlib import suppress

import pytest
from e2e_studio import TRAINING, idle, trained

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


def test_the_keyboard_does_not_go_through_a_menu_that_is_closed(studio_url, page):
    """Whoever zooms to 200% pressed Tab through sixteen links and buttons that nobody saw."""
    page.set_viewport_size({"width": 720, "height": 500})
    page.goto(f"{studio_url}/Runs")
    idle(page)
    for _ in range(8):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.getBoundingClientRect().right") > 0
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_test_id("stSidebar").get_by_role("link", name="Data", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Data")).to_be_visible()


def test_the_menu_is_closed_on_a_phone_that_lies_on_its_side(studio_url, page):
    page.set_viewport_size({"width": 800, "height": 400})
    page.goto(f"{studio_url}/Data")
    menu = page.get_by_test_id("stSidebar")
    expect(menu).to_have_attribute("data-collapsed", "true")
    page.get_by_test_id("stExpandSidebarButton").click()
    expect(menu).to_have_attribute("data-collapsed", "false")
    idle(page)
    expect(menu).to_have_attribute("data-collapsed", "false")


def test_who_trains_from_home_by_the_keyboard_is_at_the_button_after_it(studio_url, page):
    page.goto(studio_url)
    idle(page)
    page.get_by_role("button", name="Train", exact=True).press("Enter")
    expect(page.get_by_role("heading", level=1, name="Consensus")).to_be_visible()
    trained(page)
    expect(page.locator(".st-key-train button")).to_be_focused()


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


def test_back_takes_back_after_a_reload_what_was_moved_before_it(studio_url, page):
    page.goto(f"{studio_url}/Playground")
    moved = page.get_by_test_id("stSlider").filter(has_text="λ0")
    expect(moved).to_contain_text("0.30")
    page.wait_for_function("location.search.includes('plane_l0=0.3')")
    moved.get_by_role("slider").press("ArrowRight")
    page.wait_for_function("location.search.includes('plane_l0=0.4')")
    page.reload()
    expect(moved).to_contain_text("0.40")
    idle(page)
    page.go_back()
    page.wait_for_function("location.search.includes('plane_l0=0.3')")
    expect(moved).to_contain_text("0.30")


def test_movements_of_a_slider_are_one_step_and_those_of_another_are_the_next(studio_url, page):
    page.goto(f"{studio_url}/Playground")
    # until then a key may be pressed on a slider that is drawn once more
    expect(page.locator(".st-key-plane_state")).to_contain_text("Shade", timeout=60_000)
    steps = page.evaluate("history.length")
    for name, value in (("λ0", "l0=0.4"), ("λ0", "l0=0.5"), ("λ0", "l0=0.6"), ("λ1", "l1=0.4")):
        page.get_by_test_id("stSlider").filter(has_text=name).get_by_role("slider").press("ArrowRight")
        page.wait_for_function(f"location.search.includes('plane_{value}')")
        idle(page)
    assert page.evaluate("history.length") == steps + 2


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


NARROW = """() => [[".live-chart", 240], [".st-key-panes [data-testid='stSlider']", 130]].flatMap(([kind, least]) =>
  [...document.querySelectorAll(kind)].map(each => each.clientWidth).filter(width => width > 0 && width < least))"""
"""Widths of charts and sliders that are too small for their words."""


def test_no_chart_is_narrower_than_its_words_on_a_phone_that_is_turned_or_a_tablet(studio_url, page):
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(f"{studio_url}/Consensus?data=planted&rounds=10")
    page.get_by_role("button", name="Train", exact=True).click()
    trained(page)
    curves, moves = page.locator(".st-key-live_curves .live-chart"), page.get_by_test_id("stSlider").first
    for width, height in ((800, 400), (1024, 768), (1200, 800), (400, 800)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(f"() => ({NARROW})().length === 0")
        beside = curves.bounding_box()["x"] + curves.bounding_box()["width"] <= moves.bounding_box()["x"]
        below = curves.bounding_box()["y"] < moves.bounding_box()["y"]
        assert (beside or below) and page.evaluate("document.documentElement.scrollWidth <= innerWidth")


SMALL = """() => [...document.querySelectorAll("[data-testid='stMain'] button, [data-testid='stSidebar'] button")]
  .filter(each => each.offsetWidth && (each.offsetWidth < 24 || each.offsetHeight < 24)).map(each => each.ariaLabel)"""


def test_buttons_are_24_pixels_wide_and_high(studio_url, page):
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(f"{studio_url}/Consensus?data=planted")
    expect(page.get_by_role("button", name="Remove source_1")).to_be_visible()  # 15 by 7 in the theme
    idle(page)
    page.get_by_test_id("stExpandSidebarButton").click()
    expect(page.locator(".st-key-letters button").first).to_be_visible()  # 16 by 16
    assert page.evaluate(SMALL) == []
    page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()
    page.get_by_role("button", name="Remove source_1").click()
    expect(page.get_by_role("button", name="Remove source_1")).to_have_count(0)


def test_a_letter_is_explained_to_who_points_at_it_or_goes_there_by_the_keyboard(studio_url, page):
    page.goto(f"{studio_url}/Consensus?data=planted")
    idle(page)
    letter, words = page.locator(".st-key-letters p").first, page.get_by_role("tooltip").first
    for x in range(3, 8):  # the letter itself, not the mark behind it; again where the page has moved below the pointer
        letter.hover(position={"x": x, "y": 8})
        with suppress(playwright.TimeoutError):
            words.wait_for(timeout=2_000)
            break
    expect(words).to_contain_text("Pulls what each source predicts")
    expect(words.locator(".katex").first).to_be_attached()
    page.mouse.move(800, 900)
    expect(page.get_by_role("tooltip")).to_have_count(0)
    page.get_by_role("button", name="Help for Chart tools").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(words).to_contain_text("smooth along the links")


def test_a_page_that_presents_what_is_not_there_says_so_and_shows_all(studio_url, page):
    page.goto(f"{studio_url}/Consensus?data=planted&present=nonsense")
    expect(page.get_by_role("alert").filter(has_text="Not on this page now: nonsense.")).to_be_visible()
    expect(page.get_by_test_id("stSlider").filter(has_text="λ0")).to_be_visible()
    idle(page)
    page.wait_for_function("location.search.includes('l0=') && window.studioSteps")  # no step is under way
    page.goto(f"{studio_url}/Consensus?data=planted&present=known,nonsense")
    expect(page.get_by_text("Not on this page now: nonsense.")).to_be_visible()
    expect(page.get_by_test_id("stSlider").filter(has_text="Labels known")).to_be_visible()
    expect(page.get_by_test_id("stSlider").filter(has_text="λ0")).to_be_hidden()
    page.get_by_role("button", name="Show all controls").click()
    expect(page.get_by_role("button", name="Show all controls")).to_have_count(0)
    slider = page.get_by_test_id("stSlider").filter(has_text="λ0")
    expect(slider).to_have_count(1)  # until then what was drawn before stands beside it
    expect(slider).to_be_visible()


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


def test_on_a_phone_a_change_that_does_not_train_at_once_is_trained_from_where_it_was_made(studio_url, page):
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(f"{studio_url}/Collective?data=digits_views")
    page.get_by_role("button", name="Train", exact=True).click()
    trained(page)
    page.get_by_role("slider", name="Stages M").press("End")
    button = page.get_by_role("button", name="Train with these settings")
    expect(button).to_be_in_viewport(ratio=1)
    button.click()
    page.get_by_role("button", name="Stop training", exact=True).click()


def test_on_a_phone_it_is_seen_from_the_controls_how_far_a_training_is(studio_url, page):
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(f"{studio_url}/Consensus?data=planted")
    idle(page)
    page.get_by_role("button", name="Step by step", exact=True).click()
    page.get_by_role("button", name="One round", exact=True).click()
    expect(page.locator(".live-chart").first).to_be_visible(timeout=TRAINING)
    page.get_by_text("Labels known, per cent").scroll_into_view_if_needed()
    expect(page.locator(".st-key-train")).not_to_be_in_viewport()
    expect(page.locator(".st-key-state").last).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Stop training", exact=True).click()


def test_a_value_that_its_box_cuts_is_whole_over_it(studio_url, page):
    page.goto(f"{studio_url}/Consensus")
    box = page.get_by_role("combobox", name="Noise in a source")
    box.hover()
    expect(box).to_have_attribute("title", "")
    box.evaluate("box => { box.style.cssText = 'flex: none; width: 1rem; padding: 0'; }")
    page.mouse.move(0, 0)
    box.hover()
    expect(box).to_have_attribute("title", "none")
