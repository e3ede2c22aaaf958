"""Gradient Boosting Consensus where it must be something simpler, and where planted truth says what it must find."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.ensemble import HistGradientBoostingRegressor

import hetcore as hc
from datasets.planted.generator import make_heterogeneous
from hetcore.consensus.source_learners import MAX_BINS
from hetcore.data.encoding import SourceEncoder
from hetcore.trees import BinMapper, TreeParams, grow
from tests.consensus.test_consensus import TASKS, model, planted, scores

PLAIN = {"base_learner": "tree", "subsample": 1.0, "column_sample": 1.0, "consensus_rounds": 1}


def _levels(n=120, d=4, seed=0, task="regression"):
    """Return one table of numbers with few levels, and labels for half of its rows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, d)).astype(np.float32)
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=n)
    labels = y if task == "regression" else np.array(["low", "mid", "top"])[np.digitize(y, [1.2, 2.4])]
    ids = [f"i{k}" for k in range(n)]
    frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(d)]).with_columns(id=pl.Series(ids))
    known = rng.random(n) < 0.5
    return hc.HetData({"one": frame}, target=(np.array(ids)[known], labels[known])), X, known


# ---- plain gradient boosting -----------------------------------------------------------------------------------------


def _binned(data):
    X = SourceEncoder().fit(data.sources["one"]).transform(data.sources["one"])
    mapper = BinMapper(MAX_BINS).fit(X, 0)
    return mapper.transform(X), mapper.n_bins


def _leaves(tree, rows, residual, curvature, l2):
    """Set Newton leaves by hand."""
    for leaf in np.unique(tree.row_leaf[rows]):
        inside = tree.row_leaf[rows] == leaf
        tree.values[leaf] = residual[inside].sum(axis=0) / (curvature[inside].sum(axis=0) + l2)


def _plain_boosting(data, y, rounds, rate, l2, depth):
    """Return the scores of gradient boosting: numbers with squared loss, or class codes (n, K) with softmax."""
    binned, n_bins = _binned(data)
    rows = np.flatnonzero(data.labelled).astype(np.int32)
    K = y.shape[1]
    F = np.zeros((data.n, K)) if K == 1 else np.tile(np.log((y.sum(axis=0) + 0.5) / (len(y) + 0.5 * K)), (data.n, 1))
    for _ in range(rounds):
        fitted = F[rows] if K == 1 else softmax(F[rows], axis=1)
        residual, curvature = y - fitted, np.ones_like(fitted) if K == 1 else fitted * (1 - fitted)
        gradients = np.zeros((data.n, K), np.float32)
        gradients[rows] = -residual
        tree = grow(binned, gradients, None, rows, None, TreeParams(depth, -1, 5), n_bins)
        _leaves(tree, rows, residual, curvature, l2)
        step = tree.predict(binned)
        F += rate * (step if K == 1 else np.clip(step, -4, 4) * (K - 1) / K)
    return F


@pytest.mark.parametrize("depth,l2,rate", [(3, 1.0, 0.1), (1, 0.1, 1.0), (-1, 10.0, 0.3)])
def test_one_table_with_trees_alone_is_plain_gradient_boosting(depth, l2, rate):
    data, _, known = _levels()
    fit = hc.GBCRegressor(n_iterations=12, learning_rate=rate, max_depth=depth, l2=l2, **PLAIN).fit(data)
    y = data.y[known]
    F = _plain_boosting(data, (y[:, None] - y.mean()) / y.std(), 12, rate, l2, depth)
    assert_allclose(fit.predict(data), F[:, 0] * y.std() + y.mean(), rtol=1e-5, atol=1e-6)
    assert_allclose(fit.history_["metric:train"][-1], np.sqrt(((fit.predict(data)[known] - y) ** 2).mean()), rtol=1e-9)


