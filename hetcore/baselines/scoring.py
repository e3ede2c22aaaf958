"""The learners of the transductive peers: each takes columns of all instances and some labels, and scores all.

Scores are probabilities (n, K), or numbers (n,). CatBoost grows 600 trees of depth 6, histogram boosting the hundred of
its default; where many columns or classes would cost many times the rest, above 100 columns each split looks at a fifth
of them, above two classes CatBoost's trees have depth 4, above ten there are half as many. Leaves shrink with the
labelled rows: histogram boosting's default of 20 rows a leaf can split no 30 rows. Costs of linear models and kernel
machines, and the gamma of these, are those of least error in three folds of the labelled rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import scipy.sparse
from catboost import CatBoostClassifier, CatBoostRegressor, FeaturesData, Pool
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.svm import SVC, SVR

from hetcore.baselines.encoded import TreeTable
from hetcore.baselines.labels import Labels
from hetcore.data.splits import stratified

__all__ = [
    "MACHINES", "catboost_scores", "histogram_scores", "least", "linear_scores", "placed", "support_vector_scores",
    "tuned_linear_scores",
]  # fmt: skip

MANY_COLUMNS, MANY_CLASSES = 100, 10
CATBOOST_TREES = 600
N_FOLDS = 3
MOST_TUNED = 1000  # labelled rows by which a cost is chosen
# first the default, which is taken where none errs less
COSTS = (1.0, 0.01, 0.1, 10.0, 100.0)
MACHINES = tuple((cost, gamma) for gamma in (1.0, 0.2, 5.0) for cost in (1.0, 0.1, 10.0, 100.0))
ALPHAS = np.logspace(-2, 4, 13)
SPARSE_ALPHAS = np.logspace(-1, 3, 5)


T = TypeVar("T")


def least(
    choices: Sequence[T],
    score: Callable[[Any, Labels, T], NDArray[np.float64]],
    X: NDArray | scipy.sparse.csr_array,
    labels: Labels,
    seed: int | None,
) -> T:
    """Return the choice whose scores of left-out labelled rows err least; the first of equals, or of too few rows.

    Parameters
    ----------
    choices : sequence
    score : callable
        Takes columns, labels and a choice.
    X : (n, d) array or CSR array
    labels : Labels
    seed : int or None
        Of the folds, and of the thousand rows where more are labelled.
    """
    if labels.rows.size < 2 * N_FOLDS:
        return choices[0]
    rng = np.random.default_rng(seed)
    some = np.sort(rng.permutation(labels.rows.size)[:MOST_TUNED])
    own, target = X[labels.rows[some]], labels.target[some]
    fold = stratified(target, N_FOLDS, rng)
    within = Labels(some.size, labels.n_classes, np.arange(some.size), target)

    def error(choice: T) -> float:
        found = np.zeros(some.size)
        for k in range(N_FOLDS):
            scores = score(own, within.kept(fold != k), choice)[fold == k]
            found[fold == k] = scores.argmax(axis=1) if labels.n_classes else scores
        return float(np.mean(found != target) if labels.n_classes else np.mean((found - target) ** 2))

    return min(choices, key=error)


def placed(probabilities: NDArray, classes: NDArray, n_classes: int) -> NDArray[np.float64]:
    """Return probabilities (n, K) of all classes, 0 for those that the training rows lack."""
    scores = np.zeros((len(probabilities), n_classes))
    # a class that the rows lacked gets 0
    scores[:, np.asarray(classes, np.int64)] = probabilities
    return scores


def catboost_scores(
    table: TreeTable, labels: Labels, seed: int | None, n_iterations: int = CATBOOST_TREES
) -> NDArray[np.float64]:
    """CatBoost, one thread, told which columns are categories."""
    # what does not vary among the labelled rows costs time and tells nothing
    table = table.varying(labels.rows)
    if labels.constant or not table.width:
        return labels.always()
    trees = n_iterations // 2 if labels.n_classes > MANY_CLASSES else n_iterations
    options: dict[str, Any] = {"iterations": trees, "depth": 4 if labels.n_classes > 2 else 6}
    if table.width > MANY_COLUMNS:
        options["rsm"] = 0.2
    quiet = {"thread_count": 1, "verbose": False, "allow_writing_files": False, "random_seed": seed}
    model = (CatBoostClassifier if labels.n_classes else CatBoostRegressor)(**options, **quiet)
    # CatBoost takes categories as bytes
    numbers, categories = table.numbers, table.categories.astype("S").astype(object)
    parts = {"num_feature_data": numbers, "cat_feature_data": categories}
    used = {name: part for name, part in parts.items() if part.shape[1]}
    own = {name: np.ascontiguousarray(part[labels.rows]) for name, part in used.items()}
    model.fit(Pool(FeaturesData(**own), labels.target))
    everyone = Pool(FeaturesData(**{name: np.ascontiguousarray(part) for name, part in used.items()}))
    if not labels.n_classes:
        return model.predict(everyone)
    return placed(model.predict_proba(everyone), model.classes_, labels.n_classes)


def histogram_scores(
    table: TreeTable, labels: Labels, seed: int | None, n_iterations: int | None = None
) -> NDArray[np.float64]:
    """scikit-learn's histogram boosting, told which columns are categories."""
    table = table.varying(labels.rows)
    if labels.constant or not table.width:
        return labels.always()
    # a tenth of few rows: the default of 20 can split no 30
    leaf = int(np.clip(labels.rows.size // 10, 1, 20))
    options: dict[str, Any] = {"min_samples_leaf": leaf, "random_state": seed, "early_stopping": False}
    if table.width > MANY_COLUMNS:
        options["max_features"] = 0.2
    if labels.n_classes > (2 if n_iterations else MANY_CLASSES):
        options |= {"max_iter": 50, "max_leaf_nodes": 15, "learning_rate": 0.2}
    if n_iterations:
        options["max_iter"] = n_iterations
    # a missing category is a missing number to scikit-learn
    codes = np.where(table.categories < 0, np.nan, table.categories)
    X = np.hstack([table.numbers, codes]).astype(np.float32)
    coded = np.arange(X.shape[1]) >= table.numbers.shape[1]
    maker = HistGradientBoostingClassifier if labels.n_classes else HistGradientBoostingRegressor
    model = maker(categorical_features=coded if coded.any() else None, **options).fit(X[labels.rows], labels.target)
    return placed(model.predict_proba(X), model.classes_, labels.n_classes) if labels.n_classes else model.predict(X)


def linear_scores(X: NDArray | scipy.sparse.csr_array, labels: Labels, cost: float = 1.0) -> NDArray[np.float64]:
    """Logistic regression with C = `cost`, or ridge, its penalty chosen left out (three folds where X is sparse)."""
    if labels.constant:
        return labels.always()
    own = X[labels.rows]
    if not labels.n_classes:
        few = scipy.sparse.issparse(X)
        # sparse columns have no closed leave-one-out: three folds
        model = RidgeCV(SPARSE_ALPHAS, cv=min(3, labels.rows.size)) if few else RidgeCV(ALPHAS)
        return model.fit(own, labels.target).predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 300 steps are enough to rank classes
        model = LogisticRegression(C=cost, max_iter=300).fit(own, labels.target)
    return placed(model.predict_proba(X), model.classes_, labels.n_classes)


def tuned_linear_scores(X: NDArray | scipy.sparse.csr_array, labels: Labels, seed: int | None) -> NDArray[np.float64]:
    """Return `linear_scores` at the C that errs least within the labels; ridge chooses its penalty itself."""
    cost = least(COSTS, linear_scores, X, labels, seed) if labels.n_classes else COSTS[0]
    return linear_scores(X, labels, cost)


def support_vector_scores(
    X: NDArray | scipy.sparse.csr_array, labels: Labels, machine: tuple[float, float] = MACHINES[0]
) -> NDArray[np.float64]:
    """RBF machine of a cost C and a gamma, in units of scikit-learn's "scale"; numbers are standardised for it.

    Probabilities are the softmax of the decision values: they rank the classes as the machine does.
    """
    if labels.constant:
        return labels.always()
    own, (cost, gamma) = X[labels.rows], machine
    values = own.data if scipy.sparse.issparse(own) else own
    squares = float((values**2).sum()) / np.prod(own.shape) - float(values.sum() / np.prod(own.shape)) ** 2
    given = {"C": cost, "gamma": gamma / (own.shape[1] * squares) if squares > 0 else gamma}
    if not labels.n_classes:
        mean, deviation = labels.target.mean(), labels.target.std()
        return mean + deviation * SVR(**given).fit(own, (labels.target - mean) / deviation).predict(X)
    model = SVC(**given, decision_function_shape="ovr").fit(own, labels.target)
    decided = model.decision_function(X)
    shares = np.column_stack([expit(-decided), expit(decided)]) if decided.ndim == 1 else softmax(decided, axis=1)
    return placed(shares, model.classes_, labels.n_classes)
