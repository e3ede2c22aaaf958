"""The fair fight: the same rows for every arm, class weights by validation, measures."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from experiments.modalities import fair_fight
from experiments.modalities.__main__ import against, places, printed
from hetcore.multimodal import deep
from tests.multimodal.two_modalities import halves


@pytest.fixture
def toy(monkeypatch):
    """Make planted halves the data of every run, with few rounds."""
    data, _, _ = halves(300)
    monkeypatch.setattr(fair_fight, "EPOCHS", 2)
    monkeypatch.setattr(fair_fight, "TREES", 5)
    codes = np.searchsorted(data.classes, data.y.astype(str))
    rows = np.arange(200)
    run = fair_fight.Run(data, codes, fitted=rows[:160], validated=rows[160:], seed=0)
    monkeypatch.setattr(fair_fight, "load", lambda name, seed: run)
    return run


def test_the_halves_are_whole_data_sets():
    assert not set(fair_fight.CHOOSING) & set(fair_fight.REPORTING)


def test_labels_outside_the_given_rows_are_not_there(toy):
    y = toy.labels(toy.fitted)
    assert sum(label is not None for label in y) == 160 and (y[toy.fitted] == toy.data.y[toy.fitted]).all()


@pytest.mark.parametrize("method", ["CatBoost, joined", "first source alone"])
def test_an_arm_is_scored_on_rows_that_nothing_saw(toy, method):
    cell = fair_fight.run_cell("toy", method, 0)
    assert set(cell) == {"F1", "accuracy", "average_precision", "log_loss", "seconds"}
    assert all(0 <= cell[name] <= 1 for name in ("F1", "accuracy", "average_precision"))


@pytest.mark.slow
@pytest.mark.skipif(not deep.has_torch(), reason=f"needs PyTorch: {deep.HOW}")
@pytest.mark.parametrize("method", ["two-branch network", "BFV+DNN", "late fusion"])
def test_networks_keep_their_best_epoch(toy, method):
    p, validated = fair_fight.ARMS[method](toy)
    assert p.shape == (300, 4) and np.allclose(p.sum(axis=1), 1, atol=1e-5)
    assert (validated == toy.validated).all()


def _cells(*rows):
    names = ("data", "method", "run", "F1", "accuracy", "average_precision")
    return pl.DataFrame([dict(zip(names, (*row, row[-1], row[-1]))) for row in rows])


def test_the_printed_table_counts_places_over_common_runs():
    cells = _cells(
        ("CT", "2WL", 0, 0.7), ("CT", "2WL", 1, 0.9), ("CT", "BFV+DNN", 0, 0.8),
        ("CT", "late fusion", 0, 0.6), ("CT", "late fusion", 1, 0.9), ("RW", "2WL", 0, 0.5),
    )  # fmt: skip
    assert places(cells, ["CT", "RW"], "F1") == (1, 1, 2)
    lines = printed(cells, ["CT"])
    assert "| CT | 2 | 2WL | 0.800 ± 0.100 | 0.800 ± 0.100 | 0.800 ± 0.100 |" in lines and len(lines) == 4
    assert "| CT | 1 | BFV+DNN | 0.800 | 0.800 | 0.800 |" in lines


THEIRS = [((0.7, 0.72, 0.71), False), ((0.72, 0.75, 0.71), False), ((0.9, 0.91, 0.9), True)]


@pytest.mark.parametrize("theirs, lost", THEIRS)
def test_a_place_is_lost_beyond_two_standard_errors(theirs, lost):
    ours, rows = (0.7, 0.71, 0.72), []
    for method, values in (("2WL", ours), ("BFV+DNN", theirs)):
        rows += [("CT", method, k, f1) for k, f1 in enumerate(values)]
    found = against(_cells(*rows), "CT", "BFV+DNN", "F1")
    assert found.runs == 3 and found.lost is lost
    assert found.mean == pytest.approx(np.mean(ours) - np.mean(theirs))
