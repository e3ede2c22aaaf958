"""Gradient Boosting Consensus where it must be something simpler, and where planted truth says what it must find."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import datasets
import hetcore as hc
from datasets.planted.generator import make_heterogeneous
from hetcore.consensus.neighbor_columns import dealt_folds
from hetcore.consensus.outputs import Outputs
from hetcore.consensus.smooth_learner import (
    CONSTANT,
    FIRST_PENALTY,
    LAST_OF_OWN,
    LAST_PENALTY,
    LOOKS,
    MORE_LOOKS,
    PENALTY_FALL,
    SHORT,
    SmoothLearner,
    ridge,
)
from hetcore.consensus.view_learners import (
    LONGER,
    LONGER_FALL,
    LONGER_OF_CLASSES,
    STEP_OF_CLASSES,
    TREES,
    TREES_OF_CLASSES,
    BoostRule,
    TreeLearner,
    ViewContent,
    predict_with,
)
from hetcore.consensus.views import ViewColumns
from hetcore.targets import KnownLabels, Problem
from hetcore.trees import BinMapper, TreeParams, grow
from tests.consensus.test_consensus import TASKS, model, planted, scores


def _levels(n=120, d=4, seed=0, task="regression", far=False):
    """Return one table of numbers with few levels, and labels for half of its rows, of which one lies `far` out."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, d)).astype(np.float32)
    X[1, 1] = 90.0 if far else X[1, 1]
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=n)
    labels = y if task == "regression" else np.array(["low", "mid", "top"])[np.digitize(y, [1.2, 2.4])]
    ids = [f"i{k}" for k in range(n)]
    frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(d)]).with_columns(id=pl.Series(ids))
    known = rng.random(n) < 0.5
    return hc.HetData({"one": frame}, target=(np.array(ids)[known], labels[known])), X, known


# ---- a view's learners -----------------------------------------------------------------------------------------------


def _content(data, learner, **changes):
    """Return a view's content over the one table of some data, in three folds."""
    problem = Problem.of(data, None, None, data.target_kind)
    outputs, fold = Outputs.of(problem.scale), dealt_folds(problem, 3, 0)
    labels = KnownLabels(outputs.codes(problem.target), fold)
    made = next(each for each in ViewColumns().fit(data, labels).of_training() if each.view.learner == learner)
    values = dict(
        learning_rate=0.3, limits=TreeParams(3, -1, 5, 1e-3, 1.0), subsample=1.0, column_sample=1.0, lambda0=0.0
    )
    rule = BoostRule(outputs, 3, **(values | changes))
    pulled = np.flatnonzero(fold < 0)
    return ViewContent(made.X, labels.codes, fold, learner=learner, seed=0, rule=rule, pulled=pulled), problem


