"""What neighbours say of an instance: the means of their features, scores and labels, these hidden by fold.

Neighbours are linked by graphs, or are the nearest rows of a table (`NearestRows`).

A row's own label, and all labels of its fold, are hidden from its columns. Hiding the own label alone gives it away in
cliques: where everyone is linked to everyone, the mean without oneself tells one's own label. Of few labels, what a
fold's member learns from is without that fold's labels as well (`unseen_columns`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from hetcore.consensus.link_sums import LinkSum, ScaledLinks, degrees, linked_rows, squares_times, times
from hetcore.consensus.one_way import OneWay
from hetcore.consensus.recall import MEMORY, key_of
from hetcore.data import Graph, HetData
from hetcore.data.identity import positions
from hetcore.data.splits import dealt_in_order
from hetcore.kernels.csr import nearest_rows, neighbor_sums
from hetcore.schema import IDS, TEXTS, Stored, array, declared, value
from hetcore.targets import KnownLabels, Problem

__all__ = [
    "FAINTEST", "NearestRows", "averaged", "dealt_folds", "feature_means", "folds_for",
    "graph_columns", "joint_links", "label_columns", "mean_over_graphs", "second_means", "symmetric",
    "unseen_columns", "unseen_rows", "walk",
]  # fmt: skip

SPREAD_SHARE = 0.9  # of what an instance takes over from its neighbours in a step of spreading
SPREAD_STEPS = 10
FAINT = 1e-12
RETURN = 1e-9  # share of two links, below which only rounding says that they do not lead back
JOINT_POWER = 3
FOLDS = 5
FOLDS_OF_FEW, FEW = 10, 60  # labelled rows below which members can't spare a fifth of them
FOLDS_OF_MANY, MANY = 3, 20_000  # labelled rows from which three folds are enough
MOST_NUMBERS = 4_000_000  # of neighbours' labels that are summed at once, over all folds: 32 MB
NEAREST, MOST_ROWS = 10, 2000  # neighbours of a row, among so many rows at most
MOST_INSTANCES = 20_000  # beyond which nearest rows are not asked, nor where more are labelled than are looked among
FEWEST_COLUMNS = 10  # of numbers in a table, below which nearest rows say no more than trees do
FEWEST_LABELS = 2  # of a class on average
BLOCK = 512  # rows whose distances are held at once
STEPS_OF_DISTANCE, FARTHEST = 1e6, 1e12  # distances count in millionths of the mean square length, up to so many
FAINTEST = 1e-100  # weight of a source or graph whose weight underflows: it speaks where nobody else does


def folds_for(n_known: int) -> int:
    """Return into how many folds some labelled rows are dealt: more where each label counts."""
    if n_known < FEW:
        return min(n_known, FOLDS_OF_FEW)
    return FOLDS if n_known < MANY else FOLDS_OF_MANY


def dealt_folds(problem: Problem, n_folds: int, seed: Any) -> NDArray[np.int64]:
    """Deal the labelled rows to folds alike in class or number; return each instance's fold (n,), -1 if unlabelled."""
    rng, rows = np.random.default_rng(seed), np.flatnonzero(problem.labelled)
    key = problem.target.argmax(axis=1) if problem.scale.is_classifier else problem.target[:, 0]
    fold = np.full(len(problem.labelled), -1, np.int64)
    fold[rows] = dealt_in_order(key[rows], rng.permutation(rows.size), n_folds, rng)
    return fold


def walk(links: Any) -> Any:
    """Return the links (n, n) with rows that sum to 1, 0 where there is none."""
    degree = np.asarray(links.sum(axis=1)).ravel()
    inverse = np.divide(1.0, degree, out=np.zeros(len(degree)), where=degree > 0)
    return (sparse.diags_array(inverse) @ links).tocsr()


