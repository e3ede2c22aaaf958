"""Factorizations: reductions, planted truth, codes never seen, stopping, and what the events tell."""

import copy
import itertools

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import hetcore as hc
from hetcore.errors import DataError, ParameterError
from hetcore.factorization import estimator, sgd
from hetcore.factorization.estimator import entries_of
from hetcore.factorization.sgd import Tables
from hetcore.factorization.tensor_baselines import InverseDistance, NearestSensors, Tucker
from tests.naive import factorization as naive

MATRIX = (hc.MatrixFactorization, hc.HMF)
TENSOR = (hc.TensorFactorization, hc.HTF)
GIVEN = {"n_factors": 50, "learning_rate": 0.07, "regularisation": 0.095}  # nothing to choose
QUICK = {"n_factors": 8, "n_iterations": 15, "validation_fraction": 0.0, "random_state": 0}


def ratings(n_users=60, n_items=40, n=1500, noisy=0.3, seed=0, modes=2):
    """Return codes, values, the signal and each entry's deviation; a share of the users rates erratically."""
    rng = np.random.default_rng(seed)
    sizes = (n_users, n_items, 3)[:modes]
    X = np.stack([rng.integers(0, size, n) for size in sizes], axis=1)
    U, V = rng.normal(0, 1, (n_users, 2)), rng.normal(0, 1, (n_items, 2))
    third = rng.uniform(0.5, 1.5, 3)[X[:, 2]] if modes == 3 else 1.0
    signal = 3 + rng.normal(0, 0.5, n_users)[X[:, 0]] + (U[X[:, 0]] * V[X[:, 1]]).sum(axis=1) * third
    deviation = np.where(rng.random(n_users) < noisy, 2.0, 0.2)[X[:, 0]]
    return X, signal + deviation * rng.normal(size=n), signal, deviation


def rmse(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


@pytest.mark.parametrize("plain, heteroscedastic, modes", [(*MATRIX, 2), (*TENSOR, 3)])
def test_without_deviation_factors_it_is_the_plain_factorization_to_the_last_bit(plain, heteroscedastic, modes):
    X, y, *_ = ratings(modes=modes)
    one = plain(**QUICK).fit(X, y)
    other = heteroscedastic(**QUICK, n_deviation_factors=0).fit(X, y)
    for a, b in zip(one.factors_ + one.biases_, other.factors_ + other.biases_):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.predict(X, return_std=True), other.predict(X, return_std=True))
    assert not np.array_equal(one.predict(X), heteroscedastic(**QUICK | {"n_iterations": 12}).fit(X, y).predict(X))


@pytest.mark.parametrize("cls, modes", [(*MATRIX[:1], 2), (*TENSOR[:1], 3)])
def test_rank_0_is_the_model_of_biases(cls, modes):
    X, y, *_ = ratings(modes=modes, n=4000)
    given = QUICK | {"n_factors": 0, "n_iterations": 200, "bias_regularisation": 0.0, "clip": False}
    model = cls(**given).fit(X, y)
    assert [each.shape[1] for each in model.factors_] == [0] * modes
    biases = sum(np.eye(len(codes))[np.searchsorted(codes, X[:, m])] @ model.biases_[m]
                 for m, codes in enumerate(model.codes_))  # fmt: skip
    np.testing.assert_allclose(model.predict(X), y.mean() + y.std() * biases, rtol=1e-5, atol=1e-5)
    design = np.hstack([np.eye(size)[X[:, m]] for m, size in enumerate((60, 40, 3)[:modes])])
    least = design @ np.linalg.lstsq(design, y - y.mean(), rcond=None)[0] + y.mean()
    assert rmse(model.predict(X), least) < 0.05 * y.std()


