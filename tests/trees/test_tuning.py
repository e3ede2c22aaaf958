"""Cross-validation: every cell by brute force, folds, choice, refusals, progress, processes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore.errors import DataError, ParameterError
from hetcore.metrics import error_rate, rmse
from hetcore.numerics import standard_error
from hetcore.tuning import CrossValidation, cross_validate, stratified_folds
from tests.consensus.test_consensus import TASKS, planted

GRID = {"lambda0": [0.0, 1.0], "max_depth": [1, 3]}
TREES = hc.OneWeakLearnerClassifier(
    n_iterations=3, learners={"source_1": "tree"}, learning_rate=1.0, validation_fraction=0.4
)


def tuned(task="regression", n=60, grid=GRID, n_iterations=5, **changes):
    data, _ = planted(task, n=n, n_graphs=1, coverage=1.0)
    params = {"subsample": 1.0, "learning_rate": 0.5}
    return cross_validate(TASKS[task](**params), data, grid, n_folds=3, n_iterations=n_iterations, **changes), data


# ---- scores ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_every_cell_is_what_a_fit_of_its_own_gives(task):
    cv, data = tuned(task)
    fold = stratified_folds(data, 3)
    assert cv.scores.shape == (4, 3, 5)
    assert cv.metric_name == ("RMSE" if task == "regression" else "error")
    for s, n_rounds in ((0, 1), (1, 5), (3, 4)):
        for k in range(3):
            y = data.y.copy()
            y[fold == k] = np.nan if task == "regression" else None
            model = TASKS[task](n_iterations=n_rounds, subsample=1.0, learning_rate=0.5, **cv.settings[s])
            predicted, rows = model.fit(data, y).predict(data), fold == k
            wrong = predicted[rows] != data.y[rows]
            if task == "regression":
                wrong = predicted[rows] - data.y[rows].astype(float)
            expected = np.sqrt((wrong**2).mean()) if task == "regression" else wrong.mean()
            assert_allclose(cv.scores[s, k, n_rounds - 1], expected, rtol=1e-5)


@pytest.mark.slow
def test_the_table_has_every_setting_at_every_number_of_rounds():
    cv, _ = tuned()
    assert cv.settings == [{"lambda0": a, "max_depth": b} for a in (0.0, 1.0) for b in (1, 3)]
    assert cv.table.columns == ["lambda0", "max_depth", "n_iterations", "mean", "standard_error"]
    assert cv.table.height == 20
    row = cv.table.filter((pl.col("lambda0") == 1.0) & (pl.col("max_depth") == 1) & (pl.col("n_iterations") == 4))
    scores = cv.scores[2, :, 3]
    assert_allclose(row["mean"][0], scores.mean())
    assert_allclose(row["standard_error"][0], scores.std(ddof=1) / np.sqrt(3))


def test_what_is_shown_of_it_is_short():
    cv = CrossValidation(hc.GBCClassifier(), [{"lambda0": 0.0}] * 16, np.zeros((16, 5, 100)), "error")
    assert repr(cv) == "CrossValidation(estimator=GBCClassifier(), metric_name='error', one_standard_error=False)"


@pytest.mark.slow
def test_a_fit_that_ends_by_itself_stays_as_it_is_with_more_rounds():
    data, _ = planted("regression", n=60, n_graphs=1, coverage=1.0)
    cv = cross_validate(hc.GBCRegressor(), data, {"lambda0": [0.0, 1.0]}, n_folds=3)
    fold, ended = stratified_folds(data, 3), set()
    assert cv.scores.shape == (2, 3, hc.GBCRegressor().n_iterations)
    for k in range(3):
        y, hidden = np.where(fold == k, np.nan, data.y), np.where(fold == k, data.y, np.nan)
        model = hc.GBCRegressor(lambda0=0.0).fit(data, y, eval_y=hidden)
        curve, ended = model.history_["metric:held_out"], ended | {model.n_iterations_}
        assert_allclose(cv.scores[0, k, : len(curve)], curve)
        assert (cv.scores[0, k, len(curve) :] == curve[-1]).all()
    assert len(ended) > 1, "the folds end after different numbers of rounds"


@pytest.mark.parametrize("model", [hc.MGBRegressor(n_iterations=3), TREES])
def test_the_last_round_of_who_keeps_the_best_one_is_scored_by_what_the_model_predicts(model):
    data, _ = planted(model._task, n=90, n_graphs=1, coverage=1.0, labelled=0.9)
    cv, fold = cross_validate(model, data, {}, n_folds=2), stratified_folds(data, 2)
    # stages of MGB are counted after the first
    assert cv.scores.shape == (1, 2, 3) and cv.table["n_iterations"].to_list() == [1, 2, 3]
    missing, error = (np.nan, rmse) if model._task == "regression" else (None, error_rate)
    for k in range(2):
        y = data.y.copy()
        y[fold == k] = missing
        predicted = model.fit(data, y).predict(data)
        assert cv.scores[0, k, -1] == error(data.y[fold == k], predicted[fold == k])


def test_the_estimator_and_the_data_stay_as_they_were():
    data, _ = planted("regression", n=40)
    estimator, y = hc.GBCRegressor(lambda0=0.7), data.y.copy()
    params = estimator.get_params()
    cross_validate(estimator, data, {"lambda0": [0.0]}, n_folds=2, n_iterations=2)
    assert estimator.get_params() == params and not hasattr(estimator, "model_")
    assert_array_equal(data.y, y)


@pytest.mark.parametrize("task", TASKS)
def test_the_labels_of_a_fold_never_reach_its_fit(task):
    data, _ = planted(task, n=60)
    fold = stratified_folds(data, 3)
    seen = []

    class Spy(TASKS[task]):
        def fit(self, data, y=None, **rest):
            seen.append((y, rest["eval_y"]))
            return super().fit(data, y, **rest)

    cross_validate(Spy(n_iterations=1), data, {"lambda0": [0.0]}, n_folds=3)
    for k, (y, scored) in enumerate(seen):
        assert_array_equal([value is not None and value == value for value in y], data.labelled & (fold != k))
        assert_array_equal([value is not None and value == value for value in scored], fold == k)


def test_better_parameters_win():
    data, _ = planted("regression", n=150, n_graphs=0, n_noise_sources=0, labelled=0.8, coverage=1.0)
    cv = cross_validate(hc.GBCRegressor(base_learner="kernel"), data, {"weights": ["equal", "learned"]}, n_iterations=4)
    noisy, _ = planted("regression", n=150, n_graphs=0, n_noise_sources=4, labelled=0.8, coverage=1.0)
    with_noise = cross_validate(
        hc.GBCRegressor(base_learner="kernel"), noisy, {"weights": ["equal", "learned"]}, n_iterations=4
    )
    assert with_noise.best_params == {"weights": "learned"}
    assert cv.best_score < with_noise.best_score


# ---- choice ----------------------------------------------------------------------------------------------------------


def made(mean, error, **changes):
    """Return a cross-validation of two folds with the given means and standard errors, (settings, N)."""
    mean, error = np.array(mean, float), np.array(error, float)
    scores = np.stack([mean - error, mean + error], axis=1)
    settings = [{"lambda0": float(i)} for i in range(len(mean))]
    return CrossValidation(hc.GBCRegressor(), settings, scores, "RMSE", **changes)


def test_the_best_is_the_least_mean_and_the_first_of_equals():
    cv = made([[3, 2, 2], [4, 1, 1]], np.full((2, 3), 0.1))
    assert (cv.best_params, cv.best_n_iterations, cv.best_score) == ({"lambda0": 1.0}, 2, 1.0)
    assert_allclose(cv.standard_error, 0.1)
    assert made([[1, 1], [1, 1]], np.zeros((2, 2))).best_params == {"lambda0": 0.0}


def test_one_standard_error_takes_the_fewest_rounds_that_are_as_good():
    mean, error = [[3, 1.25, 1.2, 1.15], [3, 1.28, 1.1, 1.0]], np.full((2, 4), 0.3)
    assert made(mean, error).best_n_iterations == 4
    cv = made(mean, error, one_standard_error=True)
    assert (cv.best_params, cv.best_n_iterations) == ({"lambda0": 0.0}, 2)
    assert made(mean, 0 * error, one_standard_error=True).best_n_iterations == 4


def test_a_setting_that_diverges_is_never_chosen():
    scores = np.array([[[np.inf, np.inf], [1.0, np.inf]], [[5.0, 5.0], [5.0, 6.0]]])
    for rule in (False, True):
        cv = CrossValidation(hc.GBCRegressor(), [{"lambda0": 0.0}, {"lambda0": 1.0}], scores, "RMSE", rule)
        assert (cv.best_params, cv.best_n_iterations) == ({"lambda0": 1.0}, 1)
        assert not cv.table["standard_error"].is_nan().any()


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_the_best_estimator_is_ready_or_fitted(task):
    cv, data = tuned(task)
    model = cv.best_estimator()
    assert model.get_params() == cv.estimator.get_params() | cv.best_params | {"n_iterations": cv.best_n_iterations}
    assert not hasattr(model, "model_")
    rounds = []
    fitted = cv.best_estimator(data, callbacks=[rounds.append])
    assert fitted.n_iterations_ == len(rounds) == cv.best_n_iterations
    assert_array_equal(fitted.predict(data), model.fit(data).predict(data))


# ---- folds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("n_folds", [2, 3, 5, 10])
def test_folds_are_alike_and_hold_labelled_instances_only(task, n_folds):
    data, _ = planted(task, n=150, labelled=0.6)
    fold = stratified_folds(data, n_folds, 1)
    assert_array_equal(fold >= 0, data.labelled)
    sizes = np.bincount(fold[data.labelled])
    assert len(sizes) == n_folds and np.ptp(sizes) <= 1
    if task == "classification":
        for name in data.classes:
            counts = np.bincount(fold[data.labelled & (data.y == name)], minlength=n_folds)
            assert np.ptp(counts) <= 1
    else:
        means = [data.y[fold == k].mean() for k in range(n_folds)]
        assert np.std(means) < 0.5 * data.y[data.labelled].std() / np.sqrt(sizes.min())


def test_folds_follow_the_seed():
    data, _ = planted("classification", n=80)
    assert_array_equal(stratified_folds(data, 4, 5), stratified_folds(data, 4, 5))
    assert not np.array_equal(stratified_folds(data, 4, 5), stratified_folds(data, 4, 6))


@pytest.mark.parametrize("n_folds", [1, 0, -2, 2.5, True, None])
def test_a_number_of_folds_that_is_none(n_folds):
    data, _ = planted("regression", n=30)
    with pytest.raises(ParameterError, match="n_folds=.* must be a whole number, at least 2"):
        cross_validate(hc.GBCRegressor(), data, n_folds=n_folds)


def test_too_few_labels():
    data, _ = planted("regression", n=30)
    few = np.where(np.arange(30) < 3, 1.0 * np.arange(30), np.nan)
    with pytest.raises(DataError, match="There are 3 labels for 4 folds"):
        cross_validate(hc.GBCRegressor(), data.with_target(few), n_folds=4)
    two = data.with_target(np.array(["a", "b", "b"] + [None] * 27, dtype=object))
    with pytest.raises(DataError, match="label two or more of each class"):
        cross_validate(hc.GBCClassifier(), two, n_folds=2)
    with pytest.raises(DataError, match="There are 0 labels for 5 folds"):
        cross_validate(hc.GBCRegressor(), data.with_target(None))


def test_a_class_with_one_label_is_scored_only_where_it_was_seen():
    data, _ = planted("classification", n=60)
    y = data.y.copy()
    y[np.flatnonzero(data.labelled)[0]] = "alone"
    cv = cross_validate(hc.GBCClassifier(), data.with_target(y), {"lambda0": [0.0]}, n_folds=3, n_iterations=2)
    assert np.isfinite(cv.scores).all()


# ---- the grid --------------------------------------------------------------------------------------------------------


def test_the_default_grid_is_over_both_lambdas_where_there_is_a_graph():
    data, _ = planted("regression", n=24, n_graphs=1, n_features=2)
    bare = hc.HetData(data.sources, target=(data.ids, data.y))
    fast = hc.GBCRegressor(n_iterations=1, base_learner="tree")
    assert len(cross_validate(fast, data, n_folds=2).settings) == 16
    assert [list(each) for each in cross_validate(fast, bare, n_folds=2).settings] == [["lambda0"]] * 4


def test_several_grids_one_after_the_other_and_values_of_several_types():
    data, _ = planted("regression", n=30, n_graphs=0)
    grids = [{"base_learner": ["tree"], "max_depth": [1, -1]}, {"base_learner": ["kernel"], "random_state": [None]}]
    cv = cross_validate(hc.GBCRegressor(), data, grids, n_folds=2, n_iterations=2)
    assert [len(each) for each in cv.settings] == [2, 2, 2]
    assert cv.table["max_depth"].to_list() == [1, 1, -1, -1, None, None]
    cases = {"random_state": [0, None], "lambda0": [0, 0.5, np.float64(1)], "join_tables": [True, False]}
    for name, values in cases.items():
        one = cross_validate(hc.GBCRegressor(), data, {name: values}, n_folds=2, n_iterations=1)
        assert one.table[name].to_list() == values and one.table[name].dtype != pl.String
    odd = CrossValidation(hc.GBCRegressor(), [{"x": 1}, {"x": "auto"}], np.zeros((2, 2, 1)), "RMSE")
    assert odd.table["x"].to_list() == ["1", "auto"]
    plain = cross_validate(hc.GBCRegressor(), data, {}, n_folds=2, n_iterations=3)
    assert plain.best_params == {} and plain.table.height == 3


@pytest.mark.parametrize(
    "grid,message",
    [
        ({"n_iterations": [1, 2]}, "every number of rounds is tried: give n_iterations=N"),
        ({"depth": [3]}, "The grid names 'depth', which is none of"),
        ({"lambda0": []}, "lambda0 the values \\[\\]: give a list of one or more"),
        ({"lambda0": 0.3}, "lambda0 the values 0.3: give a list"),
        ({"weights": "equal"}, "weights the values 'equal': give a list"),
        ({"lambda0": [0.0, -1.0]}, "lambda0=-1.0 must be"),
        ({"max_depth": [3, 0]}, "max_depth=0 must be"),
    ],
)
def test_a_grid_that_is_none_is_refused_before_the_first_fit(grid, message):
    data, _ = planted("regression", n=30)
    fits = []
    with pytest.raises(ParameterError, match=message):
        cross_validate(hc.GBCRegressor(), data, grid, progress=lambda done, total: fits.append(done))
    assert fits == []


def test_what_else_is_refused():
    from hetcore.baselines.peers import JoinedSVM

    data, _ = planted("regression", n=30)
    with pytest.raises(ParameterError, match="JoinedSVM is not fitted round by round"):
        cross_validate(JoinedSVM(), data, {})
    with pytest.raises(ParameterError, match=r"The estimator is a class: give GBCRegressor\(\)"):
        cross_validate(hc.GBCRegressor, data)
    with pytest.raises(ParameterError, match="The grid holds 'lambda0', no mapping: give"):
        cross_validate(hc.GBCRegressor(), data, ["lambda0"])
    with pytest.raises(hc.DataError, match="cross_validate takes a HetData, not DataFrame"):
        cross_validate(hc.GBCRegressor(), data.sources[data.source_names[0]].frame)
    with pytest.raises(ParameterError, match="HLR takes arrays, not a HetData: scikit-learn's GridSearchCV tunes it"):
        cross_validate(hc.HLR(), data, {})
    with pytest.raises(ParameterError, match="n_iterations=0 must be"):
        cross_validate(hc.GBCRegressor(), data, {}, n_iterations=0)
    with pytest.raises(ParameterError, match="n_jobs=0 must be"):
        cross_validate(hc.GBCRegressor(), data, {}, n_jobs=0)
    for given in ({"one_standard_error": "no"}, {"progress": 3}, {"random_state": "a"}):
        with pytest.raises(ParameterError, match=f"^{next(iter(given))}=.*: give"):
            cross_validate(hc.GBCRegressor(), data, {}, **given)
    with pytest.raises(hc.DataError, match="stratified_folds takes a HetData, not int"):
        stratified_folds(3, 5)


# ---- progress and processes ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_progress_counts_every_fit_and_can_stop():
    seen = []
    cv, _ = tuned(progress=lambda done, total: seen.append((done, total)))
    assert seen == [(k, 12) for k in range(1, 13)]
    some, _ = tuned(progress=lambda done, total: done == 7)
    assert some.settings == cv.settings[:2]
    assert_array_equal(some.scores, cv.scores[:2])
    first, _ = tuned(progress=lambda done, total: True)
    assert first.settings == cv.settings[:1]


@pytest.mark.slow
def test_processes_give_the_same_numbers():
    seen = []
    one, _ = tuned("classification")
    two, _ = tuned("classification", n_jobs=2, progress=lambda done, total: seen.append((done, total)))
    assert two.settings == one.settings
    assert_array_equal(two.scores, one.scores)
    assert seen == [(3, 12), (6, 12), (9, 12), (12, 12)]


@pytest.mark.slow
def test_processes_stop_once_asked():
    grid = {"lambda0": [0.0, 1.0], "max_depth": [1, 2, 3, 4, 5]}
    some, _ = tuned("classification", grid=grid, n_jobs=2, progress=lambda done, total: True)
    assert 1 <= len(some.settings) < 10
    one, _ = tuned("classification", grid={name: [value] for name, value in some.settings[0].items()})
    assert_array_equal(some.scores[0], one.scores[0])


def test_the_module_is_light_until_it_is_used():
    heavy = "('numba', 'sklearn', 'catboost', 'joblib', 'streamlit')"
    code = f"import sys, hetcore.tuning; print([name for name in {heavy} if name in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"


@pytest.mark.parametrize("task", TASKS)
def test_a_group_is_left_out_whole(task):
    data, _ = planted(task, n=60, labelled=0.8)
    groups = np.arange(data.n) % 7
    for given in (groups, pl.Series(groups), pd.Series(groups), groups.tolist(), [f"g{k}" for k in groups]):
        fold = stratified_folds(data, 3, 0, given)
        assert all(len(set(fold[(groups == k) & data.labelled])) == 1 for k in range(7))
        assert_array_equal(fold == -1, ~data.labelled)
    seen = []

    class Spy(TASKS[task]):
        def fit(self, data, y=None, **rest):
            seen.append(rest["eval_y"])
            return super().fit(data, y, **rest)

    cross_validate(Spy(n_iterations=1), data, {"lambda0": [0.0]}, n_folds=3, groups=groups)
    fold = stratified_folds(data, 3, 0, groups)
    for k, scored in enumerate(seen):
        assert_array_equal([value is not None and value == value for value in scored], fold == k)


def test_deals_follow_one_another_and_their_error_is_that_of_one():
    data, model = planted("regression", n=60)[0], hc.GBCRegressor(n_iterations=2, as_printed=True)
    cv = cross_validate(model, data, {}, n_folds=3, n_repeats=2, random_state=4)
    alone = cross_validate(model, data, {}, n_folds=3, random_state=4)
    assert cv.scores.shape == (1, 6, 2) and (cv.scores[:, :3] != cv.scores[:, 3:]).any()
    assert_array_equal(cv.scores[:, :3], alone.scores)
    assert_array_equal(cv.scores, cross_validate(model, data, {}, n_folds=3, n_repeats=2, random_state=4).scores)
    errors = [standard_error(cv.scores[:, deal], axis=1) for deal in (slice(3), slice(3, 6))]
    assert_allclose(cv.standard_error, np.mean(errors, axis=0))
    assert_allclose(cv.mean, cv.scores.mean(axis=1))


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (lambda n: [1, 2], "is no list of 60 values"),
        (lambda n: "a", "is no list of 60 values"),
        (lambda n: 3, "is no list of 60 values"),
        (lambda n: np.ones((n, 2)), "is no list of 60 values"),
        (lambda n: [[1], [1, 2]], "entries of different lengths"),
        (lambda n: [None] * n, "groups has no value for labelled instances"),
        (lambda n: np.full(n, np.nan), "groups has no value for labelled instances"),
        (lambda n: np.zeros(n), "The labels are in 1 group, for 3 folds: give fewer folds"),
    ],
)
def test_groups_that_are_none_are_refused(groups, words):
    data, _ = planted("regression", n=60)
    with pytest.raises(DataError, match=words):
        cross_validate(hc.GBCRegressor(), data, {}, n_folds=3, groups=groups(data.n))


@pytest.mark.parametrize("n_repeats", [0, -1, 1.5, True, None, "a"])
def test_deals_that_are_no_number_are_refused(n_repeats):
    with pytest.raises(ParameterError, match="n_repeats=.* must be a whole number of at least 1"):
        cross_validate(hc.GBCRegressor(), planted("regression", n=60)[0], {}, n_repeats=n_repeats)


@pytest.mark.parametrize("grid", [3, "lambda0", [3], True])
def test_what_is_no_grid_is_refused_in_one_sentence(grid):
    with pytest.raises(ParameterError, match="The grid holds .*, no mapping: give"):
        cross_validate(hc.GBCRegressor(), planted("regression", n=20)[0], grid)
