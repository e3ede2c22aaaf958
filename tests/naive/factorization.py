"""Twins of `hetcore.kernels.factorization`: the same steps in float64, a vector at a time."""

import numpy as np


def _products(table, rows):
    """Return for each row of an entry the product of the others' rows, and the sum over all."""
    each = [np.prod([table[other] for other in rows[:m] + rows[m + 1 :]], axis=0) for m in range(len(rows))]
    return each, float(np.prod([table[row] for row in rows], axis=0).sum())


def run_epoch(codes, values, starts, order, factors, rates, penalties, centers, shrinkage, totals):
    totals[:] = 0.0
    for block in order:
        for i in range(starts[block], starts[block + 1]):
            rows = [int(code) for code in codes[i]]
            totals += _visit(rows, float(values[i]), factors, rates, penalties, centers, shrinkage)


def _visit(rows, value, factors, rates, penalties, centers, shrinkage):
    others, fitted = _products(factors.factors, rows)
    deviating, added = _products(factors.deviations, rows)
    error = value - factors.biases[rows].sum() - fitted
    variance = rates.base_variance + added
    weight = rates.mean_variance / variance
    pull, strength = weight * error, weight if rates.prior_is_weighted > 0 else 1.0
    centers = centers if len(rows) == 3 else np.zeros_like(centers)
    apart = [factors.factors[row] - centers[m] for m, row in enumerate(rows)]
    for m, row in enumerate(rows):
        _move_factors(factors, row, pull * others[m] - strength * penalties[row] * apart[m], rates.learning_rate)
        bias_penalty = penalties[row] if rates.bias_regularisation < 0 else rates.bias_regularisation
        gradient = pull - strength * bias_penalty * factors.biases[row]
        factors.bias_sums[row] += gradient**2
        factors.biases[row] += rates.learning_rate * gradient / np.sqrt(factors.bias_sums[row])
    if rates.deviation_rate > 0:
        slope = 0.5 * (1 - error**2 / variance) / variance
        for m, row in enumerate(rows):
            _move_deviations(factors, row, slope * deviating[m], shrinkage[row], rates)
    return np.array([error**2, error**2 / variance + np.log(variance), 1 / variance])


def _move_factors(factors, row, gradient, rate):
    sums = factors.factor_sums
    if sums.shape[1] > 1:
        sums[row] += gradient**2
        factors.factors[row] += rate * gradient / np.sqrt(sums[row])
    else:
        sums[row, 0] += (gradient**2).mean() if gradient.size else 0.0
        factors.factors[row] += rate * gradient / np.sqrt(sums[row, 0])


def _move_deviations(factors, row, slope, shrinkage, rates):
    values, sums = factors.deviations[row].copy(), factors.deviation_sums
    gradient = slope + shrinkage * (rates.stiffness * (values - rates.level) + rates.decay)
    if sums.shape[1] == values.size and factors.factor_sums.shape[1] > 1:
        sums[row] += gradient**2
        factors.deviations[row] = np.maximum(0, values - rates.deviation_rate * gradient / np.sqrt(sums[row]))
    else:
        factors.deviations[row] = np.maximum(0, values - rates.deviation_rate / np.sqrt(sums[row, 0]) * gradient)
        sums[row, 0] += (gradient**2).mean()


def predict_entries(codes, biases, factors, deviations, base_variance, fitted, variances):
    for i, rows in enumerate(codes):
        fitted[i] = biases[rows].sum() + np.prod(factors[rows], axis=0).sum()
        variances[i] = base_variance + np.prod(deviations[rows], axis=0).sum()


def printed_epoch(X, y, mu, U, V, u, v, P, Q, lam, lam_deviation, delta, rate, deviation_rate, tiny):
    """Return the tables after an epoch of projected stochastic gradient ascent of (16), AdaGrad from sums of `tiny`.

    X (n, 2) in the order of the visits, users from 0 on and items from 0 on; each visit brings its share of the priors,
    so that an epoch has them once for each code.
    """
    tables = [np.array(each, float) for each in (U, V, u, v, P, Q)]
    U, V, u, v, P, Q = tables
    sums = [np.full(each.shape, tiny) for each in tables]
    n_i, n_j = np.bincount(X[:, 0], minlength=len(U)), np.bincount(X[:, 1], minlength=len(V))
    for (i, j), value in zip(X, y):
        e = value - U[i] @ V[j] - u[i] - v[j] - mu  # (11)
        s = P[i] @ Q[j] + delta  # (12)
        slope = 0.5 * (e**2 / s**2 - 1.0 / s)  # of (15) by s
        up = (
            (i, e / s * V[j] - lam / n_i[i] * U[i]), (j, e / s * U[i] - lam / n_j[j] * V[j]),
            (i, e / s - lam / n_i[i] * u[i]), (j, e / s - lam / n_j[j] * v[j]),
            (i, slope * Q[j] - lam_deviation / n_i[i]), (j, slope * P[i] - lam_deviation / n_j[j]),
        )  # fmt: skip
        for table, total, (row, g), own in zip(tables, sums, up, [rate] * 4 + [deviation_rate] * 2):
            total[row] += g**2
            table[row] += own * g / np.sqrt(total[row])
        P[i], Q[j] = np.maximum(P[i], 0.0), np.maximum(Q[j], 0.0)
    return tables
