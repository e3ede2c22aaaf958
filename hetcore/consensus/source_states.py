"""What a fit knows of one source: what it says, and who holds its columns or links.

A `Crew` asks the holders (`hetcore.consensus.source_learners`) of several parts for the same step. This one has them
in this process and asks one after the other; that of `hetcore.distributed` has them on the workers of a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.consensus.neighbor_means import mean_weight
from hetcore.consensus.source_learners import GraphHolder, Holder, TableHolder
from hetcore.data import HetData
from hetcore.forest import Forest

__all__ = ["Crew", "GraphPart", "Part", "TablePart"]


class Part:
    """One source of a fit.

    Attributes
    ----------
    name : str
    rows : (m,) int64
        Instances that the source has.
    covers : (n,) bool
    width : int
        Columns that trees split by; 0 until there are any.
    score : (n, K) float64
        What the source's smooth learner says, centred; 0 where it says nothing. For labelled rows: had they been left
        out.
    trees : (n, K) float32
        Sum of the source's trees so far.
    forest : Forest
    holder : Holder or None
        None if it is not in this process.
    number : int
        By which a crew elsewhere knows it.
    """

    def __init__(self, name: str, rows: NDArray[np.int64], n: int, n_outputs: int) -> None:
        self.name, self.rows = name, rows
        self.covers = np.zeros(n, bool)
        self.covers[rows] = True
        self.width = 0
        self.score = np.zeros((n, n_outputs))
        self.trees = np.zeros((n, n_outputs), np.float32)
        self.forest = Forest(n_outputs)
        self.holder: Holder | None = None
        self.number = -1
        self._labelled_rows: NDArray[np.int64] | None = None

    @property
    def binned(self) -> NDArray[np.uint8] | None:
        """The columns (d, m) that trees split by, where the holder is in this process."""
        return self.holder.binned

    @property
    def mapper(self) -> BinMapper | None:
        """The bins of those columns, where the holder is in this process."""
        return self.holder.mapper

    def labelled_rows(self, labelled: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return which of the source's records belong to labelled instances; asked once, the same for the whole fit."""
        if self._labelled_rows is None:
            self._labelled_rows = np.flatnonzero(labelled[self.rows])
        return self._labelled_rows

    def spread(self, values: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Return values (m, K) of the source's records by instance (n, K), 0 elsewhere; None is 0 everywhere."""
        score = np.zeros_like(self.score)
        if values is not None:
            score[self.rows] = values
        return score


class TablePart(Part):
    """A table."""


class GraphPart(Part):
    """A graph, whose records are the instances with a link.

    Attributes
    ----------
    unit : float
        Mean weight of a link.
    """

    def __init__(self, name: str, links: Any, n_outputs: int) -> None:
        super().__init__(name, np.flatnonzero(np.diff(links.indptr) > 0), links.shape[0], n_outputs)
        self.unit = mean_weight(links)


class Crew:
    """The holders of a fit's sources, here in this process.

    Attributes
    ----------
    apart : bool
        Whether the holders work at the same time, so that it pays to ask many at once.
    """

    apart = False

    def table(self, data: HetData, name: str, labelled: NDArray[np.bool_], n_outputs: int) -> TablePart:
        """Return the part of a table, its holder hired."""
        part = TablePart(name, data.rows(name), data.n, n_outputs)
        self.hire(part, TableHolder, labelled, data.sources[name])
        return part

    def graph(self, name: str, links: Any, labelled: NDArray[np.bool_], n_outputs: int) -> GraphPart:
        """Return the part of a graph's links (n, n), its holder hired."""
        part = GraphPart(name, links, n_outputs)
        self.hire(part, GraphHolder, labelled, links)
        return part

    def hire(self, part: Part, kind: type[Holder], labelled: NDArray[np.bool_], content: Any) -> None:
        """Give the content of a part, a `Source` or links, to a holder."""
        part.holder = kind(part.rows, labelled, content)

    def ask(
        self, what: str, parts: Sequence[Part], shared: tuple = (), own: Sequence[tuple] | None = None
    ) -> list[Any]:
        """Return what each part's holder answers.

        Parameters
        ----------
        what : str
            Method of the holder.
        parts : sequence of Part
        shared : tuple
            Arguments that are the same for all.
        own : sequence of tuple, optional
            Further arguments, part by part.
        """
        own = [()] * len(parts) if own is None else own
        return [getattr(part.holder, what)(*shared, *mine) for part, mine in zip(parts, own)]

    def tally(self) -> dict[str, Any]:
        """Return what a round's `RoundEnd` tells of the crew; nothing of this one."""
        return {}
