r"""HGBM: gradient boosting that learns which rows to trust.

Two boosted models, each with its own trees: f predicts the label, d how far the label strays from it. Rows that stray
count less in what f learns.

| symbol | here |
|---|---|
| f(x), d(x) | label score; deviation score: ln sigma^2, or the log-odds of a label that is drawn blindly |
| Omega | link between deviation and loss: `link`; ln as in (6) is "gaussian", (10) is "sigmoid" |
| alpha, Delta d | `alpha`, `delta` of (10) |
| lambda, lambda-bar | `l2`, `deviation_l2`: penalty of the leaves of f and of d |
| gamma | `min_gain` |
| M | `n_iterations` |

`as_printed=True` is the paper's model to the letter: one model from all rows, (10) for numbers and classes, second
derivatives clipped at 0, all rounds.

Departures of the default from the paper
----------------------------------------
- d learns from what members of a cross-fitted ensemble say of rows that they have not seen (`folds`), and the rounds
  are those of least loss on such rows; a deviation learned from training residuals learns how well trees remember.
- Numbers: the Gaussian likelihood in s = ln sigma^2, with the Fisher information as second derivative, which is never
  negative; a leaf with more spread than thought steps by the logarithm of it. Rows count sigma^(-2 `weighting`).
- Classes: a share eps(x) of the labels is drawn blindly. A row counts as far as its label seems to have been seen,
  judged by members that have not seen it. (10) for classes has a gradient of one sign: only the penalty holds d.
- (24) as printed has the sign of a loss and adds gamma; a split here gains half of [u + v - parent], less gamma.
- The spread is calibrated by left-out rows (`calibrated`): shift and slope of ln sigma^2; intervals use their |z|.

Reference: G.-H. Lee, S.-W. Yang, S.-D. Lin and H.-T. Lin on heteroscedastic learning; equation numbers are theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from hetcore.errors import DataError, ModelFileError, ParameterError
from hetcore.losses_heteroscedastic import class_probabilities
from hetcore.magnitudes import mean_and_deviation
from hetcore.methods.deviation_estimator import DeviationBoosting, finite, flag
from hetcore.methods.deviation_half import Judged, Sample
from hetcore.methods.deviation_objectives import Labels, Numbers
from hetcore.methods.deviation_rounds import Z90, Rounds

__all__ = ["HGBMClassifier", "HGBMRegressor"]

PARAMETERS = """
    Parameters
    ----------
    n_iterations : int, default=500
        Rounds M at most; left-out rows say which are kept.
    learning_rate : float, default=0.1
        Shrinkage of the label's trees, in (0, 1].
    deviation_rate : float, default={deviation_rate}
        Shrinkage of the deviation's trees, in (0, 1].
    max_depth : int, default=-1
        Depth of the trees in splits; -1 for no limit.
    max_leaf_nodes : int, default=8
        Most leaves of a tree, grown best gain first; -1 for no limit.
    min_samples_leaf : int, default=5
        Fewest rows of a leaf.
    l2 : float, default=1.0
        Penalty lambda of the leaves of the label's trees, in rows.
    deviation_l2 : float, default=5.0
        Penalty lambda-bar of the leaves of the deviation's trees; above 0.
    min_gain : float, default=0.0
        Gain gamma of (24) that a split must exceed.
    subsample : float, default=1.0
        Share of its rows that a tree is grown on, in (0, 1].
    column_sample : float, default=1.0
        Share of the columns that a tree may split by, in (0, 1].
    deviation : {{"learned", "constant"}}, default="learned"
        "constant" is {constant}, exactly.
    link : {{{links}}}, default="{link}"
        {link_words}
    weighting : float, default={weighting}
        {weighting_words}
    alpha : float, default=1.0
        Of (10), for `link="sigmoid"`; above 0.
    delta : float, default=0.1
        Delta d of (10), for `link="sigmoid"`; above 0.
    folds : int, default=5
        Members of the ensemble, each trained without one part of the rows; 1 trains one model on all rows, whose
        deviation is then learned from training residuals and whose rounds are all kept.
    patience : int or None, default=20
        Rounds without a smaller loss on left-out rows before the fit ends; None does all and keeps all.
    as_printed : bool, default=False
        The paper's model to the letter: `folds=1`, `link="sigmoid"`, `weighting=1`, all rounds, no calibration.
    random_state : int or None, default=0
        Seed of parts and samples; an int makes a fit repeatable bit for bit.
    n_jobs : int or None, default=None
        Threads of large tables; None for 1."""

ATTRIBUTES = """
    Attributes
    ----------
    instance_weights_ : (n,) float64
        How much each training row counted in the last kept round; mean 1 over the rows that took part.
    n_iterations_, best_iteration_ : int
        Rounds done; rounds kept.
    history_ : polars DataFrame
        One row per round: "iteration", "seconds", "loss:SET", "metric:SET".
    n_features_in_ : int
        Columns of X."""


class HGBMRegressor(RegressorMixin, DeviationBoosting):
    __doc__ = (
        """Heteroscedastic gradient boosting for numbers: a prediction with its standard deviation.

    Each event (`RoundEnd`) is one round. Its `losses` are mean negative log likelihoods of the standardised labels,
    with ln(2 pi) / 2: "train", "left_out" (rows scored by the member that has not seen them; with `folds` > 1) and
    "held_out" (with `eval_set`). Its `detail` has, each by the same sets of rows,

    - "metric_name": "RMSE"; "metric", in the labels' unit;
    - "coverage90": share of labels within 1.645 standard deviations, in [0, 1];
    - "mean_sigma": mean standard deviation, in the labels' unit.
