"""What a person gives as sources, graphs and labels, read; each error says of which part it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data.graph import Graph, placed_arcs
from hetcore.data.identity import check_name, positions
from hetcore.data.reading.parquet_files import ParquetTable, is_path
from hetcore.data.reading.scanned_source import ScannedSource
from hetcore.data.report import Finding
from hetcore.data.source import Source
from hetcore.data.spelling import respelled
from hetcore.data.target import check_task, read_target
from hetcore.data.text import listed, quoted, shown
from hetcore.errors import DataError

__all__ = ["Labels", "own_findings", "read_graphs", "read_labels", "read_sources", "read_target_table"]

Labels = tuple[pl.Series, NDArray, str | None, list[Finding]]
"""Ids (l,), labels (l,), what they are, and what was found."""


def read_sources(
    sources: Mapping[str, Any],
    id_column: str,
    kinds: Mapping[str, Any],
    ways: tuple[str, ...],
    within: Sequence[Path] | None = None,
) -> dict[str, Source]:
    """Read sources, ids respelled in some ways.

    Parameters
    ----------
    sources : mapping of str to table or Source
        Or to a path, if `within` is given: of those no row is read.
    id_column, kinds
        As of `HetData`.
    ways : tuple of str
        See `hetcore.data.spelling`.
    within : sequence of Path, optional
        Folders in which files must lie; none for anywhere.

    Raises
    ------
    DataError
        If there is no source, or one can't be used.
    """
    if sources is not None and not isinstance(sources, Mapping):
        kind = type(sources).__name__
        raise DataError(f"The sources are a {kind}, not named: give sources={{name: table}}, a table or more.")
    if not sources:
        raise DataError("There is no source: give sources={name: table} with at least one table.")
    if not isinstance(kinds, Mapping):
        raise DataError(f"kinds={shown(kinds)} names no source: give {{source: {{column: kind}}}}.")
    for name in kinds:
        if name not in sources:
            raise DataError(f"kinds names the source {quoted(name)}: name one of {listed(sources)}.")
    read = {}
    for name, given in sources.items():
        check_name("source", name)
        try:
            if within is not None and is_path(given):
                read[name] = ScannedSource(ParquetTable.of(given, within, id_column), id_column, ways)
            else:
                read[name] = _respelled(_read_source(given, id_column, kinds.get(name)), ways)
        except DataError as error:
            raise DataError(f"Source {quoted(name)}: {error}") from None
    return read


def _read_source(given: Any, id_column: str, kinds: Mapping[str, str] | None) -> Source:
    if isinstance(given, Source):
        return given if kinds is None else given.with_kinds(kinds)
    return Source.from_frame(given, id_column, kinds)


def read_graphs(
    graphs: Mapping[str, Any] | None, ways: tuple[str, ...], within: Sequence[Path] | None = None
) -> dict[str, Graph]:
    """Read graphs: see `read_sources`; a table at a path is read whole."""
    if graphs is not None and not isinstance(graphs, Mapping):
        kind = type(graphs).__name__
        raise DataError(f"The graphs are a {kind}, not named: give graphs={{name: edges}}, or leave them out.")
    read = {}
    for name, given in (graphs or {}).items():
        check_name("graph", name)
        try:
            given = _read_path(given, within)
            read[name] = _respelled_graph(given if isinstance(given, Graph) else Graph(given), ways)
        except DataError as error:
            raise DataError(f"Graph {quoted(name)}: {error}") from None
    return read


def read_target_table(target: Any, within: Sequence[Path]) -> Any:
    """Return the whole table at a path, anything else as it is."""
    try:
        return _read_path(target, within)
    except DataError as error:
        raise DataError(f"Target: {error}") from None


def _read_path(given: Any, within: Sequence[Path] | None) -> Any:
    if within is None or not is_path(given):
        return given
    table = ParquetTable.of(given, within)
    return table.read(list(table.schema))


def read_labels(target: Any, id_column: str, task: str | None, ways: tuple[str, ...]) -> Labels:
    """Read labels and their ids, respelled in some ways."""
    # without labels a word that is no task would go unseen
    check_task(task)
    if target is None:
        return pl.Series("id", [], dtype=pl.String), np.empty(0), None, []
    try:
        return read_target(target, id_column, task, ways)
    except DataError as error:
        raise DataError(f"Target: {error}") from None


def own_findings(sources: Mapping[str, Source], graphs: Mapping[str, Graph], target: list[Finding]) -> list[Finding]:
    """Return what was found in the sources, the graphs and the target, each within its part."""
    findings = [f.within(f"source {quoted(name)}") for name, source in sources.items() for f in source.findings]
    findings += [f.within(f"graph {quoted(name)}") for name, graph in graphs.items() for f in graph.findings]
    return findings + [finding.within("target") for finding in target]


def _respelled(source: Source, ways: tuple[str, ...]) -> Source:
    # nothing to respell: the very object, whose encoding others may have kept
    if not ways:
        return source
    values = source.frame if source.array is None else source.array
    other = Source(respelled(source.id_series, ways), values, source.kinds)
    # what was found in the file as it was given stays said
    more = [finding for finding in other.findings if finding not in source.findings]
    other.n_given, other.findings = source.n_given, (*source.findings, *more)
    # plain values no longer show what they were given as
    other.moments, other.guess = source.moments, dict(source.guess)
    return other


def _respelled_graph(graph: Graph, ways: tuple[str, ...]) -> Graph:
    if not ways:
        return graph
    edges = graph.to_frame()
    other = Graph(edges.with_columns(respelled(edges[end], ways) for end in ("source", "target")))
    other.n_given, other.findings = graph.n_given, (*graph.findings, *other.findings)
    # a list of edges has neither direction nor sign
    if graph.arcs is not None:
        place = positions(respelled(graph.id_series, ways), other.id_series)
        other.arcs = placed_arcs(graph.arcs, place, other.n)
    return other
