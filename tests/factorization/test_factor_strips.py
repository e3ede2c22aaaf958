"""Epochs by strips of users and items: every entry once, the same bits in any order and on any number of workers."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import hetcore as hc
from hetcore import model_files
from hetcore.errors import ParameterError
from hetcore.factorization import strips
from hetcore.factorization.estimator import entries_of
from hetcore.factorization.sgd import BLOCKS, FactorState, in_turn
from hetcore.factorization.strips import STRIPS, Strips, one_by_one
from hetcore.kernels.factorization import run_epoch
from tests.clusters import QUIET
from tests.factorization.test_factorization import ratings

KINDS = {"MF": hc.MatrixFactorization, "HMF": hc.HMF}
FEW = {"n_factors": 5, "n_iterations": 4, "validation_fraction": 0.2, "random_state": 0}


def state_of(kind, epoch, users=37, items=23, n=900, **more):
    """Return a fit before its first epoch."""
    X, y, *_ = ratings(n_users=users, n_items=items, n=n)
    model = KINDS[kind](**FEW, **more)
    return FactorState.start(model._params(), *reversed(entries_of(X, y, 2, None)), {}, epoch)


class PlanRecorder:
    """Visits blocks one by one and keeps the plan."""

    def __call__(self, blocks, users, items, plan):
        self.blocks, self.plan = blocks, plan
        return one_by_one(blocks, users, items, plan)


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_an_epoch_is_that_of_the_whole_tables_in_the_order_of_the_strips(kind, printed):
    recorder = PlanRecorder()

    def in_their_order(laid, rng, factors, given):
        width, order, totals = BLOCKS // STRIPS, [], np.zeros(3)
        for diagonal, each in recorder.plan:
            for p, (own, *_) in enumerate(each):
                first, second = (strip * width + np.arange(width) for strip in (p, (p + diagonal) % STRIPS))
                order += (first[:, None] * BLOCKS + second).ravel()[own].tolist()
        assert sorted(order) == list(range(BLOCKS**2))
        run_epoch(laid.rows, laid.values, laid.starts, np.array(order), factors, *given, totals)
        return totals

    state, whole = (state_of(kind, epoch, as_printed=printed) for epoch in (Strips(recorder), in_their_order))
    # deviations move from the second epoch on
    for _ in range(3):
        state.round()
        whole.round()
        for mine, theirs in zip(state.factors, whole.factors):
            assert_array_equal(mine, theirs)
        # sums over the entries are added up block by block there, and say what an entry weighs
        np.testing.assert_allclose(state.mean_variance, whole.mean_variance, rtol=1e-12)
        whole.mean_variance = state.mean_variance
    assert sum(len(block.rows) for block in recorder.blocks.values()) == len(state.train)


def test_blocks_of_a_diagonal_may_be_visited_in_any_order():
    here, turned = (state_of("HMF", Strips(visits)) for visits in (one_by_one, backwards))
    for _ in range(3):
        here.round()
        turned.round()
    for mine, theirs in zip(here.factors, turned.factors):
        assert_array_equal(mine, theirs)


def backwards(blocks, users, items, plan):
    """Visit each diagonal from its last block to its first."""
    users, items, totals = list(users), list(items), []
    for diagonal, given in plan:
        done = []
        for p in reversed(range(STRIPS)):
            q = (p + diagonal) % STRIPS
            users[p], items[q], sums = strips.visit(blocks[p, q], users[p], items[q], given[p])
            done.append(sums)
        totals += reversed(done)
    return users, items, totals


@pytest.mark.parametrize("users, items, n", [(1, 1, 1), (3, 40, 50), (16, 5, 30)])
def test_few_users_or_items_leave_strips_empty(users, items, n):
    state = state_of("HMF", Strips(), users, items, n)
    for _ in range(4):
        state.round()
    assert all(np.isfinite(table).all() for table in state.factors) and state.metric["train"] < 2.0


def test_strips_learn_as_much_as_the_order_of_a_fit_here():
    states = [state_of("MF", epoch, n=1500) for epoch in (in_turn, Strips())]
    for state in states:
        for _ in range(30):
            state.round()
    errors = [state.metric["train"] for state in states]
    assert abs(np.log(errors[0] / errors[1])) < 0.05


# ---- on a cluster ----------------------------------------------------------------------------------------------------

dask = pytest.importorskip("distributed", reason="Dask is not installed: pip install -r requirements-dask.txt")
from hetcore import distributed  # noqa: E402 - after the skip

SHORT = FEW | {"n_iterations": 2}  # an epoch is some 260 tasks of the scheduler


def fitted_here(kind, X, y):
    model = KINDS[kind](**SHORT)
    model._check_parameters()
    start = model._start
    model._start = lambda problem: start(problem, Strips())
    model.fit(X, y)
    del model._start
    return model


@pytest.mark.slow
def test_the_model_file_is_the_same_from_two_workers_and_one_and_after_a_loss(client):
    X, y, *_ = ratings(n_users=37, n_items=23, n=900)
    files = {}
    for kind in KINDS:
        here = fitted_here(kind, X, y)
        there = distributed.fit(KINDS[kind](**SHORT), X, client, y=y)
        assert there.n_iterations_ == here.n_iterations_ and there._fitted_to == here._fitted_to
        assert_array_equal(there.history_.drop("seconds").to_numpy(), here.history_.drop("seconds").to_numpy())
        files[kind] = model_files.dumps(here)
        assert model_files.dumps(there) == files[kind]
    killed = []

    def kill_one(event):
        if event.index == 0:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    assert model_files.dumps(distributed.fit(hc.HMF(**SHORT), X, client, [kill_one], y=y)) == files["HMF"] and killed
    with (
        dask.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **QUIET) as one,
        dask.Client(one, set_as_default=False) as near,
    ):
        assert model_files.dumps(distributed.fit(hc.HMF(**SHORT), X, near, y=y)) == files["HMF"]


@pytest.mark.slow
def test_entries_of_three_modes_and_labels_to_score_by_are_refused(client):
    X, y, *_ = ratings(modes=3)
    with pytest.raises(ParameterError, match="MatrixFactorization or HMF, not HTF: call its own fit"):
        distributed.fit(hc.HTF(**FEW), X, client, y=y)
    with pytest.raises(ParameterError, match="eval_y"):
        distributed.fit(hc.HMF(**FEW), X[:, :2], client, y=y, eval_y=y)