def test_one_table_with_trees_alone_is_plain_softmax_boosting():
    data, _, known = _levels(task="classification")
    fit = hc.GBCClassifier(n_iterations=12, learning_rate=0.3, **PLAIN).fit(data)
    codes = (data.y[known][:, None] == fit.classes_).astype(float)
    F = _plain_boosting(data, codes, 12, 0.3, 1.0, 3)
    assert_allclose(fit.predict_proba(data), softmax(F, axis=1), rtol=1e-5, atol=1e-6)


def test_one_table_with_trees_alone_is_what_scikit_learn_fits():
    data, X, known = _levels(n=400)
    fit = hc.GBCRegressor(n_iterations=20, learning_rate=0.2, l2=1e-9, max_depth=3, **PLAIN).fit(data)
    peer = HistGradientBoostingRegressor(
        max_iter=20, learning_rate=0.2, max_depth=3, max_leaf_nodes=None, min_samples_leaf=5, early_stopping=False
    ).fit(X[known], data.y[known])
    both = np.corrcoef(fit.predict(data), peer.predict(X))[0, 1]
    assert both > 0.999
    assert_allclose(np.median(np.abs(fit.predict(data) - peer.predict(X))), 0.0, atol=1e-5)


def test_training_loss_of_plain_boosting_never_rises():
    data, _, _ = _levels()
    fit = hc.GBCRegressor(n_iterations=40, learning_rate=0.5, **PLAIN).fit(data)
    assert (np.diff(fit.history_["loss:train"].to_numpy()) <= 1e-12).all()


# ---- what changes nothing --------------------------------------------------------------------------------------------

STILL = {"schedule": "parallel", "subsample": 1.0, "column_sample": 1.0}


@pytest.mark.parametrize("task,learner", [(task, learner) for task in TASKS for learner in ("both", "kernel")])
def test_an_empty_graph_changes_nothing(task, learner):
    data, _ = planted(task, n_graphs=1)
    none = pl.DataFrame({"source": [], "target": []}, schema={"source": pl.String, "target": pl.String})
    more = hc.HetData(data.sources, {**data.graphs, "empty": none}, (data.ids, data.y), task=task)
    a, b = (model(task, base_learner=learner, **STILL).fit(each) for each in (data, more))
    assert_allclose(scores(b, more), scores(a, data), rtol=1e-9, atol=1e-12)
    assert b.graph_weights_["empty"] == 0.0
    assert_allclose(list(b.source_weights_.values()), list(a.source_weights_.values()), rtol=1e-9)


@pytest.mark.parametrize("task", TASKS)
def test_an_empty_graph_changes_nothing_as_printed(task):
    data, _ = planted(task, n_graphs=2)
    none = pl.DataFrame({"source": [], "target": []}, schema={"source": pl.String, "target": pl.String})
    more = hc.HetData(data.sources, {"empty": none, **data.graphs}, (data.ids, data.y), task=task)
    a, b = (model(task, True, lambda1=0.5).fit(each) for each in (data, more))
    assert_allclose(scores(b, more), scores(a, data), rtol=1e-9, atol=1e-12)
    assert b.graph_weights_ == pytest.approx({"empty": 0.0, **a.graph_weights_}, rel=1e-12)


@pytest.mark.parametrize("task,learner", [(task, learner) for task in TASKS for learner in ("both", "kernel", "tree")])
def test_at_lambda0_zero_unlabelled_rows_of_a_table_take_no_part(task, learner):
    data, X, known = _levels(n=50, task=task)
    kept = data.drop_instances(data.ids[~known])
    first = kept.sources["one"].frame
    copies = [first.with_columns(id=pl.Series([f"{each} copy {c}" for each in kept.ids])) for c in (1, 2)]
    whole = pl.concat([first.with_columns(id=pl.Series(kept.ids.tolist())), *copies])
    more = hc.HetData({"one": whole}, target=(kept.ids, kept.y), task=task)
    without, none = (model(task, lambda0=0.0, base_learner=learner).fit(each) for each in (kept, more))
    assert_allclose(scores(none, more)[: kept.n], scores(without, kept), rtol=1e-6, atol=1e-8)
    if learner != "tree":
        pulled = model(task, lambda0=2.0, base_learner=learner).fit(more)
        assert np.abs(scores(pulled, more)[: kept.n] - scores(without, kept)).max() > 1e-4


