"""Medians, graph averages and predictions against their twins."""

import copy

import numpy as np
import pytest

from hetcore.kernels import csr, medians, predictor
from hetcore.kernels.layout import NODE_DTYPE
from tests.naive import csr as naive_csr
from tests.naive import medians as naive_medians
from tests.naive import predictor as naive_predictor


def made_graph(n, n_edges, seed=0):
    """Return a symmetric CSR graph without self-loops, in the types of hetcore.Graph."""
    rng = np.random.default_rng(seed)
    dense = np.zeros((n, n), np.float32)
    pairs = rng.integers(0, max(n, 1), (n_edges, 2)) if n else np.empty((0, 2), int)
    for a, b in pairs[pairs[:, 0] != pairs[:, 1]]:
        dense[a, b] = dense[b, a] = rng.integers(1, 4)
    rows, columns = np.nonzero(dense)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return indptr.astype(np.int32), columns.astype(np.int32), dense[rows, columns]


GRAPHS = {
    "random": made_graph(60, 200),
    "sparse": made_graph(60, 15, 1),
    "no edge": made_graph(20, 0),
    "one node": made_graph(1, 0),
    "no node": made_graph(0, 0),
    "two nodes": made_graph(2, 9),
}


@pytest.fixture(params=GRAPHS.values(), ids=GRAPHS.keys())
def graph(request):
    return request.param


