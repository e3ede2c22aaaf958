"""A small fitted model of every class that can be saved, made from sums and sines alone, and what it answers.

    python -m tests.model_files          # writes the golden files of the present format anew

`format_K/` holds one file for each class of its time and `answers.json` what they predicted when they were written. A
folder of an older format is never written again: a class that changes its state learns to read the old one.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy
import sklearn
from sklearn.base import is_classifier
from threadpoolctl import threadpool_info

import hetcore as hc
from hetcore.registry import METHODS, find

FOLDER = Path(__file__).parent
N = 36
IDS = [f"r{k:02d}" for k in range(N)]
PLACE = np.arange(N)
X = np.stack([np.sin(1.7 * PLACE), np.cos(0.9 * PLACE), (PLACE % 5) / 5.0], axis=1)
VALUES = X[:, 0] - 0.5 * X[:, 1] + 0.1 * np.sin(31.0 * PLACE)
CLASS = np.where(VALUES > 0, "yes", "no")
DOMAIN = np.where(PLACE % 3 == 0, -1, 1 + PLACE % 2)
CODES = np.stack([PLACE % 6, (PLACE * 5) % 7, PLACE % 3], axis=1)


def sources() -> dict[str, hc.Source]:
    """Return a table with a number, a level and holes, and one of numbers over most rows."""
    holes = [None if k % 7 == 0 else float(X[k, 1]) for k in range(N)]
    first = pl.DataFrame({"a": X[:, 0], "b": holes, "c": [f"level {k % 3}" for k in range(N)]})
    return {"first": hc.Source(IDS, first), "second": hc.Source(IDS[4:], pl.DataFrame({"d": X[4:, 2], "e": X[4:, 0]}))}


def edges() -> pl.DataFrame:
    """Return a ring with chords."""
    ends = [(k, (k + step) % N) for k in range(N) for step in (1, 5)]
    return pl.DataFrame({"source": [IDS[a] for a, _ in ends], "target": [IDS[b] for _, b in ends]})


@lru_cache
def het(task: str) -> hc.HetData:
    """Return two tables and a graph with labels for two thirds of the rows."""
    labels = list(CLASS if task == "classification" else VALUES)
    y = [None if k % 3 == 2 else labels[k] for k in range(N)]
    return hc.HetData(sources(), {"ring": edges()}, pl.DataFrame({"id": IDS, "y": y}), task=task)


@lru_cache
def pictures() -> hc.HetData:
    """Return a table and an array with labels."""
    array = np.stack([X, 1.0 - X], axis=1).astype(np.float32)
    table = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    parts = {"table": hc.Source(IDS, table), "image": hc.Source(IDS, array)}
    return hc.HetData(parts, target=pl.DataFrame({"id": IDS, "y": CLASS}), task="classification")


def _collective(cls: type, data: hc.HetData) -> Any:
    small = {"n_iterations": 1, "first_trees": 3, "trees_per_stage": 2, "folds": 2, "sweeps": 2, "max_depth": 2}
    names = cls().get_params()
    return cls(**{name: value for name, value in small.items() if name in names}).fit(data)


def _boosted(name: str, data: hc.HetData) -> Any:
    return getattr(hc, name)(n_iterations=2, max_depth=2).fit(data)


def _factors(name: str, modes: int) -> Any:
    small = {"n_factors": 2, "n_iterations": 2, "validation_fraction": 0.0, "random_state": 0}
    return getattr(hc, name)(**small).fit(CODES[:, :modes], VALUES)


def _transfer(name: str, **params: Any) -> Any:
    return getattr(hc, name)(**params).fit(X, CLASS, DOMAIN)


_TWO = {"n_iterations": 2, "epochs": 1, "max_depth": 2, "hidden": (3,), "min_samples_leaf": 5}
_FITS: dict[str, Callable[[], Any]] = {
    "BoostedFeatureNetworkClassifier": lambda: hc.BoostedFeatureNetworkClassifier(
        n_iterations=1, n_stages=2, hidden=(3,), network="scikit-learn", n_cross_fits=0
    ).fit(pictures()),
    "GBCClassifier": lambda: _boosted("GBCClassifier", het("classification")),
    "GBCRegressor": lambda: _boosted("GBCRegressor", het("regression")),
    "GBRegressor": lambda: _collective(hc.GBRegressor, het("regression")),
    "MGBClassifier": lambda: _collective(hc.MGBClassifier, het("classification")),
    "MGBRegressor": lambda: _collective(hc.MGBRegressor, het("regression")),
    "RGBRegressor": lambda: _collective(hc.RGBRegressor, het("regression")),
    "OneWeakLearnerClassifier": lambda: hc.OneWeakLearnerClassifier("image", **_TWO).fit(pictures()),
    "TwoWeakLearnerClassifier": lambda: hc.TwoWeakLearnerClassifier(**_TWO).fit(pictures()),
    "HGBMClassifier": lambda: hc.HGBMClassifier(n_iterations=3).fit(X, CLASS),
    "HGBMRegressor": lambda: hc.HGBMRegressor(n_iterations=3).fit(X, VALUES),
    "HLR": lambda: hc.HLR().fit(X, VALUES),
    "HeteroscedasticLinearRegression": lambda: hc.HeteroscedasticLinearRegression().fit(X, VALUES),
    "HMF": lambda: _factors("HMF", 2),
    "HTF": lambda: _factors("HTF", 3),
    "MatrixFactorization": lambda: _factors("MatrixFactorization", 2),
    "TensorFactorization": lambda: _factors("TensorFactorization", 3),
    "MultiKTClassifier": lambda: _transfer("MultiKTClassifier"),
    "TargetSVM": lambda: _transfer("TargetSVM"),
    "RidgeTransferClassifier": lambda: _transfer("RidgeTransferClassifier"),
    "TransferClassifier": lambda: _transfer("TransferClassifier"),
    "TransferRegressor": lambda: hc.TransferRegressor().fit(X, VALUES, DOMAIN),
    "TransferForestClassifier": lambda: _transfer("TransferForestClassifier", n_iterations=1, max_depth=2),
    "TrAdaBoostClassifier": lambda: _transfer("TrAdaBoostClassifier", n_iterations=2),
    "MultiSourceTrAdaBoostClassifier": lambda: _transfer("MultiSourceTrAdaBoostClassifier", n_iterations=2),
    "TaskTrAdaBoostClassifier": lambda: _transfer("TaskTrAdaBoostClassifier", n_iterations=2),
    "WeightedMultiSourceTrAdaBoostClassifier": lambda: _transfer(
        "WeightedMultiSourceTrAdaBoostClassifier", n_iterations=2
    ),
}
NAMES = sorted(METHODS)


@lru_cache
def fitted(name: str) -> Any:
    """Return a model of the class, fitted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so little data does not converge
        return _FITS[name]() if name in _FITS else _small(find(name))


