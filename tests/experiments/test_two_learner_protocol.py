"""The protocol of the two-learner paper's tables and figures: its arms, the round that validation chooses, minutes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from experiments import info
from experiments.modalities import minutes, two_learner
from experiments.modalities.fair_fight import Run
from hetcore.multimodal import deep


@pytest.fixture
def toy(monkeypatch):
    """Make two small tables the data of every run, with few rounds."""
    rng, n = np.random.default_rng(0), 150
    X = rng.normal(size=(2, n, 2))
    y = np.where(X[0, :, 0] + X[1, :, 0] > 0, "yes", "no")
    ids = [f"r{k}" for k in range(n)]
    tables = {name: hc.Source(ids, pl.DataFrame(x, schema=["a", "b"])) for name, x in zip(("structured", "other"), X)}
    data, rows = hc.HetData(tables, target=pl.DataFrame({"id": ids, "y": y})), np.arange(100)
    run = Run(data, np.searchsorted(data.classes, y), fitted=rows[:80], validated=rows[80:], seed=0)
    monkeypatch.setattr(two_learner, "load", lambda name, seed: run)
    for name, value in (("ROUNDS", 3), ("EPOCHS", 2), ("STAGES", 3)):
        monkeypatch.setattr(two_learner, name, value)
    two_learner._curve.cache_clear()
    yield run
    two_learner._curve.cache_clear()


@pytest.mark.parametrize("method", ["2WL_Fix", "2WL2O_Fix", "1WL_S", "1WL_U"])
def test_an_arm_runs_as_printed_and_says_what_its_best_round_is_worth(toy, method):
    cell = two_learner.run_cell("CI-A", method, 0)
    assert 0 <= cell["F1"] <= 1 and 1 <= cell["round"] <= 3 and 0 <= cell["error"] <= 1
    model = two_learner.MAKERS[method]("CI-A", toy)
    assert model.as_printed and model.max_depth == 3
    assert model.step == ("fixed" if method.endswith("Fix") else "bayes")


@pytest.mark.skipif(not deep.has_torch(), reason=f"needs PyTorch: {deep.HOW}")
def test_the_network_has_the_layers_of_table_1(toy):
    model = two_learner.MAKERS["BFV+DNN"]("CI-A", toy)
    assert (model.hidden, model.after_fusion, model.fusion) == ((256, 32), (256, 32), "product")
    assert 0 <= two_learner.run_cell("CI-A", two_learner.BASELINE, 0)["F1"] <= 1


def test_minutes_choose_among_the_rounds_that_had_ended(toy, monkeypatch):
    point = two_learner.Point
    rounds = ((30.0, 0.5, 0.55, 0.4), (90.0, 0.7, 0.65, 0.3), (200.0, 0.9, 0.75, 0.2))
    points = tuple(point(seconds, by, tracked=f1, f1=f1, error=error) for seconds, by, f1, error in rounds)
    monkeypatch.setattr(two_learner, "_curve", lambda data, method, run: points)
    found = [two_learner.after(at, "CI-A", "2WL", 0)["F1"] for at in (0.5, 2.0, None)]
    assert found == [0.55, 0.65, 0.75]
    assert np.isnan(minutes.run_cell("CI-A", "2WL", 0.1, 0)["F1"])
    monkeypatch.undo()


def test_accuracy_is_tracked_on_rw_and_macro_f1_elsewhere(toy, monkeypatch):
    assert two_learner.TRACKED_BY_ACCURACY == "RW"  # whose table has another name than the toy's
    monkeypatch.setattr(two_learner, "TRACKED_BY_ACCURACY", "CI-B")
    of_f1, of_accuracy = (two_learner._curve(data, "2WL_Fix", 0) for data in ("CI-A", "CI-B"))
    assert all(each.tracked == each.f1 for each in of_f1)
    assert all(each.tracked == 1.0 - each.error != each.f1 for each in of_accuracy)
    best = max(of_accuracy, key=lambda each: each.chosen_by)  # what chooses is accuracy too
    assert two_learner.run_cell("CI-B", "2WL_Fix", 0)["tracked"] == best.tracked


def test_the_tables_and_figures_are_the_papers():
    assert info("2wl-table-3").cells["data"] == ["CI-A", "CI-B", "CT", "MI", "RW"]
    assert {"2WL_Fix", "2WL2O_Fix"} < set(info("2wl-figure-5").cells["method"])
    for name in ("2wl-figure-3", "2wl-figure-4", "2wl-figure-5"):
        assert info(name).figure["x"] == "minutes" and set(info(name).cells["method"]) <= set(two_learner.METHODS)
