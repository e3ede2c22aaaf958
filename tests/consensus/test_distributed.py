"""Fits on a Dask cluster: the same bits, whoever is lost on the way, and few bytes."""

from __future__ import annotations

import os
import signal
import time
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import hetcore as hc
from hetcore import model_files
from hetcore.errors import ClusterError, DataError, ParameterError
from hetcore.tuning import cross_validate
from tests.clusters import PATIENCE, QUIET
from tests.consensus.test_consensus import TASKS, model, planted

dask = pytest.importorskip("distributed", reason="Dask is not installed: pip install -r requirements-dask.txt")
from hetcore import distributed  # noqa: E402 - after the skip
from hetcore.base import boost  # noqa: E402
from hetcore.distributed import executor as dask_executor  # noqa: E402
from hetcore.distributed import worker_actor, worker_pool  # noqa: E402


@pytest.fixture
def threads():
    """A cluster and its client in this process, quick to come and go."""
    with (
        dask.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **QUIET) as made,
        dask.Client(made, set_as_default=False) as client,
    ):
        yield made, client


def both(client, data, task, printed=False, **params):
    """Return a fit here and one on the cluster, alike but for where they are."""
    here, there = (model(task, printed, random_state=0, schedule="parallel", **params) for _ in range(2))
    return here.fit(data), distributed.fit(there, data, client)


def same(one, other):
    """Whether two models have the same file, and told the same of every round."""
    columns = [name for name in one.history_.columns if name != "seconds"]
    rows = [fitted.history_[columns].to_numpy() for fitted in (one, other)]
    return model_files.dumps(one) == model_files.dumps(other) and np.array_equal(*rows, equal_nan=True)


# ---- the same numbers ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"base_learner": "tree", "n_repeats": 2},
        {"base_learner": "kernel", "join_tables": False},
        {"subsample": 1.0, "pull": "all", "weights": "learned", "max_depth": -1, "lambda0": 0.0},
        {"printed": True, "lambda0": 0.1, "lambda1": 0.1},
    ],
    ids=["default", "trees, twice", "kernel", "others", "printed"],
)
def test_a_fit_on_the_cluster_has_the_bits_of_the_local_one(client, task, params):
    data, _ = planted(task)
    here, there = both(client, data, task, **params)
    assert same(here, there)
    assert there.schedule == "parallel" and there.n_iterations_ == here.n_iterations_


@pytest.mark.slow
def test_a_model_of_another_schedule_gets_the_parallel_one(client):
    data, _ = planted("regression")
    in_turn = hc.GBCRegressor(n_iterations=7, random_state=0, as_printed=True, lambda0=0.3)
    there = distributed.fit(in_turn, data, client)
    assert there is in_turn and there.get_params()["schedule"] == "parallel"
    here = hc.GBCRegressor(n_iterations=7, random_state=0, as_printed=True, lambda0=0.3)
    assert np.abs(there.predict(data) - here.fit(data).predict(data)).max() > 1e-6
    assert_array_equal(there.predict(data), here.set_params(schedule="parallel").fit(data).predict(data))


def test_labels_and_held_out_labels_may_be_given(threads):
    data, truth = planted("classification")
    y = np.where(data.mask[0], data.y, None)
    here = model("classification", random_state=0, schedule="parallel").fit(data, y, eval_y=truth)
    there = distributed.fit(model("classification", random_state=0), data, threads[1], y=y, eval_y=truth)
    assert same(here, there) and "loss:held_out" in there.history_.columns and there._fitted_to == here._fitted_to


def test_a_source_without_a_label_and_a_graph_without_a_link(threads):
    data, _ = planted("regression", n_graphs=1)
    lonely = hc.Source(["new 1", "new 2"], np.eye(2))
    more = hc.HetData(data.sources | {"lonely": lonely}, data.graphs, (data.ids, data.y))
    here, there = both(threads[1], more, "regression")
    assert same(here, there)


# ---- callbacks -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_each_round_is_reported_and_a_callback_stops_the_fit(client):
    data, _ = planted("regression")
    events = []
    there = distributed.fit(
        model("regression"), data, client, [lambda event: events.append(event), lambda event: event.index == 2]
    )
    assert [event.index for event in events] == [0, 1, 2] and there.n_iterations_ == 3
    assert {type(event) for event in events} == {hc.RoundEnd}
    assert events[-1].detail["workers"] == 2 and events[-1].detail["workers_lost"] == 0
    assert set(there.predict(data).tolist())


@pytest.mark.slow
def test_views_travel_once_and_their_scores_come_back(client):
    data, _ = planted("regression", n=300)
    there = distributed.fit(model("regression", n_iterations=8, lambda0=0.0, lambda1=0.0), data, client)
    history = there.history_
    sent, received, loaded = (history[f"bytes:{name}"].to_numpy() for name in ("sent", "received", "loaded"))
    assert loaded[0] > 0 and not loaded[1:].any() and not sent.any()
    views, known = len(there.view_weights_), int(data.labelled.sum())
    assert (
        0 < received[1:].max() <= received[0] <= 8 * views * (data.n + known)
    )  # a view's new scores, where it is better


