"""`as_printed=True` against Algorithms 1 and 2 written from the paper's text (`tests/naive/two_learner.py`)."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import hetcore as hc
from hetcore.multimodal import risk
from hetcore.multimodal.line_search import STEPS
from hetcore.multimodal.parameters import PRINTED
from tests.multimodal.two_modalities import FAST, halves
from tests.naive import two_learner as naive

VALUES = np.linspace(0.0, 1.0, 9)


def grid(along):
    """Return the best of the 9 x 9 values of [0, 1]^2 that `step="grid"` tries, the first of equals."""
    tried = [(e, d) for e in VALUES for d in VALUES]
    return tried[int(np.argmin([along(e, d) for e, d in tried]))]


def fixed(along):
    """Return 2WL_Fix's steps."""
    return 0.1, 0.1


class Shallow(DecisionTreeRegressor):
    """A tree of two splits a path, its features in order."""

    def __init__(self):
        super().__init__(max_depth=2, random_state=0)


LEARNERS = (LinearRegression, Shallow)


def made(M, n=60, seed=0):
    """Return two modalities of standardised columns, codes of M classes, and the same as data."""
    rng = np.random.default_rng([seed, M])
    y = np.arange(n) % M
    X1, X2 = (rng.normal(size=(n, 3)) + 0.8 * np.eye(3)[y % 3] for _ in range(2))
    X1, X2 = ((X - X.mean(axis=0)) / X.std(axis=0) for X in (X1, X2))
    ids = [f"r{k:02d}" for k in range(n)]
    target = pl.DataFrame({"id": ids, "y": [f"class {k}" for k in y]})
    return X1, X2, y, hc.HetData({"one": hc.Source(ids, X1), "two": hc.Source(ids, X2)}, target=target)


def fitted(data, **params):
    learners = {name: learner() for name, learner in zip(data.sources, LEARNERS)}
    return hc.TwoWeakLearnerClassifier(as_printed=True, learners=learners, **params).fit(data)


@pytest.mark.slow
@pytest.mark.parametrize("M", [2, 4])
@pytest.mark.parametrize("step, search", [("grid", grid), ("fixed", fixed)])
def test_algorithm_1_is_the_papers_over_15_rounds(M, step, search):
    X1, X2, y, data = made(M)
    f, steps = naive.algorithm_1(X1, X2, y, M, N=15, learners=LEARNERS, search=search)
    model = fitted(data, n_iterations=15, step=step)
    assert_allclose(model.decision_function(data), f, rtol=1e-4, atol=1e-5)  # columns are float32
    assert_allclose(model.history_.select("step:one", "step:two").to_numpy(), steps)


@pytest.mark.parametrize(
    "M, N2, step, search",
    [
        (2, 0, "grid", grid), (2, 1, "fixed", fixed), (4, 1, "fixed", fixed), (3, 2, "fixed", fixed),
        *(pytest.param(M, N2, "grid", grid, marks=pytest.mark.slow) for M, N2 in ((2, 1), (4, 1), (3, 2))),
    ],
)  # fmt: skip
def test_algorithm_2_is_the_papers_over_15_rounds(M, N2, step, search):
    X1, X2, y, data = made(M)
    f, steps = naive.algorithm_2(X1, X2, y, M, N1=15, N2=N2, learners=LEARNERS, search=search)
    model = fitted(data, order=2, n_iterations=15, inner_iterations=N2, step=step)
    assert_allclose(model.decision_function(data), f, rtol=1e-4, atol=1e-5)
    assert_allclose(model.history_.select("step:one", "step:two").to_numpy(), steps)


@pytest.mark.parametrize("M", [2, 3, 5])
def test_the_papers_weights_row_by_row(M):
    rng = np.random.default_rng(M)
    f, y = rng.normal(size=(20, M)), rng.integers(M, size=20)
    for ours, theirs in ((risk.direction, naive.w), (risk.tilted, naive.w_tilde), (risk.curvature, naive.w_hat)):
        assert_allclose(ours(f, y), [theirs(c, row) for c, row in zip(y, f)])
    assert_allclose(np.exp(risk.log_risk(f, y)) + 1.0, naive.risk(y, f))  # ours leaves the constant k = y out


@pytest.mark.parametrize("M", [2, 3])
def test_trees_of_the_library_are_the_papers_trees(M):
    """Few values a column: the histogram loses nothing, and the tree is scikit-learn's."""
    X1, X2, y, _ = made(M, n=80)
    X1, X2 = np.round(2 * X1), np.round(2 * X2)
    ids = [f"r{k:02d}" for k in range(80)]
    frames = {name: pl.DataFrame(X, schema=["a", "b", "c"]) for name, X in (("one", X1), ("two", X2))}
    kinds = dict.fromkeys("abc", "real")
    target = pl.DataFrame({"id": ids, "y": [f"class {k}" for k in y]})
    data = hc.HetData({name: hc.Source(ids, frame, kinds) for name, frame in frames.items()}, target=target)
    f, _ = naive.algorithm_1(X1, X2, y, M, N=3, learners=(Shallow, Shallow), search=fixed)
    model = hc.TwoWeakLearnerClassifier(as_printed=True, step="fixed", n_iterations=3, max_depth=2)
    assert_allclose(model.fit(data).decision_function(data), f, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("order", [1, 2])
def test_as_printed_is_the_sum_of_its_named_parts(order):
    data, y, _ = halves()
    learners, small = {"table": "tree", "image": "network"}, FAST | {"order": order, "n_iterations": 2}
    printed = hc.TwoWeakLearnerClassifier(**small, as_printed=True).fit(data, y)
    by_hand = hc.TwoWeakLearnerClassifier(**small | PRINTED, step="bayes", learners=learners).fit(data, y)
    assert_array_equal(printed.decision_function(data), by_hand.decision_function(data))
    assert (printed.prior_ == 0).all() and printed.learners_ == learners


def test_as_printed_passes_over_every_help():
    data, y, _ = halves()
    plain = hc.TwoWeakLearnerClassifier(**FAST, as_printed=True, step="fixed").fit(data, y)
    helps = {"learning_rate": 0.2, "subsample": 0.6, "hessian": "exact", "kept_step": "chosen", "scale_targets": True}
    helped = FAST | helps | {"validation_fraction": 0.3, "first_scores": "shares", "min_samples_leaf": 30}
    other = hc.TwoWeakLearnerClassifier(**helped, as_printed=True, step="fixed").fit(data, y)
    assert_array_equal(plain.decision_function(data), other.decision_function(data))


def test_the_searches_stay_in_the_box_of_learning_rates():
    data, y, _ = halves()
    for step in ("bayes", "grid", "fixed"):
        steps = hc.TwoWeakLearnerClassifier(**FAST, as_printed=True, step=step).fit(data, y).history_
        values = steps.select("step:table", "step:image").to_numpy()
        assert values.shape == (4, 2) and (values >= 0).all() and (values <= 1).all()
    assert set(STEPS) == {"newton", "bayes", "grid", "fixed"}
