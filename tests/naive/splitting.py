"""Twins of `hetcore.kernels.splitting`: the gain in its first form, a cut at a time."""

import numpy as np

from hetcore.kernels.layout import BIN, COLUMN, KEY, MISSING_LEFT, NodeTerms
from tests.naive.packed_sums import mean_hessian, output_hessian, packed_count, packed_value


def node_terms(total, layout, params, outputs):
    G = np.array([packed_value(total, layout, k) for k in range(layout.n_outputs)])
    H = np.array([output_hessian(total, layout, k) for k in range(layout.n_outputs)])
    outputs[1] = np.maximum(H + 2 * params.l2, 1e-30)
    outputs[0] = G / outputs[1]
    score = G**2 / np.maximum(H + params.l2, 1e-30)
    penalty = (score * params.l2 / outputs[1]).sum()
    scale = outputs[1][-1] if layout.n_hessians <= 1 else 1.0
    lightest, hessian = max(params.min_child_weight, 1e-30), mean_hessian(total, layout)
    most = packed_count(total, layout) - params.min_samples_leaf
    floor = (penalty + params.min_gain + 1e-24 * score.sum()) / scale
    return NodeTerms(
        params.min_samples_leaf, most, lightest, hessian - lightest, hessian, params.l2, scale, penalty, floor
    )


def running_sums(histogram, start, c, sums):
    sums[:] = start[c] + np.cumsum(histogram[:, c])


def left_words(histogram, bins, start, words):
    words[:, : len(bins)] = (start + np.cumsum(histogram[bins], axis=0)).T


def filled_bins(histogram, last, mask, bins):
    filled = np.flatnonzero(histogram[:, last] & mask)
    bins[: len(filled)] = filled
    return len(filled)


def cut_weights(packed, layout, weights):
    count, above = packed % 2**layout.count_bits, packed // 2**layout.count_bits
    weights[:] = above * layout.units[layout.n_outputs] if layout.n_hessians else count


def add_squares(sums, shift, unit, slope, l2, weights, values):
    values += ((sums // 2**shift) * unit - slope * (weights + l2)) ** 2


def add_quotients(gradients, hessians, shift, units, share, terms, weights, values):
    hessians = hessians // 2**shift
    l2, slope, s = terms
    left = l2 + hessians * units[1]
    product = left * (s - left)
    legal = product > 1e-30
    values[legal] += ((gradients * units[0] - slope * left) ** 2 * s)[legal] / product[legal]
    weights += hessians * share


def cut_products(sums, weights, mask, node, products):
    count = sums & mask
    legal = (count >= node.fewest) & (count <= node.most) & (weights >= node.lightest) & (weights <= node.heaviest)
    products[:] = np.where(legal, (weights + node.l2) * (node.hessian - weights + node.l2), np.inf)


def best_cut(values, products, key):
    at = -1
    for j in range(len(values)):
        if values[j] / products[j] > key:
            key, at = values[j] / products[j], j
    return key, at


def any_better(gradients, shift, slope, sums, layout, node, key):
    mask = 2**layout.count_bits - 1
    weights = (sums & mask).astype(float)
    if layout.n_hessians:
        weights = (sums // 2**layout.count_bits) * layout.units[1]
    products, values = np.empty(len(sums)), np.zeros(len(sums))
    cut_products(sums, weights, mask, node, products)
    add_squares(gradients, shift, layout.units[0], slope, node.l2, weights, values)
    return bool((values > key * products).any())


def cut_key(left, total, layout, node):
    """Return the key of one cut from its left words, NaN where a side has too few rows or too little weight."""
    right = total - left
    for side in (left, right):
        if packed_count(side, layout) < node.fewest or mean_hessian(side, layout) < node.lightest:
            return np.nan
    gain = 0.0
    for k in range(layout.n_outputs):
        for packed, sign in ((left, 1), (right, 1), (total, -1)):
            gain += sign * packed_value(packed, layout, k) ** 2 / (output_hessian(packed, layout, k) + node.l2)
    return (gain + node.penalty) / node.scale


def scan_cuts(histogram, start, node, layout, outputs, scratch, best):
    total, left, better = scratch.total, start.copy(), False
    for b in range(len(histogram)):
        left += histogram[b]
        key = cut_key(left, total, layout, node)
        if key > best[KEY] * (1 + 1e-12):
            # the missing alone on the right: whatever is known goes left
            best[KEY], best[BIN], better = key, b if histogram[b + 1 :].any() else 254, True
    return better


def scan_column(histogram, missing, node, layout, outputs, scratch, best):
    """As the kernel, but that `scratch.total` (W,) holds the sums over the node."""
    n_missing = packed_count(missing, layout)
    better = scan_cuts(histogram, np.zeros_like(missing), node, layout, outputs, scratch, best)
    if better:
        best[MISSING_LEFT] = 0 if n_missing else 2
    if n_missing and scan_cuts(histogram, missing, node, layout, outputs, scratch, best):
        best[MISSING_LEFT], better = 1, True
    return better


def scan_columns(histograms, offsets, total, layout, params, scratch, best):
    """As the kernel; `scratch` as of `scan_column`."""
    outputs = np.zeros((2, layout.n_outputs))
    node = node_terms(total, layout, params, outputs)
    best[KEY], best[COLUMN] = node.floor, -1
    for q, (first, stop) in enumerate(zip(offsets, offsets[1:])):
        own = histograms[first:stop]
        if scan_column(own[:-1], own[-1], node, layout, outputs, scratch, best):
            best[COLUMN] = q
    return node.scale * best[KEY] - node.penalty
