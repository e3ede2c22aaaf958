"""Peers of adapt and skada: they learn, where they are installed."""

import numpy as np
import pytest

from experiments.suite.libraries import ADAPT, SKADA, LibraryLearner


def _shifted(rng, n, shift):
    X = rng.normal(size=(n, 4)) + shift
    return X, np.where(X[:, 0] - shift > 0, "yes", "no").astype(object)


@pytest.mark.parametrize("name", [*ADAPT, *SKADA])
def test_a_library_s_method_beats_chance(name):
    pytest.importorskip(name.split(":")[0])
    rng = np.random.default_rng(0)
    (X_source, y_source), (X, y) = _shifted(rng, 200, 0.5), _shifted(rng, 200, 0.0)
    X[0, 1] = np.nan
    rows, labels = np.vstack([X_source, X[:20]]), np.concatenate([y_source, y[:20]])
    domain = np.r_[np.ones(200), np.full(20, -1)]
    model = LibraryLearner(name).fit(rows, labels, domain)
    assert (model.predict(X[20:]) == y[20:]).mean() > 0.65
    numbers = LibraryLearner(name).fit(rows, rows[:, 0].copy(), domain).predict(X[20:])
    assert numbers.shape == (180,) and np.isfinite(numbers).all()
