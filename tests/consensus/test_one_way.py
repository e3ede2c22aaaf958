"""The sides of a directed graph are views of their own."""

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import hetcore as hc
from hetcore.consensus.neighbor_columns import second_means, symmetric
from hetcore.consensus.one_way import OneWay, graph_of, is_side, sides_of
from hetcore.consensus.variants import explain_variants
from hetcore.consensus.views import views

NAMES = {f"links, {direction}" for direction in ("out", "in")}


def arrows(n=120, seed=0):
    """Return columns, and edges from each instance to five others at most."""
    rng = np.random.default_rng(seed)
    X, starts = rng.normal(size=(n, 2)), np.repeat(np.arange(n), rng.integers(1, 6, n))
    ends = rng.integers(0, n, starts.size)
    kept = starts != ends
    return X, pl.DataFrame({"source": starts[kept], "target": ends[kept]})


def pointed(X, edges):
    """Return the mean of the first column over whom each instance points at."""
    flat = sparse.coo_array((np.ones(len(edges)), (edges["source"], edges["target"])), shape=(len(X),) * 2).tocsr()
    flat.data[:] = 1.0
    return flat @ X[:, 0] / np.maximum(flat.sum(axis=1), 1)


def labelled(X, edges, y, known, **how):
    table = pl.DataFrame({"id": np.arange(len(X)), "a": X[:, 0], "b": X[:, 1]})
    labels = [float(value) if here else None for value, here in zip(y, known)]
    return hc.HetData({"things": table}, {"links": hc.Graph(edges, **how)}).with_target(labels, "regression")


@pytest.fixture(scope="module")
def half():
    X, edges = arrows(300)
    rng = np.random.default_rng(1)
    y = 2 * pointed(X, edges) + 0.2 * rng.normal(size=300)
    return X, edges, y, rng.random(300) < 0.5


def test_who_points_where_is_learned_where_the_graph_says_so(half):
    X, edges, y, known = half
    error = {}
    for directed in (False, True):
        data = labelled(X, edges, y, known, directed=directed)
        model = hc.GBCRegressor(random_state=0).fit(data)
        error[directed] = hc.metrics.rmse(y[~known], np.asarray(model.predict(data))[~known])
    assert error[True] < 0.6 * error[False]
    shares = {name.rsplit(" (", 1)[0]: 0.0 for name in model.view_weights_}
    for name, weight in model.view_weights_.items():
        shares[name.rsplit(" (", 1)[0]] += weight
    assert shares["joined and directions"] > shares["joined and graphs"]
    assert shares["smoothed over links, out"] > shares["smoothed over links, in"]


def test_a_model_file_predicts_the_same_and_data_without_directions_have_all_links_on_both_sides(half, tmp_path):
    X, edges, y, known = half
    data = labelled(X, edges, y, known, directed=True)
    model = hc.GBCRegressor(random_state=0, n_iterations=4).fit(data)
    hc.save(model, tmp_path / "model.hetcore")
    again = hc.load(tmp_path / "model.hetcore")
    np.testing.assert_array_equal(again.predict(data), model.predict(data))
    plain = model.predict(labelled(X, edges, y, known))
    assert np.isfinite(plain).all() and not np.array_equal(plain, model.predict(data))


def test_a_variant_of_an_instance_sees_on_both_sides_what_that_sees(half):
    X, edges, y, known = half
    data = labelled(X, edges, y, known, directed=True)
    model = hc.GBCRegressor(random_state=0, n_iterations=4).fit(data)
    for like in (int(np.flatnonzero(known)[0]), int(np.flatnonzero(~known)[0])):
        own = pl.DataFrame({"a": [X[like, 0]] * 30, "b": [*[X[like, 1]] * 29, 3.0]})
        found = explain_variants(model, data, {"things": own}, str(like)).prediction
        assert found[:29] == pytest.approx(model.predict(data)[like], rel=1e-4) and found[29] != found[0]


def test_only_links_that_lead_one_way_have_sides():
    X, edges = arrows()
    back = pl.concat([edges, edges.select(source="target", target="source")]).unique()
    for given, how, expected in (
        (edges, {"directed": True}, NAMES),
        (edges, {}, set()),
        (back, {"directed": True}, set()),
        (edges.with_columns(weight=pl.lit(-1.0)), {"signed": True}, set()),
    ):
        data = labelled(X, given, X[:, 0], np.ones(len(X), bool), **how)
        shown = {each.view.columns.removeprefix("labels of ") for each in views(data)}
        assert shown & NAMES == expected and ("joined and directions" in shown) == bool(expected)


def test_sides_are_those_of_the_largest_and_take_no_name_of_a_graph():
    _, edges = arrows()
    large, small = hc.Graph(edges, directed=True), hc.Graph(edges.head(50), directed=True)
    assert sides_of({"a": small, "b": large}, 6) == ["b, out", "b, in", "a, out", "a, in"]
    assert sides_of({"a": small, "b": large}, 5) == ["b, out", "b, in"]
    assert sides_of({"b": large, "b, in": small}, 6) == ["b, in, out", "b, in, in"]
    assert graph_of("b, in", ["b"]) == ("b", "in") and graph_of("b, in", ["b", "b, in"]) == ("b, in", "both")
    assert is_side("b, out", ["b"]) and not is_side("b, up", ["b"])


def test_columns_of_one_way_count_whom_rows_point_at():
    dense = np.array([[0, 1, 1, 0], [0, 0, 0, 2], [1, 0, 0, 0], [0, 0, 0, 0]], float)
    links, X = OneWay(dense), np.array([[1.0], [2.0], [4.0], [8.0]])
    links.opposite = sparse.csr_array(dense.T)
    # 0 points at 1 and 2: 1 leads on to 3, 2 back to 0; 2 points at 0, which leads on to 1, and back
    second = second_means(links, X, np.array([[3.0], [8.0], [1.0], [np.nan]], np.float32))
    np.testing.assert_allclose(second[:, 0], [8.0, np.nan, 2.0, np.nan])
    # who is pointed at by two is half as much for each, though it points at nobody
    scaled = symmetric(links, loops=False).toarray()
    np.testing.assert_allclose(scaled[1, 3], 2 / np.sqrt(2 * 2))
    np.testing.assert_allclose(scaled[0, 1], 1 / np.sqrt(2 * 1))
