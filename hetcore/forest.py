"""A sum of scaled trees, kept as a few flat arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hetcore.errors import DataError, ModelFileError
from hetcore.growing import readable
from hetcore.kernels.layout import NODE_DTYPE
from hetcore.kernels.predictor import predict_forest, predict_parts
from hetcore.schema import Array, Stored, checked

if TYPE_CHECKING:
    from hetcore.trees import Tree

__all__ = ["Forest", "all_rows", "checked_bins"]


def all_rows(n: int, rows: np.ndarray | None) -> np.ndarray:
    """Return `rows` as uint32, or all n of them for None; DataError for rows outside [0, n)."""
    if rows is None:
        return np.arange(n, dtype=np.uint32)
    rows = np.asarray(rows)
    whole = rows.ndim == 1 and rows.dtype.kind in "iu"
    if not whole or (rows.size and not 0 <= rows.min() <= rows.max() < n):
        raise DataError(f"rows must be a one-dimensional array of whole numbers in [0, {n - 1}].")
    # a copy: rows are kept by whoever grows on them, and the caller may change its own
    return rows.astype(np.uint32)


def checked_bins(binned: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Return `binned` for kernels that only read it; DataError if it lacks a column that `nodes` split by."""
    if binned.ndim != 2 or binned.dtype != np.uint8:
        raise DataError(f"binned is {binned.ndim}-dimensional {binned.dtype}: give what BinMapper.transform returns.")
    needed = int(nodes["feature"].max(initial=-1)) + 1
    if binned.shape[0] < needed:
        raise DataError(f"binned has {binned.shape[0]} columns, the trees need {needed}: give the table's own bins.")
    return readable(binned)


