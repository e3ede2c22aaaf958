"""The peers: what a user does without a method for heterogeneous data (section 5 of the GBC paper, eq. 5.20).

All tables are joined side by side, with each instance's adjacency row of every graph beside them, missing cells take
their column's mean, and one ordinary learner gets the lot:

| class | learner | unlabelled rows |
|---|---|---|
| JoinedSVM | RBF support vector machine | not used |
| SelfTrainedSVM | the same | the most confident become labelled, round by round |
| JoinedGBDT | gradient boosted trees (CatBoost) | not used |
| SelfTrainedGBDT | the same | the most confident become labelled, round by round |
| NeighborMeansGBDT | the same | not used; the mean label of an instance's labelled neighbours is a column |

`TargetSVM`, the peer of transfer boosting, takes plain tables.

Each does classification and regression, by the data's `target_kind`, and is transductive as the other methods here are:
`fit(data)` sees all instances and the known labels, `predict(data)` gives a value for each instance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hetcore.baselines.base import Baseline, SelfTraining
from hetcore.baselines.features import Joined, neighbor_means
from hetcore.baselines.learners import BoostedTrees, KernelMachine
from hetcore.data import HetData
from hetcore.data.identity import positions
from hetcore.parameters import Domain, Flag, Interval, OneOf, Seed, Whole, param
from hetcore.transfer.target_svm import TargetSVM

__all__ = [
    "JoinedGBDT",
    "JoinedSVM",
    "NeighborMeansGBDT",
    "SelfTrainedGBDT",
    "SelfTrainedSVM",
    "TargetSVM",
]


POSITIVES = Domain(lambda v: len(v) > 0 and min(v) > 0, "one or more positive numbers: give such as (1.0, 10.0)")


class JoinedSVM(Baseline):
    """RBF support vector machine (regression: SVR) on the joined sources.

    Table columns are standardised; TF-IDF weights and links keep their own scale. Cost and kernel width are chosen by
    cross-validation on the labelled rows. Probabilities are the softmax of the decision values at a fitted temperature.

    Attributes
    ----------
    classes_ : (K,) array of str
        Sorted; empty after a regression.
    """

    fill = "mean"

    adjacency: bool = param(True, Flag(), "Whether the graphs' adjacency rows are joined, or the tables alone.")
    costs: Sequence[float] = param((1.0, 10.0), POSITIVES, "Costs C to choose from.")
    widths: Sequence[float] = param(
        (0.1, 0.3, 1.0), POSITIVES, "Widths to choose from: exp(-width |a - b|^2 / v), v the columns' variance."
    )
    n_folds: int = param(5, Whole(2), "Folds of the cross-validation.")
    widen: bool = param(False, Flag(), "Whether the grid grows while its best lies on an edge.")
    random_state: int | None = param(0, Seed(), "Seed of the folds.")

    def _new_learner(self, n_classes: int) -> KernelMachine:
        return KernelMachine(
            n_classes=n_classes,
            costs=self.costs,
            widths=self.widths,
            n_folds=self.n_folds,
            random_state=self.random_state,
            widen=self.widen,
        )


class SelfTrainedSVM(SelfTraining, JoinedSVM):
    """JoinedSVM that also labels unlabelled rows by itself, the most confident first.

    Cost and width are chosen once, on the true labels.
    """


class JoinedGBDT(Baseline):
    """Gradient boosted trees (CatBoost, one thread) on the joined sources.

    Attributes
    ----------
    classes_ : (K,) array of str
        Sorted; empty after a regression.
    """

    adjacency: bool = param(True, Flag(), "Whether the graphs' adjacency rows are joined, or the tables alone.")
    n_iterations: int = param(600, Whole(1), "Trees.")
    learning_rate: float | None = param(
        0.03, Interval(0, 1, "(]").or_none(), "Shrinkage; None lets CatBoost choose by the number of rows and trees."
    )
    max_depth: int = param(4, Whole(1, 16), "Depth of a tree.")
    column_sample: float = param(
        0.2,
        Interval(0, 1, "(]"),
        "Share of the columns that each split looks at. The joined tables are wide: on those measured, 0.2 has the "
        "error of 1 within its spread, several times faster.",
    )
    fill: str = param(
        "mean", OneOf("mean", "nan"), "What missing cells become: the column's mean, (5.20), or left to the trees."
    )
    random_state: int | None = param(0, Seed(), "Seed.")

    def _new_learner(self, n_classes: int) -> BoostedTrees:
        return BoostedTrees(
            n_classes,
            self.random_state,
            iterations=self.n_iterations,
            learning_rate=self.learning_rate,
            depth=self.max_depth,
            rsm=self.column_sample,
        )


class SelfTrainedGBDT(SelfTraining, JoinedGBDT):
    """JoinedGBDT that also labels unlabelled rows by itself, the most confident first."""


class NeighborMeansGBDT(JoinedGBDT):
    """JoinedGBDT with one more column for each graph (and class): the mean label of the labelled neighbours.

    An instance's own label never takes part; NaN stands where no neighbour is labelled. In `predict`, the labels are
    those of the training data.
    """

    adjacency = False

    def _join(self, data: HetData) -> Joined:
        joined, labels = super()._join(data), self._labels_of(data)
        # a graph that the data lack
        none = np.full(labels.shape, np.nan, dtype=np.float32)
        means = [neighbor_means(data.graphs[g], labels) if g in data.graphs else none for g in self._graph_names]
        return joined._replace(tables=np.hstack([joined.tables, *means]))

    def _labels_of(self, data: HetData) -> NDArray[np.float64]:
        """Return the training labels of the data's instances, (n, 1) or (n, K) as 0 and 1; NaN where unknown."""
        place = positions(data.id_series, self._ids)
        # an instance that the fit did not see has no label; place -1 reads the last one, which `known` masks
        known = (place >= 0) & self._known[place]
        labels = self._labels[place]
        columns = labels[:, None] == np.arange(len(self.classes_)) if len(self.classes_) else labels[:, None]
        return np.where(known[:, None], columns, np.nan)
