"""The executor of fits as printed whose tables are larger than a worker: each has the records of ranges of instances.

    1  the instances are cut into ranges of whole blocks; a worker has the records of all tables in its ranges
    2  of each table: thresholds from the sample of records that one process takes, sent by whoever has them
    3  a step asks all tables' shards at once, question after question (`hetcore.distributed.row_shards`)
    4  E of a range is added up where all its tables are, in the tree of `hetcore.consensus.printed.partial_sums`

So of E each worker gets and sends its ranges alone. A worker that is lost costs time: what it had is loaded by others,
which repeat the questions of the step in progress.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper, sampled_rows
from hetcore.consensus.executor import SourceState
from hetcore.consensus.printed.source_learners import MAX_BINS, Alone, Kept, PrintedTask, Stepped, TableContent
from hetcore.data import HetData
from hetcore.data.encoding import SourceEncoder
from hetcore.distributed.executor import DaskExecutor
from hetcore.distributed.row_shards import (
    Question,
    SampledContent,
    Shard,
    ShardContent,
    ShardedTable,
    ShardSample,
    answered,
    ranges_of,
)
from hetcore.distributed.worker_actor import LearnerSource, Step
from hetcore.distributed.worker_pool import Worker

__all__ = ["Numbered", "ShardedExecutor", "rows_that_fit"]

RECORD_BYTES = 100  # that a shard has of a record and score beside a byte a column: f, gradients, words, rows
SHARE = 0.5  # of a worker's memory, the other part is Python's and what is read


class Numbered(NamedTuple):
    """A shard by its number, as printed that of its range times the number of tables, and that of its table."""

    number: int


class ShardedExecutor(DaskExecutor):
    """The records of a fit's sources on the workers of a client's cluster, by ranges of instances.

    Parameters
    ----------
    client : distributed.Client
        Connected, not asynchronous.
    shard_rows : int
        Most instances of a range, at least 1, rounded up to blocks of 65,536.
    """

    def __init__(self, client: Any, shard_rows: int) -> None:
        super().__init__(client)
        self._most, self._ranges = shard_rows, []
        self._given: list[tuple[SourceState, TableContent]] = []
        self._tables: list[ShardedTable] = []

    def add(self, state: SourceState, kind: type, common: PrintedTask, content: TableContent) -> None:
        """Note a table, which is cut with the first step."""
        state.number = len(self._given)
        self._given.append((state, content))
        self._task = common

    def step(self, tables: Sequence[SourceState], shared: tuple, weights: Sequence[NDArray]) -> list[Stepped]:
        """Take a step of each table."""
        self._cut()
        consensus, graph_weights, left_out = shared
        asked = self._unless_cached(consensus)
        own = [asked[a:b] if isinstance(asked, np.ndarray) else asked for a, b in self._ranges]
        parts = [(each, left_out[a:b]) for each, (a, b) in zip(own, self._ranges)]
        steps = [
            self._tables[table.number].advance(parts, graph_weights, left_out, each)
            for table, each in zip(tables, weights)
        ]
        done = answered(steps, lambda asked: self._asked(tables, asked))
        # the trees are the model's from now on, and a shard that is lost is made again from them
        self._cached, self._rounds = None, []
        return done

    def _asked(self, tables: Sequence[SourceState], questions: Mapping[int, Question]) -> dict[int, list[Any]]:
        """Return what the shards of tables answer, by the tables' places."""
        states = [state for place in questions for state in self._shards(tables[place].number)]
        own = [(method.__name__, each) for method, args in questions.values() for each in args]
        answers = iter(self._all(Shard.do, states, (), own, moves=True))
        self._rounds.append(Step(Shard.do.__name__, (), {state.number: each for state, each in zip(states, own)}))
        return {place: [next(answers) for _ in args] for place, (_, args) in questions.items()}

    def weighted_sum(self, tables: Sequence[SourceState], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return sum_i w_i f_i (n, K), of each range from the workers that have it."""
        self._cut()
        p = len(self._tables)
        spans = [(p * s, p * (s + 1)) for s in range(len(self._ranges))]
        return np.concatenate(self._added_up(spans, {n: weights[n % p] for n in range(p * len(self._ranges))}))

    def alone(self, tables: Sequence[SourceState], consensus: NDArray[np.float64]) -> list[Alone]:
        """Return what each table says alone, beside E (n, K)."""
        self._cut()
        parts = [(consensus[a:b],) for a, b in self._ranges]
        states = [state for table in tables for state in self._shards(table.number)]
        found = self._alone_beside(Shard.alone_sums, states, consensus, parts * len(tables))
        own = [found[i : i + len(parts)] for i in range(0, len(found), len(parts))]
        return [self._tables[table.number].alone(np.concatenate(each)) for table, each in zip(tables, own)]

    def keep_tables(self, tables: Sequence[SourceState]) -> list[Kept]:
        """Return what predicts of each table, which is here."""
        self._cut()
        return [self._tables[table.number].kept for table in tables]

    def _shards(self, number: int) -> list[Numbered]:
        return [Numbered(len(self._given) * s + number) for s in range(len(self._ranges))]

    def _cut(self) -> None:
        """Cut the tables into shards and find their thresholds, if that was not done."""
        if self._tables:
            return
        task = self._task
        self._ranges = ranges_of(len(task.labelled), task.block, self._most)
        starts = np.array([a for a, _ in self._ranges])
        places = []
        for state, _ in self._given:
            of = np.searchsorted(starts, state.rows, side="right") - 1
            places.append([np.flatnonzero(of == s) for s in range(len(starts))])
        kept = self._learned(places)
        tasks = [_part_of(task, a, b) for a, b in self._ranges]
        self._sources, self._where = [], {}
        for s, (start, _) in enumerate(self._ranges):
            for (state, content), own, each in zip(self._given, places, kept):
                part = content.source.part(own[s])
                made = ShardContent(part, content.forests, each, tasks[s])
                self._sources.append(LearnerSource(Shard, state.rows[own[s]] - start, made))
        self._tables = [
            ShardedTable(state.rows, task, own, each) for (state, _), own, each in zip(self._given, places, kept)
        ]

    def _learned(self, places: Sequence[Sequence[NDArray[np.int64]]]) -> list[Kept]:
        """Return what each table's shards have in common: how it is encoded, and its bins."""
        chosen = [_marked(state.rows.size) for state, _ in self._given]
        for s in range(len(self._ranges)):
            for (state, content), own, some in zip(self._given, places, chosen):
                sample = SampledContent(content.source.part(own[s]), np.flatnonzero(some[own[s]]))
                self._sources.append(LearnerSource(ShardSample, state.rows[own[s]], sample))
        encoders = [self._encoder(number) for number in range(len(self._given))]
        kept = []
        for number, encoder in enumerate(encoders):
            states = self._shards(number)
            parts = self._all(ShardSample.sampled, states, (encoder,))
            kept.append(Kept(encoder, BinMapper(MAX_BINS).fit(np.concatenate(parts))))
        return kept

    def _encoder(self, number: int) -> SourceEncoder:
        source = self._given[number][1].source
        if source.is_loaded:
            return SourceEncoder().fit(source)
        # the process of the fit reads no table by path
        return self._all(ShardSample.encoder, [Numbered(number)], (source,))[0]

    def _dealt(self, numbers: Sequence[int]) -> Iterable[tuple[Worker, list[int]]]:
        """Deal whole ranges out to the workers; what a lost worker had goes to who has least."""
        if self._where:
            return super()._dealt(numbers)
        workers, p = self._workers.workers(), len(self._given)
        dealt: dict[int, list[int]] = {}
        for number in numbers:
            dealt.setdefault(number // p * len(workers) // len(self._ranges), []).append(number)
        return [(workers[place], some) for place, some in dealt.items()]


def rows_that_fit(client: Any, data: HetData, n_outputs: int) -> int | None:
    """Return of how many instances a worker holds the records of all tables; None if each table fits a worker."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [each["memory_limit"] for each in workers if each.get("memory_limit")]
    sizes = [source.n_rows * (source.n_columns + RECORD_BYTES * n_outputs) for source in data.sources.values()]
    if not limits or max(sizes) <= SHARE * min(limits):
        return None
    return max(1, min(-(-data.n // len(workers)), int(SHARE * min(limits) * data.n / sum(sizes))))


def _marked(m: int) -> NDArray[np.bool_]:
    """Return which of m records thresholds are found from."""
    marks = np.zeros(m, bool)
    marks[sampled_rows(m)] = True
    return marks


def _part_of(task: PrintedTask, start: int, stop: int) -> PrintedTask:
    """Return what shards of a range of instances need of the task."""
    rows = {name: getattr(task, name)[start:stop] for name in ("sign", "labelled", "truth", "validation")}
    return task._replace(**rows, links=[], edges=[])
