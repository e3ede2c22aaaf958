"""Draws of many sets in one call: the numbers of NumPy's generator, which goes on as if it had drawn them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hetcore.members import MOST_TOGETHER, TreeDraws, drawn, drawn_together
from tests.naive import draws as naive


def pools(*sizes):
    return [3 * np.arange(size, dtype=np.int32) for size in sizes]


@pytest.mark.parametrize("seed", range(3))
def test_sets_are_those_of_numpy(seed):
    rng, twin = np.random.default_rng(seed), np.random.default_rng(seed)
    sizes, counts = (300, 1, 2, 20, 2000, 120), (150, 1, 1, 20, 1999, 96)
    for _ in range(3):  # an odd number of halves of a word is left over now and then
        found = drawn_together(pools(*sizes), counts, rng)
        assert_array_equal(np.concatenate(found), 3 * naive.draw_sets(twin, sizes, counts))
        assert rng.bit_generator.state == twin.bit_generator.state
        assert rng.random() == twin.random()
    assert [each.dtype for each in found] == [np.int32] * len(sizes)


def test_more_than_there_are_is_all_of_them():
    (found,) = drawn_together(pools(4), [9], np.random.default_rng(0))
    assert_array_equal(found, pools(4)[0])


@pytest.mark.parametrize("size,bits", [(MOST_TOGETHER + 1, np.random.PCG64), (50, np.random.MT19937)])
def test_what_the_kernel_does_not_know_is_drawn_by_numpy(size, bits):
    rng, twin = np.random.Generator(bits(1)), np.random.Generator(bits(1))
    found = drawn_together(pools(size, 30), [40, 7], rng)
    for one, pool, count in zip(found, pools(size, 30), [40, 7]):
        assert_array_equal(one, drawn(pool, count, twin))


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937])
@pytest.mark.parametrize("shares", [False, True])
def test_a_rounds_draws_in_one_array_are_those_of_its_trees(shares, bits):
    training, among, columns = pools(30, 20, 25), pools(40)[0], np.arange(1, 12, dtype=np.int32)
    draws = TreeDraws(training, [15, 10, 12], among, 0.5, columns, 4)
    rng, twin = np.random.Generator(bits(2)), np.random.Generator(bits(2))
    rows, sizes, chosen = draws.joined(rng, 3, shares)
    trees, parts = draws.trees(twin, 3, shares), np.split(rows, np.cumsum(sizes)[:-1])
    assert rng.random() == twin.random() and rows.dtype == chosen.dtype == np.int32
    # member after member, and of each tree after tree
    places = [(m, tree) for m in range(3) for tree in trees]
    for (m, tree), own, of_tree in zip(places, parts, chosen, strict=True):
        assert_array_equal(own, np.concatenate([tree.rows[m], *tree.shared]))
        assert_array_equal(of_tree, tree.columns[m])