class Forest(Stored):
    """A sum of trees: prediction = sum over trees of scale * tree.

    Parameters
    ----------
    n_outputs : int, default=1
        K, the length of every leaf value.
    """

    _stored = {
        # `_check_nodes` says what the rest of a record must be
        "nodes": Array("N", NODE_DTYPE), "values": Array("N K"), "starts": Array("S", np.int64), "scales": Array("T"),
    }  # fmt: skip

    def __init__(self, n_outputs: int = 1) -> None:
        self.n_outputs = int(n_outputs)
        # nodes, values, sizes and scales of some trees each, joined to one part at the next prediction
        self._parts: list[tuple[np.ndarray, ...]] = []
        self._flat: tuple[np.ndarray, ...] | None = None

    def __len__(self) -> int:
        """Return the number of trees."""
        return sum(scales.size for *_, scales in self._parts)

    @property
    def width(self) -> int:
        """The columns that a table must have for these trees, at least."""
        return 1 + max((int(nodes["feature"].max(initial=-1)) for nodes, *_ in self._parts), default=-1)

    def append(self, tree: Tree, scale: float = 1.0) -> None:
        """Add `scale` times `tree`, of `n_outputs` outputs, but not what the tree knows of its training rows."""
        self.add(tree.nodes, tree.values, np.array([tree.nodes.size]), scale)

    def add(self, nodes: np.ndarray, values: np.ndarray, sizes: np.ndarray, scale: float = 1.0) -> None:
        """Add `scale` times some trees, whose nodes (N,) and values (N, K) follow one another, `sizes` nodes each."""
        if values.shape[1] != self.n_outputs:
            raise ValueError(f"A tree of {values.shape[1]} outputs cannot join a forest of {self.n_outputs}.")
        self._parts.append((nodes, values, sizes, np.full(len(sizes), float(scale))))
        # flattened anew at the next prediction, not at each call: growing would be quadratic in the trees
        self._flat = None

    @classmethod
    def constant(cls, value: np.ndarray) -> Forest:
        """Return the forest of one leaf with a value (K,)."""
        # a tree of one leaf, rather than a constant beside the trees: whatever reads forests needs no second case
        leaf = np.zeros(1, NODE_DTYPE)
        leaf["left"] = leaf["right"] = -1
        forest = cls(value.size)
        forest.add(leaf, value.reshape(1, -1).astype(np.float64), np.array([1]))
        return forest

    def extend(self, other: Forest, scale: float = 1.0) -> None:
        """Add `scale` times the trees of another forest."""
        self._parts += [(*trees, scale * scales) for *trees, scales in other._parts]
        self._flat = None

    def trees(self) -> Iterator[tuple[Tree, float]]:
        """Yield each tree and what it is scaled by."""
        from hetcore.trees import Tree

        nodes, values, starts, scales = self._flattened()
        for begin, end, scale in zip(starts.tolist(), starts[1:].tolist(), scales.tolist()):
            yield Tree(nodes[begin:end], values[begin:end]), scale

    @property
    def columns(self) -> np.ndarray:
        """The columns that trees split by, in order."""
        nodes = self._flattened()[0]
        return np.unique(nodes["feature"][nodes["left"] >= 0])

    def first(self, count: int) -> Forest:
        """Return the forest of the first trees."""
        nodes, values, starts, scales = self._flattened()
        scales, first = scales[:count], Forest(self.n_outputs)
        end = starts[scales.size]
        first._parts = [(nodes[:end], values[:end], np.diff(starts[: scales.size + 1]), scales)]
        return first

    def predict(
        self, binned: np.ndarray, rows: np.ndarray | None = None, first: int = 0, stop: int | None = None
    ) -> np.ndarray:
        """Return the sum of the trees first..stop-1.

        Parameters
        ----------
        binned : (d, n) uint8
        rows : (m,) int32, optional
            Rows to predict; all by default.
        first, stop : int, optional
            Range of trees; all by default.

        Returns
        -------
        (m, K) float64

        Raises
        ------
        DataError
            If a row is out of range or `binned` is not a table of the trees' columns.
        """
        chosen = slice(first, len(self) if stop is None else stop)
        rows = all_rows(binned.shape[1], rows)
        out = np.zeros((rows.size, self.n_outputs))
        nodes, values, starts, scales = self._flattened()
        begins = starts[chosen.start : chosen.stop + 1]
        predict_forest(checked_bins(binned, nodes), rows, nodes, values, begins, scales[chosen], out)
        return out

    def predict_parts(self, binned: np.ndarray, parts: np.ndarray, n_parts: int) -> np.ndarray:
        """Return the sum of all trees, and beside it the sum of the trees of each part; for one output.

        Parameters
        ----------
        binned : (d, n) uint8
        parts : (n_trees,) int64
            The part of each tree, from 0.
        n_parts : int

        Returns
        -------
        (n, 1 + n_parts) float64
            The first column is `predict`, to the last bit.

        Raises
        ------
        DataError
            If `binned` is not a table of the trees' columns.
        """
        rows, (nodes, values, starts, scales) = all_rows(binned.shape[1], None), self._flattened()
        out = np.zeros((rows.size, 1 + n_parts))
        predict_parts(checked_bins(binned, nodes), rows, nodes, values, starts, scales, parts.astype(np.int64), out)
        return out

    def staged_predict(self, binned: np.ndarray, rows: np.ndarray | None = None) -> Iterator[np.ndarray]:
        """Yield the prediction (m, K) after each tree; the array is the caller's to keep."""
        total: np.ndarray | float = 0.0
        for t in range(len(self)):
            # added one tree at a time, so that a stage costs one tree and not all before it
            total = total + self.predict(binned, rows, t, t + 1)
            yield total

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the trees as flat arrays that `from_arrays` takes: nodes, values, starts, scales."""
        return dict(zip(self._stored, self._flattened()))

    _held = to_arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], n_features: int) -> Forest:
        """Rebuild a forest over `n_features` binned columns, checking everything that a prediction relies on.

        Raises
        ------
        ModelFileError
            If the arrays are not a forest's.
        """
        return cls._read({}, arrays, {"d": n_features})

    @classmethod
    def _read(cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], sizes: dict[str, int]) -> Forest:
        # arrays, then how they hang together; both in words that name the trees
        try:
            nodes, values, starts, scales = checked(cls._stored, meta, arrays, sizes).values()
        except ModelFileError as error:
            rule = "lack nodes, values, starts or scales that fit together"
            raise ModelFileError(f"The trees of the model file {rule}. {error}") from None
        _check_shapes(nodes, values, starts, scales)
        _check_nodes(nodes, starts, sizes.get("d", 1 << 31))
        forest = cls(values.shape[1])
        forest._parts, forest._flat = [(nodes, values, np.diff(starts), scales)], (nodes, values, starts, scales)
        return forest

    def _flattened(self) -> tuple[np.ndarray, ...]:
        if self._flat is None:
            # fields differ from record to record only in value, so the bytes can be joined as they are
            nodes = _joined([nodes for nodes, *_ in self._parts])
            values = np.concatenate([np.empty((0, self.n_outputs)), *(values for _, values, *_ in self._parts)])
            sizes = np.concatenate([np.empty(0, np.int64), *(sizes for _, _, sizes, _ in self._parts)])
            scales = np.concatenate([np.empty(0), *(scales for *_, scales in self._parts)])
            self._parts = [(nodes, values, sizes, scales)]
            self._flat = nodes, values, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), scales
        return self._flat


def _joined(nodes: list[np.ndarray]) -> np.ndarray:
    """Return the nodes of all trees as one array; NumPy would compare all fields of all records' types first."""
    plain = np.dtype((np.void, NODE_DTYPE.itemsize))
    return np.concatenate([np.empty(0, plain), *(each.view(plain) for each in nodes)]).view(NODE_DTYPE)


