"""Where sources, graphs and labels meet: graphs over the common ids, and findings about what meets nothing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data.graph import Graph
from hetcore.data.identity import positions, unique_ids
from hetcore.data.report import Finding
from hetcore.data.text import counted, quoted

__all__ = ["joined_ids", "label_findings", "place_graphs", "source_findings"]

NO_COMMON = "no id in common with any other source, graph or label; are the ids written the same way?"
NO_LABEL = "none of its instances has a label, so that its weight tells nothing: leave it out, or label some"


def joined_ids(
    sources: Mapping[str, pl.Series], label_ids: pl.Series
) -> tuple[pl.Series, dict[str, NDArray[np.int64]], NDArray[np.int64]]:
    """Return the distinct ids of sources and labels, and the place there of each source's ids and of the labels'.

    Parameters
    ----------
    sources : mapping of str to polars Series of String (m,)
    label_ids : polars Series of String (l,)
    """
    known = unique_ids(*sources.values(), label_ids)
    return known, {name: positions(ids, known) for name, ids in sources.items()}, positions(label_ids, known)


def place_graphs(
    graphs: Mapping[str, Graph], known: pl.Series, keep_unseen: bool
) -> tuple[pl.Series, dict[str, Graph], list[Finding]]:
    """Place graphs over the ids that sources and labels have.

    Parameters
    ----------
    graphs : mapping of str to Graph
        Each over ids of its own.
    known : polars Series of String
        The distinct ids of sources and labels.
    keep_unseen : bool
        Whether ids that only a graph's edges have become instances; else their edges go.

    Returns
    -------
    ids : polars Series of String (n,)
        `known`, and after them the ids that were kept from the graphs.
    placed : dict of str to Graph
        The graphs over `ids`.
    findings : list of Finding
        What was kept or dropped.
    """
    places = {name: positions(graph.id_series, known) for name, graph in graphs.items()}
    strange = {name: (places[name] < 0) & (graph.degree > 0) for name, graph in graphs.items()}
    unseen = {name: graphs[name].id_series.filter(which) for name, which in strange.items()}
    # ids that graphs alone know follow those of sources and labels, whose places so do not change
    new = unique_ids(*unseen.values()) if keep_unseen else unique_ids()
    ids = pl.concat([known, new]) if len(new) else known
    placed, findings = {}, []
    for name, graph in graphs.items():
        findings += _graph_findings(name, graph, places[name] < 0, unseen[name], keep_unseen)
        if keep_unseen:
            # unseen nodes without an edge stay away: nothing would ever be known of them
            places[name][strange[name]] = positions(unseen[name], new) + len(known)
        placed[name] = graph.placed(places[name], ids)
    return ids, placed, findings


def _graph_findings(
    name: str, graph: Graph, unknown: NDArray[np.bool_], unseen: pl.Series, kept: bool
) -> list[Finding]:
    where = f"graph {quoted(name)}"
    lonely = graph.id_series.filter(unknown & (graph.degree == 0))
    findings = []
    if len(lonely):
        message = f"{counted(len(lonely), 'node')} without an edge, in no source and without a label: left out"
        findings.append(Finding("lonely_node", where, len(lonely), message, tuple(lonely.head(5))))
    if len(unseen):
        a, b, _ = graph.edges()
        count = int((unknown[a] | unknown[b]).sum())
        fate = "kept as instances that only graphs know" if kept else "these edges are dropped"
        message = f"{counted(count, 'edge')} to {counted(len(unseen), 'id')} that no source and no label has: {fate}"
        findings.append(Finding("unknown_id", where, count, message, tuple(unseen.head(5))))
    if len(unseen) and bool(unknown.all()):
        message = "no id in common with any source or label; are the ids written the same way?"
        findings.append(Finding("no_common_id", where, graph.n, message))
    return findings


def source_findings(
    rows: Mapping[str, NDArray[np.int64]], covered: NDArray[np.integer], labelled: NDArray[np.bool_]
) -> list[Finding]:
    """Report sources of whose instances nothing else says anything, and those without a labelled one.

    Parameters
    ----------
    rows : mapping of str to ndarray of int64
        Each source's places among the instances.
    covered : ndarray of int (n,)
        How many sources, graphs and labels say something about each instance.
    labelled : ndarray of bool (n,)
    """
    findings = []
    for name, places in rows.items():
        where = f"source {quoted(name)}"
        # covered counts the source itself
        if not (covered[places] > 1).any():
            findings.append(Finding("no_common_id", where, len(places), NO_COMMON))
        elif labelled.any() and not labelled[places].any():
            findings.append(Finding("unlabelled_source", where, len(places), NO_LABEL))
    return findings


def label_findings(ids: pl.Series, labelled: NDArray[np.bool_], recorded: NDArray[np.bool_]) -> list[Finding]:
    """Report labels of instances that no source records."""
    bare = ids.filter(labelled & ~recorded)
    if len(bare) == 0:
        return []
    of = counted(int(labelled.sum()), "label")
    message = f"{len(bare):,} of {of} for ids that no source has: kept as instances without a record"
    return [Finding("unrecorded_label", "target", len(bare), message, tuple(bare.head(5)))]
