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

from hetcore.baselines.base import Baseline, SelfTraining, check_at_least, check_share
from hetcore.baselines.features import Joined, joined_features, neighbor_means
from hetcore.baselines.learners import BoostedTrees, KernelMachine
from hetcore.data import HetData
from hetcore.data.identity import positions
from hetcore.errors import ParameterError
from hetcore.transfer.target_svm import TargetSVM

__all__ = [
    "JoinedGBDT",
    "JoinedSVM",
    "NeighborMeansGBDT",
    "SelfTrainedGBDT",
    "SelfTrainedSVM",
    "TargetSVM",
    "joined_features",
]


class JoinedSVM(Baseline):
    """RBF support vector machine (regression: SVR) on the joined sources.

    Table columns are standardised; TF-IDF weights and links keep their own scale. Cost and kernel width are chosen by
    cross-validation on the labelled rows. Probabilities are the softmax of the decision values at a fitted temperature.

    Parameters
    ----------
    adjacency : bool, default=True
        Whether the graphs' adjacency rows are joined, or the tables alone.
    costs : sequence of float, default=(1.0, 10.0)
        Costs C > 0 to choose from.
    widths : sequence of float, default=(0.1, 0.3, 1.0)
        Kernel widths > 0 to choose from: the kernel is exp(-width |a - b|^2 / v), v the total variance of the columns.
    n_folds : int, default=5
        Folds of the cross-validation, at least 2.
    random_state : int or None, default=0
        Seed of the folds.

    Attributes
    ----------
    classes_ : (K,) array of str
        Sorted; empty after a regression.
    """

    fill = "mean"

    def __init__(
        self,
        *,
        adjacency: bool = True,
        costs: Sequence[float] = (1.0, 10.0),
        widths: Sequence[float] = (0.1, 0.3, 1.0),
        n_folds: int = 5,
        random_state: int | None = 0,
    ) -> None:
        self.adjacency, self.costs, self.widths = adjacency, costs, widths
        self.n_folds, self.random_state = n_folds, random_state

    def _new_learner(self, n_classes: int) -> KernelMachine:
        check_at_least(n_folds=(self.n_folds, 2))
        for name, values in (("costs", self.costs), ("widths", self.widths)):
            if not len(values) or not min(values) > 0:
                raise ParameterError(
                    f"{name}={values!r} must be one or more positive numbers: give such as (1.0, 10.0)."
                )
        return KernelMachine(n_classes, self.costs, self.widths, self.n_folds, self.random_state)


class SelfTrainedSVM(SelfTraining, JoinedSVM):
    """JoinedSVM that also labels unlabelled rows by itself, the most confident first.

    Parameters
    ----------
    adjacency, costs, widths, n_folds, random_state
        As in `JoinedSVM`; cost and width are chosen once, on the true labels.
    n_rounds : int, default=3
        Rounds of self-training, at least 0.
    share : float, default=0.25
        Share in (0, 1] of the unlabelled rows that each round adds.
    """

    def __init__(
        self,
        *,
        adjacency: bool = True,
        costs: Sequence[float] = (1.0, 10.0),
        widths: Sequence[float] = (0.1, 0.3, 1.0),
        n_folds: int = 5,
        n_rounds: int = 3,
        share: float = 0.25,
        random_state: int | None = 0,
    ) -> None:
        super().__init__(adjacency=adjacency, costs=costs, widths=widths, n_folds=n_folds, random_state=random_state)
        self.n_rounds, self.share = n_rounds, share


