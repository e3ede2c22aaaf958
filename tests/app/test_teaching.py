"""A class's page: challenges beside the lessons, letters with their equations, and the page that is projected."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import datasets
from hetcore.events import RoundEnd
from studio.jobs.job import Setting
from studio.views.common import glossary
from studio.views.common.lessons import Facts
from tests.jobs.running import PATIENCE

ROOT = Path(__file__).parents[2]


def _open(page, **query):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE).run()
    for name, value in query.items():
        app.query_params[name] = value
    return app.switch_page(page).run()


def test_a_presented_page_keeps_its_controls_and_the_way_back():
    page = _open("pages/8_Playground.py", present="plane_known")
    assert not page.exception and "plane_known" in page.query_params["present"]
    assert page.slider(key="plane_l0")  # there, only hidden
    page = page.button(key="leave presenter").click().run()
    assert "present" not in page.query_params and "leave presenter" not in [each.key for each in page.button]


def test_the_letters_of_a_page_are_explained_beside_the_menu():
    page = _open("pages/8_Playground.py")
    helps = {each.value: each.proto.help for each in page.sidebar.markdown}
    assert helps["λ0"] == glossary.hover(glossary.TERMS["lambda0"])
    assert glossary.TERMS["lambda1"].equation in page.slider(key="plane_l1").proto.help


@pytest.mark.parametrize("error, words", [(0.049, "Reached at attempt 1."), (0.08, None)])
def test_an_attempt_is_counted_once_with_its_result(error, words):
    def app(facts):
        from studio.views.common import widgets_lessons

        widgets_lessons.panel("challenge few", facts)

    operations = [{"op": "labels", "fraction": 0.05, "seed": 0}]
    setting = Setting("GBCClassifier", {"lambda0": 0.3, "random_state": 0}, operations)
    event = RoundEnd("GBC", 0, 1, {}, {}, detail={"metric": {"held_out": error}, "metric_name": "error"})
    title, runs = datasets.info("digits_views").title, {"Consensus": "run 1"}
    facts = Facts({"Consensus": setting}, {"Consensus": [event]}, {}, True, runs=runs, title=title)
    page = AppTest.from_function(app, args=(facts,), default_timeout=PATIENCE).run().run()
    assert not page.exception and page.dataframe[0].value.shape[0] == 1
    assert [each.value for each in page.success] == ([words] if words else [])
    page = AppTest.from_function(app, args=(facts._replace(title="Other data"),), default_timeout=PATIENCE).run()
    assert not page.dataframe and any("It is about" in each.value for each in page.caption)


def test_challenges_stand_beside_the_lessons():
    page = _open("pages/2_Consensus.py", lesson="challenge one")
    assert not page.exception
    assert any("a single table" in each.value for each in page.markdown)
    assert any("No attempt yet" in each.value for each in page.caption)