@pytest.mark.parametrize("cls, modes", [(hc.HMF, 2), (hc.HTF, 3)])
@pytest.mark.parametrize("as_printed", [False, True])
def test_deviation_factors_are_never_negative(cls, modes, as_printed):
    X, y, *_ = ratings(modes=modes)
    short = {"deviation_start": 5} if cls is hc.HTF else {}
    rate = 0.05 if as_printed else 0.5
    model = cls(**QUICK, **short, n_deviation_factors=3, deviation_learning_rate=rate, as_printed=as_printed).fit(X, y)
    assert [each.shape[1] for each in model.deviation_factors_] == [3] * modes
    assert all((each >= 0).all() and (each > 0).any() for each in model.deviation_factors_)
    assert (model.predict(X, return_std=True)[1] > 0).all()


@pytest.mark.parametrize("K", [1, 3])
def test_an_epoch_as_printed_is_that_of_the_text(K):
    X, y, *_ = ratings(n_users=9, n_items=7, n=60)
    given = {"n_factors": 4, "n_deviation_factors": K, "as_printed": True, "validation_fraction": 0.0,
             "regularisation": 0.8, "deviation_regularisation": 0.6, "base_variance": 0.2,
             "random_state": 3}  # fmt: skip
    model = hc.HMF(**given, learning_rate=0.02, deviation_learning_rate=0.03)
    entries, book = entries_of(X, y, 2, None)
    state = sgd.FactorState.start(model._params(), book, entries, {})
    start = [each.copy().astype(float) for each in state.factors[:3]]
    order = copy.deepcopy(state.rng).permutation(state.starts.size - 1)
    visits = np.concatenate([np.arange(state.starts[block], state.starts[block + 1]) for block in order])
    state.round()
    users = book.offsets[1]
    after = naive.printed_epoch(
        state.train.rows[visits] - [0, users], state.train.values[visits], y.mean(), U=start[1][:users, :4],
        V=start[1][users:-1, :4], u=start[0][:users], v=start[0][users:-1], P=start[2][:users], Q=start[2][users:-1],
        lam=0.8, lam_deviation=0.6, delta=0.2, rate=0.02, deviation_rate=0.03 * state.level, tiny=sgd.LEAST_SUM,
    )  # fmt: skip
    factors, biases, deviations = state.factors.factors[:, :4], state.factors.biases, state.factors.deviations
    for ours, twin in zip((factors, biases, deviations), (after[:2], after[2:4], after[4:])):
        np.testing.assert_allclose(ours[:-1], np.concatenate(twin), rtol=2e-3, atol=2e-5)


IGNORED = {"regularisation_power": 1.0, "bias_regularisation": 1.0, "deviation_folds": 3, "deviation_start": 3}


@pytest.mark.parametrize("name", [*IGNORED, "deviation_epochs"])
def test_what_is_not_as_printed_changes_nothing_there_and_says_so(name):
    X, y, *_ = ratings(n=300)
    fits = [hc.HMF(**QUICK, as_printed=True, **more).fit(X, y) for more in ({}, {name: IGNORED.get(name, 2)})]
    np.testing.assert_array_equal(fits[0].predict(X), fits[1].predict(X))
    assert "`as_printed`" in hc.HMF._parameters[name].words


def test_as_printed_the_priors_count_once_for_a_code_and_nothing_is_clipped():
    X, y, *_ = ratings()
    entries, book = entries_of(X, y, 2, None)
    model = hc.HMF(**QUICK, as_printed=True, regularisation=3.0)
    state = sgd.FactorState.start(model._params(), book, entries, {})
    seen = state.counts > 0
    np.testing.assert_allclose((state.penalties * state.counts)[seen], 3.0, rtol=1e-6)
    np.testing.assert_allclose((state.shrinkage * state.counts)[seen], 1.0, rtol=1e-6)
    middle = (y > 2.0) & (y < 4.0)
    wild = hc.MatrixFactorization(**QUICK, as_printed=True, regularisation=0.0).fit(X[middle], y[middle])
    pairs = [[i, j] for i in range(60) for j in range(40)]
    assert wild.predict(pairs).max() > 4.0 and wild.predict(pairs).min() < 2.0


