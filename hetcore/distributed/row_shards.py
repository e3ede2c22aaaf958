"""A table of a fit as printed whose records lie on several workers: lines 5 to 8 of Algorithm 1 by sums alone.

A shard has the records of a range of instances, their bins, their f_i and their part of E. What travels:

| for | to each shard | from each shard |
|---|---|---|
| thresholds, once | which of its records are in the sample | their encoded values, 4 bytes a cell |
| line 5 | who is left out; of the first round the part of E | the largest z; the sum of sizes of z; how many |
| line 6 | each level's splits | histograms of the smaller children, 8 bytes a filled bin; sums by leaf |
| line 7 | a step | two sums a block of instances |
| (4.10) | | sums a block |
| what tables say alone | the part of E, for the next line 5 too | four sums a block |
| graphs, if there are some | E~_i | f_i |

Each sum over records is of blocks of instances, of which a shard has whole ones, so that it has the bits that it has in
one process (`hetcore.consensus.printed.partial_sums`). `advance` is the same box as `TableLearner.step`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.consensus.printed.line_search import Along, search
from hetcore.consensus.printed.partial_sums import tree_sum
from hetcore.consensus.printed.source_learners import (
    SMALLEST,
    Cached,
    Kept,
    PrintedTask,
    Stepped,
    TableRecords,
    with_leaf_means,
)
from hetcore.data import Source
from hetcore.data.encoding import SourceEncoder
from hetcore.distributed.histogram_trees import (
    Columns,
    Histograms,
    PartRows,
    Split,
    added_up,
    grow_from_histograms,
    layout_for,
)
from hetcore.forest import Forest
from hetcore.growing import Pool
from hetcore.kernels.layout import PackedLayout
from hetcore.trees import Tree

__all__ = [
    "Question", "Questions", "Shard", "ShardContent", "ShardSample", "SampledContent", "ShardedTable", "answered",
    "ranges_of",
]  # fmt: skip

Question = tuple[Callable[..., Any], list[tuple]]
"""A method of a source's shards, and each one's arguments."""

Questions = Generator[Question, list[Any], Any]
"""Yields questions, and is sent the shards' answers."""


def answered(steps: Sequence[Questions], ask: Callable[[Mapping[int, Question]], Mapping[int, list[Any]]]) -> list[Any]:
    """Return what steps return whose questions are asked at once, round trip after round trip, by the steps' places."""
    done: dict[int, Any] = {}
    asked = {place: next(each) for place, each in enumerate(steps)}
    while asked:
        answers, asked = ask(asked), {}
        for place, answer in answers.items():
            try:
                asked[place] = steps[place].send(answer)
            except StopIteration as ended:
                done[place] = ended.value
    return [done[place] for place in range(len(steps))]


