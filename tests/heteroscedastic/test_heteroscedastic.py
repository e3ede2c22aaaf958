"""HGBM and HLR: reductions, planted truth, calibration, events, files, and scikit-learn's contract."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr
from sklearn.utils.estimator_checks import parametrize_with_checks

import datasets
import hetcore as hc
from hetcore.data.plain import plain_table
from hetcore.data.splits import dealt_in_order
from hetcore.heteroscedastic.forest_ensemble import EVEN_SHARE, SHARE_DEVIATION, likeliest_share, mixed_share
from hetcore.heteroscedastic.predictor import calibrate
from hetcore.trees import BinMapper, TreeParams, grow

FEW = {"n_iterations": 12, "max_leaf_nodes": 4}
WHOLE = {"max_leaf_nodes": 8, "min_samples_leaf": 5, "subsample": 1.0, "column_sample": 1.0}  # trees without chance
REPEATS = "bins and parts are of rows, so that a row of weight 2 is not two rows"
EXPECTED = {"check_sample_weight_equivalence_on_dense_data": REPEATS}


def expected_failures(estimator):
    return {} if isinstance(estimator, hc.HeteroscedasticLinearRegression) else EXPECTED


@parametrize_with_checks(
    [hc.HeteroscedasticLinearRegression(), hc.HGBMRegressor(**FEW), hc.HGBMClassifier(**FEW)],
    expected_failed_checks=expected_failures,
)
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def noisy():
    data, truth = datasets.make_noisy(1500, seed=3)
    X, y, _ = plain_table(data)
    return X, y, truth.deviation


@pytest.fixture(scope="module")
def fitted(noisy):
    X, y, _ = noisy
    return hc.HGBMRegressor().fit(X[:1000], y[:1000], eval_set=(X[1000:], y[1000:]))


@pytest.fixture(scope="module")
def flipped():
    data, truth = datasets.make_flipped(1500, flipped=0.2, seed=4)
    X, y, _ = plain_table(data)
    return X, y.astype(str), truth.signal.astype(str)


def least_squares_boosting(X, y, later, rounds, rate, limits, weights=None):
    """Friedman's least squares boosting, by hand, over the same trees."""
    mapper = BinMapper().fit(X.astype(np.float32))
    binned, n_bins = mapper.transform(X.astype(np.float32)), mapper.n_bins
    weights = np.ones(y.size) if weights is None else weights / weights.mean()
    mean = np.average(y, weights=weights)
    unit = np.sqrt(np.average((y - mean) ** 2, weights=weights))
    target = (y - mean) / unit
    f = np.full(y.size, np.average(target, weights=weights))
    predicted = np.full(len(later), f[0])
    for _ in range(rounds):
        counts = weights.astype(np.float32)
        tree = grow(
            binned,
            ((f - target) * weights).astype(np.float32),
            counts,
            rows=None,
            columns=None,
            params=limits,
            n_bins=n_bins,
        )
        tree.add_to(f, binned, rate)
        predicted += rate * tree.predict(mapper.transform(later.astype(np.float32)))[:, 0]
    return mean + unit * predicted


@pytest.mark.parametrize("weighted", [False, True])
def test_constant_deviation_is_least_squares_boosting_exactly(noisy, weighted):
    X, y, _ = noisy
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 300) if weighted else None
    given = {"deviation": "constant", "folds": 1, "n_iterations": 25, "learning_rate": 0.2, "weighting": 1.0}
    model = hc.HGBMRegressor(**given, **WHOLE)
    model.fit(X[:300], y[:300], weights)
    limits = TreeParams(-1, 8, 5, min_child_weight=0.0, l2=1.0, min_gain=0.0)
    expected = least_squares_boosting(X[:300], y[:300], X[300:], rounds=25, rate=0.2, limits=limits, weights=weights)
    assert_allclose(model.predict(X[300:]), expected, rtol=0, atol=1e-12 * np.abs(y).max())
    assert_allclose(model.instance_weights_, 1.0)


