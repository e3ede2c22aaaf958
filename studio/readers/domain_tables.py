"""Tables that are domains: the same columns or most of them, rows of their own, each with its own label column.

Rows of different tables are different instances even where their ids are alike, so an id becomes "NAME/ID".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from hetcore.data.identity import as_ids
from hetcore.data.text import quoted
from hetcore.errors import DataError
from studio.readers.columns import looks_like_id

__all__ = [
    "ROW_ID", "domain_column", "domain_table", "domains_within", "guess_id", "own_labels", "shared_columns",
]  # fmt: skip

ROW_ID = "row of the domain"
"""The id column that `domain_table` gives."""
_MOST = 20
"""Domains of one table at most."""


def domain_table(table: pl.DataFrame, name: str, id_column: str = "") -> pl.DataFrame:
    """Return a table whose ids, in the column `ROW_ID`, begin with the name of its domain.

    Parameters
    ----------
    table : polars DataFrame
    name : str
        Of the domain.
    id_column : str, default=""
        Column that tells its rows apart, which is taken out; "" numbers them from 1.

    Raises
    ------
    DataError
        If there is no such column.
    """
    if id_column and id_column not in table.columns:
        raise DataError(f"There is no id column {quoted(id_column)} in {quoted(name)}: choose one of its columns.")
    # Numbered where no column tells rows apart: rows of a domain are matched with nothing else.
    own = as_ids(table[id_column])[0] if id_column else pl.Series(range(1, table.height + 1)).cast(pl.String)
    rest = table.drop(id_column) if id_column else table
    return rest.select((f"{name}/" + own).alias(ROW_ID), *rest.columns)


def domain_column(frame: pl.DataFrame) -> str:
    """Return the column "domain" of a table that holds several domains, empty if it holds none."""
    column = next((each for each in frame.columns if each.strip().lower() == "domain"), "")
    several = column and not frame[column].null_count() and 2 <= frame[column].n_unique() <= _MOST
    return column if several else ""


def domains_within(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the rows of each domain, by its name, of a table with a `domain_column`, without that column."""
    column = domain_column(frame)
    names = as_ids(frame[column])[0]
    return {name: frame.filter(names == name).drop(column) for name in names.unique(maintain_order=True)}


def own_labels(tables: Mapping[str, tuple[pl.DataFrame, str]]) -> tuple[pl.Series, pl.Series]:
    """Return the ids and labels of several domains, one below the other.

    Parameters
    ----------
    tables : mapping of str to (DataFrame, str)
        By domain: what `domain_table` returned, and its label column.

    Raises
    ------
    DataError
        If a table lacks its label column.
    """
    for name, (table, column) in tables.items():
        if column not in table.columns:
            raise DataError(f"There is no label column {quoted(column)} in {quoted(name)}: choose another label.")
    labels = [table[column] for table, column in tables.values()]
    # Numbers of two kinds can be one column; words and numbers only as words.
    if len({series.dtype for series in labels}) > 1 and not all(series.dtype.is_numeric() for series in labels):
        labels = [series.cast(pl.String) for series in labels]
    stacked = pl.concat([series.alias("label").to_frame() for series in labels], how="vertical_relaxed")
    return pl.concat([table[ROW_ID] for table, _ in tables.values()]), stacked["label"]


def shared_columns(frames: Sequence[pl.DataFrame]) -> list[str]:
    """Return the columns that all of several tables have, if they are all or most of them and can be of domains."""
    every = list(dict.fromkeys(column for frame in frames for column in frame.columns))
    shared = [column for column in every if all(column in frame.columns for frame in frames)]
    # An id and a label are of any tables of the same things; one column would leave nothing to learn from.
    least = 2 if len(shared) == len(every) else max(3, len(every) // 2 + 1)
    return shared if len(frames) > 1 and len(shared) >= least else []


def guess_id(frame: pl.DataFrame) -> tuple[str, str]:
    """Return the column that tells a domain's rows apart, "" if they had better be numbered, and why."""
    for column in frame.columns:
        values = frame[column]
        text = values.dtype == pl.String
        # A column of different numbers may be a measurement, so that it needs the name of an id too.
        if (text or looks_like_id(column)) and values.null_count() == 0 and values.n_unique() == frame.height:
            return column, "different in every row"
    return "", "no column differs in every row"
