"""The steps of `make_heterogeneous`: hidden views, their columns, coverage, targets and links. All vectorised."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

__all__ = [
    "assortative_pairs",
    "carrying_columns",
    "coverage_mask",
    "realised_homophily",
    "signal_and_views",
    "targets",
]

N_CARRIERS = 3


def signal_and_views(shares: Sequence[float], together: str, n: int, n_views: int, rng: np.random.Generator):
    """Return the signal (n, n_views), of variance 1, and each source's view (n, n_views) of it.

    A view has the correlation sqrt(share) with the signal. In "views" each view is the signal through noise of its own;
    in "parts" the views are independent and the signal is their weighted sum (and the rest that no source sees).
    """
    own = [rng.standard_normal((n, n_views)) for _ in shares]
    base = rng.standard_normal((n, n_views))
    if together == "views":
        return base, [np.sqrt(r) * base + np.sqrt(1 - r) * e for r, e in zip(shares, own)]
    unseen = np.sqrt(max(1.0 - sum(shares), 0.0)) * base
    return sum((np.sqrt(r) * u for r, u in zip(shares, own)), unseen), own


def carrying_columns(view: np.ndarray, n_features: int, missing: float, rng: np.random.Generator) -> np.ndarray:
    """Return standard normal columns (m, n_features) in which each hidden number is a signed sum of at most three.

    The other columns, and the carriers one by one but for that sum, are noise. A share `missing` of the cells is NaN.
    """
    columns = rng.standard_normal((len(view), n_features))
    n_carriers = min(N_CARRIERS, n_features // view.shape[1])
    places = rng.permutation(n_features)[: n_carriers * view.shape[1]].reshape(view.shape[1], n_carriers)
    for hidden, place in zip(view.T, places):
        direction = rng.choice([-1.0, 1.0], n_carriers) / np.sqrt(n_carriers)
        columns[:, place] += np.outer(hidden - columns[:, place] @ direction, direction)
    columns[rng.random(columns.shape) < missing] = np.nan
    return columns


def coverage_mask(shares: Sequence[float], n: int, rng: np.random.Generator) -> np.ndarray:
    """Return (n_sources, n) bool: round(share * n) instances a source, and one source at random for the uncovered.

    The instances of the first source come first, then those that the second adds, and so on: so their ids appear in the
    order of their numbers.
    """
    mask = np.zeros((len(shares), n), dtype=bool)
    for row, share in zip(mask, shares):
        row[rng.permutation(n)[: max(round(share * n), 1)]] = True
    bare = np.flatnonzero(~mask.any(axis=0))
    mask[rng.integers(len(shares), size=len(bare)), bare] = True
    return mask[:, np.argsort(mask.argmax(axis=0), kind="stable")]


def targets(signal: np.ndarray, task: str, noise: float, rng: np.random.Generator) -> np.ndarray:
    """Return y (n,): the signal plus noise (float64), or the class of the largest signal, some at random (str)."""
    n, n_views = signal.shape
    if task == "regression":
        return np.sqrt(1 - noise) * signal[:, 0] + np.sqrt(noise) * rng.standard_normal(n)
    drawn = np.where(rng.random(n) < noise, rng.integers(n_views, size=n), signal.argmax(axis=1))
    return np.array([f"class_{k}" for k in range(1, n_views + 1)])[drawn]


def assortative_pairs(y: np.ndarray, homophily: float, n_pairs: int, rng: np.random.Generator) -> np.ndarray:
    """Return distinct linked pairs (at most n_pairs, 2), first < second, with the wanted homophily of y.

    One end is drawn at random. Numbers: the other end has the rank of a normal number correlated with the first end's.
    Classes: the other end is of the first end's class with the probability `homophily`, else of another.
    """
    order = np.argsort(y, kind="stable")
    first = rng.integers(len(y), size=n_pairs)  # in order of y
    if y.dtype.kind == "f":
        second = _partner_by_rank(first, len(y), homophily, rng)
    else:
        second = _partner_by_class(first, y[order], homophily, rng)
    pairs = np.sort(order[np.column_stack([first, second])], axis=1)
    return np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)


def _partner_by_rank(first: np.ndarray, n: int, correlation: float, rng: np.random.Generator) -> np.ndarray:
    score = scipy.special.ndtri((first + 0.5) / n)
    wanted = correlation * score + np.sqrt(1 - correlation**2) * rng.standard_normal(len(first))
    return np.minimum((scipy.special.ndtr(wanted) * n).astype(np.int64), n - 1)


def _partner_by_class(first: np.ndarray, sorted_y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    _, code, counts = np.unique(sorted_y, return_inverse=True, return_counts=True)
    start, size = (np.cumsum(counts) - counts)[code[first]], counts[code[first]]
    draw = rng.random(len(first))
    inside = start + (draw * size).astype(np.int64)
    outside = (draw * (len(sorted_y) - size)).astype(np.int64)
    outside = np.where(outside >= start, outside + size, outside) % len(sorted_y)
    return np.where(rng.random(len(first)) < share, inside, outside)


def realised_homophily(y: np.ndarray, pairs: np.ndarray) -> float:
    """Return the correlation of y over pairs (numbers), or the share of pairs within a class; NaN without pairs."""
    if not len(pairs):
        return float("nan")
    if y.dtype.kind != "f":
        return float((y[pairs[:, 0]] == y[pairs[:, 1]]).mean())
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return float(np.corrcoef(y[both[:, 0]], y[both[:, 1]])[0, 1])