def symmetric(links: Any, loops: bool, stands_for: NDArray[np.int64] | None = None) -> Any:
    """Return D^-1/2 A D^-1/2 of the links A (n, n); with `loops`, of A plus a link of mean weight to oneself.

    Of links that lead one way D is of the rows on the left, of the columns on the right. The mean is over the rows that
    stand for themselves, which are the first; `stands_for` (n,) as of `label_columns`.
    """
    n = None if stands_for is None else int((stands_for == np.arange(stands_for.size)).sum())
    # of mean weight: a loop of 1 would drown links of small weights, or be drowned
    if isinstance(links, LinkSum):
        loop = links.mean(links.joined.n if n is None else n) if loops else 0.0
        return ScaledLinks(links, _inverse_root(links.degrees() + loop), loop)
    own = links.data if n is None else links.data[: links.indptr[n]]
    weight = float(own.mean(dtype=np.float64)) if own.size else 1.0
    into = degrees(links.opposite) + weight * loops if isinstance(links, OneWay) else None
    links = links + weight * sparse.eye_array(links.shape[0], dtype=links.dtype) if loops else links
    root = _inverse_root(degrees(links))
    ends = root if into is None else _inverse_root(into)
    values = np.repeat(root, np.diff(links.indptr)) * links.data * ends[links.indices]
    return sparse.csr_array((values.astype(links.dtype), links.indices, links.indptr), shape=links.shape)


