"""Twins of `hetcore.kernels.binning`."""

import numpy as np


def between(low, high):
    low, high = np.float32(low), np.float32(high)
    with np.errstate(invalid="ignore"):  # -inf + inf
        middle = np.float32(low / np.float32(2) + high / np.float32(2))
    return middle if low <= middle < high else low


def run_length(values, i):
    return int((values == values[i]).sum()) if i < len(values) else 0


def survey_runs(values, max_bins):
    counts = np.unique(values, return_counts=True)[1]
    heavy = counts >= len(values) / max_bins
    return len(counts), int(heavy.sum()), int(counts[~heavy].sum())


def find_thresholds(values, max_bins, out):
    distinct, counts = np.unique(values, return_counts=True)
    heavy = counts >= len(values) / max_bins
    cuts, in_bin, buffer = [], 0, max(max_bins - heavy.sum(), 1)
    share = counts[~heavy].sum() / buffer
    for i in range(len(distinct) - 1):
        in_bin += counts[i]
        full = in_bin >= share / 2 if heavy[i + 1] else in_bin + counts[i + 1] / 2 >= share
        if heavy[i] or full or len(distinct) <= max_bins:
            cuts.append(between(distinct[i], distinct[i + 1]))
            buffer, in_bin = buffer - (not heavy[i]), 0
            share = counts[i + 1 :][~heavy[i + 1 :]].sum() / max(buffer, 1)
        if len(cuts) == max_bins - 1:
            break
    out[: len(cuts)] = cuts
    return len(cuts)


def count_below(value, thresholds, n_cuts):
    return int((thresholds[:n_cuts] < value).sum())


def bin_values(X, thresholds, n_bins, out):
    for f in range(X.shape[1]):
        for i in range(X.shape[0]):
            out[f, i] = 255 if np.isnan(X[i, f]) else count_below(X[i, f], thresholds[f], n_bins[f] - 1)
