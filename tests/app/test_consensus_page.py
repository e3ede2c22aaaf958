"""The Consensus page: it trains, says what a change did, and refuses in words what can't be trained."""

from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

import datasets
from hetcore.events import RoundEnd
from studio import session
from studio.jobs import manager
from studio.runs import store
from studio.views.common import widgets_training
from studio.views.consensus import widgets
from tests.consensus.test_hard_data import CASES, REFUSED
from tests.jobs.running import PATIENCE

ROOT = Path(__file__).parents[2]


def opened():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE).run()
    return app.switch_page("pages/2_Consensus.py").run()


@pytest.fixture
def page():
    return opened()


def _run(page):
    return page.session_state["live Consensus"].runs["Consensus"]


def _train(page):
    page.button(key="train").click().run()
    return _ended(page)


def _ended(page):
    status = manager.manager().wait(_run(page), timeout=PATIENCE)
    assert status.state == "finished", status.message
    return page.run()


def _trained_again(page, control):
    """Return the page after a moved control: it trains by itself unless the estimate was too long."""
    before = _run(page)
    control.run()
    if _run(page) == before:
        page.button(key="train").click().run()
    return _ended(page)


def _words(page):
    return " ".join(element.value for element in (*page.info, *page.success, *page.caption, *page.markdown))


def test_the_example_is_there_and_nothing_trains_unasked(page):
    assert not page.exception
    assert page.title[0].value == "Consensus"
    assert "live Consensus" not in page.session_state
    assert page.slider(key="l0").value == pytest.approx(0.3)


def test_training_shows_error_weights_and_what_to_take_away(page):
    page = _train(page)
    assert not page.exception
    metrics = {metric.label: metric.value for metric in page.metric if not metric.label.startswith("Without")}
    assert list(metrics) == ["Error, held out", "Round", "Most weight among tables", "Seconds"]
    assert metrics["Round"].endswith(" of 100")  # the fit ends when the consensus no longer improves
    assert float(metrics["Error, held out"].rstrip("%")) < 5
    assert not page.get("download_button")  # made when the tab opens
    text = _words(page)
    assert r"What one would do without consensus: **SVM on all tables joined\: 50.0%**" in text
    assert "Consensus pays" in text or "3 folds of the known labels alone" in text
    line = page.session_state["drawn"]["error"]["data"][-1]
    assert line["name"] == "without" and line["y"] == [0.5, 0.5]
    assert "chosen out of fold" in text  # λ1
    page.session_state["after"] = "Take away"
    labels = {each.proto.label for each in page.run().get("download_button")}
    files = {"Predictions (CSV)", "Predictions (Parquet)", "Model", "Figure (HTML)", "Script", "Notebook"}
    assert labels >= files | {"Everything (ZIP)"}
    assert "GBCClassifier" in page.code[0].value
    # What was merely trained again is no change; it was said to differ by its seed.
    kept = page.session_state["live Consensus"]
    kept.before = {"Consensus": (kept.settings["Consensus"], manager.manager().events(_run(page)))}
    assert not page.run().info
    # Nobody is asked to press a button that is pale.
    page.multiselect[0].set_value([]).run()
    assert page.button(key="train").disabled
    assert [each.value for each in page.info][:1] == ["What is shown was trained with other settings."]


@pytest.mark.slow
def test_a_run_is_stored_and_pinned_and_a_moved_control_retrains_and_is_reported(page):
    page = _train(page)
    first = _run(page)
    stored(page)
    page.session_state["after"] = "Pinned scenarios"
    page.run()
    page.button(key="pin").click().run()
    assert page.dataframe[0].value["λ0"].tolist() == [pytest.approx(0.3)]
    page = _trained_again(page, page.slider(key="l0").set_value(1.0))
    assert _run(page) != first and not page.exception
    text = next(each.value for each in page.info if "λ0 0" in each.value)
    assert "1" in text and page.button(key="chance change start")


@pytest.mark.slow
def test_a_short_training_after_a_change_is_drawn_once_when_it_has_ended(page, monkeypatch):
    # all are short, and waited for until they end
    for name in ("INSTANT", "WAITED"):
        monkeypatch.setattr(widgets_training, name, PATIENCE)
    page = _train(page)
    first = _run(page)
    page.slider(key="l0").set_value(1.0).run()
    assert _run(page) != first and not page.exception
    assert manager.manager().status(_run(page)).state == "finished"
    assert any("λ0 0" in each.value for each in page.info) and not page.button(key="train").disabled


