"""Least-squares SVMs in closed form, their leave-one-out residuals, and the cost of least leave-one-out error."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

__all__ = ["COSTS", "balance", "best_cost", "left_out_residuals", "ls_svm"]

COSTS = (0.0001, 0.001, 0.01, 0.1, 1.0, 10.0)


def ls_svm(kernel: NDArray, targets: NDArray, costs: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Solve least-squares SVMs with a shared kernel and unpenalised intercepts.

    Parameters
    ----------
    kernel : (n, n) float64
    targets : (n, K) float64
    costs : (n,) float64
        C zeta_i, above 0.

    Returns
    -------
    dual : (n, K) float64
    intercept : (K,) float64
    diagonal : (n,) float64
        Of P: dual / diagonal is the leave-one-out residual.
    """
    n = len(kernel)
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = kernel
    system[np.arange(n), np.arange(n)] += 1.0 / costs
    # the row of the intercept, which has no penalty
    system[n, n] = 0.0
    inverse = _inverse(system)
    solved = inverse[:, :n] @ targets
    return solved[:n], solved[n], np.diag(inverse)[:n].copy()


def _inverse(system: NDArray) -> NDArray[np.float64]:
    """Return the inverse; that of a slightly stiffer system where costs vanish beside a kernel of large numbers."""
    try:
        return np.linalg.inv(system)
    except np.linalg.LinAlgError:
        # a kernel of equal rows is singular: a little more on the diagonal, and it is not
        rows = np.arange(len(system) - 1)
        system[rows, rows] *= 1.0 + 1e-9
        system[rows, rows] += 1e-9 * np.abs(system).max()
        return np.linalg.inv(system)


def left_out_residuals(solved: NDArray, diagonal: NDArray, given: NDArray) -> NDArray[np.float64]:
    """Return by how much the other rows miss each row's values `given` (n, q); all of it where there is no other row.

    The duals (n, q) divided by the diagonal (n,) of the inverse of the LS-SVM's matrix, which is 0 for an only row.
    """
    # a row that nothing is left of has no residual to divide
    solvable = diagonal > np.finfo(float).tiny
    return np.where(solvable[:, None], solved / np.where(solvable, diagonal, 1.0)[:, None], given)


def balance(signs: NDArray, balanced: bool) -> NDArray[np.float64]:
    """Return zeta (n,): 1 each, or such that both signs weigh n / 2 together."""
    positive = (signs > 0).mean()
    # one sign alone has nothing to balance
    if not balanced or positive in (0.0, 1.0):
        return np.ones(len(signs))
    return np.where(signs > 0, 0.5 / positive, 0.5 / (1.0 - positive))


def best_cost(problems: Iterable[tuple[NDArray, NDArray]], balanced: bool, unit: float = 1.0) -> float:
    """Return the C of `COSTS` of least leave-one-out error, a mean over problems; the least of equal ones.

    Parameters
    ----------
    problems : iterable of (kernel (n, n), signs (n,))
        Of each source and class: Multi-KT's C is "chosen via cross-validation on the source data" (section 4.1).
    balanced : bool
        Whether both signs count alike.
    unit : float, default=1
        2 where C stands before the sum of squares, 1 where C / 2 does.
    """
    errors = [[_left_out_error(kernel, signs, unit * C, balanced) for C in COSTS] for kernel, signs in problems]
    return COSTS[int(np.argmin(np.mean(errors, axis=0)))] if errors else 1.0


def _left_out_error(kernel: NDArray, signs: NDArray, C: float, balanced: bool) -> float:
    solved, _, diagonal = ls_svm(kernel, signs[:, None], C * balance(signs, balanced))
    left_out = signs - left_out_residuals(solved, diagonal, signs[:, None])[:, 0]
    return float((left_out * signs <= 0).mean())