def test_a_weighting_of_zero_leaves_the_labels_to_least_squares(noisy):
    X, y, _ = noisy
    given = {"n_iterations": 15, "patience": None}
    constant = hc.HGBMRegressor(deviation="constant", **given).fit(X[:400], y[:400])
    learned = hc.HGBMRegressor(weighting=0.0, **given).fit(X[:400], y[:400])
    assert_array_equal(learned.predict(X), constant.predict(X))
    assert np.ptp(learned.predict(X, True)[1]) > 0 == np.ptp(constant.predict(X, True)[1])


def test_the_model_is_the_mean_of_members_that_lack_one_part_each(noisy):
    X, y = (part[:200] for part in noisy[:2])
    given = WHOLE | {"deviation": "constant", "n_iterations": 8, "patience": None, "min_samples_leaf": 3}
    model = hc.HGBMRegressor(folds=4, learning_rate=0.1, start="constant", **given).fit(X, y)
    fold = dealt_in_order(None, np.random.default_rng(0).permutation(200), 4)
    mapper = BinMapper().fit(X.astype(np.float32))
    binned, target, predicted = mapper.transform(X.astype(np.float32)), (y - y.mean()) / y.std(), 0.0
    for k in range(4):
        rows, f = np.flatnonzero(fold != k).astype(np.int32), np.full(200, target.mean())
        for _ in range(8):
            g = (f - target).astype(np.float32)
            limits = TreeParams(-1, 8, 3, min_child_weight=0.0, l2=1.0, min_gain=0.0)
            grow(
                binned, g, np.ones(200, np.float32), rows=rows, columns=None, params=limits, n_bins=mapper.n_bins
            ).add_to(f, binned, 0.1)
        predicted = predicted + f / 4
    assert_allclose(model.predict(X), y.mean() + y.std() * predicted, atol=1e-10)


def test_parts_are_even_and_each_class_is_spread_over_them():
    classes = np.repeat([0, 1], [40, 12])
    fold = dealt_in_order(classes, np.random.default_rng(1).permutation(52), 4)
    assert_array_equal(np.bincount(fold), [13] * 4)
    assert_array_equal(np.bincount(fold[classes == 1]), [3] * 4)


def test_planted_deviation_is_recovered(noisy):
    X, y, deviation = noisy
    model = hc.HGBMRegressor().fit(X, y)
    sigma = model.predict(X, return_std=True)[1]
    assert spearmanr(sigma, deviation)[0] >= 0.9
    later, truth = datasets.make_noisy(1000, seed=77)
    later = plain_table(later).X
    assert spearmanr(model.predict(later, return_std=True)[1], truth.deviation)[0] >= 0.9
    assert 0.8 < np.median(sigma / deviation) < 1.25


def test_intervals_hold_what_they_say(fitted, noisy):
    X, y, _ = noisy
    for coverage in (0.5, 0.8, 0.9):
        low, high = fitted.predict_interval(X[1000:], coverage)
        assert abs(((low <= y[1000:]) & (y[1000:] <= high)).mean() - coverage) < 0.05
    with pytest.raises(hc.ParameterError, match=r"coverage=1.0 must be in \(0, 1\)"):
        fitted.predict_interval(X, 1.0)
    for several in ([0.5, 0.9], "0.9", None, float("nan")):
        with pytest.raises(hc.ParameterError, match=r"must be in \(0, 1\): 0.9 holds nine labels in ten"):
            fitted.predict_interval(X, several)


def test_deviation_from_rows_left_out_is_wider_than_from_training_rows(noisy):
    X, y, _ = noisy
    inside = hc.HGBMRegressor(folds=1, n_iterations=100).fit(X[:300], y[:300])
    outside = hc.HGBMRegressor(n_iterations=100).fit(X[:300], y[:300])
    share = {}
    for name, model in (("inside", inside), ("outside", outside)):
        mean, sigma = model.predict(X[300:], return_std=True)
        share[name] = (np.abs(y[300:] - mean) <= 1.645 * sigma).mean()
    assert share["inside"] < 0.8 < share["outside"] < 0.96


