"""Stumps of least weighted classification error: step 5 of Figure 3, against a search of all stumps."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import hetcore as hc
from hetcore.errors import ParameterError
from hetcore.transfer.error_stumps import ErrorStumps
from hetcore.transfer.learners import TreeLearner
from tests.naive.transfer import least_error
from tests.transfer.test_transfer import planted


def wrong(learner, X, y, w):
    """Return the share of the weight that the learner's stump says wrong."""
    rows = np.arange(len(X))
    return (w * (learner.votes(learner.fit(rows, y, w), rows) != y)).sum() / w.sum()


@pytest.mark.parametrize("missing", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(12))
def test_no_stump_errs_less(seed, missing):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 25)), int(rng.integers(1, 4))
    X, y, w = rng.integers(0, 5, (n, d)).astype(float), rng.choice([-1.0, 1.0], n), rng.exponential(size=n)
    X[rng.random((n, d)) < missing] = np.nan
    assert wrong(ErrorStumps(X), X, y, w) == pytest.approx(least_error(X, y, w), abs=1e-9)


def test_a_value_above_those_of_the_fit_is_no_missing_one():
    X, y = np.array([[0.0], [0.0], [np.nan], [np.nan], [5.0]]), np.array([1.0, 1.0, -1.0, -1.0, 1.0])
    for learner in (ErrorStumps(X), TreeLearner(X, 1)):
        stump = learner.fit(np.arange(4), y[:4], np.ones(4))
        np.testing.assert_array_equal(np.sign(learner.votes(stump, np.arange(5))), y)


def test_it_is_another_stump_than_that_of_least_squared_error():
    y, X = np.repeat([1.0, -1.0], 40), np.zeros((80, 2))
    X[:31, 0], X[70:, 0] = 1.0, 1.0  # 9 and 30 against 31 and 10: 19 are wrong
    X[:20, 1] = 1.0  # 20 and 40 against 20 and none: 20 are wrong, but one side is pure
    given = X, y, np.ones(80)
    assert wrong(TreeLearner(X, 1), *given) == pytest.approx(20 / 80)
    assert wrong(ErrorStumps(X), *given) == pytest.approx(19 / 80)


class NaiveStump(ClassifierMixin, BaseEstimator):
    """The same stump as a scikit-learn classifier, with the same ties: the first column and threshold."""

    def fit(self, X, y, sample_weight):
        self.classes_ = np.unique(y)
        learner = ErrorStumps(X)
        self.mapper_, self.tree_ = learner.mapper, learner.fit(np.arange(len(X)), y, sample_weight)
        return self

    def predict(self, X):
        return self.tree_.predict(self.mapper_.transform(np.asarray(X, np.float32)))[:, 0]


@pytest.mark.parametrize("printed", [True, False])
def test_boosting_with_them_is_boosting_with_a_foreign_learner_that_is_the_same(printed):
    """As printed they are what the weighted method boosts; the others have `criterion`."""
    X, y, domain, (X_test, _) = planted(n_target=12, n_source=60)
    X, X_test = np.round(X), np.round(X_test)  # few values: the bins of some rows are those of all
    if printed:
        ours, foreign = (
            hc.WeightedMultiSourceTrAdaBoostClassifier(weak, as_printed=True, max_depth=1, n_iterations=8)
            for weak in (None, NaiveStump())
        )
    else:
        given = {"n_iterations": 8, "cap_alpha": False, "reset": False}
        ours = hc.MultiSourceTrAdaBoostClassifier(criterion="error", **given)
        foreign = hc.MultiSourceTrAdaBoostClassifier(NaiveStump(), **given)
    ours.fit(X, y, domain), foreign.fit(X, y, domain)
    np.testing.assert_allclose(ours.decision_function(X_test), foreign.decision_function(X_test), rtol=1e-9)


def test_deeper_trees_of_least_error_are_refused_in_words():
    X, y, domain, _ = planted(n_target=12, n_source=30)
    with pytest.raises(ParameterError, match="criterion='error' with max_depth=2 can't be fitted"):
        hc.TrAdaBoostClassifier(criterion="error", max_depth=2).fit(X, y, domain)
