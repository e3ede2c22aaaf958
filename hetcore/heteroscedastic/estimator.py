"""What HGBM for numbers and HGBM for classes share: rules of the parameters, checks of the data, the fit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from hetcore.base import Rule, boost, check_params
from hetcore.checks import finite, flag, floats, rows_to_score_by, whole
from hetcore.errors import ModelFileError
from hetcore.events import Callback
from hetcore.heteroscedastic.boosting import Rounds
from hetcore.heteroscedastic.forest_ensemble import Judged, Sample
from hetcore.heteroscedastic.objectives import make_link
from hetcore.heteroscedastic.predictor import DeviationModel, fitted_model
from hetcore.numerics import narrow
from hetcore.trees import BinMapper

__all__ = ["DeviationBoosting"]


RULES: tuple[Rule, ...] = (
    ("n_iterations", lambda v: whole(v) and v >= 1, "a whole number, at least 1"),
    ("learning_rate", lambda v: finite(v) and 0 < v <= 1, "above 0 and at most 1: 0.1 is a good start"),
    ("deviation_rate", lambda v: finite(v) and 0 < v <= 1, "above 0 and at most 1: 0.05 is a good start"),
    ("max_depth", lambda v: whole(v) and (v >= 1 or v == -1), "a whole number, at least 1, or -1 for no limit"),
    ("max_leaf_nodes", lambda v: whole(v) and (v >= 2 or v == -1), "a whole number, at least 2, or -1 for no limit"),
    ("min_samples_leaf", lambda v: whole(v) and v >= 1, "a whole number, at least 1"),
    ("l2", lambda v: finite(v) and v >= 0, "a finite number, at least 0"),
    ("deviation_l2", lambda v: finite(v) and v > 0, "a finite number above 0: it alone holds d where losses do not"),
    ("min_gain", lambda v: finite(v) and v >= 0, "a finite number, at least 0"),
    ("subsample", lambda v: finite(v) and 0 < v <= 1, "in (0, 1]"),
    ("column_sample", lambda v: finite(v) and 0 < v <= 1, "in (0, 1]"),
    ("deviation", lambda v: v in ("learned", "constant"), "'learned' or 'constant'"),
    ("weighting", lambda v: finite(v) and 0 <= v <= 4, "in [0, 4]: 0 counts all rows alike, 1 is the likelihood's"),
    ("alpha", lambda v: finite(v) and v > 0, "a finite number above 0"),
    ("delta", lambda v: finite(v) and v > 0, "a finite number above 0"),
    ("omega", lambda v: v in (None, "leaves", "rows", "log"), "'leaves', 'rows', 'log' or None"),
    ("folds", lambda v: whole(v) and v >= 1, "a whole number, at least 1: 1 trains one model on all rows"),
    ("patience", lambda v: v is None or (whole(v) and v >= 1), "a whole number, at least 1, or None for all rounds"),
    ("as_printed", flag, "True or False"),
    ("random_state", lambda v: v is None or (whole(v) and v >= 0), "a whole number, at least 0, or None"),
    ("n_jobs", lambda v: v is None or (whole(v) and v >= 1), "a whole number, at least 1, or None for 1"),
    ("blend", flag, "True or False"),
)

NUMBERS = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}
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
}


class DeviationBoosting(BaseEstimator):
    """A label forest and a deviation forest; subclasses say what labels are."""

    _links: tuple[str, ...]
    _more_rules: tuple[Rule, ...] = ()
    _y_checks: dict[str, Any] = {}
    _unit: tuple[float, float] = (0.0, 1.0)
    model_: DeviationModel

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        callbacks: Iterable[Callback] = (),
        eval_set: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Any:
        """Fit label and deviation.

        Parameters
        ----------
        X : (n, d) array-like
            Numbers; NaN is missing.
        y : (n,) array-like
            Numbers, or class labels.
        sample_weight : (n,) array-like, optional
            At least 0; a row of weight 0 takes no part.
        callbacks : iterable of callable, default=()
            Each is called after every round with a `RoundEnd` and may return True to stop.
        eval_set : (X, y), optional
            Rows to score each round by ("held_out"), never trained on.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If a parameter is outside its domain.
        DataError
            If the labels hold a single class, or `eval_set` does not fit.
        """
        params = self._params()
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None: give a label for each row.")
        X, y = validate_data(self, X, y, **NUMBERS, **self._y_checks)
        X = narrow(X)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        used = weights > 0
        weights, labels = weights[used] / weights[used].mean(), np.asarray(y)[used]
        base, mapper = self._base(self._learned(labels, weights)), BinMapper().fit(X[used])
        train, later = Sample(mapper.transform(X[used]), base, weights), self._later(eval_set, mapper)
        boost(self, lambda: Rounds(train, later, make_link(params), params, mapper), callbacks)
        self.instance_weights_ = _placed(self.instance_weights_, used)
        return self

    def _params(self) -> dict[str, Any]:
        params = self.get_params(deep=False)
        links = "link", lambda value: value in self._links, f"one of {', '.join(map(repr, self._links))}"
        check_params(params, (*RULES, links, *self._more_rules))
        return params | PRINTED if self.as_printed else params

    def _later(self, eval_set: tuple[ArrayLike, ArrayLike] | None, mapper: BinMapper) -> Sample | None:
        if eval_set is None:
            return None
        X, y = rows_to_score_by(self, eval_set, **NUMBERS)
        return Sample(mapper.transform(narrow(X)), self._base(self._coded(y)), np.ones(X.shape[0]))

    def _finish(self, state: Rounds) -> None:
        self.model_ = fitted_model(state, self._unit, self._params().get("calibrated", False))
        self.instance_weights_ = state.row_weights()
        self.best_iteration_ = max(half.best for half in (*state.labels, state.deviation))

    def _checked(self, X: ArrayLike) -> Judged:
        check_is_fitted(self)
        return self.model_.raw(narrow(validate_data(self, X, **NUMBERS, reset=False)))

    def _state_of(self, more: dict[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray]]:
        check_is_fitted(self)
        meta, arrays = self.model_.to_state()
        rounds = {"n_iterations": self.n_iterations_, "best_iteration": self.best_iteration_}
        return rounds | {"model": meta} | more, arrays | {"instance_weights": self.instance_weights_}

    def _use_state(self, meta: dict[str, Any], arrays: dict[str, NDArray], n_outputs: int) -> None:
        link, of_classes = make_link(self._params()), is_classifier(self)
        self.model_ = DeviationModel.from_state(meta["model"], arrays, link, n_outputs, of_classes)
        self.n_features_in_ = self.model_.mapper.n_bins.size
        self.instance_weights_ = floats(arrays, "instance_weights")
        self.n_iterations_, self.best_iteration_ = meta["n_iterations"], meta["best_iteration"]
        if not (whole(self.best_iteration_) and whole(self.n_iterations_)):
            raise ModelFileError("The model file does not tell how many rounds were done: save the model again.")
        if not 1 <= self.best_iteration_ <= self.n_iterations_ or (self.instance_weights_ < 0).any():
            raise ModelFileError("The model file keeps rounds that were not done, or negative weights: save it again.")

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
