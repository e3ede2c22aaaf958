"""One epoch of stochastic gradient descent on a factorization of two or three modes, with or without a deviation.

Entry (a, b[, c]) with value y, codes of all modes counted through one table of N rows:

    f = B_a + B_b [+ B_c] + sum_d U_ad U_bd [U_cd]
    s = Delta + sum_k P_ak P_bk [P_ck],  P >= 0
    weight = mean s / s,  pull = weight (y - f),  strength = weight, or 1
    U_ad += rate_a (pull U_bd [U_cd] - strength lambda_a U_ad),  B_a += rate (pull - strength lambda_b B_a)
    P_ak <- max(0, P_ak - rate (ds/dP (1/s - (y - f)^2 / s^2) / 2 + shrinkage_a (stiffness (P_ak - P0) + lambda')))

No deviation is K = 0 columns of P, Delta = 1 and mean s = 1: then every weight is 1. Rates are AdaGrad's, the learning
rate over the root of the squared gradients so far: one sum for each row, of the mean over its cells, as LIBMF has it
(Chin et al. 2015), or a sum for each cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hetcore.kernels.cache import kernel

__all__ = ["Factors", "Rates", "predict_entries", "run_epoch"]

# float32 constants: a Python number would make every product a float64, of which a vector holds half as many
ONE = np.float32(1.0)
ZERO = np.float32(0.0)
HALF = np.float32(0.5)
TWO = np.float32(2.0)


class Factors(NamedTuple):
    """What a fit changes; all float32, one row per code of any mode.

    Attributes
    ----------
    biases : (N,)
    factors : (N, D)
    deviations : (N, K)
        Not negative; K = 0 without a deviation.
    bias_sums, factor_sums, deviation_sums : (N,), (N, D) or (N, 1), (N, K) or (N, 1)
        Squared gradients so far, above 0; one column for a rate a row, as many as the table for a rate a cell.
    """

    biases: np.ndarray
    factors: np.ndarray
    deviations: np.ndarray
    bias_sums: np.ndarray
    factor_sums: np.ndarray
    deviation_sums: np.ndarray


class Rates(NamedTuple):
    """What an epoch keeps to; all float32.

    Attributes
    ----------
    learning_rate, deviation_rate : float
        The latter 0: deviations stay as they are.
    bias_regularisation : float
        lambda_b of every bias; below 0: that of the row's factors.
    base_variance : float
        Delta, above 0.
    mean_variance : float
        The variance of an entry of weight 1.
    level, stiffness : float
        P0, the value to which deviations are pulled, and how strongly, times a row's shrinkage.
    decay : float
        lambda', the rate of their exponential prior, times a row's shrinkage.
    prior_is_weighted : float
        Above 0: an entry's weight counts for its share of the prior of its factors and biases, too.
    """

    learning_rate: np.float32
    deviation_rate: np.float32
    bias_regularisation: np.float32
    base_variance: np.float32
    mean_variance: np.float32
    level: np.float32
    stiffness: np.float32
    decay: np.float32
    prior_is_weighted: np.float32


def _product(table, a, b, c):
    """Return sum_d table[a, d] table[b, d] table[c, d]; c < 0: without the third."""
    x, y, total = table[a], table[b], ZERO
    # two loops rather than one with a test inside: only the plain one becomes vector code
    if c < 0:
        for d in range(x.shape[0]):
            total += x[d] * y[d]
        return total
    z = table[c]
    for d in range(x.shape[0]):
        total += x[d] * y[d] * z[d]
    return total


product = kernel(_product, allocates=False, reorders=True)


def _move_pair(table, sums, a, b, product_, pull, strength, rate, penalties):
    """Step along the gradient of the factors of one entry of two modes, at one rate a row.

    The squared gradients are had from the squares of the rows and their product, which need not wait for the error.
    """
    # the mean over the cells: the rate must not hang on how many factors there are
    x, y, share = table[a], table[b], ONE / np.float32(max(1, table.shape[1]))
    squares_x, squares_y = ZERO, ZERO
    for d in range(x.shape[0]):
        squares_x += x[d] * x[d]
        squares_y += y[d] * y[d]
    penalty_x, penalty_y = strength * penalties[a], strength * penalties[b]
    # the squared gradient of all cells by three sums, without computing the gradients: sum (pull q - penalty p)^2
    sum_x = pull * pull * squares_y + penalty_x * (penalty_x * squares_x - TWO * pull * product_)
    sum_y = pull * pull * squares_x + penalty_y * (penalty_y * squares_y - TWO * pull * product_)
    # rounding can make a sum of squares that is nearly 0 negative, and its root NaN
    sums[a, 0] += max(ZERO, sum_x) * share
    sums[b, 0] += max(ZERO, sum_y) * share
    rate_x, rate_y = rate / np.sqrt(sums[a, 0]), rate / np.sqrt(sums[b, 0])
    # shrinking and stepping in one pass over the row, which is read and written once
    keep_x, keep_y = ONE - rate_x * penalty_x, ONE - rate_y * penalty_y
    rate_x, rate_y = rate_x * pull, rate_y * pull
    for d in range(x.shape[0]):
        # both of the old values: the second must not see the first one's step
        p, q = x[d], y[d]
        x[d] = keep_x * p + rate_x * q
        y[d] = keep_y * q + rate_y * p


move_pair = kernel(_move_pair, allocates=False, reorders=True)


def _move_triple(table, sums, a, b, c, pull, strength, rate, penalties, centers):
    """Step along the gradient of the factors of one entry of three modes, at one rate a row."""
    x, y, z, share = table[a], table[b], table[c], ONE / np.float32(max(1, table.shape[1]))
    penalty_x, penalty_y, penalty_z = strength * penalties[a], strength * penalties[b], strength * penalties[c]
    center_x, center_y, center_z = centers[0], centers[1], centers[2]
    sum_x, sum_y, sum_z = ZERO, ZERO, ZERO
    for d in range(x.shape[0]):
        p, q, r = x[d], y[d], z[d]
        g = pull * q * r - penalty_x * (p - center_x[d])
        h = pull * p * r - penalty_y * (q - center_y[d])
        k = pull * p * q - penalty_z * (r - center_z[d])
        sum_x += g * g
        sum_y += h * h
        sum_z += k * k
    sums[a, 0] += sum_x * share
    sums[b, 0] += sum_y * share
    sums[c, 0] += sum_z * share
    rate_x, rate_y, rate_z = rate / np.sqrt(sums[a, 0]), rate / np.sqrt(sums[b, 0]), rate / np.sqrt(sums[c, 0])
    for d in range(x.shape[0]):
        # the gradients once more: keeping them would need a buffer, which costs more than three products
        p, q, r = x[d], y[d], z[d]
        x[d] = p + rate_x * (pull * q * r - penalty_x * (p - center_x[d]))
        y[d] = q + rate_y * (pull * p * r - penalty_y * (q - center_y[d]))
        z[d] = r + rate_z * (pull * p * q - penalty_z * (r - center_z[d]))


move_triple = kernel(_move_triple, allocates=False, reorders=True)


def _move_cell(table, sums, row, d, gradient, rate):
    """Step one cell along its gradient, at its own rate."""
    sums[row, d] += gradient * gradient
    table[row, d] += rate * gradient / np.sqrt(sums[row, d])


move_cell = kernel(_move_cell, allocates=False, reorders=True)


def _move_cells(table, sums, a, b, c, pull, strength, rate, penalties):
    """Step along the gradient of the factors of one entry, at one rate a cell; c < 0: two modes."""
    for d in range(table.shape[1]):
        p, q, r = table[a, d], table[b, d], table[c, d] if c >= 0 else ONE
        move_cell(table, sums, a, d, pull * q * r - strength * penalties[a] * p, rate)
        move_cell(table, sums, b, d, pull * p * r - strength * penalties[b] * q, rate)
        if c >= 0:
            move_cell(table, sums, c, d, pull * p * q - strength * penalties[c] * r, rate)


move_cells = kernel(_move_cells, allocates=False, reorders=True)


def _move_bias(biases, sums, row, pull, rate, regularisation):
    gradient = pull - regularisation * biases[row]
    sums[row] += gradient * gradient
    biases[row] += rate * gradient / np.sqrt(sums[row])


move_bias = kernel(_move_bias, allocates=False, reorders=True)


def _stepped(value, sums, row, k, gradient, rate):
    """Return a deviation after a step against its gradient at its own rate, projected to P >= 0."""
    sums[row, k] += gradient * gradient
    # projected after the step: the paper's P >= 0 makes each variance at least the base
    return max(ZERO, value - rate * gradient / np.sqrt(sums[row, k]))


stepped = kernel(_stepped, allocates=False, reorders=True)


def _move_deviation_cells(table, sums, a, b, c, slope, shrinkage, rates):
    """Step the deviations of one entry against the loss at one rate a cell; c < 0: two modes."""
    rate, level, stiffness, decay = rates.deviation_rate, rates.level, rates.stiffness, rates.decay
    for k in range(table.shape[1]):
        p, q, r = table[a, k], table[b, k], table[c, k] if c >= 0 else ONE
        g = slope * q * r + shrinkage[a] * (stiffness * (p - level) + decay)
        h = slope * p * r + shrinkage[b] * (stiffness * (q - level) + decay)
        table[a, k] = stepped(p, sums, a, k, g, rate)
        table[b, k] = stepped(q, sums, b, k, h, rate)
        if c >= 0:
            g = slope * p * q + shrinkage[c] * (stiffness * (r - level) + decay)
            table[c, k] = stepped(r, sums, c, k, g, rate)


move_deviation_cells = kernel(_move_deviation_cells, allocates=False, reorders=True)


def _deviation_rate(sums, row, rate):
    return rate / np.sqrt(sums[row, 0]) if row >= 0 else ZERO


deviation_rate = kernel(_deviation_rate, allocates=False, reorders=True)


def _move_deviations(table, sums, a, b, c, slope, shrinkage, rates):
    """Step the deviations of one entry against the loss, whose slope by s is given, and project them to P >= 0."""
    share, level, stiffness, decay = ONE / np.float32(table.shape[1]), rates.level, rates.stiffness, rates.decay
    rate_a, rate_b = deviation_rate(sums, a, rates.deviation_rate), deviation_rate(sums, b, rates.deviation_rate)
    rate_c = deviation_rate(sums, c, rates.deviation_rate)
    for k in range(table.shape[1]):
        p, q, r = table[a, k], table[b, k], table[c, k] if c >= 0 else ONE
        g = slope * q * r + shrinkage[a] * (stiffness * (p - level) + decay)
        h = slope * p * r + shrinkage[b] * (stiffness * (q - level) + decay)
        # the rate is of the sum before this entry, the sum grows afterwards: one pass over the row
        table[a, k] = max(ZERO, p - rate_a * g)
        table[b, k] = max(ZERO, q - rate_b * h)
        sums[a, 0] += g * g * share
        sums[b, 0] += h * h * share
        if c >= 0:
            g = slope * p * q + shrinkage[c] * (stiffness * (r - level) + decay)
            table[c, k] = max(ZERO, r - rate_c * g)
            sums[c, 0] += g * g * share


move_deviations = kernel(_move_deviations, allocates=False, reorders=True)


def _run_epoch(codes, values, starts, order, factors, rates, penalties, centers, shrinkage, totals):
    """Visit every entry once and step along its gradient.

    Parameters
    ----------
    codes : (n, 2) or (n, 3) int32
        Rows of the tables; entries of a block side by side.
    values : (n,) float32
    starts : (blocks + 1,) int64
        Where the entries of each block begin.
    order : (blocks,) int64
        Blocks in the order of the visit.
    factors : Factors
        Changed in place.
    rates : Rates
    penalties : (N,) float32
        lambda of each row's factors.
    centers : (3, D) float32
        What the factors of three modes are pulled to, a row per mode; those of two modes are pulled to 0.
    shrinkage : (N,) float32
        How much of `rates.stiffness` and `rates.decay` each visit of a row brings to its deviations.
    totals : (3,) float64
        Receives the sums over the entries, each as it was before its step, of squared error, of log-likelihood loss
        (error^2 / s + ln s) and of 1 / s.
    """
    biases, table, deviations, bias_sums, sums, deviation_sums = factors
    rate, bias_regularisation = rates.learning_rate, rates.bias_regularisation
    squares, losses, inverses, running = 0.0, 0.0, 0.0, 1.0
    # block by block in a shuffled order: entries of a block share rows that are in the cache
    for block in order:
        for i in range(starts[block], starts[block + 1]):
            a, b = codes[i, 0], codes[i, 1]
            c = codes[i, 2] if codes.shape[1] == 3 else np.int32(-1)
            product_ = product(table, a, b, c)
            error = values[i] - biases[a] - biases[b] - product_
            error = error - biases[c] if c >= 0 else error
            variance = rates.base_variance
            if deviations.shape[1] > 0:
                # the base and the product are both positive, so no entry has a variance of 0
                variance += product(deviations, a, b, c)
            inverse = ONE / variance
            weight = rates.mean_variance * inverse
            pull, strength = weight * error, weight if rates.prior_is_weighted > ZERO else ONE
            if sums.shape[1] > 1:
                move_cells(table, sums, a, b, c, pull, strength, rate, penalties)
            elif c < 0:
                move_pair(table, sums, a, b, product_, pull, strength, rate, penalties)
            else:
                move_triple(table, sums, a, b, c, pull, strength, rate, penalties, centers)
            # below 0 stands for "as the rows": one number says which, so that no further argument is needed
            of_rows = bias_regularisation < ZERO
            move_bias(biases, bias_sums, a, pull, rate, strength * (penalties[a] if of_rows else bias_regularisation))
            move_bias(biases, bias_sums, b, pull, rate, strength * (penalties[b] if of_rows else bias_regularisation))
            if c >= 0:
                penalty = penalties[c] if of_rows else bias_regularisation
                move_bias(biases, bias_sums, c, pull, rate, strength * penalty)
            scaled = error * error * inverse
            if rates.deviation_rate > ZERO:
                # half the slope of ln s + (y - f)^2 / s
                slope = HALF * (ONE - scaled) * inverse
                if deviation_sums.shape[1] == deviations.shape[1] and sums.shape[1] > 1:
                    move_deviation_cells(deviations, deviation_sums, a, b, c, slope, shrinkage, rates)
                else:
                    move_deviations(deviations, deviation_sums, a, b, c, slope, shrinkage, rates)
            squares += error * error
            losses += scaled
            inverses += inverse
            # the product of variances, its logarithm taken now and then: no logarithm for each entry
            running *= variance
            # before the product leaves what a float64 holds
            if not 1e-200 < running < 1e200:
                losses, running = losses + np.log(running), 1.0
    totals[0], totals[1], totals[2] = squares, losses + np.log(running), inverses


run_epoch = kernel(_run_epoch, allocates=False, reorders=True)


def _predict_entries(codes, biases, factors, deviations, base_variance, fitted, variances):
    """Predict entries.

    Parameters
    ----------
    codes : (n, 2) or (n, 3) int32
    biases, factors, deviations : (N,), (N, D), (N, K) float32
    base_variance : float32
    fitted, variances : (n,) float64
        Receive f and s.
    """
    for i in range(codes.shape[0]):
        a, b = codes[i, 0], codes[i, 1]
        c = codes[i, 2] if codes.shape[1] == 3 else np.int32(-1)
        fitted[i] = biases[a] + biases[b] + (biases[c] if c >= 0 else ZERO) + product(factors, a, b, c)
        variances[i] = base_variance + (product(deviations, a, b, c) if deviations.shape[1] > 0 else ZERO)


predict_entries = kernel(_predict_entries, allocates=False, reorders=True)
