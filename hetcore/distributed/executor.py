"""The executor whose learners live on the workers of a Dask cluster: which has what, and what to do when one is lost.

    1  an actor on every worker; sources are dealt out, the largest first, to the worker that has least
    2  a step is sent to all actors at once, with the arguments that all sources share sent once a worker
    3  an actor that does not answer any more is lost: its sources are loaded on other workers, which repeat the rounds
       that those sources had done, and the step is sent to them again

What a learner returns is a function of its arguments, and nothing else is kept on a worker, so the answer has the same
bits whichever worker gives it, and however often. The model itself, scores and trees, stays with the fit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.consensus.executor import Executor, SourceState
from hetcore.consensus.source_learners import Grown, Kept, Slope, TableLearner
from hetcore.consensus.view_learners import Advanced, ViewLearner
from hetcore.consensus.view_state import ViewState
from hetcore.distributed.worker_actor import LearnerSource, Step, held_by, size_of
from hetcore.distributed.worker_pool import Call, Worker, WorkerLostError, WorkerPool
from hetcore.errors import ClusterError
from hetcore.trees import TreeParams

__all__ = ["DaskExecutor"]

State = SourceState | ViewState
MOST_TRIES = 4  # of one step, each after a loss

_log = logging.getLogger(__name__)


class DaskExecutor(Executor):
    """The learners of a fit's sources on the workers of a client's cluster.

    Parameters
    ----------
    client : distributed.Client
        Connected, not asynchronous.
    """

    concurrent = True

    def __init__(self, client: Any) -> None:
        self._workers = WorkerPool(client)
        self._sources: list[LearnerSource] = []
        self._labelled: NDArray[np.bool_] | None = None
        self._rounds: list[Step] = []
        self._where: dict[int, Worker] = {}
        self._bytes = dict.fromkeys(("sent", "received", "loaded"), 0)
        self._lost = 0

    def add(self, state: State, kind: type, labelled: NDArray[np.bool_], content: Any) -> None:
        """Note the content of a state's learner; it travels with the first step."""
        state.number = len(self._sources)
        self._sources.append(LearnerSource(kind, state.rows, content))
        self._labelled = labelled

    def grow_each(
        self, tables: Sequence[SourceState], limits: TreeParams, slopes: Sequence[list[Slope | None]]
    ) -> list[list[Grown | None]]:
        """Grow a tree for each output of each table."""
        return self._all(TableLearner.grow_each, tables, (limits,), [(each,) for each in slopes])

    def advance(self, views: Sequence[ViewState], t: int, pulls: Sequence[NDArray] | None) -> list[Advanced]:
        """Take round t of each view, and note it: where a view is loaded again, its rounds are repeated."""
        own = [()] * len(views) if pulls is None else [(pull,) for pull in pulls]
        done = self._all(ViewLearner.advance, views, (t,), own)
        self._rounds.append(Step(ViewLearner.advance.__name__, (t,), _by_number(views, own)))
        return done

    def members(self, views: Sequence[ViewState]) -> list[NDArray[np.float64]]:
        """Return what each view's members say of its unlabelled rows."""
        return self._all(ViewLearner.members, views)

    def pulled_members(self, views: Sequence[ViewState]) -> list[NDArray[np.float64]]:
        """Return what each view's members say of its pulled rows."""
        return self._all(ViewLearner.pulled_members, views)

    def keep_tables(self, tables: Sequence[SourceState]) -> list[Kept]:
        """Return what predicts of each table."""
        return self._all(TableLearner.keep, tables)

    def keep_views(self, views: Sequence[ViewState]) -> list[dict[str, NDArray]]:
        """Return what predicts of each view."""
        return self._all(ViewLearner.keep, views)

    def _all(
        self,
        method: Callable[..., Any],
        states: Sequence[State],
        shared: tuple = (),
        own: Sequence[tuple] | None = None,
    ) -> list[Any]:
        """Return what a method of each state's learner returns, given what all share and what is each one's own.

        Raises
        ------
        ClusterError
            If the scheduler or all workers are gone, or a worker fails or is lost again and again.
        """
        given = _by_number(states, [()] * len(states) if own is None else own)
        answers: dict[int, Any] = {}
        for _ in range(MOST_TRIES):
            self._place()
            missing = {number: mine for number, mine in given.items() if number not in answers}
            answers |= self._sent(Step(method.__name__, shared, missing))
            if len(answers) == len(given):
                return [answers[number] for number in given]
        raise _unable("in one step")

    def statistics(self) -> dict[str, Any]:
        """Return the bytes that travelled since the last call, the workers in use, and those lost since the start."""
        workers = len({worker.address for worker in self._where.values()})
        found = {"bytes": dict(self._bytes), "workers": workers, "workers_lost": self._lost}
        self._bytes = dict.fromkeys(self._bytes, 0)
        return found

    def close(self) -> None:
        """Let the workers forget the sources."""
        self._where = {}
        self._workers.close()

    def _sent(self, step: Step) -> dict[int, Any]:
        """Send a step to the workers that have its sources; return the answers of those that were not lost."""
        groups: dict[str, tuple[Worker, list[int]]] = {}
        for number in step.own:
            worker = self._where[number]
            groups.setdefault(worker.address, (worker, []))[1].append(number)
        calls = []
        for worker, numbers in groups.values():
            mine = _of(step, numbers)
            self._bytes["sent"] += size_of((mine.shared, mine.own))
            calls.append(self._workers.call(worker, "run", mine))
        answers: dict[int, Any] = {}
        for call in calls:
            answers |= self._answer(call) or {}
        self._bytes["received"] += size_of(answers)
        return answers

    def _answer(self, call: Call) -> Any:
        """Return what an actor answers; None if it is lost, and its sources with it."""
        try:
            return self._workers.answer(call)
        except WorkerLostError:
            gone = [number for number, worker in self._where.items() if worker is call.worker]
            _log.warning("The Dask worker at %s is gone: %d sources move.", call.worker.address, len(gone))
            self._lost += 1
            for number in gone:
                del self._where[number]
            return None

    def _place(self) -> None:
        """Load the sources that are on no worker."""
        for _ in range(MOST_TRIES):
            unplaced = [number for number in range(len(self._sources)) if number not in self._where]
            if not unplaced:
                return
            calls = [(numbers, self._load(worker, numbers)) for worker, numbers in self._dealt(unplaced)]
            for numbers, call in calls:
                self._where |= dict.fromkeys(numbers, call.worker)
                self._answer(call)
        raise _unable("while they loaded")

    def _load(self, worker: Worker, numbers: Iterable[int]) -> Call:
        sources = {number: self._sources[number] for number in numbers}
        steps = [_of(step, sources) for step in self._rounds]
        self._bytes["loaded"] += size_of((list(sources.values()), steps, self._labelled))
        return self._workers.call(worker, "take", sources, self._labelled, steps)

    def _dealt(self, numbers: Sequence[int]) -> Iterable[tuple[Worker, list[int]]]:
        """Deal sources out to the workers: the largest first, each to the one that has least."""
        workers = self._workers.workers()
        for worker in workers:
            worker.held = sum(held_by(self._sources[n]) for n, where in self._where.items() if where is worker)
        dealt: dict[str, tuple[Worker, list[int]]] = {}
        for number in sorted(numbers, key=lambda n: -held_by(self._sources[n])):
            worker = min(workers, key=lambda each: each.held)
            worker.held += held_by(self._sources[number])
            dealt.setdefault(worker.address, (worker, []))[1].append(number)
        return dealt.values()


def _by_number(states: Sequence[State], own: Sequence[tuple]) -> dict[int, tuple]:
    return {state.number: mine for state, mine in zip(states, own)}


def _unable(when: str) -> ClusterError:
    causes = "they may lack memory, or not be reachable from here"
    return ClusterError(f"Dask workers were lost {MOST_TRIES} times {when}: see their logs, {causes}.")


def _of(step: Step, numbers: Iterable[int]) -> Step:
    """Return the part of a step that these sources took."""
    return step._replace(own={number: step.own[number] for number in numbers if number in step.own})
