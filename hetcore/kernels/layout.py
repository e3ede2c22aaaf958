"""The arrays that the tree kernels share: bins, fixed-point gradients, histograms, nodes.

Histograms add whole numbers: each gradient g of an output is stored as round(g * 2**e) in an int64 "word", with e so large that
no sum can overflow. Integer sums are exact, so a tree does not depend on the order of the rows or on the number of threads,
"parent minus child" leaves no rounding noise in empty bins, and a row costs one addition.

A row has W words. Packed (W = 1: one output, hessian 1 for each row): gradient * 2**count_bits + 1, so that one sum holds the
gradients and the count. Wide (W a multiple of 4, which the compiler turns into vector additions): K gradients, P hessians (0, 1
shared by all outputs, or K), a 1 that counts, zeros.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MISSING_BIN = 255
GROUP = 4  # columns whose histograms are built together, so that a row's words are read once for them

NODE_DTYPE = np.dtype(
    [
        ("feature", np.int32),
        ("left", np.int32),
        ("right", np.int32),
        ("count", np.int32),
        ("gain", np.float32),
        ("threshold_bin", np.uint8),
        ("missing_left", np.uint8),
        ("depth", np.uint16),
    ]
)
"""A node: rows whose bin is at most `threshold_bin` go left, the missing ones where `missing_left` says; a leaf has left = -1."""

LEAF_DTYPE = np.dtype([("start", np.int64), ("stop", np.int64), ("slot", np.int64), ("gain", np.float64)])
"""A node while it grows: its part of `rows`, its histograms' place in the pool (-1: none), its best split's gain."""

# The counters of a growing tree, by position in `Work.state`.
N_NODES, N_OPEN, N_FREE, BUILT, BUILT_SLOT, WANTED, REST, REST_SLOT, QUEUED = range(9)
N_STATE = 9
# A best split, by position in a row of `found`.
KEY, COLUMN, BIN, MISSING_LEFT = range(4)


class TreeParams(NamedTuple):
    """Limits of a tree.

    Attributes
    ----------
    max_depth : int
        Longest path from the root, in splits; -1 for none.
    max_leaf_nodes : int
        Most leaves, grown best gain first; -1 for none.
    min_samples_leaf : int
        Fewest rows of a leaf, at least 1.
    min_child_weight : float
        Smallest sum of hessians of a leaf (their mean over the outputs).
    l2 : float
        Added to the hessian sum under every leaf value.
    min_gain : float
        Gain that a split must exceed.
    """

    max_depth: int = -1
    max_leaf_nodes: int = 31
    min_samples_leaf: int = 20
    min_child_weight: float = 1e-3
    l2: float = 0.0
    min_gain: float = 0.0


class Problem(NamedTuple):
    """What a tree is grown on; read only.

    Attributes
    ----------
    binned : (d, n) uint8
    columns : (c,) int32, the features in play
    n_bins : (c,) int32, their bins without the missing one
    offsets : (c + 1,) int64, where their bins begin in a histogram; a feature's missing bin comes after its other bins
    words : (n, W) int64, the rows in fixed point
    units : (W,) float64, the worth of 1 in each word: 2**-e
    n_outputs, n_hessians, count_bits : int, K, P and the packed count's width (0: wide)
    """

    binned: np.ndarray
    columns: np.ndarray
    n_bins: np.ndarray
    offsets: np.ndarray
    words: np.ndarray
    units: np.ndarray
    n_outputs: int
    n_hessians: int
    count_bits: int


class Work(NamedTuple):
    """What growing a tree writes to; reused by the next tree.

    Attributes
    ----------
    rows, spare : (m,) uint32, the rows, those of a node side by side; room to partition them
    ordered : (m, W) int64, the words of the node at hand in the order of its rows
    pool : (slots, bins, W) int64, histograms of nodes that may be split
    free : (slots,) int64, slots not in use
    nodes : (capacity,) NODE_DTYPE
    leaves : (capacity,) LEAF_DTYPE
    totals : (capacity, W) int64, sums of the words of each node
    open : (capacity,) int64, nodes that have a split and wait for it
    state : (N_STATE,) int64, counters
    """

    rows: np.ndarray
    spare: np.ndarray
    ordered: np.ndarray
    pool: np.ndarray
    free: np.ndarray
    nodes: np.ndarray
    leaves: np.ndarray
    totals: np.ndarray
    open: np.ndarray
    state: np.ndarray
