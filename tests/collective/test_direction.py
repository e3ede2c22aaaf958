"""Directed, weighted and signed graphs: who is a neighbour, and what a negative edge says; also on real graphs."""

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from datasets import suite
from hetcore.collective.inference import net_of
from hetcore.collective.neighbor_columns import Hops
from hetcore.data import Graph
from hetcore.data.splits import label_split
from hetcore.errors import DataError
from hetcore.model_files import dumps
from tests.collective.test_collective import rmse, small

EDGES = pl.DataFrame({"source": ["a", "b", "c", "c"], "target": ["b", "a", "a", "d"], "weight": [2.0, 1.0, -3.0, 1.0]})


def neighbors(graph, direction):
    found = graph.neighbors(direction).tocoo()
    return {(graph.ids[i], graph.ids[j]): float(w) for i, j, w in zip(found.row, found.col, found.data)}


def test_neighbors_by_direction():
    graph = Graph(EDGES, directed=True, signed=True)
    assert neighbors(graph, "out") == {("a", "b"): 2, ("b", "a"): 1, ("c", "a"): -3, ("c", "d"): 1}
    assert neighbors(graph, "in") == {(j, i): w for (i, j), w in neighbors(graph, "out").items()}
    both = {("a", "b"): 2, ("a", "c"): -3, ("c", "d"): 1}
    assert neighbors(graph, "both") == both | {(j, i): w for (i, j), w in both.items()}
    assert graph.n_edges == 3 and (graph.weights > 0).all()
    plain = Graph(EDGES)
    assert plain.n_edges == 2 and plain.arcs is None
    assert neighbors(plain, "in") == neighbors(plain, "out") == neighbors(plain, "both")


@pytest.mark.parametrize("direction", ["in", "out", "both"])
def test_signs_stay_without_strengths_and_every_direction_is_of_one_type(direction):
    graph = Graph(EDGES, directed=True, signed=True)
    net = net_of([graph], 4, weighted=False, direction=direction)
    assert net.indices.dtype == np.int32 and net.weights.dtype == np.float32  # for others kernels would be compiled
    assert net.weights.tolist() == np.sign(graph.neighbors(direction).data).tolist() and net.weights.min() == -1


def test_direction_and_sign_outlive_other_ids_and_edits():
    data = hc.HetData({"t": pl.DataFrame({"id": list("dcbae"), "x": range(5)})}, {"g": Graph(EDGES, True, True)})
    assert neighbors(data.graphs["g"], "out") == neighbors(Graph(EDGES, True, True), "out")
    edited = data.with_edges("g", add=[("b", "d")], cut=[("a", "b")]).graphs["g"]
    assert neighbors(edited, "out") == {("c", "a"): -3, ("c", "d"): 1, ("b", "d"): 1, ("d", "b"): 1}
    assert edited.digest() != data.graphs["g"].digest()
    assert Graph(EDGES, signed=True).digest() != Graph(EDGES.with_columns(pl.col("weight").abs())).digest()


def planted(signed):
    """Return nodes that follow the sources of their edges, or oppose them along negative ones."""
    rng = np.random.default_rng(3)
    n = 500
    ids = [f"n{i:03d}" for i in range(n)]
    sources = rng.integers(0, 250, (250, 6))  # the first half leads, the second half follows
    signs = rng.choice([1.0, -1.0], sources.shape) if signed else np.ones(sources.shape)
    y = rng.normal(size=n)
    y[250:] = (signs * y[sources]).mean(axis=1) * 2 + 0.1 * rng.normal(size=250)
    targets = np.repeat(np.arange(250, 500), 6)
    noise = rng.integers(0, 250, targets.size)  # edges back, to nodes that follow nobody
    ends = np.concatenate([sources.ravel(), targets]), np.concatenate([targets, noise])
    weights = np.concatenate([signs.ravel(), np.ones(noise.size)])
    edges = pl.DataFrame({"source": [ids[i] for i in ends[0]], "target": [ids[i] for i in ends[1]], "weight": weights})
    table = pl.DataFrame({"id": ids, "x": rng.normal(size=n)})
    graph = Graph(edges, directed=True, signed=signed)
    return hc.HetData({"t": table}, {"g": graph}, pl.DataFrame({"id": ids, "y": y}))


