"""Problems of a given size for each public estimator: what it is fitted to, what it predicts, the truth of that."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import hetcore as hc
from benchmarks.speed.collective import make
from benchmarks.speed.factorization import made as made_ratings
from benchmarks.speed.heteroscedastic import made as made_noisy
from datasets import make_domains, make_heterogeneous, make_sensors, make_two_modalities

__all__ = [
    "Problem", "classes", "collective", "domain_numbers", "domains", "flips", "linked_classes", "modalities", "noisy",
    "numbers", "ratings", "sensors", "unlinked",
]  # fmt: skip

HELD_OUT = 0.2
FLIPPED = 0.15


class Problem(NamedTuple):
    """What a fit and a prediction are given, and what their error is of.

    Attributes
    ----------
    given : tuple
        Arguments of `fit`.
    new : object
        Argument of `predict`.
    truth : (m,) ndarray
        Of the predictions that count.
    task : {"regression", "classification"}
    counts : (n,) bool, optional
        Which predictions count; all by default.
    X : (n, d) float32, optional
        The only table as an array, for peers that know no ids.
    """

    given: tuple[Any, ...]
    new: Any
    truth: NDArray
    task: str = "regression"
    counts: NDArray[np.bool_] | None = None
    X: NDArray | None = None


def _half(data: hc.HetData, task: str, X: NDArray | None = None) -> Problem:
    """Return data of which every second label, drawn at random, is hidden and judges."""
    # Another seed than the data's, so that no rule of theirs decides what is hidden.
    hidden = np.random.default_rng(1).permutation(data.n) < data.n // 2
    y = np.where(hidden, np.nan if task == "regression" else None, data.y)
    return Problem((data, y), data, data.y[hidden], task, counts=hidden, X=X)


def numbers(n: int) -> Problem:
    """Return three tables and one of noise, two graphs, and numbers to predict."""
    return _half(make_heterogeneous(n, missing=0.05)[0], "regression")


def classes(n: int) -> Problem:
    """Return three tables and one of noise, two graphs, and three classes."""
    return _half(make_heterogeneous(n, missing=0.05, task="classification")[0], "classification")


def collective(n: int) -> Problem:
    """Return a table of 20 columns and a graph of ten links an instance, along which the numbers are alike."""
    return _half(make(n, 10 * n)[0], "regression")


def linked_classes(n: int) -> Problem:
    """Return what `collective` returns, the numbers dealt into three classes."""
    data = make(n, 10 * n)[0]
    names = np.array(["low", "middle", "high"], object)[np.searchsorted(np.quantile(data.y, [1 / 3, 2 / 3]), data.y)]
    return _half(hc.HetData(data.sources, data.graphs, (data.ids, names)), "classification")


def unlinked(n: int, d: int = 50) -> Problem:
    """Return a table of 50 columns, no graph, and numbers: main effects, a wave, a product, noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)).astype(np.float32)
    y = X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 3] + rng.standard_normal(n)
    ids = pl.Series("id", np.arange(n)).cast(pl.String)
    table = pl.DataFrame(X, schema=[f"x{k}" for k in range(d)]).insert_column(0, ids)
    return _half(hc.HetData({"table": table}, None, pl.DataFrame({"id": ids, "y": y})), "regression", X)


def domains(n: int, task: str = "classification") -> Problem:
    """Return n rows of three sources and a tenth as many of the target; 1,000 other rows of the target judge."""
    related = (0.95, 0.7, 0.0)
    # A target that is small beside its sources is what transfer is for.
    own, each, new = max(20, n // 10), n // len(related), 1000
    data, _ = make_domains(own + new, each, relatedness=related, n_features=30)
    names = data.source_names
    X = np.vstack([data.sources[name].frame.to_numpy() for name in names]).astype(np.float64)
    domain = np.repeat([1, 2, 3, -1], [each, each, each, own + new])
    y = data.y.astype(str)
    if task == "regression":
        rng = np.random.default_rng(0)
        y = X[:, :5].sum(axis=1) * np.array([1.0, 0.9, 0.5, -0.5])[domain] + rng.normal(size=len(X))
    return Problem((X[:-new], y[:-new], domain[:-new]), X[-new:], y[-new:], task)


def domain_numbers(n: int) -> Problem:
    """Return what `domains` returns, with numbers."""
    return domains(n, "regression")


def _divided(X: NDArray, y: NDArray, task: str = "regression") -> Problem:
    new = np.random.default_rng(1).random(len(X)) < HELD_OUT
    return Problem((X[~new], y[~new]), X[new], y[new], task)


def noisy(n: int, d: int = 20) -> Problem:
    """Return a table whose numbers have unequal noise."""
    return _divided(*made_noisy(n, d))


def flips(n: int, d: int = 20) -> Problem:
    """Return a table of two classes, up to three in ten labels flipped where the third column is high."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    true = np.sin(2.0 * X[:, 0]) + 0.7 * X[:, 1] > 0
    # The truth stays unflipped: a label that lies must not judge.
    flipped = rng.random(n) < np.where(X[:, 2] > 0, 1.8, 0.2) * FLIPPED
    return _divided(X, (true ^ flipped).astype(np.int64), "classification")


def ratings(n: int) -> Problem:
    """Return codes of users and items with ratings of 1 to 5."""
    return _divided(*made_ratings(n))


def sensors(n: int) -> Problem:
    """Return codes of sensors, times and quantities, with their readings: half of some n readings are known."""
    data, _ = make_sensors(24, max(4, n // 48))
    codes = data.sources["readings"].frame.to_numpy().astype(str)
    new = np.random.default_rng(1).random(len(codes)) < 0.5
    return Problem((codes[~new], data.y[~new]), codes[new], data.y[new])


def modalities(n: int) -> Problem:
    """Return a table and images that know one half of the label each; a third of the labels judge."""
    data, _ = make_two_modalities(n)
    hidden = np.random.default_rng(1).permutation(n) < n // 3
    return Problem((data, np.where(hidden, None, data.y)), data, data.y[hidden], "classification", hidden)
