"""Twins of `hetcore.kernels.packed_sums`."""

import math

import numpy as np


def unit_for(total, bits):
    if total <= 0:
        return 1.0
    unit = 2.0 ** math.floor(math.log2(total) - bits - 2)
    while total / unit >= 2.0**bits:
        unit *= 2
    return unit


def absolute_sum(values, rows, c):
    chosen = values[rows, c].astype(float)
    return np.abs(chosen).sum(), chosen.min(initial=np.inf)


def absolute_sums(gradients, hessians, rows, totals):
    given = np.hstack([gradients, hessians])[rows].astype(float)
    totals[:] = 0
    totals[: given.shape[1]] = np.abs(given).sum(axis=0)
    return min(hessians[rows].min(initial=0.0), 0.0)


def choose_units(totals, smallest, layout):
    if not np.isfinite(totals).all():
        return 1
    for c, total in enumerate(totals):
        layout.units[c] = unit_for(total, 61 - layout.count_bits if c == _last(layout) else 61)
    return 2 if smallest < 0 else 0


def write_words(gradients, hessians, rows, packed, layout):
    given = np.hstack([gradients, hessians]).astype(float)
    packed[rows] = 0
    for c in range(given.shape[1]):
        exact = np.rint(given[rows, c] / layout.units[c]).astype(np.int64)
        packed[rows, c] = exact * 2**layout.count_bits + 1 if c == given.shape[1] - 1 else exact


def pack_rows(gradients, hessians, rows, packed, layout):
    totals = np.zeros(packed.shape[1])
    wrong = choose_units(totals, absolute_sums(gradients, hessians, rows, totals), layout)
    if wrong != 1:
        write_words(gradients, hessians, rows, packed, layout)
    return wrong


def gather_packed(packed, rows, ordered, total):
    ordered[: len(rows)] = packed[rows]
    total[:] = packed[rows].sum(axis=0)


def _last(layout):
    return layout.n_outputs + layout.n_hessians - 1


def packed_value(packed, layout, c):
    word = int(packed[c]) // 2**layout.count_bits if c == _last(layout) else int(packed[c])
    return float(word) * layout.units[c]


def packed_count(packed, layout):
    return int(packed[_last(layout)]) % 2**layout.count_bits


def output_hessian(packed, layout, k):
    if layout.n_hessians == 0:
        return float(packed_count(packed, layout))
    return packed_value(packed, layout, layout.n_outputs + (k if layout.n_hessians > 1 else 0))


def mean_hessian(packed, layout):
    return float(np.mean([output_hessian(packed, layout, k) for k in range(max(layout.n_hessians, 1))]))
