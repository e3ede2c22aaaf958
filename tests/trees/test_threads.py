"""The same bits on any number of threads, for every estimator that takes n_jobs."""

from __future__ import annotations

import inspect
from threading import Barrier, current_thread, main_thread

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import ClassifierMixin

import hetcore as hc
from datasets.planted.autocorrelated import make_autocorrelated_graph
from hetcore import growing
from hetcore.collective import view_trees
from hetcore.collective.estimator import Collective
from hetcore.consensus import view_learners
from hetcore.heteroscedastic.estimator import DeviationBoosting
from hetcore.kernels.threads import OFFERED, n_threads, run_each
from hetcore.registry import METHODS

CLASSES = [getattr(hc, name) for name in METHODS]
THREADED = [each for each in CLASSES if "n_jobs" in inspect.signature(each).parameters]
PARAMS = {"n_iterations": 3, "max_leaf_nodes": 12, "subsample": 0.7, "column_sample": 0.7}


def test_some_take_threads():
    assert {each.__name__ for each in THREADED} >= {
        "GBCClassifier", "GBCRegressor", "GBRegressor", "HGBMClassifier", "HGBMRegressor", "MGBClassifier",
        "MGBRegressor", "RGBRegressor",
    }  # fmt: skip


def _rows(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 8)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nansum(X[:, :3], axis=1) + rng.normal(size=600)
    y = np.digitize(y, [-1.0, 1.0]) if issubclass(kind, hc.HGBMClassifier) else y
    return X, y, 1.0 + (y > 0)


def _linked(kind):
    made = make_autocorrelated_graph(n=90, seed=1)[0]
    y = np.where(made.labelled, made.y, np.nan)
    y[::3] = np.nan
    if issubclass(kind, ClassifierMixin):
        y = np.array([None if np.isnan(each) else str(int(each > 0)) for each in y], object)
    return (made.with_target(y, "classification" if issubclass(kind, ClassifierMixin) else "regression"),)


def _same(fits):
    states = [fit._get_state() for fit in fits]
    for fit, (meta, arrays) in zip(fits[1:], states[1:]):
        assert meta == states[0][0]
        for name, array in arrays.items():
            assert_array_equal(array, states[0][1][name], err_msg=name)
        assert fit.history_.drop("seconds").equals(fits[0].history_.drop("seconds"), null_equal=True)


@pytest.mark.parametrize("kind", [each for each in THREADED if issubclass(each, DeviationBoosting)])
@pytest.mark.parametrize("as_printed", [False, True])
def test_members_on_threads_give_the_bits_of_one(kind, as_printed, monkeypatch):
    monkeypatch.setattr(growing, "_SERIAL_VALUES", 0)
    rows = _rows(kind)
    _same([kind(**PARAMS, as_printed=as_printed, n_jobs=n).fit(*rows) for n in (1, 2, 3)])


COLLECTIVE = [each for each in THREADED if issubclass(each, Collective)]


@pytest.mark.parametrize("kind", COLLECTIVE)
@pytest.mark.parametrize("most", [0, view_trees.MOST])
def test_views_of_collective_methods_on_threads_give_the_bits_of_one(kind, most, monkeypatch):
    # each view by itself, as where labels are many; and all in one table of scores
    monkeypatch.setattr(view_trees, "MOST", most)
    monkeypatch.setattr(view_trees, "SHARED", 0)
    data = _linked(kind)
    _same([kind(n_iterations=2, first_trees=12, n_jobs=n).fit(*data) for n in (None, 2, 3)])


@pytest.mark.parametrize("kind", [hc.GBCClassifier, hc.GBCRegressor])
def test_views_of_a_consensus_on_threads_give_the_bits_of_one(kind, monkeypatch):
    monkeypatch.setattr(view_learners, "SHARED", 0)
    data = _linked(kind)
    _same([kind(n_iterations=3, n_jobs=n).fit(*data) for n in (None, 2, 3, -1)])


def test_minus_one_is_a_thread_a_core(monkeypatch):
    monkeypatch.setattr("joblib.cpu_count", lambda: 7)
    assert [n_threads(n_jobs) for n_jobs in (None, 1, 3, -1)] == [1, 1, 3, 7]
    with pytest.raises(hc.errors.ParameterError, match="-1 for as many as the machine has cores"):
        hc.HGBMRegressor(n_jobs=-2).fit(np.eye(3), np.arange(3.0))


def test_each_item_has_one_turn_and_its_place():
    turns = []
    for n_jobs in (1, 2, 5, 40):
        assert run_each(lambda i: turns.append(i) or -i, range(20), n_jobs) == [-i for i in range(20)]
        assert sorted(turns) == list(range(20))
        turns.clear()
    assert run_each(lambda i: i, [], 3) == []


def test_an_error_of_a_thread_is_raised_and_nothing_begins_after_it():
    begun = []

    def task(i):
        begun.append(i)
        if i == 3:
            raise ValueError("the third")

    for n_jobs in (1, 2):
        with pytest.raises(ValueError, match="the third"):
            run_each(task, range(1000), n_jobs)
        assert len(begun) < 1000
        begun.clear()


def test_a_task_may_share_its_own_tasks():
    def outer(i):
        return sum(run_each(lambda k: i * k, range(5), 3))

    assert run_each(outer, range(6), 3) == [10 * i for i in range(6)]


def test_who_waits_helps_with_what_another_shares():
    # two outer tasks at once, of which the one beside the caller shares two that only two threads can do
    both, inner = Barrier(2, timeout=60), Barrier(2, timeout=60)

    def outer(_):
        both.wait()
        if current_thread() is main_thread():
            return []
        return run_each(lambda i: inner.wait() >= 0, range(2), 2)

    assert sorted(run_each(outer, range(2), 2)) == [[], [True, True]]


def test_an_error_within_is_raised_where_others_help():
    def outer(i):
        return run_each(lambda k: 1 // (k - i), range(4), 3)

    with pytest.raises(ZeroDivisionError):
        run_each(outer, range(3), 2)
    assert run_each(abs, [-1, 2], 2) == [1, 2] and not OFFERED