def test_as_printed_an_unseen_user_is_rated_3_and_an_unseen_sensor_as_the_others():
    X, y, *_ = ratings()
    assert hc.HMF(**QUICK, as_printed=True).fit(X, y).predict([[1000, 0]]) == [3.0]
    X, y, *_ = ratings(modes=3)
    fitted = hc.HTF(**QUICK, as_printed=True).fit(X, y - y.mean()).predict(np.c_[np.full(3, 1000), X[:3, 1:]])
    assert (np.abs(fitted) < 2.5).all()  # 3 is a rating, and no reading


@pytest.mark.parametrize("as_printed, strength", [(False, 50.0), (True, 0.0)], ids=["default", "printed"])
def test_deviations_are_learned_also_where_delta_is_all_of_the_variance(as_printed, strength):
    X, y, _, deviation = ratings(n=6000, n_users=80)
    given = QUICK | {"deviation_learning_rate": 0.5, "deviation_regularisation": strength, "deviation_epochs": 14}
    base = 1.1 * y.var() if as_printed else 1.1
    model = hc.HMF(**given, base_variance=base, as_printed=as_printed).fit(X, y)
    erratic = np.array([deviation[X[:, 0] == user][0] for user in model.codes_[0]]) > 1
    learned = np.array(list(model.deviation_by(0).values()))
    assert learned[erratic].mean() > learned[~erratic].mean() * (1 + 1e-6)


def test_as_printed_a_prior_that_shrinks_factors_to_nothing_leaves_no_subnormal_numbers():
    X, y, *_ = ratings(modes=3, n=600)
    model = hc.HTF(as_printed=True, n_factors=40, regularisation=30.0, n_iterations=300, validation_fraction=0.0)
    sizes = np.abs(model.fit(X, y - y.mean()).tables_.factors)
    assert (sizes == 0).any() and not ((sizes > 0) & (sizes < 1e-30)).any()


def test_deviations_that_run_away_are_refused_in_words():
    X, y, *_ = ratings(modes=3)
    model = hc.HTF(**QUICK, deviation_learning_rate=10.0, as_printed=True).fit(X, y)
    assert np.isfinite(model.predict(X, return_std=True)).all()  # AdaGrad from zero takes no step beyond its rate
    entries, book = entries_of(X, y, 3, None)
    state = sgd.FactorState.start(model._params(), book, entries, {})
    state.factors.deviations[:] = 1e20
    with pytest.raises(ParameterError, match="deviation_learning_rate=10.0 is too large here"):
        state.round()


@pytest.mark.parametrize("cls, modes", [(hc.HMF, 2), (hc.HTF, 3)])
def test_one_entry_and_equal_values_have_finite_deviations(cls, modes):
    for n in (1, 6):
        model = cls(n_iterations=3, validation_fraction=0.0).fit(np.zeros((n, modes), int), np.full(n, 2.0))
        fitted, deviation = model.predict(np.zeros((1, modes), int), return_std=True)
        np.testing.assert_allclose(fitted, 2.0, atol=0.05)
        assert np.isfinite(deviation).all() and (deviation > 0).all()


@pytest.mark.parametrize("given", [{}, {"deviation_folds": 5, "deviation_start": 15}], ids=["early", "left out"])
def test_planted_deviations_of_users_are_found(given):
    X, y, _, deviation = ratings(n=6000, n_users=80)
    model = hc.HMF(n_factors=4, random_state=0, **given).fit(X, y)
    planted = np.array([deviation[X[:, 0] == user][0] for user in model.codes_[0]])
    learned = np.array(list(model.deviation_by(0).values()))
    assert np.mean(learned[planted > 1] > np.median(learned)) > 0.95
    ties = np.sqrt(12) * np.sqrt(np.mean(planted > 1) * np.mean(planted < 1)) / 2  # the most that ties leave
    assert spearmanr(planted, learned).statistic > 0.9 * ties
    items = np.array(list(model.deviation_by(1).values()))
    assert items.std() < 0.2 * learned.std()


