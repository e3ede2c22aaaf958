"""Columns of what lies one and two links away are those of plain matrices, and no memory is asked for in vain."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore.collective import neighbor_columns
from hetcore.collective.inference import net_of
from hetcore.collective.neighbor_columns import Hops

IDS = pl.Series([f"i{k}" for k in range(12)])


def made(signed=False):
    rng = np.random.default_rng(0)
    weights = np.triu(rng.random((12, 12)) * (rng.random((12, 12)) < 0.3), 1)
    weights *= rng.choice([-1, 1], (12, 12)) if signed else 1
    a, b = np.nonzero(weights)
    return hc.Graph([(IDS[int(i)], IDS[int(j)], w) for i, j, w in zip(a, b, weights[a, b])], signed=signed).aligned(IDS)


@pytest.mark.parametrize("signed", [False, True])
def test_means_two_links_away_leave_oneself_out_whatever_the_blocks(signed, monkeypatch):
    monkeypatch.setattr(neighbor_columns, "ROWS", 5)
    net = net_of([made(signed)], 12, True, "both")
    A = np.zeros((12, 12))
    A[np.repeat(np.arange(12), np.diff(net.indptr[0])), net.indices] = net.weights
    y, known = np.random.default_rng(1).normal(size=(12, 1)), np.arange(12) % 3 > 0
    B = A @ A - np.diag((A * A.T).sum(axis=1))
    sizes = np.abs(A), np.abs(A) @ np.abs(A) - np.diag((A * A.T).sum(axis=1))
    expected = [each for walk, size in zip((A, B), sizes) for each in (walk @ (y[:, 0] * known), size @ known)]
    found = Hops(net, 12).label_columns(y, known, 2)
    assert_array_equal(Hops(net, 12).label_columns(y, known, 1), found[:, :2])
    for at in (0, 2):
        some = expected[at + 1] > 1e-9
        assert_allclose(found[some, at], (expected[at] / np.where(some, expected[at + 1], 1))[some], rtol=1e-5)
        assert np.isnan(found[~some, at]).all() and some.any()
        assert_allclose(found[:, at + 1], expected[at + 1], rtol=1e-5, atol=1e-6)


def test_ways_back_are_counted_for_two_links_alone_and_a_single_graph_is_not_copied():
    graph = made()
    net = net_of([graph], 12, True, "both")
    assert np.shares_memory(net.weights, graph.weights) and np.shares_memory(net.indices, graph.indices)
    hops, y = Hops(net, 12), np.ones((12, 1))
    assert hops.label_columns(y, y[:, 0] > 0, 0).shape == (12, 0) and "graphs" not in vars(hops)
    hops.label_columns(y, y[:, 0] > 0, 1)
    assert "back" not in vars(hops.graphs[0])
    # SciPy would copy indices to the width of their ends
    assert np.shares_memory(hops.graphs[0].graph.indices, net.indices)
