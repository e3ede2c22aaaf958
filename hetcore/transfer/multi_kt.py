r"""Multi-KT: an LS-SVM on the target that starts from a weighted sum of the sources' models.

    min_{w, b}  |w - sum_j beta_j w_j|^2 / 2 + C/2 sum_i zeta_i (y_i - w.x_i - b)^2                               (1)

Its solution is closed. With G = [K + diag(1 / (C zeta)), 1; 1', 0], P = G^-1, f_j(x_i) what source j's model says of a
target row, a' = P [y; 0] and a_j = P [f_j; 0]:

    dual                     a = a' - sum_j beta_j a_j
    leave-one-out            y_i - yhat_i = a_i / P_ii: what the fit without row i says of it, for any beta
    beta                     least sum_i zeta_i max(0, 1 - y_i yhat_i(beta)), beta >= 0, |beta| <= 1: convex

| letter | here |
|---|---|
| beta_j | `beta_` |
| zeta_i | 1, or with `balanced` n / (2 n_+) and n / (2 n_-): both signs count alike |
| yhat_i | "left_out" in the events |

Departures: beta is found by 300 steps of projected subgradients, the best kept. The sources' models are LS-SVMs with
the same kernel and cost. More than two classes: one against the others.

Tommasi, T., Orabona, F., Caputo, B. (2010). Safety in numbers: learning categories from few examples with multi model
knowledge transfer. CVPR. Equation number of Antunes et al. (2019).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.parameters import Flag, param
from hetcore.registry import MemoryNeed, estimator
from hetcore.transfer.estimator import TransferProblem, scored
from hetcore.transfer.kernel_scores import KernelEstimator, KernelScores, kernel_matrix, kernel_width

__all__ = ["MultiKTClassifier", "best_beta", "ls_svm"]

N_STEPS = 300


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
    system[n, n] = 0.0
    inverse = _inverse(system)
    solved = inverse[:, :n] @ targets
    return solved[:n], solved[n], np.diag(inverse)[:n].copy()


def _inverse(system: NDArray) -> NDArray[np.float64]:
    """Return the inverse; that of a slightly stiffer system where costs vanish beside a kernel of large numbers."""
    try:
        return np.linalg.inv(system)
    except np.linalg.LinAlgError:
        rows = np.arange(len(system) - 1)
        system[rows, rows] *= 1.0 + 1e-9
        system[rows, rows] += 1e-9 * np.abs(system).max()
        return np.linalg.inv(system)


def best_beta(own: NDArray, lent: NDArray, signs: NDArray, weights: NDArray) -> NDArray[np.float64]:
    """Return the beta >= 0, |beta| <= 1, of least leave-one-out hinge loss.

    Parameters
    ----------
    own : (n,) float64
        a' / diagonal: leave-one-out residuals without sources.
    lent : (n, p) float64
        a_j / diagonal.
    signs, weights : (n,) float64
        y in {-1, +1}; zeta.

    Returns
    -------
    (p,) float64
    """
    beta = best = np.zeros(lent.shape[1])
    least = np.inf
    for step in range(N_STEPS + 1):
        margin = signs * (signs - own + lent @ beta)
        loss = float((weights * np.maximum(0.0, 1.0 - margin)).sum())
        if loss < least - 1e-12:
            best, least = beta, loss
        slope = -((weights * signs * (margin < 1.0)) @ lent)
        size = np.linalg.norm(slope)
        if size == 0.0:
            break
        beta = np.maximum(beta - slope / (size * np.sqrt(step + 1.0)), 0.0)
        beta = beta / max(np.linalg.norm(beta), 1.0)
    return best


def left_out_residuals(solved: NDArray, diagonal: NDArray, given: NDArray) -> NDArray[np.float64]:
    """Return by how much the other rows miss each row's values `given` (n, q); all of it where there is no other row.

    The duals (n, q) divided by the diagonal (n,) of the inverse of the LS-SVM's matrix, which is 0 for an only row.
    """
    told = diagonal > np.finfo(float).tiny
    return np.where(told[:, None], solved / np.where(told, diagonal, 1.0)[:, None], given)


@dataclass
class State:
    """The closed form, found in one round."""

    problem: TransferProblem
    params: dict[str, Any]
    left_out: NDArray = field(init=False)
    beta: NDArray = field(init=False)

    def round(self) -> bool:
        """Solve; there is nothing to do after it."""
        problem, p = self.problem, self.params
        self.gamma = kernel_width(problem.X, p["gamma"])
        signs = np.column_stack([problem.signs(k) for k in range(problem.n_problems)])
        lent, duals, shifts = self._sources(signs)
        rows = problem.target
        dual = np.zeros_like(signs)
        intercept, self.left_out = np.zeros(signs.shape[1]), np.zeros((len(rows), signs.shape[1]))
        self.beta = np.zeros((len(problem.names), signs.shape[1]))
        kernel = kernel_matrix(problem.X[rows], problem.X[rows], p["kernel"], self.gamma)
        for k in range(signs.shape[1]):
            y, zeta = signs[rows, k], balance(signs[rows, k], p["balanced"])
            given = np.column_stack([y, lent[:, :, k].T])
            solved, constant, diagonal = ls_svm(kernel, given, p["C"] * zeta)
            residuals = left_out_residuals(solved, diagonal, given)
            beta = best_beta(residuals[:, 0], residuals[:, 1:], y, zeta)
            mix = np.append(1.0, -beta)
            dual[rows, k] = solved @ mix
            for j, source in enumerate(duals):
                dual[:, k] += beta[j] * source[:, k]
            intercept[k] = constant @ mix + beta @ shifts[:, k]
            self.left_out[:, k], self.beta[:, k] = y - residuals @ mix, beta
        self.model = KernelScores.used(problem.X, dual, intercept, p["kernel"], self.gamma)
        return True

    def _sources(self, signs: NDArray) -> tuple[NDArray, list[NDArray], NDArray]:
        """Return what the sources say of the target's rows (p, n_T, K), their duals (n, K) and intercepts (p, K)."""
        problem, p = self.problem, self.params
        lent = np.zeros((len(problem.names), len(problem.target), signs.shape[1]))
        duals, shifts = [], np.zeros((len(problem.names), signs.shape[1]))
        for j in range(len(problem.names)):
            rows = problem.source(j + 1)
            own = problem.X[rows]
            kernel = kernel_matrix(own, own, p["kernel"], self.gamma)
            dual = np.zeros_like(signs)
            for k in range(signs.shape[1]):
                costs = p["C"] * balance(signs[rows, k], p["balanced"])
                solved, constant, _ = ls_svm(kernel, signs[rows, k : k + 1], costs)
                dual[rows, k], shifts[j, k] = solved[:, 0], constant[0]
            across = kernel_matrix(problem.X[problem.target], own, p["kernel"], self.gamma)
            lent[j] = across @ dual[rows] + shifts[j]
            duals.append(dual)
        return lent, duals, shifts


