"""The correction of numbers: ridge regression of the residuals, a fold's labels hidden from its rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore.consensus.boosting import ViewBoosting
from hetcore.consensus.view_sum import STRENGTH_OF_CORRECTION, ViewCorrection

FOLD = np.arange(200) % 5


def _case(seed=0):
    """Return what three views change out of fold (v, l): a signal and a disturbance, the disturbance, noise; labels."""
    rng = np.random.default_rng(seed)
    signal, disturbance, noise = rng.normal(size=(3, 200))
    return np.stack([signal + disturbance, disturbance, noise]), signal


def test_the_scales_are_those_of_ridge_regression():
    change, residuals = _case()
    part = ViewCorrection(3, 5)
    part.fit(change, residuals, FOLD, np.ones(3, bool))
    penalised = np.vstack([change.T, np.sqrt(STRENGTH_OF_CORRECTION) * np.eye(3)])
    ridge = [
        np.linalg.lstsq(np.vstack([change.T[rows], penalised[200:]]), np.append(residuals[rows], np.zeros(3)))[0]
        for rows in [np.ones(200, bool)] + [FOLD != k for k in range(5)]
    ]
    assert_allclose(part.scales, ridge[0], atol=1e-12)
    assert_allclose(part.by_fold, ridge[1:], atol=1e-12)
    # what one view says too much is taken away by the other
    assert part.scales[0] > 0.1 and part.scales[1] < -0.05


def test_labels_of_a_fold_do_not_reach_its_rows():
    change, residuals = _case()
    part, other = ViewCorrection(3, 5), ViewCorrection(3, 5)
    part.fit(change, residuals, FOLD, np.ones(3, bool))
    other.fit(change, np.where(FOLD == 2, -5.0 * residuals, residuals), FOLD, np.ones(3, bool))
    assert_allclose(part.by_fold[2], other.by_fold[2], atol=1e-12)
    assert abs(part.by_fold[1] - other.by_fold[1]).max() > 0.05
    predicted, covers = change[:, :, None] + 2.0, np.ones((3, 200), bool)
    fold = np.where(np.arange(200) < 150, FOLD, -1)
    added = part.added(predicted, covers, np.array([2.0]), fold)[:, 0]
    rows = fold == 2
    assert_allclose(added[rows], part.by_fold[2] @ change[:, rows])
    assert_allclose(added[150:], part.scales @ change[:, 150:])


def test_a_view_that_is_not_there_or_explains_nothing_adds_nothing():
    change, residuals = _case()
    part = ViewCorrection(3, 5)
    part.fit(change, residuals, FOLD, np.array([True, True, False]))
    assert part.scales[2] == 0.0 and not part.by_fold[:, 2].any()
    covers = np.ones((3, 200), bool)
    covers[:, :50] = False
    assert_array_equal(part.added(change[:, :, None], covers, np.zeros(1))[:50], 0.0)
    part.fit(change, residuals, FOLD, np.zeros(3, bool))
    assert not part.scales.any()


def _tables(task, n=90):
    rng = np.random.default_rng(1)
    signal, disturbance, noise = rng.normal(size=(3, n))
    ids = np.arange(n).astype(str)
    columns = {"a": signal + disturbance, "b": disturbance}
    frames = {name: pl.DataFrame({"id": ids, "x": column}) for name, column in columns.items()}
    y = signal + 0.3 * noise if task == "regression" else np.where(signal > 0, "yes", "no").astype(object)
    y = np.array([None if i % 3 == 2 else each for i, each in enumerate(y)], object)
    return hc.HetData(frames, None, (ids, y), task=task)


def test_numbers_are_corrected_and_classes_are_not():
    small = {"n_iterations": 3, "base_learner": "kernel"}
    data = _tables("regression")
    fit = hc.GBCRegressor(**small).fit(data)
    assert fit.model_.correction.any()
    assert hc.GBCRegressor(**small, weights="equal").fit(data).model_.correction is None
    assert hc.GBCClassifier(**small).fit(_tables("classification")).model_.correction is None
    before, fit.model_.correction = fit.predict(data), None
    assert abs(fit.predict(data) - before).max() > 1e-4


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_views_that_see_labels_do_not_choose_lambda1(monkeypatch, task):
    asked = []
    of_members = ViewBoosting.member_consensus

    def seen(self, ask, some, which=True):
        asked.append((which, self.executor.members == ask))
        return of_members(self, ask, some, which)

    monkeypatch.setattr(ViewBoosting, "member_consensus", seen)
    n = 60
    ids, place = np.arange(n).astype(str), np.arange(n)
    values = np.sin(place / 5.0)
    y = list(values) if task == "regression" else ["ab"[int(value > 0)] for value in values]
    y = np.array([None if i % 3 == 2 else each for i, each in enumerate(y)], object)
    links = pl.DataFrame({"source": ids[:-1], "target": ids[1:]})
    table = pl.DataFrame({"id": ids, "x": np.cos(7.0 * place)})
    data = hc.HetData({"t": table}, {"chain": links}, (ids, y), task=task)
    estimator = hc.GBCRegressor if task == "regression" else hc.GBCClassifier
    estimator(n_iterations=5, base_learner="kernel", lambda0=0.0).fit(data)
    which = [each for each, chooses in asked if chooses]
    assert len(which) == 1
    assert which[0] is not True and any(which[0]) and not all(which[0])
