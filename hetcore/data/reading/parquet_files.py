"""A table in Parquet files, of which some columns and rows are read at a time.

A path names a file, a folder with all files below it, or a pattern with * or ?. Files are taken in the order of their
paths; those in a folder, or below it, whose name begins with "." or "_" are left out, for that is where writers keep
what is not finished. A link below a folder that leads to another folder is refused. Folders called `key=value` below
the one given are columns of their own ("hive" partitions) of whole numbers, numbers, days or text; a column of this
name in the files themselves is taken in their place.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from hetcore.data.text import listed, quoted
from hetcore.errors import DataError

__all__ = ["ParquetTable", "is_path"]

NULL = "__HIVE_DEFAULT_PARTITION__"
UNREADABLE = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)


def is_path(given: Any) -> bool:
    """Return whether a table is given by its path."""
    return isinstance(given, str | os.PathLike)


@dataclass(frozen=True)
class ParquetTable:
    """Files of one schema.

    Attributes
    ----------
    paths : tuple of str
    stamps : tuple of (int, int)
        Bytes of each file when it was found, and when it had been written, in microseconds.
    heights : tuple of int
        Rows of each file.
    schema : dict of str to polars data type
        All columns, those of partitions last.
    partitions : tuple of dict of str to str or None
        By file, the value of each column that its folders name.
    within : tuple of Path
        Folders in which the files must lie when they are read, too.
    """

    paths: tuple[str, ...]
    stamps: tuple[tuple[int, int], ...]
    heights: tuple[int, ...]
    schema: dict[str, Any]
    partitions: tuple[dict[str, str | None], ...]
    within: tuple[Path, ...] = ()

    @classmethod
    def of(cls, path: Any, within: Sequence[Path] = (), id_column: str = "") -> ParquetTable:
        """Find the files of a path and read what they say of themselves, no row of them.

        Parameters
        ----------
        path : str or path
        within : sequence of Path
            Folders in which files must lie; anywhere if there is none.
        id_column : str, default=""
            The column that stays text as written where folders name it, for "001" is another id than "1".

        Raises
        ------
        DataError
            If there is no file, one lies outside `within` or can't be read, or their columns differ.
        """
        root, found = _files(os.fspath(path))
        _check_places(found, within)
        # before anything is read: a file that is written meanwhile has another stamp afterwards
        stamps = tuple(_opened(each, _stamp) for each in found)
        schemas = [_opened(each, lambda file: _rows_of(file).collect_schema()) for each in found]
        _check_schemas(found, schemas)
        heights = [_opened(each, _height) for each in found]
        # what a file says of its rows is nearer to them than the name of a folder
        partitions = tuple(_folder_values(each, root, schemas[0]) for each in found)
        schema = dict(schemas[0]) | _partition_types(partitions, found, id_column)
        # whole paths: workers have working folders of their own
        paths = tuple(str(Path.cwd() / each) for each in found)
        allowed = tuple(each.resolve() for each in within)
        return cls(paths, stamps, tuple(heights), schema, partitions=partitions, within=allowed)

    @property
    def height(self) -> int:
        """Rows of all files."""
        return sum(self.heights)

    def file_of(self, row: int) -> str:
        """Return the path of the file that a row is in."""
        return next(path for path, end in zip(self.paths, accumulate(self.heights)) if row < end)

    def read(self, columns: Sequence[str], start: int = 0, stop: int | None = None) -> pl.DataFrame:
        """Return some columns of the rows from `start` to `stop`, (stop - start, len(columns)).

        Raises
        ------
        DataError
            If a file can't be read, or is another one than was found.
        """
        parts, first, stop = [], 0, self.height if stop is None else stop
        for number, height in enumerate(self.heights):
            low, high = max(start - first, 0), min(stop - first, height)
            if low < high:
                parts.append(self._part(number, columns, low, high - low))
            first += height
        empty = pl.DataFrame(schema={name: self.schema[name] for name in columns})
        # in one piece: a deviation by pieces has other last digits
        return pl.concat(parts, rechunk=True) if parts else empty

    def collect(self, query: Callable[[pl.LazyFrame], pl.LazyFrame]) -> pl.DataFrame:
        """Return the answer of a lazy query over all rows, which are read a few row groups at a time.

        Raises
        ------
        DataError
            If a file can't be read, or is another one than was found.
        """
        self._check_unchanged()
        try:
            answer = query(pl.concat([self._lazy(number) for number in range(len(self.paths))]))
            found = answer.collect(engine="streaming")
        except UNREADABLE as error:
            raise _unreadable(self.paths[0], error) from None
        # once more: a file may have been exchanged while it was read
        self._check_unchanged()
        return found

    def _check_unchanged(self) -> None:
        for path, stamp in zip(self.paths, self.stamps):
            _opened(Path(path), lambda file, stamp=stamp: self._check_file(file, stamp))

    def _check_file(self, file: Path, stamp: tuple[int, int]) -> None:
        _check_places([file], self.within)
        # the time too: other numbers often take as many bytes
        if _stamp(file) != stamp:
            raise DataError(f"The file {quoted(str(file), 200)} has changed since it was scanned: scan it again.")

    def _lazy(self, number: int) -> pl.LazyFrame:
        """Return the rows of a file with the columns that its folders name, nothing read."""
        values = self.partitions[number]
        given = [pl.Series(name, [value], dtype=pl.String) for name, value in values.items()]
        own = _rows_of(self.paths[number])
        typed = [_as_type(each, self.schema[each.name]) for each in given]
        named = own.with_columns(pl.lit(each.first(), dtype=each.dtype).alias(each.name) for each in typed)
        return named.select(list(self.schema))

    def _part(self, number: int, columns: Sequence[str], offset: int, length: int) -> pl.DataFrame:
        path, values = self.paths[number], self.partitions[number]
        own = [name for name in columns if name not in values]

        def read(file: Path) -> pl.DataFrame:
            self._check_file(file, self.stamps[number])
            return _rows_of(file).select(own).slice(offset, length).collect()

        frame = _opened(Path(path), read) if own else pl.DataFrame()
        if frame.height != length and own:
            raise DataError(f"The file {quoted(path, 200)} has fewer rows than it says: write it again.")
        given = [pl.repeat(values[n], length, dtype=pl.String, eager=True).alias(n) for n in columns if n in values]
        typed = [_as_type(each, self.schema[each.name]) for each in given]
        return pl.DataFrame([*frame.iter_columns(), *typed]).select(columns)


def _opened(file: Path, read: Any) -> Any:
    """Return what is read of a file; a DataError that names it if it can't be."""
    try:
        # bytes that are no text, which polars refuses in other words
        str(file).encode()
        return read(file)
    except UnicodeEncodeError:
        raise DataError(f"The path {str(file)[-200:]!a} is no UTF-8 text: rename the file or its folder.") from None
    except UNREADABLE as error:
        raise _unreadable(file, error) from None


