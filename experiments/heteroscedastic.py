"""Protocol of Table 4: heteroscedastic boosting beside boosting, labels clean or noisy.

Key of a cell: data, noise, method, split. 80% of the rows to train on. Noisy: of each class a fifth of the training
labels are flipped, or N(0, 0.1 var) is added to a fifth of them, var being that of the training labels; test labels
stay clean. Body fat is predicted as its density, as in the paper, the fat among the columns.

"as printed" is `as_printed=True`; all that it has is chosen on a fifth of the training rows (`TUNED`), and the model
fitted again on all of them: depth, lambda, gamma and rounds, of HGBM alpha, Delta d and lambda-bar too, of GBM as many
settings by more values of lambda. The paper says neither what it tunes nor among what. The other methods have their
default parameters. GBM is HGBM with a constant deviation: same trees, same members, same early stopping.
"""

from __future__ import annotations

import itertools
import time
from functools import cache
from typing import Any

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray

from hetcore.data.plain import plain_table
from hetcore.heteroscedastic.hgbm import HGBMRegressor
from hetcore.heteroscedastic.hgbm_classes import HGBMClassifier

__all__ = ["CLASSIFICATIONS", "METHODS", "REGRESSIONS", "divided", "noisy", "run_cell", "table", "with_noise"]

REGRESSIONS = ("pyrim", "bodyfat", "housing", "abalone", "cpu_small")
CLASSIFICATIONS = ("thyroid", "heart", "breast_cancer", "diabetes", "german")
NOISY_SHARE, NOISE_VARIANCE = 0.2, 0.1

BUNDLED = {"iris": "load_iris", "wine": "load_wine", "wisconsin": "load_breast_cancer"}  # of scikit-learn
Table = tuple[NDArray, NDArray]


@cache
def table(name: str) -> Table:
    """Return X and y of a data set of the project, a problem of the suite, or a table of scikit-learn's."""
    import datasets  # beside hetcore, not below it: only experiments need it
    from datasets import suite

    if name in BUNDLED:
        X, y = getattr(sklearn.datasets, BUNDLED[name])(return_X_y=True)
        return X, y.astype(str)
    X, y, columns = plain_table((suite if name in suite.names() else datasets).load(name))
    if name == "bodyfat":
        at = columns.index("Density")
        X[:, at], y = y, X[:, at].copy()
    return X, y if y.dtype.kind == "f" else y.astype(str)


def divided(n: int, share: float, split: int) -> tuple[NDArray, NDArray]:
    """Return the training rows and the test rows of a split."""
    order = np.random.default_rng(split).permutation(n)
    return order[: int(share * n)], order[int(share * n) :]


def noisy(y: NDArray, split: int, share: float = NOISY_SHARE) -> NDArray:
    """Return training labels of which a share (of each class) are flipped, or have Gaussian noise added."""
    return with_noise(y, split, share)[0]


def with_noise(y: NDArray, split: int, share: float = NOISY_SHARE) -> tuple[NDArray, NDArray[np.bool_]]:
    """Return the labels of `noisy`, and which of them differ (n,)."""
    # Another stream than that of the split, or the noise would hang on which rows are drawn.
    rng, noisy_y = np.random.default_rng([split, 1]), y.copy()
    if y.dtype.kind == "f":
        rows = rng.permutation(y.size)[: int(share * y.size)]
        noisy_y[rows] += rng.normal(0.0, np.sqrt(NOISE_VARIANCE * y.var()), rows.size)
        return noisy_y, noisy_y != y
    classes = np.unique(y)
    for label in classes:
        own = np.flatnonzero(y == label)
        # In each class alike, so that a small one is not wiped out by chance.
        rows = rng.permutation(own)[: int(round(share * own.size))]
        noisy_y[rows] = rng.choice(classes[classes != label], rows.size)
    return noisy_y, noisy_y != y


def boosting(y: NDArray, **params: Any) -> Any:
    """Return a regressor or a classifier, by the labels."""
    return (HGBMRegressor if y.dtype.kind == "f" else HGBMClassifier)(**params)