def balance(signs: NDArray, balanced: bool) -> NDArray[np.float64]:
    """Return zeta (n,): 1 each, or such that both signs weigh n / 2 together."""
    positive = (signs > 0).mean()
    if not balanced or positive in (0.0, 1.0):
        return np.ones(len(signs))
    return np.where(signs > 0, 0.5 / positive, 0.5 / (1.0 - positive))


@estimator(MemoryNeed(cell=40, score=100, pair=45))
class MultiKTClassifier(KernelEstimator):
    """Multi-KT (Tommasi et al. 2010): each source's model counts beta_j, by the target's closed-form leave-one-out.

    The problem and its letters are in the docstring of the module. Without sources it is the LS-SVM of the target.

    Attributes
    ----------
    classes_ : (K,) array
        Sorted.
    beta_ : dict of str to float
        beta_j by source, a mean over the classes where there are more than two.
    source_weights_ : dict of str to float
        beta_j / (1 + sum of beta): the target's own part counts 1.
    left_out_ : (n_T, 1 or K) float64
        Leave-one-out scores of the target's rows.
    history_ : polars DataFrame
        One row.

    Notes
    -----
    A closed form has no rounds: one `RoundEnd` comes at the end. `source_weights` as in `source_weights_`; detail:
    "metric_name" = "error", "metric" = {"train", "left_out", "held_out"}, "left_out" being the leave-one-out error;
    "beta" = {source: beta_j}; "target_mass" = 1 / (1 + sum of beta).
    """

    _steepness = 2.0

    balanced: bool = param(True, Flag(), "Whether both signs count alike however many rows they have.", keyword=True)

    def _start(self, problem: TransferProblem) -> State:
        return State(problem, self.get_params(deep=False))

    def _view(self, state: State) -> dict[str, Any]:
        problem, beta = state.problem, state.beta.mean(axis=1)
        view = self._scored_view(problem, state.model)
        loss, error = scored(problem.codes[problem.target], self._probabilities(state.left_out))
        view["losses"]["left_out"], view["detail"]["metric"]["left_out"] = loss, error
        share = beta / (1.0 + beta.sum())
        view["source_weights"] = dict(zip(problem.names, share.tolist()))
        view["detail"] |= {"beta": dict(zip(problem.names, beta.tolist())), "target_mass": 1.0 - float(share.sum())}
        return view

    def _finish(self, state: State) -> None:
        view = self._view(state)
        self.source_weights_, self.beta_ = view["source_weights"], view["detail"]["beta"]
        self.left_out_, self._model = state.left_out, state.model