def _unreadable(file: Any, error: BaseException) -> DataError:
    name = f"The file {quoted(str(file), 200)} can't be read"
    if isinstance(error, FileNotFoundError):
        return DataError(f"{name}, it is not there: put it back, on a disk that all processes see.")
    if isinstance(error, PermissionError):
        return DataError(f"{name}, this process may not: give it the right to read the file and its folder.")
    reason = " ".join(str(error).split())[:160]
    return DataError(f"{name} as Parquet ({reason}): write it again as that.")


def _stamp(file: Path) -> tuple[int, int]:
    """Return the bytes of a file and when it was written; not in nanoseconds, which some network disks cut off."""
    facts = file.stat()
    # a pipe would be waited for
    if not stat.S_ISREG(facts.st_mode):
        raise OSError("it is no regular file")
    return facts.st_size, facts.st_mtime_ns // 1000


def _rows_of(file: Any) -> pl.LazyFrame:
    """Return the rows of a file, nothing read; its name is no pattern here, and its folders' names no columns."""
    return pl.scan_parquet(file, glob=False, hive_partitioning=False)


def _height(file: Path) -> int:
    return _rows_of(file).select(pl.len()).collect().item()


def _files(path: str) -> tuple[Path, list[Path]]:
    """Return the folder below which folders' names count, and the files, in order."""
    root, found = Path(path), []
    try:
        if path and root.is_file():
            return root.parent, [root]
        if path and root.is_dir():
            found = sorted(_below(root))
            if not found:
                raise DataError(f"The folder {quoted(path, 200)} has no file that ends in .parquet: correct the path.")
            return root, found
        if glob.has_magic(path):
            # a link that leads nowhere too: it is refused when it is opened
            found = sorted(Path(each) for each in glob.glob(path, recursive=True) if not Path(each).is_dir())
    except OSError as error:
        raise DataError(f"The path {quoted(path, 200)} can't be followed ({error.strerror}): correct it.") from None
    if not glob.has_magic(path):
        raise DataError(f"There is no file or folder {quoted(path, 200)}: correct the path.")
    if not found:
        raise DataError(f"No file has a path like {quoted(path, 200)}: correct the pattern.")
    fixed = Path(*[part for part in _before_magic(root)])
    return fixed, found