def _actors(dask_worker):
    return len(dask_worker.state.actors)


@pytest.mark.slow
def test_workers_forget_the_sources_of_a_fit_that_ended_or_failed(client):
    data, _ = planted("regression")

    def fail(event):
        assert sum(client.run(_actors).values()) == 2
        raise ZeroDivisionError

    distributed.fit(model("regression", n_iterations=2), data, client)
    with pytest.raises(ZeroDivisionError):
        distributed.fit(model("regression", n_iterations=2), data, client, [fail])
    deadline = time.monotonic() + PATIENCE
    while any(client.run(_actors).values()):
        assert time.monotonic() < deadline


def _fresh_pages(dask_worker):
    resource = pytest.importorskip("resource", reason="not on this system")
    worker_actor.WorkerActor()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        np.ones(1 << 18)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.slow
def test_a_workers_arrays_are_not_in_fresh_pages_each(client):
    # 512 of 4 KiB for each of a hundred arrays of 2 MiB
    assert max(client.run(_fresh_pages).values()) < 10_000


# ---- losses ----------------------------------------------------------------------------------------------------------


class TwoWorkers:
    """Stands in for the workers of a cluster: two actors in this process, lost when a rule says so."""

    names = "ab"

    def __init__(self, loses):
        self.loses, self.found = loses, {}

    def workers(self):
        return [self.found.setdefault(n, worker_pool.Worker(n, None, worker_actor.WorkerActor())) for n in self.names]

    def call(self, worker, method, *args):
        return worker_pool.Call(worker, (method, args))

    def answer(self, call):
        method, args = call.future
        if self.loses(args[0].method if method == "run" else method):
            self.found.pop(call.worker.address)
            raise worker_pool.WorkerLostError
        return getattr(call.worker.actor, method)(*args)

    def close(self):
        self.found = None


def fit_on(stand_in, made, data):
    """Fit with actors that stand in for a cluster's."""
    executor = dask_executor.DaskExecutor(SimpleNamespace(scheduler=SimpleNamespace(address="")))
    executor._workers = stand_in
    problem = made._problem(data, None, None)
    boost(made, lambda: made._start(problem, executor))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("what", ["take", "advance", "members", "keep"])
def test_an_actor_lost_at_any_step_is_survived(what):
    data, _ = planted("classification")
    seen = []

    def second_time(asked):
        seen.extend([asked] * (asked == what))
        return asked == what and len(seen) == 2

    here, there = (model("classification", random_state=0, schedule="parallel") for _ in range(2))
    fit_on(TwoWorkers(second_time), there, data)
    assert len(seen) > 2 and same(here.fit(data), there)
    assert there.history_["bytes:loaded"].sum() > 0


def test_what_is_lost_as_printed_is_loaded_again():
    data, _ = planted("regression")
    asked = []
    here, there = (model("regression", True, lambda0=0.1, schedule="parallel") for _ in range(2))
    fit_on(TwoWorkers(lambda what: asked.append(what) or len(asked) % 7 == 0), there, data)
    assert same(here.fit(data), there)


@pytest.mark.parametrize("what, words", [("advance", "4 times in one step"), ("take", "4 times while they loaded")])
def test_workers_that_are_always_lost_end_the_fit(what, words):
    data, _ = planted("regression")
    with pytest.raises(ClusterError, match=words):
        fit_on(TwoWorkers(lambda asked: asked == what), model("regression", schedule="parallel"), data)


# ---- what can't go on ------------------------------------------------------------------------------------------------


def test_arrays_may_pass_through_the_scheduler(threads):
    data, _ = planted("regression")
    here, there = both(threads[1], data, "regression")
    assert same(here, there)


def test_a_scheduler_that_goes_ends_the_fit_in_one_sentence(threads):
    cluster, client = threads
    data, _ = planted("regression")
    with pytest.raises(ClusterError, match="The Dask scheduler at inproc.* is gone"):
        distributed.fit(
            model("regression"), data, client, [lambda event: cluster.close() if event.index == 1 else None]
        )


def test_without_workers_there_is_no_fit(threads, monkeypatch):
    cluster, client = threads
    data, _ = planted("regression")
    monkeypatch.setattr(worker_pool, "WAIT_SECONDS", 0.2)
    monkeypatch.setattr(worker_pool, "POLL_SECONDS", 0.05)
    client.retire_workers()
    with pytest.raises(ClusterError, match="has no worker"):
        distributed.fit(model("regression"), data, client)


def test_what_a_worker_can_not_do_is_reported_in_one_sentence(threads, monkeypatch):
    data, _ = planted("regression")

    failures = []
    monkeypatch.setattr(worker_actor.WorkerActor, "run", lambda *args: (_ for _ in ()).throw(failures[-1]))
    for failure, kind, words in (
        (MemoryError(), ClusterError, "has too little memory"),
        (ModuleNotFoundError("No module named 'x'", name="x"), ClusterError, "lacks x: install"),
        (ZeroDivisionError("by zero"), ClusterError, r"failed \(ZeroDivisionError: by zero\)"),
        (DataError("our words"), DataError, "^our words$"),
    ):
        failures.append(failure)
        with pytest.raises(kind, match=words):
            distributed.fit(model("regression"), data, threads[1])


