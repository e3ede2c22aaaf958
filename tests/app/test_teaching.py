"""A class's page: challenges beside the lessons, letters with their equations, and the page that is projected."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import datasets
from hetcore.events import RoundEnd
from studio import session
from studio.jobs.job import Setting
from studio.runs import store
from studio.views.common import glossary, widgets_controls
from studio.views.common.lessons import Facts
from studio.views.common.training import run_of
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


@pytest.mark.parametrize("words, known", [("nonsense", False), ("plane_known,<b>nonsense", True), ("none", None)])
def test_a_word_that_is_no_control_is_named_and_hides_nothing_alone(words, known):
    page = _open("pages/8_Playground.py", present=words)
    hides = any(".st-key-plane_l0" in each.proto.body for each in page.get("html"))
    assert not page.exception and hides is (known is not False)
    messages = [each.value for each in (*page.warning, *page.caption) if "Not on this page now" in each.value]
    assert len(messages) == (known is not None)
    assert all("nonsense" in each and "<b>" not in each for each in messages)


def test_a_control_that_stands_below_the_charts_is_presented_alone_at_once():
    """It was drawn after the page had looked which controls there are: all were shown until the next click."""
    page = _open("pages/4_Transfer.py", data="planted_domains", present="draws")
    assert not page.exception and not page.warning and page.button(key="leave presenter")
    (style,) = [each.proto.body for each in page.get("html") if ".st-key-share-link" in each.proto.body]
    hidden = style[style.rindex("}", 0, style.rindex("{")) :]
    assert ".st-key-eta" in hidden and ".st-key-draws" not in hidden


CONTROLS = {
    "2_Consensus": "planted", "3_Collective": "autocorrelated", "4_Transfer": "planted_domains",
    "5_Noise": "planted_flips", "6_Two_learners": "digits_views", "8_Playground": "planted",
}  # fmt: skip


@pytest.mark.parametrize("name", CONTROLS)
def test_controls_are_offered_to_present_by_the_words_that_the_page_has(name):
    page = _open(f"pages/{name}.py", data=CONTROLS[name])
    names = set(page.session_state[widgets_controls.NAMES].values())
    assert not page.exception and names - set(page.session_state[widgets_controls.LABELS]) <= {"edits", "edited"}


def test_what_a_link_asks_for_in_vain_is_named_above_the_pictures_by_the_words_of_the_page():
    page = _open("pages/8_Playground.py", plane_knows="nonsense")
    drawn = [each.value for each in page.main if each.type in ("alert", "caption", "warning")]
    assert not page.exception and "West and east know" in drawn[0] and len(drawn) > 1


def test_the_letters_of_a_page_are_explained_beside_the_menu():
    page = _open("pages/8_Playground.py")
    helps = {each.value: each.proto.help for each in page.sidebar.markdown}
    assert helps["λ0"] == glossary.hover(glossary.TERMS["lambda0"])
    assert glossary.TERMS["lambda1"].equation in page.slider(key="plane_l1").proto.help


@pytest.mark.parametrize("error, words", [(0.035, "Reached at attempt 1."), (0.08, None)])
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


def test_attempts_at_a_challenge_that_keep_to_its_rules_are_there_in_a_new_session(tmp_path, monkeypatch):
    def app():
        from studio.views.common import widgets_lessons
        from studio.views.common.lessons import Facts

        widgets_lessons.panel("challenge few", Facts())

    made = store.RunStore(folder=tmp_path)
    monkeypatch.setattr(store, "shared", lambda: made)
    monkeypatch.setattr(session, "owner", lambda: "anna")
    for owner, example, fraction, error in (
        ("anna", "digits_views", 0.05, 0.08), ("anna", "digits_views", 0.05, 0.03), ("anna", "digits_views", 0.3, 0.01),
        ("anna", "planted_flips", 0.05, 0.02), ("bob", "digits_views", 0.05, 0.01),
    ):  # fmt: skip
        operations = [{"op": "labels", "fraction": fraction, "seed": 0}]
        setting = Setting("GBCClassifier", {"lambda0": 0.3, "random_state": 0}, operations)
        results = {"scores": {"metric": "error", "held_out": error}}
        made.add(run_of("Consensus", setting, {"example": example}, "x", owner, results=results))
    page = AppTest.from_function(app, default_timeout=PATIENCE).run()
    assert not page.exception and page.dataframe[0].value["error"].tolist() == ["3.00%", "8.00%"]
    assert [each.value for each in page.success] == ["Reached at attempt 2."]
    made.close()


def test_a_lesson_outlives_the_example_that_its_page_asks_for():
    """The link of a lesson on transfer opened where data do not fit, and the example that does came without it."""
    page = _open("pages/4_Transfer.py", lesson="transfer", present="examples", l0="0.5")
    page = page.button(key="use planted_domains").click().run()
    assert not page.exception and page.query_params["lesson"] == "transfer" and "l0" not in page.query_params
    assert any("step 1 of 4" in each.value for each in page.markdown) and "present" in page.query_params


def test_challenges_stand_beside_the_lessons():
    page = _open("pages/2_Consensus.py", lesson="challenge one")
    assert not page.exception
    assert any("a single table" in each.value for each in page.markdown)
    assert any("No attempt yet" in each.value for each in page.caption)
    assert not any("It is about" in each.value for each in page.caption)
    page = _open("pages/2_Consensus.py", lesson="challenge one", data="planted")
    assert any("It is about Digit images, seven views" in each.value for each in page.caption)
