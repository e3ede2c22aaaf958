"""Protocols of the experiments: cells repeat, settings and bounds are those of the papers."""

import numpy as np
import polars as pl
import pytest

from experiments import info, names


def test_films_stand_in_where_films_are_run():
    found = {each.name for each in map(info, names()) if "films" in (each.stand_in + each.note).lower()}
    films = {"movie_ratings", "movie_revenue", "genre_only"}
    assert found and all(films & set(info(name).cells["data"]) for name in found)


@pytest.mark.slow
def test_a_cell_of_the_consensus_protocol_repeats():
    from experiments.consensus import run_cell as consensus

    key = {"data": "planted", "setting": "uniform", "method": "GBC, trees only", "fraction": 0.5, "split": 0}
    first, second = consensus(**key), consensus(**key)
    assert first["error"] == second["error"] > 0 and sum(first["weights"].values()) == pytest.approx(1, abs=1e-3)


def test_a_cell_of_the_collective_protocol_repeats_and_leaves_the_truth_alone():
    from experiments.collective import labels, load
    from experiments.collective import run_cell as collective

    key = {"data": "planted 0.8", "method": "GB, as printed", "fraction": 0.4, "fold": 1}
    first, second = collective(**key), collective(**key)
    assert first["error"] == second["error"] > 0
    shares = [np.isfinite(labels(load("planted 0.8", 1), fraction, 1)).mean() for fraction in (0.2, 0.4, 0.6, 0.8)]
    assert shares == pytest.approx([0.2, 0.4, 0.6, 0.8])


@pytest.mark.slow
def test_a_customer_cell_tells_how_the_weights_follow_the_quality():
    from experiments import customers

    found = customers.run_cell(400, "gender", "as printed", 0.5, 0)
    assert 0 < found["error"] < 0.5 and -1 <= found["quality"] <= 1 and len(found["weights"]) == 90
    assert 0 < found["low"] < 1 and 0 < found["high"] < 1
    assert "quality" not in customers.run_cell(400, "gender", "GBDT, table only", 0.5, 0)


def test_the_bounds_of_the_theorems_by_hand():
    from experiments import bound

    assert bound.bounds(0.1, 0.3) == pytest.approx(((0.06 / 0.4) ** 0.5, 0.2**0.5))
    assert bound.bounds(0.2, 0.2) == pytest.approx((0.2**0.5, 0.2**0.5))
    assert bound.bounds(0.0, 0.0) == (0.0, 0.0)
    found = bound.run_cell("4.1", "learned weights", 0.0, 1)
    assert found["gain"] == pytest.approx(found["equal_bound"] - found["bound"]) and found["gain"] > 0
    assert found["room"] == pytest.approx(found["bound"] - found["error"])
    rest = bound.run_cell("4.2", "learned weights", 50, 1)
    last = bound.bounds(rest["excess_first"], rest["excess_second"])[0]
    best = bound.norm.cdf(-np.hypot(1.2, 0.6))
    assert rest["bound"] == pytest.approx(best + last + (2 + 3 * np.sqrt(np.log(40) / 2)) / np.sqrt(50))


def test_the_settings_are_those_of_the_paper(monkeypatch):
    import datasets
    from experiments import consensus, source_counts

    data, _ = datasets.make_heterogeneous(200, 3, n_features=3, coverage=0.9, n_graphs=2, seed=0)
    monkeypatch.setattr(consensus, "_loaded", lambda name: data)
    uniform = consensus.given("planted", "uniform", 0)
    assert uniform.mask.all() and uniform.n == data.mask.all(axis=0).sum() < data.n
    missing = consensus.given("planted", "non_overlapping", 0)
    lost = ~missing.mask
    fewer = [missing.graphs[g].degree < uniform.graphs[g].degree for g in uniform.graphs]
    hit = lost.any(axis=0)
    assert 0.25 < hit.mean() < 0.31 and lost.sum(axis=0).max() <= 3 and (np.sum(fewer, axis=0) > 0).any()
    for count, size in (("1 source", 1), ("2 sources", 2), ("4 sources", 4), ("all sources", None)):
        some = source_counts.some_sources(uniform, count, 3)
        names = [*some.source_names, *some.graph_names]
        assert some.source_names and len(names) == (size or len(uniform.sources) + len(uniform.graphs))


