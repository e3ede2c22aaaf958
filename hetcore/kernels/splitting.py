"""The best split of a node from the histograms of its columns.

With sums G_k, H_k of gradients and hessians over a node and GL_k, HL_k over its left part, l the l2 penalty, a_k = HL_k + l,
b_k = HR_k + l and s_k = a_k + b_k = H_k + 2 l, the fall of the loss (XGBoost, Chen & Guestrin 2016, eq. 7, without its 1/2) is

    gain = sum_k GL_k^2 / a_k + GR_k^2 / b_k - G_k^2 / (H_k + l)
         = sum_k D_k^2 s_k / (a_k b_k)  -  sum_k G_k^2 l / ((H_k + l) s_k),      D_k = GL_k - a_k G_k / s_k.

The second form does not cancel, and its last sum belongs to the node. Where all outputs share a hessian, the splits of a node
rank by key = sum_k D_k^2 / (a b), and "better" needs no division: sum_k D_k^2 > best key * a * b. Else key = gain + last sum.
"""

from __future__ import annotations

import numpy as np

from hetcore.kernels.cache import kernel
from hetcore.kernels.layout import BIN, KEY, MISSING_LEFT

UNKNOWN = 2  # `missing_left` of a split that met no missing row
_NOISE = 1e-24  # gain over G^2 / H that rounding alone can make of equal means
_TINY = 1e-30  # hessian sums below this are none


def _output_sums(total, problem, k):
    """Return a node's sums of gradients and hessians of output k, in real units."""
    if problem.count_bits > 0:
        count = total[0] & ((np.int64(1) << problem.count_bits) - 1)
        return np.float64(total[0] >> problem.count_bits) * problem.units[0], np.float64(count)
    at = problem.n_outputs + (k if problem.n_hessians > 1 else 0)
    return np.float64(total[k]) * problem.units[k], np.float64(total[at]) * problem.units[at]


output_sums = kernel(_output_sums)


def _node_count(total, problem):
    """Return a node's number of rows."""
    if problem.count_bits > 0:
        return total[0] & ((np.int64(1) << problem.count_bits) - 1)
    return total[problem.n_outputs + problem.n_hessians]


node_count = kernel(_node_count)


def _node_terms(total, problem, params, slopes):
    """Return (scale, penalty, floor): gain = scale * key - penalty, and the key that a split must exceed.

    `slopes` (2, W), zeros, receives G_k / s_k in the units of its word, and the square of that unit.
    """
    shared = problem.n_hessians <= 1
    scale, penalty, score = 1.0, 0.0, 0.0
    for k in range(problem.n_outputs):
        gradient, hessian = output_sums(total, problem, k)
        s = max(hessian + 2.0 * params.l2, _TINY)
        slopes[0, k] = gradient / s / problem.units[k]
        slopes[1, k] = problem.units[k] * problem.units[k]
        part = gradient * gradient / max(hessian + params.l2, _TINY)
        score += part
        penalty += part * params.l2 / s
        if shared:
            scale = s
    return scale, penalty, (penalty + params.min_gain + _NOISE * score) / scale


node_terms = kernel(_node_terms)


def _scan_packed(histogram, total, problem, params, slope, left, best):
    """Improve `best` by the splits of a packed histogram; `left` (1,) holds the rows that go left before bin 0."""
    bits, word = problem.count_bits, left[0]
    mask = (np.int64(1) << bits) - 1
    n = total[0] & mask
    fewest = max(np.int64(params.min_samples_leaf), np.int64(np.ceil(params.min_child_weight)))
    square = problem.units[0] * problem.units[0]
    key, at = best[KEY] / square, -1
    for b in range(histogram.shape[0]):
        word += histogram[b, 0]
        count = word & mask
        if count < fewest:
            continue
        if n - count < fewest:
            break
        a, other = count + params.l2, (n - count) + params.l2
        d = np.float64(word >> bits) - slope * a
        if d * d > key * (a * other):
            key, at = d * d / (a * other), b
    if at >= 0:
        best[KEY], best[BIN] = key * square, at
    return at >= 0


scan_packed = kernel(_scan_packed)


