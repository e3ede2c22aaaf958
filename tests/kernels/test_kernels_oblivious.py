"""Oblivious trees: against their slow twin, and where a search node by node sees nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore.forest import Forest
from hetcore.members import MemberGrower, ObliviousGrower
from hetcore.trees import BinMapper, TreeParams
from tests.kernels.test_kernels_members import trees_of
from tests.naive import oblivious as naive

PARAMS = TreeParams(3, -1, 1, 0.0, 1.0, 0.0)


def made(n=60, seed=0):
    """Return bins (4, n), some missing, and their numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.15] = np.nan
    X[:, 2] = np.round(X[:, 2])
    mapper = BinMapper(max_bins=12).fit(X)
    return mapper.transform(X), mapper.n_bins


def boosted(grower, drawn, learned, k, classes):
    """Grow the trees of `drawn`, by member its rows and columns; return them, after whose steps `learned` stands."""
    flat = [each for own in drawn for each in own]
    sizes, used, n_trees = np.array([part.size for part, _ in flat]), np.array([c for _, c in flat]), len(drawn[0])
    grower.use_joined(np.concatenate([part for part, _ in flat]), sizes, used, len(drawn))
    head = len(learned[1]) + learned[2].shape[1]
    slopes = [np.empty((len(drawn), head, width), np.float32) for width in (k, k if classes else 0)]
    grown = grower.empty(len(drawn), n_trees)
    grower.grow_rounds(learned, (*slopes, np.empty((len(drawn), k))), (0, n_trees, n_trees), grown)
    return trees_of(grown), grown


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("k", "classes"), [(1, False), (1, True), (3, True), (5, True), (2, False)])
def test_members_are_boosted_as_the_twin_boosts_them(k, classes, n_jobs):
    (binned, n_bins), rng = made(80), np.random.default_rng(k)
    labelled, pulled, rate, weight, limit = 40, 20, 0.5, np.float32(0.4), 0.9 if classes else np.inf
    codes, pull = rng.random((labelled, k)), rng.random((3, pulled, k))
    rows = [np.flatnonzero(rng.random(60) < 0.7).astype(np.int32) for _ in range(6)]
    columns = [np.sort(rng.permutation(4)[:3]).astype(np.int32) for _ in range(6)]
    drawn = [[(rows[i], columns[i]), (rows[i + 1], columns[i + 1])] for i in (0, 2, 4)]
    found, twin = np.zeros((2, 3, 80, k))
    splits = naive.boost_oblivious(binned, codes, pull, weight, twin, PARAMS, drawn, rate, limit)
    grower = ObliviousGrower(binned, n_bins, (k, k if classes else 0), PARAMS, n_jobs)
    trees, grown = boosted(grower, drawn, (found, codes, pull, weight, rate, limit), k, classes)
    assert_allclose(found, twin, rtol=1e-5, atol=1e-6)
    assert np.abs(grown.values).max() <= limit
    for tree, levels in zip(trees, [each for own in splits for each in own], strict=True):
        assert tree.n_leaves == 2 ** len(levels)
        for depth, (column, cut) in enumerate(levels):
            of_level = tree.nodes[tree.nodes["depth"] == depth]
            assert (of_level["feature"] == column).all() and (of_level["threshold_bin"] == cut).all()
    # trees as all others: a file holds them, and rows fall
    forest = Forest(k)
    for tree in trees[:2]:
        forest.append(tree, rate)
    again = Forest.from_arrays(forest.to_arrays(), 4)
    assert_allclose(again.predict(binned), twin[0], rtol=1e-5, atol=1e-6)
    assert_array_equal(trees[1].apply(binned), grown.leaves[0])
    assert trees[0].nodes["count"][0] == rows[0].size


