"""The two learners of the baselines over joined features: an RBF support vector machine and CatBoost's trees.

Both have the same three methods. `prepare(joined)` takes the training features, all rows; `fit(rows, y)` learns from
some of them, `y` being class codes 0..K-1 or numbers; `scores(joined)` returns probabilities (n, K), or values (n,).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from catboost import CatBoostClassifier, CatBoostRegressor
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.svm import SVC, SVR

from hetcore.baselines.features import Joined
from hetcore.data.splits import stratified

__all__ = ["BoostedTrees", "KernelMachine"]

BLOCK = 4096  # rows of a kernel matrix at once
N_BINS = 32  # the error of CatBoost's 254 within its spread on mfeat and the movies, up to three times faster
WIDENINGS, COST_FACTOR, WIDTH_FACTOR = 4, 10.0, 3.0
FLAT = -1e9  # decision value of a class that the training rows lack


class KernelMachine:
    """SVM (n_classes >= 1) or SVR (n_classes = 0) with the RBF kernel exp(-g |a - b|^2).

    Table columns are standardised. Words keep their TF-IDF and links their weight: dividing by the tiny deviation of a
    rare word or of one instance's links would make the rarest the loudest (on the movie ratings, 50% labelled, RMSE
    0.82 as they are, 0.91 standardised). g = width / (total variance of the columns). Cost and width are chosen by
    cross-validation in the first fit and then kept. A probability is the softmax of the decision values over a
    temperature, fitted to the held-out decision values.

    Parameters
    ----------
    n_classes : int
        0 for a regression.
    costs, widths : sequence of float
        The costs C and the widths to try.
    n_folds : int
        Folds of the cross-validation.
    random_state : int or None
        Seed of the folds.
    widen : bool, default=False
        Whether the grid grows, by a factor of 10 in cost and of 3 in width, while its best lies on an edge; up to costs
        of 1e4 and widths of 81, and down to one over these.
    """

    def __init__(
        self,
        n_classes: int,
        costs: Sequence[float],
        widths: Sequence[float],
        n_folds: int,
        random_state: int | None,
        widen: bool = False,
    ) -> None:
        self.n_classes, self.n_folds, self.widen = n_classes, n_folds, widen
        self.grid = [(cost, width) for cost in sorted(costs) for width in sorted(widths)]
        self.chosen = self.grid[0] if len(self.grid) == 1 else None
        self.temperature = 1.0
        self._rng = np.random.default_rng(random_state)

    def prepare(self, joined: Joined) -> None:
        """Take the training features and learn the scale of each column."""
        deviation = joined.tables.std(axis=0, dtype=np.float64)
        self._centre = joined.tables.mean(axis=0, dtype=np.float64)
        # words are scaled by their rows already
        self._scale = np.where(joined.words, 1.0, _inverse(deviation))
        self._features = self._scaled(joined)
        spread = self._features.tables.var(axis=0).sum() + _total_variance(joined.links)
        # columns that all are constant: any width does
        self._unit_width = 1.0 / spread if spread > 0 else 1.0

    def fit(self, rows: NDArray[np.int64], y: NDArray) -> None:
        """Learn from some rows of the training features; the first time, choose cost and width on them."""
        self._support = _Points(*(part[rows] for part in self._features))
        distances = self._distances(self._support)
        # labels that are all the same have no deviation
        self._shift, self._unit = (0.0, 1.0) if self.n_classes else (y.mean(), y.std() or 1.0)
        target = y if self.n_classes else (y - self._shift) / self._unit
        if self.chosen is None:
            self.chosen = self._best_of_grid(distances, target)
        cost, width = self.chosen
        self._model = self._machine(self._kernel(distances, width), target, cost)

    def scores(self, joined: Joined | None = None) -> NDArray[np.float64]:
        """Return probabilities (n, K) or values (n,) of some features, of the training features by default."""
        points = self._features if joined is None else self._scaled(joined)
        # in blocks: a kernel matrix of all rows and support points may not fit
        raw = np.concatenate([self._decided(points, start) for start in range(0, len(points.lengths), BLOCK)])
        return softmax(raw / self.temperature, axis=1) if self.n_classes else raw * self._unit + self._shift

    def _decided(self, points: _Points, start: int) -> NDArray[np.float64]:
        block = _Points(*(part[start : start + BLOCK] for part in points))
        return self._decide(self._model, self._kernel(self._distances(block), self.chosen[1]))

    def _scaled(self, joined: Joined) -> _Points:
        tables = (joined.tables - self._centre) * self._scale
        return _Points(tables, joined.links, (tables**2).sum(axis=1) + joined.links.power(2).sum(axis=1))

    def _distances(self, points: _Points) -> NDArray[np.float64]:
        """Return squared distances (points, support)."""
        distances = points.tables @ self._support.tables.T
        distances += (points.links @ self._support.links.T).toarray()
        # in place: |a|^2 - 2 a b + |b|^2 needs one matrix, not three
        distances *= -2.0
        distances += points.lengths[:, None] + self._support.lengths
        # rounding can leave a distance a little below 0
        return np.maximum(distances, 0.0, out=distances)

    def _kernel(self, distances: NDArray, width: float) -> NDArray[np.float64]:
        return np.exp(distances * (-width * self._unit_width))

    def _machine(self, kernel: NDArray, y: NDArray, cost: float) -> Any:
        if self.n_classes and len(np.unique(y)) == 1:
            # one class in a fold: SVC would raise
            return int(y[0])
        learner = SVC(C=cost, kernel="precomputed") if self.n_classes else SVR(C=cost, kernel="precomputed")
        return learner.fit(kernel, y)

    def _decide(self, machine: Any, kernel: NDArray) -> NDArray[np.float64]:
        """Return decision values (n, K), or values (n,)."""
        if not self.n_classes:
            return machine.predict(kernel)
        # a class that the rows lack can't win
        values = np.full((len(kernel), self.n_classes), FLAT)
        if isinstance(machine, int):
            values[:, machine] = 0.0
            return values
        decided = machine.decision_function(kernel)
        values[:, machine.classes_] = np.column_stack([-decided, decided]) if decided.ndim == 1 else decided
        return values

    def _best_of_grid(self, distances: NDArray, y: NDArray) -> tuple[float, float]:
        """Return cost and width of least held-out loss (at equal loss the smallest), and set the temperature there."""
        folds, held_out = stratified(y, self.n_folds, self._rng), {}
        for _ in range(4 * WIDENINGS + 1 if self.widen else 1):
            for cost, width in self.grid:
                # points of the old grid are not computed again
                if (cost, width) not in held_out:
                    held_out[cost, width] = self._held_out(self._kernel(distances, width), y, folds, cost)
            # ties to the smallest cost and width
            best = min(self.grid, key=lambda point: (self._loss(held_out[point], y), point))
            wider = _widened(self.grid, best)
            if wider == self.grid:
                break
            self.grid = wider if self.widen else self.grid
        if self.n_classes:
            # on held-out decisions: those of its own rows are too sure
            self.temperature = _best_temperature(held_out[best], y)
        return best

    def _held_out(self, kernel: NDArray, y: NDArray, folds: NDArray, cost: float) -> NDArray[np.float64]:
        values = np.zeros((len(y), self.n_classes) if self.n_classes else len(y))
        for fold in np.unique(folds):
            out, into = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
            # a fold that holds every row has nothing to learn from
            if len(into):
                machine = self._machine(kernel[np.ix_(into, into)], y[into], cost)
                values[out] = self._decide(machine, kernel[np.ix_(out, into)])
        return values

    def _loss(self, values: NDArray, y: NDArray) -> float:
        return float(np.mean(values.argmax(axis=1) != y) if self.n_classes else np.mean((values - y) ** 2))


class BoostedTrees:
    """CatBoost, one thread, on the table columns and those link columns that vary over the training rows.

    Parameters
    ----------
    n_classes : int
        0 for a regression.
    random_state : int or None
        Seed.
    **options
        Passed to CatBoost; None leaves CatBoost its default.
    """

    def __init__(self, n_classes: int, random_state: int | None, **options: Any) -> None:
        self.n_classes = n_classes
        self._options = {name: value for name, value in options.items() if value is not None}
        self._options |= {
            "random_seed": random_state,
            "thread_count": 1,
            "border_count": N_BINS,
            "verbose": False,
            "allow_writing_files": False,
        }

    def prepare(self, joined: Joined) -> None:
        """Take the training features."""
        self._features = joined

    def fit(self, rows: NDArray[np.int64], y: NDArray) -> None:
        """Learn from some rows of the training features."""
        links = self._features.links[rows]
        # a link column that is 0 in all training rows can't be split by
        self._varying = np.unique(links.indices)
        if self.n_classes and len(np.unique(y)) == 1:
            self._model = int(y[0])
            return
        self._model = (CatBoostClassifier if self.n_classes else CatBoostRegressor)(**self._options)
        self._model.fit(self._matrix(self._features._replace(tables=self._features.tables[rows], links=links)), y)

    def scores(self, joined: Joined | None = None) -> NDArray[np.float64]:
        """Return probabilities (n, K) or values (n,) of some features, of the training features by default."""
        joined = self._features if joined is None else joined
        if not self.n_classes:
            return self._model.predict(self._matrix(joined))
        probabilities = np.zeros((len(joined.tables), self.n_classes))
        if isinstance(self._model, int):
            probabilities[:, self._model] = 1.0
        else:
            probabilities[:, self._model.classes_.astype(np.int64)] = self._model.predict_proba(self._matrix(joined))
        return probabilities

    def _matrix(self, joined: Joined) -> NDArray[np.float32]:
        return np.hstack([joined.tables, joined.links[:, self._varying].toarray()])


class _Points(NamedTuple):
    """Scaled tables (n, d), links (n, e), and the squared lengths (n,) of both together."""

    tables: NDArray[np.float64]
    links: scipy.sparse.csr_array
    lengths: NDArray[np.float64]


def _widened(grid: list[tuple[float, float]], best: tuple[float, float]) -> list[tuple[float, float]]:
    """Return the grid with a value more on each edge on which its best lies; the same if there is none."""
    axes = [sorted({point[axis] for point in grid}) for axis in (0, 1)]
    for values, chosen, factor in zip(axes, best, (COST_FACTOR, WIDTH_FACTOR)):
        # grown at the end where the best lies, a few times at most
        if chosen == values[-1] and chosen < factor**WIDENINGS:
            values.append(chosen * factor)
        if chosen == values[0] and chosen > factor**-WIDENINGS:
            values.insert(0, chosen / factor)
    return [(cost, width) for cost in axes[0] for width in axes[1]]


def _inverse(deviations: NDArray) -> NDArray[np.float64]:
    """Return 1 / deviation, and 0 for a column that does not vary."""
    varies = deviations > 1e-9 * max(deviations.max(initial=0.0), 1e-300)
    return np.where(varies, 1.0 / np.where(varies, deviations, 1.0), 0.0)


def _total_variance(links: scipy.sparse.csr_array) -> float:
    n = max(links.shape[0], 1)
    return float(links.power(2).sum(dtype=np.float64) / n - ((links.sum(axis=0, dtype=np.float64) / n) ** 2).sum())


def _best_temperature(decisions: NDArray, y: NDArray) -> float:
    """Return the temperature in [1/100, 100] at which the softmax of the decision values has the least log loss."""

    def loss(log_temperature: float) -> float:
        log_likelihoods = log_softmax(decisions / np.exp(log_temperature), axis=1)[np.arange(len(y)), y]
        # a few hopeless rows must not rule the temperature
        return -np.maximum(log_likelihoods, -50.0).mean()

    return float(np.exp(minimize_scalar(loss, bounds=(-np.log(100), np.log(100)), method="bounded").x))
