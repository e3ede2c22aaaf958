"""Sums over sources in a tree of one shape: the same bits whoever adds up which part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from hetcore.consensus.printed.partial_sums import PartialSums, spans_of


def tree(parts):
    """The sum, by the words of the module."""
    middle = len(parts) // 2
    return parts[0] if len(parts) == 1 else tree(parts[:middle]) + tree(parts[middle:])


def summed(parts, first=0):
    sums = PartialSums((first, first + len(parts)))
    for number, part in enumerate(parts, first):
        sums.add((number, number + 1), part)
    return sums.total


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_bits_are_those_of_one_process_whoever_holds_what(count, workers, seed):
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(count, 3)) * 10.0 ** rng.integers(-9, 9, (count, 1))
    holds, sums = rng.integers(workers, size=count), PartialSums((0, count))
    for worker in rng.permutation(workers):
        for first, stop in spans_of(set(np.flatnonzero(holds == worker).tolist()), (0, count)):
            assert set(range(first, stop)) <= sums.missing
            sums.add((first, stop), summed(parts[first:stop], first))
    assert not sums.missing
    assert_array_equal(sums.total, tree(parts))


def test_the_order_is_not_that_of_the_sources():
    parts = np.array([[1e16], [1.0], [-1e16], [1.0]])
    assert summed(parts) == tree(parts) != sum(parts)


@pytest.mark.parametrize("count, most", [(8, 4), (1000, 11)])
def test_few_parts_wait_where_they_come_in_order(count, most):
    sums, waiting = PartialSums((0, count)), []
    for number in range(count):
        sums.add((number, number + 1), np.ones(1))
        waiting.append(len(sums._parts))
    assert max(waiting) <= most and sums.total == count


def test_neighbours_are_one_sum_and_others_are_not():
    assert spans_of({0, 1, 2, 3}, (0, 8)) == [(0, 4)]
    assert spans_of({1, 2}, (0, 8)) == [(1, 2), (2, 3)]
    assert spans_of({0, 4}, (0, 8)) == [(0, 1), (4, 5)]
    assert spans_of(set(), (0, 8)) == []
