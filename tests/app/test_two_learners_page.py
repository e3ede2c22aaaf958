"""The Two learners page: models side by side, a source that fails, single rows, and data that don't fit."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

import hetcore as hc
from hetcore.multimodal import deep
from studio import session
from studio.jobs import manager
from tests.app.opened_again import opened_again
from tests.jobs.running import PATIENCE

ROOT = Path(__file__).parents[2]
SMALL = {"two_rounds": 2, "two_epochs": 2, "two_stages": 5, "two_network_epochs": 2, "two_inner": 1}
LOOKS = 20


def opened(example="two_modalities", **values):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    app.session_state["example"] = example
    for key, value in (SMALL | values).items():
        app.session_state[key] = value
    return app.run().switch_page("pages/6_Two_learners.py").run()


def trained(page):
    page.button(key="train").click().run()
    return ended(page)


def ended(page):
    for run in page.session_state["live Two learners"].runs.values():
        status = manager.manager().wait(run, timeout=PATIENCE)
        assert status.state == "finished", status.message
    page.run()
    for run in page.session_state["failing"].values():
        status = manager.manager().wait(run, timeout=PATIENCE)
        assert status.state == "finished", status.message
    page.run()
    assert not page.exception and not page.error
    return page


def words(page):
    shown = (*page.success, *page.caption, *page.markdown, *page.info, *page.warning)
    return " ".join(element.value for element in shown).replace("\\", "")


def test_it_says_what_to_do_and_nothing_trains_unasked():
    page = opened()
    assert not page.exception
    assert page.title[0].value == "Two learners"
    assert "Press Train" in words(page) and "live Two learners" not in page.session_state


@pytest.mark.slow
def test_models_side_by_side_then_a_source_fails():
    page = trained(opened(two_rounds=6, two_epochs=8))
    labels = [metric.label.replace("\\", "") for metric in page.metric]
    assert labels == ["F1 of Trees on table", "F1 of Network on image", "F1 of Together"]
    text = words(page)
    assert "against" in text and "F1, held out:" in text
    assert "Without image, F1: " in text and "Trees on table" in text.split("Without image, F1: ")[1]
    page = page.selectbox(key="fails").set_value("table").run()
    page = ended(page)
    assert opened_again(page, "6_Two_learners.py").selectbox(key="fails").value == "table"
    assert "Without table, F1: " in words(page)
    lines = {trace["name"] for trace in page.session_state["drawn two"]["F1"]["data"]}
    assert {"Trees on table", "Network on image", "Together"} <= lines
    drawn = [trace.get("line") for trace in page.session_state["drawn two"]["F1"]["data"]]
    other = next(box for box in page.selectbox if box.label == "Learner of table").set_value("linear").run()
    assert [trace.get("line") for trace in other.session_state["drawn two"]["F1"]["data"]] == drawn
    page = next(box for box in other.selectbox if box.label == "Learner of table").set_value("tree").run()
    page.session_state["after"] = "Instances"
    page.query_params["after"] = "Instances"  # as the browser's tabs tell it
    page.run().segmented_control(key="rows shown of 3").set_value("any").run()
    chosen = page.selectbox(key="two_instance").options[7]
    page.selectbox(key="two_instance").set_value(chosen).run()
    rows = next(table.value for table in page.dataframe if "of the true class" in table.value)
    assert rows["probability"].between(1.0, 100.0).all()  # per cent, all with one digit
    page.segmented_control(key="against").set_value("seconds").run()
    page.segmented_control(key="on held_out").set_value("train").run()
    other = opened_again(page, "6_Two_learners.py")
    assert other.selectbox(key="two_instance").value == chosen
    assert other.segmented_control(key="against").value == "seconds"
    assert other.segmented_control(key="on held_out").value == "train"
    page.session_state["after"] = page.query_params["after"] = "Confusion"
    page.run().selectbox(key="confusion_of").set_value("Trees on table").run()
    assert opened_again(page, "6_Two_learners.py").selectbox(key="confusion_of").value == "Trees on table"


def test_the_printed_steps_are_a_toggle_and_the_letters_have_their_equations():
    page = opened(two_printed=True)
    assert page.selectbox(key="two_printed_step").options[0].startswith("Bayesian")
    assert not [slider for slider in page.slider if slider.key == "two_rate"]
    helps = " ".join(element.proto.help for element in page.markdown if element.proto.help)
    assert "two-learner paper, (1)" in helps and "two-learner paper, (4)" in helps


@pytest.mark.slow
def test_all_models_can_be_trained_and_looked_at():
    page = opened()
    box = page.multiselect(key="two_models")
    box.set_value(list(box.options)).run()
    for key in ("two_rounds", "two_network_epochs"):
        page.slider(key=key).set_value(2)
    page = trained(page.run())
    assert len(page.metric) == 6
    page.session_state["after"] = "Instances"
    assert page.run().dataframe[0].value["model"].to_list()[2:] == [
        "Together", "Together, 2nd order", "BFV + network", "Two branches",
    ]  # fmt: skip
    page.session_state["after"] = "Confusion"
    page = page.run().selectbox(key="confusion_of").set_value("BFV + network").run()
    assert "of them predicted wrongly" in words(page)
    page.session_state["after"] = "Take away"
    labels = {each.proto.label for each in page.run().get("download_button")}
    assert labels >= {"Predictions (CSV)", "Model", "Figure (HTML)", "Script", "Notebook", "Everything (ZIP)"}


@pytest.mark.slow
def test_a_changed_control_is_compared_with_the_run_before():
    page = trained(opened())
    page = page.slider(key="two_rounds").set_value(3).run()
    if "with these settings" in page.button(key="train").label:
        page.button(key="train").click().run()
    page = ended(page)
    assert page.success and "rounds" in page.success[0].value


@pytest.mark.parametrize(
    ("example", "sentence"), [("planted_flips", "single source"), ("planted", "is a number"),
                              ("planted_domains", "describe different rows")]
)  # fmt: skip
def test_data_that_do_not_fit_get_a_sentence_and_examples_that_do(example, sentence):
    page = opened(example)
    assert not page.exception and sentence in page.info[0].value
    page.button(key="load two_modalities").click().run()
    assert not page.exception and page.session_state["example"] == "two_modalities"
    assert "live Two learners" in page.session_state
    ended(page)


def test_without_pytorch_one_line_says_what_it_adds(monkeypatch):
    monkeypatch.setattr(deep, "has_torch", lambda: False)
    page = opened()
    assert not page.exception
    assert "pip install -r requirements-deep.txt" in words(page)
    key = next(box.key for box in page.selectbox if box.key.endswith(" image"))
    assert page.selectbox(key=key).options == ["Network", "Linear"]


def test_names_are_shown_as_they_are_and_any_number_of_sources_is_taken():
    evil, n = "<b>[x](http://evil.example)|,", 60
    ids, rng = [f"r{k}" for k in range(n)], np.random.default_rng(0)
    tables = {name: pl.DataFrame({"id": ids, "a": rng.normal(size=n)}) for name in (evil, "two", "three")}
    target = pl.DataFrame({"id": ids, "y": [["x", "y", "<i>"][k % 3] for k in range(n)]})
    recipe = {"sources": [{"name": "t", "file": "t.csv", "id": "id"}]}
    mine = session.Current(hc.HetData(tables, target=target), "Your data", "Mine.", recipe)
    page = opened(uploaded=mine, two_leaf=2)
    assert page.multiselect(key="modalities Your data").value == [evil, "two"]
    assert page.slider(key="two_known").value == 80  # of one's own labels, which are few
    page = page.multiselect(key="modalities Your data").set_value([evil]).run()
    assert "at least two" in words(page) and page.button(key="train").disabled
    page = trained(page.multiselect(key="modalities Your data").set_value([evil, "two"]).run())
    page.session_state["after"] = "Take away"
    assert "learned from 80% of the labels" in words(page.run())
    text = " ".join(element.value for element in (*page.success, *page.caption, *page.markdown, *page.info))
    assert "](http" not in text and "<b>" not in text and "<i>" not in text
