"""Folds are alike: each class, or each stretch of numbers, is spread over them, and seeds give them again."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hetcore.data.splits import dealt_in_order, stratified


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