@pytest.mark.parametrize("classes", [False, True])
def test_columns_of_few_bins_are_compared_by_histograms_first(classes):
    rng = np.random.default_rng(5)
    # of one bin, two, few ones, some missing, and the second once more: of two alike the first is taken
    bins = [np.zeros(400), rng.integers(0, 2, 400), rng.random(400) < 0.05, rng.integers(0, 6, 400), np.zeros(400)]
    binned = np.array(bins, np.uint8)
    binned[3, rng.random(400) < 0.2], binned[4] = 255, binned[1]
    codes = (rng.random((300, 1)) < 0.3 + 0.4 * (binned[1, :300, None] ^ (binned[3, :300, None] > 2))).astype(float)
    drawn = [[(np.flatnonzero(rng.random(300) < 0.8).astype(np.int32), np.arange(5, dtype=np.int32))] * 4]
    pull, weight, limit = np.empty((1, 0, 1)), np.float32(1.0), 0.9 if classes else np.inf
    found, twin = np.zeros((2, 1, 400, 1))
    (splits,) = naive.boost_oblivious(binned, codes, pull, weight, twin, PARAMS, drawn, 0.5, limit)
    grower = ObliviousGrower(binned, np.full(5, 6, np.int32), (1, int(classes)), PARAMS, 1)
    trees, _ = boosted(grower, drawn, (found, codes, pull, weight, 0.5, limit), 1, classes)
    assert_allclose(found, twin, rtol=1e-5, atol=1e-6)
    firsts = [[(node["feature"], node["threshold_bin"]) for node in tree.nodes[[0, 1, 3]]] for tree in trees]
    assert firsts == splits
    assert {column for levels in splits for column, _ in levels} <= {1, 2, 3}


def test_an_exclusive_or_is_found_where_a_search_by_nodes_sees_nothing():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 12)).astype(np.float32)
    y, mapper = np.sign(X[:, 0] * X[:, 1]).astype(float), BinMapper().fit(X)
    params, drawn = TreeParams(4, -1, 1, 0.0, 1.0, 0.0), [[(np.arange(200, dtype=np.int32), np.arange(12))] * 60]

    def error(kind):
        scores = np.zeros((1, 400, 1))
        learned = scores, y[:200, None], np.empty((1, 0, 1)), np.float32(1.0), 0.2, np.inf
        boosted(kind(mapper.transform(X), mapper.n_bins, (1, 0), params), drawn, learned, 1, classes=False)
        return np.mean(np.sign(scores[0, 200:, 0]) != y[200:])

    assert error(ObliviousGrower) < 0.5 * error(MemberGrower)


@pytest.mark.parametrize(
    ("rows", "limits", "leaves"),
    [(40, {"max_depth": -1}, 32), (40, {"max_depth": 9}, 32), (40, {"min_samples_leaf": 10}, 4), (1, {}, 1)],
)
def test_there_are_no_more_leaves_than_rows_allow(rows, limits, leaves):
    (binned, n_bins), codes = made(), np.random.default_rng(0).normal(size=(60, 1))
    learned = np.zeros((1, 60, 1)), codes, np.empty((1, 0, 1)), np.float32(1.0), 1.0, np.inf
    grower = ObliviousGrower(binned, n_bins, (1, 0), PARAMS._replace(**limits))
    (tree,), _ = boosted(grower, [[(np.arange(rows, dtype=np.int32), np.arange(4))]], learned, 1, classes=False)
    assert tree.n_leaves == leaves


def test_nothing_to_gain_leaves_one_leaf():
    binned, n_bins = made()
    drawn = [[(np.arange(60, dtype=np.int32), np.arange(4))]]
    for bins, limits in ((binned, PARAMS._replace(min_gain=1e6)), (np.zeros_like(binned), PARAMS)):
        learned = np.zeros((1, 60, 1)), np.full((60, 1), 2.0), np.empty((1, 0, 1)), np.float32(1.0), 1.0, np.inf
        (tree,), grown = boosted(ObliviousGrower(bins, n_bins, (1, 0), limits), drawn, learned, 1, classes=False)
        assert tree.n_leaves == 1
        assert_allclose(grown.values[0, 0], 120 / 61)


def test_gradients_that_no_tree_can_follow_are_refused():
    binned, n_bins = made()
    learned = np.zeros((1, 60, 1)), np.full((60, 1), np.inf), np.empty((1, 0, 1)), np.float32(1.0), 1.0, np.inf
    grower = ObliviousGrower(binned, n_bins, (1, 0), PARAMS)
    with pytest.raises(hc.DataError, match="not all finite"):
        boosted(grower, [[(np.arange(60, dtype=np.int32), np.arange(4))]], learned, 1, classes=False)