class JoinedGBDT(Baseline):
    """Gradient boosted trees (CatBoost, one thread) on the joined sources.

    Parameters
    ----------
    adjacency : bool, default=True
        Whether the graphs' adjacency rows are joined, or the tables alone.
    n_iterations : int, default=600
        Trees, at least 1.
    learning_rate : float or None, default=0.03
        Shrinkage in (0, 1]; None lets CatBoost choose by the number of rows and trees.
    max_depth : int, default=4
        Depth of a tree in [1, 16].
    column_sample : float, default=0.2
        Share in (0, 1] of the columns that each split looks at. The joined tables are wide: on those measured, 0.2 has
        the error of 1 within its spread, several times faster.
    fill : {"mean", "nan"}, default="mean"
        What missing cells become: the column's mean as in eq. (5.20), or left to the trees.
    random_state : int or None, default=0
        Seed.

    Attributes
    ----------
    classes_ : (K,) array of str
        Sorted; empty after a regression.
    """

    def __init__(
        self,
        *,
        adjacency: bool = True,
        n_iterations: int = 600,
        learning_rate: float | None = 0.03,
        max_depth: int = 4,
        column_sample: float = 0.2,
        fill: str = "mean",
        random_state: int | None = 0,
    ) -> None:
        self.adjacency, self.n_iterations, self.learning_rate = adjacency, n_iterations, learning_rate
        self.max_depth, self.column_sample, self.fill, self.random_state = max_depth, column_sample, fill, random_state

    def _new_learner(self, n_classes: int) -> BoostedTrees:
        check_at_least(n_iterations=(self.n_iterations, 1), max_depth=(self.max_depth, 1))
        check_share(column_sample=self.column_sample)
        if self.learning_rate is not None:
            check_share(learning_rate=self.learning_rate)
        return BoostedTrees(
            n_classes,
            self.random_state,
            iterations=self.n_iterations,
            learning_rate=self.learning_rate,
            depth=self.max_depth,
            rsm=self.column_sample,
        )


class SelfTrainedGBDT(SelfTraining, JoinedGBDT):
    """JoinedGBDT that also labels unlabelled rows by itself, the most confident first.

    Parameters
    ----------
    adjacency, n_iterations, learning_rate, max_depth, column_sample, fill, random_state
        As in `JoinedGBDT`.
    n_rounds : int, default=3
        Rounds of self-training, at least 0.
    share : float, default=0.25
        Share in (0, 1] of the unlabelled rows that each round adds.
    """

    def __init__(
        self,
        *,
        adjacency: bool = True,
        n_iterations: int = 600,
        learning_rate: float | None = 0.03,
        max_depth: int = 4,
        column_sample: float = 0.2,
        fill: str = "mean",
        n_rounds: int = 3,
        share: float = 0.25,
        random_state: int | None = 0,
    ) -> None:
        super().__init__(
            adjacency=adjacency,
            n_iterations=n_iterations,
            learning_rate=learning_rate,
            max_depth=max_depth,
            column_sample=column_sample,
            fill=fill,
            random_state=random_state,
        )
        self.n_rounds, self.share = n_rounds, share


class NeighborMeansGBDT(JoinedGBDT):
    """JoinedGBDT with one more column for each graph (and class): the mean label of the labelled neighbours.

    An instance's own label never takes part; NaN stands where no neighbour is labelled. In `predict`, the labels are
    those of the training data.

    Parameters
    ----------
    adjacency : bool, default=False
        Whether adjacency rows are joined as well.
    n_iterations, learning_rate, max_depth, column_sample, fill, random_state
        As in `JoinedGBDT`.
    """

    def __init__(
        self,
        *,
        adjacency: bool = False,
        n_iterations: int = 600,
        learning_rate: float | None = 0.03,
        max_depth: int = 4,
        column_sample: float = 0.2,
        fill: str = "mean",
        random_state: int | None = 0,
    ) -> None:
        super().__init__(
            adjacency=adjacency,
            n_iterations=n_iterations,
            learning_rate=learning_rate,
            max_depth=max_depth,
            column_sample=column_sample,
            fill=fill,
            random_state=random_state,
        )

    def _join(self, data: HetData) -> Joined:
        joined, labels = super()._join(data), self._labels_of(data)
        none = np.full(labels.shape, np.nan, dtype=np.float32)
        means = [neighbor_means(data.graphs[g], labels) if g in data.graphs else none for g in self._graph_names]
        return joined._replace(tables=np.hstack([joined.tables, *means]))

    def _labels_of(self, data: HetData) -> NDArray[np.float64]:
        """Return the training labels of the data's instances, (n, 1) or (n, K) as 0 and 1; NaN where unknown."""
        place = positions(data.id_series, self._ids)
        told = (place >= 0) & self._known[place]
        labels = self._labels[place]
        columns = labels[:, None] == np.arange(len(self.classes_)) if len(self.classes_) else labels[:, None]
        return np.where(told[:, None], columns, np.nan)
