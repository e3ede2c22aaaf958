r"""Multi-KT: an SVM on the target that starts from a weighted sum of the sources' models.

    min_{w, b}  |w - sum_j beta_j w_j|^2 / 2 + C/2 sum_i zeta_i (y_i - w.x_i - b)^2

is the problem of Tommasi et al., `loss="squares"`; equation (1) of Antunes et al. has inequalities in the place of
squares, `loss="squared hinge"`, see `hetcore.transfer.squared_hinge`.

The solution of the first is closed. With G = [K + diag(1 / (C zeta)), 1; 1', 0], P = G^-1, f_j(x_i) what source j's
model says of a target row, a' = P [y; 0] and a_j = P [f_j; 0]:

    dual                     a = a' - sum_j beta_j a_j
    leave-one-out            y_i - yhat_i = a_i / P_ii: what the fit without row i says of it, for any beta
    beta                     least sum_i zeta_i max(0, 1 - y_i yhat_i(beta)), beta >= 0, |beta| <= 1: convex

| letter | here |
|---|---|
| beta_j | `beta_` |
| zeta_i | 1, or with `balanced` n / (2 n_+) and n / (2 n_-): both signs count alike |
| yhat_i | "left_out" in the events |

beta is that of the closed form also where (1) is solved with inequalities, as the sources' models and the target's then
are. `C="auto"` is the cost of least leave-one-out error on the sources; the paper says "cross-validation".

Departures: beta is found by 300 steps of projected subgradients, the best kept. The sources' models have the same
kernel and cost. More than two classes: one against the others.

Tommasi, T., Orabona, F., Caputo, B. (2010). Safety in numbers: learning categories from few examples with multi model
knowledge transfer. CVPR. Equation number of Antunes et al. (2019).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.parameters import Flag, Interval, OneOf, param
from hetcore.registry import MemoryNeed, estimator
from hetcore.transfer.estimator import TransferProblem, scored
from hetcore.transfer.kernel_scores import KernelEstimator, KernelScores, kernel_matrix, kernel_width
from hetcore.transfer.ls_svm import balance, best_cost, left_out_residuals, ls_svm
from hetcore.transfer.squared_hinge import squared_hinge_svm

__all__ = ["MultiKTClassifier", "best_beta"]

N_STEPS = 300
SQUARES, HINGE = "squares", "squared hinge"


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
    # no source at first: their sum is left only for something better
    beta = best = np.zeros(lent.shape[1])
    least = np.inf
    for step in range(N_STEPS + 1):
        margin = signs * (signs - own + lent @ beta)
        loss = float((weights * np.maximum(0.0, 1.0 - margin)).sum())
        # better by more than rounding
        if loss < least - 1e-12:
            best, least = beta, loss
        slope = -((weights * signs * (margin < 1.0)) @ lent)
        size = np.linalg.norm(slope)
        if size == 0.0:
            break
        # steps that shrink with the root of their number, as subgradients need
        beta = np.maximum(beta - slope / (size * np.sqrt(step + 1.0)), 0.0)
        # back into the ball, as the paper bounds beta
        beta = beta / max(np.linalg.norm(beta), 1.0)
    return best


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
        self.kernels = [self._kernel(problem.source(j + 1)) for j in range(len(problem.names))]
        self.unit = 2.0 if p["loss"] == HINGE else 1.0  # (1) has C, not C / 2, before its sum
        self.cost = self._cost(signs)
        lent, duals, shifts = self._sources(signs)
        rows = problem.target
        dual = np.zeros_like(signs)
        intercept, self.left_out = np.zeros(signs.shape[1]), np.zeros((len(rows), signs.shape[1]))
        self.beta = np.zeros((len(problem.names), signs.shape[1]))
        kernel = kernel_matrix(problem.X[rows], problem.X[rows], p["kernel"], self.gamma)
        for k in range(signs.shape[1]):
            y, zeta = signs[rows, k], balance(signs[rows, k], p["balanced"])
            given = np.column_stack([y, lent[:, :, k].T])
            solved, constant, diagonal = ls_svm(kernel, given, self.unit * self.cost * zeta)
            residuals = left_out_residuals(solved, diagonal, given)
            # without transfer beta stays 0
            beta = best_beta(residuals[:, 0], residuals[:, 1:], y, zeta) if p["transfer"] else self.beta[:, k]
            # solutions are linear in what is given, so that beta mixes those at hand
            mix = np.append(1.0, -beta)
            dual[rows, k], intercept[k] = solved @ mix, constant @ mix
            if p["loss"] == HINGE:
                dual[rows, k], intercept[k] = squared_hinge_svm(kernel, y, self.cost * zeta, beta @ lent[:, :, k])
            for j, source in enumerate(duals):
                dual[:, k] += beta[j] * source[:, k]
            intercept[k] += beta @ shifts[:, k]
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
            dual = np.zeros_like(signs)
            for k in range(signs.shape[1]):
                dual[rows, k], shifts[j, k] = self._alone(self.kernels[j], signs[rows, k])
            across = kernel_matrix(problem.X[problem.target], problem.X[rows], p["kernel"], self.gamma)
            lent[j] = across @ dual[rows] + shifts[j]
            duals.append(dual)
        return lent, duals, shifts

    def _kernel(self, rows: NDArray) -> NDArray[np.float64]:
        own = self.problem.X[rows]
        return kernel_matrix(own, own, self.params["kernel"], self.gamma)

    def _cost(self, signs: NDArray) -> float:
        """Return C as given, or that of least leave-one-out error on the sources' rows."""
        if not isinstance(self.params["C"], str):
            return float(self.params["C"])
        rows = [self.problem.source(j + 1) for j in range(len(self.kernels))]
        # each source and class is a problem to choose C by: the target's labels are not touched
        problems = [(kernel, signs[own, k]) for kernel, own in zip(self.kernels, rows) for k in range(signs.shape[1])]
        return best_cost(problems, self.params["balanced"], self.unit)

    def _alone(self, kernel: NDArray, signs: NDArray) -> tuple[NDArray, float]:
        """Return duals and intercept of a source's own machine."""
        costs = self.cost * balance(signs, self.params["balanced"])
        if self.params["loss"] == HINGE:
            return squared_hinge_svm(kernel, signs, costs)
        solved, constant, _ = ls_svm(kernel, signs[:, None], costs)
        return solved[:, 0], float(constant[0])


