"""The weak learners of transfer boosting: weighted trees of our own over columns binned once, or a foreign classifier.

Both say +1 or -1, trees also a confidence-rated h in [-1, 1]. `fit(rows, signs, weights)` learns from some training
rows, `votes(model, rows)` gives what the model says of training rows, and a `Votes` keeps models with their scales and
scores any table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from hetcore.binning import BinMapper
from hetcore.errors import ParameterError
from hetcore.numerics import to_float32
from hetcore.trees import Forest, Tree, TreeParams, grow

__all__ = ["ForeignLearner", "ForeignVotes", "TreeLearner", "TreeVotes", "WeakLearner", "kish"]

LEAST_CHILD = 1e-10  # weight of a leaf, where the heaviest row weighs 1


def kish(weights: NDArray) -> NDArray[np.float64]:
    """Return weights (m,) of at least 0, not all 0, scaled to the number of rows that they amount to (Kish 1965)."""
    unit = weights / weights.max()
    return unit * (unit.sum() / (unit**2).sum())


class WeakLearner:
    """What a round asks of a weak learner for several candidates at once, one after the other."""

    fit: Callable[..., Any]
    votes: Callable[..., NDArray[np.float64]]

    def fit_each(self, candidates: Sequence[tuple[NDArray, NDArray, NDArray]]) -> list[Any]:
        """Return a model of each candidate's rows, signs and weights."""
        return [self.fit(*each) for each in candidates]

    def errors(
        self, models: Sequence[Any], rows: NDArray, signs: NDArray, weights: NDArray
    ) -> NDArray[np.float64]:
        """Return each model's weighted error on rows (m,), in [0, 1]."""
        missed = [float((weights * np.abs(self.votes(model, rows) - signs)).sum()) for model in models]
        return 0.5 * np.array(missed) / weights.sum()


class TreeLearner(WeakLearner):
    """Weighted trees; columns are binned once, for every round, candidate and class.

    A tree minimises the weighted squared error to the signs: for two classes that is the Gini index.

    Parameters
    ----------
    X : (n, d) float64
        NaN is missing.
    max_depth : int
    soft : bool, default=False
        Whether a leaf says the mean sign of its rows, with one row of sign 0 added, or the sign of the mean.
    """

    def __init__(self, X: NDArray, max_depth: int, soft: bool = False) -> None:
        self.mapper = BinMapper().fit(to_float32(X))
        self.binned = self.mapper.transform(to_float32(X))
        self.soft = soft
        self.params = TreeParams(
            max_depth=max_depth,
            max_leaf_nodes=-1,
            min_samples_leaf=1,
            min_child_weight=LEAST_CHILD,
            # confidence-rated leaves are shrunk by one row, signs need but a division that is defined
            l2=1.0 if soft else 1e-12,
            min_gain=0.0,
        )

    def new_votes(self) -> TreeVotes:
        """Return an empty sum of votes over tables like this one."""
        return TreeVotes(self.mapper)

    def fit(self, rows: NDArray, signs: NDArray, weights: NDArray) -> Tree:
        """Return a tree whose leaves vote, grown on `rows` (m,) with their signs and weights (m,)."""
        n = self.binned.shape[1]
        gradients, hessians = np.zeros(n, np.float32), np.zeros(n, np.float32)
        # confidence depends on how many rows there are in effect; a sign on their proportion alone
        hessians[rows] = kish(weights) if self.soft else weights / weights.max()
        gradients[rows] = -signs * hessians[rows]
        tree = grow(
            self.binned, gradients, hessians, rows=rows, columns=None, params=self.params, n_bins=self.mapper.n_bins
        )
        tree.values = np.clip(tree.values, -1.0, 1.0) if self.soft else np.where(tree.values > 0, 1.0, -1.0)
        return tree

    def taken(self, rows: NDArray) -> NDArray[np.uint8]:
        """Return training rows in the form that `votes_of` takes."""
        return np.ascontiguousarray(self.binned[:, rows])

    def votes(self, model: Tree, rows: NDArray) -> NDArray[np.float64]:
        """Return +1 or -1 for each of `rows`, (m,)."""
        return model.predict(self.binned, rows)[:, 0]

    def prepared(self, X: NDArray) -> NDArray[np.uint8]:
        """Return another table in the form that `votes_of` takes."""
        return self.mapper.transform(to_float32(X))

    def votes_of(self, model: Tree, prepared: NDArray) -> NDArray[np.float64]:
        """Return +1 or -1 for each row of a prepared table."""
        return model.predict(prepared)[:, 0]


