"""The same bits on any number of threads, for every estimator that takes n_jobs."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import hetcore as hc
from hetcore import growing
from hetcore.registry import METHODS

CLASSES = [getattr(hc, name) for name in METHODS]
THREADED = [each for each in CLASSES if "n_jobs" in inspect.signature(each).parameters]
PARAMS = {"n_iterations": 6, "max_leaf_nodes": 12, "subsample": 0.7, "column_sample": 0.7}


def test_some_take_threads():
    assert {each.__name__ for each in THREADED} >= {"HGBMClassifier", "HGBMRegressor"}


@pytest.mark.parametrize("kind", THREADED)
@pytest.mark.parametrize("as_printed", [False, True])
def test_two_threads_give_the_bits_of_one(kind, as_printed, monkeypatch):
    monkeypatch.setattr(growing, "_SERIAL_VALUES", 0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 8)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nansum(X[:, :3], axis=1) + rng.normal(size=600)
    y = np.digitize(y, [-1.0, 1.0]) if issubclass(kind, hc.HGBMClassifier) else y
    fits = [kind(**PARAMS, as_printed=as_printed, n_jobs=n).fit(X, y, 1.0 + (y > 0)) for n in (1, 2, 3)]
    states = [fit._get_state() for fit in fits]
    for fit, (meta, arrays) in zip(fits[1:], states[1:]):
        assert meta == states[0][0]
        for name, array in arrays.items():
            assert_array_equal(array, states[0][1][name], err_msg=name)
        assert fit.history_.drop("seconds").equals(fits[0].history_.drop("seconds"), null_equal=True)