def _below(root: Path) -> Iterator[Path]:
    """Yield all files below a folder that end in .parquet; a part of the table that can't be seen is refused."""

    def refused(error: OSError) -> None:
        raise error

    for folder, names, files in os.walk(root, onerror=refused):
        names[:] = [name for name in names if not _is_hidden(name)]
        for link in (Path(folder, name) for name in names if Path(folder, name).is_symlink()):
            raise DataError(f"The folder {quoted(str(link), 200)} is a link, which is not followed: replace it.")
        yield from (Path(folder, name) for name in files if name.endswith(".parquet") and not _is_hidden(name))


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_")) and "=" not in name


def _before_magic(path: Path) -> list[str]:
    parts = list(path.parts)
    return parts[: next(i for i, part in enumerate(parts) if glob.has_magic(part))]


def _check_places(found: list[Path], within: Sequence[Path]) -> None:
    allowed = [Path(folder).resolve() for folder in within]
    for file in found:
        # resolved: a link inside may lead outside
        if allowed and not any(file.resolve().is_relative_to(folder) for folder in allowed):
            rule = f"give a path below {listed(map(str, within))}"
            raise DataError(f"The file {quoted(str(file), 200)} is outside of the folders that may be read: {rule}.")


def _check_schemas(found: list[Path], schemas: list[dict[str, Any]]) -> None:
    for file, schema in zip(found, schemas):
        if dict(schema) == dict(schemas[0]):
            continue
        first = dict(schemas[0])
        names = [*first, *(name for name in schema if name not in first)]
        column = next(name for name in names if first.get(name) != schema.get(name))
        one, other = (f"{each[column]}" if column in each else "missing" for each in (first, schema))
        where = f"{one} in {quoted(str(found[0]), 200)} and {other} in {quoted(str(file), 200)}"
        raise DataError(f"Column {quoted(column)} is {where}: write all files with the same columns.")


def _folder_values(file: Path, root: Path, own: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the values that the folders above a file name, but of columns that it has of its own."""
    pairs = [part.split("=", 1) for part in file.relative_to(root).parts[:-1] if "=" in part]
    values = {unquote(key): None if value == NULL else unquote(value) for key, value in pairs}
    return {key: value for key, value in values.items() if key not in own}


def _partition_types(
    partitions: Sequence[dict[str, str | None]], found: list[Path], id_column: str
) -> dict[str, Any]:
    """Return the type of each column that folders name: whole numbers, numbers, days, or text; ids are text."""
    for values, file in zip(partitions, found):
        if list(values) != list(partitions[0]):
            rule = f"name folders key=value alike, as above {quoted(str(found[0]), 200)}"
            raise DataError(f"The folders above {quoted(str(file), 200)} name other columns: {rule}.")
    texts = {name: pl.Series([each[name] for each in partitions], dtype=pl.String) for name in partitions[0]}
    return {name: pl.String if name == id_column else _type_of(values) for name, values in texts.items()}


def _type_of(texts: pl.Series) -> Any:
    for dtype in (pl.Int64, pl.Float64, pl.Date):
        read = _as_type(texts, dtype)
        # "nan" and "inf" are names before they are numbers: as numbers they would count as missing
        unread = ~read.is_finite() if dtype == pl.Float64 else read.is_null()
        if not (unread.fill_null(True) & texts.is_not_null()).any():
            return dtype
    return pl.String


def _as_type(texts: pl.Series, dtype: Any) -> pl.Series:
    return texts.str.to_date("%Y-%m-%d", strict=False) if dtype == pl.Date else texts.cast(dtype, strict=False)
