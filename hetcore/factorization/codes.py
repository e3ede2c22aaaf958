"""Codes of users, items, sensors or times as row numbers: whole numbers, or text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from hetcore.checks import check_arrays, even_array
from hetcore.data.columns import unmasked
from hetcore.data.identity import EXACT, is_missing
from hetcore.errors import DataError, ModelFileError

__all__ = ["CodeBook", "as_codes", "book_from"]


def as_codes(X: ArrayLike, n_modes: int) -> NDArray:
    """Return codes as an array (n, n_modes) of int64 or of text.

    Parameters
    ----------
    X : (n, n_modes) array-like
        Whole numbers (also as floats), or text; a table with text in it is text throughout.
    n_modes : int

    Raises
    ------
    DataError
        If X has another shape, a code is missing, or a number is not whole.
    """
    check_arrays(X, "A factorization")
    if issparse(X):
        raise DataError("X is sparse: give a dense array with a row per entry and a column of codes per mode.")
    X = even_array(unmasked(X), "X")
    if X.dtype.kind == "c":
        raise DataError("Complex data not supported: give codes that are whole numbers, or text.")
    if X.ndim != 2 or X.shape[1] != n_modes or X.shape[0] == 0:
        raise DataError(f"X has the shape {X.shape}: give a row per entry and {n_modes} columns of codes.")
    if X.dtype.kind in "biu":
        return X.astype(np.int64)
    if X.dtype.kind == "f":
        # beyond 2^53 two codes can be one float
        if not (np.isfinite(X).all() and (np.abs(X) < 2**53).all() and (X == np.floor(X)).all()):
            raise DataError("X has codes that are missing or no whole numbers: give whole numbers, or text.")
        return X.astype(np.int64)
    return _object_texts(X) if X.dtype.kind == "O" else X.astype(str)


def _object_texts(X: NDArray[np.object_]) -> NDArray[np.str_]:
    """Return codes of several types as text, a whole number the same whatever its type."""
    if any(map(is_missing, X.ravel())):
        raise DataError("X has missing codes: leave such entries out.")
    texts = [_written(code) for code in X.ravel()]
    # NumPy drops it, and two codes would be one
    if odd := [text for text in texts if text.endswith("\0")]:
        raise DataError(f"X has the code {odd[0]!r}, which ends in a NUL character: write it without.")
    return np.array(texts, dtype=str).reshape(X.shape)


def _written(code: Any) -> str:
    # 3.0 beside text and 3 are one code; beyond 2^53 several whole numbers are one float
    whole = isinstance(code, float | np.floating) and float(code).is_integer() and abs(code) <= EXACT
    return str(int(code)) if whole else str(code)


class CodeBook:
    """The codes of each mode, each with a row of one table: those of the first mode, of the second, ...

    Attributes
    ----------
    codes : list of (n_m,) int64 or text arrays
        Distinct codes of each mode, in order.
    offsets : (M + 1,) int64
        Where the rows of each mode begin; the last is N.
    """

    def __init__(self, codes: list[NDArray]) -> None:
        self.codes = codes
        self.offsets = np.concatenate([[0], np.cumsum([each.size for each in codes])]).astype(np.int64)

    @classmethod
    def of(cls, X: NDArray) -> CodeBook:
        """Return the book of some entries' codes (n, M)."""
        return cls([np.unique(column) for column in X.T])

    @property
    def n_rows(self) -> int:
        """N, the rows of all modes."""
        return int(self.offsets[-1])

    def rows(self, X: NDArray) -> NDArray[np.int32]:
        """Return the row (n, M) of each code, N for a code that the book does not have."""
        out = np.empty(X.shape, np.int32)
        for mode, codes in enumerate(self.codes):
            column = _in_kind_of(X[:, mode], codes)
            # a code beyond the last would be one place too far
            place = np.minimum(np.searchsorted(codes, column), codes.size - 1)
            out[:, mode] = np.where(codes[place] == column, self.offsets[mode] + place, self.n_rows)
        return out


def book_from(state: list[list[Any]]) -> CodeBook:
    """Return the book of codes as JSON has them; ModelFileError if these are none."""
    kind = str if isinstance(state[0][0], str) else int
    # True is an int in Python, and no code
    if not all(type(code) is kind for codes in state for code in codes):
        raise ModelFileError("The codes of the model file are no codes: save the model again.")
    codes = [np.array(each, dtype=str if kind is str else np.int64) for each in state]
    # in order, for places are found by halving
    if not all(each.size and (each[1:] > each[:-1]).all() for each in codes):
        raise ModelFileError("The codes of the model file are not in order: save the model again.")
    return CodeBook(codes)


def _in_kind_of(column: NDArray, codes: NDArray) -> NDArray:
    """Return codes as the book has them: numbers as text, or text that is a whole number as a number."""
    if codes.dtype.kind == "U":
        return column.astype(str)
    if column.dtype.kind != "U":
        return column
    known = {str(code): code for code in codes.tolist()}
    # text that no code of the book is written as: the least number, which none is
    return np.array([known.get(code, np.iinfo(np.int64).min) for code in column.tolist()], np.int64)