def _small(cls: type) -> Any:
    """Return a small model of a class by what its `fit` takes."""
    few = {"n_iterations": 2, "max_depth": 2}
    model = cls(**{key: value for key, value in few.items() if key in cls().get_params()})
    return model.fit(*given(cls.__name__))


def given(name: str) -> tuple[Any, ...]:
    """Return what the fit of a small model of the class is given."""
    taken = inspect.signature(find(name).fit).parameters
    if "data" in taken:
        return (asked(name),)
    labels = CLASS if is_classifier(find(name)()) else VALUES
    return (asked(name), labels, DOMAIN) if "sample_domain" in taken else (asked(name), labels)


def asked(name: str) -> Any:
    """Return what a model of the class is asked."""
    if "Factorization" in name or name in ("HMF", "HTF"):
        return CODES[:, : 3 if name in ("HTF", "TensorFactorization") else 2]
    if "WeakLearner" in name or name == "BoostedFeatureNetworkClassifier":
        return pictures()
    if "data" in inspect.signature(find(name).fit).parameters:
        return het("classification" if is_classifier(find(name)()) else "regression")
    return X


def answers(name: str, model: Any) -> np.ndarray:
    """Return what the model says: probabilities of classes, or values."""
    predicted = (model.predict_proba if hasattr(model, "predict_proba") else model.predict)(asked(name))
    return np.asarray(predicted, dtype=np.float64)


def machine() -> str:
    """Return what the last bit of a sum or an exponential may depend on: libraries, their kernels, instructions."""
    versions = [f"{module.__name__} {module.__version__}" for module in (np, scipy, sklearn)]
    versions += sorted({f"BLAS {each['architecture']}" for each in threadpool_info() if "architecture" in each})
    features = np._core._multiarray_umath.__cpu_features__
    return ", ".join(versions + sorted(name for name, there in features.items() if there))