def test_what_a_cluster_does_not_fit_is_refused(threads):
    data, _ = planted("regression")
    with pytest.raises(ParameterError, match="MatrixFactorization or HMF, not GBRegressor"):
        distributed.fit(hc.GBRegressor(), data, threads[1])
    with pytest.raises(ParameterError, match="n_iterations=0 must be"):
        distributed.fit(hc.GBCRegressor(n_iterations=0), data, threads[1])
    with pytest.raises(DataError, match="fit takes a HetData"):
        distributed.fit(hc.GBCRegressor(), None, threads[1])
    threads[1].close()
    with pytest.raises(ParameterError, match="must be a connected"):
        distributed.fit(hc.GBCRegressor(), data, threads[1])


def test_callbacks_know_how_a_fit_ended(threads):
    data, _ = planted("regression")
    ends = []

    class Watch:
        fails = True

        def __call__(self, event):
            return 1 / (not self.fails) > 0

        def fit_ended(self, model, error):
            ends.append((model, type(error)))

    watch, model = Watch(), hc.GBCRegressor(n_iterations=2, schedule="sequential")
    with pytest.raises(ZeroDivisionError):
        distributed.fit(model, data, threads[1], callbacks=[watch])
    assert vars(model) == model.get_params(deep=False) and model.schedule == "sequential"
    watch.fails = False
    distributed.fit(model, data, threads[1], callbacks=[watch])
    assert ends == [(None, ZeroDivisionError), (model, type(None))]
    for given in ([3], watch):
        with pytest.raises(ParameterError, match="^callbacks"):
            distributed.fit(model, data, threads[1], callbacks=given)


def test_a_loop_of_dask_that_does_not_start_is_nobody_there(monkeypatch):
    def unstarted(*_, **__):
        raise AssertionError  # what Dask says after ten seconds without its thread

    monkeypatch.setattr(dask, "Client", unstarted)
    with pytest.raises(ClusterError, match="No Dask scheduler answers at tcp://127.0.0.1:1: start one"):
        distributed.connect("tcp://127.0.0.1:1", 0.2)


@pytest.mark.parametrize("address", [None, ""])
def test_no_address_is_refused_and_starts_no_cluster(address, monkeypatch):
    monkeypatch.setattr(dask, "Client", None)
    with pytest.raises(ParameterError, match=r"^address=(None|'') names no Dask scheduler: give its own"):
        distributed.connect(address, 0.2)


@pytest.mark.parametrize("timeout", ["a", None, 0, -1.0, float("nan"), True])
def test_no_seconds_to_wait_are_refused(timeout):
    with pytest.raises(ParameterError, match="must be a finite number above 0: give seconds"):
        distributed.connect("tcp://127.0.0.1:1", timeout)


# ---- many fits -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_tuning_on_the_cluster_finds_the_same(client):
    data, _ = planted("regression")
    grid = {"lambda0": [0.0, 0.3], "max_depth": [2, 3]}
    how = {"n_iterations": 4, "random_state": 0, "n_repeats": 1}
    here = cross_validate(model("regression", **how), data, grid, n_folds=3)
    asked = []
    with joblib.parallel_config("dask", client=client):
        there = cross_validate(
            model("regression", **how), data, grid, n_folds=3, n_jobs=-1,
            progress=lambda done, total: asked.append((done, total)),
        )  # fmt: skip
    assert_array_equal(there.scores, here.scores)
    assert there.best_params == here.best_params and asked[-1] == (12, 12)


# ---- workers that die: last, for those that take their place load everything again -----------------------------------


@pytest.mark.slow
def test_a_worker_killed_between_rounds_is_survived(client):
    data, _ = planted("classification")
    lost = []

    def kill(event):
        lost.append(event.detail["workers_lost"])
        if event.index == 1:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    here = model("classification", random_state=0, schedule="parallel").fit(data)
    there = distributed.fit(model("classification", random_state=0), data, client, [kill])
    assert lost == [0, 0, 1, 1, 1, 1, 1] and there.history_["bytes:loaded"][2] > 0
    assert same(here, there)


def _die_in(what, times):
    """Make this worker process end in the middle of a step, the so many-th time that it is asked."""
    run, left = worker_actor.WorkerActor.run, [times]

    def dying(self, step):
        answer = run(self, step)
        left[0] -= step.method == what
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    worker_actor.WorkerActor.run = dying


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_a_step_is_survived(client):
    data, _ = planted("regression")
    worker = sorted(client.nthreads())[0]
    client.run(_die_in, "advance", 2, workers=[worker])
    here = model("regression", random_state=0, schedule="parallel").fit(data)
    there = distributed.fit(model("regression", random_state=0), data, client)
    assert same(here, there) and worker not in client.nthreads()
