"""Kernel ridge on landmarks: features, fit and leave-one-out against brute force; hard tables; damaged arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from hetcore.errors import ModelFileError
from hetcore.kernel_ridge import PENALTIES, LandmarkFeatures, Smoother, SmoothPrediction, landmark_count


def _table(n=60, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def _features(X, standardise=True, seed=0):
    return LandmarkFeatures(X, standardise, np.random.default_rng(seed))


def _smoother(X, n_labelled=20, n_outputs=1, pull=0.0, seed=0):
    """Return a smoother with its targets (n, K) and weights (n,); the unlabelled rows' targets are noise."""
    rng = np.random.default_rng(seed)
    labelled = np.sort(rng.choice(len(X), n_labelled, replace=False))
    weights = np.full(len(X), pull)
    weights[labelled] = 1.0 + pull * rng.random(n_labelled)
    known = np.nan_to_num(X[:, :n_outputs].astype(float)) + 0.1 * rng.normal(size=(len(X), n_outputs))
    target = np.where(np.isin(np.arange(len(X)), labelled)[:, None], known, rng.normal(size=known.shape))
    return Smoother([_features(X)], labelled, target[labelled], weights), target, weights


def _ridge(phi, weights, target, penalty):
    """Return the ridge coefficients by the normal equations."""
    return np.linalg.solve((phi.T * weights) @ phi + penalty * np.eye(phi.shape[1]), (phi.T * weights) @ target)


# ---- features --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n,count", [(1, 1), (7, 7), (16, 16), (299, 299), (1000, 300), (500_000, 60), (10**8, 16)])
def test_landmarks_are_as_many_as_fit(n, count):
    assert landmark_count(n) == count


@pytest.mark.parametrize("standardise", [False, True])
def test_with_every_row_a_landmark_the_features_make_up_the_kernel(standardise):
    X = _table() * [1, 10, 0.1, 3]
    rows = X - X.mean(axis=0)
    rows = rows / X.std(axis=0) if standardise else rows
    squares = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    phi = _features(X.astype(np.float32), standardise).values
    assert_allclose(phi @ phi.T, np.exp(-squares / squares.mean()), atol=1e-5)


def test_fewer_landmarks_than_rows_are_drawn_from_the_rows():
    X = _table(400)
    features = _features(X)
    assert features.values.shape == (400, 300)
    back = features.landmarks * features.scale + features.center
    nearest = np.abs(back[:, None] - X[None]).max(axis=2).min(axis=1)
    assert nearest.max() < 1e-5
    assert len(np.unique(features.landmarks, axis=0)) == 300


def test_the_unit_of_a_column_matters_only_where_columns_are_not_standardised():
    X, Y = _table(), (_table() * np.float32([1, 1000, 1, 1])).astype(np.float32)
    assert_allclose(_features(X).values @ _features(X).values.T, _features(Y).values @ _features(Y).values.T, atol=1e-5)
    far = (
        _features(X, False).values @ _features(X, False).values.T
        - _features(Y, False).values @ _features(Y, False).values.T
    )
    assert np.abs(far).max() > 0.1


# ---- the fit ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("pull", [0.0, 0.5, 100.0])
def test_the_fit_solves_the_normal_equations(n_outputs, pull):
    smoother, target, weights = _smoother(_table(), n_outputs=n_outputs, pull=pull)
    phi = smoother._features.values
    expected = _ridge(phi, weights, target, smoother.penalty)
    predictions = smoother.fit(target)
    assert_allclose(smoother.coefficients, expected, atol=1e-6)
    others = np.setdiff1d(np.arange(60), smoother.labelled)
    assert_allclose(predictions[others], (phi @ expected)[others], atol=1e-7)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 40), st.integers(1, 3), st.sampled_from([0.0, 0.2, 1.0]), st.booleans())
