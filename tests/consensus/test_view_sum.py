"""The sum of the views: its scales against scipy's optimum, rows that few views cover, and what it is for."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

import hetcore as hc
from hetcore.consensus.outputs import Outputs
from hetcore.consensus.view_sum import STRENGTH, ViewSum, factors, nearest_scales, summed
from hetcore.consensus.view_weights import AT_ONCE, consensus
from hetcore.projection import Projection


def _case(k, n=80, v=4, seed=0):
    """Return outputs, changes (v, n, k) that grow fainter, targets (n, k), and weights (v,)."""
    rng = np.random.default_rng(seed)
    change = rng.normal(size=(v, n, k)) / np.arange(1, v + 1)[:, None, None]
    truth = change[:2].sum(axis=0) + 0.3 * rng.normal(size=(n, k))
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    prior = np.zeros(k)
    if k == 1:
        return {False: (Outputs(False, prior), truth), True: (Outputs(True, prior), (truth > 0) * 1.0)}, change, weights
    return {True: (Outputs(True, prior), np.eye(k)[truth.argmax(axis=1)])}, change, weights


@pytest.mark.parametrize("k,classes", [(1, False), (1, True), (3, True)])
def test_the_scales_are_those_of_the_lowest_loss(k, classes):
    cases, change, weights = _case(k)
    outputs, codes = cases[classes]

    def value(b):
        loss = outputs.loss(outputs.prior + np.tensordot(b, change, 1), codes).mean()
        return loss + 0.5 * STRENGTH / len(codes) * ((b - weights) ** 2).sum()

    best = minimize(value, weights, bounds=[(0, None)] * len(weights), method="L-BFGS-B", options={"ftol": 1e-13})
    found = nearest_scales(outputs, change, codes, weights, weights)
    assert value(found) <= best.fun + 1e-6
    assert_allclose(found, best.x, atol=5e-3)
    assert found.sum() > 1.0  # views that know different things add up


def test_scales_without_a_row_are_the_weights():
    weights = np.array([0.7, 0.3])
    found = nearest_scales(Outputs(False, np.zeros(1)), np.empty((2, 0, 1)), np.empty((0, 1)), weights, weights)
    assert_array_equal(found, weights)


def test_a_row_that_few_views_cover_is_not_drawn_to_the_prior():
    prior, scales = np.array([1.0]), np.array([0.9, 0.6])
    predicted = np.array([[[3.0], [3.0], [9.0]], [[4.0], [9.0], [9.0]]])
    covers = np.array([[1, 1, 0], [1, 0, 0]], bool)
    # both: .9 * 2 + .6 * 3; the first alone holds .9 of 1, so it counts once; none: the prior
    assert_allclose(summed(scales, predicted, covers, prior)[:, 0], [4.6, 3.0, 1.0])


def test_factors_are_those_of_the_consensus_with_the_sum_as_a_view():
    rng = np.random.default_rng(0)
    predicted, covers = rng.normal(size=(3, 50, 2)), rng.random((3, 50)) < 0.6
    prior, weights, scales = np.array([0.2, -0.1]), np.array([0.1, 0.3, 0.0]), np.array([0.0, 0.7, 0.9])
    own = summed(scales, predicted, covers, prior)
    views, having = [*predicted, own], np.vstack([covers, covers[1:].any(axis=0)])
    parts = factors(weights, 0.6, scales, covers)
    ours = prior + np.einsum("vn,vnk->nk", parts, predicted - prior)
    assert_allclose(ours, consensus(np.append(weights, 0.6), views, having, prior), atol=1e-12)
    assert_array_equal(parts[~covers], 0.0)


def test_a_view_that_explains_nothing_is_not_summed():
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(200, 1))
    predicted = np.stack([0.5 * codes, 0.5 * rng.normal(size=codes.shape)])
    part = ViewSum(Outputs(False, np.zeros(1)), 5, 2)
    fold = np.arange(200) % 5
    part.fit(predicted, np.ones((2, 200), bool), codes, fold, np.array([0.9, 0.1]))
    noise = part.scales[1], *part.by_fold[:, 1]
    assert max(noise) < 0.01 and part.scales[0] > 1.8
    part.combine(predicted, predicted, np.ones((2, 200), bool), fold)
    assert_allclose(part.scores, part.scales[0] * predicted[0], rtol=0.05, atol=0.01)


def test_the_sum_has_the_same_bits_on_threads(monkeypatch):
    monkeypatch.setattr("hetcore.consensus.view_sum.SHARED", 1)
    rng = np.random.default_rng(0)
    predicted, trained = rng.normal(size=(2, 3, 400, 2))
    covers, fold = rng.random((3, 400)) < 0.7, rng.integers(-1, 4, 400)
    part, found = ViewSum(Outputs(False, np.array([0.2, -0.1])), 4, 3), []
    part.scales, part.by_fold = rng.random(3), rng.random((4, 3))
    for n_jobs in (1, 4):
        part.combine(predicted, trained, covers, fold, n_jobs)
        found.append((part.scores, part.trained))
    assert_array_equal(*found)
    # each row by the scales of its fold, and one without a label as trained
    assert_array_equal(part.scores[fold < 0], part.trained[fold < 0])
    for k, scales in enumerate(part.by_fold):
        own = summed(scales, predicted, covers, np.array([0.2, -0.1]))
        assert_array_equal(part.scores[fold == k], own[fold == k])


def test_tables_that_each_know_a_part_are_summed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X.sum(axis=1)
    frames = {f"t{i}": pl.DataFrame({"id": np.arange(300).astype(str), "x": X[:, i]}) for i in range(4)}
    known = np.where(np.arange(300) < 150, y, np.nan)
    data = hc.HetData(frames, None, (np.arange(300).astype(str), known), task="regression")
    fit = hc.GBCRegressor(n_iterations=8, base_learner="tree", random_state=0).fit(data)
    equal = hc.GBCRegressor(n_iterations=8, base_learner="tree", weights="equal", random_state=0).fit(data)
    errors = [float(np.sqrt(((each.predict(data) - y)[150:] ** 2).mean())) for each in (fit, equal)]
    assert errors[0] < 0.7 * errors[1]
    assert fit.model_.scales.sum() > 1.0 and equal.model_.scales is None


def test_a_value_far_out_counts_as_four_deviations():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=400), np.arange(400) < 4])
    scaled = Projection.fit(X)
    far = scaled(np.array([[1e6, 1.0], [-1e6, 0.0], [np.nan, np.nan]]))
    assert_allclose(far[:, 0], [4.0, -4.0, 0.0])
    assert far[0, 1] > 9.0  # two values have no end
    assert_allclose(scaled(X)[:, 0], (X[:, 0] - X[:, 0].mean()) / X[:, 0].std())
    words = Projection.fit(np.abs(X), unit_rows=True)
    assert words.limit is None and Projection.fit(np.full((3, 1), np.nan)).limit[0] == np.inf


@pytest.mark.parametrize("everywhere", [True, False])
def test_e_of_a_row_has_the_same_bits_among_others_and_alone(everywhere):
    rng, v, n = np.random.default_rng(3), 17, AT_ONCE // 17 + 1  # one row too many to be summed in one call
    weights, predicted, prior = rng.random(v), rng.normal(size=(v, n, 1)), np.array([0.3])
    covers = np.ones((v, n), bool) if everywhere else rng.random((v, n)) < 0.6
    # mass is summed by rows in blocks of its own, so all views of a row cover it or the others' weights are whole
    weights = weights if everywhere else np.ones(v)
    whole = consensus(weights, predicted, covers, prior)
    for size in (1, 2, 50):
        some = slice(7, 7 + size)
        assert_array_equal(consensus(weights, predicted[:, some], covers[:, some], prior), whole[some])
