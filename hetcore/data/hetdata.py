"""HetData: several sources and graphs over one set of instances, with labels for some of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data.graph import Graph
from hetcore.data.identity import positions, text_array, unique_ids
from hetcore.data.report import Finding, Report
from hetcore.data.source import Source
from hetcore.data.target import placed_labels, read_target, unlabelled
from hetcore.data.views import Views
from hetcore.data.whatif import WhatIf
from hetcore.data.words import counted, listed, quoted
from hetcore.errors import DataError

__all__ = ["HetData"]


class HetData(WhatIf, Views):
    """Sources, graphs and labels, aligned to one list of instances.

    Ids are text exactly as given: "001" is not "1". Whatever is dropped, merged or converted is one line of `report`.
    A `HetData` never changes: the methods that change something return a new one, which shares what did not change.

    Parameters
    ----------
    sources : mapping of str to polars DataFrame or Source
        At least one; a DataFrame has the id column, any other columns are its values.
    graphs : mapping of str to polars DataFrame, networkx graph, (ids, scipy sparse) or Graph, optional
        See `Graph`.
    target : polars DataFrame (id, y) or tuple (ids, y), optional
        Instances without a row, or with null, are unlabelled.
    id_column : str, default="id"
        Name of the id column in the tables and in `target` (where the first column is taken if it has no such column).
    task : {"regression", "classification"}, optional
        What the labels are; by default numbers are a regression and anything else a classification.
    keep_graph_only : bool, default=True
        What happens to an id at an edge that is in no source and has no label; it is always counted and reported.
        True keeps it as an instance that only graphs know (predicted from its neighbours); False drops its edges.
    kinds : mapping of str to mapping of str to str, optional
        By source, column kinds to use in place of the guessed ones.

    Attributes
    ----------
    ids : ndarray of str (n,)
        Distinct ids in order of first appearance: over the sources, then the target, then the graphs.
    y : ndarray (n,)
        float64 with NaN, or object (str) with None, for unlabelled.
    target_kind : "regression", "classification" or None
        What `y` is; None without a target.
    mask : ndarray of bool (p, n)
        Which source records which instance.
    sources, graphs : dict of str to Source, Graph
        The graphs are aligned to `ids`.
    report : Report
        What was found while reading.
    steps : tuple of str
        The what-if calls that led here from the data as read, as Python text.

    Raises
    ------
    DataError
        If there is no source, or a source, graph or the target can't be used; the message says which and why.
    """

    def __init__(
        self,
        sources: Mapping[str, Any],
        graphs: Mapping[str, Any] | None = None,
        target: Any = None,
        id_column: str = "id",
        task: str | None = None,
        keep_graph_only: bool = True,
        kinds: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.steps: tuple[str, ...] = ()
        self.sources = _read_sources(sources, id_column, kinds or {})
        read_graphs = _read_graphs(graphs or {})
        labels = _read_labels(target, id_column, task)
        known = unique_ids(*(source.id_series for source in self.sources.values()), labels[0])
        strangers = {name: _strangers(graph, known) for name, graph in read_graphs.items()} if read_graphs else {}
        self.id_series = unique_ids(known, *strangers.values()) if keep_graph_only and strangers else known
        self.graphs = {name: graph.aligned(self.id_series) for name, graph in read_graphs.items()}
        self._row_positions = {name: positions(s.id_series, self.id_series) for name, s in self.sources.items()}
        self.target_kind = labels[2]
        self.y = placed_labels(labels[1], positions(labels[0], self.id_series), self.n)
        self.y.flags.writeable = False
        findings = _own_findings(self.sources, read_graphs, labels[3])
        for name, ids in strangers.items():
            findings += _stranger_findings(name, read_graphs[name], ids, keep_graph_only, known)
        self.report = Report(findings + self._meeting_findings())

    @property
    def n(self) -> int:
        """Instances."""
        return len(self.id_series)

    @cached_property
    def ids(self) -> NDArray[np.object_]:
        return text_array(self.id_series)

    @cached_property
    def position(self) -> dict[str, int]:
        """The place of each id in `ids`."""
        return dict(zip(self.ids, range(self.n)))

    @property
    def source_names(self) -> list[str]:
        return list(self.sources)

    @property
    def graph_names(self) -> list[str]:
        return list(self.graphs)

    def rows(self, name: str) -> NDArray[np.int64]:
        """Return the place in `ids` of each record of a source, (m,), distinct.

        Raises
        ------
        DataError
            If there is no such source.
        """
        self._require(name, self.sources, "source")
        return self._row_positions[name]

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        mask = np.zeros((len(self.sources), self.n), dtype=bool)
        for i, rows in enumerate(self._row_positions.values()):
            mask[i, rows] = True
        mask.flags.writeable = False
        return mask

    @cached_property
    def labelled(self) -> NDArray[np.bool_]:
        """Which instances have a label, (n,)."""
        return ~unlabelled(self.y)

    @cached_property
    def classes(self) -> list[str]:
        """The class labels, sorted; empty unless the target is a classification."""
        return sorted(set(self.y[self.labelled])) if self.target_kind == "classification" else []

    def _require(self, name: str, among: Mapping[str, Any], noun: str) -> None:
        if name not in among:
            raise DataError(f"There is no {noun} {quoted(name)} among {listed(among)}: name one of them.")

    def _meeting_findings(self) -> list[Finding]:
        """Report sources and labels that share no instance with anything else."""
        linked = np.zeros(self.n, dtype=bool)
        for graph in self.graphs.values():
            linked |= graph.degree > 0
        others = self.mask.sum(axis=0) + linked + self.labelled
        alone = [name for name, rows in self._row_positions.items() if not (others[rows] > 1).any()]
        sizes = {name: self.sources[name].n_rows for name in alone if len(self.sources) + len(self.graphs) > 1}
        findings = [Finding("no_common_id", f"source {quoted(name)}", size, NO_COMMON) for name, size in sizes.items()]
        bare = self.labelled & ~self.mask.any(axis=0)
        count = int(bare.sum())
        if count:
            of = counted(int(self.labelled.sum()), "label")
            message = f"{count:,} of {of} for ids that no source has: kept as instances without a record"
            findings.append(Finding("label_without_record", "target", count, message, tuple(self.ids[bare][:5])))
        return findings

    def _replaced(self, step: str, **changes: Any) -> HetData:
        """Return a copy with some attributes changed and `step` noted; nothing cached is carried over."""
        other = object.__new__(HetData)
        for name in ("id_series", "sources", "graphs", "_row_positions", "y", "target_kind", "report"):
            setattr(other, name, changes.get(name, getattr(self, name)))
        other.y.flags.writeable = False
        other.steps = (*self.steps, step)
        return other


NO_COMMON = "no id in common with any other source, graph or label; are the ids written the same way?"


def _read_sources(sources: Mapping[str, Any], id_column: str, kinds: Mapping[str, Any]) -> dict[str, Source]:
    if not isinstance(sources, Mapping) or not sources:
        raise DataError("There is no source: give sources={name: table} with at least one table.")
    for name in kinds:
        if name not in sources:
            raise DataError(f"kinds names the source {quoted(name)}: name one of {listed(sources)}.")
    return {name: _read_source(name, given, id_column, kinds.get(name)) for name, given in sources.items()}


def _read_source(name: str, given: Any, id_column: str, kinds: Mapping[str, str] | None) -> Source:
    if not isinstance(name, str) or not name:
        raise DataError(f"The source name {quoted(name)} must be a text that is not empty: rename it.")
    try:
        if isinstance(given, Source):
            return given.with_kinds(kinds) if kinds else given
        return Source.from_frame(given, id_column, kinds)
    except DataError as error:
        raise DataError(f"Source {quoted(name)}: {error}") from None


def _read_graphs(graphs: Mapping[str, Any]) -> dict[str, Graph]:
    read = {}
    for name, given in graphs.items():
        try:
            read[name] = given if isinstance(given, Graph) else Graph(given)
        except DataError as error:
            raise DataError(f"Graph {quoted(name)}: {error}") from None
    return read


def _read_labels(target: Any, id_column: str, task: str | None) -> tuple[pl.Series, NDArray, str | None, list[Finding]]:
    if target is None:
        return pl.Series("id", [], dtype=pl.String), np.empty(0), None, []
    try:
        return read_target(target, id_column, task)
    except DataError as error:
        raise DataError(f"Target: {error}") from None


def _strangers(graph: Graph, known: pl.Series) -> pl.Series:
    """Return the ids at the graph's edges that are not known."""
    return graph.id_series.filter((positions(graph.id_series, known) < 0) & (graph.degree > 0))


