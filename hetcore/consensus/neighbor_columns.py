"""What neighbours say of an instance: the means of their features, scores and labels, these hidden by fold.

A row's own label, and all labels of its fold, are hidden from its columns. Hiding the own label alone gives it away in
cliques: where everyone is linked to everyone, the mean without oneself tells one's own label.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hetcore.data import Graph
from hetcore.data.splits import dealt_in_order
from hetcore.kernels.csr import neighbor_sums
from hetcore.targets import Problem

__all__ = [
    "FAINTEST", "KnownLabels", "averaged", "dealt_folds", "feature_means", "folds_for", "graph_columns", "joint_links",
    "label_columns", "mean_over_graphs", "symmetric", "walk",
]  # fmt: skip

SPREAD_SHARE = 0.9  # of what an instance takes over from its neighbours in a step of spreading
SPREAD_STEPS = 10
FAINT = 1e-12
JOINT_POWER = 3
FOLDS = 5
FOLDS_OF_FEW, FEW = 10, 60  # labelled rows below which members can't spare a fifth of them
FOLDS_OF_MANY, MANY = 3, 20_000  # labelled rows from which three folds are enough
MOST_NUMBERS = 4_000_000  # of neighbours' labels that are summed at once, over all folds: 32 MB
FAINTEST = 1e-100  # weight of a source or graph whose weight underflows: it speaks where nobody else does


class KnownLabels(NamedTuple):
    """The labels of a fit by instance.

    Attributes
    ----------
    codes : (n, k) float64
        0 where not known.
    fold : (n,) int64
        Fold of a labelled instance, -1 for the others.
    """

    codes: NDArray[np.float64]
    fold: NDArray[np.int64]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which instances have a label, (n,)."""
        return self.fold >= 0


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


def symmetric(links: Any, loops: bool) -> Any:
    """Return D^-1/2 A D^-1/2 of the links A (n, n); with `loops`, of A plus a link of mean weight to oneself."""
    # of mean weight: a loop of 1 would drown links of small weights, or be drowned
    weight = float(links.data.mean()) if links.nnz else 1.0
    links = links + weight * sparse.eye_array(links.shape[0]) if loops else links
    degree = np.asarray(links.sum(axis=1)).ravel()
    root = np.divide(1.0, np.sqrt(degree), out=np.zeros(len(degree)), where=degree > 0)
    return (sparse.diags_array(root) @ links @ sparse.diags_array(root)).tocsr()


def label_columns(links: Any, labels: KnownLabels) -> NDArray[np.float32]:
    """Return the columns (n, 3 k + 3) of the neighbours' labels, each row's own fold hidden from it.

    Mean labels over neighbours, over their neighbours, and of labels that spread over the links; then the logarithms of
    how many labels stand behind each. A mean over no label is NaN; a row without a link is NaN throughout.

    Parameters
    ----------
    links : (n, n) scipy sparse array
    labels : KnownLabels
    """
    n, k = labels.codes.shape
    # an instance without a link has no columns, rather than columns of nothing
    columns = np.full((n, 3 * k + 3), np.nan, np.float32)
    linked = np.diff(links.indptr) > 0
    # unlabelled rows, of fold -1, see all labels
    folds = [fold for fold in range(-1, int(labels.fold.max(initial=-1)) + 1) if (linked & (labels.fold == fold)).any()]
    # several folds at once, so that the links are read once for them; not all, for there may be many instances
    at_once = max(1, MOST_NUMBERS // max(1, n * (k + 1)))
    spreading = symmetric(links, loops=False) if folds else None
    for first in range(0, len(folds), at_once):
        _write_columns(links, spreading, labels, folds[first : first + at_once], columns)
    return columns


def _write_columns(links: Any, spreading: Any, labels: KnownLabels, folds: list[int], columns: NDArray) -> None:
    """Write the columns of the linked rows of some folds."""
    seen = np.array([labels.known & (labels.fold != fold) for fold in folds])
    # the last column of a fold counts, so that sums and counts travel together
    given = [np.column_stack([labels.codes * each[:, None], each.astype(np.float64)]) for each in seen]
    given_labels = np.hstack(given)
    one = links @ given_labels
    two, spread = links @ one, given_labels
    for _ in range(SPREAD_STEPS):
        spread = SPREAD_SHARE * (spreading @ spread) + (1.0 - SPREAD_SHARE) * given_labels
    linked, width = np.diff(links.indptr) > 0, given[0].shape[1]
    for place, fold in enumerate(folds):
        rows, own = np.flatnonzero((labels.fold == fold) & linked), slice(place * width, (place + 1) * width)
        columns[rows] = _columns(one[rows, own], two[rows, own], spread[rows, own])


def _columns(one: NDArray, two: NDArray, spread: NDArray) -> NDArray[np.float64]:
    means = [_means(each) for each in (one, two, spread)]
    # logarithms, for trees and linear learners alike see 1 to 10 as they see 10 to 100; spreading leaves shares far
    # below 1
    counts = [np.log1p(one[:, -1:]), np.log1p(two[:, -1:]), np.log(spread[:, -1:] + 1e-9)]
    return np.hstack([*means, *counts])


def _means(sums: NDArray) -> NDArray[np.float64]:
    """Return sums (n, k) over their last column, a count; NaN where it is 0."""
    count = sums[:, -1:]
    # rounding leaves counts a little above 0 where there is no label far and wide
    some = count > FAINT
    return np.divide(sums[:, :-1], count, out=np.full(sums[:, :-1].shape, np.nan), where=some)


def feature_means(links: Any, X: NDArray) -> NDArray[np.float32]:
    """Return the means (n, d) of the neighbours' known values of X (n, d), weighted by the links; NaN over none."""
    known = ~np.isnan(X)
    # float64: sums of many float32 lose digits
    total, count = links @ np.where(known, X, 0.0).astype(np.float64), links @ known.astype(np.float64)
    means = np.divide(total, count, out=np.full(X.shape, np.nan), where=count > FAINT)
    return means.astype(np.float32)


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
