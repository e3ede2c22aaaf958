"""Small data with a table and an array, and fast settings, for the tests of the two learners."""

from __future__ import annotations

import numpy as np
import polars as pl

import datasets
import hetcore as hc

FAST = {
    "n_iterations": 4, "epochs": 3, "max_depth": 3, "hidden": (8,), "min_samples_leaf": 10, "validation_fraction": 0.0,
    "learning_rate": 0.5,
}  # fmt: skip


def halves(n=300, missing=0.0, rule="pair", seed=0, held_out=0.4):
    """Return planted data, labels with a share hidden, and the truth."""
    data, truth = datasets.make_two_modalities(n=n, n_features=3, rule=rule, missing=missing, noise=0.0, seed=seed)
    y = data.y.copy()
    y[np.random.default_rng(seed).random(n) < held_out] = None
    return data, y, truth


class Constant:
    """A learner that says the same of every row."""

    def __init__(self, value=0.0):
        self.value = value

    def fit(self, X, W):
        self.width = W.shape[1]
        return self

    def predict(self, X):
        return np.full((len(X), self.width), self.value)


def with_second(data, name, array):
    """Return the data with another array source."""
    sources = {**data.sources, name: hc.Source(data.ids, array)}
    return hc.HetData(sources, target=pl.DataFrame({"id": data.ids, "y": data.y}))
