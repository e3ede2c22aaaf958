"""eta of the weighted method: the printed box against a naive twin, a U over eta, the choice by left-out rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import datasets
import hetcore as hc
from hetcore.data.plain import domains
from hetcore.transfer import left_out
from hetcore.transfer.learners import TreeLearner, WeakLearner, kish
from hetcore.transfer.left_out import (
    BOOTSTRAPS,
    ETAS,
    FIRST_ETA,
    MARGIN,
    PRIOR,
    best_of_bootstraps,
    folds_of,
    log_loss,
    masses_before,
    mean_eta,
)
from hetcore.transfer.linear_learner import COSTS, MOST_COMPONENTS, LinearLearner, Projection, least_gcv
from hetcore.transfer.shares import mixture
from tests.naive import transfer as naive
from tests.transfer.test_transfer import planted

WMS = hc.WeightedMultiSourceTrAdaBoostClassifier


# --- as printed -------------------------------------------------------------------------------------------------------


def stump(X, y, w):
    """Return scikit-learn's stump as a function, with weights as the library gives them."""
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    return tree.fit(X, y, sample_weight=np.maximum(w / w.mean(), 1e-12)).predict


@pytest.mark.parametrize("update", ["exponential", "multiplicative"])
@pytest.mark.parametrize("eta", [0.05, 0.3, 1.0])
def test_as_printed_is_the_naive_twin(update, eta):
    X, y, domain, (X_test, _) = planted(n_target=40, flips=(0.1, 0.4), n_source=60)
    signs = np.where(y == 1, 1.0, -1.0)
    order = [np.flatnonzero(domain == k) for k in (1, 2)]
    rows = np.flatnonzero(domain < 0)
    votes = naive.weighted_multisource(
        [(X[own], signs[own]) for own in order], (X[rows], signs[rows]), 12, fit=stump, eta=eta, update=update
    )
    model = WMS(DecisionTreeClassifier(max_depth=1), as_printed=True, eta=eta, update=update, n_iterations=12)
    model.fit(X, y, domain)
    assert [scale for _, scale in model._votes[0].models] == pytest.approx([alpha for _, alpha in votes], rel=1e-9)
    np.testing.assert_allclose(model.decision_function(X_test), naive.score(votes, X_test), rtol=1e-9, atol=1e-9)


def test_without_cap_and_reset_a_perfect_round_outvotes_all_and_a_useless_one_ends():
    X, y, domain, _ = planted(n_target=4, flips=(0.0,), n_source=60)
    capped = WMS(eta=1.0, learner="tree", votes="hard", guard=False, n_iterations=5).fit(X, y, domain)
    printed = WMS(eta=1.0, as_printed=True, max_depth=3, n_iterations=5).fit(X, y, domain)
    assert max(printed.history_["iteration"]) >= 0 and printed.chosen_ == "boosting"
    largest = [max(model._votes[0].forest.to_arrays()["scales"]) for model in (capped, printed)]
    assert largest[0] <= 2.0 < 100.0 < largest[1]


# --- the default ------------------------------------------------------------------------------------------------------


def related(seed, n_target):
    """Return planted domains, kin to hostile: X, y, sample_domain with that many target rows, and the other rows."""
    data, _ = datasets.make_domains(n_target=n_target + 300, seed=seed)
    X, y, domain, *_ = domains(data, "target")
    out = np.flatnonzero(domain < 0)[n_target:]
    kept, y = np.setdiff1d(np.arange(len(y)), out), np.array(y.tolist())
    return X[kept], y[kept], domain[kept], (X[out], y[out])


@pytest.mark.slow
def test_the_error_over_eta_is_a_u_and_auto_is_near_its_bottom():
    etas, errors = [0.0, 0.5, 10.0, "auto"], []
    for seed in range(200, 208):
        X, y, domain, (X_test, y_test) = related(seed, 40)
        fits = [WMS(eta=eta, learner="linear").fit(X, y, domain) for eta in etas]
        errors.append([(fit.predict(X_test) != y_test).mean() for fit in fits])
    errors = np.array(errors)
    left, right, chosen = (errors[:, k] - errors[:, 1] for k in (0, 2, 3))
    error = [each.std(ddof=1) / np.sqrt(len(each)) for each in (left, right, errors[:, 1])]
    assert left.mean() > 2 * error[0] and right.mean() > 2 * error[1] and chosen.mean() < error[2]