@pytest.mark.slow
def test_arms_are_tuned_within_the_known_labels(monkeypatch):
    import datasets
    from experiments import consensus
    from hetcore.data.splits import label_split

    data, _ = datasets.make_heterogeneous(90, 2, n_features=3, n_graphs=1, seed=0)
    monkeypatch.setattr(consensus, "ROUNDS", {False: 3, True: 3})
    y = label_split(data, 0.5, 0)
    turned = np.where(np.isnan(y), -data.y, data.y)
    for method, free in (("as printed", 2), ("tempered, λ1 = 0", 1), ("as printed, λ0 = λ1 = 0", 0)):
        model, chosen = consensus.fitted(data, y, method)
        again, same = consensus.fitted(data.with_target(turned), y, method)
        assert chosen == same and set(chosen) == {"lambda0", "lambda1", "n_iterations"} and chosen["n_iterations"] <= 3
        assert model.predict(data).tolist() == again.predict(data).tolist()
        grid = consensus.ARMS[method][1]
        assert sum(len({v for each in grid for v in each[name]}) > 1 for name in ("lambda0", "lambda1")) == free
    assert consensus.ARMS["tempered"][0]["shrinkage"] < 1 and "shrinkage" not in consensus.ARMS["as printed"][0]


def test_printed_arms_choose_one_parameter_after_the_other_and_each_pair_has_as_many_settings():
    from experiments.factorization import PRINTED, Chosen

    tried = []

    class Model:
        def __init__(self, as_printed, random_state, **given):
            self.given = given

        def fit(self, X, y):
            tried.append(tuple(self.given.values()))
            a, b = tried[-1]
            self.history_ = pl.DataFrame({"metric:left_out": [9.0, (a - 3) ** 2 + (b - a) ** 2]})
            return self

    assert Chosen(Model, a=[1, 2, 3], b=[1, 2, 3]).fit(None, None).setting == {"a": 2, "b": 2}
    assert tried == [(1, 1), (2, 1), (3, 1), (2, 2), (2, 3)]
    tried.clear()
    assert Chosen(Model, together=True, a=[1, 2, 3], b=[1, 2, 3]).fit(None, None).setting == {"a": 3, "b": 3}
    assert len(tried) == len(set(tried)) == 9
    in_turn = {name: 1 + sum(len(each) - 1 for each in PRINTED[name].values()) for name in ("HMF", "HTF")}
    together = {name: int(np.prod([len(each) for each in PRINTED[name].values()])) for name in ("biased MF", "PTF")}
    assert [*in_turn.values()] == [*together.values()] == [9, 12]


@pytest.mark.slow
def test_printed_boosting_chooses_all_that_it_has_among_as_many_settings_as_plain_boosting():
    from experiments.heteroscedastic import METHODS, TUNED, boosting, chosen, in_units

    printed = {name for name, given in METHODS.items() if "as_printed" in given}
    assert printed == TUNED.keys()
    assert {sum(map(len, stages)) for stages in TUNED.values()} == {12}
    learned = {frozenset(name for stage in TUNED[name] for each in stage for name in each) for name in printed}
    common = {"max_depth", "l2", "min_gain"}
    assert learned == {frozenset(common), frozenset(common | {"alpha", "delta", "deviation_l2"})}
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(0.0, np.where(X[:, 1] > 0, 1.0, 0.1))
    for name in sorted(printed):
        setting = chosen(X, y, name)
        # Whatever the labels' unit, powers of two so that no bit is lost.
        assert chosen(X, 64.0 * y, name) == setting
        fitted = [boosting(y, **METHODS[name] | in_units(setting, k * y)).fit(X, k * y) for k in (1.0, 64.0)]
        assert np.allclose(64.0 * fitted[0].predict(X), fitted[1].predict(X), rtol=1e-9)
        assert setting.keys() > common


def test_a_histogram_counts_weights_over_an_equal_share():
    from experiments.drawing import drawn

    weights = {"a": 0.0, "b": 0.2, "c": 0.8}
    cells = pl.DataFrame([{"method": "as printed", "seed": k, "weights": weights} for k in (0, 1)])
    figure = drawn(info("gbc-figure-5"), cells)[""]
    counts = figure["data"][0]["y"]
    assert np.sum(counts) == 3 and counts[0] == 1 and counts[2] == 1 and counts[9] == 1


def test_the_degree_of_a_network_is_links_by_nodes_and_five_nodes_are_three_leaves():
    from experiments import collective

    data = collective.load("planted 0.4", 0)
    graph = data.graphs[data.graph_names[0]]
    found = collective.run_cell("planted 0.4", collective.NETWORK, 0.2, 0)
    assert found["degree"] == len(graph.edges()[0]) / data.n == pytest.approx(graph.degree.mean() / 2)
    model = collective.METHODS["GB, as printed, five nodes"]().fit(data, collective.labels(data, 0.4, 0))
    assert model.max_leaf_nodes == 3 and model.max_depth == -1 and model.as_printed
