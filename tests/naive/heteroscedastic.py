"""HGBM from the paper's text alone: sections 2.3, 2.4 and 3.2.2, two classes or numbers, trees to a depth."""

import numpy as np


def sigma(z):
    return 1.0 / (1.0 + np.exp(-z))


def losses(y, f, classes):
    """Return the loss of each row, its gradient and its second derivative by f: (9) or the square of (5)."""
    if not classes:
        return (y - f) ** 2, -2.0 * (y - f), 2.0 * np.ones_like(f)
    p = sigma(y * f)
    return np.log1p(np.exp(-y * f)), -y * (1.0 - p), p * (1.0 - p)


def divisor(d, alpha, delta):
    """Return alpha sigma(d) + Delta d of (10) and its first and second derivative by d."""
    s = sigma(d)
    return alpha * s + delta, alpha * s * (1.0 - s), alpha * s * (1.0 - s) * (1.0 - 2.0 * s)


def hgbm(X, y, rounds, depth, least, lam, lam_bar, gamma, alpha, delta, classes, omega="leaves"):
    """Return f and d (n,) of the training rows after some rounds of (17), (18)."""
    f, d = np.zeros(len(y)), np.zeros(len(y))
    for _ in range(rounds):
        value, g, h = losses(y, f, classes)
        v, v1, v2 = divisor(d, alpha, delta)
        g_bar = -value * v1 / v**2
        h_bar = np.maximum(value * (2.0 * v1**2 / v**3 - v2 / v**2), 0.0)  # clipped
        if omega == "log":
            g_bar, h_bar = g_bar + v1 / v, (v1 / v) ** 2
        if omega == "rows":
            h_bar, leaf_bar = h_bar + lam_bar, 0.0
        else:
            leaf_bar = lam_bar
        f = f + tree(X, g / v, h / v, np.arange(len(y)), depth, least, lam, gamma)
        d = d + tree(X, g_bar, h_bar, np.arange(len(y)), depth, least, leaf_bar, gamma)
    return f, d


def tree(X, g, h, rows, depth, least, lam, gamma):
    """Return what a tree adds to each row (n,); 0 outside `rows`."""
    added, best, halves = np.zeros(len(g)), 0.0, None
    for column in range(X.shape[1]) if depth else ():
        for threshold in np.unique(X[rows, column])[:-1]:
            low = X[rows, column] <= threshold
            u, v = rows[low], rows[~low]
            fall = gain(g, h, u, v, rows, lam) - gamma
            if min(len(u), len(v)) >= least and fall > best:
                best, halves = fall, (u, v)
    if halves is None:
        added[rows] = -g[rows].sum() / (h[rows].sum() + lam)  # (23)
        return added
    return sum(tree(X, g, h, part, depth - 1, least, lam, gamma) for part in halves)


def gain(g, h, u, v, rows, lam):
    """Return the loss decrease of a split: (24) with the sign of a gain."""
    parts = [g[part].sum() ** 2 / (h[part].sum() + lam) for part in (u, v, rows)]
    return 0.5 * (parts[0] + parts[1] - parts[2])
