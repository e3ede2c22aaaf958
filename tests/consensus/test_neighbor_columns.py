"""What neighbours say: counts that new rows share, two links that do not lead back, and files of before both."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import hetcore as hc
from hetcore.consensus.neighbor_columns import (
    feature_means,
    label_columns,
    second_means,
    unseen_columns,
)
from hetcore.consensus.views import ViewColumns
from hetcore.data.splits import label_split
from hetcore.targets import KnownLabels
from tests.consensus.test_consensus import planted
from tests.consensus.test_views import _labels


def test_new_rows_have_as_many_labelled_neighbours_as_rows_of_the_fit():
    clique = sparse.csr_array(np.ones((60, 60)) - np.eye(60))
    fold = np.append(np.arange(50) % 5, np.full(10, -1))
    labels = KnownLabels(np.where(fold >= 0, 1.0, 0.0)[:, None], fold)
    seen, unseen = label_columns(clique, labels), unseen_columns(clique, labels)
    # at one link, at two and spread
    for counts in (seen[:50, -3:], unseen[:, -3:]):
        assert_allclose(counts[:, 0], seen[-1, -3], rtol=1e-6)
        assert_allclose(counts, np.tile(seen[-1, -3:], (len(counts), 1)), atol=0.06)
    assert_array_equal(seen[:, :3], 1.0)


def test_a_number_that_hangs_on_how_many_links_there_are_is_predicted_without_a_bias():
    rng = np.random.default_rng(3)
    n, ids = 300, np.array([f"i{k}" for k in range(300)])
    popular = np.exp(rng.normal(size=n))
    a, b = np.repeat(np.arange(n), 4), rng.choice(n, 4 * n, p=popular / popular.sum())
    y = np.log1p(np.bincount(b, minlength=n)) + 0.1 * rng.normal(size=n)
    table = pl.DataFrame({"id": ids, "x": rng.normal(size=n)})
    data = hc.HetData({"t": table}, {"g": pl.DataFrame({"source": ids[a], "target": ids[b]})}, (ids, y))
    known = label_split(data, 0.8, 0)
    missed = (hc.GBCRegressor(random_state=0).fit(data, known).predict(data) - y)[np.isnan(known)]
    # .84 of the deviation where new rows had a quarter more labelled neighbours than rows of the fit
    assert abs(missed.mean()) < 0.35 * missed.std()


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_two_links_do_not_lead_back(missing):
    rng = np.random.default_rng(0)
    links = sparse.random_array((30, 30), density=0.1, rng=rng)
    links = sparse.triu(links + links.T, k=1)
    links, X = (links + links.T).tocsr(), rng.normal(size=(30, 3))
    X[rng.random(X.shape) < missing] = np.nan
    found, A, known = second_means(links, X, feature_means(links, X)), links.toarray(), ~np.isnan(X)
    # a walk from i to j by the weight of the link, on to a k that is known, not i
    for i in range(30):
        for c in range(3):
            onward = A * known[:, c]
            onward = onward / np.maximum(onward.sum(axis=1, keepdims=True), 1e-300)
            ends = np.delete(A[i] @ onward, i)
            expected = ends @ np.nan_to_num(np.delete(X[:, c], i)) / ends.sum() if ends.sum() > 0 else np.nan
            assert_allclose(found[i, c], expected, rtol=1e-4, atol=1e-5)


def test_who_has_one_neighbour_of_no_other_has_nobody_at_two_links():
    pair = sparse.csr_array(np.array([[0, 0.3, 0], [0.3, 0, 0], [0, 0, 0]]))
    X = np.array([[1.0], [2.0], [3.0]])
    assert np.isnan(second_means(pair, X, feature_means(pair, X))).all()


def test_a_file_of_before_predicts_from_columns_as_they_were():
    data, _ = planted("classification")
    labels, made = _labels(data, "classification"), ViewColumns()
    made.fit(data, labels).of_training()
    meta, arrays = made.to_state()
    assert ViewColumns.from_state(meta, arrays).whole
    before = ViewColumns.from_state({name: each for name, each in meta.items() if name != "whole"}, arrays)
    assert not before.whole
    links = before.links(data, "graph_1")
    near_labels, near = label_columns(links, labels, whole=False), feature_means(links, _joined(data, made))
    first, step = near.shape[1], near_labels.shape[1]
    for each in before.transform(data, labels):
        if each.view.name == "labels of graph_1 (trees)":
            assert_array_equal(each.X, near_labels[each.rows])
        if each.view.name == "joined and graphs (trees)":
            second = each.X[:, 2 * first + step :][:, :first]
            assert_array_equal(second, feature_means(links, near)[each.rows])


def _joined(data, columns):
    return columns.tables.transform(data).flat