@pytest.mark.parametrize("eta", [0.0, 10.0, "auto"])
def test_the_guard_holds_on_the_left_out_rows(eta):
    X, y, domain, _ = planted(3, n_target=30, flips=(0.5, 1.0), n_source=100)
    model = WMS(eta=eta, learner="linear", n_iterations=10).fit(X, y, domain)
    path = model.eta_path_
    n = (domain < 0).sum()
    of = {kind: n * loss for kind, loss, at in zip(path["kind"], path["loss"], path["eta"]) if at in (None, model.eta_)}
    assert of[model.chosen_] <= min(of["target only"], of["all pooled"]) + MARGIN + 2.0  # 2: the terms of tau
    assert set(path["eta"]) - {None} == (set(ETAS) if eta == "auto" else {eta})


def test_left_out_rows_choose_the_learner():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(460, 3))
    domain = np.repeat([1, 2, -1], [200, 200, 60])
    crossed, straight = (X[:, 0] > 0) ^ (X[:, 1] > 0), X[:, 0] + X[:, 1] > 0
    fits = [WMS(eta=0.2, n_iterations=8).fit(X, y.astype(int), domain) for y in (crossed, straight)]
    assert [fit.learner_ for fit in fits] == ["tree", "linear"]


def test_all_eta_vote_with_the_mean_of_the_bootstraps_and_the_best_mixture(monkeypatch):
    found = {}
    for name, real in (("mixture", mixture), ("best_of_bootstraps", best_of_bootstraps)):
        monkeypatch.setattr(left_out, name, lambda *given, name=name, real=real: found.setdefault(name, real(*given)))
    X, y, domain, _ = planted(n_target=12)
    model = WMS(n_iterations=4).fit(X, y, domain)
    path = model.eta_path_
    share = {key: s for *key, s in zip(path["learner"], path["eta"], path["share"]) for key in [tuple(key)] if s > 0}
    mean = 0.5 * (found["mixture"] + found["best_of_bootstraps"])
    expected = {(name, eta): s for (eta, name), s in zip(itertools.product(ETAS, ("linear", "tree")), mean) if s > 0.01}
    assert model.chosen_ == "boosting" and share == pytest.approx(
        {key: s / sum(expected.values()) for key, s in expected.items()}
    )
    assert len(share) > 4 and max(share.values()) < 0.7  # twelve rows leave much open


@pytest.mark.parametrize("n", [3, 40])
def test_masses_of_a_path_before_any_row_is_seen(n):
    burdens, logs = np.array([0.0, 1.0]), np.log(np.maximum(ETAS, 0.01))
    part, edges = np.empty((len(ETAS), 2)), (logs[:-1] + logs[1:]) / 2
    for k, log in enumerate(logs):  # of each eta of the path, by hand
        left, right = edges[k - 1] if k else log, edges[k] if k < len(edges) else log
        width = (right - left) * (1.0 if 0 < k < len(edges) else 2.0)  # the ends stand for as much outside
        part[k] = width * np.exp(-burdens - {3: PRIOR, 40: PRIOR / 4}[n] * (log - np.log(FIRST_ETA)) ** 2)
    masses = masses_before(burdens, n)
    np.testing.assert_allclose(masses, part / part.sum())
    assert mean_eta(masses.sum(axis=1)) == ETAS[int(np.abs(logs - np.average(logs, weights=part.sum(axis=1))).argmin())]


@pytest.mark.parametrize("sure", range(len(ETAS)))
def test_sure_rows_choose_eta_and_a_flat_path_stays_in_its_middle(sure):
    before = masses_before(np.zeros(1), 20)[:, 0]
    losses = np.where(np.arange(len(ETAS)) == sure, 0.0, 40.0) + np.zeros((20, 1))
    assert best_of_bootstraps(losses, -np.log(before)).tolist() == np.eye(len(ETAS))[sure].tolist()
    assert mean_eta(before) == 0.2 and before.max() < 0.4


def test_bootstraps_count_rows_that_differ_and_not_nats():
    rng, n = np.random.default_rng(0), 50
    common = rng.exponential(size=n)
    # the same lead of three nats: of every row alike, or of what single rows gain and lose
    alike, scattered = np.full(n, 3.0 / n), rng.normal(size=n)
    scattered += 3.0 / n - scattered.mean()
    shares = [best_of_bootstraps(np.stack([common, common + lead], axis=1), np.zeros(2)) for lead in (alike, scattered)]
    assert shares[0].tolist() == [1.0, 0.0] and 0.55 < shares[1][0] < 0.85
    assert shares[1].sum() == 1.0 and (shares[1] * BOOTSTRAPS % 1 == 0).all()


