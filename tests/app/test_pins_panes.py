"""Pinned scenarios: any two stand side by side on the same axes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from hetcore.data import HetData
from hetcore.events import RoundEnd
from studio.jobs.job import Setting
from studio.runs import restoring, store
from studio.views.common import widgets_pins, widgets_progress
from studio.views.common.training import run_of
from studio.views.common.widgets_pins import Pin
from studio.views.consensus import widgets_pins as consensus_pins
from studio.views.consensus.widgets import figures_of
from tests.jobs.running import PATIENCE


def data():
    ids, y = [f"i{k}" for k in range(20)], np.arange(20.0)
    return HetData({"a": pl.DataFrame({"id": ids, "x": y})}, {}, (ids, y))


def rounds(error):
    def event(k):
        detail = {"metric": {"held_out": error / (k + 1)}, "metric_name": "RMSE", "disagreement": 0.0}
        return RoundEnd("GBC", k, 3, {"train": 1.0}, {"a": 1.0}, detail=detail)

    return [event(k) for k in range(3)]


def pin(lambda0, error, title="Films", owner="anna"):
    """Return a scenario whose run is stored, as that of an ended training is."""
    params = {"lambda0": lambda0, "lambda1": 0.1, "as_printed": False, "random_state": 0}
    setting = Setting("GBCRegressor", params)
    run = run_of("Consensus", setting, {"example": title}, title, owner)
    store.shared().add(run, rounds=restoring.to_bytes(rounds(error)))
    return Pin(title, {"Consensus": setting}, {"Consensus": rounds(error)}, {"Consensus": run.id})


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    """A store of this test's own."""
    made = store.RunStore(folder=tmp_path)
    monkeypatch.setattr(store, "shared", lambda: made)
    yield made
    made.close()


def app(pin, data):
    from studio.views.consensus.widgets_pins import pinned

    pinned(pin, data, "anna")


def test_any_two_scenarios_of_the_same_data_stand_side_by_side(runs):
    page = AppTest.from_function(app, args=(pin(0.1, 2.0), data()), default_timeout=PATIENCE).run()
    page.button(key="pin").click().run()
    assert not page.exception and page.dataframe[0].value["RMSE, held out"].tolist() == ["0.667"]
    assert "second scenario" in page.caption[0].value and not page.selectbox
    for each in (pin(0.5, 9.0, "Other data"), pin(0.5, 9.0, owner="berta")):  # hers is not seen
        runs.pin("anna" if each.title == "Other data" else "berta", each.runs["Consensus"])
    # Another session, as tomorrow's.
    page = AppTest.from_function(app, args=(pin(1.0, 4.0), data()), default_timeout=PATIENCE).run()
    assert not page.exception and len(page.dataframe[0].value) == 2
    options = page.selectbox(key="pane A").options
    assert len(options) == 2 and options[0].startswith("1. λ0 0.1") and "shown now" in options[1]  # none of other data
    assert [name.split(",")[0] for name in page.dataframe[0].value["scenario"]] == ["λ0 0.1", "λ0 0.5"]  # not cut
    assert "λ0 0.1 → 1" in page.info[0].value.replace("\\", "") and page.button(key="chance pins start")
    assert len(page.get("plotly_chart")) == 4
    page.selectbox(key="pane A").set_value(options[1]).run()
    page.selectbox(key="pane B").set_value(options[0]).run()
    assert not page.exception and page.query_params["paneb"] != page.query_params["panea"]
    other = AppTest.from_function(app, args=(pin(2.0, 4.0), data()), default_timeout=PATIENCE)
    other.query_params["paneb"] = page.query_params["paneb"]  # a pin, under whatever name it has beside others
    assert other.run().selectbox(key="pane B").value.startswith("1. λ0 0.1") and not other.exception


def test_a_pin_is_let_go_and_goes_with_its_run(runs):
    first, second, other = pin(0.1, 2.0), pin(0.2, 3.0), pin(0.3, 3.0, owner="berta")
    page = AppTest.from_function(app, args=(first, data()), default_timeout=PATIENCE).run()
    page.button(key="pin").click().run()
    runs.pin("anna", second.runs["Consensus"])
    assert len(page.run().dataframe[0].value) == 2
    page.button(key=f"unpin {first.runs['Consensus']}").click().run()
    assert len(page.dataframe[0].value) == 1 and page.dataframe[0].value["λ0"].tolist() == [0.2]
    runs.delete("anna", second.runs["Consensus"])
    assert not page.run().dataframe and not page.exception
    page = AppTest.from_function(app, args=(other, data()), default_timeout=PATIENCE).run()
    page.button(key="pin").click().run()
    assert "somebody else's" in page.warning[0].value and not runs.pins("berta", "Consensus")


def test_panes_have_the_same_axes():
    figures = [figures_of(rounds(error), data())["error"] for error in (2.0, 4.0)]
    widgets_pins.together(figures)
    ranges = [figure["layout"]["yaxis"]["range"] for figure in figures]
    assert ranges[0] == ranges[1] and ranges[0][0] < 2 / 3 and ranges[0][1] > 4
    assert all(figure["layout"]["showlegend"] for figure in figures)  # of a lone line too
    flat = [figures_of(rounds(2.0), data())["weights"] for _ in range(2)]
    widgets_pins.together(flat)
    assert flat[0]["layout"]["yaxis"]["range"] == pytest.approx([0.95, 1.05])