PRINTED = {"as_printed": True, "min_samples_leaf": 5, "max_leaf_nodes": -1}
ROUNDS = (1, 2, 3, 5, 8, 12, 20, 30)
METHODS: dict[str, dict[str, Any]] = {
    "GBM": {"deviation": "constant"},
    "GBM, ten members": {"deviation": "constant", "folds": 10},
    "HGBM": {},
    "GBM, as printed": PRINTED | {"deviation": "constant"},
    "HGBM, as printed": PRINTED | {"omega": "leaves"},
    "HGBM, as printed, Omega by row": PRINTED | {"omega": "rows"},
    "HGBM, as printed, Omega of (6)": PRINTED | {"omega": "log"},
}


def _every(**values: tuple[float, ...]) -> list[dict[str, float]]:
    """Return every combination of the values."""
    return [dict(zip(values, each)) for each in itertools.product(*values.values())]


PRUNED = _every(min_gain=(1.0, 5.0))
# Stages in turn, each from the best of those before. One number d for all rows does what another lambda does, so GBM's
# further settings are of lambda.
GBM = [_every(min_gain=(0.0,), max_depth=(1, 3), l2=(1.0, 20.0, 0.3, 5.0, 60.0)), PRUNED]
HGBM = [
    _every(alpha=(1.0,), delta=(0.1,), deviation_l2=(5.0,), min_gain=(0.0,), max_depth=(1, 3), l2=(1.0, 20.0)),
    _every(alpha=(0.3, 3.0)),
    _every(delta=(0.03, 0.3)),
    _every(deviation_l2=(0.5, 50.0)),
    PRUNED,
]
TUNED = {name: GBM if "deviation" in given else HGBM for name, given in METHODS.items() if "as_printed" in given}


def run_cell(data: str, noise: str, method: str, split: int) -> dict[str, Any]:
    """Fit on (noisy) training rows; return the test MSE of numbers, or the accuracy of classes, and what was chosen."""
    X, y = table(data)
    train, test = divided(y.size, 0.8, split)
    labels = noisy(y[train], split) if noise == "noisy" else y[train]
    start = time.process_time()
    setting = chosen(X[train], labels, method)
    model = boosting(y, **METHODS[method] | in_units(setting, labels)).fit(X[train], labels)
    seconds = time.process_time() - start
    cell = {"score": score(model.predict(X[test]), y[test]), "rounds": model.best_iteration_, "seconds": seconds}
    return cell | ({"setting": setting} if setting else {})


def score(predicted: NDArray, y: NDArray) -> float:
    """Return the mean squared error of numbers, or the accuracy of classes."""
    return float(((predicted - y) ** 2).mean() if y.dtype.kind == "f" else (predicted == y).mean())


def chosen(X: NDArray, y: NDArray, method: str) -> dict[str, Any]:
    """Return the setting and rounds that do best on the last fifth of the training rows; none for a default."""
    kept, best = int(0.8 * y.size), (np.inf, {})
    for stage in TUNED.get(method, ()):
        before = best[1]
        for setting in (before | each for each in stage):
            model = boosting(y, **METHODS[method] | in_units(setting, y) | {"n_iterations": ROUNDS[-1]})
            model.fit(X[:kept], y[:kept], eval_set=_seen(X, y, kept))
            errors = model.history_["metric:held_out"].to_list()
            # One fit for all numbers of rounds: a boosted model of fewer is the beginning of one of more.
            rounds = min(ROUNDS, key=lambda n: errors[n - 1])
            if errors[rounds - 1] < best[0]:
                best = errors[rounds - 1], setting | {"n_iterations": rounds}
    return best[1]


def in_units(setting: dict[str, Any], y: NDArray) -> dict[str, Any]:
    """Return the parameters that a setting is for numbers of this variance: the same model in every unit of theirs."""
    if y.dtype.kind != "f" or not setting:
        return setting
    variance = float(y.var())
    # A divisor that is a variance leaves the objective without a unit, and lambda in that of one over the label's.
    if "alpha" in setting:
        scaled = {name: setting[name] * variance for name in ("alpha", "delta")}
        return setting | scaled | {"l2": setting["l2"] / variance}
    return setting | {"min_gain": setting["min_gain"] * variance}


def _seen(X: NDArray, y: NDArray, kept: int) -> Table:
    """Return the rows left out whose class is among the others'."""
    rows = np.arange(kept, y.size)
    # A class that was not trained on has no score.
    rows = rows if y.dtype.kind == "f" else rows[np.isin(y[rows], np.unique(y[:kept]))]
    return X[rows], y[rows]
