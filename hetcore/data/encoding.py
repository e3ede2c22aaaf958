"""From a source's columns to the float32 matrix that trees and linear models take; NaN is missing.

| kind | becomes |
|---|---|
| real | itself; text that is no number is missing |
| binary | 0 for the lower of the two values, 1 for the other |
| nominal | a column of 0 and 1 for each of the (at most 64) commonest values that occur twice, and one for the rest |
| text | TF-IDF of the (at most 500) commonest words that occur in two rows (scikit-learn, sublinear) |
| array | its numbers in C order |

A value never seen in `fit` counts as one of the rest (nominal) or as missing (binary). A missing cell is NaN in all of
its columns.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data.column_encoders import ENCODERS
from hetcore.data.columns import FLOAT_MAX, as_array
from hetcore.data.ranges import FEW
from hetcore.data.source import Source
from hetcore.data.text import listed, quoted
from hetcore.errors import DataError, MissingColumnsWarning, ModelFileError

if TYPE_CHECKING:
    from hetcore.data.hetdata import HetData

__all__ = ["SourceEncoder", "side_by_side"]

UNREAD = 0.2  # share of a column's values from which on it is told that they can't be read
WHOLE = re.compile(r"0|-?[1-9]\d{0,5}")
TOGETHER = 64  # columns of numbers that are taken at once: more would only hold more in memory
BLOCK = 1 << 24  # cells that are encoded at once where a table is taken in blocks


class SourceEncoder:
    """Encode one source; learned from the source it is fitted on, used on any source with these columns.

    Attributes
    ----------
    feature_names : list of str (d,)
        Names of the encoded columns, such as "year", "genre=drama", "plot: ship", "array[3]".
    """

    def fit(self, source: Source) -> SourceEncoder:
        """Learn levels and vocabularies from a source."""
        # a number is taken as it is: there is nothing to read
        encoders = [
            (name, kind, ENCODERS[kind].fit(None if kind == "real" else _column(source, name)))
            for name, kind in source.kinds.items()
        ]
        return self._set(encoders)

    def _set(self, encoders: list[tuple[str, str, Any]]) -> SourceEncoder:
        self._encoders = encoders
        self.feature_names = [feature for name, _, encoder in encoders for feature in encoder.names(name)]
        return self

    @property
    def widths(self) -> list[tuple[str, int]]:
        """Each column of the source with how many encoded ones it makes, in their order."""
        return [(name, encoder.width) for name, _, encoder in self._encoders]

    def transform(self, source: Source, name: str = "") -> NDArray[np.float32]:
        """Encode a source; columns that it lacks are missing, with a warning, columns that are new are passed over.

        Parameters
        ----------
        source : Source
        name : str, optional
            Of the source, for the sentences.

        Returns
        -------
        ndarray of float32, (source.n_rows, d), Fortran order

        Raises
        ------
        DataError
            If the source has none of the columns, or an array of another shape.

        Warns
        -----
        MissingColumnsWarning
            If it lacks some of them, or many values of one can't be read as numbers, or as the two values, of training.
        """
        self._check(source, name)
        return self._encoded(source, name)

    def blocks(self, source: Source, name: str = "") -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Yield the places of some encoded columns and these columns, as `transform` has them: few in memory at once.

        Yields
        ------
        slice, ndarray of float32 (source.n_rows, stop - start)
        """
        self._check(source, name)
        start, most = 0, max(1, BLOCK // max(1, source.n_rows))
        for some in _groups(self._encoders, most):
            part = SourceEncoder()._set(some)
            stop = start + len(part.feature_names)
            yield slice(start, stop), part._encoded(source, name)
            start = stop

    def _check(self, source: Source, name: str) -> None:
        which = _called(name)
        names = [column for column, _, _ in self._encoders]
        lacking = [column for column in names if column not in source.kinds]
        if len(lacking) == len(names):
            raise DataError(f"{which} has the columns {listed(source.columns)}: give some of {listed(names)}.")
        if lacking:
            # a column under another name than in training looks the same
            cure = "give them, under the names that they had"
            text = f"{which} lacks columns of the training, {listed(lacking)}, which count as missing: {cure}."
            warnings.warn(text, MissingColumnsWarning, stacklevel=3)

    def _encoded(self, source: Source, called: str) -> NDArray[np.float32]:
        # column by column in memory, as the encoders write it
        encoded = np.full((source.n_rows, len(self.feature_names)), np.nan, dtype=np.float32, order="F")
        start, plain, numbers = 0, {}, _numbers(source)
        for name, kind, encoder in self._encoders:
            if name in numbers and (kind == "real" or (kind == "binary" and _are_whole(encoder.values))):
                # numbers wait for each other: many columns at once cost a tenth of one by one
                plain[name] = start, encoder.values if kind == "binary" else None
            elif name in source.kinds:
                self._fill(encoded[:, start : start + encoder.width], source, name, kind, encoder)
            start += encoder.width
        _fill_numbers(encoded, source, plain)
        self._warn_of_unread(encoded, source, called)
        return encoded

    def _warn_of_unread(self, encoded: NDArray[np.float32], source: Source, called: str) -> None:
        """Say of which columns values could not be read: of another type or code than in training."""
        starts = np.cumsum([0, *(encoder.width for _, _, encoder in self._encoders)])
        whole, part = [], {}
        for name, start, given in _may_be_unread(source, zip(self._encoders, starts)):
            lost = given - int((~np.isnan(encoded[:, start])).sum())
            if lost == given:
                whole.append(name)
            elif lost >= max(FEW, UNREAD * given):
                part[name] = lost / given
        cure = "give numbers where numbers were, and the two values where there were two"
        if whole:
            what = f"no value of {listed(whole)} can be read as in training, all count as missing"
            warnings.warn(f"{_called(called)}: {what}: {cure}.", MissingColumnsWarning, stacklevel=4)
        if part:
            what = f"{max(part.values()):.0%} of the values of {listed(part)} can't be read as in training"
            text = f"{_called(called)}: {what}, and count as missing: {cure}."
            warnings.warn(text, MissingColumnsWarning, stacklevel=4)

    def _fill(self, out: NDArray[np.float32], source: Source, name: str, kind: str, encoder: Any) -> None:
        # an array where numbers were, or the other way round: the widths would not fit
        if (kind == "array") != (source.guess[name][0] == "array"):
            rule = f"give it as in training, as {kind}"
            raise DataError(f"Column {quoted(name)} is {source.kinds[name]} here and was {kind} in training: {rule}.")
        encoder.fill(out, _column(source, name))

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Return what was learned as a JSON-able dict and a dict of arrays."""
        columns, arrays = [], {}
        for i, (name, kind, encoder) in enumerate(self._encoders):
            state, more = encoder.to_state()
            columns.append({"name": name, "kind": kind, **state})
            arrays |= {f"{i}:{key}": value for key, value in more.items()}
        return {"columns": columns}, arrays

    @classmethod
    def _read(cls, state: dict[str, Any], arrays: dict[str, NDArray], sizes: dict[str, int]) -> SourceEncoder:
        """Rebuild an encoder of `sizes["d"]` columns, if these are known; they are afterwards."""
        made = cls.from_state(state, arrays)
        if sizes.setdefault("d", len(made.feature_names)) != len(made.feature_names):
            raise ModelFileError("The columns of a source in the model file are not those of its model: save it again.")
        return made

    @classmethod
    def from_state(cls, state: dict[str, Any], arrays: dict[str, NDArray]) -> SourceEncoder:
        """Rebuild an encoder from `to_state`.

        Raises
        ------
        ModelFileError
            If the state is not one that `to_state` gives.
        """
        try:
            encoders = [_rebuilt(i, column, arrays) for i, column in enumerate(state["columns"])]
            if len({name for name, _, _ in encoders}) < len(encoders):
                raise ValueError("a column occurs twice")
        # whatever a forged state makes Python raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(f"The columns of a source are described wrongly ({error}): save it again.") from None
        return cls()._set(encoders)


def side_by_side(data: HetData, encoders: Mapping[str, SourceEncoder]) -> NDArray[np.float32]:
    """Return the encoded columns of sources (n, d), NaN where a source has no record of an instance or is not there."""
    blocks = []
    for name, encoder in encoders.items():
        block = np.full((data.n, len(encoder.feature_names)), np.nan, np.float32)
        if name in data.sources:
            block[data.rows(name)] = encoder.transform(data.sources[name], name)
        blocks.append(block)
    return np.hstack(blocks)


def _called(name: str) -> str:
    return f"Source {quoted(name)}" if name else "The source"


def _may_be_unread(source: Source, encoders: Iterable[tuple[Any, int]]) -> Iterator[tuple[str, int, int]]:
    """Yield columns that may have values which are none of the training's kind: name, place encoded, values here."""
    missing, schema = source.missing, source.schema
    for (name, kind, _), start in encoders:
        # numbers are numbers, and of text that is taken for numbers on purpose the report tells
        text = kind == "real" and schema.get(name) == pl.String and source.kinds.get(name) != "real"
        # a column may be missing altogether, which is no fault of its values
        if (text or kind == "binary") and missing.get(name, 1) < 1:
            yield name, start, round((1 - missing[name]) * source.n_rows)


def _groups(encoders: list[Any], most: int) -> Iterator[list[Any]]:
    """Yield encoders in their order, at most `most` encoded columns together, or a single encoder of more."""
    some, width = [], 0
    for each in encoders:
        if some and width + each[2].width > most:
            yield some
            some, width = [], 0
        some.append(each)
        width += each[2].width
    yield some


def _numbers(source: Source) -> set[str]:
    """Return the used columns of integers or floats, in one look: a schema is made anew whenever it is asked for."""
    schema = source.schema
    return {name for name, kind in schema.items() if name in source.kinds and (kind.is_integer() or kind.is_float())}


def _are_whole(levels: list[str]) -> bool:
    """Return whether levels are short whole numbers, which compare as numbers as they do as text."""
    return bool(levels) and all(WHOLE.fullmatch(level) for level in levels)


def _fill_numbers(encoded: NDArray[np.float32], source: Source, places: dict[str, Any]) -> None:
    """Do as `RealEncoder.fill` and `BinaryEncoder.fill` for columns of numbers: many at once, which costs a tenth.

    `places` has by column its place and, of a binary one, its levels.
    """
    names, together = list(places), max(1, min(TOGETHER, BLOCK // max(1, source.n_rows)))
    for begin in range(0, len(names), together):
        some = names[begin : begin + together]
        numbers = source.read(some).select(pl.col(some).cast(pl.Float64).fill_null(np.nan)).to_numpy()
        numbers = np.where(np.abs(numbers) > FLOAT_MAX, np.nan, numbers)  # what is beyond float32 is missing
        for column, name in enumerate(some):
            if places[name][1] is not None:
                numbers[:, column] = _codes_of(numbers[:, column], places[name][1])
        encoded[:, [places[name][0] for name in some]] = numbers


def _codes_of(numbers: NDArray[np.float64], levels: list[str]) -> NDArray[np.float64]:
    """Return the place of each number (n,) among whole levels, NaN for any other; -0.0 is written "-0" and is none."""
    codes = np.full(len(numbers), np.nan)
    for place, level in enumerate(levels):
        codes[(numbers == float(level)) & (np.signbit(numbers) == level.startswith("-"))] = place
    return codes


def _rebuilt(i: int, column: dict[str, Any], arrays: dict[str, NDArray]) -> tuple[str, str, Any]:
    name, kind = column["name"], column["kind"]
    if not isinstance(name, str):
        raise ValueError(f"column name {quoted(name)}")
    prefix = f"{i}:"
    own = {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}
    return name, kind, ENCODERS[kind].from_state(column, own)


def _column(source: Source, name: str) -> Any:
    """Return a column of a table, or the numbers of an array (m, ...)."""
    if source.array is not None:
        return source.array
    series = source.column(name)
    return as_array(series) if source.guess[name][0] == "array" else series
