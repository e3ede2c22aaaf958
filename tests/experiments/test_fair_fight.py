"""The fair fight: the same rows for every arm, class weights by validation, measures."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from experiments.modalities import fair_fight
from experiments.modalities.__main__ import ahead, printed
from hetcore.metrics import macro_f1_of_codes
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


def test_class_weights_name_a_rare_class():
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.1).astype(int)
    p = np.clip(0.1 + 0.25 * y + rng.normal(0, 0.05, 400), 0.01, 0.99)
    both = np.stack([1 - p, p], axis=1)
    weights = fair_fight.class_weights(both, y)
    plain = macro_f1_of_codes(y, both.argmax(axis=1))
    assert plain < 0.6 and macro_f1_of_codes(y, (both * weights).argmax(axis=1)) > 0.9
    assert (fair_fight.class_weights(np.eye(2)[y], y) == 1).all()


def test_labels_outside_the_given_rows_are_not_there(toy):
    y = toy.labels(toy.fitted)
    assert sum(label is not None for label in y) == 160 and (y[toy.fitted] == toy.data.y[toy.fitted]).all()


@pytest.mark.parametrize("method", ["CatBoost, joined", "first source alone"])
def test_an_arm_is_scored_on_rows_that_nothing_saw(toy, method):
    cell = fair_fight.run_cell("toy", method, 0)
    assert set(cell) == {"F1", "accuracy", "average_precision", "log_loss", "seconds"}
    assert all(0 <= cell[name] <= 1 for name in ("F1", "accuracy", "average_precision"))


@pytest.mark.skipif(not deep.has_torch(), reason=f"needs PyTorch: {deep.HOW}")
@pytest.mark.parametrize("method", ["two-branch network", "BFV+DNN", "late fusion"])
def test_networks_keep_their_best_epoch(toy, method):
    p, validated = fair_fight.ARMS[method](toy)
    assert p.shape == (300, 4) and np.allclose(p.sum(axis=1), 1, atol=1e-5)
    assert (validated == toy.validated).all()


def test_the_printed_table_counts_places_over_common_runs():
    def row(data, method, run, f1):
        return {"data": data, "method": method, "run": run, "F1": f1, "accuracy": f1, "average_precision": f1}

    cells = pl.DataFrame([
        row("CT", "2WL", 0, 0.7), row("CT", "2WL", 1, 0.9), row("CT", "BFV+DNN", 0, 0.8),
        row("CT", "late fusion", 0, 0.6), row("CT", "late fusion", 1, 0.9), row("RW", "2WL", 0, 0.5),
    ])  # fmt: skip
    assert ahead(cells, ["CT", "RW"], "F1") == (1, 2)
    lines = printed(cells, ["CT"])
    assert "| CT | 2 | 2WL | 0.800 | 0.800 | 0.800 |" in lines and len(lines) == 4
