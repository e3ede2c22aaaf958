"""What-if questions: each method returns a new `HetData` that shares what did not change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data.columns import check_index, finite, several
from hetcore.data.graph import Graph
from hetcore.data.identity import as_ids, check_name, positions
from hetcore.data.noise import LabelNoise, check_seed, noisy_source, rewired, thinned
from hetcore.data.report import Finding
from hetcore.data.source import Source
from hetcore.data.target import as_labels
from hetcore.data.text import counted, listed, quoted, shown
from hetcore.errors import DataError, ParameterError

if TYPE_CHECKING:
    from hetcore.data.hetdata import HetData

__all__ = ["WhatIf"]

MAX_SHOWN = 100


class WhatIf(LabelNoise):
    """The what-if methods of `HetData`; unless said otherwise instances keep their places, so results compare."""

    def select(self: HetData, sources: Iterable[str] | None = None, graphs: Iterable[str] | None = None) -> HetData:
        """Keep some sources and graphs; None keeps all. Instances stay, even those that nothing covers any more.

        Raises
        ------
        DataError
            If a name is unknown or no source is left.
        """
        chosen_sources = self.source_names if sources is None else _names(sources, self.sources, "source")
        chosen_graphs = self.graph_names if graphs is None else _names(graphs, self.graphs, "graph")
        if not chosen_sources:
            raise DataError("No source is selected: keep at least one.")
        return self._replaced(
            f"select(sources={chosen_sources!r}, graphs={chosen_graphs!r})",
            sources={name: self.sources[name] for name in chosen_sources},
            _row_positions={name: self._row_positions[name] for name in chosen_sources},
            graphs={name: self.graphs[name] for name in chosen_graphs},
        )

    def with_noise(self: HetData, name: str, sd: float = 1.0, seed: int = 0) -> HetData:
        """Add noise to a source.

        Parameters
        ----------
        name : str
            Source.
        sd : float, default=1.0
            Standard deviation of the noise in units of each real column's own, at least 0. The cells of binary and
            nominal columns are redrawn from their column, and the words of text exchanged among rows, each with
            probability 1 − 1/√(1 + sd²): see `hetcore.data.noise`.
        seed : int, default=0
            Seed of the noise.

        Raises
        ------
        DataError, ParameterError
            If there is no such source, `sd` is negative, not finite or too large for its numbers, or `seed` is no seed.
        """
        self._require(name, self.sources, "source")
        if not (finite(sd) and sd >= 0):
            raise ParameterError(f"sd={shown(sd)} must be finite and at least 0: 1 doubles the variance.")
        check_seed(seed)
        noisy = noisy_source(self.sources[name], sd, seed)
        return self._replaced(f"with_noise({name!r}, sd={sd!r}, seed={seed!r})", sources={**self.sources, name: noisy})

    def with_graph_noise(self: HetData, name: str, share: float, seed: int = 0, how: str = "rewire") -> HetData:
        """Rewire or remove a random share of a graph's edges.

        Parameters
        ----------
        name : str
            Graph.
        share : float
            Share of the edges in [0, 1].
        seed : int, default=0
            Seed of the choice.
        how : {"rewire", "thin"}, default="rewire"
            "rewire": these edges exchange their ends, so every node keeps its degree. "thin": they go.

        Raises
        ------
        DataError, ParameterError
            If there is no such graph, or a parameter is outside its domain.
        """
        self._require(name, self.graphs, "graph")
        if not (finite(share) and 0 <= share <= 1):
            raise ParameterError(f"share={shown(share)} must be in [0, 1]: 0 changes nothing, 1 changes every edge.")
        check_seed(seed)
        if not (isinstance(how, str) and how in ("rewire", "thin")):
            raise ParameterError(f"how={shown(how)} is not 'rewire' or 'thin': choose one of them.")
        changed = (rewired if how == "rewire" else thinned)(self.graphs[name], share, seed)
        step = f"with_graph_noise({name!r}, share={share!r}, seed={seed!r}, how={how!r})"
        return self._replaced(step, graphs={**self.graphs, name: changed})

    def with_edges(
        self: HetData, name: str, add: Iterable[tuple[str, str]] = (), cut: Iterable[tuple[str, str]] = ()
    ) -> HetData:
        """Add edges of weight 1 to a graph (one that is there stays as it is) and cut edges.

        Parameters
        ----------
        name : str
            Graph.
        add, cut : iterable of (str, str)
            Edges by the ids of their ends.

        Raises
        ------
        DataError
            If there is no such graph or id, an edge is no pair of ids, one to cut is not there, or one to add links an
            instance to itself.
        """
        self._require(name, self.graphs, "graph")
        add, cut = _pairs(add), _pairs(cut)
        graph, n = self.graphs[name], self.n
        a, b, weights = graph.edges()
        # an edge as one number, so that sets of edges are compared at once
        keys = a.astype(np.int64) * n + b
        gone, new = self._edge_keys(cut), np.setdiff1d(self._edge_keys(add), keys)
        if not np.isin(gone, keys).all():
            raise DataError(f"Graph {quoted(name)} has not all of the edges {listed(cut)}: cut edges that are there.")
        keep = ~np.isin(keys, gone)
        ends = np.concatenate([a[keep], new // n]), np.concatenate([b[keep], new % n])
        changed = graph.with_edge_arrays(*ends, np.concatenate([weights[keep], np.ones(len(new), np.float32)]))
        return self._replaced(f"with_edges({name!r}, add={add!r}, cut={cut!r})", graphs={**self.graphs, name: changed})

    def _edge_keys(self: HetData, edges: list[tuple[str, str]]) -> NDArray[np.int64]:
        ends = self._places([end for edge in edges for end in edge]).reshape(-1, 2)
        # a link to oneself is no link anywhere here
        if (ends[:, 0] == ends[:, 1]).any():
            raise DataError(f"An edge in {listed(edges)} links an instance to itself: give two different ids.")
        return np.unique(ends.min(axis=1) * self.n + ends.max(axis=1))

    def sample(self: HetData, fraction: float, seed: int = 0) -> HetData:
        """Keep a random fraction of the instances, at least one; the order stays.

        Parameters
        ----------
        fraction : float
            In (0, 1].
        seed : int, default=0
            Seed of the choice.
        """
        if not (finite(fraction) and 0 < fraction <= 1):
            raise ParameterError(f"fraction={shown(fraction)} must be above 0 and at most 1: 0.3 keeps three in ten.")
        check_seed(seed)
        size = max(1, round(fraction * self.n))
        # sorted: instances keep their order
        keep = np.sort(np.random.default_rng(seed).permutation(self.n)[:size])
        return self._taken(keep, f"sample({fraction!r}, seed={seed!r})")

    def drop_instances(self: HetData, ids: Any) -> HetData:
        """Remove instances, given as ids or as a boolean array (n,), from every source, graph and the labels.

        Raises
        ------
        DataError
            If an id is unknown or no instance would be left.
        """
        gone = self._chosen(ids)
        if gone.all():
            raise DataError(f"All {counted(self.n, 'instance')} would be dropped: keep at least one.")
        return self._taken(np.flatnonzero(~gone), f"drop_instances({self._shown(gone)})")

    def hide_source(self: HetData, name: str, ids: Any) -> HetData:
        """Hide the records that some instances have in a source.

        Parameters
        ----------
        name : str
            Source.
        ids : sequence of str, or (n,) bool
            Instances, or which of them.

        Raises
        ------
        DataError
            If there is no such source, an id is unknown, or the source would have no record left.
        """
        self._require(name, self.sources, "source")
        gone = self._chosen(ids)
        # a source without a record can't be encoded
        if gone[self._row_positions[name]].all():
            raise DataError(f"Source {quoted(name)} would have no record left: leave it out with select instead.")
        return self._without_records({name: gone}, f"hide_source({name!r}, {self._shown(gone)})")

    def _without_records(self: HetData, gone: Mapping[str, NDArray[np.bool_]], step: str) -> HetData:
        """Return the data without the records of the instances (n,) given for each source."""
        rows = {name: np.flatnonzero(~which[self._row_positions[name]]) for name, which in gone.items()}
        return self._replaced(
            step,
            sources=self.sources | {name: self.sources[name].take(kept) for name, kept in rows.items()},
            _row_positions=self._row_positions | {name: self._row_positions[name][kept] for name, kept in rows.items()},
        )

    def _shown(self: HetData, chosen: NDArray[np.bool_]) -> str:
        """Return chosen ids as Python text, or their number where a list would be too long to read."""
        count = int(chosen.sum())
        return repr(self.ids[chosen].tolist()) if count <= MAX_SHOWN else f"<{count} ids>"

    def hide_labels(self: HetData, ids: Any) -> HetData:
        """Make instances (ids, or a boolean array (n,)) unlabelled."""
        gone = self._chosen(ids)
        y = self.y.copy()
        y[gone] = np.nan if y.dtype.kind == "f" else None
        return self._replaced(f"hide_labels({self._shown(gone)})", y=y)

    def with_target(self: HetData, y: Any, task: str | None = None) -> HetData:
        """Replace the labels.

        Parameters
        ----------
        y : array (n,), or None
            In the order of `ids`; NaN or None is unlabelled. None removes the labels.
        task : "regression", "classification" or None
            None guesses: numbers are a regression, anything else a classification.

        Raises
        ------
        DataError
            If the length is not n, the labels can't be used, or they are of pandas with an index that is the ids in
            another order.
        """
        check_index(y, self.id_series)
        labels, kind, findings = as_labels([None] * self.n if y is None else y, task)
        if len(labels) != self.n:
            expected = counted(self.n, "instance")
            raise DataError(f"y has {len(labels):,} labels for {expected}: give one for each, NaN for none.")
        return self._replaced(
            "with_target(y)",
            y=labels.copy(),
            target_kind=None if y is None else kind,
            label_name=_name_of(y) or self.label_name if y is not None else "",
            _notes=self._notes + [finding.within("target") for finding in findings],
        )

    def with_kinds(self: HetData, name: str, kinds: Mapping[str, str]) -> HetData:
        """Change column kinds of a source: see `Source.with_kinds`.

        Parameters
        ----------
        name : str
            Source.
        kinds : mapping of str to str
            Column -> kind.

        Raises
        ------
        DataError
            If there is no such source or column, or its values do not allow the kind.
        """
        self._require(name, self.sources, "source")
        before = self.sources[name]
        changed = before.with_kinds(kinds)
        new = [finding.within(f"source {quoted(name)}") for finding in changed.findings[len(before.findings) :]]
        step = f"with_kinds({name!r}, {dict(kinds)!r})"
        return self._replaced(step, sources={**self.sources, name: changed}, _notes=self._notes + new)

    def with_source(self: HetData, name: str, source: Source) -> HetData:
        """Add a source, or replace the one of this name; records of ids not in `ids` are left out and reported.

        Raises
        ------
        DataError
            If no record belongs to an instance, or the source is no `Source`.
        """
        check_name("source", name)
        if not isinstance(source, Source):
            kind = type(source).__name__
            raise DataError(f"Source {quoted(name)} is of type {kind}: give hetcore.Source(ids, table without ids).")
        # records of unknown ids are left out: adding an instance would move all results
        place = positions(source.id_series, self.id_series)
        known = np.flatnonzero(place >= 0)
        if len(known) == 0:
            raise DataError(f"Source {quoted(name)} has no id in common with the data: write the ids the same way.")
        findings = [finding.within(f"source {quoted(name)}") for finding in source.findings]
        if len(known) < source.n_rows:
            strange = source.id_series.filter(place < 0)
            message = f"{counted(len(strange), 'row')} of ids that the data do not have: left out"
            place_name, examples = f"source {quoted(name)}", tuple(strange.head(5))
            findings.append(Finding("unknown_id", place_name, len(strange), message, examples))
            source = source.take(known)
        return self._replaced(
            f"with_source({name!r}, source)",
            sources={**self.sources, name: source},
            _row_positions={**self._row_positions, name: place[known]},
            _notes=self._notes + findings,
        )

    def with_graph(self: HetData, name: str, graph: Graph) -> HetData:
        """Add a graph, or replace the one of this name; edges to ids not in `ids` are left out and reported.

        Raises
        ------
        DataError
            If the graph is no `Graph`.
        """
        check_name("graph", name)
        if not isinstance(graph, Graph):
            raise DataError(f"Graph {quoted(name)} is of type {type(graph).__name__}: give hetcore.Graph(edges).")
        aligned = graph.aligned(self.id_series)
        findings = [finding.within(f"graph {quoted(name)}") for finding in graph.findings]
        lost = graph.n_edges - aligned.n_edges
        if lost:
            message = f"{counted(lost, 'edge')} to ids that the data do not have: left out"
            findings.append(Finding("unknown_id", f"graph {quoted(name)}", lost, message))
        step = f"with_graph({name!r}, graph)"
        return self._replaced(step, graphs={**self.graphs, name: aligned}, _notes=self._notes + findings)

    def _taken(self: HetData, keep: NDArray[np.int64], step: str) -> HetData:
        """Return the data of the instances at the places `keep` (ascending)."""
        place = np.full(self.n, -1, dtype=np.int64)
        place[keep] = np.arange(len(keep))
        ids = self.id_series[keep]
        rows = {name: np.flatnonzero(place[old] >= 0) for name, old in self._row_positions.items()}
        return self._replaced(
            step,
            id_series=ids,
            sources={name: source.take(rows[name]) for name, source in self.sources.items()},
            _row_positions={name: place[self._row_positions[name][kept]] for name, kept in rows.items()},
            graphs={name: graph.placed(place, ids) for name, graph in self.graphs.items()},
            y=self.y[keep],
        )

    def _chosen(self: HetData, ids: Any) -> NDArray[np.bool_]:
        """Return the instances meant by ids or by a boolean array, (n,) bool."""
        try:
            values = np.asarray(ids) if not isinstance(ids, pl.Series) else ids.to_numpy()
        # rows of several lengths, which are no ids
        except ValueError:
            values = np.empty(0)
        if values.dtype == bool and values.shape == (self.n,):
            return values
        chosen = np.zeros(self.n, dtype=bool)
        chosen[self._places(ids)] = True
        return chosen

    def _places(self: HetData, ids: Any) -> NDArray[np.int64]:
        # a single id is one, not its letters
        ids = list(ids) if several(ids) else [ids]
        texts, _ = as_ids(ids)
        places = positions(texts, self.id_series)
        if (places < 0).any():
            unknown = [given for given, at in zip(ids, places) if at < 0]
            raise DataError(f"The ids {listed(unknown)} are not in the data: give ids as in data.ids.")
        return places


def _pairs(edges: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Return edges as pairs of ids; a text is one id, not its letters."""
    if not several(edges):
        raise DataError(f"The edges are {shown(edges)}: give a list of (id, id).")
    found = list(edges)
    for edge in found:
        if not isinstance(edge, tuple | list | np.ndarray) or np.shape(edge)[:1] != (2,):
            raise DataError(f"The edge {shown(edge)} is no pair: give a list of (id, id), without weights.")
    return [tuple(edge) for edge in found]


def _name_of(labels: Any) -> str:
    """Return the name of a series, empty for what has none."""
    name = getattr(labels, "name", None)
    return name if isinstance(name, str) else ""


def _names(given: Iterable[str], known: Mapping[str, Any], noun: str) -> list[str]:
    if not (several(given) or isinstance(given, str | Mapping)):
        raise DataError(f"The {noun}s are {shown(given)}: name some of {listed(known)}.")
    names = [given] if isinstance(given, str) else list(given)
    unknown = [name for name in names if not (isinstance(name, str) and name in known)]
    if unknown:
        raise DataError(f"There is no {noun} {listed(unknown)} among {listed(known)}: name some of them.")
    return list(dict.fromkeys(names))
