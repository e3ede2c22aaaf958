"""Heterogeneous data as the plain arrays that other methods take: one table, domains, records of codes.

| method | what it takes | where it comes from |
|---|---|---|
| heteroscedastic boosting | X, y | `plain_table`: all sources side by side |
| transfer boosting | X, y, sample_domain | `domains`: every source is a domain, all with the same columns |
| factorization | codes, y | `codes`: a source with a record per rating and a column per mode |

Rows to predict from are made with `like=` the data of the training; codes are text, and need none.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data.columns import several
from hetcore.data.encoding import SourceEncoder, side_by_side
from hetcore.data.hetdata import HetData, check_het_data
from hetcore.data.kinds import as_text
from hetcore.data.ranges import known_ranges, messages, shifted_columns
from hetcore.data.source import Source
from hetcore.data.text import counted, listed, quoted
from hetcore.errors import DataError, MissingColumnsWarning, UnfamiliarValuesWarning

__all__ = ["MOST_SHARED", "Codes", "Domains", "PlainTable", "codes", "domains", "filled", "plain_table"]

# some, for ids of different tables may be equal by accident
MOST_SHARED = 0.05
"""Share of instances that several domains may have."""


class PlainTable(NamedTuple):
    """All sources side by side.

    Attributes
    ----------
    X : (n, d) float64
        Aligned with `data.ids`; NaN is missing, also where a source has no record of an instance.
    y : (n,) float64 or object
        `data.y`.
    feature_names : list of str (d,)
        With several sources, "source: column".
    """

    X: NDArray[np.float64]
    y: NDArray
    feature_names: list[str]


class Domains(NamedTuple):
    """Tables with the same columns, one below the other.

    Attributes
    ----------
    X : (n, d) float64
        Encoded alike over all domains; NaN is missing.
    y : (n,) float64 or object
        Labels; NaN or None is unlabelled.
    sample_domain : (n,) int64
        k > 0 for a row of source domain `names[k - 1]`, -1 for a row of the target.
    names : list of str
        Source domains; of `like` where it is given.
    ids : (n,) object
        The instances.
    feature_names : list of str (d,)
    """

    X: NDArray[np.float64]
    y: NDArray
    sample_domain: NDArray[np.int64]
    names: list[str]
    ids: NDArray[np.object_]
    feature_names: list[str]


class Codes(NamedTuple):
    """Records of codes, such as (user, item) of a rating.

    Attributes
    ----------
    X : (m, k) object
        Codes as text; None is missing.
    y : (m,) float64
        Values; NaN where unknown.
    ids : (m,) object
        The records.
    """

    X: NDArray[np.object_]
    y: NDArray[np.float64]
    ids: NDArray[np.object_]


def plain_table(data: HetData, like: HetData | None = None) -> PlainTable:
    """Return all sources side by side, encoded by `SourceEncoder`.

    Parameters
    ----------
    data : HetData
    like : HetData, optional
        The data of the training, for rows to predict from: they are encoded as it is, with its columns and codes. By
        itself a table has the codes of its own values, and "blue" may be 1 in one and 0 in another.

    Raises
    ------
    DataError
        If there is no source, or none of those of `like`, or a source has none of the columns that it has there.

    Warns
    -----
    MissingColumnsWarning
        If a source or column of `like` is not there, or can't be read as there: its cells are missing.
    UnfamiliarValuesWarning
        If the values of a column are not as in `like`: numbers far from its range, categories that it has not.

    Examples
    --------
    >>> train = HetData({"t": pl.DataFrame({"id": ["a", "b"], "size": ["small", "large"]})})
    >>> new = HetData({"t": pl.DataFrame({"id": ["c", "d"], "size": ["large", "large"]})})
    >>> plain_table(train).X.ravel().tolist(), plain_table(new, like=train).X.ravel().tolist()
    ([1.0, 0.0], [0.0, 0.0])
    """
    known = data if like is None else like
    _check_data(data, known)
    if not known.sources:
        raise DataError("The data have no table: add one with a column for each feature.")
    _check_sources(data, known.source_names)
    for name in known.source_names:
        if name in data.sources:
            _warn_of_values(f"Source {quoted(name)}", known.sources[name], data.sources[name])
    encoders = {name: SourceEncoder().fit(source) for name, source in known.sources.items()}
    # one table needs no name before its columns
    prefixes = {name: "" if len(encoders) == 1 else f"{name}: " for name in encoders}
    names = [prefixes[name] + each for name, encoder in encoders.items() for each in encoder.feature_names]
    return PlainTable(side_by_side(data, encoders).astype(np.float64), data.y, names)


def _check_data(*given: object) -> None:
    for each in given:
        if not isinstance(each, HetData):
            raise DataError(f"{type(each).__name__} is no HetData: give the data, and as like= those of the training.")


def _check_sources(data: HetData, known: Sequence[str]) -> None:
    """Refuse data that have none of the sources of a training, and warn of those that are not there."""
    lacking = [name for name in known if name not in data.sources]
    if len(lacking) == len(known):
        raise DataError(f"The data have the sources {listed(data.source_names)}: give some of {listed(known)}.")
    if lacking:
        text = f"The data lack sources of the training, {listed(lacking)}, whose columns count as missing"
        warnings.warn(f"{text}: give them, under the names that they had.", MissingColumnsWarning, stacklevel=3)


def _warn_of_values(which: str, known: Source, given: Source) -> None:
    """Warn of values of a source that are not as in training: an encoder has no place for a category it had not."""
    # a training's own values are its own
    if given is known:
        return
    ranges = known_ranges(known)
    for sentence in messages(which, ranges, *shifted_columns(ranges, given)):
        warnings.warn(sentence, UnfamiliarValuesWarning, stacklevel=3)


def domains(data: HetData, target: str, like: HetData | None = None) -> Domains:
    """Return the sources as domains: the rows of each, one table below the other.

    Parameters
    ----------
    data : HetData
        Sources with shared columns; those that not all of them have are left out.
    target : str
        The source that is the target domain; its rows come last.
    like : HetData, optional
        The data of the training, for rows to predict from, of some of its domains: they are encoded as it is, with its
        columns, codes and numbers of domains.

    Raises
    ------
    DataError
        If there is no such source, the sources share no column or many ids, or one is none of `like`.

    Warns
    -----
    MissingColumnsWarning
        If a column of `like` is not there, or can't be read as there: its cells are missing.
    UnfamiliarValuesWarning
        If the values of a column are not as in `like`: numbers far from its range, categories that it has not.
    """
    known = data if like is None else like
    _check_data(data, known)
    among = listed(known.source_names)
    if not (isinstance(target, str) and target in known.sources):
        raise DataError(f"target={quoted(target)} is no source of the data: choose one of {among}.")
    if strange := [name for name in data.source_names if name not in known.sources]:
        raise DataError(f"The sources {listed(strange)} are no domains of the training: choose some of {among}.")
    names = [name for name in known.source_names if name != target]
    codes = dict(zip(names, range(1, len(names) + 1))) | {target: -1}
    there = [name for name in codes if name in data.sources]
    # one encoder for all domains: the same value must be the same number in each
    whole = _stacked([known.sources[name] for name in codes])
    stacked = whole if data is known else _stacked([data.sources[name] for name in there])
    _warn_of_values("The domains", whole, stacked)
    encoder = SourceEncoder().fit(whole)
    _check_apart(data, there)
    rows = [data.rows(name) for name in there]
    order = np.concatenate(rows)
    return Domains(
        X=encoder.transform(stacked).astype(np.float64),
        y=data.y[order],
        sample_domain=np.repeat([codes[name] for name in there], [len(r) for r in rows]),
        names=names,
        ids=data.ids[order],
        feature_names=encoder.feature_names,
    )


def _check_apart(data: HetData, names: Sequence[str]) -> None:
    """Refuse labelled domains that share ids: an id has one label, and a row would have that of another domain's."""
    shared = data.mask[[data.source_names.index(name) for name in names]].sum(axis=0) > 1
    if data.labelled.any() and shared.mean() > MOST_SHARED:
        text = f"The domains share {counted(shared.sum(), 'id')}, {listed(data.ids[shared], 3)}: an id has one label"
        raise DataError(f"{text}, so give each domain its own, such as 'north-1', in the labels too.")


