"""The best split of a node from the histograms of its columns.

With sums G_k, H_k of gradients and hessians over a node and GL_k, HL_k over its left part, l the l2 penalty, a_k =
HL_k + l, b_k = HR_k + l and s_k = a_k + b_k = H_k + 2 l, the fall of the loss (XGBoost, Chen & Guestrin 2016, eq. 7,
without 1/2) is

    gain = sum_k GL_k^2 / a_k + GR_k^2 / b_k - G_k^2 / (H_k + l)
         = sum_k D_k^2 s_k / (a_k b_k)  -  sum_k G_k^2 l / ((H_k + l) s_k),      D_k = GL_k - a_k G_k / s_k.

The second form does not cancel, and its last sum, the penalty, belongs to the node. Where all outputs share a
hessian, the splits of a node rank by key = sum_k D_k^2 / (a b), which needs no division: sum_k D_k^2 > best key * a *
b. Elsewhere key = gain + penalty.

The cuts of a column are worked through in several short loops over all of them, which the compiler turns into vector
code.
"""

from __future__ import annotations

import numpy as np

from hetcore.kernels.cache import kernel
from hetcore.kernels.layout import ALL_KNOWN, BIN, COLUMN, KEY, MISSING_LEFT, NodeTerms
from hetcore.kernels.packed_sums import mean_hessian, output_hessian, packed_count, packed_value

UNKNOWN = 2  # `missing_left` of a split that met no missing row
_NOISE = 1e-24  # gain over G^2 / H that rounding alone can make of equal means
_TINY = 1e-30  # a hessian sum that is none
_NEARLY = 1.0 - 1e-14  # a product that rounding alone may have made the smaller one


def _node_terms(total, layout, params, outputs):
    """Return what the splits of a node have in common; `outputs` (2, K) receives G_k / s_k and s_k."""
    scale, penalty, score = 1.0, 0.0, 0.0
    for k in range(layout.n_outputs):
        gradient, hessian = packed_value(total, layout, k), output_hessian(total, layout, k)
        # never 0: a node whose hessians vanish must not divide by it, and its key is 0 then anyway
        s = max(hessian + 2.0 * params.l2, _TINY)
        outputs[0, k] = gradient / s
        outputs[1, k] = s
        part = gradient * gradient / max(hessian + params.l2, _TINY)
        score += part
        penalty += part * params.l2 / s
        if layout.n_hessians <= 1:
            scale = s
    fewest, lightest = params.min_samples_leaf, max(params.min_child_weight, _TINY)
    hessian = mean_hessian(total, layout)
    most, heaviest = packed_count(total, layout) - fewest, hessian - lightest
    # what a split must beat: the penalty that all have, the least gain, and what rounding makes of equal means
    floor = (penalty + params.min_gain + _NOISE * score) / scale
    return NodeTerms(fewest, most, lightest, heaviest, hessian, params.l2, scale, penalty, floor)


node_terms = kernel(_node_terms, allocates=False, shared=True)


def _running_sums(histogram, start, c, sums):
    """Write to `sums` (n_bins,) word c left of a cut after each bin; `start` (W,) is left of them all."""
    word = start[c]
    for b in range(histogram.shape[0]):
        word += histogram[b, c]
        sums[b] = word


running_sums = kernel(_running_sums, allocates=False, inlined=True)


def _any_better(gradients, shift, slope, sums, layout, node, key):
    """Tell whether a single output has a legal cut better than `key`; `gradients`, `sums` (n_bins,) are its words.

    One vector loop: it dismisses nearly all columns.
    """
    bits, better = layout.count_bits, 0
    unit, heft, mask = layout.units[0], 1.0, (np.int64(1) << bits) - 1
    move, keep = 0, mask
    if layout.n_hessians > 0:
        # without hessians the counting word is the weight
        move, keep, heft = bits, np.int64(-1), layout.units[1]
    for b in range(sums.shape[0]):
        count, weight = sums[b] & mask, np.float64((sums[b] >> move) & keep) * heft
        a = weight + node.l2
        d = np.float64(gradients[b] >> shift) * unit - slope * a
        # bitwise, not "and": no branch, so that the loop becomes vector code
        legal = (count >= node.fewest) & (count <= node.most) & (weight >= node.lightest) & (weight <= node.heaviest)
        better += legal & (d * d > key * (a * (node.hessian - weight + node.l2)))
    return better > 0


any_better = kernel(_any_better, allocates=False, inlined=True)