def test_rows_that_stray_count_less(fitted, noisy):
    X, y, deviation = noisy
    model = hc.HGBMRegressor(blend=False).fit(X[:1000], y[:1000])
    assert spearmanr(model.instance_weights_, -deviation[:1000])[0] > 0.6
    strayed = np.zeros(1000)
    strayed[::10] = 8.0
    wild = hc.HGBMRegressor(blend=False, start="constant", tail=4.0).fit(X[:1000], y[:1000] + strayed)
    assert wild.instance_weights_[::10].mean() < 0.7 * wild.instance_weights_.mean()
    assert_allclose(fitted.instance_weights_.mean(), 1.0)


def test_with_a_tail_gross_outliers_move_neither_trees_nor_line_and_are_in_the_intervals():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(300, 3)), rng.normal(size=(500, 3))
    truth = [2 * each[:, 0] + (each[:, 1] > 0) for each in (X, Z)]
    strays = rng.random(300) < 0.1
    y = truth[0] + 0.3 * rng.normal(size=300) + strays * rng.normal(size=300) * 30
    model = hc.HGBMRegressor(tail=3.0, n_iterations=40).fit(X, y)
    assert np.sqrt(np.mean((model.predict(Z) - truth[1]) ** 2)) < 0.3
    far = strays & (np.abs(y - truth[0]) > 5)
    assert model.instance_weights_[far].max() < 0.2 and model.instance_weights_.mean() == pytest.approx(1.0)
    new = truth[1] + 0.3 * rng.normal(size=500) + (rng.random(500) < 0.1) * rng.normal(size=500) * 30
    low, high = model.predict_interval(Z, 0.9)
    assert np.mean((low < new) & (new < high)) == pytest.approx(0.9, abs=0.06)


def test_events_tell_losses_coverage_and_spread(fitted, noisy):
    events = []
    X, y, _ = noisy
    model = hc.HGBMRegressor(n_iterations=6)
    model.fit(X[:200], y[:200], eval_set=(X[200:400], y[200:400]), callbacks=[events.append])
    assert [event.index for event in events] == list(range(6))
    for event in events:
        sets = {"train", "left_out", "held_out"}
        assert set(event.losses) == sets and event.detail["metric_name"] == "RMSE"
        assert all(set(event.detail[key]) == sets for key in ("metric", "coverage90", "mean_sigma"))
    mean = model.predict(X[200:400])
    rmse = np.sqrt(((mean - y[200:400]) ** 2).mean())
    assert_allclose(events[-1].detail["metric"]["held_out"], rmse, rtol=1e-9)
    assert model.history_.height == 6 and "loss:left_out" in model.history_.columns
    assert "disagreement" not in model.history_.columns  # there are no tables that could


def test_a_callback_may_stop_and_patience_does(noisy):
    X, y, _ = noisy
    stopped = hc.HGBMRegressor().fit(X[:200], y[:200], callbacks=[lambda event: event.index == 2])
    assert stopped.n_iterations_ == 3 and stopped.best_iteration_ <= 3
    model = hc.HGBMRegressor(patience=5, learning_rate=0.5, deviation_rate=0.5).fit(X[:200], y[:200])
    assert model.n_iterations_ == model.best_iteration_ + 5 < 100


def test_held_out_scores_are_those_of_the_rounds_that_are_kept(noisy):
    X, y, _ = noisy
    events = []
    model = hc.HGBMRegressor(patience=3, learning_rate=0.5, deviation_rate=0.3)
    model.fit(X[:200], y[:200], eval_set=(X[200:400], y[200:400]), callbacks=[events.append])
    mean, sigma = model.predict(X[200:400], return_std=True)
    last = events[-1].detail
    assert_allclose(last["metric"]["held_out"], np.sqrt(((mean - y[200:400]) ** 2).mean()), rtol=1e-9)
    plain = hc.HGBMRegressor(patience=3, learning_rate=0.5, deviation_rate=0.3, calibrated=False).fit(X[:200], y[:200])
    assert_allclose(last["mean_sigma"]["held_out"], plain.predict(X[200:400], True)[1].mean(), rtol=1e-9)


def share_of(weighed, alike, y):
    return mixed_share(alike[:, None], weighed[:, None], y[:, None], np.ones((y.size, 1)))


