"""Histograms of one node: sums of its rows' words by bin, for a group of columns at a time.

A word is defined in `hetcore.kernels.layout`.

Four columns side by side share the reading of the rows, and while one waits for its bin the others go on. Of a node
with fewer rows than bins only the bins that are filled are listed, column after column.
"""

from __future__ import annotations

import numpy as np

from hetcore.kernels.cache import kernel
from hetcore.kernels.layout import GROUP, MISSING_BIN
from hetcore.kernels.vector import add_row, lowest_bit


def _add_single(scratch, binned, columns, rows, ordered):
    """Add rows of one word to the histograms of `GROUP` columns (a short group repeats its last column)."""
    last = columns.shape[0] - 1
    a, b = binned[columns[0]], binned[columns[min(1, last)]]
    c, d = binned[columns[min(2, last)]], binned[columns[min(3, last)]]
    for i in range(rows.shape[0]):
        r, word = rows[i], ordered[i, 0]
        scratch[0, a[r], 0] += word
        scratch[1, b[r], 0] += word
        scratch[2, c[r], 0] += word
        scratch[3, d[r], 0] += word


add_single = kernel(_add_single, allocates=False)


def _add_double(scratch, binned, columns, rows, ordered):
    """Add rows of two words to the histograms of `GROUP` columns (a short group repeats its last column)."""
    last = columns.shape[0] - 1
    a, b = binned[columns[0]], binned[columns[min(1, last)]]
    c, d = binned[columns[min(2, last)]], binned[columns[min(3, last)]]
    for i in range(rows.shape[0]):
        r, word, other = rows[i], ordered[i, 0], ordered[i, 1]
        scratch[0, a[r], 0] += word
        scratch[0, a[r], 1] += other
        scratch[1, b[r], 0] += word
        scratch[1, b[r], 1] += other
        scratch[2, c[r], 0] += word
        scratch[2, c[r], 1] += other
        scratch[3, d[r], 0] += word
        scratch[3, d[r], 1] += other


add_double = kernel(_add_double, allocates=False)


def _add_many(scratch, binned, columns, rows, ordered):
    """Add rows of W words, W a multiple of 4, to the histograms of `GROUP` columns (a short group repeats its last)."""
    last = columns.shape[0] - 1
    a, b = binned[columns[0]], binned[columns[min(1, last)]]
    c, d = binned[columns[min(2, last)]], binned[columns[min(3, last)]]
    first, second, third, fourth = scratch[0], scratch[1], scratch[2], scratch[3]
    for i in range(rows.shape[0]):
        r = rows[i]
        add_row(first, a[r], ordered, i)
        add_row(second, b[r], ordered, i)
        add_row(third, c[r], ordered, i)
        add_row(fourth, d[r], ordered, i)


add_many = kernel(_add_many, allocates=False)


def _build_group(scratch, binned, columns, n_bins, rows, ordered):
    """Build the histograms of up to `GROUP` columns over the rows of one node.

    Parameters
    ----------
    scratch : (GROUP, 256, W) int64
        Receives them, the missing rows at `MISSING_BIN`; bins that a column does not have are left as they were.
    binned : (d, n) uint8
    columns, n_bins : (g,) int32
        Columns of `binned`, g at most `GROUP`, and their numbers of bins.
    rows : (m,) uint32
    ordered : (m, W) int64
        Words of `rows`, in their order.
    """
    for q in range(GROUP):
        # only the bins that a column has: clearing 256 of each would cost more than a small node's rows
        scratch[q, : n_bins[min(q, columns.shape[0] - 1)]] = 0
        # missing has a place of its own at the end, whatever the number of bins
        scratch[q, MISSING_BIN] = 0
    # three loops: a word or two a row stay in registers, and only more of them pay for vector code
    if ordered.shape[1] == 1:
        add_single(scratch, binned, columns, rows, ordered)
    elif ordered.shape[1] == 2:
        add_double(scratch, binned, columns, rows, ordered)
    else:
        add_many(scratch, binned, columns, rows, ordered)


