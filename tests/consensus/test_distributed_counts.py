"""Fits on 1, 2 and more workers: one model file, and sums that workers have added up where they can."""

from __future__ import annotations

import numpy as np
import pytest

from hetcore import model_files
from tests.consensus.test_consensus import TASKS, model, planted

pytest.importorskip("distributed", reason="Dask is not installed: pip install -r requirements-dask.txt")
from hetcore import distributed  # noqa: E402 - after the skip
from hetcore.distributed import executor as dask_executor  # noqa: E402
from hetcore.distributed import worker_pool  # noqa: E402
from tests.consensus.test_distributed import TwoWorkers, fit_on, same  # noqa: E402

PRINTED = {"printed": True, "lambda0": 0.3, "lambda1": 0.2, "n_iterations": 4}


class Workers(TwoWorkers):
    """Actors in this process, by their names, that remember what was asked and of how many subtrees the sum."""

    def __init__(self, names, loses=lambda asked: False):
        super().__init__(loses)
        self.names, self.asked, self.spans = names, [], []

    def call(self, worker, method, *args):
        self.asked.append(args[0].method if method == "run" else method)
        self.spans += [len(args[0])] * (method == "add_up")
        return super().call(worker, method, *args)


def made(task="regression", printed=False, **params):
    return model(task, printed, random_state=0, schedule="parallel", **params)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("names", ["a", "ab", "abcd"])
def test_actors_in_one_process_have_the_bits_of_none(task, names):
    data, _ = planted(task, n_sources=4)
    here, there = made(task, **PRINTED), made(task, **PRINTED)
    workers = Workers(names)
    fit_on(workers, there, data)
    assert same(here.fit(data), there)
    first, second, *_ = there.history_["bytes:sent"].to_list()
    # E travels once a round; in the first one also that of before the fit, the sum for which each table has a weight
    p, K = there.model_.weights.shape
    assert first - second == len(names) * 8 * data.n * K + 8 * p * K
    # neighbours lie together: nobody sends a sum for each of its sources
    held = -(-len(data.sources) // len(names))
    assert held == 2 or max(workers.spans) < held


@pytest.mark.parametrize("nth", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("what", ["step", "add_up", "alone_beside", "keep"])
def test_a_loss_at_any_step_as_printed_is_survived(what, nth):
    data, _ = planted("regression", n=40)
    params = PRINTED | {"n_iterations": 3}
    here, there = made(**params), made(**params)
    workers = Workers("abc")
    workers.loses = lambda asked: asked == what and workers.asked.count(what) == nth
    fit_on(workers, there, data)
    assert same(here.fit(data), there)


class FirstAnswersThenGoes(Workers):
    """Of the second round one worker goes before it answers, and another as soon as it has answered."""

    def __init__(self, step):
        super().__init__("abc")
        self.step, self.answered, self.gone = step, 0, 0

    def answer(self, call):
        method, args = call.future
        if method == "run" and args[0].method == self.step:
            self.answered += 1
            if self.answered in (3 + 1, 3 + 3 + 1):
                # the first to be asked in the round, and the first that is asked again for what that one held
                self.found.pop(call.worker.address)
                # nobody takes its place: others that have answered get its sources
                self.names, self.gone = self.names.replace(call.worker.address, ""), self.gone + 1
                raise worker_pool.WorkerLostError
        return getattr(call.worker.actor, method)(*args)


@pytest.mark.parametrize("printed, step", [(True, "step"), (False, "advance")])
def test_who_has_answered_and_is_lost_before_the_others_repeats_the_step(printed, step):
    data, _ = planted("regression", n=40)
    params = PRINTED if printed else {"n_iterations": 3, "lambda0": 0.0}
    params = params | {"printed": printed}
    here, there = made(**params), made(**params)
    workers = FirstAnswersThenGoes(step)
    fit_on(workers, there, data)
    assert workers.gone == 2 and same(here.fit(data), there)


def test_sources_of_different_sizes_lie_in_order():
    sizes = [100, 1, 1, 1, 97, 50, 50]
    executor = dask_executor.DaskExecutor.__new__(dask_executor.DaskExecutor)
    executor._sources = [dask_executor.LearnerSource(int, np.empty(0, np.int64), np.zeros(n)) for n in sizes]
    workers = [worker_pool.Worker(name, None) for name in "abc"]
    dealt = {worker.address: numbers for worker, numbers in executor._dealt_in_order(workers, range(7))}
    assert dealt == {"a": [0], "b": [1, 2, 3, 4], "c": [5, 6]}


@pytest.mark.slow
def test_one_and_two_processes_have_one_model_file(client, monkeypatch):
    data, _ = planted("classification", n=60, n_sources=4)
    kinds, used = {"printed": PRINTED, "default": {"n_iterations": 2}}, set()
    files = {kind: {model_files.dumps(made("classification", **params).fit(data))} for kind, params in kinds.items()}
    every, count = worker_pool.WorkerPool._addresses, 2
    # of one cluster the first, for a process takes seconds to start
    monkeypatch.setattr(worker_pool.WorkerPool, "_addresses", lambda pool: every(pool)[:count])
    for count in (2, 1):
        for kind, params in kinds.items():
            used.clear()
            there = made("classification", **params)
            distributed.fit(there, data, client, [lambda event: used.add(event.detail["workers"])])
            assert used == {count}
            files[kind].add(model_files.dumps(there))
    assert {kind: len(found) for kind, found in files.items()} == dict.fromkeys(kinds, 1)
