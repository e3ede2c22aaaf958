"""Quantile bins: float columns become one byte per value, once for every tree, class, iteration and what-if run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hetcore.data.columns import whole
from hetcore.data.text import shown
from hetcore.errors import DataError, ModelFileError, ParameterError
from hetcore.kernels.binning import bin_values, find_thresholds
from hetcore.kernels.layout import MISSING_BIN
from hetcore.kernels.threads import run_each
from hetcore.schema import Array, Stored

__all__ = ["BinMapper", "Block", "sampled_rows", "varying_columns"]

Block = tuple[slice, np.ndarray]  # which columns, and their values

_SAMPLE = 200_000  # rows that quantiles are taken from; more change a threshold by less than 1/1000 of the rows


def sampled_rows(n: int, random_state: int | np.random.Generator = 0) -> np.ndarray | slice:
    """Return which of n rows thresholds are found from: all, or 200,000 of them in ascending order."""
    if n <= _SAMPLE:
        return slice(None)
    # in ascending order, so that the rows are read from memory in turn
    return np.sort(np.random.default_rng(random_state).choice(n, _SAMPLE, replace=False))


def varying_columns(binned: np.ndarray, n_bins: np.ndarray) -> np.ndarray:
    """Return the columns that can part rows: of several bins, or of one bin and missing cells.

    Parameters
    ----------
    binned : (d, n) uint8
        See `BinMapper.transform`.
    n_bins : (d,) int32

    Returns
    -------
    (e,) int32
        Rising; column 0 where none varies, since a tree wants one.
    """
    varies = n_bins > 1
    for column in np.flatnonzero(~varies):
        varies[column] = binned[column].min(initial=MISSING_BIN) < binned[column].max(initial=0)
    found = np.flatnonzero(varies).astype(np.int32)
    return found if found.size else np.zeros(min(1, n_bins.size), np.int32)


class BinMapper(Stored):
    """Map each column to bins of nearly equal counts.

    A value v falls into the bin numbered by how many thresholds are below v. A column with at most `max_bins`
    distinct values has one bin for each; thresholds are midpoints between neighbouring values. Missing values (NaN)
    have bin 255.

    Parameters
    ----------
    max_bins : int, default=255
        Most bins of a column, in [2, 255], the missing one not counted.

    Attributes
    ----------
    thresholds : list of (n_bins - 1,) float32
        Increasing; one array per column.
    n_bins : (d,) int32
        Bins of each column, at least 1.
    missing_bin : int
        255.

    Raises
    ------
    ParameterError
        If `max_bins` is outside [2, 255].
    """

    missing_bin = MISSING_BIN
    _stored = {
        "thresholds": Array("c", np.float32, allows="inf"), "n_bins": Array("d", np.int32, low=1, high=MISSING_BIN),
    }  # fmt: skip

    def __init__(self, max_bins: int = 255) -> None:
        if not (whole(max_bins) and 2 <= max_bins <= MISSING_BIN):
            given = f"max_bins={shown(max_bins)}"
            raise ParameterError(f"{given} must be in [2, 255]: a bin is a byte, and 255 is for missing.")
        self.max_bins = int(max_bins)
        self.thresholds: list[np.ndarray] = []
        self._use(self.thresholds)

    def fit(self, X: np.ndarray, random_state: int | np.random.Generator = 0, n_jobs: int = 1) -> BinMapper:
        """Find the thresholds.

        Parameters
        ----------
        X : (n, d) float32
            NaN is missing.
        random_state : int or Generator, default=0
            Draws the 200,000 rows that the thresholds are found from where there are more.
        n_jobs : int, default=1
            Threads, each for some columns; the same thresholds.

        Returns
        -------
        BinMapper
            This object.

        Raises
        ------
        DataError
            If X is not two-dimensional.
        """
        X = _as_table(X)
        X = X[sampled_rows(X.shape[0], random_state)]
        self._use(run_each(lambda f: self._cuts(X[:, f]), range(X.shape[1]), n_jobs))
        return self

    def transform(self, X: np.ndarray, n_jobs: int = 1, columns: np.ndarray | None = None) -> np.ndarray:
        """Return the bins of X.

        Parameters
        ----------
        X : (n, d) float32
            NaN is missing.
        n_jobs : int, default=1
            Threads, each for some rows; the same bins.
        columns : (c,) int, optional
            Those whose bins are asked for, by one thread; the others' are 0.

        Returns
        -------
        (d, n) uint8
            One row per column of X, C-contiguous.

        Raises
        ------
        DataError
            If X has another number of columns than the data the thresholds were found on.
        """
        X = _as_table(X)
        if X.shape[1] != len(self.thresholds):
            raise DataError(f"X has {X.shape[1]} columns, the bins {len(self.thresholds)}: give the same columns.")
        if columns is not None:
            binned, some = np.zeros(X.shape[::-1], np.uint8), np.empty((len(columns), len(X)), np.uint8)
            bin_values(X.take(columns, axis=1), self._padded[columns], self.n_bins[columns], some)
            binned[columns] = some
            return binned
        # a column's bins lie together: trees read whole columns
        binned = np.empty((X.shape[1], X.shape[0]), np.uint8)
        if n_jobs == 1:
            bin_values(X, self._padded, self.n_bins, binned)
            return binned
        parts = [slice(len(X) * t // n_jobs, len(X) * (t + 1) // n_jobs) for t in range(n_jobs)]
        run_each(lambda part: self._bin_rows(X, part, binned), parts, n_jobs)
        return binned

    def _bin_rows(self, X: np.ndarray, part: slice, binned: np.ndarray) -> None:
        own = np.empty((X.shape[1], len(X[part])), np.uint8)
        # to a table of its own: a part of columns would be another type, compiled once more
        bin_values(X[part], self._padded, self.n_bins, own)
        binned[:, part] = own

    def of_columns(self, columns: np.ndarray) -> BinMapper:
        """Return the mapper of some columns (c,) alone."""
        part = BinMapper(self.max_bins)
        part._use([self.thresholds[f] for f in columns])
        return part

    def fit_blocks(self, blocks: Iterable[Block], shape: tuple[int, int]) -> np.ndarray:
        """Find the thresholds of columns that come some at a time, so that a byte a cell remains of each.

        Parameters
        ----------
        blocks : iterable of (slice, (n, c) float32)
            Which columns, rising and all of them, and their values.
        shape : (d, n)

        Returns
        -------
        (d, n) uint8
            As of `transform`.
        """
        binned, thresholds = np.empty(shape, np.uint8), []
        for columns, X in blocks:
            part = BinMapper(self.max_bins).fit(X)
            binned[columns] = part.transform(X)
            thresholds += part.thresholds
        self._use(thresholds)
        return binned

    def transform_blocks(self, blocks: Iterable[Block], n: int) -> np.ndarray:
        """Return the bins (d, n) of columns that come as for `fit_blocks`."""
        binned = np.empty((len(self.thresholds), n), np.uint8)
        for columns, X in blocks:
            binned[columns] = self.of_columns(np.arange(len(self.thresholds))[columns]).transform(X)
        return binned

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the thresholds as two arrays that `from_arrays` takes."""
        joined = np.concatenate([np.empty(0, np.float32), *self.thresholds])
        return {"thresholds": joined, "n_bins": self.n_bins.copy()}

    _held = to_arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> BinMapper:
        """Rebuild a mapper; ModelFileError if the arrays are not what `to_arrays` gives."""
        return cls.from_state({}, arrays)

    @classmethod
    def _made(cls, values: dict[str, Any], sizes: dict[str, int]) -> BinMapper:
        joined, n_bins = values["thresholds"], values["n_bins"]
        ends = np.cumsum(n_bins - 1)
        within = np.ones(joined.size, bool)
        # one past the last column there is nothing to mark
        within[ends[:-1][ends[:-1] < joined.size]] = False  # where the next column begins
        rising = np.diff(joined, prepend=np.float32(-np.inf)) > 0
        if ends[-1:].sum() != joined.size or np.isnan(joined).any() or not rising[within][1:].all():
            raise ModelFileError("The thresholds of the model file are not rising numbers, as many as n_bins says.")
        mapper = cls()
        mapper._use(np.split(joined, ends[:-1]) if n_bins.size else [])
        return mapper

    def _cuts(self, column: np.ndarray) -> np.ndarray:
        values = np.sort(column[~np.isnan(column)])
        # one buffer of the most there can be, for the number of cuts is known only afterwards
        room = np.empty(MISSING_BIN, np.float32)
        return room[: find_thresholds(values, self.max_bins, room)].copy()

    def _use(self, thresholds: list[np.ndarray]) -> None:
        self.thresholds = thresholds
        self.n_bins = np.array([cuts.size + 1 for cuts in thresholds], np.int32)
        # padded with infinity to a power of two, through which a search without branches halves its way
        self._padded = np.full((len(thresholds), 256), np.inf, np.float32)
        for row, cuts in zip(self._padded, thresholds):
            row[: cuts.size] = cuts


def _as_table(X: np.ndarray) -> np.ndarray:
    X = np.ascontiguousarray(X, dtype=np.float32)
    if X.ndim != 2:
        raise DataError(f"X has {X.ndim} dimensions and must have 2: rows and columns.")
    return X
