r"""HGBM: gradient boosting that learns which rows to trust.

Two boosted models, each with its own trees: f predicts the label, d how far the label strays from it. Rows that stray
count less in what f learns.

| symbol | here |
|---|---|
| f(x), d(x) | label score; deviation score: ln sigma^2, or the log-odds of a label that is drawn blindly |
| Omega | link between deviation and loss: `link`; ln as in (6) is "gaussian", (10) is "sigmoid" |
| alpha, Delta d | `alpha`, `delta` of (10) |
| lambda, lambda-bar | `l2`, `deviation_l2`: penalty of the leaves of f and of d |
| gamma and, of deviations, gamma-bar | `min_gain` |
| M | `n_iterations` |

`as_printed=True` is the paper's model to the letter: one model from all rows, (10) for numbers and classes, f and d
from nothing, no shrinkage, no sampling, labels and weights as they are, second derivatives clipped at 0, all rounds;
of numbers what (10) says of the variance gets one factor, by the training residuals. Sizes of trees and penalties are
as given. Its Omega is read as (21); `omega` has two other readings: the penalty counted by row, and "log", (6) for the
divisor of (10). With "log" that of d is not clipped: it is the Fisher information, which the paper doesn't have.

Departures of the default from the paper
----------------------------------------
- d learns from what members of a cross-fitted ensemble say of rows that they have not seen (`folds`), and the rounds
  are those of least loss on such rows; a deviation learned from training residuals learns how well trees remember.
- Numbers: the Gaussian likelihood in s = ln sigma^2, with the Fisher information as second derivative, which is never
  negative; a leaf with more spread than thought steps by the logarithm of it. Rows count sigma^(-2 `weighting`).
- About half of the model is a label forest of other folds of the rows that counts all of them alike (`blend`). Of
  numbers a part that left-out rows say is one more, which starts from a line (`start`).
- A tree is grown on a draw of its member's rows and, for classes, of the columns (`subsample`, `column_sample`); trees
  of the deviation have at most 8 leaves of at least 5 rows.
- Classes: a share eps(x) of the labels is drawn blindly. A row counts as far as its label seems to have been seen,
  judged by members that have not seen it. (10) for classes has a gradient of one sign: only the penalty holds d.
- (24) as printed has the sign of a loss and adds gamma; a split here gains half of [u + v - parent], less gamma.
- The spread is calibrated by left-out rows (`calibrated`): shift and slope of ln sigma^2, and a share of sigma^2 that
  is what the members disagree by; intervals use their |z|, less what the mean of the members does not err with them.

Reference: G.-H. Lee, S.-W. Yang, T.-H. Lin and S.-D. Lin on heteroscedastic learning; equation numbers are theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hetcore.base import RegressorScore
from hetcore.data.columns import check_flags
from hetcore.heteroscedastic.boosting import Z90, Rounds
from hetcore.heteroscedastic.estimator import DeviationBoosting
from hetcore.heteroscedastic.forest_ensemble import Sample, Scores
from hetcore.heteroscedastic.objectives import Numbers
from hetcore.heteroscedastic.rows import IntervalMixin, labels_of, spread_event
from hetcore.heteroscedastic.tails import log_density
from hetcore.numerics import mean_and_deviation
from hetcore.parameters import Flag, Interval, OneOf, SeedAndThreads, param
from hetcore.registry import MemoryNeed, estimator

__all__ = ["HGBMRegressor"]


@estimator(MemoryNeed(cell=45))
class HGBMRegressor(IntervalMixin, RegressorScore, DeviationBoosting, SeedAndThreads):
    """Heteroscedastic gradient boosting for numbers: a prediction with its standard deviation.

    Each event (`RoundEnd`) is one round. Its `losses` are mean negative log likelihoods of the standardised labels,
    with ln(2 pi) / 2: "train", "left_out" (rows scored by the member that has not seen them; with `folds` > 1) and
    "held_out" (with `eval_set`). Its `detail` has, each by the same sets of rows,

    - "metric_name": "RMSE"; "metric", in the labels' unit;
    - "coverage90": share of labels within 1.645 standard deviations, in [0, 1];
    - "mean_sigma": mean standard deviation, in the labels' unit.

    References
    ----------
    Lee, Yang, Lin, Lin, "Heteroscedastic learning and its realization on matrix factorization and gradient boosting
    regression/classification", 2017: sections 2.3 and 3.2, (5) to (7), (17) to (24).
    """

    _y_checks = {"y_numeric": True}

    n_iterations = 1000
    learning_rate = 0.2
    max_leaf_nodes = 32
    min_samples_leaf = 1
    subsample = 0.8
    column_sample = 1.0
    weighting = 0.5
    link: str = param(
        "gaussian", OneOf("gaussian", "sigmoid"), "Likelihood in ln sigma^2, (6) with Omega = ln; or (10)."
    )
    start: str = param(
        "linear",
        OneOf("linear", "constant"),
        "Whether one more label forest starts from lines of its members, if they come closer to left-out rows than a "
        "constant; left-out rows say its share. It counts all rows alike.",
    )
    calibrated: bool = param(
        True, Flag(), "Whether left-out rows shift and stretch ln sigma^2; nothing to calibrate by with `folds=1`."
    )
    tail: float | None = param(
        None,
        Interval(0, ends="()").or_none("None for no tail"),
        "With nu, a row also counts (nu + 1) / (nu + z^2) for the prediction, z its residual of members that have not "
        "seen it: gross outliers count next to nothing, and of skewed labels it is not the mean that is predicted. "
        "None trusts rows by their place alone.",
    )

    def _targets(self, y: NDArray, weights: NDArray) -> NDArray:
        # as printed f begins at nothing, in the labels' own unit
        self._unit = (0.0, 1.0) if self.as_printed else mean_and_deviation(y, weights)
        return self._coded(y)

    def _coded(self, y: NDArray) -> NDArray:
        return (y - self._unit[0]) / self._unit[1]

    def _base(self, y: NDArray) -> Numbers:
        return Numbers(y)

    def _view(self, state: Rounds) -> dict[str, Any]:
        scale, sets = state.scale(state.out_of_fold), state.sets()
        measured = {name: (state.nll(*each, scale), *_spread(state, scale, *each)) for name, each in sets.items()}
        return spread_event(measured, self._unit[1])

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
        check_flags(return_std=return_std)
        rows = self._checked_columns(X)
        return self.model_.spread(rows) if return_std else self.model_.mean(self.model_.raw(rows))

    def log_density(self, X: ArrayLike, y: ArrayLike, tails: bool = True) -> NDArray[np.float64]:
        """Return the logarithm of the predicted density at labels.

        Parameters
        ----------
        X : (n, d) array-like
        y : (n,) array-like
            Numbers, in the labels' unit.
        tails : bool, default=True
            Whether the density is Student's t around the mean, its degrees of freedom and its scale those of greatest
            likelihood on left-out rows: labels far out are then as likely as they were there. Otherwise it is normal,
            with the deviation of `predict`, as it is where there are no left-out rows to learn tails by.

        Returns
        -------
        (n,) float64
            In nats; of a density in 1 / the labels' unit.

        Raises
        ------
        DataError
            If there is not one finite number a row.
        """
        check_flags(tails=tails)
        mean, deviation = self.predict(X, return_std=True)
        return log_density(labels_of(y, len(mean)), mean, deviation, self.model_.scores if tails else None)

    def _width(self, coverage: float) -> float:
        return self.model_.width(coverage)

    def _sizes(self, meta: dict[str, Any]) -> dict[str, int]:
        return {"K": 1}


def _spread(state: Rounds, scale: float, scores: Scores, sample: Sample) -> tuple[float, float, float]:
    """Return RMSE, share within 1.645 sigma and mean sigma, in standardised units."""
    residual = sample.base.y - scores.f[:, 0]
    sigma = np.exp(0.5 * (np.log(scale) + state.link.log_variance(scores.d)))
    averages = (residual**2, np.abs(residual) <= Z90 * sigma, sigma)
    square, share, mean = (state.mean(each, sample) for each in averages)
    return float(np.sqrt(square)), share, mean