def test_with_noisy_users_weights_pay():
    given = {"n_factors": 4, "n_iterations": 30, "regularisation": 0.02, "validation_fraction": 0}
    for seed in range(3):
        X, y, signal, _ = ratings(n=5000, n_users=100, noisy=0.4, seed=seed)
        plain, weighted = (cls(**given, random_state=seed).fit(X, y).predict(X) for cls in MATRIX)
        assert rmse(weighted, signal) < 0.85 * rmse(plain, signal)


def test_with_noisy_sensors_weights_pay_in_a_tensor():
    X, y, signal, _ = ratings(n=6000, modes=3, noisy=0.4)
    short = {"n_factors": 4, "n_iterations": 60, "validation_fraction": 0, "random_state": 0}
    plain, weighted = hc.TensorFactorization(**short), hc.HTF(**short, deviation_start=30)
    assert rmse(weighted.fit(X, y).predict(X), signal) < 0.95 * rmse(plain.fit(X, y).predict(X), signal)


@pytest.mark.parametrize("cls", MATRIX)
def test_codes_never_seen_have_the_biases_of_the_others_and_the_mean(cls):
    X, y, *_ = ratings()
    model = cls(**QUICK, clip=False).fit(X, y)
    new = np.array([[999, 5], [7, 999], [999, 999]])
    fitted, std = model.predict(new, return_std=True)
    item, user = (biases[list(codes).index(code)] for biases, codes, code in
                  zip(model.biases_[::-1], model.codes_[::-1], (5, 7)))  # fmt: skip
    np.testing.assert_allclose(fitted, y.mean() + y.std() * np.array([item, user, 0.0]), rtol=1e-5)
    assert (std > 0).all()
    assert cls(**QUICK, as_printed=True).fit(X, y).predict(new).tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("cls", MATRIX)
def test_deviations_of_unseen_codes_have_what_is_not_known_of_them(cls):
    rng = np.random.default_rng(0)
    U, V = rng.normal(size=(160, 2)), rng.normal(size=(60, 2))
    y = U @ V.T + rng.normal(size=(160, 1)) + 0.3 * rng.normal(size=(160, 60))
    seen = np.argwhere(rng.random((80, 60)) < 0.4)
    model = cls(n_factors=2, n_iterations=30, regularisation=0.02, clip=False).fit(seen, y[tuple(seen.T)])
    X = np.argwhere(np.ones(y.shape))  # half of the users are new
    fitted, std = model.predict(X, return_std=True)
    within = np.abs(y.ravel() - fitted) < 1.645 * std
    assert [within[:4800].mean(), within[4800:].mean()] == pytest.approx([0.9, 0.9], abs=0.07)
    # known codes have the deviation of their noise, to the last bit, whoever is predicted beside them
    one, other = np.array([[3, 5]]), np.array([[3, 5], [999, 5], [999, 999]])
    known, both = (model.predict(each, return_std=True)[1] for each in (one, other))
    assert known[0] == both[0] < both[1:].min()


@pytest.mark.parametrize("modes", (2, 3))
def test_the_variance_of_unseen_codes_is_the_mean_over_the_seen_ones(modes):
    rng, offsets = np.random.default_rng(modes), np.cumsum([0, 4, 3, 5][: modes + 1])
    n, scale = offsets[-1], 2.5
    biases, factors = (rng.normal(size=shape).astype(np.float32) for shape in ((n + 1,), (n + 1, 2)))
    still = np.zeros((n + 1, 0), np.float32)
    tables = Tables(biases, factors, still, base_variance=1.0, center=0.0, scale=scale)
    for new in itertools.product((False, True), repeat=modes):
        row = np.where(new, n, offsets[:-1])[None]
        seen = itertools.product(*(range(*offsets[m : m + 2]) if new[m] else row[:, m] for m in range(modes)))
        fits = lambda at: factors.astype(float)[at].prod(axis=0).sum()  # noqa: E731
        products = np.mean([(fits(list(each)) - fits(row[0])) ** 2 for each in seen])
        own = sum(np.mean((biases[slice(*offsets[m : m + 2])] - biases[-1]) ** 2.0) for m in range(modes) if new[m])
        wanted = scale**2 * (products + own) if any(new) else 0.0
        np.testing.assert_allclose(tables.variance_of_unseen(row, offsets), [wanted], rtol=1e-5, atol=1e-12)


