"""HetData: several sources and graphs over one set of instances, with labels for some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data.alignment import label_findings, lonely_source_findings, place_graphs
from hetcore.data.graph import Graph
from hetcore.data.identity import check_name, positions, text_array, unique_ids
from hetcore.data.leaks import find_leaks, leak_findings
from hetcore.data.report import Finding, Report
from hetcore.data.source import Source
from hetcore.data.spelling import check_ways, near_findings, respelled
from hetcore.data.summary import Views
from hetcore.data.target import label_name, placed_labels, read_target, unlabelled
from hetcore.data.text import listed, quoted
from hetcore.data.whatif import WhatIf
from hetcore.errors import DataError

__all__ = ["HetData"]


class HetData(WhatIf, Views):
    """Sources, graphs and labels, aligned to one list of instances.

    Ids are text exactly as given: "001" is not "1". Whatever is dropped, merged or converted is one line of `report`.
    A `HetData` never changes: the methods that change something return a new one, which shares what did not change.

    Parameters
    ----------
    sources : mapping of str to table or Source
        At least one table, of polars, pandas or another library that speaks Arrow or narwhals; it has the id column (of
        pandas perhaps as its named index), any other columns are its values.
    graphs : mapping of str to edge list, networkx graph, (ids, scipy sparse), (ids, PyG graph) or Graph, optional
        See `Graph`.
    target : table (id, y) or tuple (ids, y), optional
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
    spelling : sequence of str, default=()
        Ways in which ids and classes are made the same before they meet: some of `hetcore.data.spelling.WAYS`.

    Attributes
    ----------
    ids : ndarray of str (n,)
        Distinct ids in order of first appearance: over the sources, then the target, then the graphs.
    y : ndarray (n,)
        float64 with NaN, or object (str) with None, for unlabelled.
    target_kind : "regression", "classification" or None
        What `y` is; None without a target.
    label_name : str
        The column that the labels came from; empty where they have no name.
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

    Examples
    --------
    >>> plots = pl.DataFrame({"film": ["A", "B", "C"], "plot": ["a heist", "a wedding", "a heist"]})
    >>> links = pl.DataFrame({"source": ["A"], "target": ["C"]})
    >>> ratings = pl.DataFrame({"film": ["A", "B"], "rating": [8.0, 5.5]})
    >>> data = HetData({"plot": plots}, {"director": links}, ratings, id_column="film")
    >>> data.n, data.labelled.tolist()
    (3, [True, True, False])
    >>> print(data.coverage().select("name", "instances"))  # doctest: +NORMALIZE_WHITESPACE
    shape: (2, 2)
    ┌──────────┬───────────┐
    │ name     ┆ instances │
    │ ---      ┆ ---       │
    │ str      ┆ i64       │
    ╞══════════╪═══════════╡
    │ plot     ┆ 3         │
    │ director ┆ 2         │
    └──────────┴───────────┘
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
        spelling: Sequence[str] = (),
    ) -> None:
        self.steps: tuple[str, ...] = ()
        ways = check_ways(spelling)
        # spelling first: ids that become the same must be found so by sources, graphs and labels alike
        self.sources = {n: _respelled(s, ways) for n, s in _read_sources(sources, id_column, kinds or {}).items()}
        own_graphs = {n: _respelled_graph(g, ways) for n, g in _read_graphs(graphs or {}).items()}
        label_ids, labels, self.target_kind, label_notes = _read_labels(target, id_column, task, ways)
        self.label_name = label_name(target, id_column)
        # ids of sources come first, then labels: their places do not hang on graphs
        known = unique_ids(*(source.id_series for source in self.sources.values()), label_ids)
        self.id_series, self.graphs, graph_notes = place_graphs(own_graphs, known, keep_graph_only)
        self._row_positions = {name: positions(s.id_series, self.id_series) for name, s in self.sources.items()}
        self.y = placed_labels(labels, positions(label_ids, self.id_series), self.n)
        # read-only: what-if data share it
        self.y.flags.writeable = False
        notes = _own_findings(self.sources, own_graphs, label_notes) + graph_notes
        notes += self._alignment_findings() + near_findings(self.id_series, "id", "ids", "ids")
        notes += near_findings(pl.Series(self.classes, dtype=pl.String), "class", "classes", "target")
        self.report = Report(notes + leak_findings(find_leaks(self)))

    @classmethod
    def of_parts(
        cls, id_series: pl.Series, sources: Mapping[str, Source], graphs: Mapping[str, Graph], **facts: Any
    ) -> HetData:
        """Return data of parts that are aligned already, such as those that were written: nothing is read or checked.

        Parameters
        ----------
        id_series : polars Series of String (n,)
        sources, graphs : mapping of str to Source, Graph
            The graphs over these ids.
        **facts
            y (n,), target_kind, label_name, report and steps: see the class.
        """
        data = object.__new__(cls)
        # without __init__, which would read and check what was checked before it was written
        data.id_series, data.sources, data.graphs = id_series, dict(sources), dict(graphs)
        data._row_positions = {name: positions(source.id_series, id_series) for name, source in sources.items()}
        for name in ("y", "target_kind", "label_name", "report", "steps"):
            setattr(data, name, facts[name])
        data.y.flags.writeable = False
        return data

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
        # cached and handed out: a caller that writes to it would change what all others see
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

    def _alignment_findings(self) -> list[Finding]:
        """Report sources and labels that share no instance with anything else."""
        recorded = self.mask.any(axis=0)
        findings = label_findings(self.id_series, self.labelled, recorded)
        # a single part has nobody to share an instance with
        if len(self.sources) + len(self.graphs) == 1:
            return findings
        linked = np.any([graph.degree > 0 for graph in self.graphs.values()], axis=0)
        return lonely_source_findings(self._row_positions, self.mask.sum(axis=0) + linked + self.labelled) + findings

    def _replaced(self, step: str, **changes: Any) -> HetData:
        """Return a copy with some attributes changed and `step` noted; nothing cached is carried over."""
        other = object.__new__(HetData)
        for name in ("id_series", "sources", "graphs", "_row_positions", "y", "target_kind", "label_name", "report"):
            setattr(other, name, changes.get(name, getattr(self, name)))
        # a new array of a what-if too
        other.y.flags.writeable = False
        other.steps = (*self.steps, step)
        return other


