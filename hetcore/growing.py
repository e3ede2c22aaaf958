"""From checked arrays to a grown tree: the fixed-point rows, the scratch to work in, and the threads."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from hetcore.errors import DataError
from hetcore.kernels import grower
from hetcore.kernels.grower import partition
from hetcore.kernels.layout import (
    CHOSEN,
    LEAF_DTYPE,
    N_LEFT,
    N_NODES,
    N_STATE,
    NODE_DTYPE,
    PackedLayout,
    Problem,
    Scratch,
    TreeParams,
    Work,
    make_scratch,
)
from hetcore.kernels.packed_sums import gather_packed, pack_rows
from hetcore.kernels.splitting import UNKNOWN
from hetcore.kernels.threads import run_each

__all__ = ["WRONG", "Pool", "Table", "grow_checked", "most_leaves", "n_words", "readable"]

_POOL_BYTES = 256 << 20  # histograms kept for subtraction; a leaf beyond them is built from its rows
_KEPT_BYTES = 64 << 20  # largest buffer that a thread keeps for its next tree
_SERIAL_VALUES = 2_000_000  # rows * columns below which a second thread costs more than it brings
_SERIAL_ROWS = 200_000  # rows of a node below which one thread moves them
WRONG = {
    1: "gradients or hessians are not all finite: scale the target, or leave those rows out of `rows`.",
    2: "hessians must not be negative: a sample weight is at least 0.",
}


class Table(NamedTuple):
    """The part of a binned table that a tree is grown on.

    Attributes
    ----------
    binned : (d, n) uint8
    rows : (m,) uint32, or None for all
    columns : (c,) int32
    n_bins : (c,) int32
        Bins of `columns`.
    """

    binned: np.ndarray
    rows: np.ndarray | None
    columns: np.ndarray
    n_bins: np.ndarray


def grow_checked(
    table: Table, gradients: np.ndarray, hessians: np.ndarray, params: TreeParams, n_jobs: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Grow a tree on checked arrays: gradients (n, K), hessians (n, 0 or 1 or K).

    Returns
    -------
    nodes : (n_nodes,) NODE_DTYPE
    values : (n_nodes, K) float64
    row_leaf : (n,) int32

    Raises
    ------
    DataError
        If a gradient or hessian is not finite, or a hessian is negative.
    """
    n = table.binned.shape[1]
    rows = _numbered(n) if table.rows is None else table.rows.copy()
    problem = _problem(table, rows, gradients, hessians)
    # threads share the search by columns; below so many values handing over costs more than searching
    n_parts = n_jobs if rows.size * table.columns.size >= _SERIAL_VALUES else 1
    work = _work(problem, params, rows, n_parts)
    values = _buffer("values", (work.nodes.shape[0], gradients.shape[1]), np.float64)
    # rows that are not grown on have leaf -1, for what is not there can't be read by mistake
    row_leaf = np.empty(n, np.int32) if table.rows is None else np.full(n, -1, np.int32)
    scratches = [_scratch(t, problem) for t in range(n_parts)]
    if n_parts == 1:
        n_nodes = grower.grow_tree(problem, params, work, scratches[0], values, row_leaf, grower.WHOLE)
    else:
        n_nodes = _grow_parts(problem, params, work, scratches=scratches, values=values, row_leaf=row_leaf)
    # copies: the buffers are the next tree's
    return work.nodes[:n_nodes].copy(), values[:n_nodes].copy(), row_leaf


def _grow_parts(
    problem: Problem, params: TreeParams, work: Work, scratches: list[Scratch], values: np.ndarray, row_leaf: np.ndarray
) -> int:
    """Do what `grower.grow_tree` does, with one thread for each scratch; the tree is the same, bit for bit."""
    threads = range(len(scratches))

    def do(phase: int, t: int = 0) -> int:
        return grower.grow_tree(problem, params, work, scratches[t], values, row_leaf, phase)

    do(grower.START)
    while True:
        run_each(partial(do, grower.SEARCH), threads, len(scratches))
        found = do(grower.CHOOSE)
        if found == grower.DONE:
            return do(grower.FINISH)
        if found == grower.SPLIT:
            _sort_rows(problem, work, len(scratches))
        do(found)


