"""What has a table during a fit as printed: its encoded, binned columns.

Encoding and binning depend on the table alone, so they are made once for each `Source` object and serve every fit,
class and what-if run that shares it.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.data import Source
from hetcore.data.encoding import SourceEncoder
from hetcore.trees import TreeParams, grow

__all__ = ["Grown", "Kept", "Slope", "TableLearner", "binned_columns"]

MAX_BINS = 64
Slope = tuple[NDArray[np.float64], NDArray[np.bool_]]
"""Gradients (m,) of a table's records, and which of them (m,) a tree is grown on."""


class Grown(NamedTuple):
    """A tree, and the leaf (m,) of each record of the source that it was grown on."""

    nodes: NDArray
    values: NDArray[np.float64]
    leaf: NDArray[np.integer]


class Kept(NamedTuple):
    """What turns new rows of a table into what its trees split by."""

    encoder: SourceEncoder
    mapper: BinMapper


class _Prepared(NamedTuple):
    kept: Kept
    binned: NDArray[np.uint8]


# weak: an example that nobody has open any more is let go
_PREPARED: WeakKeyDictionary[Source, _Prepared] = WeakKeyDictionary()


def _prepared(source: Source) -> _Prepared:
    if source in _PREPARED:
        return _PREPARED[source]
    encoder = SourceEncoder().fit(source)
    binned, mappers = np.empty((len(encoder.feature_names), source.n_rows), np.uint8), []
    # some columns at a time: a byte a cell remains of each
    for places, X in encoder.blocks(source):
        mappers.append(BinMapper(MAX_BINS).fit(X, 0))
        binned[places] = mappers[-1].transform(X)
    made = _Prepared(Kept(encoder, BinMapper.joined(mappers)), binned)
    # one whose table is not in memory is there to save memory
    if source.is_loaded:
        _PREPARED[source] = made
    return made


def binned_columns(encoder: SourceEncoder, mapper: BinMapper, source: Source, name: str = "") -> NDArray[np.uint8]:
    """Return the bins (d, m) of a source's columns, some encoded at a time."""
    binned = np.empty((len(encoder.feature_names), source.n_rows), np.uint8)
    for places, X in encoder.blocks(source, name):
        binned[places] = mapper.some(places).transform(X)
    return binned


class TableLearner:
    """Trees over a table's columns.

    Parameters
    ----------
    rows : (m,) int64
        Instances that the table has, by record.
    labelled : (n,) bool
    source : Source
    """

    def __init__(self, rows: NDArray[np.int64], labelled: NDArray[np.bool_], source: Source) -> None:
        self._kept, self.binned = _prepared(source)

    def grow_each(self, limits: TreeParams, slopes: list[Slope | None]) -> list[Grown | None]:
        """Grow one tree for each output on its gradients and records; None where there is no slope.

        A leaf is the negative mean gradient of its records: splits are found in single precision, leaves are not.
        """
        return [each and self._grown(limits, *each) for each in slopes]

    def _grown(self, limits: TreeParams, gradients: NDArray[np.float64], records: NDArray[np.bool_]) -> Grown:
        rows = np.flatnonzero(records).astype(np.int32)
        n_bins = self._kept.mapper.n_bins
        tree = grow(
            # float32 for the tree's shape; the leaves are summed anew below
            self.binned, gradients.astype(np.float32), None, rows=rows, columns=None, params=limits, n_bins=n_bins
        )
        leaf, n_nodes = tree.row_leaf[rows], tree.nodes.size
        counts = np.bincount(leaf, minlength=n_nodes)
        sums = np.bincount(leaf, gradients[rows], n_nodes)
        # leaf values from float64: weights down to 1e-100 are in these gradients
        tree.values[:, 0] = np.where(counts > 0, -sums / np.maximum(counts, 1), tree.values[:, 0])
        return Grown(tree.nodes, tree.values, tree.apply(self.binned))

    def keep(self) -> Kept:
        """Return what predicts."""
        return self._kept
