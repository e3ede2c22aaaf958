"""What sets a weight or a step has not seen the label that it is judged on; and strangers hear as those met do."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore.consensus.boosting import Stagewise, gap_factor
from hetcore.consensus.leaf_values import leaf_sums
from hetcore.consensus.source_states import GraphPart
from hetcore.targets import Problem
from tests.consensus.test_consensus import TASKS, model, planted, scores


def _state(problem, task, rounds=1, **params):
    """Return the state of a fit of the default after some rounds."""
    state = Stagewise.start(problem, TASKS[task](**params).get_params(), np.random.default_rng(0))
    for _ in range(rounds):
        state.round()
    return state


def _nudged(problem, j):
    """Return the problem with the label of row j a little changed, on the same scale."""
    target = problem.target.copy()
    target[j] = np.roll(target[j], 1) * 1e-4 + target[j] * (1 - 1e-4) if target.shape[1] > 1 else target[j] + 1e-4
    return dataclasses.replace(problem, target=target)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("lambda0,rounds", [(0.0, 3), (0.5, 1)])
@pytest.mark.parametrize("clamp", [True, False])
def test_what_a_source_says_of_a_labelled_row_has_not_seen_its_label(task, lambda0, rounds, clamp):
    data, _ = planted(task, n=60)
    problem = Problem.of(data, None, None, task)
    params = {"lambda0": lambda0, "lambda1": 0.5, "clamp_labels": clamp, "base_learner": "kernel"}
    before = _state(problem, task, rounds, **params)
    for j in np.flatnonzero(data.labelled)[:6]:
        after = _state(_nudged(problem, j), task, rounds, **params)
        moved = []
        for old, new in zip(before.parts, after.parts):
            assert_allclose(new.score[j], old.score[j], rtol=0, atol=1e-9)
            moved.append(np.abs(new.score - old.score).max())
        assert max(moved) > 1e-7


@pytest.mark.parametrize("task", TASKS)
def test_a_row_of_a_graph_hears_its_neighbours_and_never_itself(task):
    data, _ = planted(task, n=60, n_graphs=1)
    problem = Problem.of(data, None, None, task)
    state = _state(problem, task, lambda1=0.0)
    graph = next(part for part in state.parts if isinstance(part, GraphPart))
    links = data.graphs["graph_1"].adjacency().toarray()
    for x in range(data.n):
        near = np.flatnonzero(links[x] * data.labelled)
        said = problem.centred[near].sum(axis=0) / (len(near) + 2.0)  # two voices of the prior
        assert_allclose(graph.score[x], said, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("pull", ["unlabelled", "all"])
def test_a_table_solves_its_part_of_the_objective_exactly(task, pull):
    """(4.4) with E held fixed: labels on T, the consensus on U with weight lambda0 times the mean over T against U."""
    data, _ = planted(task, n=60, n_graphs=0)
    problem = Problem.of(data, None, None, task)
    state = _state(problem, task, lambda0=0.7, pull=pull, base_learner="kernel")
    consensus, part = state.consensus.copy(), state.parts[0]
    state._refit([part])
    known, rows = problem.labelled[part.rows], part.rows
    pulled = np.ones(data.n, bool) if pull == "all" else ~problem.labelled
    weight = 0.7 * problem.labelled.sum() / pulled.sum()
    smoother = part.holder.smoother
    phi = smoother._features.values
    gram, moment = smoother.penalty * np.eye(phi.shape[1]), np.zeros((phi.shape[1], problem.target.shape[1]))
    for on, w, y in ((known, 1.0, problem.centred), (pulled[rows], weight, consensus)):
        gram += w * phi[on].T @ phi[on]
        moment += w * phi[on].T @ y[rows[on]]
    c = np.linalg.solve(gram, moment)
    assert_allclose(part.score[rows[~known]], (phi @ c)[~known], atol=1e-6)
    assert np.abs(part.score[rows[~known]]).max() > 0.01


@pytest.mark.parametrize("task", TASKS)
def test_tables_that_see_the_same_speak_louder_where_others_are_missing(task):
    data, truth = planted(
        task, n=300, n_sources=3, n_noise_sources=0, n_graphs=0, coverage=0.5, missing=0.0, informativeness=0.8
    )
    fit = model(task, n_iterations=5).fit(data, eval_y=truth)
    assert fit.model_.gamma > 0
    rows = ~data.labelled
    wrong = fit.predict(data)[rows] - truth[rows] if task == "regression" else fit.predict(data)[rows] != truth[rows]
    own = np.sqrt((wrong**2).mean()) if task == "regression" else wrong.mean()
    assert_allclose(fit.history_["metric:held_out"][-1], own, rtol=1e-6)


@pytest.mark.parametrize("n_nodes,rows", [(15, 40), (3000, 2000)])
def test_sums_over_leaves_of_small_and_of_large_trees(n_nodes, rows):
    rng = np.random.default_rng(0)
    leaf, values = rng.integers(0, n_nodes, rows), rng.normal(size=(rows, 3))
    expected = np.zeros((n_nodes, 3))
    np.add.at(expected, leaf, values)
    assert_allclose(leaf_sums(leaf, n_nodes, values), expected, rtol=1e-12, atol=1e-12)


def test_how_much_louder_by_hand():
    covers = np.array([[1, 1, 0, 0], [1, 0, 1, 0]], dtype=bool)
    sizes = np.array([3.0, 1.0])
    assert_allclose(gap_factor(sizes, covers, 1.0), [1.0, 4 / 3, 4.0, 1.0])
    assert_allclose(gap_factor(sizes, covers, 0.5), [1.0, np.sqrt(4 / 3), 2.0, 1.0])
    assert_array_equal(gap_factor(sizes, covers, 0.0), np.ones(4))
    assert_array_equal(gap_factor(0 * sizes, covers, 1.0), np.ones(4))


def _noise(task, n=300):
    """Return tables and labels that have nothing to do with each other."""
    rng = np.random.default_rng(1)
    ids = [f"i{k}" for k in range(n)]
    tables = {name: hc.Source(ids, rng.normal(size=(n, 8))) for name in ("a", "b")}
    y = rng.normal(size=n) if task == "regression" else rng.choice(["x", "y"], n)
    return hc.HetData(tables, target=(ids, y), task=task)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("learner", ["both", "kernel", "tree"])
def test_on_noise_the_left_out_loss_promises_nothing(task, learner):
    data = _noise(task)
    fit = model(task, base_learner=learner, n_iterations=25, learning_rate=0.5, consensus_rounds=2).fit(data)
    prior = 0.5 if task == "regression" else np.log(2)
    assert fit.history_["loss:left_out"][-1] > 0.97 * prior
    if learner == "tree":
        assert fit.history_["loss:train"][-1] < fit.history_["loss:left_out"][-1]


@pytest.mark.parametrize("task", TASKS)
def test_the_left_out_loss_is_near_the_loss_on_rows_held_out(task):
    data, truth = planted(task, n=600, n_graphs=1, coverage=0.9)
    fit = model(task, n_iterations=25).fit(data, eval_y=truth)
    last = fit.history_.tail(1)
    assert_allclose(last["loss:left_out"][0], last["loss:held_out"][0], rtol=0.25)


def test_trees_on_noise_take_hardly_any_step():
    data = _noise("regression")
    noise = model("regression", base_learner="tree", n_iterations=30, consensus_rounds=1).fit(data)
    known = hc.HetData(
        data.sources, target=(data.ids, data.sources["a"].array[:, 0] + 0.1 * np.asarray(data.y)), task="regression"
    )
    signal = model("regression", base_learner="tree", n_iterations=30, consensus_rounds=1).fit(known)
    assert noise.history_["step:a"][-1] < 0.4 < signal.history_["step:a"][-1]
    assert signal.history_["step:b"][-1] < signal.history_["step:a"][-1]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("graphs", [1, 2])
def test_a_stranger_with_the_record_and_the_neighbours_of_one_met_is_predicted_the_same(task, graphs):
    data, _ = planted(task, n=60, n_graphs=graphs, coverage=1.0, missing=0.0)
    fit = model(task, n_iterations=12, lambda1=0.4).fit(data)
    met = int(np.flatnonzero(~data.labelled & np.all([g.degree > 0 for g in data.graphs.values()], axis=0))[0])
    tables = {}
    for name, source in data.sources.items():
        row = source.take(np.flatnonzero(data.rows(name) == met)).frame
        ids = [*source.ids, "stranger"]
        tables[name] = hc.Source(ids, pl.concat([source.frame, row]), source.kinds)
    links = {}
    for name, graph in data.graphs.items():
        own = graph.to_frame().filter((pl.col("source") == data.ids[met]) | (pl.col("target") == data.ids[met]))
        other = pl.when(pl.col("source") == data.ids[met]).then("target").otherwise("source")
        to = own.select(source=pl.lit("stranger"), target=other, weight="weight")
        links[name] = pl.concat([graph.to_frame(), to])
    more = hc.HetData(tables, links)
    said = scores(fit, more)
    assert_allclose(said[more.position["stranger"]], scores(fit, data)[met], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("task", TASKS)
def test_a_stranger_speaks_at_the_voice_of_the_unlabelled(task):
    data, _ = planted(task, n=60, n_graphs=1, coverage=1.0)
    two = [f"stranger {k}" for k in range(2)]
    tables = {}
    for name, source in data.sources.items():
        tables[name] = hc.Source(two, source.take(np.arange(2)).frame, source.kinds)
    alone, linked = (
        hc.HetData(tables, {"graph_1": pl.DataFrame({"source": ends[:1], "target": ends[1:]})})
        for ends in ([two[0], "nobody"], two)
    )
    for lambda1, hears in ((0.0, False), (1.0, True)):
        fit = model(task, lambda1=lambda1, base_learner="kernel").fit(data)
        graph = fit.contributions(linked, per_class=True, graphs=True)[linked.position[two[0]], -1]
        assert (np.abs(graph).max() > 1e-6) == hears
        nobody = fit.contributions(alone, per_class=True, graphs=True)[alone.position[two[0]], -1]
        assert np.abs(nobody).max() < 1e-6


def test_labels_in_the_data_to_predict_are_not_looked_at():
    data, truth = planted("regression")
    fit = model("regression").fit(data)
    assert_array_equal(fit.predict(data.with_target(truth)), fit.predict(data))
    assert_array_equal(fit.predict(data.with_target(None)), fit.predict(data))
