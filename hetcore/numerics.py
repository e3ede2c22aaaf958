"""Very large and very small numbers: squared without overflow, narrowed without infinities.

Squares are taken of quotients by a power of two, which changes no other digit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

__all__ = [
    "MOST_DOUBLE", "cache_blocks", "fits_double", "log_sum_exp", "mean_and_deviation", "means_and_deviations",
    "narrowed", "power_of_two", "product", "root_mean_square", "row_blocks", "softmax", "standard_error", "to_float32",
]  # fmt: skip

MOST_DOUBLE = 10_000_000
"""Cells of a matrix in float64, 80 MB; what has more is kept in float32, and worked on some rows at a time."""

IN_CACHE = 262_144  # cells of a matrix in float64 that the processor's caches hold through several steps
FEW = 8  # numbers that NumPy adds up one after the other; of more it makes several sums


def to_float32(X: NDArray) -> NDArray[np.float32]:
    """Return X as float32; what is beyond its range becomes its end."""
    end = np.finfo(np.float32).max
    # the end of float32 rather than infinity: trees order values, and order is kept
    return X if X.dtype == np.float32 else np.clip(X, -end, end).astype(np.float32)


def fits_double(cells: int) -> bool:
    """Return whether a matrix of so many cells is kept in float64."""
    return cells <= MOST_DOUBLE


def narrowed(X: NDArray) -> NDArray:
    """Return X, in float32 if it has very many cells."""
    return X if fits_double(X.size) else X.astype(np.float32, copy=False)


def row_blocks(X: NDArray) -> list[slice]:
    """Return slices of rows of X (n, d), in order, each of at most MOST_DOUBLE cells; one if they are no more."""
    step = max(1, len(X) if fits_double(X.size) else MOST_DOUBLE // X.shape[1])
    return [slice(first, first + step) for first in range(0, max(len(X), 1), step)]


def cache_blocks(n: int, d: int) -> list[slice]:
    """Return slices of n rows of d columns, in order, each of few enough cells to stay in the processor's caches."""
    step = max(1, IN_CACHE // max(d, 1))
    return [slice(first, first + step) for first in range(0, max(n, 1), step)]


def product(X: NDArray, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return X @ coefficients (n, K), in float64 without a copy of all of X (n, d) in it."""
    if X.dtype == np.float64 or fits_double(X.size):
        return X @ coefficients
    found = np.empty((len(X), coefficients.shape[1]))
    for some in row_blocks(X):
        np.matmul(X[some].astype(np.float64), coefficients, out=found[some])
    return found


def power_of_two(values: ArrayLike, axis: int | None = None) -> NDArray[np.float64]:
    """Return the powers of two whose quotients with `values` are at most 2 and, for the largest one, at least 1.

    Parameters
    ----------
    values : array-like of float
        NaN is missing; not all infinite.
    axis : int or None, default=None
        Along which the largest is sought; None seeks it in all.

    Returns
    -------
    float64
        Without that axis; 1 where every value is zero or missing.
    """
    sizes = np.abs(np.nan_to_num(np.asarray(values, np.float64), nan=0.0, posinf=0.0, neginf=0.0))
    largest = sizes.max(axis=axis, initial=0.0)
    # the exponent of the smallest normal number: a smaller unit would make quotients infinite
    exponents = np.maximum(np.frexp(largest)[1] - 1, -1022)
    return np.where(largest > 0, np.ldexp(1.0, exponents), 1.0)


def log_sum_exp(values: NDArray[np.float64], axis: int | None = None) -> Any:
    """Return ln(sum(exp(values))) along an axis, of all unless given, with the bits of scipy.special.logsumexp.

    A tenth of its time where they are few: weights of boosting are normalised, and losses looked at, in every round.
    Values are finite or -inf.
    """
    largest = values.max(axis=axis, keepdims=True)
    # -inf throughout, or NaN: SciPy knows what that is
    if not np.isfinite(largest).all():
        return special.logsumexp(values, axis=axis)
    equal = values == largest
    # the largest apart from the sum, as there: it is 1 to the last digit
    rest = np.exp(np.where(equal, -np.inf, values) - largest).sum(axis=axis, keepdims=True)
    count = equal.sum(axis=axis, keepdims=True, dtype=np.float64)
    return (np.log1p(rest / count) + np.log(count) + largest).squeeze(axis)[()]


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exp(scores) over their sum along the last axis of scores (..., K), with the bits of SciPy's softmax.

    Class by class, not row by row: for a few classes in a third of its time.
    """
    n_classes = scores.shape[-1]
    if not 0 < n_classes < FEW:
        return special.softmax(scores, axis=-1)
    largest = scores[..., 0].copy()
    for k in range(1, n_classes):
        np.maximum(largest, scores[..., k], out=largest)
    shares = np.exp(scores - largest[..., None])
    total = shares[..., 0].copy()
    for k in range(1, n_classes):
        total += shares[..., k]
    shares /= total[..., None]
    return shares


def root_mean_square(values: ArrayLike) -> float:
    """Return sqrt(mean(values^2)), finite for all finite values."""
    unit = power_of_two(values)
    return float(np.sqrt(np.mean((np.asarray(values) / unit) ** 2)) * unit)


def standard_error(values: ArrayLike, axis: int = -1) -> Any:
    """Return the standard error of the mean along an axis, s / sqrt(m) with s over m - 1; NaN of a single value."""
    values = np.asarray(values, float)
    m = values.shape[axis]
    # np.std of one value would be a warning and a division by 0
    return values.std(axis=axis, ddof=1) / np.sqrt(m) if m > 1 else values.sum(axis=axis) * np.nan


def means_and_deviations(X: NDArray, weights: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return weighted mean and standard deviation of each column; one that is all but constant has deviation 1.

    (1e-12 of the mean where that is more, so that what rounding leaves of it stays small.)

    Parameters
    ----------
    X : (n, d) float64
        Finite.
    weights : (n,) float64
        At least 0, not all 0.

    Returns
    -------
    means, deviations : (d,) float64
    """
    if not weights.all():  # rows that count nothing may lie anywhere
        X, weights = X[weights > 0], weights[weights > 0]
    # weights as well: a thousand weights of 1e305 have no sum
    unit, weights = power_of_two(X, axis=0), weights / power_of_two(weights)
    scaled = X / unit
    means = np.average(scaled, axis=0, weights=weights)
    deviations = np.sqrt(np.average((scaled - means) ** 2, axis=0, weights=weights)) * unit
    means = means * unit
    # a constant column has a deviation of rounding alone; divided by it, noise would become a column of size 1
    varies = deviations > 1e-12 * np.maximum(np.abs(means), 1e-300)
    return means, np.where(varies, deviations, np.maximum(1.0, 1e-12 * np.abs(means)))


def mean_and_deviation(y: NDArray, weights: NDArray) -> tuple[float, float]:
    """Return `means_and_deviations` of one column (n,)."""
    (mean,), (deviation,) = means_and_deviations(y[:, None], weights)
    return float(mean), float(deviation)