def test_codes_are_numbers_or_text_alike():
    X, y, *_ = ratings()
    numbers = hc.HMF(**QUICK).fit(X, y)
    text = hc.HMF(**QUICK).fit(np.char.add("code ", np.char.zfill(X.astype(str), 3)), y)
    np.testing.assert_array_equal(numbers.predict(X), numbers.predict(X.astype(str)))
    np.testing.assert_array_equal(numbers.predict(X), numbers.predict(X.astype(float)))
    np.testing.assert_array_equal(numbers.predict(X), text.predict([[f"code {a:03d}", f"code {b:03d}"] for a, b in X]))
    assert list(text.deviation_by(1))[0] == "code 000" and list(numbers.deviation_by(1))[0] == 0


def test_the_validation_part_stops_the_fit_and_the_best_epoch_is_kept():
    X, y, signal, _ = ratings(n=1500)
    given = GIVEN | {"n_factors": 20, "regularisation": 0.0, "random_state": 0}
    model = hc.HMF(**given, n_iterations=500, patience=4).fit(X, y)
    left_out = model.history_["metric:left_out"].to_numpy()
    assert model.n_iterations_ < 500 and model.n_iterations_ == model.best_iteration_ + 4
    assert np.argmin(left_out) + 1 == model.best_iteration_
    again = hc.HMF(**given, n_iterations=model.best_iteration_).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


def test_each_epoch_tells_losses_metric_and_sigma():
    X, y, *_ = ratings()
    events = []
    given = GIVEN | QUICK | {"validation_fraction": 0.2, "clip": False}
    model = hc.HMF(**given).fit(X[300:], y[300:], callbacks=[events.append], eval_set=(X[:300], y[:300]))
    assert [event.index for event in events] == list(range(model.n_iterations_)) and events[0].total == 15
    assert all(set(event.losses) == {"train", "left_out", "held_out"} for event in events)
    assert events[-1].detail["metric_name"] == "RMSE" and events[-1].detail["sigma"]["mean"] > 0
    best = events[model.best_iteration_ - 1].detail["metric"]
    assert best["held_out"] == pytest.approx(rmse(model.predict(X[:300]), y[:300]), rel=1e-5)
    stopped = hc.HMF(**QUICK).fit(X, y, callbacks=[lambda event: event.index == 3])
    assert stopped.n_iterations_ == 4 and np.isfinite(stopped.predict(X)).all()


def test_the_learned_deviation_is_calibrated_on_the_validation_part():
    X, y, _, deviation = ratings(n=8000, n_users=80)
    given = {"deviation_folds": 5, "deviation_start": 15, "deviation_epochs": 20, "deviation_regularisation": 5.0}
    model = hc.HMF(n_factors=4, regularisation=0.02, random_state=0, **given).fit(X[:6000], y[:6000])
    fitted, std = model.predict(X[6000:], return_std=True)
    scores = (y[6000:] - fitted) / std
    assert 0.8 < np.sqrt(np.mean(scores**2)) < 1.25
    assert np.mean(np.abs(scores) < 1.645) == pytest.approx(0.9, abs=0.05)
    for noisy in (deviation[6000:] > 1, deviation[6000:] < 1):
        assert 0.6 < np.sqrt(np.mean(scores[noisy] ** 2)) < 1.5


def test_the_unit_of_the_values_does_not_matter():
    X, y, *_ = ratings()
    one, other = hc.HMF(**QUICK).fit(X, y), hc.HMF(**QUICK).fit(X, 1000 * y + 5)
    np.testing.assert_allclose(1000 * one.predict(X) + 5, other.predict(X), rtol=1e-3)
    np.testing.assert_allclose(
        1000 * one.predict(X, return_std=True)[1], other.predict(X, return_std=True)[1], rtol=1e-3
    )