@pytest.mark.parametrize("task", TASKS)
def test_with_trees_alone_lambda0_says_nothing(task):
    data, _ = planted(task)
    a, b = (model(task, base_learner="tree", lambda0=value).fit(data) for value in (0.0, 5.0))
    assert_array_equal(scores(a, data), scores(b, data))


@pytest.mark.parametrize("task", TASKS)
def test_with_every_instance_labelled_neither_lambda_says_anything(task):
    data, _ = planted(task, labelled=1.0)
    a, b = (model(task, lambda0=value, lambda1=value).fit(data) for value in (0.1, 5.0))
    assert_allclose(scores(a, data), scores(b, data), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("task", TASKS)
def test_one_table_without_labels_left_out_is_kernel_ridge_on_the_labelled_rows(task):
    data, _ = planted(task, n_sources=1, n_noise_sources=0, n_graphs=0, coverage=1.0)
    a, b = (model(task, base_learner="kernel", lambda0=0.0, n_iterations=n).fit(data) for n in (1, 9))
    assert_allclose(scores(a, data), scores(b, data), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("task", TASKS)
def test_the_parallel_schedule_does_not_depend_on_the_order_of_the_sources(task):
    data, _ = planted(task, n_graphs=0)
    turned = hc.HetData(dict(reversed(data.sources.items())), target=(data.ids, data.y), task=task)
    a, b = (model(task, base_learner="kernel", lambda0=0.5, **STILL).fit(each) for each in (data, turned))
    place = [turned.position[each] for each in data.ids]
    assert_allclose(scores(b, turned)[place], scores(a, data), rtol=1e-5, atol=1e-6)


# ---- planted truth ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("weights", ["learned", "entropy", "softmax"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_noise_table_gets_the_least_weight(task, weights, seed):
    data, _ = make_heterogeneous(300, 2, task=task, n_graphs=0, labelled=0.6, informativeness=(0.9, 0.7), seed=seed)
    fit = model(task, weights=weights, n_iterations=10).fit(data)
    assert min(fit.source_weights_, key=fit.source_weights_.get) == "noise_1"
    if weights == "learned":
        assert fit.source_weights_["noise_1"] < 0.1


@pytest.mark.parametrize("task", TASKS)
def test_the_more_informative_table_gets_more_weight(task):
    data, _ = make_heterogeneous(400, 2, task=task, n_graphs=0, n_noise_sources=0, informativeness=(0.9, 0.3), seed=2)
    weights = model(task, n_iterations=10).fit(data).source_weights_
    assert weights["source_1"] > 1.5 * weights["source_2"]


@pytest.mark.parametrize("task", TASKS)
def test_an_assortative_graph_is_heard_and_a_random_one_is_not(task):
    data, truth = make_heterogeneous(
        400, 1, n_noise_sources=0, task=task, labelled=0.5, informativeness=0.3, seed=3, degree=10,
        homophily=(0.9, 0.0 if task == "regression" else 1 / 3),
    )  # fmt: skip
    alone = hc.HetData(data.sources, target=(data.ids, data.y), task=task)
    fit = model(task, n_iterations=10).fit(data, eval_y=truth.y)
    without = model(task, n_iterations=10).fit(alone, eval_y=truth.y)
    assert fit.graph_weights_["graph_1"] > 0.8
    assert fit.history_["metric:held_out"][-1] < 0.9 * without.history_["metric:held_out"][-1]


def test_two_tables_that_know_different_parts_are_better_together():
    data, truth = make_heterogeneous(
        500, 2, together="parts", informativeness=(0.5, 0.5), n_graphs=0, n_noise_sources=0, coverage=1.0, labelled=0.6
    )
    rows = ~data.labelled

    def error(names):
        part = data.select(sources=names)
        return np.sqrt(((model("regression", n_iterations=15).fit(part).predict(part) - truth.y)[rows] ** 2).mean())

    assert error(["source_1", "source_2"]) < 0.9 * min(error(["source_1"]), error(["source_2"]))
