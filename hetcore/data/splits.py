"""Settings of an experiment: which labels are known, which instances lose sources; and folds that are alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hetcore.data.columns import check_flags, finite, whole
from hetcore.data.graph import Graph
from hetcore.data.hetdata import HetData, check_het_data
from hetcore.data.noise import check_seed
from hetcore.data.text import listed, quoted, shown
from hetcore.errors import DataError, ParameterError

__all__ = [
    "dealt_in_order", "label_split", "non_overlapping", "one_against_rest", "stratified", "stratified_groups",
    "target_split",
]  # fmt: skip

STRATA = 10


def label_split(data: HetData, fraction: float, seed: int = 0, stratify: bool = True) -> NDArray:
    """Keep a random fraction of the labels and hide the rest.

    Parameters
    ----------
    data : HetData
        With at least one label.
    fraction : float
        Share of the labels to keep, in (0, 1]; at least one is kept.
    seed : int, default=0
        Seed of the choice.
    stratify : bool, default=True
        Keep the same share of each class (at least one label of each), or of each tenth of the sorted numbers.

    Returns
    -------
    ndarray (n,)
        Like `data.y`, with NaN or None where hidden.

    Raises
    ------
    ParameterError, DataError
        If `fraction` is outside (0, 1], `seed` is no seed, there is no label, or the data are no HetData.
    """
    check_het_data(data, "label_split")
    if not (finite(fraction) and 0 < fraction <= 1):
        raise ParameterError(f"fraction={shown(fraction)} must be above 0 and at most 1: 0.1 keeps one label in ten.")
    check_flags(stratify=stratify)
    labelled = np.flatnonzero(data.labelled)
    if len(labelled) == 0:
        raise DataError("The data have no label to split: give a target.")
    check_seed(seed)
    rng = np.random.default_rng(seed)
    strata = _strata(data, labelled) if stratify else np.zeros(len(labelled), dtype=np.int64)
    keep = labelled[_chosen(strata, fraction, rng, each=stratify and data.target_kind == "classification")]
    y = np.full(data.n, np.nan if data.y.dtype.kind == "f" else None, dtype=data.y.dtype)
    y[keep] = data.y[keep]
    return y


def _strata(data: HetData, labelled: NDArray[np.int64]) -> NDArray[np.int64]:
    if data.target_kind == "classification":
        return np.unique(data.y[labelled].astype(str), return_inverse=True)[1]
    return _tenths(data.y[labelled])


def _tenths(numbers: NDArray) -> NDArray[np.int64]:
    """Return the tenth of the sorted numbers (m,) in which each is, equal ones in the order of the rows."""
    strata = np.empty(len(numbers), dtype=np.int64)
    strata[np.argsort(numbers, kind="stable")] = np.arange(len(numbers)) * STRATA // len(numbers)
    return strata


def _chosen(strata: NDArray[np.int64], fraction: float, rng: np.random.Generator, each: bool) -> NDArray[np.int64]:
    """Choose round(fraction * m) places, the same share of each stratum up to rounding.

    What rounding leaves over goes to the strata with the largest remainders, equal ones in random order.
    """
    sizes = np.bincount(strata)
    exact = sizes * fraction
    # a hair more, so that 0.3 * 10 is 3
    quota = np.floor(exact + 1e-9).astype(np.int64)
    # rounding's rest to the largest remainders, ties at random
    order = np.lexsort((rng.permutation(len(sizes)), -(exact - quota)))
    quota[order[: max(1, round(fraction * len(strata))) - quota.sum()]] += 1
    if each:
        # at least one label of each class: without it a class could not be learned
        quota = np.maximum(quota, 1)
    return np.flatnonzero(_ranked(strata, rng) < quota[strata])


def _ranked(strata: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the random rank of each place within its stratum, from 0."""
    sizes, shuffled = np.bincount(strata), rng.permutation(len(strata))
    # stable: shuffled rows keep their shuffled order within a stratum
    by_stratum = shuffled[np.argsort(strata[shuffled], kind="stable")]
    rank = np.empty(len(strata), dtype=np.int64)
    rank[by_stratum] = np.arange(len(strata)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rank


def non_overlapping(data: HetData, share: float = 0.3, seed: int = 0, graphs: bool = False) -> HetData:
    """Let a random share of the instances lose half of their sources.

    An instance with c sources loses c // 2 of them, chosen at random, so one with a single source keeps it. With
    `graphs`, a graph in which it has a link is one of its sources, and losing it is losing all its links there.

    Parameters
    ----------
    data : HetData
    share : float, default=0.3
        Share of the instances in [0, 1].
    seed : int, default=0
        Seed of both choices.
    graphs : bool, default=False
        Whether graphs count as sources.

    Raises
    ------
    ParameterError
        If `share` is outside [0, 1], or `seed` is no seed.
    """
    check_het_data(data, "non_overlapping")
    check_flags(graphs=graphs)
    if not (finite(share) and 0 <= share <= 1):
        raise ParameterError(f"share={shown(share)} must be in [0, 1]: 0.3 is three instances in ten.")
    check_seed(seed)
    rng = np.random.default_rng(seed)
    hit = rng.permutation(data.n)[: round(share * data.n)]
    linked = [graph.degree > 0 for graph in data.graphs.values()] if graphs else []
    mask = np.vstack([data.mask, *linked])
    lost = np.zeros(mask.shape, dtype=bool)
    lost[:, hit] = _half(mask[:, hit], rng)
    gone = {name: which for name, which in zip(data.source_names, lost) if which.any()}
    more = ", graphs=True" if graphs else ""
    thinned = data._without_records(gone, f"non_overlapping(share={share!r}, seed={seed!r}{more})")
    unlinked = dict(zip(data.graph_names, lost[len(data.sources) :]))
    thinned.graphs = data.graphs | {name: _without(data.graphs[name], which) for name, which in unlinked.items()}
    return thinned


def _without(graph: Graph, which: NDArray[np.bool_]) -> Graph:
    """Return a graph without the links of some instances (n,)."""
    a, b, weights = graph.edges()
    kept = ~(which[a] | which[b])
    return graph.with_edge_arrays(a[kept], b[kept], weights[kept])


def _half(mask: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose, in each column, half (rounded down) of the true cells."""
    # infinite keys rank last: sources that an instance lacks are not among those it loses
    keys = np.where(mask, rng.random(mask.shape), np.inf)
    rank = np.argsort(np.argsort(keys, axis=0), axis=0)
    return mask & (rank < mask.sum(axis=0) // 2)


def target_split(data: HetData, name: str, count: int, seed: int = 0) -> NDArray:
    """Keep the labels of a few instances of one source, the target domain, and all labels of the other sources.

    More examples take in the fewer ones of the same seed.

    Parameters
    ----------
    data : HetData
        With classes as labels; its sources are domains, see `hetcore.data.plain.domains`.
    name : str
        The source that is the target domain.
    count : int
        Instances of each class to keep, at least 1; a class keeps one instance back to be scored by, if it has two.
    seed : int, default=0
        Seed of the choice.

    Returns
    -------
    ndarray (n,)
        Like `data.y`, with None where hidden.

    Raises
    ------
    ParameterError, DataError
        If `count` is no whole number from 1, `seed` is no seed, there is no such source, or its labels are no classes.
    """
    check_het_data(data, "target_split")
    if not (whole(count) and count >= 1):
        raise ParameterError(f"count={shown(count)} must be a whole number of at least 1: the target needs examples.")
    check_seed(seed)
    of_target = np.zeros(data.n, dtype=bool)
    of_target[data.rows(name)] = True
    places = np.flatnonzero(of_target & data.labelled)
    if data.target_kind != "classification" or len(places) == 0:
        raise DataError(f"The rows of {quoted(name)} have no classes: give labels that are classes, for some of them.")
    strata = _strata(data, places)
    # one of each class stays to be scored
    most = np.maximum(np.bincount(strata) - 1, 1)
    rank = _ranked(strata, np.random.default_rng(seed))
    y = data.y.copy()
    y[places[rank >= np.minimum(min(count, data.n), most)[strata]]] = None
    return y


def one_against_rest(data: HetData, label: str, seed: int = 0) -> HetData:
    """Keep one class and, in each source, as many instances of the others, whose label becomes "not LABEL".

    Instances without a label stay.

    Parameters
    ----------
    data : HetData
    label : str
        The class.
    seed : int, default=0
        Seed of the choice among the others.

    Raises
    ------
    ParameterError, DataError
        If `seed` is no seed, or no instance is of the class, or all are.
    """
    check_het_data(data, "one_against_rest")
    # None is no label, and a list none of the labels
    own = data.labelled & (data.y == label if isinstance(label, str) else False)
    others = data.labelled & ~own
    if data.target_kind != "classification" or not own.any() or not others.any():
        raise DataError(f"{quoted(label)} is not one of several classes: choose one of {listed(data.classes)}.")
    check_seed(seed)
    rng, keep = np.random.default_rng(seed), own | ~data.labelled
    # by source: each keeps as many others as it has of the class, so that no source tells the class by its size
    for mask in data.mask:
        found = rng.permutation(np.flatnonzero(mask & others))
        keep[found[: np.count_nonzero(mask & own)]] = True
    y = np.where(own, label, f"not {label}").astype(object)
    y[~data.labelled] = None
    step = f"one_against_rest({label!r}, seed={seed!r})"
    return data.with_target(y, "classification")._taken(np.flatnonzero(keep), step)


def stratified(key: NDArray, n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a fold number for each row: rows are dealt in the order of a key, equal ones shuffled.

    So the folds have nearly the same share of each class, or the same spread of numbers, whatever the class sizes are.

    Parameters
    ----------
    key : (m,) array
        Classes or numbers.
    n_folds : int
    rng : numpy Generator

    Returns
    -------
    (m,) int64
        In 0..n_folds-1; sizes differ by at most 1.
    """
    return dealt_in_order(key, np.argsort(rng.random(len(key)), kind="stable"), n_folds)


def stratified_groups(key: NDArray, groups: NDArray, n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a fold number for each row, rows of one group in one fold.

    Groups are dealt by their commonest class, or by the tenth in which their mean is, the large ones of each first.

    Parameters
    ----------
    key : (m,) array
        Classes or numbers.
    groups : (m,) array
        The group of each row, of values that can be sorted.
    n_folds : int
    rng : numpy Generator

    Returns
    -------
    (m,) int64
        In 0..n_folds-1; numbers of groups differ by at most 1.
    """
    _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if key.dtype.kind == "f":
        own = _tenths(np.bincount(group, weights=key) / sizes)
    else:
        classes, codes = np.unique(key, return_inverse=True)
        counts = np.bincount(group * len(classes) + codes, minlength=len(sizes) * len(classes))
        own = counts.reshape(len(sizes), -1).argmax(axis=1)
    order = rng.permutation(len(sizes))
    return dealt_in_order(own, order[np.argsort(-sizes[order], kind="stable")], n_folds, rng)[group]


def dealt_in_order(
    key: NDArray | None, order: NDArray[np.int64], n_folds: int, rng: np.random.Generator | None = None
) -> NDArray[np.int64]:
    """Return a fold number for each row, where the order of rows with the same key is given.

    Parameters
    ----------
    key : (m,) array or None
        By which the rows are sorted first.
    order : (m,) int64
        0..m-1, shuffled.
    n_folds : int
    rng : numpy Generator, optional
        If given, the folds take turns in an order that is drawn anew each time; else 0, 1, ...

    Returns
    -------
    (m,) int64
    """
    sorted_rows = order if key is None else order[np.argsort(key[order], kind="stable")]
    if rng is None:
        turns = np.arange(order.size) % n_folds
    # a random order within each turn: else the first fold would always have the smallest key
    else:
        rounds = np.tile(np.arange(n_folds), (-(-order.size // n_folds), 1))
        turns = rng.permuted(rounds, axis=1).ravel()[: order.size]
    fold = np.empty(order.size, np.int64)
    fold[sorted_rows] = turns
    return fold