def _deviation(left, slopes, squares, a):
    """Return the sum over words of square * (left - slope * a)^2."""
    s, t, u, v = 0.0, 0.0, 0.0, 0.0
    for c in range(0, left.shape[0], 4):
        d, e = left[c] - slopes[c] * a, left[c + 1] - slopes[c + 1] * a
        f, g = left[c + 2] - slopes[c + 2] * a, left[c + 3] - slopes[c + 3] * a
        s += squares[c] * d * d
        t += squares[c + 1] * e * e
        u += squares[c + 2] * f * f
        v += squares[c + 3] * g * g
    return (s + t) + (u + v)


deviation = kernel(_deviation)


def _deviation_each(left, total, slopes, problem, l2):
    """Return sum_k D_k^2 s_k / (a_k b_k), each output with its own hessian."""
    value = 0.0
    for k in range(problem.n_outputs):
        unit = problem.units[problem.n_outputs + k]
        a = left[problem.n_outputs + k] * unit + l2
        s = total[problem.n_outputs + k] * unit + 2.0 * l2
        d = (left[k] - slopes[k] * a) * problem.units[k]
        if a > _TINY and s - a > _TINY:
            value += d * d * s / (a * (s - a))
    return value


deviation_each = kernel(_deviation_each)


def _mean_hessian(words, problem):
    """Return a sum of hessians: shared, or their mean over the outputs."""
    first = problem.n_outputs
    if problem.n_hessians <= 1:
        return words[first] * problem.units[first]
    value = 0.0
    for k in range(problem.n_hessians):
        value += words[first + k] * problem.units[first + k]
    return value / problem.n_hessians


mean_hessian = kernel(_mean_hessian)


def _scan_wide(histogram, total, problem, params, slopes, left, best):
    """Improve `best` by the splits of a wide histogram; `left` (W,) holds the rows that go left before bin 0."""
    count_at = problem.n_outputs + problem.n_hessians
    n, hessian = total[count_at], mean_hessian(total, problem)
    lightest = max(params.min_child_weight, _TINY)
    squares = slopes[1]
    key, at = best[KEY], -1
    for b in range(histogram.shape[0]):
        for c in range(0, left.shape[0], 4):
            left[c] += histogram[b, c]
            left[c + 1] += histogram[b, c + 1]
            left[c + 2] += histogram[b, c + 2]
            left[c + 3] += histogram[b, c + 3]
        weight = mean_hessian(left, problem)
        if left[count_at] < params.min_samples_leaf or weight < lightest:
            continue
        if n - left[count_at] < params.min_samples_leaf or hessian - weight < lightest:
            break
        if problem.n_hessians > 1:
            value = deviation_each(left, total, slopes[0], problem, params.l2)
        else:
            value = deviation(left, slopes[0], squares, weight + params.l2)
            value /= (weight + params.l2) * (hessian - weight + params.l2)
        if value > key:
            key, at = value, b
    if at >= 0:
        best[KEY], best[BIN] = key, at
    return at >= 0


scan_wide = kernel(_scan_wide)


def _scan_column(histogram, missing, total, problem, params, slopes, left, best):
    """Improve `best` by the splits of one column of a node.

    Parameters
    ----------
    histogram : (n_bins, W) int64
    missing, total : (W,) int64
        Sums over the column's missing rows and over the node.
    slopes : (2, W) float64
        G_k / s_k of the node, and the squared units of the gradients' words, zero elsewhere.
    left : (W,) int64
        Room for the running sums.
    best : (4,) float64
        Key, column, bin and side of the missing rows of the best split so far; the column is the caller's to set.

    Returns
    -------
    bool
        Whether `best` changed.
    """
    better = False
    n_missing = node_count(missing, problem)
    for side in range(2 if n_missing > 0 else 1):
        for c in range(left.shape[0]):
            left[c] = missing[c] if side == 1 else 0
        if problem.count_bits > 0:
            found = scan_packed(histogram, total, problem, params, slopes[0, 0], left, best)
        else:
            found = scan_wide(histogram, total, problem, params, slopes, left, best)
        if found:
            best[MISSING_LEFT] = side if n_missing > 0 else UNKNOWN
            better = True
    return better


scan_column = kernel(_scan_column)