def test_a_labelled_row_gets_what_a_refit_without_it_says(seed, n, n_outputs, pull, repeated):
    X = _table(n, 3, seed)
    X[1 if repeated else 0] = X[0]
    smoother, target, weights = _smoother(X, min(n, max(2, n // 2)), n_outputs, pull, seed)
    phi, predictions = smoother._features.values, smoother.fit(target)
    for j in smoother.labelled:
        without = weights.copy()
        without[j] = 0.0
        leverage = (
            weights[j] * phi[j] @ _ridge(phi, weights, np.eye(n)[:, [j]] / max(weights[j], 1e-300), smoother.penalty)
        )
        if leverage < 0.998:
            expected = phi[j] @ _ridge(phi, without, target, smoother.penalty)
            assert_allclose(predictions[j], expected, rtol=1e-5, atol=1e-6)


def test_the_targets_of_a_row_never_reach_its_own_out_of_fold_fit():
    smoother, target, _ = _smoother(_table())
    j = smoother.labelled[3]
    before = smoother.fit(target)[j].copy()
    target[j] += 1000.0
    assert_allclose(smoother.fit(target)[j], before, atol=1e-8)


def test_rows_of_weight_zero_take_no_part():
    smoother, target, weights = _smoother(_table())
    before = smoother.fit(target)
    target[weights == 0] = 1e6
    assert_array_equal(smoother.fit(target), before)


def test_a_weight_of_two_is_the_row_twice():
    X = _table(30)
    features = _features(np.vstack([X, X[:1]]))
    labelled, target = np.arange(1, 30), np.random.default_rng(1).normal(size=(31, 1))
    target[30] = target[0]
    weights = np.ones(31)
    weights[[0, 30]] = 2.0, 0.0
    heavy = Smoother([features], labelled, target[labelled], weights)
    twice = Smoother([features], labelled, target[labelled], np.ones(31))
    assert_allclose(heavy.fit(target), twice.fit(target), atol=1e-8)


def test_the_penalty_and_the_scaling_have_the_least_error_of_brute_force():
    X = (_table(40) * [1, 100, 1, 1]).astype(np.float32)
    labelled = np.arange(0, 40, 2)
    target = X[labelled, :1] + 0.2 * np.random.default_rng(3).normal(size=(20, 1))
    candidates = [_features(X, each) for each in (False, True)]
    smoother = Smoother(candidates, labelled, target, np.ones(40))
    errors = {}
    for c, features in enumerate(candidates):
        phi = features.values[labelled]
        for penalty in PENALTIES:
            left = [target[j] - phi[j] @ _ridge(phi, 1.0 - np.eye(20)[j], target, penalty) for j in range(20)]
            errors[c, penalty] = float(np.mean(np.square(left)))
    best = min(errors, key=errors.get)
    assert (candidates.index(smoother._features), smoother.penalty) == best
    assert best[0] == 1


def test_a_smooth_function_is_learned_and_noise_is_not():
    X = _table(300, 5, 7)
    labelled = np.arange(150)
    for signal, low, high in ((np.sin(X[:, :1]) + X[:, 1:2], 0.7, 1.0), (np.zeros((300, 1)), -0.1, 0.1)):
        target = signal + 0.3 * np.random.default_rng(2).normal(size=(300, 1))
        smoother = Smoother([_features(X, True)], labelled, target[labelled], (np.arange(300) < 150) * 1.0)
        predictions = smoother.fit(target)
        unseen = np.arange(150, 300)
        explained = 1 - ((predictions - target)[unseen] ** 2).mean() / (target[unseen] ** 2).mean()
        assert low < explained < high
        out_of_fold = 1 - ((predictions - target)[labelled] ** 2).mean() / (target[labelled] ** 2).mean()
        assert abs(out_of_fold - explained) < 0.15


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


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("name", HARD)
def test_predicting_the_training_rows_gives_the_fit(name, standardise):
    X = _hard(name)
    labelled = np.arange(0, 40, 3)
    target = np.random.default_rng(5).normal(size=(40, 2))
    smoother = Smoother([_features(X, standardise)], labelled, target[labelled], (np.arange(40) % 3 == 0) * 1.0)
    predictions = smoother.fit(target)
    assert np.isfinite(predictions).all()
    predicted = SmoothPrediction(smoother.to_arrays()).predict(X)
    assert_allclose(predicted, smoother._features.values @ smoother.coefficients, atol=1e-6)
    others = np.arange(40) % 3 > 0
    assert_allclose(predicted[others], predictions[others], atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_table_of_one_row_or_few(n):
    X = _table(n)
    smoother = Smoother([_features(X, each) for each in (False, True)], np.array([0]), np.ones((1, 1)), np.ones(n))
    predictions = smoother.fit(np.ones((n, 1)))
    assert np.isfinite(predictions).all()
    assert np.isfinite(SmoothPrediction(smoother.to_arrays()).predict(X * 100)).all()


def test_a_row_like_no_other_gets_zero():
    smoother, target, _ = _smoother(_table())
    smoother.fit(target)
    far = np.full((1, 4), 1e6, np.float32)
    assert_array_equal(SmoothPrediction(smoother.to_arrays()).predict(far), np.zeros((1, 1)))


def test_a_missing_value_counts_as_its_columns_mean():
    X = _table()
    smoother, target, _ = _smoother(X)
    smoother.fit(target)
    model = SmoothPrediction(smoother.to_arrays())
    gap, filled = X[:3].copy(), X[:3].copy()
    gap[:, 2], filled[:, 2] = np.nan, X[:, 2].mean(dtype=np.float64)
    assert_allclose(model.predict(gap), model.predict(filled), atol=1e-6)


def _damaged(name):
    smoother, target, _ = _smoother(_table())
    smoother.fit(target)
    arrays = smoother.to_arrays()
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
    smoother, target, _ = _smoother(_table())
    smoother.fit(target)
    arrays = smoother.to_arrays()
    again = SmoothPrediction(arrays).to_arrays()
    for key, array in arrays.items():
        assert_array_equal(again[key], array)
