"""Variants of one instance: what a consensus predicts if its values were others, and nobody else knew of it.

Each variant has records of its own and looks along the links of the instance that it is a variant of, from which its
own label stays hidden as in training. Nobody looks at a variant: neighbours keep what was recorded of the instance. So
thousands of variants are predicted in one pass over the data, and one that changes nothing is predicted like the
instance itself.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse
from numpy.typing import NDArray

from hetcore.consensus.gbc import Explanation
from hetcore.consensus.repeated import RepeatedModel
from hetcore.consensus.view_predictor import ViewModel
from hetcore.data import HetData, Source
from hetcore.data.graph import Graph
from hetcore.data.text import listed, quoted
from hetcore.errors import DataError

__all__ = ["explain_variants"]


def explain_variants(
    model: Any, data: HetData, tables: Mapping[str, pl.DataFrame | NDArray], like: str | None = None
) -> Explanation:
    """Return what a consensus predicts for v variants of an instance, and why.

    Parameters
    ----------
    model : GBCClassifier or GBCRegressor
        Fitted.
    data : HetData
        What the others are, and the links.
    tables : mapping of str to polars DataFrame or (v, ...) array
        By source, v rows with its columns; a source that is not named has no record of the variants.
    like : str, optional
        Whose links the variants look along; without it they have none.

    Raises
    ------
    DataError
        If there is no table or no such source or instance, or the tables differ in their rows.
    """
    count = _count(data, tables)
    if like is not None and like not in data.position:
        raise DataError(f"There is no instance {quoted(like)} in the data: name one of them.")
    place = -1 if like is None else data.position[like]
    linked = place >= 0 and any(graph.degree[place] for graph in data.graphs.values())
    # without a link no other row can matter, and the rest of the data need not be encoded
    extended = _beside(data, tables, place, count) if linked else _alone(data, tables, count)
    # else its own label would be hidden from the instance and not from its variants
    asked = copy.copy(_remembering(model, like, extended.id_series[-count:]))
    # a what-if asks on purpose beyond what the training had, and need not be told so
    asked._ranges = None
    found = asked.explain(extended)
    return Explanation(*(None if part is None else part[-count:] for part in found))


def _count(data: HetData, tables: Mapping[str, Any]) -> int:
    """Return how many variants there are."""
    unknown = [name for name in tables if name not in data.sources]
    if unknown or not tables:
        raise DataError(f"Variants have values of the sources {listed(data.sources)}, not of {listed(unknown)}.")
    counts = {len(each) for each in tables.values()}
    if len(counts) > 1 or not min(counts):
        rows = listed(map(str, sorted(counts)))
        raise DataError(f"The tables of variants have {rows} rows: give all alike, and some.")
    return counts.pop()


def _fresh_ids(data: HetData, count: int) -> pl.Series:
    """Return ids that no instance has."""
    start = "variant"
    # ids are the person's, and may be "variant 0"
    while data.id_series.str.starts_with(f"{start} ").any():
        start += "'"
    return pl.Series("id", [f"{start} {k}" for k in range(count)])


def _alone(data: HetData, tables: Mapping[str, Any], count: int) -> HetData:
    """Return the variants as data without links."""
    ids, rows = _fresh_ids(data, count), np.arange(count)
    sources = {name: _source(data.sources[name], ids, values, 0) for name, values in tables.items()}
    places, y = dict.fromkeys(sources, rows), _none(data, count)
    # without checks, which the data passed already
    return data._replaced("variants", id_series=ids, sources=sources, _row_positions=places, graphs={}, y=y)


def _beside(data: HetData, tables: Mapping[str, Any], place: int, count: int) -> HetData:
    """Return the data with the variants at their end, which see the links of the instance at `place`."""
    ids = pl.concat([data.id_series, _fresh_ids(data, count)])
    sources, places = dict(data.sources), {name: data.rows(name) for name in data.sources}
    for name, values in tables.items():
        sources[name] = _source(data.sources[name], ids[data.n :], values, data.sources[name].n_rows)
        places[name] = np.concatenate([places[name], data.n + np.arange(count)])
    graphs = {name: _Seen(graph, ids, place, count) for name, graph in data.graphs.items()}
    y = np.concatenate([data.y, _none(data, count)])
    return data._replaced("variants", id_series=ids, sources=sources, _row_positions=places, graphs=graphs, y=y)


def _none(data: HetData, count: int) -> NDArray:
    """Return labels that are not there, of the type of the data's."""
    return np.full(count, np.nan if data.y.dtype.kind == "f" else None, data.y.dtype)


def _source(source: Source, ids: pl.Series, values: Any, before: int) -> Source:
    """Return the first `before` records of a source and, under `ids`, the variants'."""
    if source.array is None:
        # a form has text where the data have numbers
        values = values.select(source.frame.columns).cast(dict(source.frame.schema), strict=False)
        values = pl.concat([source.frame[:before], values])
    else:
        values = np.concatenate([source.array[:before], np.asarray(values, source.array.dtype)])
    return source._copy(id_series=pl.concat([source.id_series[:before], ids]), values=values)


class _Seen(Graph):
    """A graph with `count` more nodes that each see the neighbours of one, at `place`, and whom nobody sees."""

    def __init__(self, graph: Graph, ids: pl.Series, place: int, count: int) -> None:
        self.n_given, self.findings, self._graph = graph.n_given, graph.findings, graph
        self.stands_for = np.concatenate([np.arange(graph.n), np.full(count, place)])
        self._set(ids, self._extended(graph.adjacency()))

    def neighbors(self, direction: str = "both") -> scipy.sparse.csr_array:
        return self._extended(self._graph.neighbors(direction))

    def _extended(self, links: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
        # one-way links, which a graph as such has not: variants see, and are not seen
        place, count = self.stands_for[-1], self.stands_for.size - links.shape[0]
        own = slice(links.indptr[place], links.indptr[place + 1])
        near, weights = links.indices[own], links.data[own]
        indptr = np.concatenate([links.indptr, links.indptr[-1] + len(near) * np.arange(1, count + 1)])
        weights = np.concatenate([links.data, np.tile(weights, count)])
        indices = np.concatenate([links.indices, np.tile(near, count)])
        return scipy.sparse.csr_array((weights, indices, indptr), shape=(self.stands_for.size,) * 2)


def _remembering(model: Any, like: str | None, variants: pl.Series) -> Any:
    """Return a model that takes the variants for the labelled instance that they are of."""
    kept = getattr(model.model_, "models", [model.model_])
    # an unlabelled instance has nothing to hide
    if not isinstance(kept[0], ViewModel) or like is None or like not in set(kept[0].memory.ids):
        return model
    # copies: the person's own model must not learn of variants
    other, taught = copy.copy(model), [_with_variants(each, like, variants) for each in kept]
    other.model_ = RepeatedModel(taught) if isinstance(model.model_, RepeatedModel) else taught[0]
    return other


def _with_variants(kept: ViewModel, like: str, variants: pl.Series) -> ViewModel:
    memory, kept = kept.memory, copy.copy(kept)
    place = np.concatenate([np.arange(len(memory.ids)), np.full(len(variants), memory.ids.index_of(like))])
    rows = {name: getattr(memory, name) for name in ("codes", "fold", "working", "missed")}
    rows = {name: each[place] for name, each in rows.items() if each is not None}
    kept.memory = replace(memory, ids=pl.concat([memory.ids, variants]), **rows)
    return kept
