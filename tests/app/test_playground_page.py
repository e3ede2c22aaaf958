"""The Playground page, 8_Playground.py: it trains by itself and follows a knob."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from studio.jobs import manager
from tests.jobs.running import PATIENCE

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def page():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE).run()
    return app.switch_page("pages/8_Playground.py").run()


def _ended(page):
    status = manager.manager().wait(page.session_state["playground"]["run"], timeout=PATIENCE)
    assert status.state == "finished", status.message
    return page.run()


def _text(page):
    return " ".join(each.value for each in (*page.markdown, *page.caption))


@pytest.mark.slow
def test_the_plane_is_drawn_and_a_knob_draws_it_anew(page):
    assert not page.exception
    page = _ended(page)
    assert "**Consensus**: " in _text(page) and "**Noise**, weight" in _text(page)
    pictures = [each.value.split("**")[1] for each in page.markdown if each.value.startswith("**")]
    assert pictures == ["Consensus", "West", "East", "Noise", "Links"]  # in this order on a phone too
    first = page.session_state["playground"]["shown"]
    rounds = page.select_slider[0]
    assert int(rounds.options[0]) == 1
    last = _text(page)
    page = rounds.set_value(1).run()
    assert _text(page) != last and f"{first[2][0]['error']:.1%} wrong" in _text(page)
    next(button for button in page.button if button.label == "Regenerate").click().run()
    page = _ended(page)
    assert not page.exception and page.session_state["playground"]["shown"][0] != first[0]
    assert page.query_params["plane_seed"] in ("3", ["3"])


@pytest.mark.slow
def test_the_round_that_is_looked_at_is_in_the_link_and_stays_over_a_draw(page):
    page = _ended(page)
    rounds = page.select_slider[0]
    page = rounds.set_value(int(rounds.options[1])).run()
    assert page.query_params["round"] in (rounds.options[1], [rounds.options[1]])
    next(button for button in page.button if button.label == "Regenerate").click().run()
    page = _ended(page)
    assert str(page.select_slider[0].value) == rounds.options[1]
    other = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE).run()
    for name, value in page.query_params.items():
        other.query_params[name] = value
    other = _ended(other.switch_page("pages/8_Playground.py").run())
    assert str(other.select_slider[0].value) == rounds.options[1]
    other = other.select_slider[0].set_value(int(other.select_slider[0].options[-1])).run()
    assert "round" not in other.query_params