def _sort_rows(problem: Problem, work: Work, n_parts: int) -> None:
    """Let threads move the rows of a large node to its children's places, and gather the smaller one's words.

    What is summed are whole numbers: the parts' sums add up to the same whatever the parts.
    """
    record, leaf = work.nodes[work.state[CHOSEN]], work.leaves[work.state[CHOSEN]]
    rows = work.rows[leaf["start"] : leaf["stop"]]
    if rows.size < _SERIAL_ROWS:
        return
    side = 0 if record["missing_left"] == UNKNOWN else int(record["missing_left"])
    bins, threshold = problem.binned[record["feature"]], int(record["threshold_bin"])
    parts = [slice(rows.size * t // n_parts, rows.size * (t + 1) // n_parts) for t in range(n_parts)]
    lefts = run_each(lambda part: partition(bins, threshold, side, rows[part], work.buffer[part]), parts, n_parts)
    # each part has its left rows in front, and its right ones in the buffer too
    end = 0
    for part, n_left in zip(parts, lefts):
        rows[end : end + n_left] = rows[part.start : part.start + n_left]
        end += n_left
    work.state[N_LEFT] = end
    for part, n_left in zip(parts, lefts):
        n_right = part.stop - part.start - n_left
        rows[end : end + n_right] = work.buffer[part.start : part.start + n_right]
        end += n_right
    _gather_smaller(problem, work, rows, n_parts)


def _gather_smaller(problem: Problem, work: Work, rows: np.ndarray, n_parts: int) -> None:
    """Gather the words of the smaller child, whose place among the nodes is the next or the one after it."""
    n_left = work.state[N_LEFT]
    goes_right = n_left > rows.size - n_left
    small = rows[n_left:] if goes_right else rows[:n_left]
    parts = [slice(small.size * t // n_parts, small.size * (t + 1) // n_parts) for t in range(n_parts)]
    totals = np.zeros((n_parts, work.totals.shape[1]), np.int64)

    def gather(t: int) -> None:
        gather_packed(problem.packed, small[parts[t]], work.ordered[parts[t]], totals[t])

    run_each(gather, range(n_parts), n_parts)
    work.totals[work.state[N_NODES] + goes_right] = totals.sum(axis=0)


def _problem(table: Table, rows: np.ndarray, gradients: np.ndarray, hessians: np.ndarray) -> Problem:
    """Put the gradients and hessians of `rows` into words."""
    width = n_words(gradients.shape[1], hessians.shape[1])
    layout = PackedLayout(np.empty(width), gradients.shape[1], hessians.shape[1], rows.size.bit_length())
    packed = _buffer("packed", (gradients.shape[0], width), np.int64)
    wrong = pack_rows(gradients, hessians, rows, packed, layout)
    if wrong:
        raise DataError(WRONG[wrong])
    offsets = np.zeros(table.columns.size + 1, np.int64)
    np.cumsum(table.n_bins + 1, out=offsets[1:])
    return Problem(
        binned=table.binned,
        columns=table.columns,
        n_bins=table.n_bins,
        offsets=offsets,
        packed=packed,
        layout=layout,
        kept_rows=kept_rows_for(width, offsets[-1], table.columns.size),
    )


def n_words(n_outputs: int, n_hessians: int) -> int:
    """Return how many words a row of so many gradients and hessians has."""
    used = n_outputs + n_hessians
    # three words take four: vectors are of four, and one kernel fewer is compiled
    return used if used <= 2 else -4 * (-used // 4)


def kept_rows_for(width: int, bins: int, n_columns: int) -> int:
    """Return the fewest rows of a node whose histograms, of so many bins in all columns, are kept: see `Problem`."""
    # measured: below half a row a bin, a little more with each word, building costs less than keeping and subtracting
    return int((1 + width / 8) * bins / (2 * n_columns))


def most_leaves(params: TreeParams, m: int) -> int:
    """Return how many leaves a tree over m rows can have."""
    # each leaf needs so many rows, so that there are never more leaves than this
    limits = [max(m // params.min_samples_leaf, 1)]
    if params.max_leaf_nodes > 0:
        limits.append(params.max_leaf_nodes)
    # 2 ** 31 would be more leaves than rows can be numbered
    if 0 <= params.max_depth < 31:
        limits.append(2**params.max_depth)
    return min(limits)


def slots(params: TreeParams, m: int, kept_rows: int, packed: int) -> int:
    """Return how many histograms of so many words are kept at most, for a tree over m rows."""
    n_leaves = most_leaves(params, m)
    # branch by branch, smaller child first, at most log2(m) histograms wait
    waiting = n_leaves if params.max_leaf_nodes > 0 else min(n_leaves, m.bit_length() + 2)
    waiting = min(waiting, m // max(kept_rows, 1) + 2)  # waiting nodes share no row
    return max(min(waiting, _POOL_BYTES // (8 * packed)), 1)


class Pool(NamedTuple):
    """Where histograms are kept for subtraction: those of nodes of so many rows at least, and of so many at most."""

    kept_rows: int
    slots: int

    @classmethod
    def of(cls, params: TreeParams, m: int, bins: int, n_columns: int, width: int) -> Pool:
        """Return the pool for trees over at most m rows, of so many bins in all columns and words a row."""
        kept_rows = kept_rows_for(width, bins, n_columns)
        return cls(kept_rows, slots(params, m, kept_rows, bins * width))


def _work(problem: Problem, params: TreeParams, rows: np.ndarray, n_parts: int) -> Work:
    """Find scratch for growing a tree over `rows`, its columns searched in `n_parts` parts."""
    m, width, bins = rows.size, problem.packed.shape[1], int(problem.offsets[-1])
    capacity = 2 * most_leaves(params, m) - 1
    n_slots = slots(params, m, problem.kept_rows, bins * width)
    pool = _buffer("pool", (n_slots, bins, width), np.int64)
    return Work(
        rows=rows,
        buffer=_buffer("buffer", (m,), np.uint32),
        ordered=_buffer("ordered", (m, width), np.int64),
        pool=pool,
        flat_pool=pool.reshape(n_slots, -1),
        free=_buffer("free", (n_slots,), np.int64),
        nodes=_buffer("nodes", (capacity,), NODE_DTYPE),
        leaves=_buffer("leaves", (capacity,), LEAF_DTYPE),
        totals=_buffer("totals", (capacity, width), np.int64),
        open=_buffer("open", (capacity,), np.int64),
        state=_buffer("state", (N_STATE,), np.int64),
        found=_buffer("found", (n_parts, 2, 4), np.float64),
    )


class _Kept(threading.local):
    # by thread: two fits in one process must not grow in one another's buffers
    """What one thread's next tree uses again: fresh pages would cost more than a small tree."""

    def __init__(self) -> None:
        self.buffers: dict[str, np.ndarray] = {}
        self.scratches: dict[int, Scratch] = {}
        self.numbers = np.empty(0, np.uint32)


_kept = _Kept()


def _buffer(name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an array of any content that is this thread's until it asks for the same name again."""
    dtype = np.dtype(dtype)
    size = dtype.itemsize
    for length in shape:
        size *= length
    # a large one is given back, or a process would keep the largest table that it ever saw
    if size > _KEPT_BYTES:
        return np.empty(shape, dtype)
    kept = _kept.buffers.get(name)
    if kept is None or kept.size < size:
        kept = _kept.buffers[name] = np.empty(size, np.uint8)
    return kept[:size].view(dtype).reshape(shape)


def _scratch(part: int, problem: Problem) -> Scratch:
    """Return scratch for one part of the columns."""
    width, n_outputs = problem.packed.shape[1], problem.layout.n_outputs
    scratch = _kept.scratches.get(part)
    if scratch is None or scratch.zeros.size != width or scratch.outputs.shape[2] != n_outputs:
        scratch = _kept.scratches[part] = make_scratch(width, n_outputs, part)
    return scratch


def _numbered(n: int) -> np.ndarray:
    """Return 0..n-1 in a buffer that may be overwritten."""
    if _kept.numbers.size < n:
        _kept.numbers = np.arange(n, dtype=np.uint32)
    rows = _buffer("rows", (n,), np.uint32)
    rows[:] = _kept.numbers[:n]
    return rows


class _Readable:
    def __init__(self, array: np.ndarray) -> None:
        # the array stays alive as long as the view of its memory
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def readable(array: np.ndarray) -> np.ndarray:
    """Return a C-contiguous array for kernels that only read it.

    A write-protected array is another type to numba, and would have every kernel compiled once more.
    """
    array = np.ascontiguousarray(array)
    return array if array.flags.writeable else np.asarray(_Readable(array))
