"""Small parts of the kernels at their edges, where whole trees and random cases seldom come."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hetcore.kernels import binning, csr, medians, splitting
from hetcore.kernels.grower import _may_split, _pick, _release_slot, _take_slot
from hetcore.kernels.layout import N_FREE, N_OPEN, N_STATE, TreeParams
from hetcore.kernels.simplex import _log_temperature
from tests.naive import binning as naive_binning

LIMITS = [
    (TreeParams(max_depth=-1, min_samples_leaf=5), 65_534, 10, True),
    (TreeParams(max_depth=-1, min_samples_leaf=5), 65_535, 10, False),
    (TreeParams(max_depth=0, min_samples_leaf=5), 0, 10, False),
    (TreeParams(max_depth=3, min_samples_leaf=5), 2, 10, True),
    (TreeParams(max_depth=3, min_samples_leaf=5), 3, 10, False),
    (TreeParams(max_depth=3, min_samples_leaf=5), 2, 9, False),
]


@pytest.mark.parametrize(("params", "depth", "count", "may"), LIMITS)
def test_depth_and_rows_limit_splits(params, depth, count, may):
    assert bool(_may_split(SimpleNamespace(depth=depth, count=count), params)) is may


def test_slots_are_taken_and_given_back():
    free, state = np.full(3, -9), np.zeros(N_STATE, np.int64)
    for slot in (0, -1, 2):  # -1 is none
        _release_slot(slot, free, state)
    assert state[N_FREE] == 2
    assert [int(_take_slot(free, state)) for _ in range(3)] == [2, 0, -1]
    assert state[N_FREE] == 0


@pytest.mark.parametrize(("most", "order"), [(9, [2, 5, 1, 7]), (0, [2, 1, 7, 5]), (-1, [2, 1, 7, 5])])
def test_the_best_leaf_is_split_first_or_the_last_without_a_limit(most, order):
    leaves = np.zeros(8, [("gain", float)]).view(np.recarray)
    leaves.gain[[5, 7, 1, 2]] = [2.0, 1.0, 2.0, 3.0]
    leaves.gain[1] = 1.5
    work = SimpleNamespace(open=np.array([5, 7, 1, 2]), state=np.zeros(N_STATE, np.int64), leaves=leaves)
    work.state[N_OPEN] = 4
    assert [int(_pick(TreeParams(max_leaf_nodes=most), work)) for _ in range(4)] == order
    assert work.state[N_OPEN] == 0


@pytest.mark.parametrize("open_", list(itertools.permutations([1, 2, 5])))
def test_of_equal_gains_the_leaf_that_was_made_first_is_split(open_):
    leaves = np.ones(8, [("gain", float)]).view(np.recarray)
    work = SimpleNamespace(open=np.array(open_), state=np.zeros(N_STATE, np.int64), leaves=leaves)
    work.state[N_OPEN] = 3
    assert [int(_pick(TreeParams(), work)) for _ in range(3)] == [1, 2, 5]


def test_the_pivot_is_the_middle_of_first_middle_and_last():
    values = np.array([9.0, 0.0, 5.0, 7.0, 1.0])
    assert medians.median_of_three(values, 0, 4) == 5.0
    assert medians.median_of_three(values, 1, 3) == 5.0
    assert medians.median_of_three(values, 2, 3) == 5.0


def test_rows_without_weight_are_no_part_of_a_median():
    values = np.zeros((1, 1))
    targets, weights = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 0.0, 1.0])
    medians.leaf_medians(np.zeros(3, np.int32), targets, weights, values)
    assert values[0, 0] == 2.0
    medians.leaf_medians(np.zeros(3, np.int32), targets + [[0], [0.5], [0]], weights, values)
    assert values[0, 0] == 2.0


def test_messages_of_weight_zero_are_not_even_looked_at():
    graph = np.array([0, 2, 2, 2], np.int32), np.array([1, 2], np.int32), np.ones(2, np.float32)
    sums, _ = csr.neighbor_sums(*graph, np.array([[0.0], [np.nan], [3.0]]), np.array([1.0, 0, 1]))
    assert sums[:, 0].tolist() == [3.0, 0.0, 0.0]


def test_the_first_of_equal_cuts_is_taken_and_none_that_only_equals_the_key():
    values, products = np.array([1.0, 4.0, 2.0, 4.0]), np.array([1.0, 2.0, 1.0, 2.0])
    assert splitting.best_cut(values, products, 1.0) == (2.0, 1)
    assert splitting.best_cut(values, products, 2.0) == (2.0, -1)


@pytest.mark.parametrize("max_bins", [2, 3, 4, 6])
def test_thresholds_where_a_value_is_just_heavy(max_bins):
    rng = np.random.default_rng(max_bins)
    for _ in range(60):  # of 12 rows, so that runs of exactly 12 / max_bins occur
        values = np.sort(rng.integers(0, rng.integers(3, 9), 12)).astype(np.float32)
        ours, twin = np.zeros((2, 254), np.float32)
        n_cuts = binning.find_thresholds(values, max_bins, ours)
        assert n_cuts == naive_binning.find_thresholds(values, max_bins, twin)
        assert_array_equal(ours[:n_cuts], twin[:n_cuts])


class Recorded(np.ndarray):
    """Losses that count how often they are looked at."""

    looks = 0

    def __getitem__(self, i):
        self.looks += 1
        return float(np.asarray(self)[i])


STEPS = [([1, 2], 4), ([1, 10], 5), ([1e-3, 1e3], 13), ([1e-3, 1, 2, 3, 1000], 9), (range(1, 90), 5), ([2, 2, 2], 1)]


@pytest.mark.parametrize(("losses", "steps"), STEPS)
def test_newton_needs_few_steps_to_the_temperature(losses, steps):
    losses = np.array(losses, float)
    recorded = losses.view(Recorded)
    with np.errstate(all="ignore"):
        u = float(_log_temperature(recorded))
    # once for the least and the greatest; halving alone takes some fifty steps
    assert recorded.looks <= (1 + steps) * losses.size
    np.testing.assert_allclose(np.exp(-losses / np.exp(u)).sum(), 1.0, rtol=1e-12)
