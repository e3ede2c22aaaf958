"""Slopes of the members' rows: those of the loss at all rows, and no other row is touched."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hetcore.kernels import members, simplex
from tests.naive import members as naive
from tests.naive import simplex as naive_sums


@pytest.mark.parametrize("k,classes", [(1, False), (1, True), (4, True)])
def test_slopes_are_those_of_the_loss(k, classes):
    rng = np.random.default_rng(0)
    scores, codes, pull = 3 * rng.normal(size=(2, 9, k)), rng.random((4, k)), rng.random((2, 3, k))
    rows = np.array([[0, 2, 5], [3, 4, 6]], np.uint32)
    gradients, hessians = np.full((2, 7, k), 9.0, np.float32), np.full((2, 7, k if classes else 0), 9.0, np.float32)
    for m, own in enumerate(rows):
        given = np.float32(0.3), own, np.empty(k), gradients[m], hessians[m]
        members.write_slopes(scores[m], codes, pull[m], *given)
    g, h = naive.write_slopes(scores, codes, pull, 0.3, classes)
    for m, own in enumerate(rows):
        others = np.setdiff1d(np.arange(7), own)
        assert_allclose(gradients[m, own], g[m, own], rtol=1e-6, atol=1e-7)
        assert (gradients[m, others] == 9.0).all()
        if classes:
            assert_allclose(hessians[m, own], h[m, own], rtol=1e-6, atol=1e-7)
            assert (hessians[m, others] == 9.0).all()


@pytest.mark.parametrize("limit", [0.5, np.inf])
def test_a_step_is_held_within_its_limit(limit):
    rng = np.random.default_rng(0)
    scores, values, leaves = rng.normal(size=(9, 2)), rng.normal(size=(5, 2)), rng.integers(0, 3, 9).astype(np.int32)
    ours, twin = (scores.copy(), values.copy()), (scores.copy(), values.copy())
    members.take_step(*ours, leaves, 3, 0.1, limit)
    naive.take_step(*twin, leaves, 3, 0.1, limit)
    assert_allclose(ours[0], twin[0], rtol=1e-12)
    # no value beyond the tree's
    assert (ours[1] == twin[1]).all() and (ours[1][3:] == values[3:]).all()


def test_probabilities_of_far_scores_are_numbers():
    for scores in (np.array([800.0]), np.array([-800.0]), np.array([900.0, -900.0, 0.0])):
        found = np.empty(scores.size)
        members.fitted(scores, found)
        with np.errstate(over="ignore"):
            assert_allclose(found, naive.fitted(scores), atol=1e-300)


def test_the_farthest_score_is_of_the_first_rows_alone():
    scores = np.random.default_rng(0).normal(size=(2, 6, 3))
    scores[1, 4] = 50.0
    assert members.farthest(scores, 4) == naive.farthest(scores, 4)
    scores[0, 1, 2] = np.nan
    assert members.farthest(scores, 4) == np.inf and members.farthest(scores, 0) == 0.0


def test_views_are_summed_at_some_rows():
    rng = np.random.default_rng(0)
    predicted, prior, rows = rng.normal(size=(3, 7, 2)), rng.normal(size=2), np.array([5, 0, 2])
    used, parts = np.array([0, 2]), rng.random((2, 3))
    out, twin = np.full((7, 2), 9.0), np.full((7, 2), 9.0)
    simplex.sum_views(predicted, prior, used, parts, rows, out)
    naive_sums.sum_views(predicted, prior, used, parts, rows, twin)
    assert_allclose(out, twin, rtol=1e-12)
    simplex.sum_views(predicted, prior, used[:0], parts[:0], rows, out)
    assert (out[rows] == prior).all() and (out[[1, 3, 4, 6]] == 9.0).all()
