"""A small estimator with the two methods that saving needs, for tests of the archive alone."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

from hetcore.errors import ModelFileError

NODES = np.dtype([("feature", "<i4"), ("missing_left", "u1"), ("gain", "<f4")])


class Scaler(BaseEstimator):
    """A small estimator with the two methods that saving needs."""

    def __init__(self, rate=0.1, names=None):
        self.rate, self.names = rate, names

    def _get_state(self):
        return {"labels": self.labels_}, {"weights": self.weights_, "nodes": self.nodes_, "seen": self.seen_}

    def _set_state(self, values, arrays):
        if not np.isfinite(arrays["weights"]).all():
            raise ModelFileError("The weights are not finite: save the model again.")
        self.labels_, self.weights_ = list(values["labels"]), arrays["weights"]
        self.nodes_, self.seen_ = arrays["nodes"], arrays["seen"]


def fitted() -> Scaler:
    """Return a scaler with text, numbers, records and an empty array."""
    scaler = Scaler(rate=np.float64(0.25), names=["a", "ü"])
    scaler.labels_ = ["yes", "nö"]
    scaler.weights_ = np.arange(6.0).reshape(2, 3)
    scaler.nodes_ = np.array([(1, 0, 0.5), (-1, 1, 0.0)], dtype=NODES)
    scaler.seen_ = np.zeros((0, 4), dtype=bool)
    return scaler


def assert_same(loaded: Scaler, model: Scaler) -> None:
    """Check parameters, values and arrays, and the types of these."""
    assert loaded.get_params() == model.get_params()
    assert loaded.labels_ == model.labels_
    for name in ("weights_", "nodes_", "seen_"):
        assert getattr(loaded, name).dtype == getattr(model, name).dtype
        assert_array_equal(getattr(loaded, name), getattr(model, name))