def test_two_label_forests_are_mixed_by_left_out_rows_and_evenly_where_those_say_nothing():
    rng = np.random.default_rng(0)
    alike, weighed = rng.normal(size=(2, 4000))
    y = 0.7 * alike + 0.3 * weighed + 0.5 * rng.normal(size=4000)
    assert abs(share_of(weighed, alike, y) - (0.3 + EVEN_SHARE) / 2) < 0.02
    assert share_of(weighed, alike, weighed) == 0.75 and share_of(alike, alike, y) == EVEN_SHARE
    assert share_of(weighed, alike, 3 * alike - 2 * weighed) == 0.0 and share_of(weighed, alike, 3 * weighed) == 1.0


def test_the_share_of_another_forest_is_the_likeliest_by_its_prior_and_its_standard_error():
    rng = np.random.default_rng(0)
    mixed, other = rng.normal(size=(2, 30))
    step = other - mixed
    missed = 0.8 * step + 1.5 * rng.normal(size=30)
    slope = (step @ missed) / (step @ step)
    # of least squares, residuals of unequal size
    variance = ((missed - np.clip(slope, 0.0, 1.0) * step) ** 2 @ step**2) / (step @ step) ** 2
    precision = np.array([1.0 / variance, 1.0 / SHARE_DEVIATION**2])
    expected = precision @ [slope, 0.3] / precision.sum()
    assert 0.3 < expected < 0.95 and abs(expected - slope) > 0.03
    assert_allclose(likeliest_share(mixed, other, missed, np.ones(30), 0.3), expected)
    assert likeliest_share(mixed, mixed, missed, np.ones(30), 0.3) == 0.3
    mixed, other = np.tile(mixed, 100), np.tile(other, 100)
    shares = [likeliest_share(mixed, other, times * (other - mixed), np.ones(3000), 0.3) for times in (-1.0, 1.2)]
    assert shares == [0.0, 1.0]


@pytest.mark.parametrize("make", [hc.HGBMRegressor, hc.HGBMClassifier])
def test_the_forest_of_rows_that_count_alike_is_boosting_with_a_constant_deviation(make, noisy, flipped, monkeypatch):
    X, y = (noisy if make is hc.HGBMRegressor else flipped)[:2]
    monkeypatch.setattr("hetcore.heteroscedastic.boosting.mixed_share", lambda *given: 0.0)
    alone = {"n_iterations": 40} | ({"start": "constant"} if make is hc.HGBMRegressor else {})
    predicted = [make(**given).fit(X[:300], y[:300]) for given in (alone, alone | {"deviation": "constant"})]
    raw = [model.model_.raw(X.astype(np.float32)).f for model in predicted]
    assert_array_equal(*raw)


@pytest.mark.slow
def test_flipped_labels_get_low_weights(flipped):
    X, y, truth = flipped
    wrong = y != truth
    alone = hc.HGBMClassifier(blend=False).fit(X, y).instance_weights_
    assert alone[wrong].mean() < 0.7 * alone[~wrong].mean()
    weights = hc.HGBMClassifier().fit(X, y).instance_weights_
    assert alone[wrong].mean() < weights[wrong].mean() < 0.85 * weights[~wrong].mean()
    lowest = np.argsort(weights)[: wrong.sum()]
    assert wrong[lowest].mean() > 2 * wrong.mean()


def test_deviation_of_classes_is_higher_where_labels_were_flipped(flipped):
    X, y, _ = flipped
    deviation = hc.HGBMClassifier().fit(X, y).predict_deviation(X)
    assert deviation[X[:, 2] > 0].mean() > 1.3 * deviation[X[:, 2] < 0].mean()
    assert (0 <= deviation).all() and (deviation <= 1).all()


def test_losses_of_classes_are_of_the_probabilities_that_are_predicted(flipped):
    X, y, _ = flipped
    events, later = [], (X[400:700], y[400:700])
    model = hc.HGBMClassifier(patience=4).fit(X[:400], y[:400], eval_set=later, callbacks=[events.append])
    p = model.predict_proba(X[400:700])[np.arange(300), (y[400:700] == model.classes_[1]).astype(int)]
    assert_allclose(events[-1].losses["held_out"], -np.log(p).mean(), rtol=1e-9)
    assert 0.0 < model.model_.scale < 1.0


