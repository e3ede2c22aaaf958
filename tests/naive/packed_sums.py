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


def pack_rows(gradients, hessians, rows, packed, layout):
    given = np.hstack([gradients, hessians]).astype(float)
    if not np.isfinite(given[rows]).all():
        return 1
    for c in range(packed.shape[1]):
        last = c == given.shape[1] - 1
        if c >= given.shape[1]:
            packed[rows, c], layout.units[c] = 0, 1.0
            continue
        layout.units[c] = unit_for(np.abs(given[rows, c]).sum(), 61 - layout.count_bits if last else 61)
        exact = np.rint(given[rows, c] / layout.units[c]).astype(np.int64)
        packed[rows, c] = exact * 2**layout.count_bits + 1 if last else exact
    return 2 if (hessians[rows] < 0).any() else 0


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
