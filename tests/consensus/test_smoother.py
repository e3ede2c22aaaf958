"""The kernel's features at landmarks against brute force, and what they predict of new rows; damaged arrays."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hetcore.consensus.kernel_ridge import LandmarkFeatures, SmoothPrediction, landmark_count
from hetcore.errors import ModelFileError


def _table(n=60, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def _features(X, seed=0):
    return LandmarkFeatures(X, np.random.default_rng(seed))


def _fitted(X, n_outputs=2):
    """Return arrays of coefficients drawn at random, and what they say of the rows (n, K)."""
    features = _features(X)
    coefficients = np.random.default_rng(5).normal(size=(len(features.landmarks), n_outputs))
    held = {name: getattr(features, name) for name in ("center", "scale", "landmarks")}
    # as files keep them: same bits
    dual = np.ascontiguousarray(features.dual(coefficients))
    return held | {"dual": dual}, features.of(X) @ coefficients


# ---- features --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n,count", [(1, 1), (7, 7), (16, 16), (299, 299), (1000, 300), (500_000, 60), (10**8, 16)])
def test_landmarks_are_as_many_as_fit(n, count):
    assert landmark_count(n) == count


def test_with_every_row_a_landmark_the_features_make_up_the_kernel():
    X = _table() * [1, 10, 0.1, 3]
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    phi = _features(X.astype(np.float32)).of(X.astype(np.float32))
    assert_allclose(phi @ phi.T, np.exp(-squares / squares.mean()), atol=1e-5)


def test_fewer_landmarks_than_rows_are_drawn_from_the_rows():
    X = _table(400)
    features = _features(X)
    assert features.of(X).shape == (400, 300)
    back = features.landmarks * features.scale + features.center
    nearest = np.abs(back[:, None] - X[None]).max(axis=2).min(axis=1)
    assert nearest.max() < 1e-5
    assert len(np.unique(features.landmarks, axis=0)) == 300


# ---- prediction of any rows ------------------------------------------------------------------------------------------


def _hard(name):
    X = _table(40)
    if name == "missing":
        X[np.random.default_rng(4).random(X.shape) < 0.4] = np.nan
    elif name == "constant column":
        X[:, 1] = 1e6
    elif name == "one column all missing":
        X[:, 2] = np.nan
    elif name == "all constant":
        X[:] = 3.0
    elif name == "duplicates":
        X[:] = X[np.arange(40) // 8]
    elif name == "huge":
        X *= 1e30
    elif name == "tiny":
        X *= 1e-30
    elif name == "far from zero":
        X[:, 0] += 1e7
    return X


HARD = ["plain", "missing", "constant column", "one column all missing", "all constant", "duplicates", "huge", "tiny",
        "far from zero"]  # fmt: skip


@pytest.mark.parametrize("name", HARD)
def test_predicting_the_training_rows_gives_the_fit(name):
    X = _hard(name)
    arrays, fit = _fitted(X)
    assert np.isfinite(fit).all()
    assert_allclose(SmoothPrediction(arrays).predict(X), fit, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_table_of_one_row_or_few(n):
    X = _table(n)
    assert np.isfinite(SmoothPrediction(_fitted(X)[0]).predict(X * 100)).all()


def test_a_row_like_no_other_gets_zero():
    far = np.full((1, 4), 1e6, np.float32)
    assert_array_equal(SmoothPrediction(_fitted(_table())[0]).predict(far), np.zeros((1, 2)))


def test_a_missing_value_counts_as_its_columns_mean():
    X = _table()
    model = SmoothPrediction(_fitted(X)[0])
    gap, filled = X[:3].copy(), X[:3].copy()
    gap[:, 2], filled[:, 2] = np.nan, X[:, 2].mean(dtype=np.float64)
    assert_allclose(model.predict(gap), model.predict(filled), atol=1e-6)


def test_a_column_of_scale_zero_says_nothing():
    # as files of columns that were standardised have of constant ones
    X = _table()
    arrays = _fitted(X)[0]
    arrays["landmarks"][:, 1], arrays["scale"][1] = 0.0, 0.0
    other = X.copy()
    other[:, 1] += 5.0
    assert_array_equal(SmoothPrediction(arrays).predict(X), SmoothPrediction(arrays).predict(other))


def _damaged(name):
    arrays = _fitted(_table())[0]
    changes = {
        "lacks one": lambda a: a.pop("dual"),
        "not finite": lambda a: a.update(dual=a["dual"] * np.nan),
        "negative scale": lambda a: a.update(scale=-a["scale"]),
        "too few columns": lambda a: a.update(landmarks=a["landmarks"][:, :2]),
        "too few landmarks": lambda a: a.update(landmarks=a["landmarks"][:5]),
        "other type": lambda a: a.update(center=a["center"].astype(np.float32)),
        "one number": lambda a: a.update(center=np.float64(1.0)),
        "flat dual": lambda a: a.update(dual=a["dual"][:, 0]),
        "scale of other length": lambda a: a.update(scale=a["scale"][:1]),
    }
    changes[name](arrays)
    return arrays


@pytest.mark.parametrize("name", ["lacks one", "not finite", "negative scale", "too few columns", "too few landmarks",
                                  "other type", "one number", "flat dual", "scale of other length"])  # fmt: skip
def test_arrays_that_do_not_fit_together_are_refused(name):
    with pytest.raises(ModelFileError, match="does not fit together"):
        SmoothPrediction(_damaged(name))


def test_arrays_come_back_as_they_were():
    arrays = _fitted(_table())[0]
    again = SmoothPrediction(arrays).to_arrays()
    for key, array in arrays.items():
        assert_array_equal(again[key], array)
