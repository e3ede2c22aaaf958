"""No transfer: a support vector machine on the target's rows alone."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from hetcore.errors import DataError
from hetcore.registry import MemoryNeed, estimator
from hetcore.transfer.estimator import TransferProblem
from hetcore.transfer.kernel_scores import KernelEstimator, KernelScores, kernel_matrix, kernel_width

__all__ = ["TargetSVM"]

MOST_STEPS = 1_000_000  # of the search for the dual; columns of one scale need some thousands


@dataclass
class State:
    """One support vector machine per class (one for two classes), fitted in one round."""

    problem: TransferProblem
    params: dict[str, Any]

    def round(self) -> bool:
        """Fit; there is nothing to do after it."""
        problem, p, rows = self.problem, self.params, self.problem.target
        own = problem.X[rows]
        gamma = kernel_width(own, p["gamma"])
        kernel = kernel_matrix(own, own, p["kernel"], gamma)
        solved = [machine(kernel, problem.signs(k)[rows], p["C"]) for k in range(problem.n_problems)]
        dual = np.column_stack([dual for dual, _ in solved])
        self.model = KernelScores.used(own, dual, np.array([shift for _, shift in solved]), p["kernel"], gamma)
        return True


def machine(kernel: NDArray, signs: NDArray, C: float) -> tuple[NDArray[np.float64], float]:
    """Return dual (n,) and intercept of an SVM; a constant where all rows have one sign.

    Raises
    ------
    DataError
        If the kernel and C are so large that no solution is found.
    """
    dual = np.zeros(len(signs))
    if (signs == signs[0]).all():
        return dual, float(signs[0])
    fitted = _fitted(kernel, signs, C)
    dual[fitted.support_] = fitted.dual_coef_[0]
    return dual, float(fitted.intercept_[0])


def _fitted(kernel: NDArray, signs: NDArray, C: float) -> SVC:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a bound against a search without end
            return SVC(C=C, kernel="precomputed", max_iter=MOST_STEPS).fit(kernel, signs)
    except ValueError as error:
        raise DataError(
            f"An SVM of C={C:g} finds no solution for columns this large: standardise the columns, or lower C."
        ) from error


@estimator(MemoryNeed(cell=40, score=100, pair=45))
class TargetSVM(KernelEstimator):
    """No transfer: a support vector machine on the target's rows; sources are passed over.

    Columns are taken as they are: standardise them first, for one in a far larger unit alone decides, and where all
    are tiny `C` is too small to learn anything.

    Attributes
    ----------
    classes_ : (K,) array
        Sorted; a class that only sources have is never predicted where another one scores higher.
    source_weights_ : dict of str to float
        0 for each source.
    history_ : polars DataFrame
        One row.

    Notes
    -----
    One `RoundEnd` comes at the end: losses "train" and "held_out" (of eval_set) in nats; detail: "metric_name" =
    "error", "metric" = {"train", "held_out"}, "target_mass" = 1.

    References
    ----------
    Antunes, Bernardino, Smailagic, Siewiorek, "Weighted Multisource Tradaboost", IbPRIA 2019: section 4.1, the SVM
    without transfer.
    """

    _steepness = 2.0

    def _start(self, problem: TransferProblem) -> State:
        return State(problem, self.get_params(deep=False))

    def _view(self, state: State) -> dict[str, Any]:
        view = self._scored_view(state.problem, state.model)
        view["source_weights"] = dict.fromkeys(state.problem.names, 0.0)
        view["detail"]["target_mass"] = 1.0
        return view

    def _finish(self, state: State) -> None:
        self._model = state.model
        self.source_weights_ = dict.fromkeys(state.problem.names, 0.0)
