"""One graph: weighted links between instances, in CSR; direction and sign are kept beside it if asked for."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from hetcore.data.columns import FLOAT_MAX, check_flags
from hetcore.data.edges import RawEdges, read_edges
from hetcore.data.fingerprint import hash_array, hash_column
from hetcore.data.identity import positions, text_array
from hetcore.data.report import Finding
from hetcore.data.text import counted, quoted, shown
from hetcore.errors import ParameterError

__all__ = ["Graph", "placed_arcs"]

SMALLEST = float(np.finfo(np.float32).smallest_subnormal)


class Graph:
    """An undirected weighted graph over ids, without self-loops and repeated edges.

    What is dropped or merged is counted in `findings`. Dropped: edges with a missing end, self-loops, weights that
    are negative, zero, missing or beyond 32-bit floats. Merged to one edge: an edge listed again in the same direction,
    with the sum of the weights; an edge listed in both directions, with the larger of the two (what a symmetric listing
    means).

    Parameters
    ----------
    data : table, list of tuples, networkx graph, (ids, scipy sparse matrix), PyTorch Geometric graph or (ids, such)
        An edge list with the columns `source`, `target` and, if there is one, `weight` (or two columns in this order
        beside a `weight`; three only where they have no names); a list of (source, target) or (source, target, weight);
        a networkx graph, whose edge attribute `weight` counts (1 where absent); ids and a matrix; or a graph with
        `edge_index` and perhaps `edge_weight` (or an `edge_attr` of one number an edge), whose nodes without ids are
        "0", "1", ....
    directed : bool, default=False
        Whether to keep which way each edge leads: the consensus and `neighbors` ask for it, all else sees the
        undirected graph.
    signed : bool, default=False
        Whether negative weights are kept, for `neighbors`. All else sees their absolute values.

    Attributes
    ----------
    ids : ndarray of str (n,)
        The nodes; for a graph inside a `HetData`, exactly its ids.
    indptr : ndarray of int32 (n + 1,), indices : ndarray of int32 (2e,), weights : ndarray of float32 (2e,)
        Symmetric CSR: the neighbours of node i are `indices[indptr[i]:indptr[i + 1]]`, ascending; weights > 0.
    n_edges : int
        Undirected edges e.
    findings : tuple of Finding
        What was dropped or merged.
    n_given : int
        Edges given.
    arcs : sparse matrix (n, n) or None
        Signed weight of the edge from row to column, of a directed or signed graph.

    Raises
    ------
    DataError
        If `data` is none of these forms, or lacks what its form needs.
    ParameterError
        If `directed` or `signed` is no truth value.

    Examples
    --------
    >>> graph = Graph(pl.DataFrame({"source": ["a", "b", "b"], "target": ["b", "a", "b"]}))
    >>> graph
    Graph(2 nodes, 1 edge)
    >>> [finding.kind for finding in graph.findings]
    ['self_loop', 'both_directions']
    """

    arcs: scipy.sparse.csr_array | None = None
    # by node, the one whose links it has, where some nodes see others without being seen
    stands_for: NDArray[np.int64] | None = None

    def __init__(self, data: Any, directed: bool = False, signed: bool = False) -> None:
        check_flags(directed=directed, signed=signed)
        raw = read_edges(data)
        a, b, weights, findings = _usable(raw, signed)
        self.n_given = len(raw.a)
        matrix, more = _merged(a, b, np.abs(weights), raw, directed)
        given = [each for each in raw.findings if not (directed and each.kind == "directed")]
        self.findings = (*given, *findings, *more)
        self._set(raw.ids, matrix)
        if directed or signed:
            self.arcs = _arcs(a, b, weights, self.n, directed or raw.mirrored)

    def _set(self, id_series: pl.Series, matrix: scipy.sparse.csr_array) -> None:
        # sorted: equal graphs have equal bytes, and neighbours are read in order
        matrix.sort_indices()
        self.id_series = id_series
        # 32 bits hold every graph that fits into memory here, and half of it
        self.indptr = matrix.indptr.astype(np.int32, copy=False)
        self.indices = matrix.indices.astype(np.int32, copy=False)
        self.weights = matrix.data.astype(np.float32, copy=False)

    @cached_property
    def ids(self) -> NDArray[np.object_]:
        """The nodes' ids, text, (n,)."""
        return text_array(self.id_series)

    @property
    def n(self) -> int:
        """Nodes."""
        return len(self.id_series)

    @property
    def n_edges(self) -> int:
        """Edges, each counted once."""
        return len(self.indices) // 2

    @property
    def degree(self) -> NDArray[np.int64]:
        """Neighbours of each node, (n,)."""
        return np.diff(self.indptr).astype(np.int64)

    def adjacency(self) -> scipy.sparse.csr_array:
        """Return the symmetric weight matrix (n, n) over the graph's own memory."""
        return scipy.sparse.csr_array((self.weights, self.indices, self.indptr), shape=(self.n, self.n))

    def neighbors(self, direction: str = "both") -> scipy.sparse.csr_array:
        """Return whom each node counts as its neighbours, with signed weights, (n, n).

        Parameters
        ----------
        direction : {"both", "in", "out"}
            Of a directed graph: both ends of an edge, the sources of edges that lead here, or the targets of edges that
            leave. Of any other graph all three are the same.

        Raises
        ------
        ParameterError
            If `direction` is none of these.
        """
        if not (isinstance(direction, str) and direction in ("both", "in", "out")):
            raise ParameterError(f"direction={shown(direction)} is not 'both', 'in' or 'out': choose one of them.")
        if self.arcs is None:
            return self.adjacency()
        if direction == "both":
            # of both directions: a link counts if it is there in one of them, with the signs of both
            found = self.adjacency().multiply((self.arcs + self.arcs.T).sign()).tocsr()
        else:
            found = (self.arcs if direction == "out" else self.arcs.T).tocsr()
        found.eliminate_zeros()
        found.sort_indices()
        return found.astype(np.float32)

    def edges(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
        """Return each edge once: ends a < b and weight, each (e,)."""
        rows = np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.indptr))
        once = rows < self.indices
        return rows[once], self.indices[once], self.weights[once]

    def to_frame(self) -> pl.DataFrame:
        """Return the edge list: source, target, weight."""
        a, b, weights = self.edges()
        return pl.DataFrame({"source": self.id_series[a], "target": self.id_series[b], "weight": weights})

    def aligned(self, ids: pl.Series) -> Graph:
        """Return the graph over other ids; nodes that are not among them go, with their edges.

        Parameters
        ----------
        ids : polars Series of String (n,)
            Distinct ids.
        """
        return self if ids is self.id_series else self.placed(positions(self.id_series, ids), ids)

    def placed(self, place: NDArray[np.int64], ids: pl.Series) -> Graph:
        """Return the graph over `ids`, where node i goes to `place[i]`, or goes away at -1."""
        # the usual case, ids as they are: no edge moves
        if len(place) == len(ids) and np.array_equal(place, np.arange(len(ids))):
            return self._copy(ids, self.adjacency())
        a, b, weights = self.edges()
        a, b = place[a], place[b]
        known = (a >= 0) & (b >= 0)
        moved = self._copy(ids, _symmetric(a[known], b[known], weights[known], len(ids)))
        if self.arcs is not None:
            moved.arcs = placed_arcs(self.arcs, place, len(ids))
        return moved

    def with_edge_arrays(self, a: NDArray, b: NDArray, weights: NDArray, ids: pl.Series | None = None) -> Graph:
        """Return a graph with the given edges (each once, either direction, no self-loop), findings as they are.

        An edge that was there keeps its direction and sign; a new one leads both ways.
        """
        ids = self.id_series if ids is None else ids
        other = self._copy(ids, _symmetric(a, b, weights, len(ids)))
        # with other ids the arcs' places would be wrong
        if self.arcs is not None and ids is self.id_series:
            other.arcs = _edited_arcs(self.arcs, other.adjacency())
        return other

    def _copy(self, id_series: pl.Series, matrix: scipy.sparse.csr_array) -> Graph:
        other = object.__new__(Graph)
        other.n_given, other.findings, other.arcs = self.n_given, self.findings, self.arcs
        other._set(id_series, matrix)
        return other

    def digest(self) -> str:
        """Return the SHA-256 of ids, links and weights, in hexadecimal."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        sha = hashlib.sha256()
        hash_column(sha, self.id_series)
        for array in (self.indptr, self.indices, self.weights):
            hash_array(sha, array)
        for array in () if self.arcs is None else (self.arcs.indptr, self.arcs.indices, self.arcs.data):
            hash_array(sha, array)
        return sha.hexdigest()

    def __repr__(self) -> str:
        return f"Graph({counted(self.n, 'node')}, {counted(self.n_edges, 'edge')})"


def _arcs(a: NDArray, b: NDArray, weights: NDArray, n: int, directed: bool) -> scipy.sparse.csr_array:
    """Return the signed weights from row to column; an edge listed again in the same direction counts in sum."""
    ends = (a, b) if directed else (np.concatenate([a, b]), np.concatenate([b, a]))
    values = weights if directed else np.concatenate([weights, weights])
    # an arc and its repeats are one, of their sum
    arcs = scipy.sparse.coo_array((values, ends), shape=(n, n)).tocsr()
    arcs.sum_duplicates()
    # a sum of float64 may be beyond float32
    arcs.data = np.clip(arcs.data, -FLOAT_MAX, FLOAT_MAX)
    arcs.eliminate_zeros()
    return arcs.astype(np.float32)


def placed_arcs(arcs: scipy.sparse.csr_array, place: NDArray[np.int64], n: int) -> scipy.sparse.csr_array:
    """Return arcs whose node i goes to `place[i]`, or goes away at -1; arcs that become one count in sum."""
    flat = arcs.tocoo()
    a, b = place[flat.row], place[flat.col]
    # two nodes that become one have no arc to themselves
    known = (a >= 0) & (b >= 0) & (a != b)
    return _arcs(a[known], b[known], flat.data[known], n, directed=True)


def _edited_arcs(arcs: scipy.sparse.csr_array, matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Return the arcs along the edges of `matrix` (symmetric), and both ways where it has a new one."""
    there = (abs(arcs) + abs(arcs.T)).sign()
    # old arcs keep their direction; a new edge has none, and goes both ways
    edited = (arcs.multiply(matrix.sign()) + matrix - matrix.multiply(there)).tocsr()
    edited.eliminate_zeros()
    edited.sort_indices()
    return edited.astype(np.float32)