def test_a_loss_is_the_mean_of_two_deals_of_the_folds(monkeypatch):
    searches = []
    real = left_out.Search.__post_init__
    monkeypatch.setattr(left_out.Search, "__post_init__", lambda self: (real(self), searches.append(self)))
    X, y, domain, _ = planted(n_target=12)
    few = np.r_[np.flatnonzero(domain > 0), np.flatnonzero(domain < 0)[:4]]
    for rows in (slice(None), few):
        WMS(eta=0.5, learner="linear", guard=False, n_iterations=3).fit(X[rows], y[rows], domain[rows])
    two, one = searches
    assert len(two.deals) == 2 and (two.deals[0] != two.deals[1]).any()
    assert len(one.deals) == 1  # rows left out one by one are so in any deal
    (each,) = [found for found in two.known.values() if found.candidate.learner == "linear"]
    deals = zip(np.split(two.scores[each.candidate], 2), np.split(two.codes, 2))
    halves = [log_loss(scores, codes, each.steepness).mean() for scores, codes in deals]
    assert each.loss == pytest.approx(np.mean(halves)) and halves[0] != halves[1]


def test_one_row_of_the_target_is_left_to_boosting():
    X, y, domain, (X_test, _) = planted(n_target=1)
    model = WMS().fit(X, y, domain)
    assert (model.eta_, model.chosen_, model.eta_path_) == (FIRST_ETA, "boosting", {})
    assert np.isfinite(model.predict_proba(X_test)).all()


def test_folds_deal_out_each_class():
    codes = np.array([0] * 10 + [1] * 5)
    folds = folds_of(codes, 5, 0)
    assert [np.bincount(codes[folds == f]).tolist() for f in range(5)] == [[2, 1]] * 5
    assert sorted(folds_of(np.array([0, 0, 1]), 5, 0)) == [0, 1, 2]


def test_the_log_loss_of_a_score():
    scores = np.array([[0.5], [-0.5]])
    np.testing.assert_allclose(log_loss(scores, np.array([1, 1]), 2.0), np.log1p(np.exp([-2.0, 2.0])))
    three = np.array([[0.2, 0.1, -0.4]])
    shares = np.exp(3.0 * three[0]) / np.exp(3.0 * three[0]).sum()
    np.testing.assert_allclose(log_loss(three, np.array([2]), 1.5), -np.log(shares[2]))


# --- soft learners ----------------------------------------------------------------------------------------------------


def test_weights_amount_to_rows():
    assert kish(np.full(7, 0.1)).sum() == pytest.approx(7.0)
    assert kish(np.array([5.0, 0.0, 0.0])).sum() == pytest.approx(1.0)
    assert kish(np.array([1e-300, 2e-300])).sum() == pytest.approx(9 / 5)


def test_the_linear_learner_is_weighted_ridge_regression():
    rng = np.random.default_rng(0)
    X, signs, weights = rng.normal(size=(50, 4)), rng.choice([-1.0, 1.0], 50), rng.exponential(size=50)
    learner, rows = LinearLearner(X, cost=0.5), np.arange(10, 50)
    model = learner.fit(rows, signs[rows], weights[rows])
    Z, u = learner.Z[rows], kish(weights[rows])
    slope = Z.T @ (u * (Z @ model - signs[rows])) + np.append(2.0 * model[:-1], 0.0)
    np.testing.assert_allclose(slope, 0.0, atol=1e-6)
    assert (np.abs(learner.votes(model, rows)) <= 1.0).all()
    np.testing.assert_allclose(learner.votes_of(model, learner.prepared(X[rows])), learner.votes(model, rows))


def test_many_columns_become_principal_components():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(130, 5)) @ rng.normal(size=(5, 300))
    learner = LinearLearner(X)
    assert MOST_COMPONENTS < 300 and learner.Z.shape == (130, 6)  # five directions are all that there is, and the 1
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(learner.Z[:, :-1] @ learner.projection.axes.T, standard, atol=1e-6)