def _inverse_root(degree: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(1.0, np.sqrt(degree), out=np.zeros(len(degree)), where=degree > 0)


def label_columns(
    links: Any, labels: KnownLabels, *, whole: bool = True, stands_for: NDArray[np.int64] | None = None
) -> NDArray[np.float32]:
    """Return the columns (n, 3 k + 3) of the neighbours' labels, each row's own fold hidden from it.

    Mean labels over neighbours, over their neighbours, and of labels that spread over the links; then the logarithms of
    how many labels stand behind each. A mean over no label is NaN; a row without a link is NaN throughout.

    Parameters
    ----------
    links : (n, n) scipy sparse array or LinkSum
    labels : KnownLabels
    whole : bool, default=True
        Whether a row's labels are counted as if its own fold were not hidden, as they are for rows of no fold.
    stands_for : (n,) int64, optional
        Whose links a row has, itself but for rows that others do not see.
    """
    n, k = labels.codes.shape
    # an instance without a link has no columns, rather than columns of nothing
    columns = np.full((n, 3 * k + 3), np.nan, np.float32)
    linked = linked_rows(links)
    # unlabelled rows, of fold -1, see all labels
    folds = [fold for fold in range(-1, int(labels.fold.max(initial=-1)) + 1) if (linked & (labels.fold == fold)).any()]
    # several folds at once, so that the links are read once for them; not all, for there may be many instances
    at_once = max(1, MOST_NUMBERS // max(1, n * (k + 1)))
    spreading = symmetric(links, loops=False) if folds else None
    # a row that stands for another has no label of its own
    counts = _counts(labels.fold if stands_for is None else labels.fold[stands_for == np.arange(n)], folds)
    for first in range(0, len(folds), at_once):
        some = folds[first : first + at_once]
        sums = _sums(links, spreading, labels, [(fold,) for fold in some])
        rows = np.flatnonzero(linked & np.isin(labels.fold, some))
        places = np.searchsorted(some, labels.fold[rows])
        shown = np.array([_shown(counts, fold) if whole else 1.0 for fold in some])
        columns[rows] = _columns([each[rows, places] for each in sums], shown[places])
    return columns


def _sums(links: Any, spreading: Any, labels: KnownLabels, hidden: Sequence[tuple[int, ...]]) -> list[NDArray]:
    """Return sums over neighbours, over theirs, and of labels that spread, (n, h, k + 1) each, by what is hidden."""
    # by fold, those of none last
    shown = np.ones((len(hidden), int(labels.fold.max(initial=-1)) + 2), bool)
    shown[:, -1] = False
    for each, folds in zip(shown, hidden):
        each[list(folds)] = False
    seen = shown[:, labels.fold]
    # the last column of a fold counts, so that sums and counts travel together
    given = [np.column_stack([labels.codes * each[:, None], each.astype(np.float64)]) for each in seen]
    given_labels = np.hstack(given).astype(links.dtype)
    one = times(links, given_labels)
    two, spread = times(links, one), _spread(spreading, given_labels)
    return [each.reshape(len(each), len(hidden), -1) for each in (one, two, spread)]


def unseen_rows(labels: KnownLabels) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the labelled rows of which each fold's member learns, member after member, and whose they are, (b,) each.

    A member that learned from columns of its own fold's labels would know them: where two labelled rows are linked, it
    would see the label that it is scored on stand beside the other's.
    """
    known = np.flatnonzero(labels.known)
    parts = [known[labels.fold[known] != fold] for fold in range(int(labels.fold.max(initial=-1)) + 1)]
    return np.concatenate([known[:0], *parts]), np.repeat(np.arange(len(parts)), [part.size for part in parts])


def unseen_columns(links: Any, labels: KnownLabels) -> NDArray[np.float32]:
    """Return `label_columns` of `unseen_rows`, (b, 3 k + 3): the member's fold hidden as well as each row's own."""
    rows, members = unseen_rows(labels)
    own, linked = labels.fold[rows], linked_rows(links)[rows]
    columns = np.full((rows.size, 3 * labels.codes.shape[1] + 3), np.nan, np.float32)
    least, most, folds = np.minimum(own, members), np.maximum(own, members), int(members.max(initial=0)) + 1
    pair, counts = least * folds + most, _counts(labels.fold, [folds - 1])
    pairs = np.unique(pair)
    at_once = max(1, MOST_NUMBERS // max(1, len(labels.fold) * (labels.codes.shape[1] + 1)))
    spreading = symmetric(links, loops=False) if pairs.size else None
    for first in range(0, pairs.size, at_once):
        some = pairs[first : first + at_once]
        hidden = [divmod(each, folds) for each in some.tolist()]
        sums = _sums(links, spreading, labels, hidden)
        here = np.flatnonzero(linked & np.isin(pair, some))
        places = np.searchsorted(some, pair[here])
        shown = np.array([_shown(counts, *each) for each in hidden])
        columns[here] = _columns([each[rows[here], places] for each in sums], shown[places])
    return columns


def _spread(links: Any, given: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return labels (n, k) that spread over links (n, n) from those that are given, fewer with each step."""
    spread = given
    for _ in range(SPREAD_STEPS):
        spread = SPREAD_SHARE * times(links, spread) + (1.0 - SPREAD_SHARE) * given
    return spread


def _counts(fold: NDArray[np.int64], folds: Sequence[int]) -> NDArray[np.int64]:
    """Return the number of labels of each fold."""
    return np.bincount(fold[fold >= 0], minlength=1 + max(folds, default=0))


def _shown(counts: NDArray[np.int64], *hidden: int) -> float:
    """Return the share of the labels that is left where some folds are hidden."""
    total = counts.sum()
    return float((total - counts[[fold for fold in {*hidden} if fold >= 0]].sum()) / total) if total else 1.0


def _columns(sums: Sequence[NDArray], shown: NDArray[np.float64]) -> NDArray[np.float64]:
    means, shown = [_means(each) for each in sums], np.maximum(shown, FAINT)[:, None]
    # as many as if all were shown: new rows see all of them, and would look better linked than any row of the fit
    one, two, spread = (each[:, -1:] / shown.astype(each.dtype) for each in sums)
    # logarithms, for trees and linear learners alike see 1 to 10 as they see 10 to 100; spreading leaves shares far
    # below 1
    counts = [np.log1p(one), np.log1p(two), np.log(spread + 1e-9)]
    return np.hstack([*means, *counts])


@dataclass
class NearestRows(Stored):
    """Rows of some tables among which each row has its nearest: neighbours that no graph has to tell.

    Labelled rows, and as many unlabelled ones as there is room for: labels spread over these too, so that what the
    unlabelled rows of a table look like tells something. Nearest is by Euclid's distance of the columns that smooth
    learners see; a row without a record in a table has no neighbours in it. Chapelle, Schoelkopf, Zien (2006),
    "Semi-Supervised Learning", chapter 11, on labels that spread over nearest neighbours.

    Attributes
    ----------
    ids : polars Series of String (r,)
    names : list of str
        The tables.
    codes : (r, k) float64
        Labels; 0 where not known.
    fold : (r,) int64
        -1 for unlabelled rows.
    rows : (r, w) float32
        Columns of all tables side by side; NaN where an instance is without the table.
    """

    ids: pl.Series = declared(IDS)
    names: list[str] = value(TEXTS)
    codes: NDArray[np.float64] = array("r k")
    fold: NDArray[np.int64] = array("r", np.int64, -1, 99)
    rows: NDArray[np.float32] = array("r w", np.float32, allows="nan")

    @staticmethod
    def tables_of(data: HetData, labels: KnownLabels) -> list[str]:
        """Return in which tables nearest rows say something new: many numbers, or texts; classes, and few labels."""
        codes = labels.codes[labels.known]
        few = len(labels.fold) <= MOST_INSTANCES and len(codes) <= MOST_ROWS
        # a class with one label has none where its fold is hidden, and learners would be taught that none is near
        enough = len(codes) >= FEWEST_LABELS * max(2, codes.shape[1])
        if not few or not enough or not labels.of_classes:
            return []
        kinds = {name: list(source.kinds.values()) for name, source in data.sources.items() if source.n_rows}
        return [name for name, each in kinds.items() if each.count("real") >= FEWEST_COLUMNS or "text" in each]

    @classmethod
    def of(cls, ids: pl.Series, tables: Mapping[str, NDArray], labels: KnownLabels) -> NearestRows:
        """Choose the rows from the tables' columns (n, d), NaN where an instance is without."""
        some, rest = np.flatnonzero(labels.known), np.flatnonzero(~labels.known)
        # every so many: the unlabelled are in no order of the labels
        room = max(0, MOST_ROWS - some.size)
        kept = np.sort(np.concatenate([some, rest[:: max(1, -(-rest.size // room))] if room else rest[:0]]))
        rows = np.hstack([X[kept] for X in tables.values()]).astype(np.float32)
        return cls(ids[kept], list(tables), labels.codes[kept], labels.fold[kept], rows)

    def columns(
        self, ids: pl.Series, tables: Mapping[str, NDArray], labels: KnownLabels
    ) -> dict[str, tuple[NDArray[np.bool_], NDArray[np.float64]]]:
        """Return which instances (n,) have neighbours, and what those say (n, 3 k), by table, and of all by "".

        Mean labels of the nearest rows, of their nearest, and of labels that spread; each row's fold hidden from it.
        """
        own, links, keys, first = positions(ids, self.ids), {}, {}, 0
        for name, X in tables.items():
            given = X.astype(np.float32), own, self.rows[:, first : first + X.shape[1]]
            # by what the table holds: another may change, and it stays
            keys[name] = key_of(*given) if MEMORY.room else ""
            links[name] = MEMORY.recalled("nearest rows", keys[name], partial(_links, *given))
            first += X.shape[1]
        if len(links) > 1:
            # a table's neighbours count by the tables that have a row: the mean over those
            links[""] = tuple(sum(walk(each[i]) for each in links.values()) for i in range(2))
            keys[""] = key_of(*keys.values()) if MEMORY.room else ""
        found = {}
        for name, (to, within) in links.items():
            key = key_of(keys[name], self.codes, self.fold, labels.fold) if MEMORY.room else ""
            found[name] = MEMORY.recalled("messages", key, partial(self._messages, to, within, labels.fold))
        return found

    def _messages(self, to: Any, within: Any, fold: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        to, within = walk(to), walk(within)
        linked, k = np.diff(to.indptr) > 0, self.codes.shape[1]
        messages = np.full((len(fold), 3 * k), np.nan)
        # unlabelled rows, of fold -1, see all labels
        for hidden in np.unique(fold[linked]):
            seen = (self.fold >= 0) & (self.fold != hidden)
            given = np.column_stack([self.codes * seen[:, None], seen.astype(np.float64)])
            own = np.flatnonzero((fold == hidden) & linked)
            mine = to[own]
            near = given, within @ given, _spread(within, given)
            messages[own] = np.hstack([_means(mine @ each) for each in near])
        return linked, messages


def _links(X: NDArray[np.float32], own: NDArray[np.int64], among: NDArray[np.float32]) -> tuple[Any, Any]:
    """Return `_nearest` of rows (n, d), which may be some of those among which they are, and of these (r, d)."""
    within = _nearest(among, np.arange(len(among)), among)
    # mostly a row is one of them, and as it was
    others = np.flatnonzero((own < 0) | (X != among[own]).any(axis=1))
    place = own.copy()
    place[others] = len(among) + np.arange(others.size)
    return sparse.vstack([within, _nearest(X[others], own[others], among)], format="csr")[place], within


def _nearest(X: NDArray[np.float32], own: NDArray[np.int64], among: NDArray[np.float32]) -> Any:
    """Return links (n, r) of 1 to the nearest of the rows `among` (r, d), but not to the own (n,): -1 is none."""
    known, usable = np.flatnonzero(~np.isnan(X).any(axis=1)), np.flatnonzero(~np.isnan(among).any(axis=1))
    place = np.full(len(among) + 1, -1)  # the last for rows that are not among them
    place[usable] = np.arange(usable.size)
    count, mine, ends = min(NEAREST, usable.size - 1), place[own], np.zeros(len(X) + 1, np.int64)
    if count < 1:
        return sparse.csr_array((len(X), len(among)))
    among = among[usable].astype(np.float64)
    lengths = (among**2).sum(axis=1)
    scale, found = STEPS_OF_DISTANCE / max(float(lengths.mean()), 1e-300), np.empty((known.size, count), np.int64)
    for first in range(0, known.size, BLOCK):
        rows = known[first : first + BLOCK]
        some = X[rows].astype(np.float64)
        # whole steps, and equal ones in the order of the rows: rounding, which hangs on the block, chooses nobody
        given = 2.0 * some @ among.T, (some**2).sum(axis=1), lengths, mine[rows], scale, FARTHEST
        nearest_rows(*given, found[first : first + BLOCK])
    ends[known + 1] = count
    shape = len(X), place.size - 1
    return sparse.csr_array((np.ones(found.size), usable[found].ravel(), np.cumsum(ends)), shape=shape)


def _means(sums: NDArray) -> NDArray[np.float64]:
    """Return sums (n, k) over their last column, a count; NaN where it is 0."""
    count = sums[:, -1:]
    # rounding leaves counts a little above 0 where there is no label far and wide
    some = count > FAINT
    return np.divide(sums[:, :-1], count, out=np.full(sums[:, :-1].shape, np.nan), where=some)


def feature_means(links: Any, X: NDArray) -> NDArray[np.float32]:
    """Return the means (n, d) of the neighbours' known values of X (n, d), weighted by the links; NaN over none."""
    total, count = _sums_of_known(links, X)
    return _mean_where(total, count, FAINT).astype(np.float32)


def second_means(
    links: Any, X: NDArray, near: NDArray, stands_for: NDArray[np.int64] | None = None
) -> NDArray[np.float32]:
    """Return the means (n, d) of the neighbours' means, `near`, without what these say of the row itself.

    That is where a random walk of two links ends that does not come back. NaN where each does. Of a row that others do
    not see they say what they say of the one that it `stands_for` (n,).
    """
    (total, count), known = _sums_of_known(links, near), _known(X)
    own = slice(None) if stands_for is None else stands_for
    among = times(links, known.astype(links.dtype))
    # the weight of a way there, times that of the way back
    inverse = np.divide(1.0, among, out=np.zeros_like(among), where=among > FAINT)
    back = squares_times(links, inverse) * known[own]
    # what rounding leaves of two equal sums is nobody
    return _mean_where(total - back * np.where(known, X, 0.0)[own], count - back, RETURN * count).astype(np.float32)


def _known(X: NDArray) -> NDArray[np.bool_]:
    """Return where X (n, d) is known, (n, d), or (n, 1) where nothing is missing, for all columns are alike."""
    known = ~np.isnan(X)
    return known[:, :1] if known.all() else known


def _sums_of_known(links: Any, X: NDArray) -> tuple[NDArray, NDArray]:
    """Return the neighbours' sums (n, d) and weights (n, d or 1)."""
    # of the links' type, float64 but for very many: sums of float32 lose digits
    known = _known(X)
    return times(links, np.where(known, X, 0.0).astype(links.dtype)), times(links, known.astype(links.dtype))


def _mean_where(total: NDArray, count: NDArray, least: Any) -> NDArray[np.float64]:
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=np.broadcast_to(count > least, total.shape))


def mean_over_graphs(
    links: Iterable[Any], weights: NDArray, values: NDArray, says: NDArray[np.bool_]
) -> tuple[NDArray, NDArray]:
    """Return E~ (n,) of values (n,) over the neighbours that say something, and where there is one.

    Parameters
    ----------
    links : iterable of (n, n) scipy sparse array
        By graph, rows that sum to 1.
    weights : (q,) float64
        Of the graphs.
    values : (n,) float64
    says : (n,) bool
    """
    total, mass = np.zeros(len(values)), np.zeros(len(values))
    for weight, among in zip(np.maximum(weights, FAINTEST), links):
        share = among @ says.astype(np.float64)
        has = share > 0
        # rows sum to 1, but of those neighbours that say something: their share is divided out
        total[has] += weight * (among @ np.where(says, values, 0.0))[has] / share[has]
        mass += weight * has
    return np.divide(total, mass, out=total, where=mass > 0), mass > 0


def averaged(
    links: Any, unit: float, values: NDArray, neighbor_weights: NDArray, shrinkage: float
) -> tuple[NDArray, NDArray]:
    """Return the neighbours' total weight (n,) and shrunk average (n, K), with links counted in units of `unit`."""
    # the kernel is compiled for 32-bit ends; SciPy widens them now and then
    ends = links.indptr.astype(np.int32, copy=False), links.indices.astype(np.int32, copy=False)
    sums, totals = neighbor_sums(
        *ends, links.data, np.ascontiguousarray(values, np.float64), np.asarray(neighbor_weights, np.float64)
    )
    weight = totals / unit
    # units keep very small and very large weights inside float32; the last term is for nobody near
    return weight, sums / (unit * (weight + shrinkage)[:, None] + 1e-300)


def graph_columns(score: NDArray, weight: NDArray) -> NDArray[np.float32]:
    """Return neighbour averages (m, K) and the logarithm of 1 + their weight as one table (m, K + 1)."""
    return np.column_stack([score, np.log1p(weight)]).astype(np.float32)


def joint_links(graphs: Mapping[str, Graph], units: Mapping[str, float]) -> Any:
    """Return the links of all graphs in one (n, n), each with the cube of its weight summed over the graphs.

    Two films that share director, writer and actors are closer than two that share one of them: a neighbour by
    several graphs counts for more than the graphs' averages, taken one by one, can tell.
    """
    links = sum(_in_units(graph, units[name]) for name, graph in graphs.items() if name in units).tocsr()
    # links that several graphs have count far more than links of one
    links.data = links.data**JOINT_POWER
    return links


def _in_units(graph: Graph, unit: float) -> Any:
    """Return the links (n, n) float32 over their mean weight, which float32 may not be able to invert."""
    links = graph.adjacency().copy()
    # through float64: a weight near the end of float32 has no inverse there
    links.data = (links.data / np.float64(unit)).astype(np.float32)
    return links
