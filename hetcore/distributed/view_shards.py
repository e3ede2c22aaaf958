"""The default's trees on a table whose records lie on several workers: the rounds of its views by sums alone.

A shard has the records of a range of instances: their bins, and of each of the table's views the members' scores. What
travels of a view with F members and K outputs, where a row has K gradients and P hessians (0 for numbers, else K):

| for | to each shard | from each shard |
|---|---|---|
| thresholds, once | which of its records are in the sample | their encoded values, 4 bytes a cell |
| bins, once | thresholds; 1 byte a labelled row, whose fold it is, and 4 a pulled one | 2 bytes a column |
| a round | where the stream of draws is; 8 F K bytes for each of its pulled rows | where it is then |
| each tree | F trees, those before; units | by member, sums of sizes, 4 bytes a column, the root's histograms |
| each level | the splits | of each split node the histograms of its smaller child |
| a round's end | the last trees | 8 K bytes a labelled row, what is said of it as left out |
| a better one | | 8 K bytes a row, a labelled one as trained |

Histograms are a bit a bin, and 8 (K + P) bytes for each that holds rows. All members go at once, and all views.

Rows that a tree is grown on do not travel: each shard draws those of all and keeps its own. An oblivious tree, whose
gains are no sums of whole numbers, is grown in the process of the fit: a byte a column and 4 (K + P) of each of its
rows, 2,000 at most and as many pulled ones, are sent in place of histograms.

Scores, slopes and steps are a row's own, and have the bits of one process; so have sums of whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper, varying_columns
from hetcore.consensus.table_views import TableView
from hetcore.consensus.view_learners import DIVERGED, Advanced, TreeLearner, ViewContent
from hetcore.distributed.histogram_trees import (
    Columns,
    Histograms,
    PartRows,
    Split,
    added_up,
    grow_from_histograms,
    layout_for,
)
from hetcore.distributed.row_shards import Questions
from hetcore.errors import DataError
from hetcore.growing import WRONG, Pool, n_words
from hetcore.kernels.layout import NODE_DTYPE, PackedLayout
from hetcore.kernels.members import take_step, write_slopes
from hetcore.kernels.oblivious import grow_oblivious
from hetcore.kernels.packed_sums import absolute_sums
from hetcore.members import TreeDraws, levels_for, widest
from hetcore.trees import Tree

__all__ = ["Called", "ShardedView", "TableShard", "TableShardContent", "ViewPart", "WholeView"]

Trees = list[tuple[NDArray, NDArray]]
"""Nodes and values of a tree of each member."""


class Called(NamedTuple):
    """A method of a view by its place among its table's, or of the table itself (-1), and its arguments."""

    view: int
    method: str
    args: tuple


class WholeView(TreeLearner):
    """A view that one worker has as a whole."""

    def do(self, calls: Sequence[Called]) -> list[Any]:
        """Answer questions, one after the other."""
        return [getattr(self, each.method)(*each.args) for each in calls]


class ViewPart(NamedTuple):
    """A view's rows in a range of instances.

    Attributes
    ----------
    content : ViewContent
        As of the whole view, of these rows; without columns.
    folds : (l,) int8
        Fold of each labelled row of the whole view.
    labelled, pulled : int
        How many labelled and pulled rows are in the ranges before.
    """

    content: ViewContent
    folds: NDArray[np.int8]
    labelled: int
    pulled: int


class TableShardContent(NamedTuple):
    """A table's records in a range of instances, in the order of the instances, and its views' rows."""

    X: TableView
    views: list[ViewPart]