@pytest.mark.parametrize("cls", MATRIX + TENSOR)
def test_a_fit_can_be_repeated_and_cloned(cls):
    X, y, *_ = ratings(modes=2 if cls in MATRIX else 3)
    model = cls(**QUICK).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), clone(model).fit(X, y).predict(X))
    assert model.n_features_in_ == X.shape[1]


def test_whole_numbers_beside_text_are_the_same_codes_whatever_their_type():
    X, y, *_ = ratings()
    users, items = X[:, 0], np.char.add("item ", X[:, 1].astype(str))
    whole, real = (np.array(list(zip(each.tolist(), items.tolist())), object) for each in (users, users * 1.0))
    model = hc.HMF(**QUICK).fit(whole, y)
    np.testing.assert_array_equal(model.predict(real), model.predict(whole))
    mixed = np.where(np.arange(len(y))[:, None] % 2 == 0, whole, real)
    assert list(hc.HMF(**QUICK).fit(mixed, y).codes_[0]) == list(model.codes_[0])


@pytest.mark.parametrize("cls", MATRIX)
def test_values_may_be_so_small_that_their_squares_are_nothing(cls):
    X, y, *_ = ratings()
    params, tiny = QUICK | {"validation_fraction": 0.2}, 2.0**-700
    fits = [cls(**params).fit(X, y * unit) for unit in (1.0, tiny)]
    (mean, std), (tiny_mean, tiny_std) = (model.predict(X, return_std=True) for model in fits)
    np.testing.assert_array_equal(tiny_mean, mean * tiny)
    np.testing.assert_array_equal(tiny_std, std * tiny)


