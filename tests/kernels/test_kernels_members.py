"""Trees of several members in one call: those of `trees.grow`, whatever the shapes, parts and threads."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore.forest import Forest
from hetcore.members import MemberGrower, add_members, joined
from hetcore.trees import BinMapper, TreeParams
from tests.naive import members as naive

PARAMS = TreeParams(-1, 6, 4, 0.0, 1.0, 0.0)


def trees_of(grown):
    """Return the trees of all members, one after the other."""
    forest = Forest(grown.values.shape[2])
    forest.add(*joined(grown))
    return [tree for tree, _ in forest.trees()]


def made(n=120, shape=(1, 0), n_members=3, seed=0):
    """Return bins, their numbers, gradients, hessians, and the rows and columns of each member."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    mapper = BinMapper(max_bins=20).fit(X)
    gradients = rng.normal(size=(n_members, n, shape[0])).astype(np.float32)
    hessians = rng.uniform(0.1, 1.0, (n_members, n, shape[1])).astype(np.float32)
    rows = [np.sort(rng.permutation(n)[: n - 15 - k]).astype(np.int32) for k in range(n_members)]
    columns = [np.sort(rng.permutation(4)[:3]).astype(np.int32) for _ in range(n_members)]
    return mapper.transform(X), mapper.n_bins, gradients, hessians, rows, columns


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("shape", [(1, 0), (1, 1), (3, 1), (3, 3)])
def test_trees_are_those_of_their_members_alone(shape, n_jobs):
    binned, n_bins, gradients, hessians, rows, columns = made(shape=shape)
    grower = MemberGrower(binned, n_bins, shape, PARAMS, n_jobs)
    for _ in range(2):  # what the first trees left behind does not change the next
        grower.use(rows, columns)
        grown = grower.grow(gradients, hessians)
    trees, leaves = naive.grow_members(binned, gradients, hessians, rows, columns, PARAMS, n_bins)
    assert_array_equal(grown.leaves, leaves)
    for ours, twin in zip(trees_of(grown), trees):
        assert_array_equal(ours.nodes, twin.nodes)
        assert_allclose(ours.values, twin.values, rtol=1e-9, atol=1e-12)
    assert len({len(tree.nodes) for tree in trees}) >= 1 and min(tree.n_leaves for tree in trees) > 2


def test_rows_and_columns_may_change_from_tree_to_tree():
    binned, n_bins, gradients, hessians, rows, columns = made()
    grower = MemberGrower(binned, n_bins, (1, 0), PARAMS)
    grower.use(rows, columns)
    grower.grow(gradients, hessians)
    rows, columns = [part[::2] for part in rows], columns[::-1]
    grower.use(rows, columns)
    _, leaves = naive.grow_members(binned, gradients, hessians, rows, columns, PARAMS, n_bins)
    assert_array_equal(grower.grow(gradients, hessians).leaves, leaves)


def test_rounds_follow_what_the_trees_before_them_leave():
    binned, n_bins, _, _, rows, columns = made()
    members, n, rate = len(rows), binned.shape[1], 0.3
    target, scores = np.random.default_rng(2).normal(size=(n, 1)), np.zeros((members, n, 1))
    drawn = [[(own, used), (own[::2], used)] for own, used in zip(rows, columns)]
    twin = scores.copy()
    trees = naive.grow_rounds(binned, target, twin, n_bins, PARAMS, drawn, rate)
    for n_jobs in (1, 2):
        grower, found, added = MemberGrower(binned, n_bins, (1, 0), PARAMS, n_jobs), scores.copy(), scores.copy()
        flat = [each for own in drawn for each in own]
        sizes, used = np.array([part.size for part, _ in flat]), np.array([chosen for _, chosen in flat])
        grower.use_joined(np.concatenate([part for part, _ in flat]), sizes, used, members)
        slopes, grown = (np.empty((members, n, width), np.float32) for width in (1, 0)), grower.empty(members, 2)
        grower.grow_rounds((target, found, added, rate), tuple(slopes), (0, 2, 2), grown)
        assert_array_equal(found, twin)
        assert_array_equal(added, twin)
        for ours, theirs in zip(trees_of(grown), [tree for own in trees for tree in own]):
            assert_array_equal(ours.nodes, theirs.nodes)


@pytest.mark.parametrize("classes", [False, True])
def test_members_are_boosted_on_labels_and_on_what_pulls(classes):
    binned, n_bins, _, _, rows, columns = made()
    members, n, rng = len(rows), binned.shape[1], np.random.default_rng(3)
    labelled, pulled, rate, weight, limit = n // 2, n // 4, 0.3, np.float32(0.4), 0.7 if classes else np.inf
    codes, pull = rng.random((labelled, 1)), rng.random((members, pulled, 1))
    rows = [np.flatnonzero(rng.random(labelled + pulled) < 0.7) for _ in rows]
    drawn = [[(own, used), (own[::2], used)] for own, used in zip(rows, columns)]
    twin = np.zeros((members, n, 1))
    trees = naive.boost_members(binned, codes, pull, weight, twin, n_bins, PARAMS, drawn, rate, limit)
    flat = [each for own in drawn for each in own]
    sizes, used = np.array([part.size for part, _ in flat]), np.array([chosen for _, chosen in flat])
    for n_jobs in (1, 2):
        grower, found = MemberGrower(binned, n_bins, (1, int(classes)), PARAMS, n_jobs), np.zeros((members, n, 1))
        grower.use_joined(np.concatenate([part for part, _ in flat]), sizes, used, members)
        slopes = (
            np.empty((members, labelled + pulled, 1), np.float32),
            np.empty((members, labelled + pulled, int(classes)), np.float32),
        )
        grown = grower.empty(members, 2)
        grower.grow_rounds(
            (found, codes, pull, weight, rate, limit), (*slopes, np.empty((members, 1))), (0, 2, 2), grown
        )
        assert_allclose(found, twin, rtol=1e-5, atol=1e-6)
        assert np.abs(grown.values).max() <= limit
        for ours, theirs in zip(trees_of(grown), [tree for own in trees for tree in own]):
            assert_array_equal(ours.nodes["feature"], theirs.nodes["feature"])


def test_scores_get_the_values_of_their_leaves():
    rng = np.random.default_rng(1)
    scores, values = rng.normal(size=(2, 9, 3)), rng.normal(size=(2, 4, 3))
    leaves = rng.integers(0, 4, (2, 9), np.int32)
    twin = scores.copy()
    add_members(scores, leaves, values, 0.3)
    naive.add_members(twin, leaves, values, 0.3)
    assert_allclose(scores, twin, rtol=1e-14)


@pytest.mark.parametrize(("at", "value", "text"), [(2, np.nan, "not all finite"), (3, -1.0, "must not be negative")])
def test_gradients_that_no_tree_can_follow_are_refused(at, value, text):
    given = made(shape=(1, 1))
    given[at][1, given[4][1][0]] = value
    grower = MemberGrower(given[0], given[1], (1, 1), PARAMS)
    grower.use(given[4], given[5])
    with pytest.raises(hc.DataError, match=text):
        grower.grow(given[2], given[3])