def _usable(raw: RawEdges, signed: bool = False) -> tuple[NDArray, NDArray, NDArray, list[Finding]]:
    """Drop edges with a missing end, self-loops and bad weights, in this order; count each edge once."""
    missing = (raw.a < 0) | (raw.b < 0)
    loop = ~missing & (raw.a == raw.b)
    weights = np.abs(raw.weights) if signed else raw.weights
    bad = ~missing & ~loop & ~((weights >= 0) & (weights <= FLOAT_MAX))
    # below the smallest float32: it would be 0 once stored
    zero = ~missing & ~loop & (weights >= 0) & (weights < SMALLEST)
    # in this order each edge is counted once, for its first fault
    findings = [
        _dropped("missing_end", missing, raw, "with a missing id at an end"),
        _dropped("self_loop", loop, raw, "from an instance to itself"),
        _dropped("bad_weight", bad, raw, f"with a weight that is negative, no number or beyond {FLOAT_MAX:.1e}"),
        _dropped("zero_weight", zero, raw, "with weight 0"),
    ]
    keep = ~(missing | loop | bad | zero)
    return raw.a[keep], raw.b[keep], raw.weights[keep], [finding for finding in findings if finding]


def _dropped(kind: str, which: NDArray[np.bool_], raw: RawEdges, what: str) -> Finding | None:
    count = int(which.sum())
    if count == 0:
        return None
    some = np.flatnonzero(which)[:5]
    examples = tuple(_edge_text(raw, int(i)) for i in some)
    return Finding(kind, "", count, f"{counted(count, 'edge')} {what}: dropped", examples)


