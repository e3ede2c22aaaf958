"""The regression tree that the methods share: binned features in, a tree of vector-valued leaves out.

A method fills `gradients` and `hessians`; `grow` sees nothing else. A leaf's value is the Newton step -G / (H + l2);
with gradients -(residual * weight) and hessians = weight that is the weighted mean of the residuals.

    mapper = BinMapper().fit(X)
    binned = mapper.transform(X)
    tree = grow(binned, prediction - y, None, None, None, TreeParams(max_depth=3), mapper.n_bins)
    tree.add_to(prediction, binned, 0.1)
"""

from __future__ import annotations

import numpy as np

from hetcore.binning import BinMapper
from hetcore.errors import DataError, ParameterError
from hetcore.forest import Forest, all_rows, checked_bins
from hetcore.growing import Table, grow_checked, readable
from hetcore.kernels.layout import MISSING_BIN, NODE_DTYPE, TreeParams
from hetcore.kernels.medians import leaf_medians
from hetcore.kernels.predictor import add_leaf_values, find_leaves

__all__ = ["MANY_LABELS", "NODE_DTYPE", "BinMapper", "Forest", "Tree", "TreeParams", "grow", "set_leaf_medians"]

MANY_LABELS = 5_000  # from which on deeper trees pay


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
        find_leaves(checked_bins(binned, self.nodes), rows, self.nodes, leaf)
        return leaf

    def predict(self, binned: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the value (m, K) float64 of each of `rows` (all by default) of `binned` (d, n)."""
        return self.values[self.apply(binned, rows)]

    def add_to(self, predictions: np.ndarray, binned: np.ndarray, scale: float = 1.0) -> None:
        """Add `scale` times this tree to the predictions for the table that it was grown on.

        Only rows that it was not grown on walk down the tree.

        Parameters
        ----------
        predictions : (n,) or (n, K) float64, C-contiguous
            Changed in place.
        binned : (d, n) uint8
            The table that the tree was grown on.
        scale : float

        Raises
        ------
        DataError
            If `predictions` have another shape or type, or cannot be changed in place.
        """
        n, n_outputs = binned.shape[1], self.values.shape[1]
        flags = predictions.flags
        fits = predictions.size == n * n_outputs and predictions.dtype == np.float64
        # in place: a copy made by reshape would take the sum, and the caller's array stay as it was
        if not (fits and flags.c_contiguous and flags.writeable):
            raise DataError(f"predictions must be a writable, C-contiguous ({n}, {n_outputs}) float64 array.")
        add_leaf_values(predictions.reshape(n, n_outputs), self._leaves(binned, None), self.values, float(scale))

    def _leaves(self, binned: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
        """Return the leaves of `rows` of the table that the tree was grown on; only rows new to it walk."""
        # of another table than it was grown on: nothing is known of its rows
        if self.row_leaf is None or self.row_leaf.size != binned.shape[1]:
            return self.apply(binned, rows)
        leaf = self.row_leaf if rows is None else self.row_leaf[rows]
        new = np.flatnonzero(leaf < 0)
        if new.size:
            leaf = leaf.copy()
            leaf[new] = self.apply(binned, new if rows is None else rows[new])
        return leaf


def grow(
    binned: np.ndarray,
    gradients: np.ndarray,
    hessians: np.ndarray | None = None,
    rows: np.ndarray | None = None,
    columns: np.ndarray | None = None,
    params: TreeParams = TreeParams(),  # noqa: B008
    n_bins: np.ndarray | None = None,
    n_jobs: int = 1,
) -> Tree:
    """Grow a tree that follows the negative gradient.

    The same data give the same tree, bit for bit, whatever the order of the rows and the number of threads.

    Parameters
    ----------
    binned : (d, n) uint8
        Bins by column, from `BinMapper.transform`.
    gradients : (n,) or (n, K) float32
        Of the loss by the prediction; leaves hold K-vectors.
    hessians : None, (n,) or (n, K) float32
        Second derivatives, not negative; None for 1 each, (n,) for one that all outputs share.
    rows : (m,) int32, optional
        Rows to grow on; all by default.
    columns : (c,) int32, optional
        Columns to split by; all by default.
    params : TreeParams
    n_bins : (d,) int32, optional
        Bins of each column, from `BinMapper.n_bins`; 255 each by default.
    n_jobs : int, default=1
        Threads, at least 1; large tables gain from more.

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
    # the kernels are compiled for plain numbers; a NumPy scalar would be another signature, compiled anew
    params = _checked(params, n_jobs)
    if binned.ndim != 2 or binned.dtype != np.uint8:
        raise DataError(f"binned is {binned.ndim}-dimensional {binned.dtype}: give what BinMapper.transform returns.")
    d, n = binned.shape
    gradients = _as_outputs("gradients", gradients, n)
    hessians = np.empty((n, 0), np.float32) if hessians is None else _as_outputs("hessians", hessians, n)
    if hessians.shape[1] not in (0, 1, gradients.shape[1]):
        raise DataError(f"hessians are {hessians.shape}, gradients {gradients.shape}: give as many outputs, 1 or none.")
    columns = np.arange(d, dtype=np.int32) if columns is None else _indices("columns", columns, d)
    n_bins = _bins_of(columns, n_bins, d)
    # the kernel's type without a copy: no number is negative here
    rows = None if rows is None else _indices("rows", rows, n).view(np.uint32)
    if columns.size == 0 or (n if rows is None else rows.size) == 0:
        raise DataError(f"A tree needs rows and columns: this table is {n} x {d}, or `rows` or `columns` is empty.")
    table = Table(readable(binned), rows, columns, n_bins)
    return Tree(*grow_checked(table, gradients, hessians, params, n_jobs))


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
        Its `values` change in place, at leaves that some row reaches with a positive weight.
    binned : (d, n) uint8
        The table that the tree was grown on.
    targets : (n,) or (n, K) float
        Where K is the tree's number of outputs.
    rows : (m,) int32, optional
        Rows to take medians over; all by default.
    weights : (n,) float, optional
        Not negative; 1 each by default.

    Raises
    ------
    DataError
        If shapes disagree, a row is out of range, or a target or weight of `rows` is NaN.
    """
    n, n_outputs = binned.shape[1], tree.values.shape[1]
    rows = np.arange(n, dtype=np.int32) if rows is None else _indices("rows", rows, n)
    targets = np.asarray(targets, np.float64)
    if targets.shape != (n, n_outputs) and not (targets.shape == (n,) and n_outputs == 1):
        raise DataError(f"targets have shape {targets.shape}: the tree needs ({n}, {n_outputs}).")
    inside = np.ascontiguousarray(targets.reshape(n, n_outputs)[rows])
    weight = np.ones(rows.size) if weights is None else np.asarray(weights, np.float64)[rows]
    if np.isnan(inside).any() or np.isnan(weight).any():
        # NaN is neither above nor below a pivot: selection would not end
        raise DataError("targets or weights have NaN, which no median can hold: leave those rows out of `rows`.")
    leaf_medians(tree._leaves(binned, rows), inside, weight, tree.values)


def _checked(params: TreeParams, n_jobs: int) -> TreeParams:
    """Return `params` with plain numbers, the kernels' signature, or raise ParameterError."""
    depth, leaves, fewest = (int(value) for value in params[:3])
    weight, l2, gain = (float(value) for value in params[3:])
    if not (depth == -1 or depth >= 1):
        raise ParameterError(f"max_depth={depth} must be at least 1, or -1 for no limit.")
    if not (leaves == -1 or leaves >= 2):
        raise ParameterError(f"max_leaf_nodes={leaves} must be at least 2, or -1 for no limit.")
    if fewest < 1:
        raise ParameterError(f"min_samples_leaf={fewest} must be at least 1.")
    for name, value in (("min_child_weight", weight), ("l2", l2), ("min_gain", gain)):
        if not 0.0 <= value < np.inf:
            raise ParameterError(f"{name}={value} must be a finite number of at least 0.")
    if n_jobs < 1:
        raise ParameterError(f"n_jobs={n_jobs} must be at least 1: give the number of threads.")
    return TreeParams(
        max_depth=depth, max_leaf_nodes=leaves, min_samples_leaf=fewest, min_child_weight=weight, l2=l2, min_gain=gain
    )


def _as_outputs(name: str, values: np.ndarray, n: int) -> np.ndarray:
    """Return `values` as (n, K) float32."""
    # gradients are float32: half the memory traffic, and they become fixed-point numbers before they are summed
    values = readable(np.asarray(values, np.float32))
    if values.ndim == 1 and values.size == n:
        return values.reshape(n, 1)
    if values.ndim != 2 or values.shape[0] != n or values.shape[1] < 1:
        raise DataError(f"{name} have shape {values.shape}: give one row for each of the {n} rows of the table.")
    return values


def _indices(name: str, values: np.ndarray, stop: int) -> np.ndarray:
    """Return numbers in [0, stop) as int32."""
    values = np.asarray(values)
    whole = values.ndim == 1 and values.dtype.kind in "iu"
    if not whole or (values.size and not 0 <= values.min() <= values.max() < stop):
        raise DataError(f"{name} must be a one-dimensional array of whole numbers in [0, {stop - 1}].")
    return values.astype(np.int32)


def _bins_of(columns: np.ndarray, n_bins: np.ndarray | None, d: int) -> np.ndarray:
    """Return the numbers of bins (c,) int32 of `columns`."""
    if n_bins is None:
        # not known: as many as there can be, which costs time and no correctness
        return np.full(columns.size, MISSING_BIN, np.int32)
    n_bins = np.asarray(n_bins)
    if n_bins.shape != (d,) or (d and not 1 <= n_bins.min() <= n_bins.max() <= MISSING_BIN):
        raise DataError(f"n_bins must give each of the {d} columns a whole number in [1, {MISSING_BIN}].")
    return n_bins[columns].astype(np.int32)