class TableShard:
    """The records of a range of instances, and the views of their table, on a worker.

    Parameters
    ----------
    rows : (m,) int64
    common : (n,) bool
        As of any learner; not used.
    content : TableShardContent
    """

    def __init__(self, rows: NDArray[np.int64], common: Any, content: TableShardContent) -> None:
        self._rows, self._content = rows, content
        self._views: list[ViewShard] = []

    def do(self, calls: Sequence[Called]) -> list[Any]:
        """Answer questions to the views or the table, one after the other."""
        return [getattr(self if n < 0 else self._views[n], method)(*args) for n, method, args in calls]

    def sampled(self, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the encoded records of some rows (c, d)."""
        table = self._content.X
        found = np.empty((chosen.size, len(table.encoding.encoder.feature_names)), np.float32)
        for places, X in table.blocks() if chosen.size else ():
            found[:, places] = X[chosen]
        return found

    def bin(self, mapper: BinMapper) -> NDArray[np.uint8]:
        """Bin the records; return the lowest and the highest bin of each column, (d, 0 or 2)."""
        empty = np.empty((mapper.n_bins.size, 0), np.uint8)
        self._binned = self._content.X.binned(mapper) if self._rows.size else empty
        self._n_bins = mapper.n_bins
        return np.stack([self._binned.min(axis=1), self._binned.max(axis=1)], axis=1) if self._rows.size else empty

    def begin(self, draws: Sequence[TreeDraws]) -> None:
        """Make the views, given how each draws what its trees are grown on."""
        binned: dict[bytes, NDArray[np.uint8]] = {}
        training: dict[bytes, list[NDArray[np.int32]]] = {}
        for part, each in zip(self._content.views, draws):
            made = ViewShard(self._rows, None, part.content._replace(X=self._binned))
            members = range(made.rule.n_folds)
            if (folds := part.folds.tobytes()) not in training:
                training[folds] = [np.flatnonzero(part.folds != k).astype(np.int32) for k in members]
            made.begin(part, each._replace(training=training[folds]), self._n_bins)
            # views of one order of rows have their bins in common
            made.binned = binned.setdefault(made.order.tobytes(), made.binned)
            self._views.append(made)
        # the table itself is of no more use
        del self._binned, self._content


class ViewShard(TreeLearner):
    """The rows of a view in a range of instances."""

    def _prepare(self, content: ViewContent) -> None:
        self._begin(content)
        self.binned = np.ascontiguousarray(self._arranged(content.X))

    def begin(self, part: ViewPart, draws: TreeDraws, n_bins: NDArray[np.int32]) -> None:
        """Take where the rows are among all, how all are drawn, and the columns' bins."""
        self.draws, self._n_bins = draws, n_bins
        # of labelled rows, and of pulled ones, the first and the one after the last, as they are numbered among all
        pulled = part.folds.size + part.pulled
        self._own = part.labelled, part.labelled + self.own.size
        self._shared = pulled, pulled + self.pulled.size

    def open_round(self, state: Any, rate: float, pull: NDArray[np.float64] | None) -> None:
        """Take where the stream of draws is, the trees' step, and what is said of the pulled rows (F, u, K)."""
        self.rng.bit_generator.state = state
        self._rate_now, self._pulled_now = rate, pull is not None
        members, k = self.rule.n_folds, self.outputs.k
        self._pull = np.empty((members, 0, k)) if pull is None else np.array(pull)
        self._gradients = np.empty((members, self.own.size + self._pull.shape[1], k), np.float32)
        self._hessians = np.empty((*self._gradients.shape[:2], self.shape[1]), np.float32)

    def slopes(self, before: Trees) -> tuple[NDArray[np.float64], list[float], list[NDArray[np.int32]]]:
        """Move by the trees before, and draw the next ones; return the sums of the slopes' sizes and the columns.

        By member: sums of sizes (F, W), the least hessian, and columns.
        """
        self.move(before, self._rate_now)
        (tree,) = self.draws.trees(self.rng, 1, self._pulled_now)
        self._tree_columns, self._tree_rows = tree.columns, [self._here(each, tree.shared) for each in tree.rows]
        sums, least, room = np.zeros((len(self._tree_rows), n_words(*self.shape))), [], np.empty(self.outputs.k)
        for k, rows in enumerate(self._tree_rows):
            slopes = self._gradients[k], self._hessians[k]
            given = self.scores[k], self.targets, self._pull[k], self._weight
            write_slopes(*given, rows=rows, room=room, gradients=slopes[0], hessians=slopes[1])
            least.append(absolute_sums(*slopes, rows, sums[k]))
        return sums, least, tree.columns

    def _here(self, rows: NDArray[np.int32], shared: list[NDArray[np.int32]]) -> NDArray[np.uint32]:
        """Return which of the drawn rows are in this shard, by their places in it."""
        (a, b), (c, d) = self._own, self._shared
        parts = [_between(rows, a, b) - a, *(_between(each, c, d) - c + self.own.size for each in shared)]
        return np.concatenate(parts).astype(np.uint32)

    def root(self, layouts: Sequence[PackedLayout]) -> list[Histograms]:
        """Return the histograms of all rows of each member's tree."""
        columns = [Columns.of(self._n_bins, each) for each in self._tree_columns]
        self._parts = [PartRows(self.binned, *given) for given in zip(layouts, columns)]
        slopes = zip(self._gradients, self._hessians, self._tree_rows)
        return [part.start(*given) for part, given in zip(self._parts, slopes)]

    def split(self, splits: Mapping[int, Sequence[Split]]) -> dict[int, Histograms]:
        """Return the histograms of nodes of the next level, of some members."""
        return {k: self._parts[k].split(each) for k, each in splits.items()}

    def drawn_rows(self) -> list[list[tuple[NDArray, NDArray, NDArray]]]:
        """Return of each member's tree bins (c, m) and slopes (m, K), (m, P): of its labelled rows, of pulled ones."""
        found = []
        for rows, columns, *slopes in zip(self._tree_rows, self._tree_columns, self._gradients, self._hessians):
            sides = np.split(rows, [np.searchsorted(rows, self.own.size)])
            found.append([(self.binned[columns[:, None], some], *(each[some] for each in slopes)) for some in sides])
        return found

    def move(self, trees: Trees, rate: float) -> None:
        """Add each member's tree to its scores."""
        for scores, (nodes, values) in zip(self.scores, trees):
            # copies: what came over the wire may not be written to, which compiled code would be compiled anew for
            leaves, values = Tree(nodes.copy(), values).apply(self.binned), values.copy()
            take_step(scores, values, leaves, size=len(nodes), rate=rate, limit=self.limit)

    def end(self, trees: Trees) -> tuple[NDArray[np.float64], float, Any]:
        """Move by the last trees; return what is said of the labelled rows as left out, how far that is, the stream."""
        if trees:
            self.move(trees, self._rate_now)
        left_out = self._left_out(self._of_labelled())
        return left_out, self._far(), self.rng.bit_generator.state

    def remember(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Keep this round's scores; return those of the other rows, and of the labelled ones as trained."""
        self._remember()
        return self._mean_of_others(), self._mean_of_members(self._of_labelled())

    def follow(self, trees: Sequence[Trees], rate: float, better: bool) -> None:
        """Do a round whose trees are known."""
        for each in trees:
            self.move(each, rate)
        if better:
            self._remember()


def _between(rows: NDArray, first: int, stop: int) -> NDArray:
    """Return those of rising rows that are in a range."""
    return rows[slice(*np.searchsorted(rows, [first, stop]))]


class ShardedView(TreeLearner):
    """A view of which the process of the fit has the trees, and whose shards it asks.

    Parameters
    ----------
    rows, labelled, content
        As of any learner.
    bounds : sequence of int
        Where each range's rows begin, and where the last one's end.
    """

    def __init__(
        self, rows: NDArray[np.int64], labelled: NDArray[np.bool_], content: ViewContent, bounds: Sequence[int]
    ) -> None:
        self._spans = list(zip(bounds, bounds[1:]))
        super().__init__(rows, labelled, content)

    def _prepare(self, content: ViewContent) -> None:
        self._begin(content)
        self._content, self._state = content, self.rng.bit_generator.state
        self._distance, self._most_rows = float(np.abs(self.outputs.prior).max()), 0
        self.targets, self.among = self.codes[self.own], np.arange(self.own.size, self.own.size + self.pulled.size)

    def _remember(self) -> None:
        """Nothing: the scores are the shards'."""

    def parts(self) -> list[ViewPart]:
        """Return the view's rows of each range."""
        folds, found = self.fold[self.own].astype(np.int8), []
        for a, b in self._spans:
            first, stop = np.searchsorted(self.pulled, [a, b])
            rows = {"codes": self.codes[a:b], "fold": self.fold[a:b], "pulled": self.pulled[first:stop] - a}
            own = self._content._replace(X=None, **rows)
            found.append(ViewPart(own, folds, int(np.searchsorted(self.own, a)), int(first)))
        return found

    def use(self, mapper: BinMapper, ends: Sequence[NDArray[np.uint8]]) -> TreeDraws:
        """Take the bins, and the lowest and highest ones that each shard has; return how trees' rows are drawn."""
        self.mapper, self.varying = mapper, varying_columns(np.concatenate(ends, axis=1), mapper.n_bins)
        self.draws = self._draws()
        # which rows a member learns from is of no use here
        self.draws, self.training = self.draws._replace(training=[], among=self.among.astype(np.int32)), []
        return self.draws

    @property
    def _able(self) -> bool:
        return self._taught and self._distance < DIVERGED

    def rounds(self, t: int, pull: NDArray[np.float64] | None) -> Questions:
        """Do round t, as `advance` does; return what came of it, and what a shard made anew has to do in its place."""
        trees, rate = [], self._rate()
        if self._able:
            trees = yield from self._boosted(rate, pull)
        answers = yield from self._all(ViewShard.end, trees[-1] if trees else [])
        left_out = np.concatenate([each for each, _, _ in answers])
        self._distance = max(far for _, far, _ in answers)
        if trees:
            self._state = answers[0][2]
            grown = [trees[t][k] for k in range(self.rule.n_folds) for t in range(self.n_trees)]
            nodes, values = (np.concatenate(each) for each in zip(*grown))
            self.trees.append((nodes, values, np.array([nodes.size for nodes, _ in grown])))
            self.rates.append(rate)
        loss, better = self._scored(t, left_out)
        done = Advanced(loss, self.best, None, None)
        if better:
            answers = yield from self._all(ViewShard.remember)
            done = self._advanced(loss, left_out, *(np.concatenate(each) for each in zip(*answers)))
        return done, (ViewShard.follow, (trees, rate, better))

    def _boosted(self, rate: float, pull: NDArray[np.float64] | None) -> Questions:
        """Grow a round's trees; return them, by tree and member."""
        ends = [np.searchsorted(self.pulled, span) for span in self._spans]
        pulls = [None if pull is None else pull[:, slice(*each)] for each in ends]
        yield ViewShard.open_round, [(self._state, rate, each) for each in pulls]
        shares = pull is not None and pull.shape[1] > 0
        largest = max(self.draws.sizes) + self.draws.n_shared(shares)
        # as in one process, where the room to grow in is never made smaller
        self._most_rows = max(self._most_rows, largest)
        trees: list[Trees] = []
        for _ in range(self.n_trees):
            answers = yield from self._all(ViewShard.slopes, trees[-1] if trees else [])
            sums, least, columns = zip(*answers)
            grown = self._oblivious(columns[0]) if self.oblivious else self._grown(sum(sums), least, columns[0])
            trees.append((yield from grown))
        return trees

    def _grown(self, sums: NDArray, least: Sequence[Sequence[float]], columns: Sequence[NDArray]) -> Questions:
        """Grow a tree of each member, given sums of slopes' sizes (F, W), the least hessians, and columns."""
        bits, n_bins, limits = self._most_rows.bit_length(), self.mapper.n_bins, self.rule.limits
        layouts = [layout_for(own, min(low), self.shape, bits) for own, low in zip(sums, zip(*least))]
        bins, width = widest(n_bins, columns[0].size), sums.shape[1]
        pool = Pool.of(limits, self._most_rows, bins, columns[0].size, width)
        given = zip((Columns.of(n_bins, own) for own in columns), layouts)
        growing = [grow_from_histograms(*each, limits, pool) for each in given]
        trees: dict[int, Tree] = {}
        for each in growing:
            next(each)
        answers = yield from self._all(ViewShard.root, layouts)
        found = {k: [each[k] for each in answers] for k in range(len(growing))}
        while found:
            splits = {}
            for k, parts in found.items():
                try:
                    splits[k] = growing[k].send(added_up(parts, width))
                except StopIteration as ended:
                    trees[k] = ended.value
            answers = (yield from self._all(ViewShard.split, splits)) if splits else []
            found = {k: [each[k] for each in answers] for k in splits}
        return [self._held(trees[k].nodes, trees[k].values) for k in range(len(growing))]

    def _oblivious(self, columns: Sequence[NDArray]) -> Questions:
        """Grow an oblivious tree of each member from its rows, which are sent here."""
        answers, trees = (yield from self._all(ViewShard.drawn_rows)), []
        for own, shards in zip(columns, zip(*answers)):
            # labelled rows of all shards, then pulled ones: their order in one process
            in_order = zip(*(part for side in zip(*shards) for part in side))
            joined = (np.concatenate(each, axis) for each, axis in zip(in_order, (1, 0, 0)))
            trees.append(self._grown_oblivious(own, *joined))
        return trees

    def _grown_oblivious(
        self, columns: NDArray, binned: NDArray, gradients: NDArray, hessians: NDArray
    ) -> tuple[NDArray, NDArray]:
        levels, m = levels_for(self._most_rows, columns.size, self.shape, self.rule.limits), binned.shape[1]
        capacity = 2 * levels.held.size - 1
        nodes, values = np.empty(capacity, NODE_DTYPE), np.zeros((capacity, self.outputs.k))
        given = binned, np.arange(columns.size, dtype=np.int32), np.arange(m, dtype=np.uint32), self.rule.limits, levels
        size = grow_oblivious(*given, (gradients, hessians), (nodes, values, np.empty(m, np.int32)))
        if size < 0:
            raise DataError(WRONG[1])
        # copies: without a limit of the depth there is room for a leaf of each few rows
        nodes, values = nodes[:size].copy(), values[:size].copy()
        inner = nodes["left"] >= 0
        nodes["feature"][inner] = columns[nodes["feature"][inner]]
        return self._held(nodes, values)

    def _held(self, nodes: NDArray, values: NDArray) -> tuple[NDArray, NDArray]:
        """Return a tree whose values are held within the limit."""
        # a step of no row
        nobody = np.empty((0, self.outputs.k)), values, np.empty(0, np.int32)
        take_step(*nobody, size=len(nodes), rate=0.0, limit=self.limit)
        return nodes, values

    def _all(self, method: Callable[..., Any], *args: Any) -> Questions:
        """Ask all shards the same."""
        return (yield method, [args] * len(self._spans))
