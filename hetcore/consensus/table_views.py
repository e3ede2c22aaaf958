"""Views of one table each, made where they are needed: what a fit without joined tables asks of its sources.

A fit whose views join tables needs the columns of all of them in one process. One without (`join_tables=False`) learns
of each table by itself how it is encoded, where the table is, and a learner makes its columns from the table: of a
source by path, the path travels. Trees take a table's columns some at a time, so that a byte a cell remains.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.consensus.table_columns import TableEncoding
from hetcore.data import Source

__all__ = ["TableFitter", "TableView"]


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
    trees : bool
        Whether trees look at them.
    """

    source: Source
    encoding: TableEncoding
    name: str
    order: NDArray[np.int64] | None
    trees: bool

    def load(self) -> NDArray:
        """Return the columns (m, d): float32 with NaN where missing for trees, else float64 without."""
        found = self.encoding.columns(self.source, self.name)[0 if self.trees else 2]
        return found if self.order is None else found[self.order]

    def bins(self, n_bins: int) -> tuple[BinMapper, NDArray[np.uint8]]:
        """Return thresholds learned from trees' columns, and the bins (d, m)."""
        if self.encoding.wide:
            X = self.load()
            mapper = BinMapper(n_bins).fit(X, 0)
            return mapper, mapper.transform(X)
        binned, mappers = self._empty(), []
        for places, X in self._blocks():
            mappers.append(BinMapper(n_bins).fit(X, 0))
            binned[places] = mappers[-1].transform(X)
        return BinMapper.joined(mappers), binned

    def binned(self, mapper: BinMapper) -> NDArray[np.uint8]:
        """Return the bins (d, m) of trees' columns by thresholds that were learned."""
        if self.encoding.wide:
            return mapper.transform(self.load())
        binned = self._empty()
        for places, X in self._blocks():
            binned[places] = mapper.some(places).transform(X)
        return binned

    def _empty(self) -> NDArray[np.uint8]:
        return np.empty((len(self.encoding.encoder.feature_names), self.source.n_rows), np.uint8)

    def _blocks(self) -> Iterable[tuple[slice, NDArray[np.float32]]]:
        for places, X in self.encoding.encoder.blocks(self.source, self.name):
            yield places, X if self.order is None else X[self.order]
