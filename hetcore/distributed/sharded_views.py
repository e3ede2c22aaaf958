"""The executor of the default's fits whose tables are larger than a worker: each has records of ranges of instances.

    1  of each table: how it is encoded, learned by one worker, a few columns at a time
    2  the instances are cut into ranges; a shard of a table has its records in one range
    3  thresholds from the sample of records that one process takes, sent by whoever has them
    4  a round asks the shards of all views at once, question after question (`hetcore.distributed.view_shards`)

Views of neighbours' labels have no table: each is on one worker as a whole. A shard that is lost is made anew from its
records and the trees of the rounds before, and answers the questions of the present round again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper, sampled_rows
from hetcore.consensus.executor import SourceState
from hetcore.consensus.table_columns import WIDE, TableEncoding
from hetcore.consensus.table_views import TableFitter, TableView
from hetcore.consensus.view_learners import Advanced, ViewContent, ViewLearner, ViewState
from hetcore.distributed.executor import DaskExecutor
from hetcore.distributed.row_shards import Question, Questions, answered, ranges_of
from hetcore.distributed.sharded_executor import Numbered
from hetcore.distributed.view_shards import Called, ShardedView, TableShard, TableShardContent, WholeView
from hetcore.distributed.worker_actor import LearnerSource, Step
from hetcore.distributed.worker_pool import Worker
from hetcore.errors import ParameterError

__all__ = ["ShardedViewExecutor"]


class _Placed(NamedTuple):
    """The learners of a view, which one it is of each, and what asks them where there are several."""

    numbers: list[int]
    place: int
    view: ShardedView | None

    def questions(self, t: int, pull: NDArray[np.float64] | None) -> Questions:
        """Do round t; return what came of it, and what does the same again where its trees are known."""
        if self.view is not None:
            return (yield from self.view.rounds(t, pull))
        (done,) = yield ViewLearner.advance, [(t, pull)]
        return done, (ViewLearner.advance, (t, pull))


class ShardedViewExecutor(DaskExecutor):
    """The tables of a fit of the default on the workers of a client's cluster, by ranges of instances.

    Parameters
    ----------
    client : distributed.Client
        Connected, not asynchronous.
    shard_rows : int
        Most instances of a range, at least 1.
    """

    def __init__(self, client: Any, shard_rows: int) -> None:
        super().__init__(client)
        self._most, self._n_views = shard_rows, 0
        self._placed: dict[int, _Placed] = {}
        self._uncut: dict[str, list[tuple[ViewState, ViewContent]]] = {}
        self._history: list[Step] = []
        self._fresh: list[int] = []

    def add(self, state: SourceState | ViewState, kind: type, common: Any, content: Any) -> None:
        """Note a table, or a view; a table is cut before the first round of its views."""
        if kind is TableFitter:
            _check_width(state.name, content.n_columns > WIDE)
            if content.is_loaded:
                state.learner = TableFitter(state.rows, None, content)
            else:
                state.number = self._new(kind, state.rows, content)
            return
        state.number, self._n_views, self._n = self._n_views, self._n_views + 1, len(common)
        if isinstance(content.X, TableView):
            self._uncut.setdefault(content.X.name, []).append((state, content))
        else:
            self._placed[state.number] = _Placed([self._new(WholeView, state.rows, content)], 0, None)

    def _new(self, kind: type, rows: NDArray[np.int64], content: Any) -> int:
        self._sources.append(LearnerSource(kind, rows, content))
        return len(self._sources) - 1

    def encodings(self, tables: Sequence[SourceState]) -> list[TableEncoding]:
        """Return what the columns of each table need; of a table by path a worker reads them."""
        away = [table for table in tables if table.learner is None]
        found = {table.name: each for table, each in zip(away, self._all(TableFitter.fit, away))}
        for table in away:
            # who has read a table holds nothing of it: after a loss it is to get as many records as any other
            self._sources[table.number] = self._sources[table.number]._replace(content=None)
        found |= {table.name: table.learner.fit() for table in tables if table.learner is not None}
        for name, encoding in found.items():
            _check_width(name, encoding.wide)
        return [found[table.name] for table in tables]

    def advance(self, views: Sequence[ViewState], t: int, pulls: Sequence[NDArray] | None) -> list[Advanced]:
        """Take round t of each view."""
        self._cut()
        placed = [self._placed[view.number] for view in views]
        steps = [each.questions(t, pull) for each, pull in zip(placed, [None] * len(views) if pulls is None else pulls)]
        found = answered(steps, lambda asked: self._asked(placed, asked, notes=True))
        again: dict[int, list[Called]] = {}
        for each, (_, (method, args)) in zip(placed, found):
            for number in each.numbers:
                again.setdefault(number, []).append(Called(each.place, method.__name__, args))
        # a shard that is lost from now on needs the round's trees, and none of its questions
        self._remember(again)
        return [done for done, _ in found]

    def members(self, views: Sequence[ViewState]) -> list[NDArray[np.float64]]:
        """Return what each view's members say of its unlabelled rows."""
        return self._of_rows(ViewLearner.members, views)

    def pulled_members(self, views: Sequence[ViewState]) -> list[NDArray[np.float64]]:
        """Return what each view's members say of its pulled rows."""
        return self._of_rows(ViewLearner.pulled_members, views)

    def _of_rows(self, method: Any, views: Sequence[ViewState]) -> list[NDArray[np.float64]]:
        self._cut()
        placed = [self._placed[view.number] for view in views]
        questions = {i: (method, [()] * len(each.numbers)) for i, each in enumerate(placed)}
        answers = self._asked(placed, questions, notes=False)
        return [np.concatenate(answers[i], axis=1) for i in range(len(placed))]

    def keep_views(self, views: Sequence[ViewState]) -> list[dict[str, NDArray]]:
        """Return what predicts of each view."""
        placed = [self._placed[view.number] for view in views]
        whole = {i: (ViewLearner.keep, [()]) for i, each in enumerate(placed) if each.view is None}
        found = self._asked(placed, whole, notes=False)
        return [found[i][0] if each.view is None else each.view.keep() for i, each in enumerate(placed)]

    def _asked(
        self, placed: Sequence[_Placed], questions: Mapping[int, Question], *, notes: bool
    ) -> dict[int, list[Any]]:
        """Return what the learners of some views answer; questions are noted that one made anew has to be asked."""
        calls: dict[int, list[Called]] = {}
        for i, (method, args) in questions.items():
            for number, each in zip(placed[i].numbers, args):
                calls.setdefault(number, []).append(Called(placed[i].place, method.__name__, each))
        found = {number: iter(each) for number, each in self._called(calls).items()}
        if notes:
            self._rounds.append(_step(calls))
        return {i: [next(found[number]) for number in placed[i].numbers] for i in questions}

    def _called(self, calls: Mapping[int, list[Called]]) -> dict[int, list[Any]]:
        """Return what learners answer, by their numbers."""
        states = [Numbered(number) for number in calls]
        return dict(zip(calls, self._all(TableShard.do, states, (), [(each,) for each in calls.values()], moves=True)))

    def _remember(self, calls: Mapping[int, list[Called]]) -> None:
        """Note calls that a learner is made anew with, after those before."""
        self._history.append(_step(calls))
        self._rounds = [*self._history]

    def _cut(self) -> None:
        """Cut the tables of views that were not, and find their thresholds."""
        uncut, self._uncut = self._uncut, {}
        for given in uncut.values():
            self._cut_table(given)

    def _cut_table(self, given: Sequence[tuple[ViewState, ViewContent]]) -> None:
        """Cut one table for its views."""
        rows, X = given[0][0].rows, given[0][1].X
        bounds = np.searchsorted(rows, [0, *(stop for _, stop in ranges_of(self._n, 1, self._most))]).tolist()
        views = [ShardedView(rows, None, content, bounds) for _, content in given]
        spans, parts = list(zip(bounds, bounds[1:])), list(zip(*(view.parts() for view in views)))
        numbers = [
            self._new(TableShard, rows[a:b], TableShardContent(_part_of(X, a, b), list(some)))
            for (a, b), some in zip(spans, parts)
        ]
        self._fresh = numbers
        chosen = np.arange(rows.size)[sampled_rows(rows.size)]
        own = [(chosen[slice(*np.searchsorted(chosen, span))] - span[0],) for span in spans]
        sample = self._called(_to_tables(TableShard.sampled, numbers, own))
        mapper = BinMapper().fit(np.concatenate([each for (each,) in sample.values()]))
        binning = _to_tables(TableShard.bin, numbers, [(mapper,)] * len(numbers))
        ends = [each for (each,) in self._called(binning).values()]
        self._remember(binning)
        draws = [view.use(mapper, ends) for view in views]
        beginning = _to_tables(TableShard.begin, numbers, [(draws,)] * len(numbers))
        self._called(beginning)
        self._remember(beginning)
        for place, ((state, _), view) in enumerate(zip(given, views)):
            self._placed[state.number] = _Placed(numbers, place, view)

    def _dealt(self, numbers: Sequence[int]) -> Iterable[tuple[Worker, list[int]]]:
        """Deal the ranges of a table that was cut just now out in their order, and whatever else to who has least."""
        fresh, self._fresh = [number for number in numbers if number in self._fresh], []
        workers, dealt = self._workers.workers(), {}
        for worker, some in super()._dealt([number for number in numbers if number not in fresh]):
            dealt[worker.address] = worker, [*some]
        for place, number in enumerate(fresh):
            worker = workers[place * len(workers) // len(fresh)]
            dealt.setdefault(worker.address, (worker, []))[1].append(number)
        return dealt.values()


def _to_tables(method: Any, numbers: Sequence[int], args: Sequence[tuple]) -> dict[int, list[Called]]:
    """Return the calls of a method of a table's shards."""
    return {number: [Called(-1, method.__name__, each)] for number, each in zip(numbers, args)}


def _step(calls: Mapping[int, list[Called]]) -> Step:
    return Step(TableShard.do.__name__, (), {number: (each,) for number, each in calls.items()})


def _check_width(name: str, wide: bool) -> None:
    if wide:
        why = f"has more than {WIDE} columns, encoded, of which trees see components"
        raise ParameterError(f"Table {name!r} {why}, and these need the whole table: leave out shard_rows.")


def _part_of(X: TableView, first: int, stop: int) -> TableView:
    """Return some rows of a table's columns, which read no record but theirs."""
    if X.order is None:
        return TableView(X.source.part(np.arange(first, stop)), X.encoding, X.name, None, X.kind)
    records = np.sort(X.order[first:stop])
    order = np.searchsorted(records, X.order[first:stop])
    return TableView(X.source.part(records), X.encoding, X.name, order, X.kind)