def _may_improve(histogram, start, node, layout, outputs, scratch, best):
    """Tell whether a cut of this column can beat `best`: exact and fast for one output, true for more."""
    # of several outputs the quick test would form the very sums of the search
    if layout.n_outputs > 1:
        return True
    n, last = histogram.shape[0], layout.n_hessians
    running_sums(histogram, start, last, scratch.packed[0, :n])
    if last == 0:
        packed = scratch.packed[0, :n]
        return any_better(packed, layout.count_bits, outputs[0, 0], packed, layout, node, best[KEY])
    running_sums(histogram, start, 0, scratch.packed[1, :n])
    return any_better(scratch.packed[1, :n], 0, outputs[0, 0], scratch.packed[0, :n], layout, node, best[KEY])


may_improve = kernel(_may_improve, allocates=False, inlined=True)


def _filled_bins(histogram, last, mask, bins):
    """Write to `bins` the bins that hold rows; return how many. A cut after an empty bin repeats the one before."""
    n = 0
    for b in range(histogram.shape[0]):
        bins[n] = b
        # empty bins are overwritten by the next: a cut behind one is the cut before it
        n += (histogram[b, last] & mask) != 0
    return n


filled_bins = kernel(_filled_bins, allocates=False)


def _left_words(histogram, bins, start, words):
    """Write to `words` (W, 264) what is left of the cuts after each of `bins` (j,); `start` (W,) is left of all."""
    width, n = histogram.shape[1], bins.shape[0]
    # four at a time, whose sums stay in registers
    whole = width - width % 4
    for c in range(0, whole, 4):
        one, two, three, four = start[c], start[c + 1], start[c + 2], start[c + 3]
        for j in range(n):
            at = bins[j]
            one += histogram[at, c]
            two += histogram[at, c + 1]
            three += histogram[at, c + 2]
            four += histogram[at, c + 3]
            words[c, j] = one
            words[c + 1, j] = two
            words[c + 2, j] = three
            words[c + 3, j] = four
    for c in range(whole, width):
        word = start[c]
        for j in range(n):
            word += histogram[bins[j], c]
            words[c, j] = word


left_words = kernel(_left_words, allocates=False)


def _cut_weights(packed, layout, weights):
    """Write the hessians left of the cuts, which all outputs share, to `weights` (j,): of the counting words (j,)."""
    mask = (np.int64(1) << layout.count_bits) - 1
    for j in range(weights.shape[0]):
        if layout.n_hessians == 0:
            weights[j] = np.float64(packed[j] & mask)
        else:
            weights[j] = np.float64(packed[j] >> layout.count_bits) * layout.units[layout.n_outputs]


cut_weights = kernel(_cut_weights, allocates=False)


def _cut_products(sums, weights, mask, node, products):
    """Write a * b of each cut to `products` (j,): infinite where a side has too few rows or too little weight."""
    for j in range(sums.shape[0]):
        count, weight = sums[j] & mask, weights[j]
        legal = (count >= node.fewest) & (count <= node.most) & (weight >= node.lightest) & (weight <= node.heaviest)
        products[j] = (weight + node.l2) * (node.hessian - weight + node.l2) if legal else np.inf


cut_products = kernel(_cut_products, allocates=False)


def _add_squares(sums, shift, unit, slope, l2, weights, values):
    """Add D_k^2 of each cut to `values` (j,), for the words `sums` (j,) of output k and the hessians `weights` (j,)."""
    for j in range(sums.shape[0]):
        d = np.float64(sums[j] >> shift) * unit - slope * (weights[j] + l2)
        values[j] += d * d


add_squares = kernel(_add_squares, allocates=False)


def _add_shared(words, node, layout, outputs, weights, values):
    """Add to `values` (j,) the squares D_k^2 of all outputs, which share a hessian, `weights` (j,)."""
    n, last = weights.shape[0], layout.n_outputs + layout.n_hessians - 1
    for k in range(layout.n_outputs):
        shift = layout.count_bits if k == last else 0
        add_squares(words[k, :n], shift, layout.units[k], outputs[0, k], node.l2, weights, values)


add_shared = kernel(_add_shared, allocates=False)