def stored(page):
    """See that the run is stored under its owner."""
    for _ in range(200):  # the row of the start becomes that of the end a moment after the page knows
        runs = store.shared().list(page.session_state["owner"])
        if runs[0].status == "finished":
            break
        page.run()
    assert runs[0].method == "GBCClassifier" and runs[0].results["rounds"] > 1


def test_what_home_asks_for_while_it_goes_on_is_not_done_once_more_at_its_end(monkeypatch):
    asked, kept = {"train_now": True}, SimpleNamespace(own=True, settings={"Consensus": None})
    monkeypatch.setattr(widgets_training.st, "session_state", asked)
    for name, value in (("_kept", kept), ("busy", True)):
        monkeypatch.setattr(widgets_training.LiveTrainings, name, value)
    live = object.__new__(widgets_training.LiveTrainings)
    live.page = "Consensus"
    assert live._start_asked(kept.settings, [], able=True) == "" and not asked


def test_a_press_whose_script_ends_before_anything_starts_is_not_lost(monkeypatch):
    asked, ends = {}, Mock(side_effect=[KeyboardInterrupt, "", ""])  # as a control that moves at once ends it
    monkeypatch.setattr(widgets_training.st, "session_state", asked)
    for name, value in (("_kept", None), ("busy", False), ("stop", Mock()), ("_start", ends)):
        monkeypatch.setattr(widgets_training.LiveTrainings, name, value)
    live, other = (object.__new__(widgets_training.LiveTrainings) for _ in range(2))
    live.page, other.page = "Consensus", "Noise"
    live._ask(stepwise=True)
    with pytest.raises(KeyboardInterrupt):
        live._start_asked({}, [], able=True)
    live._start_asked({}, [], able=True)
    assert ends.call_count == 2 and ends.call_args.kwargs["paused"] and not asked
    live._ask()
    assert other._start_asked({}, [], able=True) == "" and ends.call_count == 2 and not asked


def test_without_a_source_there_is_a_sentence_and_no_button(page):
    page.multiselect[0].set_value([]).run()
    assert not page.exception
    assert "choose at least one" in page.warning[0].value
    assert page.button(key="train").disabled


def test_as_printed_draws_no_learning_rate_and_says_what_is_not_chosen(page):
    assert page.slider(key="rate").value and not any("As printed no loss" in each.value for each in page.caption)
    page = page.toggle(key="printed").set_value(True).run()
    assert not page.exception and "rate" not in [each.key for each in page.slider]
    notes = [each.value for each in page.caption]
    assert all(f"As printed no loss is out of fold: {name} is 0.03." in notes for name in ("λ0", "λ1"))
    page = page.toggle(key="printed").set_value(False).run()
    assert page.slider(key="rate").value == 0.06 and page.slider(key="l0").value == 0.3


def test_a_lambda0_that_a_person_chose_stays_as_printed(page):
    page.slider(key="l0").set_value(0.5).run()
    page.toggle(key="printed").set_value(True).run()
    assert page.slider(key="l0").value == 0.5 and not page.toggle(key="l0auto").value


def test_a_changed_data_set_is_mentioned_and_taken_back(page):
    page.session_state["operations"] = [{"op": "noise", "name": "fou", "sd": 2.0, "seed": 0}]
    page.run()
    assert any("with noise of 2 sd in fou" in each.value for each in page.markdown)
    page.button(key="undo what if").click().run()
    assert page.session_state["operations"] == []
    assert not any("What if:" in each.value for each in page.markdown)


def test_what_a_what_if_took_out_is_not_offered_and_is_in_use_again_once_it_is_back(page):
    page.multiselect[0].set_value(["fac", "kar", "pix", "zer"]).run()
    gone = [{"op": "drop_source", "name": "zer"}, {"op": "drop_graph", "name": "mor"}]
    page.session_state["operations"] = gone
    page.run()
    assert not page.exception
    assert page.multiselect[0].options == ["fou", "fac", "kar", "pix"]
    assert page.multiselect[0].value == ["fac", "kar", "pix"]
    assert page.multiselect[1].options == page.multiselect[1].value == ["mor_noisy"]
    noisy = next(box for box in page.selectbox if box.label == "Noise in a source")
    assert noisy.options == ["none", "fou", "fac", "kar", "pix"]
    page.button(key="undo what if").click().run()
    page.button(key="undo what if").click().run()
    assert not page.exception
    assert page.multiselect[0].value == ["fac", "kar", "pix", "zer"]
    assert page.multiselect[1].value == ["mor", "mor_noisy"]


