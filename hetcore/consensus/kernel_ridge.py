r"""Features of the Gaussian kernel at landmarks, and the prediction of new rows by what was learned from them.

The kernel k(x, l) = exp(-|x - l|^2 / s), with s the mean squared distance of the table's rows, is taken at m landmark
rows l: Phi = K_nm T with T T' = K_mm^-1 (the Nystroem features). What is linear in Phi sees what shallow trees need
hundreds of splits for (a linear trend, a direction between two columns); `hetcore.consensus.smooth_learner` takes ridge
steps on it. Phi c is K_nm T c: the T c, coefficients of the kernel at the landmarks, are kept for new rows.

Reference: Williams and Seeger (2001), Nystroem method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from hetcore.errors import ModelFileError
from hetcore.kernels.threads import run_each
from hetcore.numerics import cache_blocks
from hetcore.schema import Array, Stored, checked

__all__ = ["LandmarkFeatures", "SmoothPrediction", "distances", "landmark_count", "square_lengths", "whitened"]

MOST_LANDMARKS = 300
FEW_LANDMARKS = 100
MOST_FEATURES = 30_000_000  # numbers of Phi kept for one table: 240 MB
JITTER = 1e-8
ROUNDING = 1e-12  # of a squared distance, over the largest square of a landmark
BLOCK = 2_048  # rows that are worked on at once


def landmark_count(n: int) -> int:
    """Return how many landmarks a table of n rows gets: 300, fewer where Phi would not fit."""
    return int(min(n, MOST_LANDMARKS, max(16, MOST_FEATURES // max(n, 1))))


def _landmarks(n: int, rng: np.random.Generator, first: NDArray | None) -> NDArray:
    """Return landmark rows of n: drawn from all, or `first` where there are no more of them, filled up to 100."""
    most = landmark_count(n)
    if first is None or first.size >= most:
        return rng.choice(n, most, replace=False)
    rest = np.setdiff1d(np.arange(n), first)
    return np.concatenate([first, rng.choice(rest, max(0, min(most, FEW_LANDMARKS, n) - first.size), replace=False)])


class LandmarkFeatures:
    """The features Phi of a table, and what maps new rows to them.

    Parameters
    ----------
    X : (n, d) float32
        NaN is missing and takes its column's mean.
    rng : numpy Generator
        Draws the landmarks.
    first : (k,) int, optional
        Rows to be landmarks before others are drawn: of a few labelled rows, all, since the fit is in their span.

    Attributes
    ----------
    center, scale : (d,) float64
    landmarks : (m, d) float64
    turn : (m, m) float64
        T.
    """

    def __init__(self, X: NDArray, rng: np.random.Generator, first: NDArray | None = None) -> None:
        self.center = _means(X)
        # the mean squared distance of two rows is twice the mean square about the mean, without going over pairs
        parts = cache_blocks(*X.shape)
        lengths = [(_centred(X[some], self.center) ** 2).sum(axis=1) for some in parts]
        spread = 2.0 * np.concatenate(lengths).mean()
        root = np.sqrt(spread if spread > 0 else 1.0)
        self.scale = np.full(X.shape[1], root)
        # equal landmarks would make the kernel matrix singular
        self.landmarks = np.unique(_centred(X[_landmarks(len(X), rng, first)], self.center) / root, axis=0)
        self.turn = whitened(_gaussian(self.landmarks, self.landmarks))

    def of(
        self, X: NDArray, rows: NDArray | None = None, n_jobs: int = 1, out: NDArray | None = None
    ) -> NDArray[np.float64]:
        """Return Phi of rows X (n, d), or of some of them (b,), in `out` if it is given; on threads, the same bits."""
        return self._of_each(X, rows, n_jobs, lambda kernel: kernel @ self.turn, out)

    def kernel_of(self, X: NDArray, rows: NDArray, n_jobs: int = 1) -> NDArray[np.float64]:
        """Return the kernel (b, m) of some rows (b,) of X (n, d) with the landmarks; on threads, the same bits."""
        return self._of_each(X, rows, n_jobs, lambda kernel: kernel)

    def _of_each(
        self, X: NDArray, rows: NDArray | None, n_jobs: int, made: Callable[[NDArray], NDArray], out: Any = None
    ) -> NDArray[np.float64]:
        count = len(X) if rows is None else len(rows)
        found = np.empty((count, len(self.turn))) if out is None else out

        def some_rows(some: slice) -> None:
            given = _centred(X[some] if rows is None else X[rows[some]], self.center)
            given /= self.scale
            found[some] = made(_gaussian(given, self.landmarks))

        run_each(some_rows, _blocks(count), n_jobs)
        return found

    def dual(self, coefficients: NDArray) -> NDArray:
        """Return the coefficients (m, K) of the kernel at the landmarks that equal `coefficients` of Phi."""
        return self.turn @ coefficients


class SmoothPrediction(Stored):
    """What was learned from the features of landmarks, without the training rows.

    Parameters
    ----------
    arrays : mapping
        Center (d,), scale (d,) with 0 for a column that says nothing, landmarks (m, d), and dual (m, K): the kernel's
        coefficients, see `LandmarkFeatures.dual`.
    sizes : dict of str to int, optional
        Known sizes by letter; those of the arrays join them.

    Raises
    ------
    ModelFileError
        If the arrays do not fit together or hold a number that is not finite.
    """

    _stored = {
        "center": Array("d"), "scale": Array("d", low=0), "landmarks": Array("m d"), "dual": Array("m K"),
    }  # fmt: skip

    def __init__(self, arrays: Mapping[str, NDArray], sizes: dict[str, int] | None = None) -> None:
        try:
            values = checked(self._stored, {}, arrays, sizes)
        except ModelFileError as error:
            raise ModelFileError(f"A smooth learner of the model file does not fit together. {error}") from None
        self.center, self.scale, self.landmarks, self.dual = values.values()

    @classmethod
    def _read(cls, meta: Mapping[str, Any], arrays: Mapping[str, NDArray], sizes: dict[str, int]) -> SmoothPrediction:
        return cls(arrays, sizes)

    def predict(self, X: NDArray) -> NDArray[np.float64]:
        """Return the fit at new rows X (m, d) float32, (m, K)."""
        return self.compared(X) @ self.dual

    def compared(self, X: NDArray) -> NDArray[np.float64]:
        """Return the kernel of new rows X (m, d) float32 with the landmarks, (m, l)."""
        rows = _centred(X, self.center)
        rows *= np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)
        return _gaussian(rows, self.landmarks)

    def to_arrays(self) -> dict[str, NDArray]:
        """Return the arrays given."""
        return self.to_state()[1]


def whitened(kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return T (m, m) with T T' the inverse of the kernel at landmarks (m, m), which is changed."""
    # nearly equal ones are all but singular, and the Cholesky factor needs a little more on the diagonal
    kernel[np.diag_indices_from(kernel)] += JITTER * len(kernel)
    factor = np.linalg.cholesky(kernel)
    # to solve for each row would take as long as to multiply it, and copies of them all
    return np.ascontiguousarray(solve_triangular(factor, np.eye(len(factor)), lower=True).T)


