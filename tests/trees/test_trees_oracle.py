"""LightGBM as the oracle: boosted squared loss with the same limits ends at the same training loss.

With the same bins and no l2 the trees are the same. With l2, LightGBM skips in a child the columns that had no gain in
its parent, though they may gain there; we look at every column, so that a few trees differ.
"""

import lightgbm
import numpy as np
import pytest

from hetcore.trees import BinMapper, TreeParams, grow

ROUNDS, RATE = 40, 0.1


def made_data(missing, seed, n=3000, d=10):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(1).astype(np.float32)  # few values, so that both have the same bins
    X[:, 1] = rng.integers(0, 5, n)
    y = 2 * X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] * X[:, 3] + rng.normal(size=n)
    X[rng.random((n, d)) < missing] = np.nan
    return X, y


def our_loss(X, y, weights, params, max_bins):
    mapper = BinMapper(max_bins).fit(X)
    binned, prediction = mapper.transform(X), np.full(len(y), np.average(y, weights=weights))
    for _ in range(ROUNDS):
        residual = y - prediction
        gradients = -residual if weights is None else -residual * weights
        tree = grow(binned, gradients, weights, rows=None, columns=None, params=params, n_bins=mapper.n_bins)
        tree.add_to(prediction, binned, RATE)
    return np.average((y - prediction) ** 2, weights=weights)


def lightgbm_loss(X, y, weights, params, max_bins):
    options = {
        "objective": "l2",
        "num_leaves": params.max_leaf_nodes,
        "max_depth": params.max_depth,
        "min_data_in_leaf": params.min_samples_leaf,
        "min_sum_hessian_in_leaf": params.min_child_weight,
        "lambda_l2": params.l2,
        "learning_rate": RATE,
        "max_bin": max_bins,
        "min_data_in_bin": 1,
        "num_threads": 1,
        "verbose": -1,
        "deterministic": True,
    }
    booster = lightgbm.train(options, lightgbm.Dataset(X, y, weight=weights, params=options), ROUNDS)
    return np.average((y - booster.predict(X, num_threads=1)) ** 2, weights=weights)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "params,max_bins",
    [
        (TreeParams(max_leaf_nodes=31, min_samples_leaf=20), 255),
        (TreeParams(max_leaf_nodes=15, min_samples_leaf=5, l2=0.5), 127),
        (TreeParams(max_leaf_nodes=31, max_depth=3, min_samples_leaf=50), 255),
    ],
)
def test_the_same_training_loss_as_lightgbm(missing, weighted, params, max_bins):
    if weighted:  # LightGBM guesses a leaf's rows from its weight, so limit the weight
        params = params._replace(min_samples_leaf=1, min_child_weight=float(params.min_samples_leaf))
    ours, theirs = [], []
    for seed in range(3):
        X, y = made_data(missing, seed)
        weights = np.random.default_rng(seed).random(len(y)) + 0.5 if weighted else None
        ours.append(our_loss(X, y, weights, params, max_bins))
        theirs.append(lightgbm_loss(X, y, weights, params, max_bins))
    assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=0.01)
    np.testing.assert_allclose(ours, theirs, rtol=0.03)