@pytest.mark.parametrize("signed", [False, True])
def test_who_follows_the_sources_is_predicted_from_them(signed):
    data = planted(signed)
    y = label_split(data, 0.7, seed=0)
    asked = np.isnan(y) & (np.arange(data.n) >= 250)
    errors = {}
    for direction in ("in", "out", "both"):
        model = small(hc.MGBRegressor, direction=direction, first_trees=60, shrinkage=0.0).fit(data, y)
        errors[direction] = rmse(model.predict(data)[asked], data.y[asked])
    assert errors["in"] < 0.9 * errors["out"] and errors["in"] < errors["both"]
    if signed:
        blind = data.with_graph("g", Graph(data.graphs["g"].to_frame()))
        model = small(hc.MGBRegressor, first_trees=60, shrinkage=0.0).fit(blind, y)
        assert errors["in"] < 0.9 * rmse(model.predict(blind)[asked], data.y[asked])


def test_a_directed_fit_is_saved_and_printed_too():
    data = planted(True)
    y = label_split(data, 0.7, seed=0)
    for params in ({}, {"as_printed": True}):
        models = [small(hc.MGBRegressor, direction=way, **params).fit(data, y) for way in ("in", "out")]
        predicted = [model.predict(data) for model in models]
        assert (predicted[0] != predicted[1]).any()
        np.testing.assert_array_equal(hc.load(dumps(models[0])).predict(data), predicted[0])


@pytest.mark.parametrize("name", ["polblogs", "bitcoin_otc"])
def test_real_graphs_keep_their_direction_and_sign(name):
    try:
        data, edges = suite.load(name), suite.directed_edges(name)
    except DataError:
        pytest.skip("the data are not here")
    graph = Graph(edges, directed=True, signed=True)
    directed = hc.HetData(data.sources, {"edges": graph}, pl.DataFrame({"id": data.ids, "y": data.y}))
    arcs = directed.graphs["edges"].neighbors("out")
    assert (arcs != arcs.T).nnz > 0 and ((arcs.data < 0).any() == (name == "bitcoin_otc"))
    y = label_split(directed, 0.6, seed=0)
    cls = hc.MGBRegressor if name == "bitcoin_otc" else hc.MGBClassifier
    predicted = [small(cls, direction=way).fit(directed, y).predict(directed) for way in ("in", "out", "both")]
    assert (predicted[0] != predicted[1]).any() and (predicted[0] != predicted[2]).any()
    hidden = ~directed.with_target(y, directed.target_kind).labelled
    if name == "polblogs":
        assert all((each != directed.y)[hidden].mean() < 0.25 for each in predicted)
    else:
        spread = directed.y[hidden].astype(float).std()
        assert all(rmse(each[hidden], directed.y[hidden].astype(float)) < spread for each in predicted)


@pytest.mark.parametrize("direction", ["in", "both"])
@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_columns_of_links_are_those_of_dense_matrices_in_any_unit(direction, unit):
    rng = np.random.default_rng(4)
    n, values = 40, rng.normal(size=(40, 2)).astype(np.float32)
    ends = rng.integers(0, 30, (2, 60))
    weights = unit * rng.uniform(0.1, 3.0, 60) * rng.choice([1.0, -1.0], 60)
    # also pairs that are linked to nobody else: two links lead nowhere but back
    ends, weights = np.hstack([ends, [[30, 32], [31, 33]]]), np.append(weights, [0.7 * unit, 0.3 * unit])
    # and back with the other sign
    ends, weights = np.hstack([ends, ends[::-1, :20]]), np.append(weights, -2.0 * weights[:20])
    edges = {"source": ends[0].astype(str), "target": ends[1].astype(str), "weight": weights}
    graph = Graph(pl.DataFrame(edges), directed=True, signed=True).aligned(pl.Series(np.arange(n).astype(str)))
    target, known = rng.normal(size=(n, 1)), rng.random(n) < 0.5
    hops = Hops(net_of([graph], n, weighted=True, direction=direction), n)
    features, labels = hops.feature_columns(values, 2), hops.label_columns(target, known, 2)

    one = graph.neighbors(direction).toarray().astype(np.float64)
    two, sizes = one @ one, abs(one) @ abs(one)
    for each in (two, sizes):
        np.fill_diagonal(each, 0.0)
    with np.errstate(invalid="ignore"):
        means = [(abs(one) @ values) / abs(one).sum(1)[:, None], (sizes @ values) / sizes.sum(1)[:, None]]
        both = (one, abs(one)), (two, sizes)
        shown = [(a[:, known] @ target[known])[:, 0] / size[:, known].sum(1) for a, size in both]
    assert np.isnan(means[1][30:]).all() and np.isfinite(means[0][[31, 33]]).all()
    np.testing.assert_allclose(features[:, :4], np.hstack(means), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(labels[:, [0, 2]], np.transpose(shown), rtol=1e-5, atol=1e-6)
    counts = np.transpose([abs(one)[:, known].sum(1), sizes[:, known].sum(1)])
    np.testing.assert_allclose(labels[:, [1, 3]], counts, rtol=1e-5, atol=1e-9 * unit * unit)
