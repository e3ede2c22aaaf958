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


def fill_words(gradients, hessians, rows, words, reading):
    given = np.hstack([gradients, hessians]).astype(float)
    if not np.isfinite(given[rows]).all():
        return 1
    for c in range(words.shape[1]):
        last = c == given.shape[1] - 1
        if c >= given.shape[1]:
            words[rows, c], reading.units[c] = 0, 1.0
            continue
        reading.units[c] = unit_for(np.abs(given[rows, c]).sum(), 61 - reading.count_bits if last else 61)
        exact = np.rint(given[rows, c] / reading.units[c]).astype(np.int64)
        words[rows, c] = exact * 2**reading.count_bits + 1 if last else exact
    return 2 if (hessians[rows] < 0).any() else 0


def gather_words(words, rows, ordered, total):
    ordered[: len(rows)] = words[rows]
    total[:] = words[rows].sum(axis=0)


def _last(reading):
    return reading.n_outputs + reading.n_hessians - 1


def word_value(words, reading, c):
    word = int(words[c]) // 2**reading.count_bits if c == _last(reading) else int(words[c])
    return float(word) * reading.units[c]


def word_count(words, reading):
    return int(words[_last(reading)]) % 2**reading.count_bits


def output_hessian(words, reading, k):
    if reading.n_hessians == 0:
        return float(word_count(words, reading))
    return word_value(words, reading, reading.n_outputs + (k if reading.n_hessians > 1 else 0))


def mean_hessian(words, reading):
    return float(np.mean([output_hessian(words, reading, k) for k in range(max(reading.n_hessians, 1))]))