def _add_quotients(gradients, hessians, shift, units, share, terms, weights, values):
    """Add D_k^2 s_k / (a_k b_k) of each cut to `values` (j,), and to `weights` (j,) the hessians' part in the mean.

    Parameters
    ----------
    gradients, hessians : (j,) int64
        Words of output k, its hessians above `shift` bits.
    units : (float, float)
        Of both.
    share : float
        Unit of the hessians in the mean.
    terms : (l2, slope, s)
        The penalty, G_k / s_k and s_k.
    """
    (unit, other), (l2, slope, s) = units, terms
    for j in range(gradients.shape[0]):
        hessian = np.float64(hessians[j] >> shift)
        weights[j] += hessian * share
        a = l2 + hessian * other
        d = np.float64(gradients[j]) * unit - slope * a
        # a side without weight in this output: its share of the gain is 0, not 0 / 0
        product = a * (s - a)
        values[j] += d * d * s / product if product > _TINY else 0.0


add_quotients = kernel(_add_quotients, allocates=False)


def _add_own(words, node, layout, outputs, weights, values):
    """Add the quotients of all outputs to `values` (j,), and the mean of their own hessians to `weights` (j,)."""
    n, last = weights.shape[0], layout.n_outputs + layout.n_hessians - 1
    for k in range(layout.n_outputs):
        at = layout.n_outputs + k
        shift, units = layout.count_bits if at == last else 0, (layout.units[k], layout.units[at])
        terms, share = (node.l2, outputs[0, k], outputs[1, k]), layout.units[at] / layout.n_hessians
        add_quotients(words[k, :n], words[at, :n], shift, units, share, terms, weights, values)


add_own = kernel(_add_own, allocates=False)


def _best_cut(values, products, key):
    """Return the best of values / products above `key`, and its cut (-1: none)."""
    better, at = 0, -1
    for j in range(values.shape[0]):  # vector code, which spares most columns the next loop
        # compared by products: a division in each cut would cost more than all the rest
        better += values[j] > key * products[j]
    for j in range(values.shape[0] if better > 0 else 0):
        value = values[j] / products[j]
        if value > key:
            key, at = value, j
    return key, at


best_cut = kernel(_best_cut, allocates=False)


def _scan_words(n, node, layout, outputs, scratch, best):
    """Improve `best` by the cuts after n bins, `scratch.bins`, whose words on the left are in `scratch.packed`."""
    last, mask = layout.n_outputs + layout.n_hessians - 1, (np.int64(1) << layout.count_bits) - 1
    words, weights = scratch.packed, scratch.reals[0, :n]
    values, products = scratch.reals[1, :n], scratch.reals[2, :n]
    values[:] = 0.0
    if layout.n_hessians > 1:
        weights[:] = 0.0
        add_own(words, node, layout, outputs, weights, values)
    else:
        cut_weights(words[last, :n], layout, weights)
        add_shared(words, node, layout, outputs, weights, values)
    cut_products(words[last, :n], weights, mask, node, products)
    # quotients are divided already
    for j in range(n if layout.n_hessians > 1 else 0):
        products[j] = 1.0 if products[j] < np.inf else np.inf
    key, at = best_cut(values, products, best[KEY])
    if at >= 0:
        best[KEY], best[BIN] = key, scratch.bins[at] if at < n - 1 else ALL_KNOWN
    return at >= 0


scan_words = kernel(_scan_words, allocates=False)


def _scan_cuts(histogram, start, node, layout, outputs, scratch, best):
    """Improve `best` by the cuts of one column when the words `start` (W,), its missing rows or none, go left."""
    if not may_improve(histogram, start, node, layout, outputs, scratch, best):
        return False
    last, mask = layout.n_outputs + layout.n_hessians - 1, (np.int64(1) << layout.count_bits) - 1
    n = filled_bins(histogram, last, mask, scratch.bins)
    left_words(histogram, scratch.bins[:n], start, scratch.packed)
    return scan_words(n, node, layout, outputs, scratch, best)


scan_cuts = kernel(_scan_cuts, allocates=False, inlined=True)


def _scan_column(histogram, missing, node, layout, outputs, scratch, best):
    """Improve `best` by the splits of one column of a node.

    Parameters
    ----------
    histogram : (n_bins, W) int64
    missing : (W,) int64
        Sums over the column's missing rows.
    node : NodeTerms
    layout : PackedLayout
    outputs : (2, K) float64
        G_k / s_k and s_k of the node.
    scratch : Scratch
    best : (4,) float64
        Key, column, bin and side of the missing rows of the best split so far; the column is the caller's to set.

    Returns
    -------
    bool
        Whether `best` changed.
    """
    n_missing, better = packed_count(missing, layout), False
    # the second time with the missing on the left as well: a value's absence may tell as much as the value
    for side in range(1 + (n_missing > 0)):
        if scan_cuts(histogram, missing if side else scratch.zeros, node, layout, outputs, scratch, best):
            # none missing in training: which side is better can't be known, the majority decides at the split
            best[MISSING_LEFT] = side if n_missing > 0 else UNKNOWN
            better = True
    return better


