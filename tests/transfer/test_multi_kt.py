"""Multi-KT, the target's SVM and the blended default: closed forms against brute force and SVC, planted data."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

import hetcore as hc
from hetcore.baselines import peers
from hetcore.transfer.blend import PRIOR, TRUST, candidates
from hetcore.transfer.kernel_scores import kernel_matrix
from hetcore.transfer.ls_svm import COSTS, balance, best_cost, left_out_residuals, ls_svm
from hetcore.transfer.multi_kt import best_beta
from hetcore.transfer.squared_hinge import squared_hinge_svm
from tests.naive import multi_kt as naive
from tests.transfer.test_transfer import planted


def brute_ls_svm(kernel, y, costs):
    """Return dual and intercept by the normal equations of (1) in the space of dual coefficients."""
    n = len(y)
    top = np.hstack([kernel + np.diag(1 / costs), np.ones((n, 1))])
    solved = np.linalg.solve(np.vstack([top, np.append(np.ones(n), 0.0)]), np.append(y, 0.0))
    return solved[:n], solved[n]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_ls_svm_minimises_its_objective(kernel):
    rng = np.random.default_rng(0)
    X, y, costs = rng.normal(size=(20, 3)), np.sign(rng.normal(size=20)), rng.uniform(0.5, 2.0, 20)
    K = kernel_matrix(X, X, kernel, 0.3)
    dual, intercept, _ = ls_svm(K, y[:, None], costs)

    def objective(a, b):
        return 0.5 * a @ K @ a + 0.5 * (costs * (y - K @ a - b) ** 2).sum()

    least = objective(dual[:, 0], intercept[0])
    for _ in range(50):
        a, b = dual[:, 0] + 1e-3 * rng.normal(size=20), intercept[0] + 1e-3 * rng.normal()
        assert objective(a, b) > least


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_closed_form_leave_one_out_is_the_brute_force_one(balanced, n_classes):
    X, y, domain, _ = planted(n_target=18, n_classes=n_classes, n_source=40)
    model = hc.MultiKTClassifier(C=0.7, balanced=balanced, kernel="rbf").fit(X, y, domain)
    own = domain < 0
    X_own, width = X[own], 1.0 / (X.shape[1] * X.var())
    for k in range(model.left_out_.shape[1]):
        signs = np.where(y == (k if n_classes > 2 else 1), 1.0, -1.0)
        predicted = []
        for j in (1, 2, 3):
            rows = domain == j
            K = kernel_matrix(X[rows], X[rows], "rbf", width)
            dual, shift = brute_ls_svm(K, signs[rows], 0.7 * balance(signs[rows], balanced))
            predicted.append(kernel_matrix(X_own, X[rows], "rbf", width) @ dual + shift)
        own_signs, zeta = signs[own], balance(signs[own], balanced)
        beta = _beta(own_signs, np.array(predicted), X_own, costs=0.7 * zeta, width=width, zeta=zeta)
        lent = beta @ np.array(predicted)
        for i in range(own.sum()):
            rest = np.arange(own.sum()) != i
            K = kernel_matrix(X_own[rest], X_own[rest], "rbf", width)
            dual, shift = brute_ls_svm(K, (own_signs - lent)[rest], 0.7 * zeta[rest])
            outputs = kernel_matrix(X_own[i : i + 1], X_own[rest], "rbf", width) @ dual + shift + lent[i]
            assert model.left_out_[i, k] == pytest.approx(outputs[0], abs=1e-4)  # beta's steps magnify rounding


def _beta(signs, predicted, X, costs, width, zeta):
    solved, _, diagonal = ls_svm(kernel_matrix(X, X, "rbf", width), np.column_stack([signs, predicted.T]), costs)
    residuals = solved / diagonal[:, None]
    return best_beta(residuals[:, 0], residuals[:, 1:], signs, zeta)


def test_an_only_row_is_missed_by_all_of_it_and_others_as_before():
    one = ls_svm(np.ones((1, 1)), np.array([[1.0, 0.3]]), np.ones(1))
    assert one[2][0] == 0.0
    np.testing.assert_array_equal(left_out_residuals(one[0], one[2], np.array([[1.0, 0.3]])), [[1.0, 0.3]])
    given = np.array([[1.0], [-1.0], [1.0]])
    solved, _, diagonal = ls_svm(np.eye(3), given, np.ones(3))
    np.testing.assert_array_equal(left_out_residuals(solved, diagonal, given), solved / diagonal[:, None])


@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("lending", [False, True])
def test_the_squared_hinge_machine_is_the_naive_twin_of_equation_1(C, lending):
    rng = np.random.default_rng(0)
    X, signs, zeta = rng.normal(size=(14, 3)), np.sign(rng.normal(size=14)), rng.uniform(0.5, 2.0, 14)
    given = rng.normal(size=3) if lending else np.zeros(3)
    w, b = naive.equation_1(X, signs, C, zeta, given)
    dual, intercept = squared_hinge_svm(X @ X.T, signs, C * zeta, X @ given)
    np.testing.assert_allclose(given + dual @ X, w, atol=2e-4)
    assert intercept == pytest.approx(-b, abs=2e-4)


def test_a_machine_of_one_row_or_one_sign_is_finite():
    for signs in (np.ones(1), np.ones(3), -np.ones(3)):
        dual, intercept = squared_hinge_svm(np.eye(len(signs)), signs, np.ones(len(signs)))
        assert intercept * signs[0] >= 0.99 and np.isfinite(dual).all()


def test_the_cost_is_that_of_least_leave_one_out_error_on_the_sources():
    rng = np.random.default_rng(0)
    X, X_pure = rng.normal(size=(60, 30)), rng.normal(size=(60, 2))
    noisy, pure = np.sign(X[:, 0] + 2.0 * rng.normal(size=60)), np.sign(X_pure[:, 0])
    problems = [(Z @ Z.T, signs) for Z, signs in ((X, noisy), (X_pure, pure))]
    errors = [[naive.left_out_error(kernel, signs, C) for C in COSTS] for kernel, signs in problems]
    for one, each in zip(problems, errors):
        assert best_cost([one], False) == COSTS[int(np.argmin(each))]
    assert best_cost(problems, False) == COSTS[int(np.argmin(np.mean(errors, axis=0)))]
    assert best_cost([], False) == 1.0


def test_as_printed_sources_decide_the_cost_and_no_transfer_is_the_same_machine_alone():
    X, y, domain, (X_test, y_test) = planted(n_target=12, flips=(0.0, 0.1, 1.0), n_source=80)
    printed = {"C": "auto", "loss": "squared hinge"}
    model = hc.MultiKTClassifier(**printed).fit(X, y, domain)
    alone = hc.MultiKTClassifier(**printed, transfer=False).fit(X, y, domain)
    assert model.C_ == alone.C_ in COSTS and set(alone.beta_.values()) == {0.0} and model.beta_["1"] > 0
    own, signs = domain < 0, np.where(y == 1, 1.0, -1.0)
    w, b = naive.equation_1(X[own], signs[own], model.C_, balance(signs[own], True), np.zeros(X.shape[1]))
    np.testing.assert_allclose(alone.decision_function(X_test), X_test @ w - b, atol=1e-2)
    assert model.score(X_test, y_test) > alone.score(X_test, y_test)


def test_beta_is_the_best_on_a_grid():
    rng = np.random.default_rng(1)
    signs = np.sign(rng.normal(size=25))
    own, lent = signs - 0.2 * rng.normal(size=25), np.column_stack([0.6 * signs, rng.normal(size=25)])

    def loss(beta):
        return np.maximum(0.0, 1.0 - signs * (signs - own + lent @ beta)).sum()

    found = best_beta(own, lent, signs, np.ones(25))
    angles = np.linspace(0, np.pi / 2, 60)
    grid = [r * np.array([np.cos(a), np.sin(a)]) for r in np.linspace(0, 1, 60) for a in angles]
    assert loss(found) <= min(map(loss, grid)) + 0.05 and np.linalg.norm(found) <= 1 + 1e-12 and (found >= 0).all()
    assert found[0] > found[1]


def test_without_sources_multi_kt_is_the_ls_svm_of_the_target():
    X, y, _, (X_test, _) = planted(n_target=40)
    X, y = X[-40:], y[-40:]
    model = hc.MultiKTClassifier(balanced=False).fit(X, y)
    dual, shift = brute_ls_svm(X @ X.T, np.where(y == 1, 1.0, -1.0), np.ones(40))
    np.testing.assert_allclose(model.decision_function(X_test), X_test @ X.T @ dual + shift, rtol=1e-7, atol=1e-9)
    assert model.beta_ == {} and model.n_iterations_ == 1


def test_a_source_that_is_the_target_gets_beta():
    scores = []
    for seed in range(5):
        X, y, domain, test = planted(seed, n_target=6, flips=(0.0, 0.5))
        model = hc.MultiKTClassifier(domain_names=["kin", "noise"]).fit(X, y, domain, eval_set=test)
        alone = hc.MultiKTClassifier().fit(X[domain < 0], y[domain < 0])
        assert model.beta_["kin"] > model.beta_["noise"]
        scores.append(model.score(*test) - alone.score(*test))
    assert np.mean(scores) > 0.02
    row = model.history_.row(0, named=True)
    assert row["metric:held_out"] == pytest.approx(1 - model.score(*test))
    assert row["metric:left_out"] == ((model.left_out_[:, 0] > 0) != (y[domain < 0] == 1)).mean()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_no_transfer_is_scikit_learns_svm_on_the_target(kernel):
    X, y, domain, (X_test, _) = planted(n_target=40)
    own = domain < 0
    peer = SVC(kernel=kernel, C=2.0).fit(X[own], y[own])
    model = hc.TargetSVM(kernel=kernel, C=2.0).fit(X, y, domain)
    np.testing.assert_allclose(model.decision_function(X_test), peer.decision_function(X_test), atol=1e-9)
    assert model.source_weights_ == {"1": 0.0, "2": 0.0, "3": 0.0} and peers.TargetSVM is hc.TargetSVM


def test_a_class_that_the_target_lacks_is_not_predicted_by_no_transfer():
    X, y, domain, (X_test, _) = planted(n_target=30, n_classes=3)
    keep = (domain > 0) | (y != 2)
    assert set(hc.TargetSVM().fit(X[keep], y[keep], domain[keep]).predict(X_test)) == {0, 1}


# --- the default ------------------------------------------------------------------------------------------------------


def brute_blend(X, y, domain, C=1.0):
    """Return each candidate's leave-one-out scores by fitting without each target row, and the shares by hand."""
    own, d = np.flatnonzero(domain < 0), X.shape[1]
    Z = (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(d)
    signs = np.where(y == 1, 1.0, -1.0)
    outputs, errors = [], []
    for candidate in candidates(["1", "2", "3"]):
        weight = np.where(domain < 0, 1.0, np.append(candidate.rho, 0.0)[domain - 1])
        levels = (domain[:, None] == [1, 2, 3]) / np.sqrt(candidate.penalty)  # a column whose own penalty is 1
        predicted = []
        for i in own:
            used = np.flatnonzero((weight > 0) & (np.arange(len(y)) != i))
            features = np.hstack([Z * np.sqrt(C * candidate.cost), levels])
            dual, shift = brute_ls_svm(features[used] @ features[used].T, signs[used], weight[used])
            predicted.append(features[i] @ features[used].T @ dual + shift)
        outputs.append(predicted)
        errors.append((signs[own] - np.array(predicted)) ** 2)
    errors = np.array(errors)
    return np.array(outputs), *(brute_shares(errors.sum(axis=1)[:, None] - out) for out in (0.0 * errors, errors))


def brute_shares(errors):
    raw = np.exp(-TRUST * (errors - errors.min(axis=0)))
    raw[:3] *= PRIOR
    return raw / raw.sum(axis=0)


def test_the_blend_is_that_of_brute_force_leave_one_out():
    X, y, domain, _ = planted(n_target=7, n_source=12)
    outputs, shares, shares_without = brute_blend(X, y, domain)
    model = hc.RidgeTransferClassifier().fit(X, y, domain)
    np.testing.assert_allclose(list(model.blend_.values()), shares[:, 0], atol=1e-8)
    # a row has no part in the shares by which it is predicted
    wrong = ((shares_without * outputs).sum(axis=0) > 0) != (y[domain < 0] == 1)
    assert model.left_out_error_ == pytest.approx(wrong.mean())
    assert list(model.blend_)[2:5] == ["target only, 100 C", "all x 0.01", "all x 0.01, own intercept"]
    assert len(model.blend_) == 3 + 2 * 5 * 4


def test_the_linear_kernel_is_the_same_with_more_rows_than_columns_and_with_fewer():
    X, y, domain, (X_test, _) = planted(n_target=10, n_source=20, d=6)
    wide = np.hstack([X, np.zeros((len(X), 94))]), np.hstack([X_test, np.zeros((400, 94))])
    few = hc.RidgeTransferClassifier(C=1.0).fit(X, y, domain).decision_function(X_test)
    many = hc.RidgeTransferClassifier(C=100 / 6).fit(wide[0], y, domain).decision_function(wide[1])
    np.testing.assert_allclose(few, many, rtol=1e-6, atol=1e-9)  # features are divided by the root of their number


def test_it_takes_what_good_sources_offer_and_leaves_what_bad_ones_do():
    gains, prices = [], []
    for seed in range(5):
        X, y, domain, test = planted(seed, n_target=8, flips=(0.0, 0.1))
        gains.append(
            hc.RidgeTransferClassifier().fit(X, y, domain).score(*test) - hc.TargetSVM().fit(X, y, domain).score(*test)
        )
        X, y, domain, test = planted(seed, n_target=80, flips=(1.0, 1.0))
        prices.append(
            hc.RidgeTransferClassifier().fit(X, y, domain).score(*test) - hc.TargetSVM().fit(X, y, domain).score(*test)
        )
    assert np.mean(gains) > 0.05 and np.mean(prices) > -0.03


def test_target_only_takes_over_from_hostile_sources():
    shares = []
    for n_target in (2, 10, 60):
        X, y, domain, _ = planted(3, n_target=n_target, flips=(1.0, 1.0))
        shares.append(1 - sum(hc.RidgeTransferClassifier().fit(X, y, domain).source_weights_.values()))
    assert shares == sorted(shares) and shares[-1] > 0.95


def test_without_sources_it_is_the_target_alone():
    X, y, _, (X_test, _) = planted(n_target=40)
    model = hc.RidgeTransferClassifier().fit(X[-40:], y[-40:])
    assert len(model.blend_) == 3 and model.source_weights_ == {}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_events_of_the_default(n_classes, kernel):
    X, y, domain, held_out = planted(n_target=20, n_classes=n_classes, flips=(0.0, 1.0))
    X[3, 2] = np.nan
    events = []
    model = hc.RidgeTransferClassifier(kernel=kernel).fit(X, y, domain, callbacks=[events.append], eval_set=held_out)
    assert len(events) == events[0].total == 3 + 2 * 5 * 3 == model.n_iterations_
    for event in events:
        assert set(event.losses) == {"train", "left_out", "held_out"} == set(event.detail["metric"])
        assert sum(event.source_weights.values()) + event.detail["target_mass"] == pytest.approx(1.0)
        assert sum(event.detail["blend"].values()) == pytest.approx(1.0)
        assert list(event.detail["blend"])[-1] == event.detail["candidate"]
        assert 0 <= event.detail["candidate_error"] <= 1
    assert events[-1].detail["metric"]["held_out"] == (model.predict(held_out[0]) != held_out[1]).mean()
    assert model.source_weights_["2"] < model.source_weights_["1"]


def test_it_stops_when_a_callback_says_so():
    X, y, domain, (X_test, _) = planted(n_target=20)
    model = hc.RidgeTransferClassifier().fit(X, y, domain, callbacks=[lambda event: event.index == 2])
    assert list(model.blend_) == ["target only", "target only, 10 C", "target only, 100 C"]
    assert np.isfinite(model.predict_proba(X_test)).all()
