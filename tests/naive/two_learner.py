"""2WL and 2WL2O written from the paper's text alone (section 3.2, Algorithms 1 and 2): plain loops over rows.

Weak learners are classes with fit(X, W) and predict(X), one for each modality. The steps are searched in the box
[0, 1]^2 by any function of the risk along them: search(risk_of_two_steps) -> (eps, delta).
"""

from __future__ import annotations

import numpy as np


def unit(k, M):
    """y^k: the k-th unit vector."""
    vector = np.zeros(M)
    vector[k] = 1.0
    return vector


def loss(y, f):
    """L(y, f(x)) = sum_k exp(-1/2 <f(x), y - y^k>)."""
    M = len(f)
    return sum(np.exp(-0.5 * f @ (unit(y, M) - unit(k, M))) for k in range(M))


def risk(ys, fs):
    """R(f) = 1/n sum_i L(y_i, f(x_i))."""
    return sum(loss(y, f) for y, f in zip(ys, fs)) / len(ys)


def w(y, f):
    """(1): 1/2 exp(-1/2 <f, y>) sum_k (y - y^k) exp(1/2 <f, y^k>)."""
    M = len(f)
    total = sum((unit(y, M) - unit(k, M)) * np.exp(0.5 * f @ unit(k, M)) for k in range(M))
    return 0.5 * np.exp(-0.5 * f @ unit(y, M)) * total


def w_tilde(y, f):
    """(5): sum_k (y - y^k) (exp(-1/2 <f, y - y^k>))^(1/2)."""
    M = len(f)
    return sum((unit(y, M) - unit(k, M)) * np.sqrt(np.exp(-0.5 * f @ (unit(y, M) - unit(k, M)))) for k in range(M))


def w_hat(y, f):
    """Below (5): exp(-1/2 <f, y>) sum_k ||y - y^k||^2 exp(1/2 <f, y^k>)."""
    M = len(f)
    total = sum(np.sum((unit(y, M) - unit(k, M)) ** 2) * np.exp(0.5 * f @ unit(k, M)) for k in range(M))
    return np.exp(-0.5 * f @ unit(y, M)) * total


def algorithm_1(X1, X2, y, M, N, learners, search):
    """Return f^N at the training rows, and the steps of each round."""
    f, steps = np.zeros((len(y), M)), []
    for _ in range(N):
        target = np.array([w(c, row) for c, row in zip(y, f)])
        g = learners[0]().fit(X1, target).predict(X1)
        h = learners[1]().fit(X2, target).predict(X2)
        eps, delta = search(lambda e, d: risk(y, f + e * g + d * h))  # noqa: B023 - used before the next round
        f = f + eps * g + delta * h
        steps.append((eps, delta))
    return f, steps


def algorithm_2(X1, X2, y, M, N1, N2, learners, search):
    """Return f^N1 at the training rows, and the steps of each round."""
    f, taken = np.zeros((len(y), M)), []
    for _ in range(N1):
        direction = np.array([w(c, row) for c, row in zip(y, f)])
        tilde = np.array([w_tilde(c, row) for c, row in zip(y, f)])
        eps, delta = [0.1], [0.1]
        g, h, R = [], [], []
        for j in range(N2 + 1):
            e, d = eps[j], delta[j]
            seven = e * direction - e**2 / 4 * tilde - e * d / 2 * direction
            eight = d * direction - d**2 / 4 * tilde - e * d / 2 * direction
            g.append(learners[0]().fit(X1, seven).predict(X1))
            h.append(learners[1]().fit(X2, eight).predict(X2))
            e, d = search(lambda e, d: risk(y, f + e * g[-1] + d * h[-1]))  # noqa: B023 - as above
            eps.append(e)
            delta.append(d)
            R.append(risk(y, f + e * g[j] + d * h[j]))
        star = int(np.argmin(R))
        f = f + eps[star] * g[star] + delta[star] * h[star]
        taken.append((eps[star], delta[star]))
    return f, taken
