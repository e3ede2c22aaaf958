"""The arrays that the tree kernels share: bins, fixed-point gradients, histograms, nodes.

Histograms add whole numbers: a gradient g is stored as round(g * 2**e) in an int64 "word", with e so large that no
sum can overflow. Integer sums are exact, so a tree does not depend on the order of the rows or on the number of
threads, "parent minus child" leaves no rounding noise in empty bins, and a row costs one addition per word.

A row has K gradients, then P hessians (0: each is 1; 1: shared by all outputs; or K), one word each. The last of
these also counts: it holds value * 2**count_bits + 1, so that one sum has the value above and the number of rows
below. From three words on, zeros fill them up to a multiple of four, which are added as vectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# the last of uint8, so that a missing value is one bin among 256 and needs no mask
MISSING_BIN = 255
# where the missing rows alone go right: a value above all that were met is known too
ALL_KNOWN = MISSING_BIN - 1
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
        # a uint16: a tree without limits over sorted targets can be deeper than 255
        ("depth", np.uint16),
    ]
)
"""A node: rows with a bin up to `threshold_bin` go left, missing ones if `missing_left`; a leaf has left = -1."""

LEAF_DTYPE = np.dtype([("start", np.int64), ("stop", np.int64), ("slot", np.int64), ("gain", np.float64)])
"""A node while it grows: its part of `rows`, its histograms' place in the pool (-1: none), its best split's gain."""

# The counters of a growing tree, by position in `Work.state`.
# counters in one array rather than fields: a kernel can't change a scalar of a NamedTuple
N_NODES, N_OPEN, N_FREE, BUILT, BUILT_SLOT, WANTED, REST, REST_SLOT, QUEUED, CHOSEN, N_LEFT = range(11)
N_STATE = 11
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


class PackedLayout(NamedTuple):
    """How to read the words of a row or of a sum of rows.

    Attributes
    ----------
    units : (W,) float64
        The worth of 1 in each word: 2**-e.
    n_outputs, n_hessians : int
        K and P.
    count_bits : int
        Width of the count in the last word used, number K + P - 1.
    """

    units: np.ndarray
    n_outputs: int
    n_hessians: int
    count_bits: int


class Problem(NamedTuple):
    """What a tree is grown on; read only.

    Attributes
    ----------
    binned : (d, n) uint8
    columns : (c,) int32
        The features in play.
    n_bins : (c,) int32
        Their bins, the missing one not counted.
    offsets : (c + 1,) int64
        Where their bins begin in a histogram; a feature's missing bin comes after its other bins.
    packed : (n, W) int64
        The rows in fixed point.
    layout : PackedLayout
    kept_rows : int
        Fewest rows of a node whose histograms are kept for subtraction: those of a smaller one cost more to keep.
    """

    binned: np.ndarray
    columns: np.ndarray
    n_bins: np.ndarray
    offsets: np.ndarray
    packed: np.ndarray
    layout: PackedLayout
    kept_rows: int


class NodeTerms(NamedTuple):
    """What the splits of a node have in common.

    Attributes
    ----------
    fewest, most : int
        Rows that may go left.
    lightest, heaviest, hessian, l2 : float
        Hessian sum that may go left, that of the node, and the penalty.
    scale, penalty, floor : float
        A split's gain is scale * key - penalty; its key must exceed the floor.
    """

    fewest: int
    most: int
    lightest: float
    heaviest: float
    hessian: float
    l2: float
    scale: float
    penalty: float
    floor: float


class Scratch(NamedTuple):
    """Scratch of one thread for one column after the other.

    Attributes
    ----------
    histograms, flat : (GROUP, 256, W) and (GROUP, 256 * W) int64
        Those of the columns at hand, the same memory twice.
    bins : (256,) uint8
        Bins that hold rows.
    sums : (256, W) int64
        Of one column where a node has few rows; zeros but while they are built.
    marks : (4,) int64
        A bit for each of its bins that hold rows; zeros but while they are built.
    packed : (max(W, 2), 264) int64
        The words left of each cut; of a node with few rows first those of each filled bin.
    reals : (3, 256) float64
        Hessians left of each cut; its key times a * b; a * b.
    zeros : (W,) int64
        Zeros.
    part : int
        Which part of the columns, from 0.
    outputs : (2, 2, K) float64
        Of both nodes at hand, G_k / s_k and s_k, see `splitting`.
    """

    histograms: np.ndarray
    flat: np.ndarray
    bins: np.ndarray
    sums: np.ndarray
    marks: np.ndarray
    packed: np.ndarray
    reals: np.ndarray
    zeros: np.ndarray
    part: int
    outputs: np.ndarray


def make_scratch(width: int, n_outputs: int, part: int = 0) -> Scratch:
    """Return scratch for one part of the columns, words of `width` and `n_outputs` outputs."""
    histograms = np.empty((GROUP, 256, width), np.int64)
    return Scratch(
        histograms,
        histograms.reshape(GROUP, -1),
        np.empty(256, np.uint8),
        np.zeros((256, width), np.int64),
        np.zeros(4, np.int64),
        # eight more than bins: rows 2 KiB apart would all be in the same few sets of the cache
        np.empty((max(width, 2), 256 + 8), np.int64),
        np.empty((3, 256)),
        np.zeros(width, np.int64),
        part,
        np.empty((2, 2, n_outputs)),
    )


class Work(NamedTuple):
    """What growing a tree writes to; reused by the next tree.

    Attributes
    ----------
    rows, buffer : (m,) uint32
        The rows, those of a node side by side; room to partition them.
    ordered : (m, W) int64
        The words of the node at hand in the order of its rows.
    pool, flat_pool : (slots, bins, W) and (slots, bins * W) int64
        Histograms of nodes that may be split, the same memory twice.
    free : (slots,) int64
        Slots not in use.
    nodes : (capacity,) NODE_DTYPE
    leaves : (capacity,) LEAF_DTYPE
    totals : (capacity, W) int64
        Sums of the words of each node.
    open : (capacity,) int64
        Nodes that have a split and wait for it.
    state : (N_STATE,) int64
        Counters.
    found : (threads, 2, 4) float64
        Best splits of the built node and of the rest, by range of columns.
    """

    rows: np.ndarray
    buffer: np.ndarray
    ordered: np.ndarray
    pool: np.ndarray
    flat_pool: np.ndarray
    free: np.ndarray
    nodes: np.ndarray
    leaves: np.ndarray
    totals: np.ndarray
    open: np.ndarray
    state: np.ndarray
    found: np.ndarray
