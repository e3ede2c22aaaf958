"""All sources side by side, as eq. (5.20) of the GBC paper joins them: encoded tables, then adjacency rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hetcore.data import Graph, HetData, Source
from hetcore.data.encoding import SourceEncoder, side_by_side
from hetcore.data.identity import positions
from hetcore.errors import ParameterError

__all__ = ["Joined", "JoinedFeatures", "neighbor_means"]

FILLS = ("mean", "nan")


class Joined(NamedTuple):
    """Joined features of n instances.

    Attributes
    ----------
    tables : (n, d) float32 array
        The encoded columns of all sources, one after the other.
    links : (n, q * m) float32 CSR array
        Link weights to the m training instances, graph by graph; no column without adjacency rows.
    words : (d,) bool array
        Which columns of `tables` are TF-IDF weights of words.
    """

    tables: NDArray[np.float32]
    links: scipy.sparse.csr_array
    words: NDArray[np.bool_]


class JoinedFeatures:
    """Join the sources of heterogeneous data into one matrix; learned on the training data, used on any.

    Parameters
    ----------
    adjacency : bool, default=True
        Whether each graph adds its adjacency rows.
    fill : {"mean", "nan"}, default="mean"
        What a missing cell of a table becomes, also where a whole record is missing: its column's mean over the
        training data, or NaN for a learner that knows it.

    Raises
    ------
    ParameterError
        If `fill` is neither.
    """

    def __init__(self, adjacency: bool = True, fill: str = "mean") -> None:
        if fill not in FILLS:
            raise ParameterError(f"fill={fill!r} is not known: give 'mean' or 'nan'.")
        self.adjacency, self.fill = adjacency, fill

    def fit(self, data: HetData) -> JoinedFeatures:
        """Learn encoders and means; the columns of the adjacency rows are this data's instances."""
        self._encoders = {name: SourceEncoder().fit(source) for name, source in data.sources.items()}
        self._graphs = data.graph_names if self.adjacency else []
        self._ids = data.id_series
        self._words = np.array([word for name in data.sources for word in self._are_words(name, data.sources[name])])
        tables = side_by_side(data, self._encoders)
        known = ~np.isnan(tables)
        totals = np.where(known, tables, 0.0).sum(axis=0, dtype=np.float64)
        # a column without any value: its mean is 0
        self._means = (totals / np.maximum(known.sum(axis=0), 1)).astype(np.float32)
        return self

    def transform(self, data: HetData) -> Joined:
        """Return the joined features of data with these sources and graphs, some of which may be lacking."""
        tables = side_by_side(data, self._encoders)
        if self.fill == "mean":
            tables = np.where(np.isnan(tables), self._means, tables)
        blocks = [self._links(data.graphs.get(name), data) for name in self._graphs]
        none = scipy.sparse.csr_array((data.n, 0), dtype=np.float32)
        links = scipy.sparse.hstack([none, *blocks], format="csr") if blocks else none
        return Joined(tables, links, self._words)

    def _are_words(self, name: str, source: Source) -> list[bool]:
        texts = tuple(f"{column}: " for column, kind in source.kinds.items() if kind == "text")
        names = self._encoders[name].feature_names
        return [feature.startswith(texts) and not feature.endswith(": number of words") for feature in names]

    def _links(self, graph: Graph | None, data: HetData) -> scipy.sparse.csr_array:
        """Return link weights (n, m) to the training instances; links to others are left out."""
        shape = (data.n, len(self._ids))
        if graph is None:
            # a graph that the data lack: no links, the columns stay
            return scipy.sparse.csr_array(shape, dtype=np.float32)
        links = graph.adjacency().tocoo()
        # columns are the instances of the fit, whatever the order now
        column = positions(data.id_series, self._ids)[links.col]
        kept = column >= 0
        return scipy.sparse.csr_array((links.data[kept], (links.row[kept], column[kept])), shape=shape)


def neighbor_means(graph: Graph, labels: NDArray) -> NDArray[np.float32]:
    """Return what the labelled neighbours of each instance say on average, weighted by their links.

    A graph has no self-loop, so an instance's own label never takes part.

    Parameters
    ----------
    graph : Graph
        Over the n instances.
    labels : (n, K) array
        Numbers, or one column of 0 and 1 a class; a row of NaN where the label is unknown.

    Returns
    -------
    (n, K) float32 array
        NaN for an instance without a labelled neighbour.
    """
    known = ~np.isnan(labels).any(axis=1)
    links = graph.adjacency()
    weight = links @ known.astype(np.float64)
    total = links @ np.where(known[:, None], labels, 0.0)
    means = np.full(labels.shape, np.nan, dtype=np.float32)
    np.divide(total, weight[:, None], out=means, where=weight[:, None] > 0, casting="same_kind")
    return means