"""
        + PARAMETERS.format(
            constant="least squares boosting",
            links='"gaussian", "sigmoid"',
            link="gaussian",
            link_words="Likelihood in ln sigma^2, (6) with Omega = ln; or (10), a bounded weight.",
            deviation_rate=0.05,
            weighting=0.5,
            weighting_words="Rows count sigma^(-2 weighting): 0 all alike, 1 as the likelihood has it; in [0, 4].",
        )
        + """
    calibrated : bool, default=True
        Whether left-out rows shift and stretch ln sigma^2; nothing to calibrate by with `folds=1`.
    tail : float or None, default=None
        With nu, a row also counts (nu + 1) / (nu + z^2), above 0; z is what members say that have not seen it. None
        trusts rows by their place alone.
    blend : bool, default=True
        Whether a second label forest counts all rows alike, left-out rows saying how much of each the model has."""
        + "\n"
        + ATTRIBUTES
    )

    _links = ("gaussian", "sigmoid")
    _more_rules = (
        ("calibrated", flag, "True or False"),
        ("blend", flag, "True or False"),
        ("tail", lambda v: v is None or (finite(v) and v > 0), "a finite number above 0, or None for no tail"),
    )
    _y_checks = {"y_numeric": True}

    def __init__(
        self,
        n_iterations: int = 500,
        learning_rate: float = 0.1,
        deviation_rate: float = 0.05,
        max_depth: int = -1,
        max_leaf_nodes: int = 8,
        min_samples_leaf: int = 5,
        l2: float = 1.0,
        deviation_l2: float = 5.0,
        min_gain: float = 0.0,
        subsample: float = 1.0,
        column_sample: float = 1.0,
        deviation: str = "learned",
        link: str = "gaussian",
        weighting: float = 0.5,
        alpha: float = 1.0,
        delta: float = 0.1,
        folds: int = 5,
        patience: int | None = 20,
        as_printed: bool = False,
        random_state: int | None = 0,
        n_jobs: int | None = None,
        calibrated: bool = True,
        tail: float | None = None,
        blend: bool = True,
    ) -> None:
        self.n_iterations, self.learning_rate, self.deviation_rate = n_iterations, learning_rate, deviation_rate
        self.max_depth, self.max_leaf_nodes, self.min_samples_leaf = max_depth, max_leaf_nodes, min_samples_leaf
        self.l2, self.deviation_l2, self.min_gain = l2, deviation_l2, min_gain
        self.subsample, self.column_sample, self.deviation, self.link = subsample, column_sample, deviation, link
        self.weighting, self.alpha, self.delta, self.folds = weighting, alpha, delta, folds
        self.patience, self.as_printed, self.random_state = patience, as_printed, random_state
        self.n_jobs, self.calibrated, self.tail, self.blend = n_jobs, calibrated, tail, blend

    def _learned(self, y: NDArray, weights: NDArray) -> NDArray:
        y = y.astype(np.float64)
        self._unit = mean_and_deviation(y, weights)
        return self._coded(y)

    def _coded(self, y: NDArray) -> NDArray:
        return (y.astype(np.float64) - self._unit[0]) / self._unit[1]

    def _base(self, y: NDArray) -> Numbers:
        return Numbers(y)

    def _view(self, state: Rounds) -> dict[str, Any]:
        scale, sets = state.scale(state.judged()), state.sets()
        spreads = {name: _spread(state, scale, *each) for name, each in sets.items()}
        return {
            "losses": {name: state.nll(*each, scale) for name, each in sets.items()},
            "detail": {
                "metric_name": "RMSE",
                "metric": {name: self._unit[1] * rmse for name, (rmse, _, _) in spreads.items()},
                "coverage90": {name: share for name, (_, share, _) in spreads.items()},
                "mean_sigma": {name: self._unit[1] * sigma for name, (_, _, sigma) in spreads.items()},
            },
        }

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Predict the label of each row.

        Parameters
        ----------
        X : (n, d) array-like
        return_std : bool, default=False
            Whether to return the standard deviation too (not the variance).

        Returns
        -------
        (n,) float64, in the labels' unit
        (n,) float64, in the labels' unit, with `return_std`
        """
        scores = self._checked(X)
        mean = self.model_.mean(scores)
        return (mean, self.model_.deviation(scores)) if return_std else mean

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> tuple[NDArray, NDArray]:
        """Return the ends of an interval that holds the label of a row with probability `coverage`.

        The mean, plus or minus as many standard deviations as hold that share of the left-out rows; with `folds=1`,
        as many as hold that share of a normal distribution.

        Parameters
        ----------
        X : (n, d) array-like
        coverage : float, default=0.9
            In (0, 1).

        Returns
        -------
        (n,) float64, (n,) float64, in the labels' unit

        Raises
        ------
        ParameterError
            If `coverage` is outside (0, 1).
        """
        if not 0.0 < coverage < 1.0:
            raise ParameterError(f"coverage={coverage!r} must be in (0, 1): 0.9 holds nine labels in ten.")
        mean, deviation = self.predict(X, return_std=True)
        width = self.model_.width(coverage) * deviation
        return mean - width, mean + width

    def _get_state(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        return self._state_of({})

    def _set_state(self, meta: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        self._use_state(meta, arrays, 1)
        self._unit = self.model_.unit


def _spread(state: Rounds, scale: float, scores: Judged, sample: Sample) -> tuple[float, float, float]:
    """Return RMSE, share within 1.645 sigma and mean sigma, in standardised units."""
    residual = sample.base.y - scores.f[:, 0]
    sigma = np.exp(0.5 * (np.log(scale) + state.link.log_variance(scores.d)))
    averages = (residual**2, np.abs(residual) <= Z90 * sigma, sigma)
    square, share, mean = (float(np.average(each, weights=sample.weights)) for each in averages)
    return float(np.sqrt(square)), share, mean


class HGBMClassifier(ClassifierMixin, DeviationBoosting):
    __doc__ = (
        """Heteroscedastic gradient boosting for classes: which labels to trust, and where.

    Each event (`RoundEnd`) is one round. Its `losses` are mean negative log likelihoods of the labels: "train",
    "left_out" (rows scored by the member that has not seen them; with `folds` > 1) and "held_out" (with `eval_set`).
    Its `detail` has "metric_name": "error", and "metric" and "mean_deviation" by the same sets of rows: the share of
    wrong classes, and the mean share of labels drawn blindly, in [0, 1].
"""
        + PARAMETERS.format(
            constant="logistic (softmax) boosting",
            links='"flips", "sigmoid"',
            link="flips",
            link_words="A share eps(x) of the labels is drawn blindly; or (10), a bounded weight.",
            deviation_rate=0.1,
            weighting=1.0,
            weighting_words="A row counts its trust to this power: 0 all alike, 1 as the likelihood has it; in [0, 4].",
        )
        + "\n"
        + ATTRIBUTES
        + """
    classes_ : (C,) ndarray
        Class labels."""
    )

    _links = ("flips", "sigmoid")

    def __init__(
        self,
        n_iterations: int = 500,
        learning_rate: float = 0.1,
        deviation_rate: float = 0.1,
        max_depth: int = -1,
        max_leaf_nodes: int = 8,
        min_samples_leaf: int = 5,
        l2: float = 1.0,
        deviation_l2: float = 5.0,
        min_gain: float = 0.0,
        subsample: float = 1.0,
        column_sample: float = 1.0,
        deviation: str = "learned",
        link: str = "flips",
        weighting: float = 1.0,
        alpha: float = 1.0,
        delta: float = 0.1,
        folds: int = 5,
        patience: int | None = 20,
        as_printed: bool = False,
        random_state: int | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_iterations, self.learning_rate, self.deviation_rate = n_iterations, learning_rate, deviation_rate
        self.max_depth, self.max_leaf_nodes, self.min_samples_leaf = max_depth, max_leaf_nodes, min_samples_leaf
        self.l2, self.deviation_l2, self.min_gain = l2, deviation_l2, min_gain
        self.subsample, self.column_sample, self.deviation, self.link = subsample, column_sample, deviation, link
        self.weighting, self.alpha, self.delta, self.folds = weighting, alpha, delta, folds
        self.patience, self.as_printed, self.random_state = patience, as_printed, random_state
        self.n_jobs = n_jobs

    def _learned(self, y: NDArray, weights: NDArray) -> NDArray:
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if self.classes_.size < 2:
            raise DataError(f"The labels hold one class, {self.classes_[0]}: give rows of two classes at least.")
        return self._coded(y)

    def _coded(self, y: NDArray) -> NDArray:
        places = {label: place for place, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in np.unique(y).tolist() if label not in places]
        if unknown:
            raise DataError(f"eval_set has the class {unknown[0]!r}, which the training labels lack: leave it out.")
        return np.array([places[label] for label in y.tolist()], np.int64)

    def _base(self, y: NDArray) -> Labels:
        return Labels(y, self.classes_.size)

    def _view(self, state: Rounds) -> dict[str, Any]:
        sets = state.sets()
        return {
            "losses": {name: state.nll(*each, 1.0) for name, each in sets.items()},
            "detail": {
                "metric_name": "error",
                "metric": {name: _error(*each) for name, each in sets.items()},
                "mean_deviation": {name: _mean_share(state, *each) for name, each in sets.items()},
            },
        }

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return `predict_proba` as (n,) log-odds, above 0 for the second class, or (n, C) ln probabilities."""
        logs = np.log(np.maximum(self.predict_proba(X), 1e-300))
        return logs[:, 1] - logs[:, 0] if self.classes_.size == 2 else logs

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the predicted class of each row, (n,)."""
        scores = self._checked(X)
        return self.classes_[class_probabilities(scores.f).argmax(axis=1)]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability in [0, 1] of each class in the order of `classes_`, (n, C).

        Of the label as it would be recorded, blind draws counted in, so that labels as noisy as the training ones are
        predicted best. The class itself is likelier than that, by the share that `predict_deviation` says.
        """
        scores = self._checked(X)
        share = self.model_.link.share(scores.d)[:, None]
        return (1.0 - share) * class_probabilities(scores.f) + share / self.classes_.size

    def predict_deviation(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the deviation of each row (n,): the share in [0, 1] of labels there that are drawn blindly.

        With `link="sigmoid"`, alpha s(d) + delta of (10).
        """
        d = self._checked(X).d
        return self.model_.link.deviation_of(d)

    def _get_state(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        return self._state_of({"classes": _plain_classes(self.classes_)})

    def _set_state(self, meta: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        self.classes_ = _classes_from(meta["classes"])
        self._use_state(meta, arrays, 1 if self.classes_.size == 2 else self.classes_.size)


def _mean_share(state: Rounds, scores: Judged, sample: Sample) -> float:
    return float(np.average(state.link.share(scores.d), weights=sample.weights))


def _error(scores: Judged, sample: Sample) -> float:
    wrong = class_probabilities(scores.f).argmax(axis=1) != sample.base.codes
    return float(np.average(wrong, weights=sample.weights))


def _plain_classes(classes: NDArray) -> list[Any]:
    plain = classes.tolist()
    if not all(isinstance(label, str | int | float | bool) for label in plain):
        raise ParameterError("A model of classes that are neither text nor numbers can't be saved: rename the classes.")
    return plain


def _classes_from(given: Any) -> NDArray:
    kinds = {type(label) for label in given}
    if not isinstance(given, list) or len(given) < 2 or len(set(given)) != len(given) or len(kinds) != 1:
        raise ModelFileError("The classes of the model file are not two labels or more of one kind: save it again.")
    return np.array(given)
