"""Transfer boosting by hand: one step of each algorithm, its reductions, its edges, and planted hostile sources."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import hetcore as hc
from hetcore.transfer.boosting import alpha_source
from hetcore.transfer.learners import TreeLearner, WeakLearner
from hetcore.transfer.rounds import Boosting, RunningScores, TaskSelection, WeightUpdate, largest_alpha, step_size
from hetcore.transfer.weighted import eta_formulas

BOOSTED = (
    hc.TrAdaBoostClassifier,
    hc.MultiSourceTrAdaBoostClassifier,
    hc.TaskTrAdaBoostClassifier,
    hc.WeightedMultiSourceTrAdaBoostClassifier,
)


class Scripted(WeakLearner):
    """A learner that says what a script says: fit returns the next list of signs."""

    def __init__(self, script):
        self.script, self.fits = [np.array(predicted, float) for predicted in script], []

    def fit(self, rows, signs, weights):
        self.fits.append((rows, signs, weights / weights.sum()))
        return self.script.pop(0)

    def votes(self, model, rows):
        return model[rows]

    def votes_of(self, model, prepared):
        return np.empty(0)


PRINTED = {"as_printed": True, "max_depth": 1}
TEMPERED = {"learner": "tree", "votes": "hard", "max_depth": 1, "guard": False, "source_rate": "ratio"}


def classic(cls, **params):
    """Return a boosted classifier of hard stumps, the weighted one with eta by the linear formula."""
    weighted = cls is hc.WeightedMultiSourceTrAdaBoostClassifier
    return cls(**({**TEMPERED, "eta": "linear", **params} if weighted else params))


def boosting(script, signs, domain, candidates, weight_update=WeightUpdate(0.1), late=False):  # noqa: B008
    """Return a boosting over a scripted learner; domain 0 is the target."""
    signs, domain = np.array(signs, float), np.array(domain)
    running = RunningScores((int((domain == 0).sum()), 0), late)
    rows = [np.array(each) for each in candidates]
    return Boosting(
        Scripted(script), signs, domain, candidates=rows, weight_update=weight_update, running=running, held_out=None
    )


def planted(seed=0, n_target=30, flips=(0.0, 0.5, 1.0), n_source=150, n_classes=2, d=6):
    """Return X, y, sample_domain and a test set of the target; source k has that share of its labels moved on."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(d, n_classes))

    def rows(n, flip):
        X = rng.normal(size=(n, d))
        y = (X @ w).argmax(axis=1)
        moved = rng.random(n) < flip
        return X, np.where(moved, (y + 1) % n_classes, y)

    parts = [rows(n_source, flip) for flip in flips] + [rows(n_target, 0.0)]
    X, y = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    domain = np.repeat([*range(1, len(flips) + 1), -1], [len(part[1]) for part in parts])
    return X, y, domain, rows(400, 0.0)


# --- one step by hand -------------------------------------------------------------------------------------------------


def test_one_step_of_tradaboost():
    # rows 0, 1, 2: source; 3, 4, 5, 6: target. h is wrong on source row 1 and target row 4.
    part = boosting([[1, -1, -1, 1, -1, -1, 1]], [1, 1, -1, 1, 1, -1, 1], [1, 1, 1, 0, 0, 0, 0], [range(7)])
    assert not part.round()
    assert part.epsilon == 0.25  # one of four target rows of equal weight; source rows do not count
    assert part.alpha == pytest.approx(0.5 * np.log(3))
    raw = np.array([1, np.exp(-0.2), 1, 1, 3, 1, 1])  # e^(-2 alpha_S), e^(2 alpha_t) = 3
    np.testing.assert_allclose(np.exp(part.log_weights), raw / raw.sum(), rtol=1e-14)
    masses = np.array([6, 2 + np.exp(-0.2)]) / raw.sum()
    np.testing.assert_allclose(part.masses(1), masses)