@estimator(MemoryNeed(cell=40, score=100, pair=45))
class MultiKTClassifier(KernelEstimator):
    """Multi-KT (Tommasi et al. 2010): each source's model counts beta_j, by the target's closed-form leave-one-out.

    The problem and its letters are in the docstring of the module. Without sources it is the LS-SVM of the target.

    Columns are taken as they are: standardise them first, for one in a far larger unit alone decides.

    Attributes
    ----------
    classes_ : (K,) array
        Sorted.
    beta_ : dict of str to float
        beta_j by source, a mean over the classes where there are more than two.
    source_weights_ : dict of str to float
        beta_j / (1 + sum of beta): the target's own part counts 1.
    left_out_ : (n_T, 1 or K) float64
        Leave-one-out scores of the target's rows, those of the closed form.
    C_ : float
        The cost of the fit.
    history_ : polars DataFrame
        One row.

    Notes
    -----
    A closed form has no rounds: one `RoundEnd` comes at the end. `source_weights` as in `source_weights_`; detail:
    "metric_name" = "error", "metric" = {"train", "left_out", "held_out"}, "left_out" being the leave-one-out error;
    "beta" = {source: beta_j}; "target_mass" = 1 / (1 + sum of beta).

    References
    ----------
    Tommasi, Orabona, Caputo, "Safety in numbers: learning categories from few examples with multi model knowledge
    transfer", CVPR 2010; Antunes, Bernardino, Smailagic, Siewiorek, "Weighted Multisource Tradaboost", IbPRIA 2019:
    section 3.1, (1).
    """

    _steepness = 2.0

    C: float | str = param(
        1.0,
        Interval(0, ends="()").or_text("auto"),
        'Cost of errors; "auto" is that of least leave-one-out error on the sources, 1 without any.',
    )
    balanced: bool = param(True, Flag(), "Whether both signs count alike however many rows they have.")
    loss: str = param(
        SQUARES, OneOf(SQUARES, HINGE), 'Cost of a row: (y - f)^2, or as printed, (1), max(0, 1 - y f)^2.'
    )
    transfer: bool = param(
        True, Flag(), "Whether sources count; without, all beta_j are 0: the paper's no-transfer SVM."
    )

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
        self.left_out_, self._model, self.C_ = state.left_out, state.model, state.cost