build_group = kernel(_build_group, allocates=False)


def _store(histogram, out, width):
    """Copy a scratch histogram (256 * W,) to its compact place `out` ((n_bins + 1) * W,), missing rows last."""
    last = out.shape[0] - width
    for i in range(last):
        out[i] = histogram[i]
    for c in range(width):
        out[last + c] = histogram[MISSING_BIN * width + c]


store = kernel(_store, allocates=False)


def _subtract(histogram, out, width):
    """Subtract a child's scratch histogram from its parent's compact one, which becomes the other child's."""
    last = out.shape[0] - width
    for i in range(last):
        out[i] -= histogram[i]
    for c in range(width):
        out[last + c] -= histogram[MISSING_BIN * width + c]


subtract = kernel(_subtract, allocates=False)


def _build_sparse(scratch, bins, rows, ordered):
    """List the filled bins of one column over few rows, in ascending order, and their sums.

    Parameters
    ----------
    scratch : Scratch
        `bins` receives them, and `packed` their sums; after these those of the missing rows.
    bins : (n,) uint8
        Bins of the column.
    rows : (m,) uint32
    ordered : (m, W) int64
        Words of `rows`, in their order.

    Returns
    -------
    int
        How many, but for the missing one.
    """
    width, n, sums, packed = ordered.shape[1], 0, scratch.sums, scratch.packed
    for i in range(rows.shape[0]):
        b = np.int64(bins[rows[i]])
        scratch.marks[b >> 6] |= np.int64(1) << (b & 63)
        # a word or two a row without a loop over them, which costs as much again
        if width == 1:
            sums[b, 0] += ordered[i, 0]
        elif width == 2:
            sums[b, 0] += ordered[i, 0]
            sums[b, 1] += ordered[i, 1]
        else:
            add_row(sums, b, ordered, i)
    for quarter in range(4):
        # from bit to bit: looking into every bin would cost more than all of the rows
        mark = scratch.marks[quarter]
        scratch.marks[quarter] = 0
        while mark != 0:
            b = 64 * quarter + lowest_bit(mark)
            mark &= mark - 1
            scratch.bins[n] = b
            packed[0, n] = sums[b, 0]
            sums[b, 0] = 0
            for c in range(1, width):
                packed[c, n] = sums[b, c]
                sums[b, c] = 0
            n += 1
    if scratch.bins[n - 1] == MISSING_BIN:
        return n - 1
    for c in range(width):
        scratch.packed[c, n] = 0
    return n


build_sparse = kernel(_build_sparse, allocates=False, inlined=True)


def _subtract_sparse(scratch, n, out):
    """Do what `subtract` does with n bins listed; `out` (n_bins + 1, W) has the missing rows last."""
    for c in range(out.shape[1]):
        for j in range(n):
            out[scratch.bins[j], c] -= scratch.packed[c, j]
        out[out.shape[0] - 1, c] -= scratch.packed[c, n]


subtract_sparse = kernel(_subtract_sparse, allocates=False)


def _build_columns(scratch, binned, columns, n_bins, rows, ordered, out):
    """Build the histograms of all columns over the rows of one node, side by side, a column's missing rows last.

    Parameters
    ----------
    scratch : Scratch
    binned, columns, n_bins, rows, ordered
        As of `build_group`, of c columns.
    out : ((sum of n_bins + c) * W,) int64
        Receives them.
    """
    width, first = ordered.shape[1], 0
    for j in range(0, columns.shape[0], GROUP):
        end = min(j + GROUP, columns.shape[0])
        build_group(scratch.histograms, binned, columns[j:end], n_bins[j:end], rows, ordered)
        for q in range(j, end):
            last = first + (n_bins[q] + 1) * width
            store(scratch.flat[q - j], out[first:last], width)
            first = last


build_columns = kernel(_build_columns, allocates=False)
