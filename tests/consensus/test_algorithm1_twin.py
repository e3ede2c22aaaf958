"""`as_printed=True` against a slow twin written from the paper's text, over random problems, to 1e-8."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import hetcore as hc
from hetcore.consensus.printed.algorithm1 import Printed
from hetcore.targets import Problem
from tests.naive.algorithm1 import Algorithm1, Logistic, Squared

TASKS = {"regression": hc.GBCRegressor, "classification": hc.GBCClassifier}
ROUNDS = 4


def random_problem(task, seed, n_sources, missing, n=44):
    """Return data, and what the twin takes: tables, graphs and labels by instance."""
    rng = np.random.default_rng(seed)
    ids = [f"i{k:02d}" for k in range(n)]
    X = rng.normal(size=(n_sources, n, 2)).round(3)
    signal = X[:, :, 0].sum(axis=0) + 0.5 * rng.normal(size=n)
    y = (
        (2.0 + 3.0 * signal).round(4)
        if task == "regression"
        else np.where(signal + rng.normal(size=n) * 1.5 > 0, 1.0, -1.0)
    )
    known = rng.permutation(n)[: n - 14]
    tables = []
    for i in range(n_sources):
        absent = set(rng.permutation(n)[: 10 if missing else 0])
        tables.append({ids[k]: X[i, k] for k in range(n) if k not in absent})
    covered = set().union(*tables)
    graphs = []
    for _ in range(2):
        pairs = {tuple(sorted(rng.choice(n, 2, replace=False))) for _ in range(40)}
        graphs.append([(ids[a], ids[b]) for a, b in sorted(pairs)])
    labels = {ids[k]: float(y[k]) for k in known if ids[k] in covered}
    return hetdata(task, tables, graphs, labels), tables, [neighbours_of(pairs) for pairs in graphs], labels


def neighbours_of(pairs):
    near = {}
    for a, b in pairs:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    return near


def hetdata(task, tables, graphs, labels):
    frames = {}
    for i, table in enumerate(tables):
        columns = np.array(list(table.values()))
        frames[f"t{i}"] = pl.DataFrame({"id": list(table), "a": columns[:, 0], "b": columns[:, 1]})
    edges = {f"g{k}": pl.DataFrame(pairs, ["source", "target"], orient="row") for k, pairs in enumerate(graphs)}
    y = [value if task == "regression" else "yes" if value > 0 else "no" for value in labels.values()]
    return hc.HetData(frames, edges, pl.DataFrame({"id": list(labels), "y": y}))


@pytest.mark.parametrize("task", TASKS)
def test_columns_of_many_values_are_cut_between_any_two(task):
    check_every_round(task, random_problem(task, 0, 2, False, n=200), 0.5, 0.2)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_sources", [2, 3])
@pytest.mark.parametrize("task", TASKS)
def test_every_round_is_that_of_the_twin(task, n_sources, missing, seed):
    lambdas = [(0.0, 0.0), (0.3, 0.0), (0.0, 0.4), (0.5, 0.2)][seed]
    check_every_round(task, random_problem(task, seed, n_sources, missing), *lambdas)


def check_every_round(task, problem, lambda0, lambda1):
    data, tables, graphs, labels = problem
    loss = Squared() if task == "regression" else Logistic()
    twin = Algorithm1(tables, graphs, labels, loss=loss, lambda0=lambda0, lambda1=lambda1, depth=2, fewest=2)
    params = {"lambda0": lambda0, "lambda1": lambda1, "max_depth": 2, "min_samples_leaf": 2, "n_iterations": ROUNDS}
    fit = TASKS[task](as_printed=True, **params)
    state = Printed.start(Problem.of(data, None, None, task), fit.get_params(), np.random.default_rng(0))
    scale = state.problem.scale
    mean, deviation = (scale.mean[0], scale.deviation) if task == "regression" else (0.0, 1.0)
    for _ in range(ROUNDS):
        state.round()
        twin.round()
        for i, table in enumerate(tables):
            rows = [data.position[x] for x in table]
            mine = state.tables[i].learner.weighted(np.ones(1))[rows, 0] * deviation + mean
            assert_allclose(mine, [twin.f[i][x] for x in table], rtol=1e-8, atol=1e-8)
        assert_allclose(state.weights[:, 0], twin.w, rtol=1e-8, atol=1e-12)
        assert_allclose(state.graph_weights[:, 0], twin.w_graph, rtol=1e-8, atol=1e-12)
    fit.fit(data)
    there = sorted(set().union(*tables))
    expected = np.array([twin.consensus(x) for x in there])
    rows = [data.position[x] for x in there]
    if task == "regression":
        assert_allclose(fit.predict(data)[rows], expected, rtol=1e-8, atol=1e-8)
    else:
        assert_allclose(fit.predict_proba(data)[rows, 1], 1 / (1 + np.exp(-expected)), rtol=1e-8, atol=1e-8)
        assert (fit.predict(data)[rows] == np.where(expected > 0, "yes", "no")).all()


HELPS = [{"shrinkage": 0.3}, {"relative_lambda": True}, {"clamp_neighbors": True}, {"left_out_weights": True}]


@pytest.mark.parametrize("help_", HELPS, ids=lambda each: next(iter(each)))
@pytest.mark.parametrize("task", TASKS)
def test_each_help_is_felt_by_itself_and_leaves_the_first_constant(task, help_):
    data, *_ = random_problem(task, 1, 2, True)
    params = {"lambda0": 0.5, "lambda1": 0.5, "n_iterations": 3, "max_depth": 2, "min_samples_leaf": 2}
    plain = TASKS[task](as_printed=True, **params).fit(data)
    helped = TASKS[task](as_printed=True, **params, **help_).fit(data)
    values = [fit.contributions(data, per_class=True) for fit in (plain, helped)]
    assert np.abs(values[0] - values[1]).max() > 1e-6
    assert helped.fit(data).contributions(data, per_class=True).tolist() == values[1].tolist()