def _read_sources(sources: Mapping[str, Any], id_column: str, kinds: Mapping[str, Any]) -> dict[str, Source]:
    if not isinstance(sources, Mapping) or not sources:
        raise DataError("There is no source: give sources={name: table} with at least one table.")
    for name in kinds:
        if name not in sources:
            raise DataError(f"kinds names the source {quoted(name)}: name one of {listed(sources)}.")
    return {name: _read_source(name, given, id_column, kinds.get(name)) for name, given in sources.items()}


def _read_source(name: str, given: Any, id_column: str, kinds: Mapping[str, str] | None) -> Source:
    check_name("source", name)
    try:
        if isinstance(given, Source):
            return given.with_kinds(kinds) if kinds else given
        return Source.from_frame(given, id_column, kinds)
    except DataError as error:
        raise DataError(f"Source {quoted(name)}: {error}") from None


def _read_graphs(graphs: Mapping[str, Any]) -> dict[str, Graph]:
    read = {}
    for name, given in graphs.items():
        check_name("graph", name)
        try:
            read[name] = given if isinstance(given, Graph) else Graph(given)
        except DataError as error:
            raise DataError(f"Graph {quoted(name)}: {error}") from None
    return read


def _respelled(source: Source, ways: tuple[str, ...]) -> Source:
    # nothing to respell: the very object, whose encoding others may have kept
    if not ways:
        return source
    values = source.frame if source.array is None else source.array
    other = Source(respelled(source.id_series, ways), values, source.kinds)
    # what was found in the file as it was given stays said
    other.n_given, other.findings = source.n_given, (*source.findings, *other.findings)
    return other


def _respelled_graph(graph: Graph, ways: tuple[str, ...]) -> Graph:
    if not ways:
        return graph
    edges = graph.to_frame()
    other = Graph(edges.with_columns(respelled(edges[end], ways) for end in ("source", "target")))
    other.n_given, other.findings = graph.n_given, (*graph.findings, *other.findings)
    return other


def _read_labels(
    target: Any, id_column: str, task: str | None, ways: tuple[str, ...]
) -> tuple[pl.Series, NDArray, str | None, list[Finding]]:
    if target is None:
        return pl.Series("id", [], dtype=pl.String), np.empty(0), None, []
    try:
        return read_target(target, id_column, task, ways)
    except DataError as error:
        raise DataError(f"Target: {error}") from None


def _own_findings(sources: Mapping[str, Source], graphs: Mapping[str, Graph], target: list[Finding]) -> list[Finding]:
    findings = [f.within(f"source {quoted(name)}") for name, source in sources.items() for f in source.findings]
    findings += [f.within(f"graph {quoted(name)}") for name, graph in graphs.items() for f in graph.findings]
    return findings + [finding.within("target") for finding in target]
