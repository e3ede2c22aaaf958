"""The encoder of one column, by kind: `fit(column)`, `fill(out, column)`, `names`, `width` and its state."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data.columns import FLOAT_MAX
from hetcore.data.kinds import MAX_LEVELS, as_numbers, as_text, frequent_values, levels
from hetcore.errors import DataError

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import TfidfVectorizer

__all__ = ["ENCODERS", "ArrayEncoder", "BinaryEncoder", "NominalEncoder", "RealEncoder", "TextEncoder"]

MAX_WORDS = 500
MAX_ARRAY = 1 << 24
CHUNK = 20_000  # rows of text that are dense in memory at once
WORD = re.compile(r"(?u)\b\w\w+\b")

State = tuple[dict[str, Any], dict[str, NDArray]]


@dataclass(frozen=True)
class RealEncoder:
    """A number, as it is."""

    width = 1

    @classmethod
    def fit(cls, series: pl.Series | None) -> RealEncoder:
        return cls()

    def names(self, column: str) -> list[str]:
        return [column]

    def fill(self, out: NDArray[np.float32], series: pl.Series) -> None:
        numbers = as_numbers(series)
        # beyond float32 it would be infinite, which no tree can split by
        out[:, 0] = numbers.set(numbers.abs() > FLOAT_MAX, None).fill_null(np.nan).to_numpy()

    def to_state(self) -> State:
        return {}, {}

    @classmethod
    def from_state(cls, state: dict[str, Any], arrays: dict[str, NDArray]) -> RealEncoder:
        return cls()


@dataclass(frozen=True)
class BinaryEncoder:
    """0 for the first of two values, 1 for the second, missing for any other."""

    values: list[str]
    width = 1

    @classmethod
    def fit(cls, series: pl.Series) -> BinaryEncoder:
        return cls(levels(series))

    def names(self, column: str) -> list[str]:
        return [column]

    def fill(self, out: NDArray[np.float32], series: pl.Series) -> None:
        codes = _codes(series, self.values)
        # a third value is missing, not one of the two
        out[:, 0] = np.where(codes >= 0, codes, np.nan)

    def to_state(self) -> State:
        return {"levels": self.values}, {}

    @classmethod
    def from_state(cls, state: dict[str, Any], arrays: dict[str, NDArray]) -> BinaryEncoder:
        return cls(_checked_texts(state["levels"], 2))


@dataclass(frozen=True)
class NominalEncoder:
    """One column for each frequent value, and one for the rest if there was a rest."""

    values: list[str]
    rest: bool

    @classmethod
    def fit(cls, series: pl.Series) -> NominalEncoder:
        frequent = frequent_values(series).head(MAX_LEVELS)
        # a rest without a value in training would be a column of zeros; without frequent values there must be one
        # column
        return cls(frequent.to_list(), len(frequent) < as_text(series).drop_nulls().n_unique() or len(frequent) == 0)

    @property
    def width(self) -> int:
        return len(self.values) + self.rest

    def names(self, column: str) -> list[str]:
        return [f"{column}={value}" for value in self.values] + [f"{column}: other"] * self.rest

    def fill(self, out: NDArray[np.float32], series: pl.Series) -> None:
        codes = _codes(series, self.values)
        known = series.is_not_null().to_numpy()
        for i in range(len(self.values)):
            out[:, i] = codes == i
        if self.rest:
            out[:, -1] = codes < 0
        # missing, rather than none of the values
        out[~known] = np.nan

    def to_state(self) -> State:
        return {"levels": self.values, "rest": self.rest}, {}

    @classmethod
    def from_state(cls, state: dict[str, Any], arrays: dict[str, NDArray]) -> NominalEncoder:
        if not isinstance(state["rest"], bool):
            raise ValueError("rest is not true or false")
        return cls(_checked_texts(state["levels"], MAX_LEVELS), state["rest"])


@dataclass(frozen=True, eq=False)
class TextEncoder:
    """TF-IDF over a vocabulary; the number of words where no word occurs in two rows."""

    vocabulary: list[str]
    idf: NDArray[np.float32]

    @classmethod
    def fit(cls, series: pl.Series) -> TextEncoder:
        from sklearn.feature_extraction.text import TfidfVectorizer  # half a second that data without text save

        vectorizer = TfidfVectorizer(max_features=MAX_WORDS, min_df=2, sublinear_tf=True, dtype=np.float32)
        try:
            vectorizer.fit(as_text(series).drop_nulls())
        # raised too where all words are in every row
        except ValueError:  # scikit-learn's only word for an empty vocabulary
            return cls([], np.empty(0, np.float32))
        return cls(vectorizer.get_feature_names_out().tolist(), vectorizer.idf_.astype(np.float32))

    @property
    def width(self) -> int:
        return len(self.vocabulary) or 1

    def names(self, column: str) -> list[str]:
        return [f"{column}: {word}" for word in self.vocabulary] or [f"{column}: number of words"]

    def fill(self, out: NDArray[np.float32], series: pl.Series) -> None:
        texts = as_text(series)
        known = texts.is_not_null().to_numpy()
        given = texts.drop_nulls()
        rows = np.flatnonzero(known)
        # in chunks, for all rows of 500 words at once are a large table of mostly zeros
        for start in range(0, len(rows) if self.vocabulary else 0, CHUNK):
            part = given[start : start + CHUNK]
            out[rows[start : start + CHUNK]] = self._vectorizer.transform(part).toarray()
        if not self.vocabulary:
            # the same words as scikit-learn's pattern finds; polars' has no "(?u)", which is its default
            out[known, 0] = given.str.count_matches(WORD.pattern.removeprefix("(?u)")).to_numpy()

    @cached_property
    def _vectorizer(self) -> TfidfVectorizer:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(vocabulary=self.vocabulary, sublinear_tf=True, dtype=np.float32)
        vectorizer.idf_ = self.idf
        return vectorizer

    def to_state(self) -> State:
        return {"vocabulary": self.vocabulary}, {"idf": self.idf}

    @classmethod
    def from_state(cls, state: dict[str, Any], arrays: dict[str, NDArray]) -> TextEncoder:
        words, idf = _checked_texts(state["vocabulary"], MAX_WORDS), arrays["idf"]
        # the file's numbers are multiplied with every word, and an infinite one would spread
        if idf.dtype != np.float32 or idf.shape != (len(words),) or not (np.isfinite(idf) & (idf > 0)).all():
            raise ValueError("the weights of words do not fit the words")
        return cls(words, idf)


@dataclass(frozen=True)
class ArrayEncoder:
    """The numbers of each row's array, in C order."""

    shape: tuple[int, ...]

    @classmethod
    def fit(cls, array: NDArray) -> ArrayEncoder:
        return cls(tuple(array.shape[1:]))

    @property
    def width(self) -> int:
        # int64: a shape of a forged file could overflow 32 bits
        return int(np.prod(self.shape, dtype=np.int64))

    def names(self, column: str) -> list[str]:
        if len(self.shape) == 1:
            return [f"{column}[{i}]" for i in range(self.width)]
        return [f"{column}[{', '.join(map(str, index))}]" for index in np.ndindex(*self.shape)]

    def fill(self, out: NDArray[np.float32], array: NDArray) -> None:
        if array.shape[1:] != self.shape:
            raise DataError(f"The rows are of shape {array.shape[1:]}: give shape {self.shape}, as in training.")
        out[:] = array.reshape(len(array), -1)

    def to_state(self) -> State:
        return {"shape": list(self.shape)}, {}

    @classmethod
    def from_state(cls, state: dict[str, Any], arrays: dict[str, NDArray]) -> ArrayEncoder:
        shape = state["shape"]
        if not all(type(size) is int and size > 0 for size in shape) or not 0 < len(shape) <= 8:
            raise ValueError("the shape of an array")
        if math.prod(shape) > MAX_ARRAY:
            raise ValueError(f"an array of more than {MAX_ARRAY:,} numbers in a row")
        return cls(tuple(shape))


ENCODERS = {
    "real": RealEncoder,
    "binary": BinaryEncoder,
    "nominal": NominalEncoder,
    "text": TextEncoder,
    "array": ArrayEncoder,
}


def _codes(series: pl.Series, values: list[str]) -> NDArray[np.int64]:
    """Return each cell's place in `values`, -1 for missing and for anything else."""
    if not values:
        return np.full(len(series), -1, dtype=np.int64)
    codes = as_text(series).replace_strict(values, list(range(len(values))), default=-1, return_dtype=pl.Int64)
    return codes.fill_null(-1).to_numpy()


def _checked_texts(values: Any, limit: int) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError("values that are not a list of texts")
    if len(values) > limit or len(set(values)) < len(values):
        raise ValueError(f"more than {limit} values, or one twice")
    return values
