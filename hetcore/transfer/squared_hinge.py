r"""Equation (1) of Multi-KT as it stands: slack variables, their squares, and an intercept that costs nothing.

    min_{w, b, xi}  |w - sum_j beta_j w_j|^2 / 2 + C sum_i zeta_i xi_i^2                                        (1)
    subject to  y_i (w.x_i - b) >= 1 - xi_i,  xi_i >= 0

With s_i = sum_j beta_j (w_j.x_i - b_j), what the sources lend a row, and f = s + K a + b it is the squared hinge loss

    min_{a, b}  a'K a / 2 + sum_i C zeta_i max(0, 1 - y_i f_i)^2

whose Newton step solves the least-squares SVM of the rows with y_i f_i < 1 (Chapelle 2007); steps are halved until the
objective falls, and the end is where those rows stay the same.

Chapelle, O. (2007). Training a support vector machine in the primal. Neural Computation 19.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hetcore.transfer.ls_svm import ls_svm

__all__ = ["squared_hinge_svm"]

MOST_STEPS, LEAST_STEP = 100, 1e-9


def squared_hinge_svm(
    kernel: NDArray, signs: NDArray, costs: NDArray, lent: NDArray | None = None
) -> tuple[NDArray[np.float64], float]:
    """Solve (1) for given beta.

    Parameters
    ----------
    kernel : (n, n) float64
    signs : (n,) float64
        y in {-1, +1}.
    costs : (n,) float64
        C zeta_i, above 0.
    lent : (n,) float64, optional
        s, 0 unless given.

    Returns
    -------
    dual : (n,) float64
        a.
    intercept : float
        b, to be added.
    """
    start = np.zeros(len(signs)) if lent is None else lent
    point = np.zeros(len(signs) + 1)
    wrong = signs * start < 1.0
    for _ in range(MOST_STEPS):
        point, settled = _stepped(
            point, _goal(kernel, signs, costs, start, wrong), kernel, signs=signs, costs=costs, start=start
        )
        before, wrong = wrong, signs * _scores(kernel, point, start) < 1.0
        if settled or (wrong == before).all():
            break
    return point[:-1], float(point[-1])


def _scores(kernel: NDArray, point: NDArray, start: NDArray) -> NDArray[np.float64]:
    return start + kernel @ point[:-1] + point[-1]


def _goal(kernel: NDArray, signs: NDArray, costs: NDArray, start: NDArray, wrong: NDArray) -> NDArray[np.float64]:
    """Return where the Newton step leads: duals, 0 of rows beyond the margin, and last the intercept."""
    goal = np.zeros(len(signs) + 1)
    rows = np.flatnonzero(wrong)
    if rows.size:
        given = (signs - start)[rows, None]
        solved, intercept, _ = ls_svm(kernel[np.ix_(rows, rows)], given, 2.0 * costs[rows])
        goal[rows], goal[-1] = solved[:, 0], intercept[0]
    return goal


def _stepped(
    point: NDArray, goal: NDArray, kernel: NDArray, signs: NDArray, costs: NDArray, start: NDArray
) -> tuple[NDArray[np.float64], bool]:
    """Return the point a step towards the goal that lowers the objective, and whether there is none."""

    def objective(at: NDArray) -> float:
        short = np.maximum(0.0, 1.0 - signs * _scores(kernel, at, start))
        return 0.5 * float(at[:-1] @ kernel @ at[:-1]) + float(costs @ short**2)

    here, step = objective(point), 1.0
    while step > LEAST_STEP:
        tried = point + step * (goal - point)
        if objective(tried) < here:
            return tried, False
        step *= 0.5
    return point, True
