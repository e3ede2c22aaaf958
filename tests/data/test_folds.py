"""Folds are alike: each class, or each stretch of numbers, is spread over them, and seeds give them again."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hetcore.data.splits import dealt_in_order, stratified, stratified_groups


@pytest.mark.parametrize("n_folds", [2, 5])
def test_each_class_is_spread_evenly(n_folds):
    classes = np.repeat(["a", "b", "c"], [40, 12, 3])[np.random.default_rng(0).permutation(55)]
    fold = stratified(classes, n_folds, np.random.default_rng(1))
    assert np.ptp(np.bincount(fold, minlength=n_folds)) <= 1
    for name in "abc":
        assert np.ptp(np.bincount(fold[classes == name], minlength=n_folds)) <= 1


def test_numbers_are_dealt_by_their_order():
    fold = stratified(np.array([0.3, 0.1, 0.2, 0.4]), 2, np.random.default_rng(0))
    assert_array_equal(fold, [0, 0, 1, 1])


def test_equal_rows_are_shuffled_by_the_seed():
    ours = [stratified(np.zeros(30), 3, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert_array_equal(ours[0], ours[1])
    assert (ours[0] != ours[2]).any()


def test_folds_take_turns_in_an_order_of_each_time():
    order = np.arange(40)
    fixed, drawn = dealt_in_order(None, order, 4), dealt_in_order(None, order, 4, np.random.default_rng(0))
    assert_array_equal(fixed, order % 4)
    assert_array_equal(np.sort(drawn.reshape(10, 4)), np.tile(np.arange(4), (10, 1)))
    assert (drawn != fixed).any()


@pytest.mark.parametrize("numbers", [False, True])
def test_a_group_is_in_one_fold_and_folds_have_as_many_groups(numbers):
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 40, 300)
    key = rng.normal(size=300) + groups if numbers else np.where(groups % 4 == 0, "a", "b")
    fold = stratified_groups(key, groups, 4, rng)
    folds = [set(fold[groups == group]) for group in range(40)]
    assert all(len(each) == 1 for each in folds)
    of_groups = np.array([each.pop() for each in folds])
    assert np.ptp(np.bincount(of_groups, minlength=4)) <= 1
    # each class of groups, or each tenth of their means, is spread as groups are
    own = np.arange(40) // 4 if numbers else np.arange(40) % 4 == 0
    for kind in np.unique(own):
        assert np.ptp(np.bincount(of_groups[own == kind], minlength=4)) <= 2


def test_large_groups_are_spread_before_small_ones():
    groups = np.repeat(np.arange(8), [50, 50, 50, 50, 1, 1, 1, 1])
    fold = stratified_groups(np.full(204, "a"), groups, 4, np.random.default_rng(0))
    assert np.bincount(fold).tolist() == [51] * 4
