"""Weights of views, and sums of views by weights.

The root of sum_i exp(-loss_i / z) = 1 is the temperature that makes exponential weights sum to one.
"""

from __future__ import annotations

import numpy as np

from hetcore.kernels.cache import kernel


def _log_temperature(losses):
    """Return log z for losses > 0, at least two, by a safeguarded Newton step on s(u) = log sum_i exp(-loss_i e^-u).

    s rises in u; its root lies between log(smallest / log p) and log(largest / log p).

    Parameters
    ----------
    losses : (p,) float64
    """
    # a loop, for NumPy's min and max take longer to compile than all the rest
    least, greatest = np.inf, 0.0
    for i in range(losses.size):
        loss = losses[i]
        least, greatest = min(least, loss), max(greatest, loss)
    # all losses as the least, or as the greatest, give exactly these roots: z lies between them
    low = np.log(least / np.log(losses.size)) - 1e-9
    high = np.log(greatest / np.log(losses.size)) + 1e-9
    u = 0.5 * (low + high)
    for _ in range(200):
        total, slope = 0.0, 0.0
        for i in range(losses.size):
            a = losses[i] * np.exp(-u)
            # w and a share the exponential, of which Newton needs both
            w = np.exp(-a)
            total += w
            slope += w * a
        if total > 1.0:
            high = u
        else:
            low = u
        step = np.log(total) * total / slope if slope > 0.0 and total > 0.0 else np.inf
        # the smallest step that a float64 of this size can make
        if min(high - low, abs(step)) < 1e-15 * max(1.0, abs(u)):
            break
        # Newton where it stays inside, else the middle: it can't run away where the slope is nearly flat
        u = u - step if low < u - step < high else 0.5 * (low + high)
    return u


log_temperature = kernel(_log_temperature)


def _sum_views(predicted, prior, used, parts, rows, out):
    """Write prior + sum_i parts_i (said_i - prior) over some views to some rows.

    Parameters
    ----------
    predicted : (v, n, k) float64
    prior : (k,) float64
    used : (u,) int64
        Which views.
    parts : (u, m) float64
        By which each counts, by row.
    rows : (m,) int64
    out : (n, k) float64
    """
    for j in range(rows.shape[0]):
        r = rows[j]
        for c in range(prior.shape[0]):
            total = 0.0
            for i in range(used.shape[0]):
                total += parts[i, j] * (predicted[used[i], r, c] - prior[c])
            out[r, c] = prior[c] + total


sum_views = kernel(_sum_views, allocates=False)