def test_the_cost_of_many_columns_has_the_least_generalised_cross_validation_in_the_sources():
    rng = np.random.default_rng(0)
    Z, domain = rng.normal(size=(300, 40)), np.repeat([0, 1, 2], 100)
    # the second source's rule is the opposite of the first's; a source of one class says nothing
    signs = np.where((Z[:, 0] + rng.normal(size=300) > 0) == (domain != 2), 1.0, -1.0)
    totals = []
    for cost in COSTS:
        total = 0.0
        for own in (domain == 1, domain == 2):
            X, y = Z[own] - Z[own].mean(axis=0), signs[own] - signs[own].mean()
            hat = X @ np.linalg.solve(X.T @ X + np.eye(40) / cost, X.T)
            total += 100 * np.log(100 * ((y - hat @ y) ** 2).sum() / (99 - np.trace(hat)) ** 2)
        totals.append(total)
    best = COSTS[int(np.argmin(totals))]
    assert best < COSTS[0] and least_gcv(Z, [signs], domain) == best
    assert least_gcv(Z, [np.ones(300)], domain) == COSTS[0]
    learner = LinearLearner.by_sources(Z, [signs], domain)
    alike = LinearLearner(Z, best)
    rows, weights = np.arange(100), np.ones(100)
    np.testing.assert_allclose(*(each.fit(rows, signs[rows], weights) for each in (learner, alike)))


def test_soft_trees_say_shrunk_means():
    X, signs = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([1.0, 1.0, -1.0, 1.0])
    learner = TreeLearner(X, 1, soft=True)
    tree = learner.fit(np.arange(4), signs, np.ones(4))
    np.testing.assert_allclose(learner.votes(tree, np.arange(4)), [2 / 3, 2 / 3, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(learner.votes_of(tree, learner.taken(np.array([0, 3]))), [2 / 3, 0.0], atol=1e-6)


@pytest.mark.parametrize("learner", ["linear", "tree"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_file_keeps_what_was_chosen(learner, n_classes, tmp_path):
    X, y, domain, (X_test, _) = planted(n_source=60, n_classes=n_classes)
    X[::7, 0] = np.nan
    model = WMS(learner=learner, eta=0.1, n_iterations=4).fit(X, y, domain)
    hc.save(model, tmp_path / "m.hetcore")
    loaded = hc.load(tmp_path / "m.hetcore")
    np.testing.assert_array_equal(loaded.predict_proba(X_test), model.predict_proba(X_test))
    for name in ("eta_", "learner_", "chosen_", "eta_path_"):
        assert getattr(loaded, name) == getattr(model, name)


@pytest.mark.parametrize(("n_target", "n_sources"), [(8, 3), (40, 1)])
def test_a_source_in_other_units_leaves_the_target_its_own(n_target, n_sources):
    rng = np.random.default_rng(0)
    domain = np.concatenate([np.zeros(n_target, int), np.repeat(np.arange(1, n_sources + 1), 100)])
    X = rng.normal(size=(len(domain), 3))
    alike = Projection.of(X)
    found = Projection.of(X, domain=domain)
    np.testing.assert_array_equal(found.scale, alike.scale)
    X[domain == 1, 0] *= 1000.0
    found = Projection.of(X, domain=domain)
    z = found(X)[domain == 0, :-1]
    assert 0.3 < z[:, 0].std() < 3.0 and Projection.of(X)(X)[domain == 0, 0].std() < 0.02
    np.testing.assert_array_equal(found.scale[1:], alike.scale[1:])


def test_candidates_together_are_fitted_and_err_as_one_by_one(monkeypatch):
    rng = np.random.default_rng(3)
    learner, signs, weights = LinearLearner(rng.normal(size=(80, 4))), rng.choice([-1.0, 1.0], 80), rng.random(80)
    candidates = [(rows, signs[rows], weights[rows]) for rows in np.split(np.arange(80), [10, 30, 31, 60])]
    models = learner.fit_each(candidates)
    for model, candidate in zip(models, candidates, strict=True):
        np.testing.assert_array_equal(model, learner.fit(*candidate))
    rows = np.arange(5, 70)
    given = rows, signs[rows], weights[rows]
    for most in (1, 200, 10**6):
        monkeypatch.setattr("hetcore.transfer.linear_learner.MOST_VOTES", most)
        expected = WeakLearner.errors(learner, models, *given)
        np.testing.assert_allclose(learner.errors(models, *given), expected, rtol=1e-12)