class TreeVotes:
    """F(x) = sum over trees of scale * (+1 or -1)."""

    def __init__(self, mapper: BinMapper, forest: Forest | None = None) -> None:
        self.mapper, self.forest = mapper, forest if forest is not None else Forest(1)

    def __len__(self) -> int:
        return len(self.forest)

    def append(self, model: Tree, scale: float) -> None:
        """Add a tree."""
        self.forest.append(model, scale)

    def scores(self, X: NDArray) -> NDArray[np.float64]:
        """Return F (n,)."""
        # a few stumps read a few columns, and bins of all would take longer than the votes
        return self.forest.predict(self.mapper.transform(to_float32(X), columns=self.forest.columns))[:, 0]


class _Constant:
    def __init__(self, sign: float) -> None:
        self.sign = sign

    def predict(self, X: NDArray) -> NDArray[np.float64]:
        return np.full(len(X), self.sign)


class ForeignLearner(WeakLearner):
    """Any scikit-learn classifier that takes sample weights, cloned for each fit."""

    def __init__(self, X: NDArray, estimator: Any, random_state: int | None) -> None:
        if not has_fit_parameter(estimator, "sample_weight"):
            name = type(estimator).__name__
            raise ParameterError(f"estimator={name} takes no sample_weight in fit: boosting needs one that does.")
        self.X, self._estimator = X, estimator
        self._rng = np.random.default_rng(random_state)

    def new_votes(self) -> ForeignVotes:
        """Return an empty sum of votes."""
        return ForeignVotes()

    def fit(self, rows: NDArray, signs: NDArray, weights: NDArray) -> Any:
        """Return a classifier fitted to `rows` (m,) with their signs and weights (m,)."""
        # foreign classifiers refuse a single class
        if (signs == signs[0]).all():
            return _Constant(signs[0])
        model = clone(self._estimator)
        # a new seed for each round, from ours
        if "random_state" in model.get_params(deep=False):
            model.set_params(random_state=int(self._rng.integers(2**31)))
        # a weight of 0 is refused by some
        return model.fit(self.X[rows], signs, sample_weight=np.maximum(weights / weights.mean(), 1e-12))

    def votes(self, model: Any, rows: NDArray) -> NDArray[np.float64]:
        """Return +1 or -1 for each of `rows`, (m,)."""
        return np.asarray(model.predict(self.X[rows]), np.float64)

    def taken(self, rows: NDArray) -> NDArray[np.float64]:
        """Return training rows in the form that `votes_of` takes."""
        return self.X[rows]

    def prepared(self, X: NDArray) -> NDArray[np.float64]:
        """Return another table in the form that `votes_of` takes."""
        return X

    def votes_of(self, model: Any, prepared: NDArray) -> NDArray[np.float64]:
        """Return +1 or -1 for each row of a prepared table."""
        return np.asarray(model.predict(prepared), np.float64) if len(prepared) else np.empty(0)


class ForeignVotes:
    """F(x) = sum over foreign classifiers of scale * (+1 or -1)."""

    def __init__(self) -> None:
        self.models: list[tuple[Any, float]] = []

    def __len__(self) -> int:
        return len(self.models)

    def append(self, model: Any, scale: float) -> None:
        """Add a classifier."""
        self.models.append((model, scale))

    def scores(self, X: NDArray) -> NDArray[np.float64]:
        """Return F (n,)."""
        total = np.zeros(len(X))
        for model, scale in self.models:
            total += scale * np.asarray(model.predict(X), np.float64)
        return total
