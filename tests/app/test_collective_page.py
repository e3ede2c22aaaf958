"""The Collective page: three models side by side, the network, edits and who changes, and data that don't fit."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import datasets
from studio.jobs import manager
from studio.runs import store
from studio.views.collective import widgets_graph
from tests.jobs.running import PATIENCE

ROOT = Path(__file__).parents[2]
LOOKS = 60


def opened(example):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    app.session_state["example"] = example
    return app.run().switch_page("pages/3_Collective.py").run()


def small(page):
    """Take few trees, so that a training takes a second."""
    next(each for each in page.slider if (each.key or "").startswith("first")).set_value(10)
    page.slider(key="trees").set_value(2)
    return page.slider(key="stages").set_value(2).run()


def trained(page):
    page.button(key="train").click().run()
    return ended(page)


def ended(page):
    for run in page.session_state["live Collective"].runs.values():
        status = manager.manager().wait(run, timeout=PATIENCE)
        assert status.state == "finished", status.message
    return settled(page)


def settled(page):
    """Let the workers finish what the network waits for."""
    page.run()
    for _ in range(LOOKS):
        assert not page.exception
        slots = [page.session_state[slot] for slot in ("layouts", "inferences") if slot in page.session_state]
        waiting = [held for slot in slots for kind, held in slot.values() if kind == "run"]
        if not waiting:
            return page
        for run in waiting:
            manager.manager().wait(run, timeout=PATIENCE)
        page.run()
    raise AssertionError("the network never settled")


def words(page):
    return " ".join(element.value for element in (*page.success, *page.caption, *page.markdown, *page.info))


@pytest.fixture
def page():
    return small(opened("autocorrelated"))


def test_the_page_says_what_to_do_and_nothing_trains_unasked(page):
    assert not page.exception
    assert page.title[0].value == "Collective"
    assert "Press Train" in page.info[0].value
    assert "live Collective" not in page.session_state
    assert page.pills(key="rf").value == ["rf1", "rf2", "rf3", "rf4"]
    assert "edges shown" in words(settled(page))


def test_three_models_train_and_a_verdict_is_given(page):
    page = trained(page)
    assert [metric.label for metric in page.metric] == [
        "RMSE of GB", "RMSE of RGB", "RMSE of MGB", "Moran's I left", "Seconds",
    ]  # fmt: skip
    assert "Inferring together saves" in words(page)
    assert {"GB", "RGB", "MGB"} <= {trace["name"] for trace in page.session_state["drawn collective"]["error"]["data"]}
    labels = {each.proto.label for each in page.get("download_button")}
    assert labels >= {"Predictions (CSV)", "Model", "Figure (HTML)", "Script", "Notebook", "Everything (ZIP)"}
    assert "hc.MGBRegressor(" in page.code[0].value and "graph=['links']" in page.code[0].value
    kept = page.session_state["live Collective"]
    events = manager.manager().events(kept.runs["MGB"])
    kept.before = {"MGB": (kept.settings["MGB"], events)}
    assert not page.run().success  # merely trained again, or not even that
    fewer = kept.settings["MGB"].params | {"max_depth": 2}
    kept.before = {"MGB": (replace(kept.settings["MGB"], params=fewer), events)}
    assert "depth 2" in page.run().success[0].value


def test_a_training_that_is_not_stored_says_so_where_it_ended(page, monkeypatch):
    sentence = "The disk is full. 1 run would be lost if the studio ended now."
    monkeypatch.setattr(type(store.shared()), "waiting", property(lambda _: sentence))
    assert not page.run().warning
    assert [each.value.replace("\\", "") for each in trained(page).warning] == [sentence]


@pytest.mark.slow
def test_reopening_one_of_three_models_brings_all_back_and_so_does_a_link_to_it(page, monkeypatch):
    page = trained(page)
    runs, owner, asked = page.session_state["live Collective"].runs, page.session_state["owner"], []
    monkeypatch.setattr(st, "switch_page", lambda file, query_params: asked.append((file, query_params)))
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    app.session_state["owner"] = owner
    app = app.run().switch_page("pages/9_Runs.py").run()
    app.multiselect(key="chosen_runs").set_value([runs["RGB"]]).run()
    app.button(key="reopen").click().run()
    assert not app.exception
    file, query = asked.pop()
    assert query["run"].split(",") == list(runs.values()) and query["labels"] == "GB|RGB|MGB"
    controls = {key: app.session_state[key] for key in ("first", "trees", "stages", "rf")}
    monkeypatch.undo()
    for address in (query, {"run": runs["GB"], "data": query["data"]}):
        other = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
        other.session_state["owner"] = owner
        for key, value in controls.items():
            other.session_state[key] = value
        other = other.run().switch_page(file)
        other.query_params.update(address)
        other.run()
        assert not other.exception and other.session_state["live Collective"].runs == runs
        assert "trained with other settings" not in words(other) and "Inferring together saves" in words(other)


def test_a_clicked_node_begins_a_field_of_its_own(page):
    first, second = (page.selectbox(key="node").options[at] for at in (5, 9))
    for clicks, node in ((1, first), (2, second)):  # what a click on the network leaves
        page.session_state["node clicked"] = (clicks, node)
        page.run()
        assert page.selectbox(key=f"node {clicks}").value == node
        assert "Choose a node" not in words(page)
    page.selectbox(key="node 2").set_value(first).run()
    assert page.run().selectbox(key="node 2").value == first
    page.session_state["node clicked"] = (3, None)  # a second click on it
    assert page.run().selectbox(key="node 3").value is None
    assert "Choose a node" in words(page)


@pytest.mark.slow
def test_a_node_after_a_training_says_that_the_inference_is_on_its_way(page, monkeypatch):
    page = trained(page)
    page.selectbox(key="node").set_value(page.selectbox(key="node").options[5]).run()
    monkeypatch.setattr(widgets_graph, "_inferred", lambda *given: (None, True))
    page.run()
    assert not page.exception
    assert "All are inferred together just now." in words(page) and "Train first" not in words(page)
    monkeypatch.setattr(widgets_graph, "_inferred", lambda *given: (None, False))
    assert "The inference failed: train again." in words(page.run())


@pytest.mark.slow
def test_edits_are_answered_taken_back_and_trained_again(page):
    page = trained(page)
    frame = manager.manager().result(page.session_state["live Collective"].runs["MGB"]).predictions
    node = frame.filter(frame["label"].is_not_null())["id"][0]
    page.selectbox(key="node").set_value(node).run()
    page.button(key="hide label").click()
    page = settled(page.run())
    assert f"without the label of {node}" in words(page).replace("\\", "")
    assert "changed" in page.success[-1].value
    assert page.button(key="hide label").disabled
    neighbour = page.selectbox(key=f"cut {node}").options[0]
    page.selectbox(key=f"cut {node}").set_value(neighbour).run()
    page.button(key="cut edge").click()
    page = settled(page.run())
    assert neighbour not in page.selectbox(key=f"cut {node}").options
    page.button(key="undo edits").click()
    page = settled(page.run())
    assert neighbour in page.selectbox(key=f"cut {node}").options
    assert "without the label" not in words(page)
    page.button(key="hide label").click()
    page = settled(page.run())
    first = page.session_state["live Collective"].runs
    page.button(key="train edits").click().run()
    page = ended(page)
    second = page.session_state["live Collective"]
    assert second.runs != first and second.settings["MGB"].operations[-1]["op"] == "forget_labels"
    assert "against the training before" in words(page)


@pytest.mark.slow
def test_classes_are_predicted_too():
    page = opened("digits_views")
    page.session_state["operations"] = [{"op": "sample", "fraction": 0.25, "seed": 0}]
    del page.session_state["layouts"]  # of all instances, which nobody asks for any more
    page = trained(small(page.run()))
    assert page.metric[0].label == "Error of GB"
    page.segmented_control(key="network colour").set_value("Residual").run()
    frame = manager.manager().result(page.session_state["live Collective"].runs["MGB"]).predictions
    page.selectbox(key="node").set_value(frame.filter(pl.col("label").is_not_null())["id"][0]).run()
    page.button(key="hide label").click()
    page = settled(page.run())
    assert "(hidden by an edit)" in words(page)


def test_data_without_a_graph_are_answered_by_an_offer():
    page = opened("planted_noise")
    assert not page.exception
    assert "along the links of a graph" in page.info[0].value
    offered = [button for button in page.button if button.key.startswith("use ")]
    assert offered[0].key == "use autocorrelated"  # it is always there, and neighbours help the most in it
    offered[0].click().run()
    assert page.session_state["example"] == "autocorrelated"
    assert not page.exception and "Press Train" in page.info[0].value


def test_the_opening_example_says_that_neighbours_hardly_help_and_offers_those_in_which_they_do():
    """Three errors alike were all that a first training on the page showed."""
    page = opened("digits_views")
    text, title = page.info[0].value, datasets.info("autocorrelated").title
    assert "neighbours hardly help" in text and title in text
    assert [button.key for button in page.button if button.key.startswith("use ")][0] == "use autocorrelated"
    page.session_state["operations"] = [{"op": "noise", "name": "fac", "sd": 2.0, "seed": 0}]
    assert "See whether neighbours help" in page.run().info[0].value


def test_a_graph_that_a_link_asks_for_in_vain_is_named():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE).run().switch_page("pages/3_Collective.py")
    app.query_params["data"], app.query_params["graph"] = "autocorrelated", "zzz"
    app.run()
    assert not app.exception and "The graph of the link is not in use here" in app.warning[0].value
    assert "graph" not in app.query_params and "autocorrelated" in app.query_params["data"]