@pytest.mark.parametrize("make", [hc.HGBMRegressor, hc.HGBMClassifier])
def test_threads_change_nothing_and_shares_of_rows_and_columns_do(make, noisy, flipped):
    X, y = (noisy if make is hc.HGBMRegressor else flipped)[:2]
    some = {"subsample": 0.6, "column_sample": 0.5}
    models = [make(n_iterations=10, **given).fit(X[:300], y[:300]) for given in ({}, some, {"n_jobs": 3, **some})]
    raw = [model.model_.raw(X.astype(np.float32)).f for model in models]
    assert_array_equal(raw[1], raw[2])
    assert (raw[0] != raw[1]).any()


def test_constant_deviation_is_logistic_boosting(flipped):
    X, y, _ = flipped
    model = hc.HGBMClassifier(deviation="constant", folds=1, n_iterations=10, **WHOLE).fit(X[:300], y[:300])
    signs = np.where(y[:300] == "yes", 1.0, -1.0)
    mapper = BinMapper().fit(X[:300].astype(np.float32))
    binned = mapper.transform(X[:300].astype(np.float32))
    share = (signs > 0).mean()
    f = np.full(300, np.log(share / (1 - share)))
    for _ in range(10):
        p = 1 / (1 + np.exp(-f))
        g, h = (p - (signs > 0)).astype(np.float32), (p * (1 - p)).astype(np.float32)
        grow(
            binned,
            g,
            h,
            rows=None,
            columns=None,
            params=TreeParams(-1, 8, 5, min_child_weight=0.0, l2=1.0, min_gain=0.0),
            n_bins=mapper.n_bins,
        ).add_to(f, binned, 0.1)
    assert_allclose(model.decision_function(X[:300]), f, atol=1e-5)
    assert_allclose(model.predict_deviation(X), 0.0)


def test_three_classes_and_probabilities_that_add_up():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.5])]
    model = hc.HGBMClassifier(n_iterations=60).fit(X[:300], y[:300])
    p = model.predict_proba(X[300:])
    assert_allclose(p.sum(axis=1), 1.0)
    assert model.score(X[300:], y[300:]) > 0.85 and list(model.classes_) == ["a", "b", "c"]
    assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X[300:]))


BOOSTERS = pytest.mark.parametrize("make", [hc.HGBMRegressor, hc.HGBMClassifier])


@BOOSTERS
def test_as_printed_no_split_of_the_deviation_ever_gains(make, noisy, flipped):
    X, y = (noisy if make is hc.HGBMRegressor else flipped)[:2]
    given = {"as_printed": True, "n_iterations": 8, "l2": 0.0, "max_leaf_nodes": 4, "min_samples_leaf": 20}
    printed, plain = (make(**given, deviation=each).fit(X[:300], y[:300]) for each in ("learned", "constant"))
    assert printed.n_iterations_ == printed.best_iteration_ == 8 and "loss:left_out" not in printed.history_.columns
    assert np.ptp(printed.instance_weights_) < 1e-12
    raw = [model.model_.raw(X.astype(np.float32)).f for model in (printed, plain)]
    assert_allclose(*raw, rtol=1e-4)  # a weight that all rows have in common leaves (23) without lambda as it is
    heavy = [make(**given | {"l2": 5.0}, deviation=each).fit(X[:300], y[:300]) for each in ("learned", "constant")]
    raw = [model.model_.raw(X.astype(np.float32)).f for model in heavy]
    assert np.abs(raw[0] - raw[1]).max() > 1e-3  # but lambda stands against it: weights are not normalised


@BOOSTERS
def test_the_printed_link_weighs_rows_within_its_bounds(make, noisy, flipped):
    X, y = (noisy if make is hc.HGBMRegressor else flipped)[:2]
    given = {"blend": False} if make is hc.HGBMRegressor else {}
    given |= {"folds": 1, "n_iterations": 60, "deviation_rate": 1.0, "deviation_l2": 1.0, "delta": 0.5} | WHOLE
    model = make(link="sigmoid", **given).fit(X[:300], y[:300])
    weights = model.instance_weights_
    assert 1.05 < weights.max() / weights.min() <= 1.5**4 / 0.5**4
    assert (model.model_.raw(X[:300].astype(np.float32)).d >= model.model_.link.start - 1e-9).all()
    if make is hc.HGBMRegressor:
        assert spearmanr(model.predict(X, return_std=True)[1], noisy[2])[0] > 0.4
    else:
        assert (model.predict_deviation(X) >= 0.5).all() and model.score(X[300:], y[300:]) > 0.7