def test_one_step_of_multisource_takes_the_source_that_helps_most():
    signs, domain = [1, -1, 1, -1, 1, -1, 1], [1, 1, 2, 2, 0, 0, 0]
    predicted = [[1, -1, 1, -1, -1, 1, 1], [-1, -1, 1, -1, 1, -1, -1]]  # wrong on two target rows; on one
    part = boosting(predicted, signs, domain, [[0, 1, 4, 5, 6], [2, 3, 4, 5, 6]])
    part.round()
    assert part.epsilon == pytest.approx(1 / 3) and part.alpha == pytest.approx(0.5 * np.log(2))
    raw = np.array([np.exp(-0.2), 1, 1, 1, 1, 1, 2])  # every source is judged by the chosen h, not by its own
    np.testing.assert_allclose(np.exp(part.log_weights), raw / raw.sum(), rtol=1e-14)
    assert [rows.tolist() for rows, *_ in part.learner.fits] == [[0, 1, 4, 5, 6], [2, 3, 4, 5, 6]]


def test_one_step_of_the_weighted_update():
    signs, domain, predicted = [1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [[-1, 1, -1, 1, 1]]
    part = boosting(predicted, signs, domain, [range(5)], WeightUpdate(0.1, target_power=3.0, source_power=2.0))
    part.round()
    raw = np.array([np.exp(-0.1 * 2 * 2), 1, 2**3, 1, 1])  # (3), (4): eta multiplies the exponents
    np.testing.assert_allclose(np.exp(part.log_weights), raw / raw.sum(), rtol=1e-14)
    part = boosting(predicted, signs, domain, [range(5)], WeightUpdate(0.1, log_lift=np.log(5.0)))
    part.round()
    raw = np.array([np.exp(-0.2), 1, 10, 5, 5])  # every target row is worth eta times more
    np.testing.assert_allclose(np.exp(part.log_weights), raw / raw.sum(), rtol=1e-14)


def test_one_step_of_task_takes_the_best_learner_or_its_opposite():
    predicted = np.array([[1, 1, -1, -1], [1, 1, 1, -1], [-1, 1, 1, -1.0]])
    part = TaskSelection(
        ["a", "b", "c"],
        predicted,
        np.zeros((3, 0)),
        origin=np.array([1, 2, 2]),
        signs=np.array([1, -1, -1, -1.0]),
        running=_w(4),
    )
    part.round()
    assert part.epsilon == 0.25 and part.voters() == [("a", pytest.approx(0.5 * np.log(3)))]
    np.testing.assert_allclose(np.exp(part.log_weights), np.array([1, 3, 1, 1]) / 6)
    part.round()
    assert part.epsilon == pytest.approx(1 / 6)  # -c is wrong on row 3 only, of weight 1 in 6
    assert part.voters()[1] == ("c", pytest.approx(-0.5 * np.log(5)))
    np.testing.assert_allclose(part.masses(2), np.array([0, np.log(3), np.log(5)]) / np.log(15))


def _w(n):
    return RunningScores((n, 0), False)


def test_what_alpha_and_eta_are():
    assert alpha_source("hedge", 200, 50) == pytest.approx(0.5 * np.log(1 + np.sqrt(2 * np.log(200) / 50)))
    assert alpha_source("ratio", 200, 50) == pytest.approx(0.5 * np.log(1 + np.sqrt(2 * np.log(4))))
    assert alpha_source("ratio", 50, 50) == 0.0 and alpha_source("ratio", 0, 50) == 0.0
    assert eta_formulas(6, 200) == {"linear": 3.0, "squared": 18.0} and eta_formulas(6, 0)["linear"] == 0.0
    X, y, domain, _ = planted(n_target=6, flips=(0.0, 0.5), n_source=100)
    for eta, value in (("linear", 3.0), ("squared", 18.0), (0.7, 0.7)):
        model = hc.WeightedMultiSourceTrAdaBoostClassifier(eta=eta, n_iterations=2, guard=False).fit(X, y, domain)
        assert model.eta_ == value


# --- reductions -------------------------------------------------------------------------------------------------------


def same(a, b, X):
    """Return whether two fits are the same to the last bit."""
    assert a.n_iterations_ == b.n_iterations_
    return bool((a.decision_function(X) == b.decision_function(X)).all()) and a.source_weights_ == b.source_weights_


def test_multiplicative_as_printed_is_multisource_to_the_last_bit():
    X, y, domain, (X_test, _) = planted()
    given = {"n_iterations": 40, "cap_alpha": False, "reset": False, "criterion": "error"}
    plain = hc.MultiSourceTrAdaBoostClassifier(**given).fit(X, y, domain)

    def weighted(**params):
        return hc.WeightedMultiSourceTrAdaBoostClassifier(n_iterations=40, **PRINTED, **params).fit(X, y, domain)

    for eta in ("linear", "squared", 0.3):
        assert same(weighted(eta=eta, update="multiplicative"), plain, X_test)
    for on in ("target", "source"):
        assert not same(weighted(eta=1.5, update="multiplicative", eta_on=on), plain, X_test)
    assert same(weighted(eta=1.0), plain, X_test)


@pytest.mark.parametrize("rate", ["hedge", "ratio"])
def test_one_source_is_tradaboost_to_the_last_bit(rate):
    X, y, domain, (X_test, _) = planted(flips=(0.3,))
    multi = hc.MultiSourceTrAdaBoostClassifier(n_iterations=40, source_rate=rate).fit(X, y, domain)
    single = hc.TrAdaBoostClassifier(n_iterations=40, source_rate=rate, vote="all").fit(X, y, domain)
    assert multi.n_iterations_ > 3 and same(multi, single, X_test)


@pytest.mark.parametrize("cls", BOOSTED)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_sources_all_are_adaboost(cls, n_classes):
    X, y, _, (X_test, _) = planted(n_target=250, n_classes=n_classes)
    X, y = X[-250:], y[-250:]
    # as printed stumps of our own have least classification error, and scikit-learn's have not
    weighted = {"estimator": DecisionTreeClassifier(max_depth=1), "as_printed": True}
    model = cls(n_iterations=12, **(weighted if "Weighted" in cls.__name__ else {})).fit(X, y)
    scores = model.decision_function(X_test).reshape(len(X_test), -1)
    for k in range(scores.shape[1]):
        stump = DecisionTreeClassifier(max_depth=1)
        peer = AdaBoostClassifier(stump, n_estimators=12).fit(X, y == (k if n_classes > 2 else 1))
        alphas = peer.estimator_weights_[: len(peer.estimators_)] / 2  # theirs is ln((1 - epsilon) / epsilon)
        summed = sum(a * np.where(e.predict(X_test), 1, -1) for a, e in zip(alphas, peer.estimators_))
        np.testing.assert_allclose(scores[:, k], summed, atol=1e-5)  # our thresholds are float32


def test_tradaboost_lets_the_later_half_vote():
    X, y, domain, (X_test, y_test) = planted(flips=(0.2,), n_target=60)
    late = hc.TrAdaBoostClassifier(n_iterations=9).fit(X, y, domain, eval_set=(X_test, y_test))
    every = hc.TrAdaBoostClassifier(n_iterations=9, vote="all").fit(X, y, domain)
    assert (len(every._votes[0]), len(late._votes[0])) == (9, 5)  # rounds 5 .. 9 of 9, ceil(9 / 2) = 5
    arrays = every._votes[0].forest.to_arrays()
    np.testing.assert_array_equal(late._votes[0].forest.to_arrays()["scales"], arrays["scales"][4:])
    assert late.history_["metric:held_out"][-1] == (late.predict(X_test) != y_test).mean()


# --- edges ------------------------------------------------------------------------------------------------------------


def test_no_error_on_the_target_caps_alpha():
    part = boosting([[1, 1, 1, -1]] * 2, [1, -1, 1, -1], [1, 1, 0, 0], [range(4)])
    part.round()
    assert part.epsilon == 0.0 and part.alpha == largest_alpha(2) == pytest.approx(0.5 * np.log(3))
    assert step_size(1e-300, 2.0) == 2.0 and step_size(0.4, 2.0) == pytest.approx(0.5 * np.log(1.5))
    assert np.isfinite(part.log_weights).all()


def test_a_half_wrong_resets_the_target_once_and_then_stops():
    good, bad = [1, 1, 1, -1, -1, 1], [1, 1, -1, -1, -1, 1]
    signs, domain = [1, 1, 1, -1, -1, -1], [1, 1, 0, 0, 0, 0]
    part = boosting([good, bad, good, bad, good], signs, domain, [range(6)])
    assert not part.round() and part.alpha > 0
    assert not np.allclose(part.log_weights[2:], part.log_weights[2])
    assert not part.round() and part.epsilon >= 0.5 and part.alpha == 0.0
    assert np.ptp(part.log_weights[2:]) == 0.0 and part.masses(1).sum() == pytest.approx(1.0)  # set back
    assert not part.round() and part.alpha > 0
    assert part.round() and part.round()  # the second time it is done, and stays done
    assert len(part.voters()) == 2


def test_where_no_round_helps_the_last_learner_speaks():
    wrong = [1, -1, -1, 1]
    part = boosting([wrong, wrong], [1, 1, 1, -1], [1, 1, 0, 0], [range(4)])
    assert not part.round() and part.round()
    assert [alpha for _, alpha in part.voters()] == [largest_alpha(2)]


@pytest.mark.parametrize("cls", [hc.MultiSourceTrAdaBoostClassifier, hc.WeightedMultiSourceTrAdaBoostClassifier])
def test_fewer_source_rows_than_rounds_is_reported(cls):
    X, y, domain, _ = planted(flips=(0.0, 0.0), n_source=10)
    with pytest.raises(hc.ParameterError, match="n_iterations=21.*n_S=20.*imaginary.*source_rate='hedge'"):
        classic(cls, n_iterations=21).fit(X, y, domain)
    assert classic(cls, n_iterations=20).fit(X, y, domain).n_iterations_ > 0
    assert classic(cls, n_iterations=21, source_rate="hedge").fit(X, y, domain).n_iterations_ > 0
    assert hc.WeightedMultiSourceTrAdaBoostClassifier(eta=0.1, n_iterations=21).fit(X, y, domain).n_iterations_ > 0


def test_weights_that_would_underflow_stay_apart():
    # e^(-2 * 400 * t) is 0 in float64 after one round, yet row 0 (wrong 3 times) stays below row 1 (wrong twice)
    predicted = [[-1, -1, -1, 1, 1], [-1, -1, 1, -1, 1], [-1, 1, 1, 1, -1]]
    part = boosting(predicted, [1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [range(5)], WeightUpdate(400.0))
    for _ in range(3):
        part.round()
    logs = part.log_weights
    assert np.isfinite(logs).all() and logs[1] - logs[0] == pytest.approx(800.0) and logs[0] < -2000
    assert part.masses(1).sum() == pytest.approx(1.0)
    assert np.exp(logs[:2]).sum() == 0.0  # what a weight that is no logarithm would be


@pytest.mark.parametrize("eta", [0.0, 1e-6, 1e6])
@pytest.mark.parametrize("update", ["exponential", "multiplicative"])
@pytest.mark.parametrize("eta_on", ["target", "source", "both"])
def test_extreme_eta_gives_finite_scores(eta, update, eta_on):
    X, y, domain, (X_test, _) = planted(n_source=60)
    model = hc.WeightedMultiSourceTrAdaBoostClassifier(eta=eta, update=update, eta_on=eta_on, n_iterations=15)
    probability = model.fit(X, y, domain).predict_proba(X_test)
    assert np.isfinite(probability).all() and np.isfinite(list(model.source_weights_.values())).all()


# --- what it is for ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", ["one", "multi", "weighted", "blend", "Multi-KT"])
def test_a_hostile_source_ends_with_the_least_mass(method, seed):
    X, y, domain, _ = planted(seed, n_target=60, flips=(0.1, 0.1, 1.0))
    model = {
        "one": hc.TrAdaBoostClassifier(n_iterations=60),
        "multi": hc.MultiSourceTrAdaBoostClassifier(n_iterations=60),
        "weighted": hc.WeightedMultiSourceTrAdaBoostClassifier(eta=0.5, n_iterations=60),
        "blend": hc.RidgeTransferClassifier(),
        "Multi-KT": hc.MultiKTClassifier(),
    }[method]
    model.set_params(domain_names=["kin", "cousin", "foe"]).fit(X, y, domain)
    assert min(model.source_weights_, key=model.source_weights_.get) == "foe"
    assert set(model.source_weights_) == {"kin", "cousin", "foe"}


def test_good_sources_help_few_target_rows():
    errors = {name: [] for name in ("all", "alone")}
    for seed in range(6):
        X, y, domain, (X_test, y_test) = planted(seed, n_target=12, flips=(0.0, 0.0), n_source=200)
        own = domain < 0
        for name, rows in (("all", slice(None)), ("alone", own)):
            model = hc.TrAdaBoostClassifier(n_iterations=30, vote="all").fit(X[rows], y[rows], domain[rows])
            errors[name].append((model.predict(X_test) != y_test).mean())
    assert np.mean(errors["all"]) < np.mean(errors["alone"]) - 0.03


@pytest.mark.parametrize("cls", BOOSTED)
def test_an_event_says_what_it_should(cls):
    X, y, domain, held_out = planted(n_classes=3, n_target=45)
    events = []
    weighted = cls is hc.WeightedMultiSourceTrAdaBoostClassifier
    model = cls(n_iterations=6, **({"eta": "linear"} if weighted else {}))
    model.fit(X, y, domain, callbacks=[events.append], eval_set=held_out)
    assert len(events) == model.n_iterations_ >= 1 and {e.method for e in events} == {cls.__name__}
    for event in events:
        detail = event.detail
        assert set(event.losses) == {"train", "held_out"} == set(detail["metric"])
        assert detail["metric_name"] == "error" and set(event.source_weights) == {"1", "2", "3"}
        assert 0 <= detail["epsilon"] <= 1 and detail["alpha"] >= 0
        assert sum(event.source_weights.values()) + detail["target_mass"] == pytest.approx(1.0)
        if weighted:
            formula = detail["eta_formula"]
            assert detail["eta"] == formula["linear"] == 10.0 and formula["squared"] == 450.0
    assert events[-1].detail["metric"]["held_out"] == (model.predict(held_out[0]) != held_out[1]).mean()
    own = domain < 0
    assert events[-1].detail["metric"]["train"] == (model.predict(X[own]) != y[own]).mean()
    assert model.source_weights_ == events[-1].source_weights


def test_a_callback_stops_and_leaves_a_valid_model():
    X, y, domain, (X_test, _) = planted()
    stopped = hc.MultiSourceTrAdaBoostClassifier(source_rate="hedge", n_iterations=20)
    stopped.fit(X, y, domain, callbacks=[lambda event: event.index == 3])
    assert stopped.n_iterations_ == 4 and len(stopped._votes[0]) == 4
    assert stopped.predict_proba(X_test).shape == (400, 2)


@pytest.mark.slow
@pytest.mark.parametrize("cls", BOOSTED)
@pytest.mark.parametrize("learner", [LogisticRegression(), DecisionTreeClassifier(max_depth=2)])
def test_any_classifier_that_takes_weights_can_be_the_weak_learner(cls, learner):
    X, y, domain, held_out = planted(n_source=60)
    model = cls(learner, n_iterations=4).fit(X, y, domain, eval_set=held_out)
    assert (model.predict(held_out[0]) == held_out[1]).mean() > 0.55
    assert model.history_["metric:held_out"][-1] == (model.predict(held_out[0]) != held_out[1]).mean()


def test_a_classifier_without_weights_is_refused():
    X, y, domain, _ = planted()
    with pytest.raises(hc.ParameterError, match="KNeighborsClassifier takes no sample_weight"):
        hc.TrAdaBoostClassifier(KNeighborsClassifier()).fit(X, y, domain)


def test_a_tree_of_our_own_minimises_the_weighted_error_as_gini_does():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(80, 4)), 1)
    signs, weights = np.where(rng.random(80) < 0.4, 1.0, -1.0), rng.exponential(size=80)
    rows = np.flatnonzero(rng.random(80) < 0.8)
    learner = TreeLearner(X, 2)
    tree = learner.fit(rows, signs[rows], weights[rows])
    peer = DecisionTreeClassifier(max_depth=2).fit(X[rows], signs[rows], sample_weight=weights[rows])
    np.testing.assert_array_equal(learner.votes(tree, rows), peer.predict(X[rows]))