def square_lengths(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared length of each row (n,), some rows at a time: the squares of all need not be in memory."""
    found = np.empty(len(rows))
    for some in _blocks(len(rows)):
        (rows[some] ** 2).sum(axis=1, out=found[some])
    return found


def _blocks(n: int) -> list[slice]:
    """Return slices of n rows, in order, of at most BLOCK each."""
    return [slice(first, first + BLOCK) for first in range(0, n, BLOCK)]


def _means(X: NDArray) -> NDArray[np.float64]:
    """Return the means (d,) of what is known of columns (n, d); 0 of a column that no row has."""
    known = ~np.isnan(X)
    # mostly nothing is missing, and there is nothing to replace
    values = X if known.all() else np.where(known, X, 0.0)
    return values.sum(axis=0, dtype=np.float64) / np.maximum(known.sum(axis=0), 1)


def _centred(X: NDArray, center: NDArray[np.float64]) -> NDArray[np.float64]:
    rows = X.astype(np.float64, copy=False) - center
    missing = np.isnan(rows)
    if missing.any():
        # a missing cell is the column's mean: it adds nothing to any distance
        rows[missing] = 0.0
    return rows


def _gaussian(rows: NDArray, landmarks: NDArray) -> NDArray[np.float64]:
    """Return exp(-|x - l|^2), (n, m)."""
    return _compared(rows, landmarks, lambda squares: np.exp(np.negative(squares, out=squares), out=squares))


def distances(rows: NDArray, landmarks: NDArray) -> NDArray[np.float64]:
    """Return |x - l| of rows x (n, d) and landmarks l (m, d), (n, m); 0 where it is a rounding."""
    rounding = ROUNDING * (landmarks**2).sum(axis=1).max(initial=0.0)

    def change(squares: NDArray) -> NDArray:
        # the root of a rounding would be a hundred million times as large
        squares *= squares > rounding
        return np.sqrt(squares, out=squares)

    return _compared(rows, landmarks, change)


def _compared(rows: NDArray, landmarks: NDArray, change: Callable[[NDArray], NDArray]) -> NDArray[np.float64]:
    """Return squared distances (n, m), changed in place some rows at a time."""
    lengths, own = square_lengths(rows), (landmarks**2).sum(axis=1)
    found = np.empty((len(rows), len(landmarks)))
    # some rows at a time, which the processor's caches hold through all five steps: measured, a third of the time
    for some in _blocks(len(rows)):
        squares, products = np.add(lengths[some, None], own, out=found[some]), rows[some] @ landmarks.T
        products *= 2.0
        squares -= products
        # rounding can leave a distance a little below 0
        change(np.maximum(squares, 0.0, out=squares))
    return found
