"""Trees: against the slow twin, against planted truth, and by reduction."""

import numpy as np
import pytest

from hetcore.errors import DataError
from hetcore.trees import BinMapper, Tree, TreeParams, grow, set_leaf_medians
from tests.naive import grower as naive

SMALL = TreeParams(min_samples_leaf=1, min_child_weight=0.0)


def made_data(n=300, d=5, missing=0.0, seed=0, n_outputs=1):
    """Return a binned table, its numbers of bins and gradients (n, K)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[rng.random((n, d)) < missing] = np.nan
    X[:, d - 1] = rng.integers(0, 3, n)
    mapper = BinMapper(12).fit(X)
    return mapper.transform(X), mapper.n_bins, rng.normal(size=(n, n_outputs)).astype(np.float32)


def assert_same_tree(tree, nodes, gradients, hessians, l2):
    """Compare with the nodes of the naive grower."""
    assert len(tree.nodes) == len(nodes)
    for i, node in enumerate(nodes):
        ours = tree.nodes[i]
        assert ours["count"] == len(node.rows)
        assert ours["depth"] == node.depth
        expected = -gradients[node.rows].sum(axis=0, dtype=float) / (hessians[node.rows].sum(axis=0, dtype=float) + l2)
        np.testing.assert_allclose(tree.values[i], expected, rtol=1e-5, atol=1e-7)
        if not node.children:
            assert ours["left"] == ours["right"] == ours["feature"] == -1
            assert (tree.row_leaf[node.rows] == i).all()
            continue
        gain, *split = node.split
        assert [ours["feature"], ours["threshold_bin"], ours["missing_left"]] == split
        np.testing.assert_allclose(ours["gain"], gain, rtol=1e-4)
        children = [next(j for j, other in enumerate(nodes) if other is child) for child in node.children]
        assert [ours["left"], ours["right"]] == children


LIMITS = {
    "leaves": TreeParams(max_leaf_nodes=9, min_samples_leaf=5),
    "depth": TreeParams(max_depth=3, max_leaf_nodes=-1, min_samples_leaf=5),
    "both": TreeParams(max_depth=4, max_leaf_nodes=7, min_samples_leaf=1, l2=2.0),
    "weight": TreeParams(max_leaf_nodes=12, min_samples_leaf=1, min_child_weight=20.0, l2=0.1),
    "gain": TreeParams(max_leaf_nodes=-1, max_depth=6, min_samples_leaf=3, min_gain=3.0),
}


@pytest.mark.parametrize("params", LIMITS.values(), ids=LIMITS.keys())
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("n_outputs,n_hessians", [(1, 0), (1, 1), (3, 0), (3, 1), (3, 3)])
def test_the_slow_twin_grows_the_same_tree(params, missing, n_outputs, n_hessians):
    binned, n_bins, gradients = made_data(missing=missing, n_outputs=n_outputs)
    rng = np.random.default_rng(5)
    hessians = (rng.random((300, n_hessians)) + 0.5).astype(np.float32) if n_hessians else None
    full = np.ones((300, n_outputs)) if hessians is None else np.broadcast_to(hessians, (300, n_outputs))
    rows = np.sort(rng.permutation(300)[:250]).astype(np.int32)
    columns = np.array([0, 2, 3, 4], np.int32)
    tree = grow(binned, gradients, hessians, rows=rows, columns=columns, params=params, n_bins=n_bins)
    nodes = naive.grow_tree(binned, gradients, full, rows, columns, n_bins, params)
    if params.max_leaf_nodes == -1:  # made branch by branch, not best gain first
        assert len(tree.nodes) == len(nodes)
        assert sorted(tree.nodes["gain"].tolist()) == pytest.approx(
            sorted(node.split[0] if node.children else 0.0 for node in nodes), rel=1e-4
        )
    else:
        assert_same_tree(tree, nodes, gradients, full, params.l2)
    assert len(nodes) > 3
    assert (tree.row_leaf[np.setdiff1d(np.arange(300), rows)] == -1).all()


def test_a_planted_tree_is_recovered():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8)).astype(np.float32)
    X[rng.random(2000) < 0.2, 5] = np.nan
    truth = np.where(X[:, 2] <= 0.3, np.where(X[:, 5] > -0.5, 9.0, 5.0), np.where(X[:, 2] <= 1.2, -5.0, -9.0))
    mapper = BinMapper().fit(X)
    binned = mapper.transform(X)
    tree = grow(
        binned,
        -truth,
        None,
        rows=None,
        columns=None,
        params=TreeParams(max_leaf_nodes=4, min_samples_leaf=1),
        n_bins=mapper.n_bins,
    )
    assert tree.n_leaves == 4
    inner = tree.nodes[tree.nodes["left"] >= 0]
    assert sorted(inner["feature"].tolist()) == [2, 2, 5]
    cuts = sorted(mapper.thresholds[node["feature"]][node["threshold_bin"]] for node in inner)
    np.testing.assert_allclose(cuts, [-0.5, 0.3, 1.2], atol=0.03)
    by_missing = inner[inner["feature"] == 5][0]
    assert by_missing["missing_left"] == 1  # NaN > -0.5 is False
    assert ((tree.predict(binned)[:, 0] - truth) ** 2).mean() < 0.3  # a bin of 8 rows may lie across a cut


def test_one_output_as_a_vector_and_shared_hessians_change_nothing():
    binned, n_bins, gradients = made_data(missing=0.2)
    trees = [
        grow(binned, gradients[:, 0], None, rows=None, columns=None, params=SMALL, n_bins=n_bins),
        grow(binned, gradients, None, rows=None, columns=None, params=SMALL, n_bins=n_bins),
        grow(binned, gradients, np.ones(300), rows=None, columns=None, params=SMALL, n_bins=n_bins),
        grow(binned, gradients, np.ones((300, 1)), rows=None, columns=None, params=SMALL, n_bins=n_bins),
    ]
    doubled = np.hstack([gradients, gradients])
    twice = [
        grow(binned, doubled, h, rows=None, columns=None, params=SMALL, n_bins=n_bins)
        for h in (None, np.ones(300), np.ones((300, 2)))
    ]
    for tree in trees[1:] + twice:
        np.testing.assert_array_equal(tree.nodes["feature"], trees[0].nodes["feature"])
        np.testing.assert_array_equal(tree.nodes["threshold_bin"], trees[0].nodes["threshold_bin"])
        np.testing.assert_allclose(tree.values[:, :1], trees[0].values, atol=1e-12)
    for tree in twice:
        np.testing.assert_array_equal(tree.values[:, 0], tree.values[:, 1])
        np.testing.assert_allclose(tree.nodes["gain"], 2 * trees[0].nodes["gain"], rtol=1e-6)


def test_whole_weights_are_repeated_rows():
    binned, n_bins, gradients = made_data(missing=0.1)
    weights = np.random.default_rng(0).integers(0, 4, 300)
    repeated = np.repeat(np.arange(300), weights).astype(np.int32)
    params = TreeParams(max_leaf_nodes=10, min_samples_leaf=1, min_child_weight=5.0)
    weighted = grow(binned, gradients[:, 0] * weights, weights, rows=None, columns=None, params=params, n_bins=n_bins)
    plain = grow(binned, gradients, None, rows=repeated, columns=None, params=params, n_bins=n_bins)
    np.testing.assert_array_equal(weighted.nodes["threshold_bin"], plain.nodes["threshold_bin"])
    np.testing.assert_allclose(weighted.values, plain.values, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("n_outputs,n_hessians", [(1, 0), (4, 1)])
@pytest.mark.parametrize("params", LIMITS.values(), ids=LIMITS.keys())
def test_neither_the_order_of_rows_nor_threads_change_a_bit(monkeypatch, params, n_outputs, n_hessians):
    binned, n_bins, gradients = made_data(missing=0.2, n_outputs=n_outputs)
    hessians = np.random.default_rng(1).random((300, n_hessians)) if n_hessians else None
    tree = grow(binned, gradients, hessians, rows=None, columns=None, params=params, n_bins=n_bins)
    order = np.random.default_rng(2).permutation(300)
    shuffled = grow(binned, gradients, hessians, rows=order, columns=None, params=params, n_bins=n_bins)
    monkeypatch.setattr("hetcore.growing._SERIAL_VALUES", 0)
    monkeypatch.setattr("hetcore.growing._SERIAL_ROWS", 0)
    threaded = grow(binned, gradients, hessians, rows=None, columns=None, params=params, n_bins=n_bins, n_jobs=3)
    for other in (shuffled, threaded):
        np.testing.assert_array_equal(tree.nodes, other.nodes)
        np.testing.assert_array_equal(tree.values, other.values)
        np.testing.assert_array_equal(tree.row_leaf, other.row_leaf)


@pytest.mark.parametrize("params", LIMITS.values(), ids=LIMITS.keys())
def test_a_short_pool_of_histograms_changes_nothing(monkeypatch, params):
    binned, n_bins, gradients = made_data(missing=0.2)
    tree = grow(binned, gradients, None, rows=None, columns=None, params=params, n_bins=n_bins)
    for n_bytes in (0, 8 * (int(n_bins.sum()) + len(n_bins)) * 2):
        monkeypatch.setattr("hetcore.growing._POOL_BYTES", n_bytes)
        short = grow(binned, gradients, None, rows=None, columns=None, params=params, n_bins=n_bins)
        assert short.n_leaves == tree.n_leaves
        np.testing.assert_array_equal(short.predict(binned), tree.predict(binned))


def test_a_tree_without_limits_separates_all_rows():
    n = 3000
    binned = np.vstack([np.arange(n) // 255, np.arange(n) % 255]).astype(np.uint8)
    gradients = np.random.default_rng(0).normal(size=n)
    tree = grow(binned, gradients, params=TreeParams(-1, -1, 1, 0.0))
    assert tree.n_leaves == n
    np.testing.assert_allclose(tree.predict(binned)[:, 0], -gradients, rtol=1e-6)


def test_nothing_to_split():
    binned, n_bins, gradients = made_data(n=30)
    cases = {
        "constant gradients": (binned, np.full(30, 0.1), None, SMALL),
        "constant columns": (np.zeros_like(binned), gradients, None, SMALL),
        "all missing": (np.full_like(binned, 255), gradients, None, SMALL),
        "one row": (binned, gradients, np.array([7]), SMALL),
        "too few rows": (binned, gradients, None, TreeParams(min_samples_leaf=16)),
        "no gain": (binned, gradients, None, TreeParams(min_samples_leaf=1, min_gain=1e9)),
        "zero gradients": (binned, np.zeros(30), None, SMALL),
    }
    for name, (table, g, rows, params) in cases.items():
        tree = grow(table, g, None, rows=rows, columns=None, params=params, n_bins=None)
        assert tree.n_leaves == 1, name
        inside = slice(None) if rows is None else rows
        np.testing.assert_allclose(tree.values[0], -np.asarray(g, np.float32).reshape(30, 1)[inside].mean(), atol=1e-6)


def test_missing_alone_can_be_split_off():
    binned = np.array([[0] * 10 + [255] * 10], np.uint8)
    tree = grow(binned, np.repeat([1.0, -1.0], 10), params=SMALL)
    assert tree.n_leaves == 2
    np.testing.assert_array_equal(tree.predict(binned)[:, 0], np.repeat([-1.0, 1.0], 10))
    # a value above all that the tree has met is no missing one
    np.testing.assert_array_equal(tree.predict(np.array([[1, 254, 255]], np.uint8))[:, 0], [-1.0, -1.0, 1.0])


def test_unseen_missing_rows_follow_the_majority():
    binned = np.array([[0] * 30 + [1] * 10], np.uint8)
    tree = grow(binned, np.repeat([1.0, -1.0], [30, 10]), params=SMALL)
    assert tree.predict(np.array([[255]], np.uint8))[0, 0] == -1.0


def test_write_protected_arrays_are_read():
    binned, n_bins, gradients = made_data()
    expected = grow(binned, gradients, None, rows=None, columns=None, params=SMALL, n_bins=n_bins)
    for array in (binned, gradients, n_bins):
        array.flags.writeable = False
    tree = grow(binned, gradients, None, rows=None, columns=None, params=SMALL, n_bins=n_bins)
    np.testing.assert_array_equal(tree.predict(binned), expected.predict(binned))


def test_add_to_is_predict():
    binned, n_bins, gradients = made_data(missing=0.1, n_outputs=2)
    rows = np.arange(0, 300, 2)
    for tree in (
        grow(binned, gradients, None, rows=rows, columns=None, params=SMALL, n_bins=n_bins),
        grow(binned, gradients, params=SMALL),
    ):
        out = np.ones((300, 2))
        tree.add_to(out, binned, 0.5)
        np.testing.assert_array_equal(out, 1 + 0.5 * tree.predict(binned))
        loose = Tree(tree.nodes, tree.values)
        loose.add_to(out, binned, -0.5)
        np.testing.assert_allclose(out, 1.0)
    for wrong in (np.ones((300, 3)), np.ones((300, 2), np.float32), np.ones((2, 300)).T):
        with pytest.raises(DataError, match="predictions must be"):
            tree.add_to(wrong, binned)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_median_leaves_are_numpy_medians(n_outputs):
    binned, n_bins, gradients = made_data(missing=0.1, n_outputs=n_outputs)
    targets = np.random.default_rng(0).normal(size=(300, n_outputs)).round(1)
    rows = np.arange(0, 300, 3)
    tree = grow(binned, gradients, None, rows=None, columns=None, params=TreeParams(max_leaf_nodes=6), n_bins=n_bins)
    inner = tree.values[tree.nodes["left"] >= 0].copy()
    for chosen in (None, rows):
        set_leaf_medians(tree, binned, targets if n_outputs > 1 else targets[:, 0], chosen)
        inside = np.arange(300) if chosen is None else chosen
        leaf = tree.apply(binned, inside)
        for node in np.unique(leaf):
            np.testing.assert_array_equal(tree.values[node], np.median(targets[inside][leaf == node], axis=0))
    np.testing.assert_array_equal(tree.values[tree.nodes["left"] >= 0], inner)
    weights = np.random.default_rng(1).integers(0, 4, 300)
    set_leaf_medians(tree, binned, targets, weights=weights)
    for node in np.unique(tree.row_leaf):
        inside = tree.row_leaf == node
        expected = np.median(np.repeat(targets[inside], weights[inside], axis=0), axis=0)
        np.testing.assert_array_equal(tree.values[node], expected)
