"""The protocol of weighted multi-source TrAdaBoost: its runs, its weak learners."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC

from experiments import transfer
from experiments.weak_svm import Products, WeakSVM
from hetcore.errors import DataError


def test_weak_svms_over_products_are_those_over_columns():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 5)), rng.exponential(size=60)
    y, rows = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0, 1.0, -1.0), np.arange(60.0)[:, None]
    learner = clone(WeakSVM(Products(X), C=0.1))
    plain = SVC(kernel="linear", C=0.1).fit(X[:40], y[:40], weights[:40])
    np.testing.assert_array_equal(learner.fit(rows[:40], y[:40], weights[:40]).predict(rows), plain.predict(X))


@pytest.mark.slow
def test_there_are_twenty_runs_of_four_targets_and_both_weak_learners():
    try:
        runs = [transfer.one_run(run, 3) for run in (0, 19)]
    except DataError:
        pytest.skip("the files are not here and can't be downloaded")
    for run in runs:
        own = run.sample_domain < 0
        assert own.sum() == 6 and run.y[own].sum() == 3 and run.y_test.mean() == 0.5
    for name in ("TaskTrAdaBoost", "WMS-Squared Multiplicative"):
        found = [transfer.run_cell(f"{name}, {weak}", 4, 3)["accuracy"] for weak in transfer.WEAK]
        assert found[0] != found[1] and min(found) > 0.3