# Checks that pass X of another width, or of real numbers, which codes are not.
OF_TABLES = {
    "check_complex_data", "check_dict_unchanged", "check_dont_overwrite_parameters", "check_dtype_object",
    "check_estimator_sparse_tag", "check_estimators_dtypes", "check_estimators_empty_data_messages",
    "check_estimators_nan_inf", "check_estimators_pickle", "check_f_contiguous_array_estimator",
    "check_fit2d_1feature", "check_fit2d_1sample", "check_fit2d_predict1d", "check_fit_score_takes_y",
    "check_methods_sample_order_invariance", "check_methods_subset_invariance", "check_n_features_in_after_fitting",
    "check_pipeline_consistency", "check_positive_only_tag_during_fit", "check_regressor_data_not_an_array",
    "check_regressors_int", "check_regressors_no_decision_function", "check_regressors_train", "check_supervised_y_2d",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", MATRIX)
def test_the_checks_of_scikit_learn_but_those_for_tables_of_numbers(cls):
    results = check_estimator(cls(n_iterations=3, random_state=0), on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed <= OF_TABLES
    assert len({result["check_name"] for result in results if result["status"] == "passed"}) >= 20


@pytest.mark.parametrize("X, y, words", [
    (np.zeros((3, 4), int), np.ones(3), r"X has the shape \(3, 4\): give a row per entry and 2 columns"),
    (np.zeros((0, 2), int), np.ones(0), r"X has the shape \(0, 2\)"),
    ([[1.5, 2.0]], [1.0], "no whole numbers"),
    ([[np.nan, 2.0]], [1.0], "missing or no whole numbers"),
    ([["a", None]], [1.0], "X has missing codes"),
    ([["a", "b\0"]], [1.0], "ends in a NUL character"),
    ([["a", "b"]], ["c"], "no numbers"),
    ([["a", "b"]], [np.nan], "missing or infinite"),
    ([["a", "b"]], [1.0, 2.0], r"y has the shape \(2,\) for the 1 entries"),
])  # fmt: skip
def test_data_that_can_not_be_used_are_refused_in_words(X, y, words):
    with pytest.raises(DataError, match=words):
        hc.HMF().fit(np.array(X, dtype=object) if len(X) and isinstance(X[0][0], str) else X, y)


@pytest.mark.parametrize("name, value", [
    ("n_factors", -1), ("n_factors", 2.5), ("n_iterations", 0), ("learning_rate", 0), ("regularisation", -1),
    ("regularisation_power", 2), ("validation_fraction", 1.0), ("patience", 0), ("clip", "no"), ("random_state", -3),
    ("n_deviation_factors", -1), ("deviation_learning_rate", np.nan), ("deviation_regularisation", -1),
    ("deviation_epochs", 0), ("deviation_start", 0), ("deviation_folds", -2), ("base_variance", 0),
])  # fmt: skip
def test_parameters_outside_their_domain_are_refused_by_name(name, value):
    with pytest.raises(ParameterError, match=f"{name}=.* must be"):
        hc.HMF(**{name: value}).fit([[0, 0], [1, 1]], [1.0, 2.0])


def test_tiny_and_constant_data_are_fitted():
    for y in ([4.0], [4.0, 4.0]):
        X = [[k, k] for k in range(len(y))]
        for cls in MATRIX:
            np.testing.assert_allclose(cls(random_state=0).fit(X, y).predict([*X, [9, 9]]), 4.0, atol=1e-5)


def test_a_learning_rate_that_overflows_is_named(monkeypatch):
    def overflow(*arguments):
        arguments[-1][:] = np.inf

    monkeypatch.setattr(sgd, "run_epoch", overflow)
    X, y, *_ = ratings()
    with pytest.raises(ParameterError, match="learning_rate=0.07 is too large here"):
        hc.MatrixFactorization(**QUICK).fit(X, y)


@pytest.mark.parametrize("size", [1e16, 1e40])
def test_values_too_large_to_stay_as_they_are_are_refused_as_printed(size):
    X, y, *_ = ratings()
    with pytest.raises(DataError, match="y has values beyond 1e\\+15, too large as they are"):
        hc.HMF(as_printed=True, **QUICK).fit(X, size * y)
    assert np.isfinite(hc.HMF(**QUICK).fit(X, size * y).predict(X)).all()


def test_a_mode_that_is_not_there_is_refused():
    X, y, *_ = ratings()
    with pytest.raises(ParameterError, match="mode=2 must be a whole number in"):
        hc.HMF(**QUICK).fit(X, y).deviation_by(2)


def test_unfitted_models_say_so():
    for model in (hc.HMF(), Tucker(), InverseDistance({}), NearestSensors({})):
        with pytest.raises(ValueError, match="not fitted"):
            model.predict([[0, 0, 0]])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_even_noise_is_not_taken_for_deviations(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 100, 4000), rng.integers(0, 80, 4000)])
    y = rng.normal(size=80)[X[:, 1]] + 0.05 * rng.normal(size=4000)
    plain, ours = (kind().fit(X[:3000], y[:3000]) for kind in (hc.MatrixFactorization, hc.HMF))
    errors = [np.sqrt(np.mean((model.predict(X[3000:]) - y[3000:]) ** 2)) for model in (plain, ours)]
    assert errors[1] < 1.1 * errors[0]
    # one deviation for all, about that of the noise
    deviations = list(ours.deviation_by(0).values())
    assert np.ptp(deviations) < 1e-6 * deviations[0]
    assert 0.04 < deviations[0] < 0.08


def low_rank(spread=0.0, noise=0.3):
    """Return 1,200 codes, values and signals of 40 rows and 30 columns of rank 3; the first 800 are to learn from."""
    g = np.random.default_rng(0)
    u, v = g.normal(size=(40, 3)), g.normal(size=(30, 3))
    X = g.permutation([(a, b) for a in range(40) for b in range(30)])
    signal = 3 + 0.5 * (u[X[:, 0]] * v[X[:, 1]]).sum(axis=1)
    deviation = noise * np.exp(spread * g.normal(size=40))[X[:, 0]]
    return X, signal + deviation * g.normal(size=1200), signal, deviation


