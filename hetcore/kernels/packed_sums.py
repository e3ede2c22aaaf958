"""Rows in fixed point: from float gradients and hessians to words and back. See `hetcore.kernels.layout` for words."""

from __future__ import annotations

import math

import numpy as np

from hetcore.kernels.cache import kernel


def _unit_for(total, bits):
    """Return the smallest power of two u such that `total` / u is below 2**bits."""
    if total <= 0.0:
        # nothing to store: any unit will do, and the logarithm of 0 will not
        return 1.0
    return math.ldexp(1.0, math.frexp(total)[1] - bits)


unit_for = kernel(_unit_for, allocates=False)


def _absolute_sum(values, rows, c):
    """Return the sum of absolute values of column c of `values` over `rows`, and the smallest value."""
    total, smallest = 0.0, np.float32(np.inf)
    for r in rows:
        value = values[r, c]
        # in float64: the sum says how large a unit is safe, and float32 would lose rows of a large table
        total += abs(np.float64(value))
        smallest = min(smallest, value)
    return total, np.float64(smallest)


absolute_sum = kernel(_absolute_sum, allocates=False, reorders=True)


def _absolute_sums(gradients, hessians, rows, totals):
    """Write to `totals` (W,) what gradients (n, K) and hessians (n, P) of `rows` are in size; return the least hessian.

    At most 0. Words that nothing is in have 0.
    """
    n_outputs, last, smallest = gradients.shape[1], gradients.shape[1] + hessians.shape[1] - 1, 0.0
    for c in range(totals.shape[0]):
        total, low = 0.0, 0.0
        if c < n_outputs:
            total, _ = absolute_sum(gradients, rows, c)
        elif c <= last:
            total, low = absolute_sum(hessians, rows, c - n_outputs)
        totals[c] = total
        smallest = min(smallest, low)
    return smallest


absolute_sums = kernel(_absolute_sums, allocates=False)


def _choose_units(totals, smallest, layout):
    """Find the units of `layout` for what `absolute_sums` found; sums stay below 2**61, or that less the count's bits.

    Returns 0, or 1 if a value is not finite, or 2 if a hessian is negative.
    """
    last = layout.n_outputs + layout.n_hessians - 1
    for c in range(totals.shape[0]):
        # infinity and NaN both end up in the sum of absolute values, so that one test finds them
        if not np.isfinite(totals[c]):
            return 1
        # 61 of 64 bits: one is the sign, two are spare for what rounding adds; the counting word has its count below
        layout.units[c] = unit_for(totals[c], 61 - (layout.count_bits if c == last else 0))
    return 2 if smallest < 0.0 else 0


choose_units = kernel(_choose_units, allocates=False)


def _write_words(gradients, hessians, rows, packed, layout):
    """Write the gradients (n, K) and hessians (n, P) of `rows` to words (n, W)."""
    n_outputs, last, one = gradients.shape[1], gradients.shape[1] + hessians.shape[1] - 1, np.int64(1)
    for c in range(packed.shape[1]):
        values = gradients[:, c] if c < n_outputs else hessians[:, min(c, last) - n_outputs]
        # times the inverse: units are powers of two, so that it is exact and a multiplication
        inverse = 1.0 / layout.units[c]
        shift, more = (np.int64(layout.count_bits), one) if c == last else (np.int64(0), np.int64(0))
        for r in rows:
            # rounded to nearest, so that errors of many rows cancel rather than pile up
            packed[r, c] = (np.int64(np.rint(values[r] * inverse)) << shift) + more if c <= last else 0


write_words = kernel(_write_words, allocates=False)


def _pack_rows(gradients, hessians, rows, packed, layout):
    """Write the gradients and hessians of `rows` to words, and find the units of `layout`.

    Returns 0, or as `choose_units`.
    """
    # each sum gives way to its unit
    wrong = choose_units(layout.units, absolute_sums(gradients, hessians, rows, layout.units), layout)
    if wrong != 1:
        write_words(gradients, hessians, rows, packed, layout)
    return wrong


pack_rows = kernel(_pack_rows, allocates=False)


def _gather_packed(packed, rows, ordered, total):
    """Copy the words of `rows` to `ordered`, row after row, and write their sums to `total` (W,)."""
    total[:] = 0
    for i in range(rows.shape[0]):
        for c in range(packed.shape[1]):
            word = packed[rows[i], c]
            ordered[i, c] = word
            # the node's sums on the way: its rows are read here anyway
            total[c] += word


gather_packed = kernel(_gather_packed, allocates=False)


def _packed_value(packed, layout, c):
    """Return what word c of a row or sum stands for."""
    word = packed[c]
    if c == layout.n_outputs + layout.n_hessians - 1:
        word >>= layout.count_bits
    return np.float64(word) * layout.units[c]


packed_value = kernel(_packed_value, allocates=False)


def _packed_count(packed, layout):
    """Return the number of rows of a sum."""
    return packed[layout.n_outputs + layout.n_hessians - 1] & ((np.int64(1) << layout.count_bits) - 1)


packed_count = kernel(_packed_count, allocates=False)


def _output_hessian(packed, layout, k):
    """Return the sum of hessians of output k."""
    if layout.n_hessians == 0:
        # no hessians stored: each is 1, and their sum the number of rows
        return np.float64(packed_count(packed, layout))
    return packed_value(packed, layout, layout.n_outputs + (k if layout.n_hessians > 1 else 0))


output_hessian = kernel(_output_hessian, allocates=False)


def _mean_hessian(packed, layout):
    """Return a sum of hessians: the shared one, or their mean over the outputs."""
    n = max(layout.n_hessians, 1)
    value = 0.0
    for k in range(n):
        value += output_hessian(packed, layout, k)
    return value / n


mean_hessian = kernel(_mean_hessian, allocates=False)
