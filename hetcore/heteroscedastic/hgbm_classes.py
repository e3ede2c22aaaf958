"""HGBM for classes: gradient boosting that learns which labels to trust; see `hetcore.heteroscedastic.hgbm`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets

from hetcore.base import ClassifierScore
from hetcore.checks import typed_labels
from hetcore.errors import DataError
from hetcore.heteroscedastic.boosting import Rounds
from hetcore.heteroscedastic.estimator import DeviationBoosting, DeviationProblem
from hetcore.heteroscedastic.forest_ensemble import Sample, Scores
from hetcore.heteroscedastic.likelihoods import class_probabilities
from hetcore.heteroscedastic.objectives import LEAST_HESSIAN, Labels
from hetcore.heteroscedastic.tree_size import sized
from hetcore.parameters import Interval, OneOf, SeedAndThreads, Slider, Whole, param
from hetcore.registry import MemoryNeed, estimator
from hetcore.schema import ClassLabels, Value

__all__ = ["HGBMClassifier"]

LEAVES, SHARE = Whole(2, also={-1: "no limit"}), Interval(0, 1, "(]")


@estimator(MemoryNeed(cell=40, score=360))
class HGBMClassifier(ClassifierScore, DeviationBoosting, SeedAndThreads):
    """Heteroscedastic gradient boosting for classes: which labels to trust, and where.

    Each event (`RoundEnd`) is one round. Its `losses` are mean negative log likelihoods of the labels: "train",
    "left_out" (rows scored by the member that has not seen them; with `folds` > 1) and "held_out" (with `eval_set`).
    Its `detail` has "metric_name": "error", and "metric" and "mean_deviation" by the same sets of rows: the share of
    wrong classes, and the mean share of labels drawn blindly, in [0, 1]; "choices" is {"max_leaf_nodes"}, where that
    was "auto".

    Attributes
    ----------
    classes_ : (C,) ndarray
        Class labels.
    max_leaf_nodes_ : int
        Most leaves of a tree of this fit.
    instance_weights_, n_iterations_, best_iteration_, history_, n_features_in_
        As of `HGBMRegressor`.

    References
    ----------
    Lee, Yang, Lin, Lin, "Heteroscedastic learning and its realization on matrix factorization and gradient boosting
    regression/classification", 2017: sections 2.4 and 3.2, (8) to (10), (17) to (24).
    """

    # files of before have the leaves among their parameters
    _stored = {"classes": ClassLabels(), "max_leaf_nodes": Value(LEAVES, absent=None)} | DeviationBoosting._stored

    patience = 20
    max_leaf_nodes: int | str = param(
        "auto",
        LEAVES.or_text("auto"),
        'Most leaves of a tree, grown best gain first. "auto" is 4 with `folds=1` and as printed; else of 4, 8, 16, 32 '
        "and 64 the last that lowered the loss of left-out rows, by more than its standard error where they are fewer "
        "than 1,000, told by boosting that counts all rows alike, on 10,000 rows at most. The choice is "
        "`max_leaf_nodes_`.",
        Slider("Leaves", 2, 64, 1),
    )
    subsample: float | str = param(
        "auto",
        SHARE.or_text("auto"),
        'Share of its rows that a tree is grown on; "auto" is 0.8, or 0.5 of fewer than 1,000 rows unless their '
        "leaves were chosen with 0.8.",
    )
    column_sample: float | str = param(
        "auto",
        SHARE.or_text("auto"),
        'Share of the columns that a tree may split by, three columns at least; "auto" is 0.7 where `subsample` is '
        "0.8, else 0.4.",
    )
    link: str = param(
        "flips", OneOf("flips", "sigmoid"), "A share eps(x) of the labels is drawn blindly; or (10), a bounded weight."
    )

    def _start(self, problem: DeviationProblem) -> Rounds:
        params = sized(problem.train, problem.params, problem.mapper)
        self.max_leaf_nodes_ = params["max_leaf_nodes"]
        return super()._start(problem._replace(params=params))

    def _targets(self, y: NDArray, weights: NDArray) -> NDArray:
        y = typed_labels(y)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if self.classes_.size < 2:
            raise DataError(f"The labels hold one class, {self.classes_[0]}: give rows of two classes at least.")
        return self._coded(y)

    def _coded(self, y: NDArray) -> NDArray:
        places = {label: place for place, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in np.unique(y).tolist() if label not in places]
        # a class that training lacks has no probability to be scored by
        if unknown:
            raise DataError(f"eval_set has the class {unknown[0]!r}, which the training labels lack: leave it out.")
        return np.array([places[label] for label in y.tolist()], np.int64)

    def _base(self, y: NDArray) -> Labels:
        # as printed second derivatives are clipped at 0 alone
        return Labels(y, self.classes_.size, 0.0 if self.as_printed else LEAST_HESSIAN)

    def _view(self, state: Rounds) -> dict[str, Any]:
        sets = state.sets()
        return {
            "losses": {name: state.nll(*each, state.scale(state.out_of_fold)) for name, each in sets.items()},
            "detail": {
                "metric_name": "error",
                "metric": {name: _error(state, *each) for name, each in sets.items()},
                "mean_deviation": {name: _mean_share(state, *each) for name, each in sets.items()},
            }
            | self._choices(),
        }

    def _choices(self) -> dict[str, Any]:
        auto = self.max_leaf_nodes == "auto"
        return {"choices": {"max_leaf_nodes": self.max_leaf_nodes_}} if auto else {}

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return `predict_proba` as (n,) log-odds, above 0 for the second class, or (n, C) ln probabilities."""
        # below that a logarithm is minus infinity
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
        share = self.model_.scale * self.model_.link.share(scores.d)[:, None]
        return (1.0 - share) * class_probabilities(scores.f) + share / self.classes_.size

    def predict_deviation(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the deviation of each row (n,): the share in [0, 1] of labels there that are drawn blindly.

        With `link="sigmoid"`, alpha s(d) + delta of (10).
        """
        d = self._checked(X).d
        return self.model_.link.deviation_of(d)

    def _restored(self, sizes: dict[str, int]) -> str:
        if self.max_leaf_nodes_ is None:
            self.max_leaf_nodes_ = self.max_leaf_nodes
        return super()._restored(sizes)

    def _sizes(self, meta: dict[str, Any]) -> dict[str, int]:
        return {"K": 1 if len(meta["classes"]) == 2 else len(meta["classes"])}


def _mean_share(state: Rounds, scores: Scores, sample: Sample) -> float:
    return state.mean(state.link.share(scores.d), sample)


def _error(state: Rounds, scores: Scores, sample: Sample) -> float:
    likeliest = scores.f[:, 0] > 0 if scores.f.shape[1] == 1 else scores.f.argmax(axis=1)
    return state.mean(likeliest != sample.base.codes, sample)