@pytest.mark.parametrize("cls", MATRIX)
def test_of_few_entries_rank_and_penalty_are_chosen_by_cross_validation(cls):
    X, y, *_ = low_rank()
    model, fixed = cls().fit(X[:800], y[:800]), cls(**GIVEN).fit(X[:800], y[:800])
    assert rmse(model.predict(X[800:]), y[800:]) < 0.8 * rmse(fixed.predict(X[800:]), y[800:])
    assert 2 <= model.n_factors_ <= 5 and model.factors_[0].shape == (40, model.n_factors_)
    assert model.regularisation_ < GIVEN["regularisation"] and model.learning_rate_ > GIVEN["learning_rate"]
    assert {name: getattr(fixed, f"{name}_") for name in GIVEN} == GIVEN
    assert {name: model.history_[f"choice:{name}"][-1] for name in GIVEN} == {n: getattr(model, f"{n}_") for n in GIVEN}
    assert not [name for name in fixed.history_.columns if name.startswith("choice:")]
    scores = (y[800:] - model.predict(X[800:])) / model.predict(X[800:], return_std=True)[1]
    assert 0.85 < np.sqrt(np.mean(scores**2)) < 1.15


def test_what_is_given_is_not_chosen_and_many_entries_have_the_fixed_numbers(monkeypatch):
    X, y, *_ = low_rank()
    assert hc.HMF(n_factors=7).fit(X, y).n_factors_ == 7
    for given in ({"as_printed": True}, {"validation_fraction": 0.0}):
        one, other = hc.HMF(**given), hc.HMF(**given, **GIVEN)
        np.testing.assert_array_equal(one.fit(X, y).predict(X), other.fit(X, y).predict(X))
    monkeypatch.setattr(estimator, "MOST", 1000)
    np.testing.assert_array_equal(hc.HMF().fit(X, y).predict(X), hc.HMF(**GIVEN).fit(X, y).predict(X))


def test_of_few_entries_weights_pay_where_rows_differ_in_noise():
    X, y, signal, deviation = low_rank(spread=0.8)
    plain, weighted = (cls().fit(X[:800], y[:800]) for cls in MATRIX)
    assert rmse(weighted.predict(X), signal) < 0.95 * rmse(plain.predict(X), signal)
    assert spearmanr(weighted.predict(X, return_std=True)[1], deviation).statistic > 0.5


@pytest.mark.filterwarnings("error")
def test_values_that_are_all_the_same_can_be_cross_validated():
    X, *_ = low_rank()
    for cls in MATRIX:
        np.testing.assert_allclose(cls().fit(X, np.full(1200, 4.0)).predict(X), 4.0, atol=1e-5)


@pytest.mark.parametrize("method", [*MATRIX, *TENSOR])
@pytest.mark.parametrize("n", [3, 8, 12])
def test_the_deviation_of_few_entries_is_not_that_of_entries_learned_by_heart_or_of_one_alone(method, n):
    """It was a thousandth of the values' own below ten entries, and the error of the one left out below twenty."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 5, (n, 3 if method in TENSOR else 2)), rng.standard_normal(n)
        deviation = method(n_iterations=50).fit(X, y).predict(X, return_std=True)[1]
        assert (deviation > 0.25 * y.std()).all()


def test_no_deviation_is_larger_than_the_range_of_the_values():
    """Rare codes that meet in every mode: the product of their parts was 835 where the values lie in 1 to 256."""
    rng = np.random.default_rng(0)
    rare, b = np.minimum(rng.geometric(0.12, size=600), 39), rng.binomial(16, 0.6, size=600)
    X, y = np.stack([rare, b, rare], axis=1), b.astype(float) ** 2
    model = hc.HTF(random_state=0).fit(X, y)
    assert model.predict(X, return_std=True)[1].max() <= np.ptp(y)
    assert max(model.deviation_by(0).values()) <= np.ptp(y)
    # an unseen code is not known besides, and equal values have no range
    assert np.isfinite(model.predict(np.array([[99, 99, 99]]), return_std=True)[1]).all()
    level = hc.HTF(n_iterations=3).fit(X, np.full(600, 2.0))
    assert (level.predict(X, return_std=True)[1] >= 0.0).all()