def _stacked(sources: Sequence[Source]) -> Source:
    """Return one source with the rows of all and the columns that all have; ids are row numbers."""
    ids = [str(k) for k in range(sum(source.n_rows for source in sources))]
    arrays = [source.array for source in sources]
    if all(array is not None for array in arrays):
        if len({array.shape[1:] for array in arrays}) > 1:
            raise DataError("The domains hold arrays of different shapes: give each the same columns.")
        return Source(ids, np.concatenate(arrays))
    # columns that all have, in the order of the first
    shared = [c for c in sources[0].columns if all(s.frame is not None and c in s.columns for s in sources)]
    if not shared:
        raise DataError(
            "The sources share no column, so they can't be domains of one task: give each the same columns."
        )
    # relaxed: whole numbers in one table and real ones in another are both numbers
    frame = pl.concat([source.frame.select(shared) for source in sources], how="vertical_relaxed")
    kinds_of = {column: {source.kinds[column] for source in sources} for column in shared}
    # binary is left to be guessed anew: two values here and two others there are four
    agreed = {column: kinds.pop() for column, kinds in kinds_of.items() if len(kinds) == 1 and kinds != {"binary"}}
    return Source(ids, frame, agreed)


def codes(data: HetData, columns: Sequence[str] = ("user", "item")) -> Codes:
    """Return the codes in some columns of the source that has them all.

    Raises
    ------
    DataError
        If no source has them all, or the labels are no numbers.
    """
    check_het_data(data, "codes")
    columns = list(columns) if several(columns) else []
    if not columns or not all(isinstance(column, str) for column in columns):
        raise DataError("columns names none: give a column for each mode, such as ('user', 'item').")
    if data.target_kind != "regression":
        raise DataError("The label of a record must be a number, such as a rating: choose a numeric label column.")
    for name, source in data.sources.items():
        if source.frame is not None and set(columns) <= set(source.columns):
            # a whole number is the same code whatever its type: beside a missing one it is a float
            text = [as_text(source.frame[column]).to_numpy().astype(object) for column in columns]
            rows = data.rows(name)
            return Codes(np.stack(text, axis=1), data.y[rows], data.ids[rows])
    raise DataError(f"No table has the columns {listed(columns)}: choose a column for each mode.")


def filled(X: NDArray) -> NDArray[np.float64]:
    """Return X (n, d) with missing values replaced by the mean of their column, 0 where all are missing."""
    missing = np.isnan(X)
    if not missing.any():
        return X
    totals, counts = np.where(missing, 0.0, X).sum(axis=0), (~missing).sum(axis=0)
    return np.where(missing, totals / np.maximum(counts, 1), X)