def _edge_text(raw: RawEdges, i: int) -> str:
    ends = [raw.ids[int(end)] if end >= 0 else "?" for end in (raw.a[i], raw.b[i])]
    weight = f"{raw.weights[i]:g}"
    # what can't be read is told as it stands: "2,5" is found in a file, nan is not
    if raw.given is not None and np.isnan(raw.weights[i]):
        weight = "none" if raw.given[i] is None else quoted(str(raw.given[i]))
    return f"{ends[0]} – {ends[1]}, weight {weight}"


def _merged(
    a: NDArray, b: NDArray, weights: NDArray, raw: RawEdges, directed: bool
) -> tuple[scipy.sparse.csr_array, list[Finding]]:
    """Merge repeated edges: the sum in one direction, the larger of the two directions."""
    n = len(raw.ids)
    # float64, so that sums of many repeats keep their digits
    arcs = scipy.sparse.coo_array((weights, (a, b)), shape=(n, n)).tocsr()
    arcs.sum_duplicates()
    # the larger of two directions: a sum would count an edge that is listed both ways twice
    symmetric = arcs.maximum(arcs.T).tocsr()
    symmetric.data = np.minimum(symmetric.data, FLOAT_MAX)
    repeated, both = len(a) - arcs.nnz, arcs.nnz - symmetric.nnz // 2
    findings = [] if len(a) else [Finding("no_edge", "", 0, "there is no edge that can be used")]
    if repeated:
        message = f"{counted(repeated, 'edge')} listed again in the same direction: merged, their weights summed"
        findings.append(Finding("repeated_edge", "", repeated, message, _repeated_examples(a, b, raw.ids)))
    if both and not raw.mirrored:
        kept = "counts where directions do not" if directed else "kept"
        merged = "" if directed else "merged, "
        message = f"{counted(both, 'edge')} listed in both directions: {merged}the larger of the two weights {kept}"
        findings.append(Finding("both_directions", "", both, message))
    uneven = (arcs != arcs.T).nnz // 2 if raw.mirrored else 0
    if uneven:
        message = f"{counted(uneven, 'edge')} with other weights in the two directions: the larger of the two kept"
        findings.append(Finding("uneven_edge", "", uneven, message))
    return symmetric, findings


def _repeated_examples(a: NDArray, b: NDArray, ids: pl.Series) -> tuple[str, ...]:
    keys, counts = np.unique(a * len(ids) + b, return_counts=True)
    ends = (divmod(int(key), len(ids)) for key in keys[counts > 1][:5])
    return tuple(f"{ids[i]} – {ids[j]}" for i, j in ends)


def _symmetric(a: NDArray, b: NDArray, weights: NDArray, n: int) -> scipy.sparse.csr_array:
    ends = (np.concatenate([a, b]).astype(np.int32), np.concatenate([b, a]).astype(np.int32))
    values = np.concatenate([weights, weights]).astype(np.float32)
    return scipy.sparse.coo_array((values, ends), shape=(n, n)).tocsr()
