"""The transfer blend for numbers: schools, stations and regions of a target with few known values and of others.

How, is in the docstring of `hetcore.transfer.stacking`: the same candidates and trees of smaller leaves, ridge
regression for logistic regression and the squared loss for the log loss.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetcore.base import RegressorScore
from hetcore.errors import DataError
from hetcore.numerics import mean_and_deviation, root_mean_square
from hetcore.parameters import Interval
from hetcore.registry import MemoryNeed, estimator
from hetcore.schema import Value
from hetcore.transfer.estimator import Rows, TransferBase, TransferProblem, eval_rows
from hetcore.transfer.stacking import Blend

__all__ = ["TransferRegressor"]

MOST_APART = 1e10  # times the target's own distance from its middle: what is left of it in double precision


@estimator(MemoryNeed(cell=80, score=400))
class TransferRegressor(RegressorScore, Blend, TransferBase):
    """A blend of machines from target only to all sources, linear and trees, by the target's left-out squared error.

    How, is in the docstring of `hetcore.transfer.stacking`: it is no boosting, and has no eta. Missing values are
    allowed, so that domains may lack columns that others have.

    Attributes
    ----------
    blend_ : dict of str to float
        Share of each candidate, "linear, all", "trees, all, domain column", ...; they sum to 1.
    source_weights_ : dict of str to float
        Share of the rows that each source has in the blend; with the target's they sum to 1.
    left_out_error_ : float
        The blend's root mean squared error on the target's left-out rows, in whose fold's shares they have no part.
    history_ : polars DataFrame
        One row per candidate.

    Notes
    -----
    A `RoundEnd` comes after every candidate, as of `TransferClassifier`; losses are root mean squared errors.

    References
    ----------
    Antunes, Bernardino, Smailagic, Siewiorek, "Weighted Multisource Tradaboost", IbPRIA 2019: sections 5 and 6, whose
    open problem is of classes; the method is ours.
    """

    _stored = (
        TransferBase._stored
        | {"_centre": Value(Interval(-np.inf), key="centre"), "_unit": Value(Interval(-np.inf), key="unit")}
        | Blend._blended
    )

    @property
    def _n_classes(self) -> int:
        return 0

    def _problem(self, X: Any, y: Any, sample_domain: Any, eval_set: Any) -> TransferProblem:
        X, y, domain = self._known(X, y, sample_domain)
        values = _numbers(y)
        ordered = np.sort(values)  # so that the order of rows does not change a bit
        self._centre, self._unit = mean_and_deviation(ordered, np.ones(len(ordered)))
        domain, names = self._numbered(domain, len(values))
        _check_sizes(values, domain, names)
        held_out = None
        if eval_set is not None:
            rows, labels, known = eval_rows(eval_set)
            rows, labels = self._like_fit(rows)[known], _numbers(np.asarray(labels)[known], "The labels of eval_set")
            held_out = Rows(rows, (labels - self._centre) / self._unit)
        return TransferProblem(
            X=X,
            codes=(values - self._centre) / self._unit,
            domain=domain,
            classes=np.empty(0),
            names=names,
            held_out=held_out,
        )

    def _measured(self, problem: TransferProblem, train: NDArray, held_out: NDArray | None) -> dict[str, Any]:
        found = {"train": self._miss(problem.codes[problem.target], train)}
        if held_out is not None:
            found["held_out"] = self._miss(problem.held_out.codes, held_out)
        return {"losses": dict(found), "detail": {"metric_name": "RMSE", "metric": found}}

    def _miss(self, truth: NDArray, answers: NDArray) -> float:
        return self._unit * root_mean_square(truth - answers[:, 0])

    def _left_out(self, problem: TransferProblem, answers: NDArray) -> tuple[float, float]:
        miss = self._miss(problem.codes[problem.target], answers)
        return miss, miss

    def _raw(self, answers: NDArray) -> NDArray[np.float64]:
        return answers

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted value of each row.

        Parameters
        ----------
        X : (n, d) array-like

        Returns
        -------
        (n,) float64, in the labels' unit
        """
        scores = self._scores(self._checked(X))[:, 0]
        return self._centre + self._unit * scores


def _check_sizes(values: NDArray[np.float64], domain: NDArray[np.int64], names: list[str]) -> None:
    """Raise DataError where a source's labels are so large that nothing would be left of the target's."""
    own = values[domain == 0]
    center = np.median(own) if own.size else 0.0
    spread = np.abs(own - center).max(initial=0.0)
    apart = np.abs(values / MOST_APART - center / MOST_APART)
    worst = int(apart.argmax())
    if 0 < spread < apart[worst]:
        raise DataError(
            f"The labels of source {names[domain[worst] - 1]!r} hold {values[worst]:g}, where the target's lie within "
            f"{spread:g} of {center:g}: beside it nothing would be left of those. Correct it, or leave that row out."
        )


def _numbers(y: Any, labels: str = "The labels") -> NDArray[np.float64]:
    """Return labels as numbers.

    Raises
    ------
    DataError
        If they are none, or not finite.
    """
    try:
        values = np.asarray(y, np.float64)
    except (TypeError, ValueError):
        words = f"{labels} are no numbers: TransferRegressor predicts numbers, TransferClassifier classes."
        raise DataError(words) from None
    if not np.isfinite(values).all():
        raise DataError(f"{labels} hold values that are not finite: give finite numbers.")
    return values