def several(shrinkage, error):
    """Return a scenario of two trainings side by side, whose runs are stored."""
    found = {}
    for label, method in (("GB", "MGBRegressor"), ("MGB", "MGBRegressor")):
        setting = Setting(method, {"shrinkage": shrinkage, "random_state": 0})
        run = run_of("Collective", setting, {"example": "Films"}, "Films", "anna")
        run.settings["label"] = label
        run.results["scores"] = {"metric": "RMSE", "held_out": error / 10, "train": None}
        store.shared().add(run, rounds=restoring.to_bytes(rounds(error)))
        found[label] = setting, rounds(error), run.id
    return Pin("Films", *({label: each[k] for label, each in found.items()} for k in range(3)))


def side_by_side(pin, data):
    from studio.views.common.widgets_pins import pinned

    pinned(pin, "Collective", data, "anna")


def test_trainings_side_by_side_are_pinned_together_and_named_by_what_differs(runs):
    first = several(0.1, 2.0)
    page = AppTest.from_function(side_by_side, args=(first, data()), default_timeout=PATIENCE).run()
    page.button(key="pin").click().run()
    assert not page.exception and len(page.dataframe[0].value) == 1
    assert set(page.dataframe[0].value.columns) >= {"scenario", "RMSE of GB, held out", "RMSE of MGB, held out"}
    page = AppTest.from_function(side_by_side, args=(several(0.5, 4.0), data()), default_timeout=PATIENCE).run()
    page.button(key="pin").click().run()
    assert not page.exception and len(page.dataframe[0].value) == 2
    options = page.selectbox(key="pane A").options
    assert "shrinkage 0.1" in options[0] and "shrinkage 0.5" in options[1]
    # the scores of the models that were kept, which those of the rounds need not be
    assert list(page.dataframe[0].value["RMSE of MGB, held out"]) == ["0.200", "0.400"]
    assert all("RMSE 0.200 → 0.400" in each.value for each in page.info)
    assert [each.value.split(",")[0] for each in page.info] == ["GB", "MGB"] and len(page.get("plotly_chart")) == 2
    assert len(page.selectbox(key="chance pins which").options) == 2
    page.button(key=f"unpin {first.runs['GB']}").click().run()
    assert len(page.dataframe[0].value) == 1 and len(runs.pins("anna", "Collective")) == 2


def test_the_number_of_a_pin_is_that_of_the_model_that_is_kept():
    events = rounds(0.6)
    events[-1].detail["best_stage"] = 1
    row = widgets_pins._row(Pin("Films", {}, {"MGB": events}, {}))
    assert row == {"data": "Films", "RMSE of MGB, held out": "0.300"}


def test_what_a_change_did_is_of_the_models_that_are_kept(monkeypatch):
    texts, scores = [], {"metric": "RMSE", "held_out": 0.1}
    monkeypatch.setattr(widgets_progress.st, "success", texts.append)
    old, new = (Setting("MGBRegressor", {"shrinkage": each}) for each in (0.1, 0.5))
    live = SimpleNamespace(
        settings={"MGB": new}, before={"MGB": (old, rounds(0.6))}, events=lambda: {"MGB": rounds(0.9)},
        result=lambda label: SimpleNamespace(scores=scores), result_before=lambda label: None,
    )  # fmt: skip
    widgets_progress.outcomes(live)
    assert [each.replace("\\", "") for each in texts] == ["MGB: shrinkage 0.1 → 0.5: RMSE 0.200 → 0.100."]


def test_the_table_has_the_words_of_the_switch_of_a_parameter():
    setting = Setting("GBCRegressor", {"lambda0": 0.3, "lambda1": "auto", "as_printed": False})
    row = consensus_pins._row(Pin("Films", {"Consensus": setting}, {"Consensus": rounds(0.6)}, {}))
    assert (row["λ0"], row["λ1"]) == (0.3, "chosen out of fold")
    setting.params["as_printed"] = True  # of which no loss is out of fold
    pin = Pin("Films", {"Consensus": setting}, {"Consensus": rounds(0.6)}, {})
    (name,) = widgets_pins.names_of([pin], consensus_pins._parts)
    assert consensus_pins._row(pin)["λ1"] == 0.03 and name.startswith("λ0 0.3, λ1 0.03, ")


def test_what_differs_comes_first_in_a_name_and_the_rest_after_it():
    done = [{"op": "drop_source", "name": "a"}, {"op": "labels", "fraction": 0.3, "seed": 0}]
    both = [{"lambda0": 0.3, "lambda1": "auto", "n_iterations": rounds} for rounds in (40, 80)]
    pins = [Pin("Films", {"Consensus": Setting("GBC", params, done)}, {}, {}) for params in both]
    parts = ["λ0 0.3", "λ1 'chosen out of fold'", "without the source a", "trained on 30% of the labels"]
    names = widgets_pins.names_of(pins, consensus_pins._parts)
    assert names == [", ".join([f"rounds {rounds}", *parts]) for rounds in (40, 80)]
    pins[1] = pins[1]._replace(settings={"Consensus": Setting("GBC", both[0], done[1:])})
    names = widgets_pins.names_of(pins, consensus_pins._parts)
    assert names[0].startswith("without the source a, λ0 0.3") and names[1].startswith("λ0 0.3")
    assert widgets_pins.names_of(pins[:1], consensus_pins._parts) == [", ".join(parts)]