scan_column = kernel(_scan_column, allocates=False, inlined=True)


def _scan_columns(histograms, offsets, total, layout, params, scratch, best):
    """Write the best split of a node by any column to `best`, the first among equals; return its gain.

    Parameters
    ----------
    histograms : (bins, W) int64
    offsets : (c + 1,) int64
        Where each column's bins begin; its missing rows come after them.
    total : (W,) int64
    layout, params, scratch
    best : (4,) float64
        As of `scan_column`; the column is -1 where none gains.
    """
    node = node_terms(total, layout, params, scratch.outputs[0])
    best[KEY] = node.floor
    best[COLUMN] = -1.0
    for q in range(offsets.shape[0] - 1):
        first, last = offsets[q], offsets[q + 1] - 1
        if scan_column(histograms[first:last], histograms[last], node, layout, scratch.outputs[0], scratch, best):
            best[COLUMN] = q
    return node.scale * best[KEY] - node.penalty


scan_columns = kernel(_scan_columns, allocates=False)


def _scan_single(n, n_missing, node, layout, slope, scratch, best):
    """Do what `scan_sparse` does for a single output, whose `slope` is G / s."""
    words, bits, last = scratch.packed, layout.count_bits, layout.n_hessians
    mask, improved = (np.int64(1) << bits) - 1, False
    shift, move, keep, unit, heft = bits, 0, mask, layout.units[0], 1.0
    if last > 0:
        shift, move, keep, heft = 0, bits, np.int64(-1), layout.units[1]
    for c in range(1 + last):
        for j in range(1, n):
            words[c, j] += words[c, j - 1]
    for side in range(1 + (n_missing > 0)):
        for c in range(side * (1 + last)):
            for j in range(n):
                words[c, j] += words[c, n]
        # nearly all columns are dismissed by vector code
        if not any_better(words[0, :n], shift, slope, words[last, :n], layout, node, best[KEY]):
            continue
        key, at, better = best[KEY], -1, False
        for j in range(n):
            word, packed = words[0, j], words[last, j]
            count, weight = packed & mask, np.float64((packed >> move) & keep) * heft
            a = weight + node.l2
            d = np.float64(word >> shift) * unit - slope * a
            square, product = d * d, a * (node.hessian - weight + node.l2)
            enough = (count >= node.fewest) & (count <= node.most)
            legal = enough & (weight >= node.lightest) & (weight <= node.heaviest)
            # nearly all cuts are dismissed without a division; what is as good but for the last bits is divided
            if legal & (square > key * product * _NEARLY):
                better |= square > best[KEY] * product
                if square / product > key:
                    key, at = square / product, j
        if better & (at >= 0):
            best[KEY], best[BIN] = key, scratch.bins[at] if at < n - 1 else ALL_KNOWN
            best[MISSING_LEFT] = side if n_missing > 0 else UNKNOWN
            improved = True
    return improved


scan_single = kernel(_scan_single, allocates=False, inlined=True)


def _scan_sparse(n, node, layout, outputs, scratch, best):
    """Do what `scan_column` does where only the filled bins are listed, see `histogram.build_sparse`; the same bits.

    Parameters
    ----------
    n : int
        Bins listed, but for the missing one. Their words are used up.
    node, layout, outputs, scratch, best
        As of `scan_column`.
    """
    words, last = scratch.packed, layout.n_outputs + layout.n_hessians - 1
    n_missing = words[last, n] & ((np.int64(1) << layout.count_bits) - 1)
    # vector code pays for several outputs alone
    if layout.n_outputs == 1:
        return scan_single(n, n_missing, node, layout, outputs[0, 0], scratch, best)
    better = False
    for side in range(1 + (n_missing > 0)):
        for c in range(last + 1):
            if side == 0:
                for j in range(1, n):
                    words[c, j] += words[c, j - 1]
            else:
                for j in range(n):
                    words[c, j] += words[c, n]
        if scan_words(n, node, layout, outputs, scratch, best):
            best[MISSING_LEFT] = side if n_missing > 0 else UNKNOWN
            better = True
    return better


scan_sparse = kernel(_scan_sparse, allocates=False, inlined=True)