def test_neighbours_are_those_along_the_links_that_the_training_had():
    data = datasets.load("digits_views")
    frame = pl.DataFrame({"id": data.ids, "label": data.y.tolist(), "prediction": data.y.tolist()})
    app = AppTest.from_function(_instance, default_timeout=PATIENCE)
    app.session_state["given"] = SimpleNamespace(
        predictions=frame, contributions=frame.select("id", fou=pl.lit(1.0)), additions=None
    ), data, data.select(graphs=["mor_noisy"])
    app.run()
    assert not app.exception
    assert app.dataframe[0].value["graph"].unique().tolist() == ["mor_noisy"]


def _instance():
    import streamlit as st

    from studio.views.consensus.widgets import one_instance

    one_instance(*st.session_state["given"])


@pytest.mark.slow
def test_a_training_that_waits_says_what_for_and_can_stop_it(page):
    studio, owner = manager.manager(), page.session_state["owner"]
    data = datasets.load("planted")
    left = [
        studio.submit(manager.TrainingTask("GBCRegressor", {}, data, digest=data.digest()), owner, paused=True)
        for _ in studio.workers
    ]
    try:
        for run in left:
            studio.wait(run, ["paused"], PATIENCE)
        page.button(key="train").click().run()
        assert studio.status(_run(page), watch=False).state == "queued"
        words = [each.value for each in page.caption if "left this running" in each.value]
        assert len(words) == len(left) and "GBCRegressor, paused" in words[0]
        page.button(key=f"stop {left[0]}").click().run()
        assert studio.wait(left[0], timeout=PATIENCE).state == "stopped"
    finally:
        for run in studio.runs(owner):
            studio.stop(run.run_id)


@pytest.mark.parametrize("change, shown", [(0.00049, None), (-0.0004, None), (0.002, "+0.2 points")])
def test_a_change_of_nothing_has_no_arrow(change, shown, monkeypatch):
    metrics = []
    monkeypatch.setattr(widgets.st, "metric", lambda label, value, delta=None, **_: metrics.append(delta))

    def event(error):
        return RoundEnd("GBC", 0, 1, {}, {"a": 1.0}, detail={"metric": {"held_out": error}, "metric_name": "error"})

    widgets.headline([event(0.1 + change)], [event(0.1)])
    assert metrics[0] == shown


@pytest.mark.slow
def test_what_one_would_do_without_consensus_is_measured_once_for_the_same_labels(page, in_the_background):
    page = _train(page.slider(key="rounds").set_value(5).run())
    assert len(in_the_background.tasks) == 1
    page = _trained_again(page, page.toggle(key="printed").set_value(True))
    assert len(in_the_background.tasks) == 1  # other parameters, the same labels
    page = _trained_again(page, page.slider(key="known").set_value(50))
    assert len(in_the_background.tasks) == 2
    assert not page.exception


@pytest.mark.slow
def test_two_sessions_wait_for_one_comparison(page, in_the_background):
    in_the_background.state = "running"
    for each in (page, opened()):
        assert "2 of 13 fits" in _words(_train(each.slider(key="rounds").set_value(5).run()))
    assert len(in_the_background.tasks) == 1


@pytest.mark.slow
def test_the_comparison_is_stopped_and_asked_for_again(page, in_the_background):
    in_the_background.state = "running"
    page = _train(page.slider(key="rounds").set_value(5).run())
    assert "2 of 13 fits" in _words(page)
    page.button(key="stop_without").click().run()
    assert in_the_background.state == "stopped" and "was not measured" in _words(page)
    in_the_background.state = "finished"
    page.button(key="compare_without").click().run()
    assert len(in_the_background.tasks) == 2 and not page.exception
    assert "SVM on all tables joined" in _words(page)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_hard_data_are_trained_or_refused_in_a_sentence(page, case):
    data = case("classification")
    page.session_state["uploaded"] = session.Current(data, "Hard data", "of few labels", {"sources": {}})
    page.slider(key="known").set_value(100).run()
    page.button(key="train").click().run()
    status = manager.manager().wait(_run(page), timeout=PATIENCE)
    page.run()
    assert not page.exception
    if case in REFUSED["classification"]:
        assert status.state == "failed" and page.error[0].value.endswith("\\.")
    else:
        assert status.state == "finished", status.message
        assert page.metric[0].label == "Error, left out"