def ranges_of(n: int, block: int, most: int) -> list[tuple[int, int]]:
    """Return ranges of n instances, each of whole blocks, of at most `most` instances rounded up to blocks."""
    count = -(-n // block)
    n_ranges = -(-count // -(-most // block))
    ends = [min(n, block * (count * each // n_ranges)) for each in range(n_ranges + 1)]
    return list(zip(ends, ends[1:]))


class SampledContent(NamedTuple):
    """A shard's records, and the places in them of those that thresholds are found from."""

    source: Source
    chosen: NDArray[np.int64]


class ShardSample:
    """Learns how a table is encoded, and encodes those records of a shard that thresholds are found from.

    Parameters
    ----------
    rows : (m,) int64
    common : None
        As of any learner; not used.
    content : SampledContent
    """

    def __init__(self, rows: NDArray[np.int64], common: None, content: SampledContent) -> None:
        self._content = content

    def encoder(self, whole: Source) -> SourceEncoder:
        """Learn how the whole table is encoded, a column in memory at once; numbers are not read."""
        return SourceEncoder().fit(whole)

    def sampled(self, encoder: SourceEncoder) -> NDArray[np.float32]:
        """Return the encoded records of the sample, (c, d)."""
        source, chosen = self._content
        found = np.empty((chosen.size, len(encoder.feature_names)), np.float32)
        for places, X in encoder.blocks(source) if chosen.size else ():
            found[:, places] = X[chosen]
        return found


class ShardContent(NamedTuple):
    """A shard's records, the forests that the source has grown so far, its bins, and the task of the shard's range."""

    source: Source
    forests: list[Forest]
    kept: Kept
    task: PrintedTask


class Shard(TableRecords):
    """The records of a range of instances, on a worker; instances are numbered from the first of the range.

    Parameters
    ----------
    rows : (m,) int64
        Instance of each record, of those of the range.
    common : None
        As of any learner; not used.
    content : ShardContent
    """

    def __init__(self, rows: NDArray[np.int64], common: None, content: ShardContent) -> None:
        super().__init__(rows, content.task)
        encoder, mapper = content.kept
        empty = np.empty((mapper.n_bins.size, 0), np.uint8)
        self.binned = mapper.transform_blocks(encoder.blocks(content.source), rows.size) if rows.size else empty
        self._follow(content.forests, self.binned)
        self._columns = Columns.of(mapper.n_bins)

    def do(self, method: str, args: tuple) -> Any:
        """Answer a question of `ShardedTable.advance`."""
        return getattr(self, method)(*args)

    def begin(self, consensus: NDArray | Cached | None, left_out: NDArray[np.bool_], near: Sequence | None) -> None:
        """Take the range's part of E, of who is left out (r,), and by output E~_i, if there is one."""
        self._consensus, self._left_out, self._near = consensus, left_out, near

    def neighbours_say(self, k: int, graph_weights: NDArray | None) -> tuple[NDArray, NDArray]:
        """Return the range's E~_i (r,), and where there is one."""
        return (np.zeros(len(self.covers)), np.zeros(len(self.covers), bool)) if self._near is None else self._near[k]

    def _counts(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._of_source

    def count(self, k: int) -> NDArray[np.float64]:
        """Return how many records each term has, (3, 1)."""
        return self.of_terms(self._left_out, self.neighbours_say(k, None)[1]).sum(axis=1, keepdims=True).astype(float)

    def line5(self, k: int, w: float, counts: NDArray[np.float64] | None) -> tuple[float, bool]:
        """Take z; return its largest size, and whether it is asked anywhere."""
        self._of_source = counts
        self._targets, self._weights = self.terms(k, self._consensus, None, self._left_out)
        self._slope, self._some = self.slope(k, self._targets, self._weights, w), self._weights.any(axis=0)
        return float(np.abs(self._slope).max(initial=0.0)), bool(self._some.any())

    def scaled(self, size: float) -> NDArray[np.float64]:
        """Divide -z by a size; return the sum of absolute values and how many there are, (blocks, 2)."""
        self._gradients = self._slope / size
        absolute = np.abs(self._gradients.astype(np.float32)).astype(np.float64)
        pairs = [(absolute[block], self._some[block]) for block in self.blocks]
        return np.array([(some[few].sum(), few.sum()) for some, few in pairs])

    def root(self, layout: PackedLayout) -> Histograms:
        """Return the histograms of all records."""
        gradients, rows = self._gradients.astype(np.float32)[:, None], np.flatnonzero(self._some).astype(np.uint32)
        self._grown = PartRows(self.binned, layout, self._columns)
        return self._grown.start(gradients, np.empty((len(gradients), 0), np.float32), rows)

    def split(self, splits: Sequence[Split]) -> Histograms:
        """Return the histograms of nodes of the next level."""
        return self._grown.split(splits)

    def leaves(self, nodes: NDArray) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the number of records by leaf, and the sums of -z: see `leaf_sums`."""
        self._leaf = Tree(nodes, np.zeros((nodes.size, 1))).apply(self.binned)
        return self.leaf_sums(self._leaf, self._gradients, self._some, nodes.size)

    def along(self, k: int, values: NDArray[np.float64]) -> float:
        """Take h by its leaves' values; return its largest size."""
        self._h = values[self._leaf, 0]
        given = self._h, self._targets, self._weights
        self._search = Along(self.loss, self.f[:, k], *given, blocks=self.blocks)
        return self._search.largest

    def slopes(self, step: float) -> NDArray[np.float64]:
        """Return the slope and curve of the objective at a step, (blocks, 2)."""
        return self._search.slopes(step)

    def values(self, step: float) -> NDArray[np.float64]:
        """Return the objective without and with a step, (blocks, 2)."""
        return self._search.values(step)

    def move(self, k: int, scale: float) -> None:
        """Line 8."""
        self.f[:, k] += scale * self._h

    def losses_now(self, left: bool) -> NDArray[np.float64]:
        """Return what (4.10) adds up: see `loss_sums`."""
        return self.loss_sums(self._left_out, left)

    def scores(self) -> NDArray[np.float64]:
        """Return f_i (m, K), for graphs."""
        return self.f


class ShardedTable(TableRecords):
    """A table of which the process of the fit has no record, and whose shards it asks.

    Parameters
    ----------
    rows : (m,) int64
        Instances that the table has, by record.
    task : PrintedTask
    places : sequence of array of int
        Which records each shard has.
    kept : Kept
    """

    def __init__(
        self, rows: NDArray[np.int64], task: PrintedTask, places: Sequence[NDArray[np.int64]], kept: Kept
    ) -> None:
        self._n_shards, self.kept = len(places), kept
        # only graphs ask for scores of several shards at once: without them nothing here is of the records' number
        self._needs_scores = bool(task.links or task.edges)
        if self._needs_scores:
            super().__init__(rows, task)
            self._places = places
        else:
            self.rows, self.task, self.loss = rows, task, task.loss

    def advance(
        self, parts: Sequence[tuple], graph_weights: NDArray, left_out: NDArray[np.bool_], weights: NDArray[np.float64]
    ) -> Questions:
        """Lines 5 to 8; return a `Stepped`.

        Parameters
        ----------
        parts : sequence of (array, Cached or None, array)
            Of each range of instances, E and who is left out.
        graph_weights : (q, K) float64
        left_out : (n,) bool
        weights : (K,) float64
            The source's own.
        """
        ranges = np.cumsum([0, *(len(left) for _, left in parts)])
        near = self._near(graph_weights, ranges)
        yield Shard.begin, [(*part, each) for part, each in zip(parts, near)]
        trees, scales, steps = [], [], []
        for k, weight in enumerate(weights.tolist()):
            tree, scale, step = yield from self._moved(k, weight)
            trees.append(tree)
            scales.append(scale)
            steps.append(step)
        sums = yield from self._all(Shard.losses_now, bool(left_out[self.rows].any()))
        if self._needs_scores:
            yield from self._take_scores()
        edges = self.edge_losses() if self._needs_scores else np.zeros((0, len(weights)))
        return Stepped(trees, scales, steps, self.losses(tree_sum(np.concatenate(sums))), edges)

    def _near(self, graph_weights: NDArray, ranges: NDArray[np.int64]) -> list[list[tuple] | None]:
        """Return E~_i of each range by output."""
        spans = list(zip(ranges[:-1], ranges[1:]))
        if not self.task.links or not self.task.params["lambda1"]:
            return [None] * len(spans)
        found = [self.neighbours_say(k, graph_weights) for k in range(self.f.shape[1])]
        return [[(near[a:b], has[a:b]) for near, has in found] for a, b in spans]

    def _moved(self, k: int, weight: float) -> Questions:
        """Lines 5 to 8 for an output; return the tree, what it is added with, and rho."""
        counts = sum((yield from self._all(Shard.count, k))) if self.task.params["relative_lambda"] else None
        found = yield from self._all(Shard.line5, k, weight, counts)
        size = max(each for each, _ in found)
        if size < SMALLEST or not any(some for _, some in found):
            return None, 0.0, 0.0
        tree = yield from self._grow(size)
        # as they are in one process: of all records, and not of those alone that have a slope
        largest = max((yield from self._all(Shard.along, k, tree.values)))
        step = yield from self._searched(largest)
        scale = self.task.params["shrinkage"] * step
        yield from self._all(Shard.move, k, scale)
        return (tree.nodes, tree.values), scale, step / size

    def _grow(self, size: float) -> Questions:
        """Line 6; return the tree."""
        absolute, count = tree_sum(np.concatenate((yield from self._all(Shard.scaled, size)))).tolist()
        layout = layout_for(np.array([absolute]), 0.0, (1, 0), int(count).bit_length())
        columns, limits = Columns.of(self.kept.mapper.n_bins), self.task.limits
        pool = Pool.of(limits, int(count), int(columns.offsets[-1]), columns.columns.size, width=1)
        growing = grow_from_histograms(columns, layout, limits, pool)
        splits = next(growing)
        while True:
            parts = yield from self._all(*((Shard.split, splits) if splits else (Shard.root, layout)))
            try:
                splits = growing.send(added_up(parts, width=1))
            except StopIteration as ended:
                tree = ended.value
                break
        found = yield from self._all(Shard.leaves, tree.nodes)
        with_leaf_means(tree.values, sum(each for each, _ in found), tree_sum(np.concatenate([s for _, s in found])))
        return tree

    def _searched(self, largest: float) -> Questions:
        """Line 7; return rho."""
        searching = search(largest)
        asked = next(searching)
        while True:
            sums = yield from self._all(getattr(Shard, asked.method), asked.step)
            try:
                asked = searching.send(tree_sum(np.concatenate(sums)))
            except StopIteration as ended:
                return ended.value

    def _take_scores(self) -> Questions:
        for places, scores in zip(self._places, (yield from self._all(Shard.scores))):
            self.f[places] = scores

    def _all(self, method: Callable[..., Any], *args: Any) -> Questions:
        """Ask all shards the same."""
        return (yield method, [args] * self._n_shards)
