"""Readers of graphs: an edge list, networkx, (ids, scipy sparse) or PyTorch Geometric, all to one list of raw edges."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from hetcore.data.columns import as_table
from hetcore.data.identity import as_ids, positions, unique_ids
from hetcore.data.report import Finding
from hetcore.data.text import counted, listed
from hetcore.errors import DataError

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["UNNAMED", "RawEdges", "read_edges"]

UNNAMED = re.compile(r"(column[ _]?)?\d+")
"""Names that readers give to columns of a file without names."""


class RawEdges(NamedTuple):
    """Edges as given: `ids` the distinct nodes, `a` and `b` (e,) their places with -1 for a missing id, `weights` (e,).

    A weight that is no number is NaN, and stands in `given` (e,) as it was. `mirrored` says that the format itself
    lists each edge in both directions.
    """

    ids: pl.Series
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    weights: NDArray[np.float64]
    findings: list[Finding]
    mirrored: bool
    given: Sequence[Any] | None = None


def read_edges(data: Any) -> RawEdges:
    """Read a graph in any of the accepted forms.

    Raises
    ------
    DataError
        If it is none of them, or lacks what its form needs.
    """
    data = as_table(_listed_edges(data))
    if isinstance(data, pl.DataFrame):
        return _from_frame(data)
    # asked by name: networkx is not imported for those who have no graph of its
    if _is_networkx(data):
        return _from_networkx(data)
    ids, graph = data if isinstance(data, tuple) and len(data) == 2 else (None, data)
    if ids is not None and scipy.sparse.issparse(graph):
        return _from_sparse(ids, graph)
    if hasattr(graph, "edge_index") and hasattr(graph, "num_nodes"):
        return _from_sparse(range(int(graph.num_nodes)) if ids is None else ids, _indexed(graph))
    forms = "an edge list (source, target[, weight]), a networkx graph, (ids, scipy sparse matrix) or (ids, PyG graph)"
    # of a pair it is the graph that is at fault
    what = type(graph).__name__ if ids is None else f"(ids, {type(graph).__name__})"
    raise DataError(f"A graph can't be read from {what}: give {forms}.")


def _listed_edges(data: Any) -> Any:
    """Return a list of tuples as a table of edges; anything else as it is, for lists of lists may be a matrix.

    Raises
    ------
    DataError
        If the edges are not all (source, target), or all (source, target, weight).
    """
    if isinstance(data, list) and not data:
        return pl.DataFrame(schema={"source": pl.String, "target": pl.String})
    if not (isinstance(data, list) and all(isinstance(each, tuple) for each in data)):
        return data
    sizes = sorted({len(each) for each in data})
    if sizes not in ([2], [3]):
        cure = "give (source, target) for each, or (source, target, weight) for each"
        raise DataError(f"The edges are of {listed(sizes)} values: {cure}.")
    columns = zip(("source", "target", "weight"), zip(*data))
    return pl.DataFrame([pl.Series(name, values, strict=False) for name, values in columns])


def _from_frame(frame: pl.DataFrame) -> RawEdges:
    source, target, weight = _edge_columns(frame)
    (sources, findings), (targets, more) = as_ids(frame[source]), as_ids(frame[target])
    # in the order of first appearance
    ids = unique_ids(sources, targets)
    unused = [name for name in frame.columns if name not in (source, target, weight)]
    if unused:
        message = f"{counted(len(unused), 'column')} of the edge list not used"
        more = [*more, Finding("unused_column", "", len(unused), message, tuple(unused))]
    weights = np.ones(frame.height) if weight is None else _weight_column(frame[weight])
    return RawEdges(
        ids=ids,
        a=positions(sources, ids),
        b=positions(targets, ids),
        weights=weights,
        findings=findings + more,
        mirrored=False,
        given=None if weight is None else frame[weight],
    )


def _edge_columns(frame: pl.DataFrame) -> tuple[str, str, str | None]:
    columns = frame.columns
    # reversed, so that of two names that differ in case the first one counts
    by_name = {name.strip().lower(): name for name in reversed(columns)}
    weight = by_name.get("weight")
    if "source" in by_name and "target" in by_name:
        return by_name["source"], by_name["target"], weight
    # two columns, wherever the weight stands among them: an edge list as most files have it
    ends = [name for name in columns if name != weight]
    if len(ends) == 2:
        return ends[0], ends[1], weight
    if len(columns) == 2:
        return columns[0], columns[1], None
    # a file without names of columns
    if len(columns) == 3 and all(UNNAMED.fullmatch(name) for name in columns):
        return columns[0], columns[1], columns[2]
    cure = "name the ends 'source' and 'target', and a weight 'weight', or leave out what is neither"
    raise DataError(f"The edge list has the columns {listed(columns)}, which do not say what links what: {cure}.")


def _weight_column(series: pl.Series) -> NDArray[np.float64]:
    if series.dtype == pl.String:
        series = series.str.strip_chars()
    elif not (series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null)):
        raise DataError(f"The weight column {series.name!r} of type {series.dtype} holds no numbers: give numbers.")
    # what is no number becomes NaN, which is counted and dropped with its reason
    return series.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()


def _is_networkx(data: Any) -> bool:
    """Tell without importing networkx where nobody else has: who has a graph of its has imported it."""
    nx = sys.modules.get("networkx")
    return nx is not None and isinstance(data, nx.Graph)


def _from_networkx(graph: nx.Graph) -> RawEdges:
    nodes = list(graph.nodes)
    texts, findings = as_ids(nodes)
    ids = unique_ids(texts)
    place = dict(zip(nodes, positions(texts, ids).tolist()))
    edges = list(graph.edges(data="weight", default=None))
    a = np.fromiter((place[edge[0]] for edge in edges), np.int64, len(edges))
    b = np.fromiter((place[edge[1]] for edge in edges), np.int64, len(edges))
    # some with, some without: not all the same, so it is told
    bare = sum(edge[2] is None for edge in edges)
    if 0 < bare < len(edges):
        message = f"{counted(bare, 'edge')} without a weight beside edges with one: weight 1 taken"
        findings.append(Finding("missing_weight", "", bare, message))
    if graph.is_directed():
        cure = "hetcore.Graph(graph, directed=True) keeps their direction"
        findings.append(Finding("directed", "", len(edges), f"a directed graph, whose edges count both ways: {cure}"))
    given = [edge[2] for edge in edges]
    return RawEdges(
        ids=ids,
        a=a,
        b=b,
        weights=_numbers(given),
        findings=findings + _merged_nodes(texts, ids),
        mirrored=False,
        given=given,
    )


def _indexed(graph: Any) -> scipy.sparse.coo_array:
    """Return the links of a PyTorch Geometric graph, whose memory they share.

    Its attribute `edge_weight` counts; without one, an `edge_attr` of one number a link.
    """
    index = np.asarray(graph.edge_index)
    if index.ndim != 2 or len(index) != 2 or index.dtype.kind not in "iu":
        raise DataError(f"edge_index has shape {index.shape} and type {index.dtype}: give whole numbers (2, edges).")
    weights = getattr(graph, "edge_weight", None)
    weights = _only_attribute(graph, index.shape[1]) if weights is None else weights
    weights = np.ones(index.shape[1], np.float32) if weights is None else np.asarray(weights)
    if weights.shape != index.shape[1:]:
        raise DataError(f"edge_weight has shape {weights.shape} for {index.shape[1]:,} edges: give one for each.")
    if index.size and not 0 <= index.min() <= index.max() < graph.num_nodes:
        raise DataError(f"edge_index names nodes beyond the {graph.num_nodes:,} of num_nodes: correct one of the two.")
    return scipy.sparse.coo_array((weights, (index[0], index[1])), shape=(int(graph.num_nodes),) * 2)


def _only_attribute(graph: Any, n_links: int) -> NDArray | None:
    """Return the `edge_attr` of a PyTorch Geometric graph as weights; refused if it is not one number a link."""
    given = getattr(graph, "edge_attr", None)
    if given is None:
        return None
    attribute = np.asarray(given)
    if attribute.dtype.kind not in "iufb" or attribute.shape not in ((n_links,), (n_links, 1)):
        shape = f"edge_attr has shape {attribute.shape} and type {attribute.dtype} for {n_links:,} edges"
        raise DataError(f"{shape}, which is no weight: set edge_weight, or edge_attr to None.")
    return attribute.reshape(-1)


def _numbers(values: list[Any]) -> NDArray[np.float64]:
    """Return weights as numbers: 1 for None, NaN for what is no number."""
    try:
        return np.array([1.0 if value is None else value for value in values], dtype=np.float64).reshape(len(values))
    except (TypeError, ValueError, OverflowError):
        # one by one, for the one that is no number
        return np.array([_number(value) for value in values], dtype=np.float64)


def _number(value: Any) -> float:
    try:
        return 1.0 if value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _merged_nodes(texts: pl.Series, ids: pl.Series) -> list[Finding]:
    again = texts.filter(~texts.is_first_distinct() & texts.is_not_null())
    if len(again) == 0:
        return []
    message = f"{counted(len(again), 'node')} with the same id as another once written as text: merged"
    return [Finding("merged_node", "", len(again), message, tuple(again.head(5)))]


def _from_sparse(given: Any, matrix: Any) -> RawEdges:
    texts, findings = as_ids(given)
    if matrix.ndim != 2 or matrix.shape != (len(texts), len(texts)):
        shape = f"{len(texts):,} x {len(texts):,}"
        raise DataError(f"The matrix has shape {matrix.shape} for {counted(len(texts), 'id')}: give one of {shape}.")
    if matrix.dtype.kind not in "iufb":
        raise DataError(f"The matrix holds values of type {matrix.dtype}: give real numbers.")
    coo = scipy.sparse.coo_array(matrix)
    ids = unique_ids(texts)
    place = positions(texts, ids)
    row, column = coo.coords
    return RawEdges(
        ids=ids,
        a=place[row],
        b=place[column],
        weights=coo.data.astype(np.float64),
        findings=findings + _merged_nodes(texts, ids),
        # a symmetric matrix has each edge twice on purpose, and nobody wants to be told so
        mirrored=True,
    )
