"""Equation (1) of Antunes et al. (2019) with its slack variables and constraints, by a general solver; plain loops."""

import numpy as np
from scipy.optimize import minimize


def equation_1(X, y, C, zeta, given):
    """Return (w, b) of least |w - given|^2 / 2 + C sum zeta xi^2, subject to y (w.x - b) >= 1 - xi and xi >= 0."""
    n, d = X.shape

    def cost(v):
        return 0.5 * ((v[:d] - given) ** 2).sum() + C * (zeta * v[d + 1 :] ** 2).sum()

    def slope(v):
        return np.concatenate([v[:d] - given, [0.0], 2.0 * C * zeta * v[d + 1 :]])

    margins = np.hstack([y[:, None] * X, -y[:, None], np.eye(n)])
    constraints = [
        {"type": "ineq", "fun": lambda v: margins @ v - 1.0, "jac": lambda v: margins},
        {"type": "ineq", "fun": lambda v: v[d + 1 :], "jac": lambda v: np.eye(n, d + 1 + n, d + 1)},
    ]
    start = np.concatenate([given, [0.0], 1.0 + np.abs(X @ given)])
    found = minimize(cost, start, jac=slope, constraints=constraints, options={"maxiter": 500, "ftol": 1e-13})
    return found.x[:d], found.x[d]


def left_out_error(kernel, y, C):
    """Return the leave-one-out error of a least-squares SVM, fitted anew without each row."""
    wrong = 0
    for i in range(len(y)):
        rest = [k for k in range(len(y)) if k != i]
        m = len(rest)
        system = np.ones((m + 1, m + 1))
        system[:m, :m] = kernel[np.ix_(rest, rest)] + np.eye(m) / C
        system[m, m] = 0.0
        solved = np.linalg.solve(system, np.append(y[rest], 0.0))
        wrong += y[i] * (kernel[i, rest] @ solved[:m] + solved[m]) <= 0
    return wrong / len(y)
