"""Rows in fixed point, and histograms of their words: sums by bin. See `layout` for words."""

from __future__ import annotations

import math

import numpy as np

from hetcore.kernels.cache import kernel
from hetcore.kernels.layout import GROUP, MISSING_BIN


def _unit_for(total, bits):
    """Return the smallest power of two u such that `total` / u is below 2**bits."""
    if total <= 0.0:
        return 1.0
    return math.ldexp(1.0, math.frexp(total)[1] - bits)


unit_for = kernel(_unit_for)


def _absolute_sums(values, rows, out):
    """Write the sum of absolute values of each column of `values` over `rows` to `out`; return the smallest value."""
    out[:] = 0.0
    smallest = np.inf
    for r in rows:
        for k in range(values.shape[1]):
            out[k] += abs(np.float64(values[r, k]))
            smallest = min(smallest, np.float64(values[r, k]))
    return smallest


absolute_sums = kernel(_absolute_sums)


def _fill_words(gradients, hessians, rows, words, units):
    """Write the gradients (n, K), the hessians (n, P) and a count of 1 of `rows` to wide words; `units` (W,) receives units.

    Sums stay below 2**61. Returns 0, or 1 if a value is not finite, or 2 if a hessian is negative.
    """
    first, count_at = gradients.shape[1], gradients.shape[1] + hessians.shape[1]
    sums = np.empty(count_at)
    absolute_sums(gradients, rows, sums[:first])
    smallest = absolute_sums(hessians, rows, sums[first:])
    if not np.isfinite(sums.sum()):
        return 1
    if smallest < 0.0:
        return 2
    units[:] = 1.0
    for c in range(count_at):
        units[c] = unit_for(sums[c], 61)
    scales = 1.0 / units
    for r in rows:
        for k in range(first):
            words[r, k] = np.int64(np.rint(gradients[r, k] * scales[k]))
        for k in range(first, count_at):
            words[r, k] = np.int64(np.rint(hessians[r, k - first] * scales[k]))
        words[r, count_at] = 1
        words[r, count_at + 1 :] = 0
    return 0


fill_words = kernel(_fill_words)


def _pack_words(gradients, rows, words, units, count_bits):
    """Write the gradients (n, 1) of `rows` and a count of 1 to one word each; return 0, or 1 if one is not finite."""
    sums = np.empty(1)
    absolute_sums(gradients, rows, sums)
    if not np.isfinite(sums[0]):
        return 1
    units[0] = unit_for(sums[0], 61 - count_bits)
    scale = 1.0 / units[0]
    for r in rows:
        words[r, 0] = (np.int64(np.rint(gradients[r, 0] * scale)) << count_bits) + 1
    return 0


pack_words = kernel(_pack_words)


def _gather_words(words, rows, ordered, total):
    """Copy the words of `rows` to `ordered`, row after row, and write their sums to `total` (W,)."""
    total[:] = 0
    for i in range(rows.shape[0]):
        for c in range(words.shape[1]):
            word = words[rows[i], c]
            ordered[i, c] = word
            total[c] += word


gather_words = kernel(_gather_words)


def _add_packed(scratch, binned, columns, rows, ordered):
    """Add one-word rows to the histograms of `GROUP` columns (a short group repeats its last column)."""
    last = columns.shape[0] - 1
    a, b = binned[columns[0]], binned[columns[min(1, last)]]
    c, d = binned[columns[min(2, last)]], binned[columns[min(3, last)]]
    for i in range(rows.shape[0]):
        r, word = rows[i], ordered[i, 0]
        scratch[0, a[r], 0] += word
        scratch[1, b[r], 0] += word
        scratch[2, c[r], 0] += word
        scratch[3, d[r], 0] += word


add_packed = kernel(_add_packed)


def _add_wide(histogram, column, rows, ordered):
    """Add rows of W words, W a multiple of 4, to the histogram (256, W) of one column (n,)."""
    for i in range(rows.shape[0]):
        at = column[rows[i]]
        for c in range(0, ordered.shape[1], 4):
            histogram[at, c] += ordered[i, c]
            histogram[at, c + 1] += ordered[i, c + 1]
            histogram[at, c + 2] += ordered[i, c + 2]
            histogram[at, c + 3] += ordered[i, c + 3]


add_wide = kernel(_add_wide)


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
        scratch[q, : n_bins[min(q, columns.shape[0] - 1)]] = 0
        scratch[q, MISSING_BIN] = 0
    if ordered.shape[1] == 1:
        add_packed(scratch, binned, columns, rows, ordered)
    else:
        for q in range(columns.shape[0]):
            add_wide(scratch[q], binned[columns[q]], rows, ordered)


build_group = kernel(_build_group)


def _store(histogram, out):
    """Copy a scratch histogram (256, W) to its compact place `out` (n_bins + 1, W), missing rows last."""
    last = out.shape[0] - 1
    source, target = histogram.ravel(), out.ravel()
    for i in range(last * out.shape[1]):
        target[i] = source[i]
    for c in range(out.shape[1]):
        out[last, c] = histogram[MISSING_BIN, c]


store = kernel(_store)


def _subtract(histogram, out):
    """Subtract a child's scratch histogram from its parent's compact one, in place: what is left is the other child's."""
    last = out.shape[0] - 1
    source, target = histogram.ravel(), out.ravel()
    for i in range(last * out.shape[1]):
        target[i] -= source[i]
    for c in range(out.shape[1]):
        out[last, c] -= histogram[MISSING_BIN, c]


subtract = kernel(_subtract)
