"""Very many cells and links: columns in float32, some rows at a time, and graphs side by side say the same."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import datasets
import hetcore as hc
from hetcore import numerics
from hetcore.consensus import link_sums, views
from hetcore.consensus.link_sums import JoinedLinks, LinkSum, degrees, linked_rows
from hetcore.consensus.neighbor_columns import symmetric
from hetcore.consensus.smoothing import LinkBlend

FIXED = {"n_iterations": 8, "lambda0": 0.3, "lambda1": 0.3, "sharpness": 3.0, "random_state": 0}


@pytest.fixture
def large(monkeypatch):
    """Let small data be as large as data get."""

    def make(cells: int = 2000, links: int = 100) -> None:
        monkeypatch.setattr(numerics, "MOST_DOUBLE", cells)
        monkeypatch.setattr(link_sums, "MOST_MERGED", links)

    return make


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_large_data_are_predicted_as_if_they_were_small(large, task):
    data = datasets.make_customers(600, 4, seed=0)[0]
    kind = hc.GBCClassifier
    if task == "regression":
        kind = hc.GBCRegressor
        numbers = np.array([None if y is None else float(y == data.y[data.labelled][0]) for y in data.y], object)
        data = data.with_target(numbers, "regression")
    small = kind(**FIXED).fit(data)
    before = small.predict_proba(data) if task == "classification" else small.predict(data)
    large()
    found = kind(**FIXED).fit(data)
    after = found.predict_proba(data) if task == "classification" else found.predict(data)
    # a cut of a tree or the round in which a view rests may hang on the last digit
    assert np.abs(after - before).mean() < 5e-3
    assert found.graph_weights_ == pytest.approx(small.graph_weights_, abs=3e-3)
    # a model of small data predicts large ones
    again = small.predict_proba(data) if task == "classification" else small.predict(data)
    np.testing.assert_allclose(again, before, atol=1e-4)


@pytest.mark.slow
def test_over_very_many_links_components_of_the_columns_are_averaged(monkeypatch, tmp_path):
    data = datasets.make_customers(600, 4, seed=0)[0]
    whole = hc.GBCClassifier(**FIXED).fit(data)
    monkeypatch.setattr(views, "MOST_SUMS", 1)
    model = hc.GBCClassifier(**FIXED).fit(data)
    widths = [each.X.shape[1] for each in hc.views(data) if each.view.columns.startswith("smoothed over")]
    assert set(widths) == {views.FEWEST_AVERAGED}
    assert np.abs(model.predict_proba(data) - whole.predict_proba(data)).mean() < 0.05
    path = tmp_path / "model.hetcore"
    hc.save(model, path)
    monkeypatch.undo()
    np.testing.assert_array_equal(hc.load(path).predict_proba(data), model.predict_proba(data))


def _links(n: int, seed: int) -> sparse.csr_array:
    made = sparse.random_array((n, n), density=0.05, rng=np.random.default_rng(seed), dtype=np.float32).toarray()
    made[:3] = made[:, :3] = 0.0  # rows without a link
    return sparse.csr_array(made + made.T)


@pytest.mark.parametrize("n_jobs", [1, 2, 100])
def test_a_sum_of_links_is_the_matrix_that_it_stands_for(large, n_jobs):
    several, over = [_links(60, seed) for seed in range(3)], (1.0, 2.0, np.arange(60) % 3.0)
    X = np.random.default_rng(9).normal(size=(60, 4))
    whole = JoinedLinks(several, over, n_jobs=n_jobs).total()
    large(links=10)
    sums = JoinedLinks(several, over, n_jobs=n_jobs).total()
    assert sparse.issparse(whole)
    assert isinstance(sums, LinkSum)
    # one column, some that fill the kernel's lanes, and more
    for columns in (X[:, :1], X, np.hstack([X, X[:, :3]])):
        np.testing.assert_allclose(sums @ columns, whole @ columns, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(degrees(sums), degrees(whole), rtol=1e-6)
    np.testing.assert_array_equal(linked_rows(sums), linked_rows(whole))
    assert sums.mean(sums.joined.n) == pytest.approx(whole.data.mean())
    assert (sums @ X.astype(np.float32)).dtype == np.float32
    plain, found = (symmetric(links, loops=False) @ X for links in (whole, sums))
    np.testing.assert_allclose(found, plain, rtol=1e-5, atol=1e-7)


def test_a_blend_of_graphs_side_by_side_is_the_merged_one(large):
    links = {f"g{seed}": _links(60, seed) for seed in range(3)}
    weights, X = {"g0": 0.5, "g1": 0.2, "g2": 0.3}, np.random.default_rng(9).normal(size=(60, 2))
    merged = LinkBlend(links).of(weights) @ X
    large(links=10)
    beside = LinkBlend(links).of(weights)
    assert isinstance(beside, LinkSum)
    np.testing.assert_allclose(beside @ X, merged, rtol=1e-5, atol=1e-7)


def test_blocks_of_rows_are_all_rows_in_order(large):
    X = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32)
    assert numerics.row_blocks(X) == [slice(0, 50)]
    whole = numerics.product(X, np.ones((7, 2)))
    large(cells=40)
    assert [each.stop for each in numerics.row_blocks(X)][:2] == [5, 10]
    np.testing.assert_allclose(np.concatenate([X[some] for some in numerics.row_blocks(X)]), X)
    np.testing.assert_allclose(numerics.product(X, np.ones((7, 2))), whole, rtol=1e-6)
