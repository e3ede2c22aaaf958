"""The executor whose learners live on the workers of a Dask cluster: which has what, and what to do when one is lost.

    1  an actor on every worker; sources are dealt out, the largest first, to the worker that has least
    2  a step is sent to all actors at once, with the arguments that all sources share sent once a worker
    3  an actor that does not answer any more is lost: its sources are loaded on other workers, which repeat the rounds
       that those sources had done, and the step is sent to them again

What a learner returns follows from its arguments and its own steps before, so the answer has the same bits whichever
worker gives it. A view's rounds are kept here and repeated where it is loaded again; a table's learner is made again
from its trees, which are the model's. Sums over tables have one order (`hetcore.consensus.printed.partial_sums`): a
worker adds up the subtrees that it has, and tables go to workers in their order, so that these are large.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.consensus.executor import Executor, SourceState
from hetcore.consensus.printed.partial_sums import PartialSums, Span, spans_of
from hetcore.consensus.printed.source_learners import Alone, Cached, Kept, Stepped, TableLearner
from hetcore.consensus.table_columns import TableEncoding
from hetcore.consensus.table_views import TableFitter
from hetcore.consensus.view_learners import Advanced, ViewLearner, ViewState
from hetcore.distributed.worker_actor import LearnerSource, Step, held_by, size_of
from hetcore.distributed.worker_pool import Call, Worker, WorkerLostError, WorkerPool
from hetcore.errors import ClusterError

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
        self._common: Any = None
        self._cached: NDArray | None = None  # E that all tables have cached
        self._rounds: list[Step] = []
        self._taken = Step("", (), {})  # by some of the sources, and the others are on their way
        self._where: dict[int, Worker] = {}
        self._bytes = dict.fromkeys(("sent", "received", "loaded"), 0)
        self._lost = 0

    def add(self, state: State, kind: type, common: Any, content: Any) -> None:
        """Note the content of a state's learner; it travels with the first step."""
        state.number = len(self._sources)
        self._sources.append(LearnerSource(kind, state.rows, content))
        self._common = common

    def step(self, tables: Sequence[SourceState], shared: tuple, weights: Sequence[NDArray]) -> list[Stepped]:
        """Take a step of each table; where one is loaded again, it is made from its trees."""
        shared = self._unless_cached(shared[0]), *shared[1:]
        done = self._all(TableLearner.step, tables, shared, [(each,) for each in weights], moves=True)
        self._cached, self._rounds = None, []
        return done

    def weighted_sum(self, tables: Sequence[SourceState], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return sum_i w_i f_i (n, K): each worker adds up the subtrees that it has."""
        first, stop = tables[0].number, tables[-1].number + 1
        return self._added_up([(first, stop)], {n: weights[n - first] for n in range(first, stop)})[0]

    def _added_up(self, sums_of: Sequence[Span], weights: Mapping[int, NDArray]) -> list[NDArray[np.float64]]:
        """Return sum w f of the learners of each span, of which each worker adds up the subtrees that it has."""
        sums = {span: PartialSums(span) for span in sums_of}
        for _ in range(MOST_TRIES):
            self._place()
            calls = []
            for worker, numbers in self._groups(number for each in sums.values() for number in each.missing):
                spans, own = [span for each in sums for span in spans_of(set(numbers), each)], _some(weights, numbers)
                self._bytes["sent"] += size_of(own)
                calls.append(self._workers.call(worker, "add_up", spans, own))
            for call in calls:
                for span, part in (self._answer(call) or {}).items():
                    self._bytes["received"] += size_of(part)
                    next(each for whole, each in sums.items() if whole[0] <= span[0] < whole[1]).add(span, part)
            if not any(each.missing for each in sums.values()):
                return [each.total for each in sums.values()]
        raise _unable("in one step")

    def alone(self, tables: Sequence[SourceState], consensus: NDArray[np.float64]) -> list[Alone]:
        """Return what each table says alone, beside E (n, K)."""
        return self._alone_beside(TableLearner.alone_beside, tables, consensus, [(consensus,)] * len(tables))

    def _alone_beside(
        self, method: Callable[..., Any], states: Sequence[State], consensus: NDArray, own: Sequence[tuple]
    ) -> list[Any]:
        """Return what learners say beside each one's part of E, which they cache for the next step."""
        found = self._all(method, states, (), own)
        # one that is loaded again is told again
        self._cached, self._rounds = consensus, [Step(method.__name__, (), _by_number(states, own))]
        return found

    def _unless_cached(self, consensus: NDArray | None) -> NDArray | Cached | None:
        """Return E, or in its place that tables have it cached."""
        return Cached() if consensus is not None and consensus is self._cached else consensus

    def encodings(self, tables: Sequence[SourceState]) -> list[TableEncoding]:
        """Return what the columns of each table need, which its worker learns."""
        return self._all(TableFitter.fit, tables)

    def advance(self, views: Sequence[ViewState], t: int, pulls: Sequence[NDArray] | None) -> list[Advanced]:
        """Take round t of each view, and note it: where a view is loaded again, its rounds are repeated."""
        own = [()] * len(views) if pulls is None else [(pull,) for pull in pulls]
        done = self._all(ViewLearner.advance, views, (t,), own, moves=True)
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
        *,
        moves: bool = False,
    ) -> list[Any]:
        """Return what a method of each state's learner returns, given what all share and what is each one's own.

        One that `moves` learners is repeated by those that have answered and are lost while others still do.

        Raises
        ------
        ClusterError
            If the scheduler or all workers are gone, or a worker fails or is lost again and again.
        """
        given = _by_number(states, [()] * len(states) if own is None else own)
        answers: dict[int, Any] = {}
        try:
            for _ in range(MOST_TRIES):
                self._place()
                missing = {number: mine for number, mine in given.items() if number not in answers}
                answers |= self._sent(Step(method.__name__, shared, missing))
                if len(answers) == len(given):
                    return [answers[number] for number in given]
                done = {number: given[number] for number in answers} if moves else {}
                self._taken = Step(method.__name__, shared, done)
            raise _unable("in one step")
        finally:
            self._taken = Step("", (), {})

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
        calls = []
        for worker, numbers in self._groups(step.own):
            mine = _of(step, numbers)
            self._bytes["sent"] += size_of((mine.shared, mine.own))
            calls.append(self._workers.call(worker, "run", mine))
        answers: dict[int, Any] = {}
        for call in calls:
            answers |= self._answer(call) or {}
        self._bytes["received"] += size_of(answers)
        return answers

    def _groups(self, numbers: Iterable[int]) -> Iterable[tuple[Worker, list[int]]]:
        """Return the workers that have some sources, and which of them each has."""
        groups: dict[str, tuple[Worker, list[int]]] = {}
        for number in numbers:
            worker = self._where[number]
            groups.setdefault(worker.address, (worker, []))[1].append(number)
        return groups.values()

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
        steps = [_of(step, sources) for step in (*self._rounds, self._taken)]
        self._bytes["loaded"] += size_of((list(sources.values()), steps, self._common))
        return self._workers.call(worker, "take", sources, self._common, [step for step in steps if step.own])

    def _dealt(self, numbers: Sequence[int]) -> Iterable[tuple[Worker, list[int]]]:
        """Deal sources out to the workers: in order where they are summed, else the largest first to who has least."""
        workers = self._workers.workers()
        # those of a worker that was lost go to whoever has least, so that no other source moves
        if not self._where and all(getattr(self._sources[n].kind, "summed", False) for n in numbers):
            return self._dealt_in_order(workers, numbers)
        for worker in workers:
            worker.held = sum(held_by(self._sources[n]) for n, where in self._where.items() if where is worker)
        dealt: dict[str, tuple[Worker, list[int]]] = {}
        for number in sorted(numbers, key=lambda n: -held_by(self._sources[n])):
            worker = min(workers, key=lambda each: each.held)
            worker.held += held_by(self._sources[number])
            dealt.setdefault(worker.address, (worker, []))[1].append(number)
        return dealt.values()

    def _dealt_in_order(self, workers: list[Worker], numbers: Sequence[int]) -> Iterable[tuple[Worker, list[int]]]:
        """Deal sources out so that each worker has neighbours, of about as many bytes as any other."""
        sizes = np.array([max(1, held_by(self._sources[number])) for number in numbers], np.float64)
        middles = np.cumsum(sizes) - sizes / 2.0
        dealt: dict[int, list[int]] = {}
        for number, place in zip(numbers, (middles / sizes.sum() * len(workers)).astype(int).tolist()):
            dealt.setdefault(place, []).append(number)
        return [(workers[place], some) for place, some in dealt.items()]


def _by_number(states: Sequence[State], own: Sequence[tuple]) -> dict[int, tuple]:
    return {state.number: mine for state, mine in zip(states, own)}


def _unable(when: str) -> ClusterError:
    causes = "they may lack memory, or not be reachable from here"
    return ClusterError(f"Dask workers were lost {MOST_TRIES} times {when}: see their logs, {causes}.")


def _some(given: Mapping[int, Any], numbers: Iterable[int]) -> dict[int, Any]:
    return {number: given[number] for number in numbers}


def _of(step: Step, numbers: Iterable[int]) -> Step:
    """Return the part of a step that these sources took."""
    return step._replace(own={number: step.own[number] for number in numbers if number in step.own})