@pytest.mark.parametrize("n_columns", [0, 1, 3, 4, 7])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_sums_over_neighbors(graph, n_columns, share):
    rng, n = np.random.default_rng(0), len(graph[0]) - 1
    neighbor_weights = np.where(rng.random(n) < share, rng.random(n), 0.0)
    values = rng.normal(size=(n, n_columns))
    ours, twin = (module.neighbor_sums(*graph, values, neighbor_weights) for module in (csr, naive_csr))
    np.testing.assert_allclose(ours[0], twin[0], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(ours[1], twin[1], rtol=1e-12)


@pytest.mark.parametrize("n_columns", [1, 4])
def test_products_are_added_to_sums(graph, n_columns):
    rng, starts, found = np.random.default_rng(0), graph[0].astype(np.int64), []
    values, shares = rng.normal(size=(starts.size - 1, n_columns)).astype(np.float32), rng.normal(size=2)
    graphs = rng.integers(0, 2, len(graph[1])).astype(np.uint16)
    for module in (csr, naive_csr):
        sums = np.ones((starts.size - 1, n_columns))
        module.add_products(starts, *graph[1:], graphs, shares, values, sums)
        found.append(sums)
    np.testing.assert_allclose(*found, rtol=1e-12, atol=1e-12)


def test_squares_of_links_of_several_graphs(graph):
    rng, found = np.random.default_rng(0), []
    n = len(graph[0]) - 1
    # each row's links twice, by two graphs
    rows = [np.tile(np.arange(*graph[0][i : i + 2]), 2) for i in range(n)]
    order, starts = np.concatenate([*rows, np.arange(0)]).astype(int), 2 * graph[0].astype(np.int64)
    links = graph[1][order], graph[2][order], rng.integers(0, 2, order.size).astype(np.uint16)
    given, shares = rng.normal(size=(n, 3)), rng.random(2)
    for module in (csr, naive_csr):
        met, sums = np.zeros(n), np.ones((n, 3))
        module.add_squares(starts, *links, shares, given, met, sums)
        assert not met.any()
        found.append(sums)
    np.testing.assert_allclose(*found, rtol=1e-12, atol=1e-12)


def test_links_of_graphs_side_by_side_merged_and_averaged(graph):
    n, found = len(graph[0]) - 1, []
    # the same graph twice, so that there is something to merge
    starts = 2 * graph[0].astype(np.int64)
    for module in (csr, naive_csr):
        ends, indices, values = starts[:-1].copy(), np.zeros(starts[-1], np.int32), np.zeros(starts[-1], np.float32)
        graphs = np.zeros(starts[-1], np.uint16)
        for k, over in enumerate((np.full(n, 0.25), np.arange(n) % 3.0)):
            module.append_links(*graph, over, k, ends, indices, values, graphs)
        np.testing.assert_array_equal(ends, starts[1:])
        appended, indptr, place = indices.copy(), np.zeros(n + 1, np.int32), np.zeros(starts[-1], np.int32)
        seen = np.full(n, -1, np.int32)
        for first, last in ((0, n // 2), (n // 2, n)):
            module.merge_links(first, last, starts, indices, seen, indptr, place)
        sums, averages = np.zeros(indptr[-1]), np.zeros(indptr[-1])
        for weighed, to_one in ((sums, False), (averages, True)):
            module.weigh_links(starts, place, values, graphs, np.array([0.3, 0.7]), indptr, weighed, to_one)
        found.append((appended, values, graphs, indices[: indptr[-1]], indptr, place, sums, averages))
    for ours, twin in zip(*found):
        np.testing.assert_allclose(ours, twin, rtol=1e-12 if ours.dtype == np.float64 else 1e-6)


def test_weights_of_zero_do_not_count():
    indptr, indices = np.array([0, 2, 2, 2], np.int32), np.array([1, 2], np.int32)
    weights = np.array([0, 1], np.float32)
    values, neighbor_weights = np.array([[0.0], [7.0], [3.0]]), np.ones(3)
    sums, totals = csr.neighbor_sums(indptr, indices, weights, values, neighbor_weights)
    assert sums[:, 0].tolist() == [3.0, 0.0, 0.0] and totals.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("m", [0, 1, 2, 3, 10, 11, 200, 1001])
@pytest.mark.parametrize("kind", ["distinct", "ties", "sorted", "reversed", "constant"])
def test_medians(m, kind):
    rng = np.random.default_rng(m)
    values = {
        "distinct": rng.normal(size=m),
        "ties": rng.integers(0, 5, m).astype(float),
        "sorted": np.arange(m, dtype=float),
        "reversed": -np.arange(m, dtype=float),
        "constant": np.full(m, 2.5),
    }[kind]
    for weights in (np.ones(m), rng.integers(1, 4, m).astype(float)):
        got = medians.weighted_median(values.copy(), weights.copy())
        np.testing.assert_equal(got, naive_medians.weighted_median(values, weights))
        if m:
            assert got == np.median(np.repeat(values, weights.astype(int)))


def test_parts_of_the_median():
    values, weights = np.array([3.0, 1, 2, 2, 5]), np.array([1.0, 2, 3, 4, 5])
    assert medians.median_of_three(values, 0, 4) == naive_medians.median_of_three(values, 0, 4) == 3.0
    assert medians.sum_between(weights, 1, 3) == naive_medians.sum_between(weights, 1, 3) == 5.0
    less, more = medians.three_way(values, weights, 0, 4, 2.0)
    assert (values[:less] < 2).all() and (values[less : more + 1] == 2).all() and (values[more + 1 :] > 2).all()
    assert sorted(zip(values, weights)) == [(1, 2), (2, 3), (2, 4), (3, 1), (5, 5)]
    leaf = np.array([2, 0, 2, 2], np.int32)
    for ours, twin in zip(medians.group_by_leaf(leaf, 4), naive_medians.group_by_leaf(leaf, 4)):
        np.testing.assert_array_equal(ours, twin)


@pytest.mark.parametrize("m", [1, 100])
def test_medians_of_leaves(m):
    rng = np.random.default_rng(0)
    leaf, targets = rng.integers(0, 6, m).astype(np.int32), rng.normal(size=(m, 2))
    weights, values = rng.integers(0, 3, m).astype(float), np.full((8, 2), -9.0)
    ours, twin = copy.deepcopy(values), copy.deepcopy(values)
    medians.leaf_medians(leaf, targets, weights, ours)
    naive_medians.leaf_medians(leaf, targets, weights, twin)
    np.testing.assert_array_equal(ours, twin)
    assert (ours[6:] == -9).all()


def made_nodes():
    """Return the nodes of a tree of three leaves: missing go left at the root, right below it."""
    nodes = np.zeros(5, NODE_DTYPE)
    nodes["left"], nodes["right"] = [1, 3, -1, -1, -1], [2, 4, -1, -1, -1]
    nodes["feature"], nodes["threshold_bin"] = [1, 0, -1, -1, -1], [7, 3, 0, 0, 0]
    nodes["missing_left"][0] = 1
    return nodes


@pytest.mark.parametrize("n", [1, 4095, 4096, 4097, 9000])
def test_predictions(n):
    rng = np.random.default_rng(0)
    binned = rng.integers(0, 20, (2, n)).astype(np.uint8)
    binned[rng.random((2, n)) < 0.2] = 255
    rows, nodes = rng.integers(0, n, n).astype(np.uint32), np.tile(made_nodes(), 2)
    values, starts = rng.normal(size=(10, 3)), np.array([0, 5, 10])
    outs = np.zeros((2, n, 3))
    leaves = np.zeros((2, n), np.int32)
    for module, out, leaf in zip((predictor, naive_predictor), outs, leaves):
        module.predict_forest(binned, rows, nodes, values, starts, np.array([1.0, -0.5]), out)
        module.find_leaves(binned, rows, nodes[:5], leaf)
        module.add_leaf_values(out, leaf, values, 2.0)
    np.testing.assert_array_equal(leaves[0], leaves[1])
    np.testing.assert_allclose(outs[0], outs[1], rtol=1e-12)
    first, scales, sums, total = values[:, :1].copy(), np.array([1.0, -0.5]), np.zeros((2, n, 4)), np.zeros((n, 1))
    predictor.predict_forest(binned, rows, nodes, first, starts, scales, total)
    for module, out in zip((predictor, naive_predictor), sums):
        module.predict_parts(binned, rows, nodes, first, starts, scales, np.array([2, 0]), out)
    np.testing.assert_allclose(sums[0], sums[1], rtol=1e-12)
    np.testing.assert_array_equal(sums[0, :, :1], total)


def test_rows_fall_to_their_leaves():
    rng = np.random.default_rng(0)
    binned, rows = rng.integers(0, 20, (2, 50)).astype(np.uint8), rng.permutation(50)[:40].astype(np.uint32)
    order, begins, leaf = np.zeros(40, np.uint32), np.zeros((5, 2), np.int64), np.zeros(40, np.int32)
    predictor.drop_rows(binned, rows, made_nodes(), order, np.zeros(40, np.uint32), begins)
    naive_predictor.find_leaves(binned, rows, made_nodes(), leaf)
    for node in (2, 3, 4):
        np.testing.assert_array_equal(np.sort(order[slice(*begins[node])]), np.flatnonzero(leaf == node))
    for missing_left in (0, 1):
        orders = np.arange(40, dtype=np.uint32), np.arange(40, dtype=np.uint32)
        ours = predictor.sort_sides(binned[0], rows, 9, missing_left, orders[0], np.zeros(40, np.uint32))
        assert ours == naive_predictor.sort_sides(binned[0], rows, 9, missing_left, orders[1], None)
        np.testing.assert_array_equal(*orders)


@pytest.mark.parametrize("n_near", [1, 4])
def test_the_nearest_rows_and_of_equal_ones_the_first(n_near):
    rng = np.random.default_rng(0)
    # whole numbers, so that many are as far
    rows, among = rng.integers(0, 3, (30, 3)).astype(float), rng.integers(0, 3, (25, 3)).astype(float)
    mine = np.where(rng.random(30) < 0.5, rng.integers(0, 25, 30), -1)
    given = 2.0 * rows @ among.T, (rows**2).sum(axis=1), (among**2).sum(axis=1), mine, 10.0, 60.0
    found, twins = np.zeros((2, 30, n_near), np.int64)
    csr.nearest_rows(*given, found)
    naive_csr.nearest_rows(*given, twins)
    assert np.array_equal(found, twins)
