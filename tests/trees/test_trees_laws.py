"""Laws that every tree obeys, whatever the data; and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetcore.errors import DataError, ParameterError
from hetcore.trees import BinMapper, TreeParams, grow, set_leaf_medians


@st.composite
def problems(draw):
    """Draw a binned table, gradients, hessians, rows, columns and limits."""
    n, d, n_outputs = draw(st.integers(1, 60)), draw(st.integers(1, 6)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    bins = draw(st.sampled_from([1, 2, 9, 255]))
    binned = rng.integers(0, bins, (d, n)).astype(np.uint8)
    binned[rng.random((d, n)) < draw(st.sampled_from([0.0, 0.3, 1.0]))] = 255
    gradients = (rng.normal(size=(n, n_outputs)) * 10.0 ** draw(st.integers(-6, 6))).astype(np.float32)
    n_hessians = draw(st.sampled_from([0, 1, n_outputs]))
    hessians = rng.integers(0, 3, (n, n_hessians)).astype(np.float32) if n_hessians else None
    rows = rng.permutation(n)[: draw(st.integers(1, n))] if draw(st.booleans()) else None
    columns = rng.permutation(d)[: draw(st.integers(1, d))] if draw(st.booleans()) else None
    limits = TreeParams(
        draw(st.sampled_from([-1, 1, 3])),
        draw(st.sampled_from([-1, 2, 5])),
        draw(st.integers(1, 8)),
        draw(st.sampled_from([0.0, 1e-3, 4.0])),
        draw(st.sampled_from([0.0, 1.0])),
    )
    return binned, gradients, hessians, rows, columns, limits, np.full(d, bins, np.int32)


@settings(max_examples=200, deadline=None)
@given(problems())
def test_every_tree_keeps_its_limits(problem):
    binned, gradients, hessians, rows, columns, params, _ = problem
    tree = grow(*problem)
    nodes, inside = tree.nodes, np.arange(binned.shape[1]) if rows is None else rows
    inner, leaves = np.flatnonzero(nodes["left"] >= 0), np.flatnonzero(nodes["left"] < 0)
    assert len(leaves) == len(inner) + 1 == tree.n_leaves
    assert params.max_leaf_nodes == -1 or len(leaves) <= params.max_leaf_nodes
    assert params.max_depth == -1 or nodes["depth"].max() <= params.max_depth
    assert len(leaves) == 1 or nodes["count"][leaves].min() >= params.min_samples_leaf
    assert nodes["count"][0] == len(inside) == nodes["count"][leaves].sum()
    assert (nodes["gain"][inner] > 0).all()
    assert np.isfinite(tree.values).all()
    assert columns is None or np.isin(nodes["feature"][inner], columns).all()
    np.testing.assert_array_equal(tree.apply(binned, inside), tree.row_leaf[inside])
    counts = np.bincount(tree.row_leaf[inside], minlength=len(nodes))
    np.testing.assert_array_equal(counts[leaves], nodes["count"][leaves])
    if hessians is not None and len(leaves) > 1:
        mass = hessians[inside].mean(axis=1).astype(float)
        light = np.bincount(tree.row_leaf[inside], weights=mass, minlength=len(nodes))[leaves].min()
        assert light >= params.min_child_weight * (1 - 1e-6)


@settings(max_examples=100, deadline=None)
@given(problems())
def test_a_newton_step_never_raises_the_quadratic(problem):
    binned, gradients, hessians, rows, _, params, _ = problem
    inside = np.arange(binned.shape[1]) if rows is None else rows
    step = grow(*problem).predict(binned, inside)
    G = gradients[inside].astype(float)
    H = np.ones_like(G) if hessians is None else np.broadcast_to(hessians[inside], G.shape).astype(float)
    change = (G * step + 0.5 * H * step**2).sum()
    assert change <= 1e-6 * np.abs(G * step).sum()


def test_more_leaves_fit_better():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)).astype(np.float32)
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    binned = BinMapper().fit(X).transform(X)
    losses = []
    for leaves in (2, 4, 8, 16, 32):
        step = grow(binned, -y, params=TreeParams(max_leaf_nodes=leaves, min_samples_leaf=5)).predict(binned)[:, 0]
        losses.append(((y - step) ** 2).mean())
    assert (np.diff(losses) < 0).all()


@pytest.mark.parametrize(
    "name,value",
    [
        ("max_depth", 0),
        ("max_depth", -2),
        ("max_leaf_nodes", 1),
        ("max_leaf_nodes", 0),
        ("min_samples_leaf", 0),
        ("min_child_weight", -1.0),
        ("min_child_weight", np.nan),
        ("l2", -0.1),
        ("l2", np.inf),
        ("min_gain", -1.0),
    ],
)
def test_a_limit_outside_its_domain_is_named(name, value):
    with pytest.raises(ParameterError, match=rf"{name}=.* must be"):
        grow(np.zeros((1, 3), np.uint8), np.ones(3), params=TreeParams()._replace(**{name: value}))


def test_what_is_refused():
    binned, g = np.zeros((2, 3), np.uint8), np.ones(3)
    with pytest.raises(ParameterError, match="n_jobs=0 must be at least 1"):
        grow(binned, g, n_jobs=0)
    cases = [
        (dict(binned=binned.astype(np.int32), gradients=g), "binned is 2-dimensional int32"),
        (dict(binned=binned[0], gradients=g), "binned is 1-dimensional"),
        (dict(binned=binned, gradients=np.ones(4)), "gradients have shape"),
        (dict(binned=binned, gradients=np.array([1, np.nan, 1])), "not all finite"),
        (dict(binned=binned, gradients=np.array([1, np.inf, 1])), "not all finite"),
        (dict(binned=binned, gradients=g, hessians=np.array([1, -1, 1])), "hessians must not be negative"),
        (dict(binned=binned, gradients=g, hessians=np.ones((3, 2))), "hessians are"),
        (dict(binned=binned, gradients=g, rows=np.array([3])), "rows must be"),
        (dict(binned=binned, gradients=g, rows=np.array([-1])), "rows must be"),
        (dict(binned=binned, gradients=g, rows=np.array([0.0])), "rows must be"),
        (dict(binned=binned, gradients=g, rows=np.array([], int)), "needs rows and columns"),
        (dict(binned=binned, gradients=g, columns=np.array([2])), "columns must be"),
        (dict(binned=binned, gradients=g, columns=np.array([], int)), "needs rows and columns"),
        (dict(binned=binned, gradients=g, n_bins=np.array([1])), "n_bins must give"),
        (dict(binned=binned, gradients=g, n_bins=np.array([1, 256])), "n_bins must give"),
    ]
    for arguments, message in cases:
        with pytest.raises(DataError, match=message):
            grow(**arguments)
    tree = grow(binned, g)
    for arguments, message in (
        (dict(targets=np.ones(2)), "targets have shape"),
        (dict(targets=np.array([1, np.nan, 1])), "have NaN"),
        (dict(targets=g, rows=np.array([5])), "rows must be"),
        (dict(targets=g, weights=np.array([1, np.nan, 1])), "have NaN"),
    ):
        with pytest.raises(DataError, match=message):
            set_leaf_medians(tree, binned, **arguments)


def test_a_refused_row_may_hold_anything():
    g = np.array([1.0, np.nan, -1.0])
    tree = grow(np.zeros((1, 3), np.uint8), g, rows=np.array([0, 2]))
    assert tree.values[0, 0] == 0.0
