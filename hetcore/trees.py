"""The regression tree that the methods share: binned features in, a tree of vector-valued leaves out.

A method fills `gradients` and `hessians`; `grow` sees nothing else. A leaf's value is the Newton step -G / (H + l2); with
gradients -(residual * weight) and hessians = weight that is the weighted mean of the residuals.

    mapper = BinMapper().fit(X)
    binned = mapper.transform(X)
    tree = grow(binned, prediction - y, None, None, None, TreeParams(max_depth=3), mapper.n_bins)
    tree.add_to(prediction, binned, 0.1)
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from hetcore.binning import BinMapper
from hetcore.errors import DataError, ParameterError
from hetcore.forest import Forest, all_rows, walking_steps
from hetcore.kernels.grower import grow_tree
from hetcore.kernels.histogram import fill_words, pack_words
from hetcore.kernels.layout import LEAF_DTYPE, MISSING_BIN, N_STATE, NODE_DTYPE, Problem, TreeParams, Work
from hetcore.kernels.medians import leaf_medians
from hetcore.kernels.predictor import add_leaf_values, find_leaves

__all__ = ["NODE_DTYPE", "BinMapper", "Forest", "Tree", "TreeParams", "grow", "set_leaf_medians"]

_POOL_BYTES = 256 << 20  # histograms kept for subtraction; a leaf beyond them is built from its rows


class Tree:
    """A regression tree over binned columns.

    Attributes
    ----------
    nodes : (n_nodes,) NODE_DTYPE
        Node 0 is the root; children come after their parents; a leaf has left = -1.
    values : (n_nodes, K) float64
        Value of each node, inner ones too.
    row_leaf : (n,) int32 or None
        Leaf of each row that the tree was grown on, -1 for the others.
    """

    def __init__(self, nodes: np.ndarray, values: np.ndarray, row_leaf: np.ndarray | None = None) -> None:
        self.nodes, self.values, self.row_leaf = nodes, values, row_leaf

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int((self.nodes["left"] < 0).sum())

    def apply(self, binned: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the leaf (m,) int32 of each of `rows` (all by default) of `binned` (d, n)."""
        rows = all_rows(binned.shape[1], rows)
        leaf = np.empty(rows.size, np.int32)
        depth = int(self.nodes["depth"].max())
        find_leaves(np.ascontiguousarray(binned), rows, walking_steps(self.nodes), depth, leaf)
        return leaf

    def predict(self, binned: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the value (m, K) float64 of each of `rows` (all by default) of `binned` (d, n)."""
        return self.values[self.apply(binned, rows)]

    def add_to(self, predictions: np.ndarray, binned: np.ndarray, scale: float = 1.0) -> None:
        """Add `scale` times this tree to the predictions of the rows of the table it was grown on.

        Rows that it was grown on are not walked down the tree again.

        Parameters
        ----------
        predictions : (n,) or (n, K) float64, C-contiguous
            Changed in place.
        binned : (d, n) uint8
            The table that the tree was grown on.
        scale : float
        """
        rows = all_rows(binned.shape[1], None)
        leaf = _known_leaves(self, binned, rows)
        add_leaf_values(predictions.reshape(rows.size, -1), rows, leaf, self.values, float(scale))


def grow(
    binned: np.ndarray,
    gradients: np.ndarray,
    hessians: np.ndarray | None = None,
    rows: np.ndarray | None = None,
    columns: np.ndarray | None = None,
    params: TreeParams = TreeParams(),  # noqa: B008
    n_bins: np.ndarray | None = None,
) -> Tree:
    """Grow a tree that follows the negative gradient.

    Parameters
    ----------
    binned : (d, n) uint8
        Bins by column, from `BinMapper.transform`.
    gradients : (n,) or (n, K) float32
        Of the loss by the prediction; a K-vector in each leaf.
    hessians : None, (n,) or (n, K) float32
        Second derivatives, not negative; None for 1 each, (n,) for one that all outputs share.
    rows : (m,) int32, optional
        Rows to grow on; all by default.
    columns : (c,) int32, optional
        Columns to split by; all by default.
    params : TreeParams
    n_bins : (d,) int32, optional
        Bins of each column, from `BinMapper.n_bins`; 255 each by default.

    Returns
    -------
    Tree
        With one node if no split is allowed or gains.

    Raises
    ------
    ParameterError
        If a limit is outside its domain.
    DataError
        If shapes disagree, a row or column is out of range, a gradient is not finite or a hessian is negative.
    """
    params = _checked(params)
    d, n = binned.shape
    binned = np.ascontiguousarray(binned)
    gradients = _as_outputs("gradients", gradients, n)
    hessians = np.empty((n, 0), np.float32) if hessians is None else _as_outputs("hessians", hessians, n)
    if hessians.shape[1] not in (0, 1, gradients.shape[1]):
        raise DataError(f"hessians have {hessians.shape[1]} outputs; give none, 1 or as many as gradients, {gradients.shape[1]}.")
    columns = np.arange(d, dtype=np.int32) if columns is None else _indices("columns", columns, d)
    n_bins = np.full(d, MISSING_BIN, np.int32) if n_bins is None else np.asarray(n_bins, np.int32)
    if n_bins.shape != (d,) or (n_bins < 1).any() or (n_bins > MISSING_BIN).any():
        raise DataError(f"n_bins must give each of the {d} columns a number in [1, 255].")
    everything = rows is None
    rows = np.arange(n, dtype=np.uint32) if everything else _indices("rows", rows, n).view(np.uint32)
    if rows.size == 0 or columns.size == 0:
        raise DataError(f"A tree needs rows and columns; {rows.size} rows and {columns.size} columns were given.")
    problem = _problem(binned, gradients, hessians, rows, columns, n_bins)
    return _run(problem, params, rows, everything)


def set_leaf_medians(
    tree: Tree,
    binned: np.ndarray,
    targets: np.ndarray,
    rows: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> None:
    """Replace the values of the leaves of `tree` by medians.

    Parameters
    ----------
    tree : Tree
        Its `values` change in place at leaves that some row reaches with a positive weight.
    binned : (d, n) uint8
    targets : (n,) or (n, K) float
        Where K is the tree's number of outputs.
    rows : (m,) int32, optional
        Rows to take medians over; all by default.
    weights : (n,) float, optional
        Not negative; 1 each by default.

    Raises
    ------
    DataError
        If shapes disagree, a row is out of range or a target of `rows` is NaN.
    """
    n = binned.shape[1]
    rows = all_rows(n, None) if rows is None else _indices("rows", rows, n)
    targets = np.asarray(targets, np.float64)
    if targets.shape not in ((n, tree.values.shape[1]), (n,)) or targets.size != n * tree.values.shape[1]:
        raise DataError(f"targets have shape {targets.shape}; the tree needs ({n}, {tree.values.shape[1]}).")
    inside = np.ascontiguousarray(targets.reshape(n, -1)[rows])
    if np.isnan(inside).any():
        raise DataError("targets have NaN, which has no place in a median: leave those rows out of `rows`.")
    weight = np.ones(rows.size) if weights is None else np.asarray(weights, np.float64)[rows]
    leaf = _known_leaves(tree, binned, rows)
    leaf_medians(leaf, inside, weight, tree.values)


def _known_leaves(tree: Tree, binned: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the leaves of `rows` in the table that the tree was grown on, walking only rows that it was not grown on."""
    if tree.row_leaf is None:
        return tree.apply(binned, rows)
    leaf = tree.row_leaf[rows]
    others = np.flatnonzero(leaf < 0)
    if others.size:
        leaf[others] = tree.apply(binned, rows[others])
    return leaf


def _checked(params: TreeParams) -> TreeParams:
    """Return `params` with plain numbers, the kernels' signature, or raise ParameterError."""
    depth, leaves, fewest = (int(value) for value in params[:3])
    rules = (
        ("max_depth", depth == -1 or depth >= 1, "at least 1, or -1 for no limit"),
        ("max_leaf_nodes", leaves == -1 or leaves >= 2, "at least 2, or -1 for no limit"),
        ("min_samples_leaf", fewest >= 1, "at least 1"),
        ("min_child_weight", params.min_child_weight >= 0, "at least 0"),
        ("l2", params.l2 >= 0, "at least 0"),
        ("min_gain", params.min_gain >= 0, "at least 0"),
    )
    for name, holds, rule in rules:
        if not holds:
            raise ParameterError(f"{name}={getattr(params, name)!r} must be {rule}.")
    return TreeParams(depth, leaves, fewest, *(float(value) for value in params[3:]))


def _as_outputs(name: str, values: np.ndarray, n: int) -> np.ndarray:
    values = np.ascontiguousarray(values, np.float32)
    values = values.reshape(n, -1) if values.ndim == 1 and values.size == n else values
    if values.ndim != 2 or values.shape[0] != n or values.shape[1] < 1:
        raise DataError(f"{name} have shape {values.shape}; give one row for each of the {n} rows of the table.")
    return values


def _indices(name: str, values: np.ndarray, stop: int) -> np.ndarray:
    values = np.array(values, np.int32, ndmin=1)
    if values.ndim != 1 or (values.size and (values.min() < 0 or values.max() >= stop)):
        raise DataError(f"{name} must be a list of numbers in [0, {stop - 1}].")
    return values


def _problem(
    binned: np.ndarray,
    gradients: np.ndarray,
    hessians: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    n_bins: np.ndarray,
) -> Problem:
    """Put gradients and hessians into words."""
    n, n_outputs = gradients.shape
    packed = n_outputs == 1 and hessians.shape[1] == 0
    width = 1 if packed else -4 * (-(n_outputs + hessians.shape[1] + 1) // 4)
    words, units = _room("words", (n, width), np.int64), np.ones(width)
    bits = rows.size.bit_length() if packed else 0
    if packed:
        finite = pack_words(gradients, rows, words, units, bits)
    else:
        finite = fill_words(gradients, hessians, rows, words, units)
    if finite != 0:
        raise DataError(_WRONG[finite])
    chosen = n_bins[columns]
    offsets = np.zeros(columns.size + 1, np.int64)
    np.cumsum(chosen + 1, out=offsets[1:])
    return Problem(binned, columns, chosen, offsets, words, units, n_outputs, hessians.shape[1], bits)


_WRONG = {
    1: "gradients or hessians are not all finite: scale the target, or leave those rows out of `rows`.",
    2: "hessians must not be negative: a sample weight is at least 0.",
}


def _most_leaves(params: TreeParams, m: int) -> int:
    """Return how many leaves a tree over m rows can have."""
    limits = [max(m // params.min_samples_leaf, 1)]
    if params.max_leaf_nodes > 0:
        limits.append(params.max_leaf_nodes)
    if 0 <= params.max_depth < 31:
        limits.append(2**params.max_depth)
    return min(limits)


def _work(problem: Problem, params: TreeParams, rows: np.ndarray) -> Work:
    """Find room for growing a tree over `rows`."""
    m, width, n_leaves = rows.size, problem.words.shape[1], _most_leaves(params, rows.size)
    capacity, bins = 2 * n_leaves - 1, int(problem.offsets[-1])
    # branch by branch, smaller child first, at most log2(m) histograms wait
    waiting = n_leaves if params.max_leaf_nodes > 0 else min(n_leaves, m.bit_length() + 2)
    n_slots = max(min(waiting, _POOL_BYTES // (8 * bins * width)), 1)
    return Work(
        rows,
        _room("spare", (m,), np.uint32),
        _room("ordered", (m, width), np.int64),
        _room("pool", (n_slots, bins, width), np.int64),
        _room("free", (n_slots,), np.int64),
        _room("nodes", (capacity,), NODE_DTYPE),
        _room("leaves", (capacity,), LEAF_DTYPE),
        _room("totals", (capacity, width), np.int64),
        _room("open", (capacity,), np.int64),
        _room("state", (N_STATE,), np.int64),
    )


def _run(problem: Problem, params: TreeParams, rows: np.ndarray, everything: bool) -> Tree:
    work = _work(problem, params, rows)
    values = _room("values", (work.nodes.shape[0], problem.n_outputs), np.float64)
    n = problem.binned.shape[1]
    row_leaf = np.empty(n, np.int32) if everything else np.full(n, -1, np.int32)
    n_nodes = grow_tree(problem, params, work, values, row_leaf)
    return Tree(work.nodes[:n_nodes].copy(), values[:n_nodes].copy(), row_leaf)


class _Rooms(threading.local):
    """Buffers that one thread's next tree uses again: fresh pages cost more than a small tree."""

    def __init__(self) -> None:
        self.buffers: dict[str, np.ndarray] = {}


_rooms = _Rooms()


def _room(name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an array of any content that is this thread's until it asks for the same name again."""
    dtype = np.dtype(dtype)
    size = dtype.itemsize
    for length in shape:
        size *= length
    buffer = _rooms.buffers.get(name)
    if buffer is None or buffer.size < size:
        buffer = _rooms.buffers[name] = np.empty(size, np.uint8)
    return buffer[:size].view(dtype).reshape(shape)
