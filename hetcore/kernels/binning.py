"""From float columns to uint8 bins: thresholds at quantiles, then a search per value."""

from __future__ import annotations

import numpy as np

from hetcore.kernels.cache import kernel
from hetcore.kernels.layout import MISSING_BIN

_BLOCK = 512  # rows whose values stay near while each column in turn is read across them


def _between(low, high):
    """Return a float32 t with low <= t < high, their middle where float32 has one."""
    # halves are added, not the sum halved: two large float32 would overflow
    middle = np.float32(low / np.float32(2.0) + high / np.float32(2.0))
    if low <= middle and middle < high:
        return middle
    return low


between = kernel(_between)


def _run_length(values, i):
    """Return how many values from place i on equal the one there."""
    j = i
    while j < values.shape[0] and values[j] == values[i]:
        j += 1
    return j - i


run_length = kernel(_run_length)


def _survey_runs(values, max_bins):
    """Return how many values differ, how many of them fill a bin alone, and how many rows the others have."""
    m, n_distinct, n_heavy, n_light, i = values.shape[0], 0, 0, 0, 0
    while i < m:
        run = run_length(values, i)
        n_distinct += 1
        # a value that fills a bin's share alone gets its own: quantiles would cut at it several times and waste bins
        if run * max_bins >= m:
            n_heavy += 1
        else:
            n_light += run
        i += run
    return n_distinct, n_heavy, n_light


survey_runs = kernel(_survey_runs)


def _find_thresholds(values, max_bins, out):
    """Cut sorted values into at most `max_bins` bins of nearly equal counts, never between equal values.

    A value of at least m / max_bins rows is heavy and fills a bin; the others share the remaining bins, each of which
    closes where it is nearest to an equal share of the rows left, or before a heavy value if it is half full. With at
    most `max_bins` distinct values, each has its bin. (LightGBM's rule but for the nearest instead of the next value.)

    Parameters
    ----------
    values : (m,) float32
        Sorted, without NaN.
    max_bins : int
    out : (254,) float32
        Receives the thresholds: a value v is in the bin numbered by how many thresholds are below v.

    Returns
    -------
    int
        Number of thresholds.
    """
    m, n_cuts, in_bin, i = values.shape[0], 0, 0, 0
    n_distinct, n_heavy, rest = survey_runs(values, max_bins)
    buffer, run = max(max_bins - n_heavy, 1), run_length(values, 0)
    share = rest / buffer
    while i + run < m and n_cuts < max_bins - 1:
        following = run_length(values, i + run)
        heavy, heavy_next = run * max_bins >= m, following * max_bins >= m
        in_bin += run
        rest -= 0 if heavy else run
        # closed where that is nearer to a full share than with the next run; a heavy one gets its own bin
        full = 2 * in_bin >= share if heavy_next else in_bin + 0.5 * following >= share
        # few different values: each keeps a bin of its own, so that no split is lost to binning
        if heavy or full or n_distinct <= max_bins:
            out[n_cuts] = between(values[i + run - 1], values[i + run])
            n_cuts += 1
            in_bin = 0
            buffer -= 0 if heavy else 1
            # what is left is shared out anew, so that one overfull bin does not leave the last ones empty
            share = rest / max(buffer, 1)
        i += run
        run = following
    return n_cuts


find_thresholds = kernel(_find_thresholds)


def _bin_values(X, thresholds, n_bins, out):
    """Write the bin of each value: how many of its column's thresholds are below it.

    Parameters
    ----------
    X : (n, d) float32
        NaN is missing.
    thresholds : (d, 256) float32
        Sorted, padded with inf.
    n_bins : (d,) int32
    out : (d, n) uint8
        Receives bins; `MISSING_BIN` for NaN.
    """
    values, at = np.empty(_BLOCK, np.float32), np.empty(_BLOCK, np.int32)
    for first in range(0, X.shape[0], _BLOCK):
        m = min(_BLOCK, X.shape[0] - first)
        for f in range(X.shape[1]):
            cuts, half = thresholds[f], 128
            # starts at the first power of two that may count: a column of three bins takes two steps, not eight
            while half > n_bins[f] - 1:
                half >>= 1
            # the column once, side by side, so that a step of the search is vector code over all values
            for i in range(m):
                values[i] = X[first + i, f]
                at[i] = 0
            while half > 0:
                # no branch: which way a value goes can't be guessed; a comparison with NaN is false
                for i in range(m):
                    at[i] += half if cuts[at[i] + half - 1] < values[i] else 0
                half >>= 1
            for i in range(m):
                out[f, first + i] = MISSING_BIN if np.isnan(values[i]) else at[i]


bin_values = kernel(_bin_values)
