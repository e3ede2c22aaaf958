"""Sources by path, their columns looked at and their ids joined: what `HetData.scan` begins with."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from numpy.typing import NDArray

from hetcore.data.columns import several
from hetcore.data.reading.factorize import IdPartitions, RepeatedIdError
from hetcore.data.reading.parquet_files import is_path
from hetcore.data.reading.scanned_source import ScannedSource
from hetcore.data.source import Source
from hetcore.data.text import quoted
from hetcore.errors import DataError

__all__ = ["folders", "scanned_ids"]


def folders(within: Any) -> tuple[Path, ...]:
    """Return folders as given: none, one, or several.

    Raises
    ------
    DataError
        If one is no folder, or none is named.
    """
    if within is None:
        return ()
    given = list(within) if several(within) else [within]
    # an empty text would be the folder that one is in
    if not given or not all(is_path(each) and os.fspath(each) for each in given):
        raise DataError(f"within={quoted(within)} names no folder: name one or several, or None to read anywhere.")
    for folder in given:
        if not Path(folder).is_dir():
            raise DataError(f"within names {quoted(os.fspath(folder), 200)}, which is no folder: correct the path.")
    return tuple(Path(folder) for folder in given)


def _within_source(name: str, step: Callable[[], Any]) -> Any:
    """Return what a step returns; a DataError of it names the source."""
    try:
        return step()
    except DataError as error:
        raise DataError(f"Source {quoted(name)}: {error}") from None


def scanned_ids(
    sources: Mapping[str, Source], label_ids: pl.Series, kinds: Mapping[str, Mapping[str, str]]
) -> tuple[pl.Series, dict[str, NDArray], NDArray]:
    """Read ids and columns of sources; return the distinct ids, each source's places in them, and the labels'.

    Parameters
    ----------
    sources : mapping of str to Source
        Those that are scanned are read here, and know of their rows and columns afterwards.
    label_ids : polars Series of String (l,)
    kinds : mapping of str to mapping of str to str
        Kinds to use in place of the guessed, by source and column.

    Raises
    ------
    DataError
        If a file can't be read, or an id is twice in one source.
    """
    try:
        known, places = _joined(sources, label_ids)
    except (OSError, pl.exceptions.PolarsError) as error:
        why = " ".join(str(error).split())[:160]
        raise DataError(f"Ids can't be joined in a temporary folder ({why}): set TMPDIR to one with room.") from None
    for name, source in sources.items():
        if isinstance(source, ScannedSource):
            _within_source(name, lambda n=name, s=source: s.read_columns(kinds.get(n) or {}))
    return known, dict(zip(sources, places)), places[-1]


def _joined(sources: Mapping[str, Source], label_ids: pl.Series) -> tuple[pl.Series, list[NDArray]]:
    """Return the distinct ids, and the places in them of each source's and of the labels'."""
    total = sum(source.n_given for source in sources.values()) + len(label_ids)
    with tempfile.TemporaryDirectory(prefix="hetcore-") as folder:
        partitions = IdPartitions(Path(folder), total)
        for name, source in sources.items():
            partitions.open()
            _within_source(name, lambda source=source: _read_ids(source, partitions))
        partitions.open(repeats=True)
        partitions.add(label_ids.drop_nulls())
        try:
            return partitions.places()
        except RepeatedIdError as error:
            raise _repeated(list(sources.items()), *error.args) from None


def _read_ids(source: Source, partitions: IdPartitions) -> None:
    for ids in source.read_ids() if isinstance(source, ScannedSource) else [source.id_series]:
        partitions.add(ids.drop_nulls())


def _repeated(sources: list[tuple[str, Source]], number: int, given: str, row: int) -> DataError:
    name, source = sources[number]
    where = f"the second time in {quoted(source.file_of(row), 200)}"
    return DataError(f"Source {quoted(name)}: The id {quoted(given)} occurs twice, {where}: keep one record of it.")