def test_missing_values_and_rows_of_no_weight(noisy):
    X, y, _ = noisy
    X = X[:300].copy()
    X[::7, 1] = np.nan
    weights = np.ones(300)
    weights[:50] = 0.0
    model = hc.HGBMRegressor(n_iterations=20).fit(X, y[:300], weights)
    alone = hc.HGBMRegressor(n_iterations=20).fit(X[50:], y[50:300])
    assert_array_equal(model.predict(X), alone.predict(X))
    assert (model.instance_weights_[:50] == 0).all() and (model.instance_weights_[50:] > 0).all()
    with pytest.raises(ValueError, match="at least one non-zero number"):
        hc.HGBMRegressor().fit(X, y[:300], np.zeros(300))
    for model in (hc.HGBMRegressor(), hc.HeteroscedasticLinearRegression(), hc.HLR()):
        with pytest.raises(hc.DataError, match="sample_weight has -2: give numbers of at least 0"):
            model.fit(X[:, [0]], y[:300], np.where(weights > 0, weights, -2.0))


@pytest.mark.parametrize(
    ("given", "predicted"),
    [
        ({"learning_rate": 0.0}, r"learning_rate=0.0 must be in \(0, 1\]"),
        ({"folds": 0}, "folds=0 must be a whole number, at least 1"),
        ({"deviation_l2": 0.0}, "deviation_l2=0.0 must be a finite number above 0"),
        ({"link": "flips"}, "link='flips' must be one of 'gaussian', 'sigmoid'"),
        ({"deviation": "none"}, "deviation='none' must be one of 'learned', 'constant'"),
        ({"tail": -1.0}, "tail=-1.0 must be"),
    ],
)
def test_parameters_outside_their_domain_are_refused(given, predicted, noisy):
    with pytest.raises(hc.ParameterError, match=predicted):
        hc.HGBMRegressor(**given).fit(noisy[0][:50], noisy[1][:50])


def test_an_eval_set_that_does_not_fit_is_refused(noisy, flipped):
    X, y, _ = noisy
    with pytest.raises(hc.DataError, match="eval_set has 10 rows and labels of shape"):
        hc.HGBMRegressor(**FEW).fit(X[:50], y[:50], eval_set=(X[:10], y[:9]))
    X, y, _ = flipped
    with pytest.raises(hc.DataError, match="eval_set has the class 'maybe'"):
        hc.HGBMClassifier(**FEW).fit(X[:50], y[:50], eval_set=(X[:1], np.array(["maybe"])))


def test_calibration_finds_shift_and_slope():
    rng = np.random.default_rng(6)
    q = rng.normal(0, 1, 20_000)
    squares = np.exp(0.7 + 1.6 * q) * rng.standard_normal(q.size) ** 2
    line = calibrate(q, squares, np.ones(q.size))
    assert_allclose(line(np.array([0.0, 1.0])), [0.7, 2.3], atol=0.06)
    few = calibrate(q[:3], squares[:3], np.ones(3))
    assert 0.0 <= few.slope < 4.0


def test_the_same_seed_gives_the_same_bits_and_another_does_not(noisy):
    X, y, _ = noisy
    models = [hc.HGBMRegressor(**FEW, random_state=seed).fit(X[:200], y[:200]) for seed in (0, 0, 1)]
    predicted = [model.predict(X, True) for model in models]
    assert_array_equal(predicted[0], predicted[1])
    assert (predicted[0][0] != predicted[2][0]).any()


def test_constant_labels_are_predicted_without_doubt():
    X = np.random.default_rng(0).normal(size=(40, 2))
    mean, sigma = hc.HGBMRegressor(n_iterations=20).fit(X, np.full(40, 3.0)).predict(X, return_std=True)
    assert_allclose(mean, 3.0)
    assert np.isfinite(sigma).all() and sigma.max() < 1.0
