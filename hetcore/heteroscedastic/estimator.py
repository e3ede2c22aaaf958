"""What HGBM for numbers and HGBM for classes share: parameters, checks of the data, the fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from hetcore.checks import validated, warn_of_precision
from hetcore.heteroscedastic.boosting import Rounds
from hetcore.heteroscedastic.forest_ensemble import Sample, Scores
from hetcore.heteroscedastic.objectives import make_link
from hetcore.heteroscedastic.predictor import DeviationModel, fitted_model
from hetcore.heteroscedastic.rows import RowsEstimator
from hetcore.kernels.threads import n_threads
from hetcore.numerics import to_float32
from hetcore.parameters import Flag, Interval, OneOf, Slider, Whole, param
from hetcore.schema import Array, Part
from hetcore.trees import BinMapper

__all__ = ["DeviationBoosting"]


PRINTED: dict[str, Any] = {
    "folds": 1,
    "link": "sigmoid",
    "weighting": 1.0,
    "learning_rate": 1.0,
    "deviation_rate": 1.0,
    "subsample": 1.0,
    "column_sample": 1.0,
    "patience": None,
    "calibrated": False,
    "tail": None,
    "blend": False,
    "start": "constant",
}


class DeviationProblem(NamedTuple):
    """What a fit starts from: rows to train on and to score, bins, which of the rows given took part, parameters."""

    train: Sample
    validation: Sample | None
    mapper: BinMapper
    used: NDArray[np.bool_]
    params: dict[str, Any]


class DeviationBoosting(RowsEstimator):
    """A label forest and a deviation forest; subclasses say what labels are.

    Attributes
    ----------
    instance_weights_ : (n,) float64
        How much each training row counted in the last kept round; mean 1 over the rows that took part.
    n_iterations_, best_iteration_ : int
        Rounds done; rounds kept.
    history_ : polars DataFrame
        One row per round: "iteration", "seconds", "loss:SET", "metric:SET".
    n_features_in_ : int
        Columns of X.
    """

    _grows_trees = True

    _stored = {
        "n_iterations": Whole(1), "best_iteration": Whole(1), "model": Part(DeviationModel, "K d", at=""),
        "instance_weights": Array("n", low=0),
    }  # fmt: skip
    _x_checks = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}
    _y_checks: dict[str, Any] = {}
    _unit: tuple[float, float] = (0.0, 1.0)

    n_iterations: int = param(
        500, Whole(1), "Rounds M at most; left-out rows say which are kept.", Slider("Rounds M", 10, 500, 10)
    )
    learning_rate: float = param(
        0.1, Interval(0, 1, "(]"), "Shrinkage of the label's trees.", Slider("Learning rate η", 0.02, 0.5, 0.02)
    )
    deviation_rate: float = param(
        0.1,
        Interval(0, 1, "(]", "0.05 is a good start"),
        "Shrinkage of the deviation's trees; half of the other is a good start.",
        Slider("Learning rate of the deviation", 0.01, 0.5, 0.01),
    )
    max_depth: int = param(-1, Whole(1, also={-1: "no limit"}), "Depth of the trees, in splits.")
    max_leaf_nodes: int = param(
        4, Whole(2, also={-1: "no limit"}), "Most leaves of a tree, grown best gain first.", Slider("Leaves", 2, 32, 1)
    )
    min_samples_leaf: int = param(3, Whole(1), "Fewest rows of a leaf.")
    l2: float = param(1.0, Interval(0), "Penalty lambda of the leaves of the label's trees, in rows.")
    deviation_l2: float = param(
        5.0, Interval(0, ends="()"), "Penalty lambda-bar of the leaves of the deviation's trees."
    )
    min_gain: float = param(0.0, Interval(0), "Gain gamma of (24) that a split must exceed.")
    subsample: float = param(0.5, Interval(0, 1, "(]"), "Share of its rows that a tree is grown on.")
    column_sample: float = param(
        0.4, Interval(0, 1, "(]"), "Share of the columns that a tree may split by; three columns at least."
    )
    deviation: str = param(
        "learned", OneOf("learned", "constant"), '"constant" is least squares or logistic (softmax) boosting, exactly.'
    )
    link: str = param("sigmoid", OneOf("sigmoid"), "(10), a bounded weight.")
    weighting: float = param(
        1.0,
        Interval(0, 4, cure="0 counts all rows alike, 1 is the likelihood's"),
        "How strongly trust counts: a row counts its trust to this power; 0 is all alike, 1 as the likelihood has it.",
        Slider("Weighting", 0.0, 2.0, 0.25),
    )
    alpha: float = param(1.0, Interval(0, ends="()"), 'Of (10), for `link="sigmoid"`.')
    delta: float = param(0.1, Interval(0, ends="()"), 'Delta d of (10), for `link="sigmoid"`.')
    omega: str | None = param(
        None,
        OneOf("leaves", "rows", "log", None),
        'Omega of (10), for `link="sigmoid"`: `deviation_l2` for each leaf, (21); for each row, as (19) sums it; or '
        'for each leaf, with ln(alpha s(d) + delta) for each row, which is (6). None is "leaves" with `as_printed`, '
        'else "rows".',
    )
    folds: int = param(
        5,
        Whole(1, cure="1 trains one model on all rows"),
        "Members of the ensemble, each trained without one part of the rows; 1 trains one model on all rows, whose "
        "deviation is then learned from training residuals and whose rounds are all kept.",
    )
    patience: int | None = param(
        10,
        Whole(1).or_none("None for all rounds"),
        "Rounds without a smaller loss on left-out rows before the fit ends; None does all and keeps all.",
    )
    as_printed: bool = param(
        False,
        Flag(),
        'The paper\'s model to the letter: `folds=1`, `link="sigmoid"`, `weighting=1`, rates of 1, f and d from 0, '
        "labels and weights as they are, all rounds, no sampling, no calibration. Sizes of trees, penalties and "
        "`omega` are as given.",
    )
    blend: bool = param(True, Flag(), "Whether about half of the model is a label forest that counts all rows alike.")

    def _problem(self, X: Any, y: Any, sample_weight: Any, eval_set: Any) -> DeviationProblem:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None: give a label for each row.")
        X, y, weights = self._checked_rows(X, y, sample_weight)
        warn_of_precision(X, self._feature_names)
        X = to_float32(X)
        # rows of weight 0 take no part at all: they must not move bins or units
        used = weights > 0
        # mean weight 1, so that l2 and the rows of a leaf mean the same whatever the weights' unit
        weights, labels = weights[used] / weights[used].mean(), np.asarray(y)[used]
        known, n_jobs = X[used], n_threads(self.n_jobs)
        base, mapper = self._base(self._targets(labels, weights)), BinMapper().fit(known, n_jobs=n_jobs)
        train = Sample(mapper.transform(known, n_jobs), base, weights, known)
        validation = self._validation(eval_set, mapper)
        return DeviationProblem(train, validation, mapper, used, self._params())

    def _start(self, problem: DeviationProblem) -> Rounds:
        params = problem.params
        return Rounds(problem.train, problem.validation, make_link(params), params, problem.mapper)

    def _complete(self, problem: DeviationProblem) -> None:
        self.instance_weights_ = _placed(self.instance_weights_, problem.used)

    def _params(self) -> dict[str, Any]:
        params = self.get_params(deep=False)
        return params | PRINTED if self.as_printed else params

    def _validation(self, eval_set: tuple[ArrayLike, ArrayLike] | None, mapper: BinMapper) -> Sample | None:
        if (rows := self._rows_to_score(eval_set)) is None:
            return None
        X, y = rows
        # rows to score by all count alike
        X = to_float32(X)
        return Sample(mapper.transform(X), self._base(self._coded(y)), np.ones(X.shape[0]), X)

    def _finish(self, state: Rounds) -> None:
        self.model_: DeviationModel = fitted_model(state, self._unit, self._params().get("calibrated", False))
        self.instance_weights_ = state.row_weights()
        self.best_iteration_ = max(ensemble.best for ensemble in (*state.labels, state.deviation))

    def _checked(self, X: ArrayLike) -> Scores:
        rows = self._checked_columns(X)  # first: before a fit there is no model to ask
        return self.model_.raw(rows)

    def _checked_columns(self, X: ArrayLike) -> NDArray[np.float32]:
        check_is_fitted(self)
        return to_float32(validated(self, X, **self._x_checks, reset=False))

    def _restored(self, sizes: dict[str, int]) -> str:
        # the link is not in the file: it follows from the parameters
        self.model_ = replace(self.model_, link=make_link(self._params()))
        self.n_features_in_, self._unit = sizes["d"], self.model_.unit
        # of numbers, a factor of the variance
        # of classes, a share of the labels: it may be none
        spread = self.model_.scale <= 1 if is_classifier(self) else self.model_.scale > 0
        fits = spread and self.best_iteration_ <= self.n_iterations_
        return "" if fits else "The spread or the rounds of the model file are none that a model has"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _placed(values: NDArray[np.float64], used: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the values at the rows that took part, 0 at the others."""
    every = np.zeros(used.size)
    every[used] = values
    return every
