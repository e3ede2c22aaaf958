"""What a view is; and views of one table each, made where they are needed: what a fit without joined tables asks.

A fit whose views join tables needs the columns of all of them in one process. One without (`join_tables=False`) learns
of each table by itself how it is encoded, where the table is, and a learner makes its columns from the table: of a
source by path, the path travels. Trees take a table's columns some at a time, so that a byte a cell remains.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper, Block
from hetcore.consensus.table_columns import TableEncoding
from hetcore.data import HetData, Source
from hetcore.errors import DataError

__all__ = ["ARD", "BY_CATEGORY", "NEAR", "DataView", "TableFitter", "TableView", "Unseen", "View", "check_room"]

CELL_BYTES = 20  # of an encoded cell of joined tables, at least
ARD = "ARD kernel"  # a learner that sees what kernels see
NEAR = "labels near in "  # what the columns of such views begin with
BY_CATEGORY = "labels by category"  # what the columns of such views end with


class View(NamedTuple):
    """One view and its learner.

    Attributes
    ----------
    columns : str
        Which columns, as in the module's table.
    learner : "trees", "shallow trees", "oblivious trees", "deep trees", "kernel", "ARD kernel" or "linear"
    tables, graphs : tuple of str
        What the columns are made from.
    """

    columns: str
    learner: str
    tables: tuple[str, ...]
    graphs: tuple[str, ...]

    @property
    def name(self) -> str:
        """The view's name in the history."""
        return f"{self.columns} ({self.learner})"

    @property
    def sees(self) -> str:
        """By which learner's columns: all trees look at the same."""
        return "trees" if self.learner.endswith(" trees") else "kernel" if self.learner == ARD else self.learner

    @property
    def joins(self) -> bool:
        """Whether its columns come from several sources, or from a table and graphs."""
        return len(self.tables) > 1 or bool(self.tables and self.graphs)

    @property
    def by_category(self) -> bool:
        """Whether some of the columns are labels of the same category; a table's or a graph's name may end so too."""
        named = bool(self.graphs) or self.columns == f"table {self.tables[0]}"
        return self.columns.endswith(BY_CATEGORY) and not named

    @property
    def sees_labels(self) -> bool:
        """Whether some of the columns are labels of neighbours or of the same category."""
        of_rows = self.columns.startswith(NEAR) or self.by_category
        return of_rows or bool(self.graphs) and not self.columns.startswith("smoothed")


class Unseen(NamedTuple):
    """What the rows that each fold's member learns from have in the place of columns that tell its own fold's labels.

    Attributes
    ----------
    places : (c,) int64
        Which columns.
    values : (b, c) array
        Theirs without those labels, member after member.
    """

    places: NDArray[np.int64]
    values: NDArray


class DataView(NamedTuple):
    """A view of some data.

    Attributes
    ----------
    view : View
    rows : (m,) int64
        Instances that it covers.
    X : (m, d) array or TableView
        Their columns: float32 with NaN where missing for trees, else float64 without.
    key : str
        Digest of the tables, graphs and labels that they are made from, where learners are recalled; else "".
    unseen : Unseen or None
        Of a view that sees labels, where members learn from columns without their own fold's.
    """

    view: View
    rows: NDArray[np.int64]
    X: NDArray | TableView
    key: str = ""
    unseen: Unseen | None = None

    def __repr__(self) -> str:
        # arrays of every view would fill a notebook's page
        columns = f" x {self.X.shape[1]:,}" if isinstance(self.X, np.ndarray) else " rows"
        return f"DataView({self.view.name}: {self.rows.size:,}{columns})"


def check_room(data: HetData) -> None:
    """Refuse sources by path whose joined columns this machine's memory can't hold.

    Raises
    ------
    DataError
        If all tables, encoded, would take more than there is.
    """
    cells = data.n * sum(source.n_columns for source in data.sources.values())
    if all(source.is_loaded for source in data.sources.values()) or CELL_BYTES * cells <= memory_bytes():
        return
    need, there = (each / 2**30 for each in (CELL_BYTES * cells, memory_bytes()))
    what = f"The views that join tables take {need:,.1f} GiB in one process, of {there:,.1f} GiB that this machine has"
    raise DataError(f"{what}: set join_tables=False, or as_printed=True.")


def memory_bytes() -> float:
    """Return the machine's memory, infinite where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    # Windows has no such call
    except (AttributeError, ValueError, OSError):
        return float("inf")


class TableFitter:
    """Learns how a table is encoded.

    Parameters
    ----------
    rows, common
        As of any learner; not used.
    source : Source
    """

    def __init__(self, rows: NDArray[np.int64], common: Any, source: Source) -> None:
        self._source = source

    def fit(self) -> TableEncoding:
        """Return what the table's columns need."""
        return TableEncoding.fit(self._source)


@dataclass(frozen=True)
class TableView:
    """The columns of a table for one kind of learner, not made yet.

    Attributes
    ----------
    source : Source
    encoding : TableEncoding
    name : str
    order : (m,) int64 or None
        The record of each row; None where rows are the records.
    kind : {"trees", "linear", "smooth"}
        Who looks at them: trees, linear learners that see all columns of a wide table, or any smooth ones.
    """

    source: Source
    encoding: TableEncoding
    name: str
    order: NDArray[np.int64] | None
    kind: str

    def load(self) -> NDArray:
        """Return the columns (m, d): float32 with NaN where missing for trees, else float64 without."""
        found = self.encoding.columns(self.source, self.name)[("trees", "linear", "smooth").index(self.kind)]
        return found if self.order is None else found[self.order]

    def bins(self) -> tuple[BinMapper, NDArray[np.uint8]]:
        """Return thresholds learned from trees' columns, and the bins (d, m)."""
        mapper = BinMapper()
        if self.encoding.wide:
            X = self.load()
            return mapper, mapper.fit(X).transform(X)
        return mapper, mapper.fit_blocks(self.blocks(), (len(self.encoding.encoder.feature_names), self.source.n_rows))

    def binned(self, mapper: BinMapper) -> NDArray[np.uint8]:
        """Return the bins (d, m) of trees' columns by thresholds that were learned."""
        if self.encoding.wide:
            return mapper.transform(self.load())
        return mapper.transform_blocks(self.blocks(), self.source.n_rows)

    def blocks(self) -> Iterable[Block]:
        """Yield columns as `BinMapper.fit_blocks` takes them."""
        for places, X in self.encoding.encoder.blocks(self.source, self.name):
            yield places, X if self.order is None else X[self.order]