@pytest.mark.parametrize("task", TASKS)
def test_a_tree_learner_is_plain_gradient_boosting_on_the_other_folds(task):
    data, _, _ = _levels(task=task)
    content, problem = _content(data, "trees")
    learner = TreeLearner(np.arange(data.n), problem.labelled, content)
    for t in range(3):
        learner.advance(t)
    outputs, mapper = (
        content.rule.outputs,
        BinMapper().fit(content.X, 0),
    )
    binned, K = mapper.transform(content.X), learner.outputs.k
    for fold in range(3):
        rows = np.flatnonzero((content.fold >= 0) & (content.fold != fold)).astype(np.int32)
        F = np.tile(outputs.prior, (data.n, 1))
        trees, longer = (TREES_OF_CLASSES, LONGER_OF_CLASSES) if K > 1 else (TREES, LONGER)
        step = 0.3 * (STEP_OF_CLASSES if K > 1 else 1.0)
        for rate in np.repeat([step * max(1.0, longer * LONGER_FALL**t) for t in range(3)], trees):
            fitted = outputs.fitted(F)
            gradients, hessians = fitted - content.codes, outputs.curvature(fitted) if K > 1 else None
            given = gradients.astype("f4"), None if hessians is None else hessians.astype("f4")
            tree = grow(binned, *given, rows, None, content.rule.limits, mapper.n_bins)
            F += rate * np.clip(tree.predict(binned), *((-4, 4) if K > 1 else (-np.inf, np.inf)))
        assert_allclose(learner.scores[fold], F[learner.order], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("far", [False, True])
def test_a_smooth_learner_of_numbers_is_iterated_ridge_regression(far):
    data, _, known = _levels(far=far)
    assert known[1]
    content, problem = _content(data, "linear")
    learner = SmoothLearner(np.arange(data.n), problem.labelled, content)
    Z = np.column_stack([content.X * learner.unit, np.full(data.n, CONSTANT)])
    c, rows = np.zeros((Z.shape[1], 1)), np.flatnonzero((content.fold >= 0) & (content.fold != 1))
    every = Z[content.fold >= 0]
    # without a row far out a member's on average: it lacks one fold of three
    gram = Z[rows].T @ Z[rows] if far else 2 / 3 * every.T @ every
    low, high = learner.range
    for t in range(20):
        learner.advance(t)
        residual = content.codes[rows] - np.clip(Z[rows] @ c, low, high)
        penalty = learner.largest * max(learner.first_penalty * PENALTY_FALL**t, LAST_OF_OWN if far else LAST_PENALTY)
        c += np.linalg.solve(gram + penalty * np.eye(len(c)), Z[rows].T @ residual)
        assert_allclose(learner.scores[:, 1], np.clip(every @ c, low, high), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("far", [False, True])
def test_the_first_penalty_is_short_of_the_one_that_left_out_rows_like_best(far):
    data, _, _ = _levels(far=far)
    content, problem = _content(data, "linear")
    learner = SmoothLearner(np.arange(data.n), problem.labelled, content)
    Z = np.column_stack([content.X * learner.unit, np.full(data.n, CONSTANT)])
    errors, looks = [], LOOKS + MORE_LOOKS if far else LOOKS
    for falls in looks:
        penalty = learner.largest * FIRST_PENALTY["linear"] * PENALTY_FALL**falls
        error = 0.0
        for fold in range(3):
            rows, left = np.flatnonzero((content.fold >= 0) & (content.fold != fold)), content.fold == fold
            gram = Z[rows].T @ Z[rows] if far else 2 / 3 * Z[content.fold >= 0].T @ Z[content.fold >= 0]
            # as large beside the member's rows as it is beside those of a member on average
            own = penalty * np.trace(gram) / learner.values.sum()
            c = np.linalg.solve(gram + own * np.eye(Z.shape[1]), Z[rows].T @ content.codes[rows])
            error += ((content.codes[left] - Z[left] @ c) ** 2).sum()
        errors.append(error)
    best = looks[int(np.argmin(errors))]
    assert best > SHORT  # or nothing would be skipped, and nothing tested
    assert learner.first_penalty == pytest.approx(FIRST_PENALTY["linear"] * PENALTY_FALL ** (best - SHORT))
    times = np.sqrt((content.codes[content.fold >= 0] ** 2).sum() / min(errors))
    known = content.codes[content.fold >= 0]
    assert learner.range[1] == pytest.approx(known.max() + max(1.0, times) * np.ptp(known))


@pytest.mark.parametrize("task", TASKS)
def test_more_columns_than_rows_are_the_same_steps(task):
    data, _, _ = _levels(task=task)
    content, problem = _content(data, "linear")
    content = content._replace(rule=content.rule._replace(lambda0=0.5), X=np.tile(content.X, 100) / 10.0)
    wide = SmoothLearner(np.arange(data.n), problem.labelled, content)
    assert len(wide.turned) < content.X.shape[1]
    rows = np.concatenate([wide.own, wide.pulled])
    # the same columns a hundred times, each a tenth as large: the same distances, the same directions
    few = SmoothLearner(
        np.arange(data.n), problem.labelled, content._replace(X=content.X[:, : content.X.shape[1] // 100] * 10.0)
    )
    assert len(few.turned) == len(rows) > few.vectors.shape[0]
    for t in range(6):
        wide.advance(t), few.advance(t)
        assert_allclose(wide.scores, few.scores, rtol=1e-6, atol=1e-8)
    assert_allclose(wide._mean_of_others(), few._mean_of_others(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("learner,kind", [("trees", TreeLearner), ("kernel", SmoothLearner), ("linear", SmoothLearner)])
def test_a_labelled_row_is_scored_by_members_that_have_not_seen_its_label(learner, kind):
    data, _, _ = _levels()
    content, problem = _content(data, learner)
    row = int(np.flatnonzero(problem.labelled)[0])
    codes = content.codes.copy()
    codes[row] += 0.5
    predicted = []
    for each in (content, content._replace(codes=codes)):
        made = kind(np.arange(data.n), problem.labelled, each)
        for t in range(4):
            made.advance(t)
        members = made._of_labelled()
        predicted.append((members[content.fold[row], np.searchsorted(made.own, row)], members))
    assert_array_equal(predicted[0][0], predicted[1][0])
    assert np.abs(predicted[0][1] - predicted[1][1]).max() > 1e-6


@pytest.mark.parametrize("learner", ["trees", "kernel", "linear"])
def test_what_a_learner_keeps_predicts_as_in_its_best_round(learner):
    data, _, _ = _levels()
    content, problem = _content(data, learner)
    made = (TreeLearner if learner == "trees" else SmoothLearner)(np.arange(data.n), problem.labelled, content)
    kept = None
    for t in range(12):
        advanced = made.advance(t)
        kept = advanced.scores if advanced.scores is not None else kept
    others = ~problem.labelled
    assert_allclose(predict_with(made.keep(), content.X, made.outputs)[others], kept[others], rtol=1e-9, atol=1e-9)


# ---- what changes nothing --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("task,learner", [(task, learner) for task in TASKS for learner in ("both", "kernel")])
def test_an_empty_graph_changes_nothing(task, learner):
    data, _ = planted(task, n_graphs=1)
    none = pl.DataFrame({"source": [], "target": []}, schema={"source": pl.String, "target": pl.String})
    more = hc.HetData(data.sources, {**data.graphs, "empty": none}, (data.ids, data.y), task=task)
    a, b = (model(task, base_learner=learner).fit(each) for each in (data, more))
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
    pulled = model(task, lambda0=2.0, base_learner=learner).fit(more)
    assert np.abs(scores(pulled, more)[: kept.n] - scores(without, kept)).max() > 1e-4


@pytest.mark.parametrize("task", TASKS)
def test_with_every_instance_labelled_lambda0_changes_nothing(task):
    data, _ = planted(task, labelled=1.0)
    a, b = (model(task, lambda0=value, lambda1=0.0).fit(data) for value in (0.1, 5.0))
    assert_allclose(scores(a, data), scores(b, data), rtol=1e-9, atol=1e-12)


def test_a_ridge_step_is_finite_where_the_penalty_is_lost_in_rounding():
    rows = np.random.default_rng(0).normal(size=(2, 6)) * 1e8
    found = ridge(rows.T @ rows, 1e-9, np.ones((6, 1)))
    assert np.isfinite(found).all() and np.abs(found).max() <= 3.0 / (1e-12 * (rows**2).sum())


def test_smooth_learners_do_not_depend_on_the_order_of_the_sources():
    data, _ = planted("regression", n_graphs=0)
    turned = hc.HetData(dict(reversed(data.sources.items())), target=(data.ids, data.y), task="regression")
    a, b = (model("regression", base_learner="kernel", lambda0=0.5).fit(each) for each in (data, turned))
    place = [turned.position[each] for each in data.ids]
    assert_allclose(scores(b, turned)[place], scores(a, data), rtol=1e-5, atol=1e-6)


# ---- planted truth ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("weights", ["learned", "entropy", "softmax"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_noise_table_gets_the_least_weight(task, weights, seed):
    data, _ = make_heterogeneous(300, 2, task=task, n_graphs=0, labelled=0.6, informativeness=(0.9, 0.7), seed=seed)
    fit = model(task, weights=weights, n_iterations=10).fit(data)
    assert min(fit.source_weights_, key=fit.source_weights_.get) == "noise_1"
    if weights == "entropy":
        assert fit.source_weights_["noise_1"] < 0.02


@pytest.mark.parametrize("task", TASKS)
def test_the_more_informative_table_gets_more_weight(task):
    data, _ = make_heterogeneous(400, 2, task=task, n_graphs=0, n_noise_sources=0, informativeness=(0.9, 0.3), seed=2)
    weights = model(task, n_iterations=10).fit(data).source_weights_
    assert weights["source_1"] > 1.5 * weights["source_2"]


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_an_assortative_graph_is_used_and_a_random_one_is_not(task):
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


@pytest.mark.parametrize("left_out_weights", [False, True])
def test_no_score_of_training_rows_is_called_left_out(left_out_weights):
    """Every row is trained on in some round, so that what was called so was the error on the training rows."""
    data = datasets.load("planted")
    model = hc.GBCRegressor(as_printed=True, left_out_weights=left_out_weights, n_iterations=2, random_state=0)
    history = model.fit(data).history_
    assert "loss:train" in history and not [name for name in history.columns if name.endswith(":left_out")]
    assert "loss:left_out" in hc.GBCRegressor(n_iterations=2, random_state=0).fit(data).history_