def _stranger_findings(name: str, graph: Graph, strangers: pl.Series, kept: bool, known: pl.Series) -> list[Finding]:
    place = f"graph {quoted(name)}"
    unknown = positions(graph.id_series, known) < 0
    lonely = graph.id_series.filter(unknown & (graph.degree == 0))
    findings = []
    if len(lonely):
        message = f"{counted(len(lonely), 'node')} without an edge, in no source and without a label: left out"
        findings.append(Finding("lonely_node", place, len(lonely), message, tuple(lonely.head(5))))
    if len(strangers):
        a, b, _ = graph.edges()
        count = int((unknown[a] | unknown[b]).sum())
        fate = "kept as instances that only graphs know" if kept else "these edges are dropped"
        message = f"{counted(count, 'edge')} to {counted(len(strangers), 'id')} that no source and no label has: {fate}"
        findings.append(Finding("unknown_id", place, count, message, tuple(strangers.head(5))))
    if len(strangers) and bool(unknown.all()):
        findings.append(Finding("no_common_id", place, graph.n, "no id in common with any source or label"))
    return findings


def _own_findings(sources: Mapping[str, Source], graphs: Mapping[str, Graph], target: list[Finding]) -> list[Finding]:
    findings = [f.within(f"source {quoted(name)}") for name, source in sources.items() for f in source.findings]
    findings += [f.within(f"graph {quoted(name)}") for name, graph in graphs.items() for f in graph.findings]
    return findings + [finding.within("target") for finding in target]