def _check_shapes(nodes: np.ndarray, values: np.ndarray, starts: np.ndarray, scales: np.ndarray) -> None:
    fits = starts.size == scales.size + 1 and starts[0] == 0 and starts[-1] == nodes.size == values.shape[0]
    if not fits or (np.diff(starts) < 1).any() or values.shape[1] < 1:
        raise ModelFileError("The trees of the model file do not add up: starts, nodes, values and scales disagree.")


def _check_nodes(nodes: np.ndarray, starts: np.ndarray, n_features: int) -> None:
    """Raise ModelFileError unless every row falls from its root to a leaf of its tree, at the depth that it states."""
    sizes = np.diff(starts)
    # a tree's numbers count from its own root, the arrays hold all trees one after the other
    begin, size = np.repeat(starts[:-1], sizes), np.repeat(sizes, sizes)
    inner = np.flatnonzero(nodes["left"] >= 0)
    if (nodes["right"][nodes["left"] < 0] >= 0).any() or (nodes["missing_left"] > 1).any():
        raise ModelFileError("The trees of the model file have a node that is half a leaf.")
    if (nodes["depth"][starts[:-1]] != 0).any():
        raise ModelFileError("The trees of the model file have a root below depth 0.")
    feature = nodes["feature"][inner]
    if ((feature < 0) | (feature >= n_features)).any():
        raise ModelFileError(f"The trees of the model file split by a column outside 0..{n_features - 1}.")
    parents = np.zeros(nodes.size, np.int64)
    for side in ("left", "right"):
        child, own = nodes[side][inner].astype(np.int64), inner - begin[inner]
        # children come after their parents: so no row can fall in a circle
        if ((child <= own) | (child >= size[inner])).any():
            raise ModelFileError("The trees of the model file have a child that does not come after its parent.")
        deeper = nodes["depth"][begin[inner] + child].astype(np.int64) == nodes["depth"][inner].astype(np.int64) + 1
        if not deeper.all():
            raise ModelFileError("The trees of the model file have a child that is not one level below its parent.")
        parents += np.bincount(begin[inner] + child, minlength=nodes.size)
    # a root has no parent; counted as one, every node must have exactly one
    parents[starts[:-1]] += 1
    if (parents != 1).any():
        raise ModelFileError("The trees of the model file have a node without a parent, or with two.")
