"""Domains as they come: of one class, of two rows, without a column, with columns in another order, noisy by turns."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.data import HetData
from hetcore.data.plain import domains
from hetcore.errors import DataError, ParameterError, PrecisionWarning
from hetcore.metrics import rmse
from hetcore.transfer.linear_learner import TargetUnits
from tests.transfer.test_transfer import planted


def odd(what):
    """Return planted domains, one of them odd: X, y, sample_domain, and test rows of the target."""
    X, y, domain, test = planted(0, n_target=20, flips=(0.1, 0.1), n_source=60)
    kept = np.ones(len(y), bool)
    if what == "a source of one class":
        y = np.where(domain == 2, 1, y)
    elif what == "a target of one class":
        kept = (domain > 0) | (y == 1)
    elif what == "a source of two rows":
        kept[np.flatnonzero(domain == 1)[2:]] = False
    elif what == "a target of two rows":
        kept[np.flatnonzero(domain < 0)[2:]] = False
    elif what == "a source without a column":
        X[domain == 1, 0] = np.nan
    elif what == "a target without a column":
        X[domain < 0, 1] = np.nan
    return X[kept], y[kept], domain[kept], test


KINDS = (
    "a source of one class", "a target of one class", "a source of two rows", "a target of two rows",
    "a source without a column", "a target without a column",
)  # fmt: skip


@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize("name", ["TransferClassifier", "WeightedMultiSourceTrAdaBoostClassifier"])
def test_an_odd_domain_is_learned_from(name, what):
    X, y, domain, (X_test, y_test) = odd(what)
    model = getattr(hc, name)().fit(X, y, domain)
    least = 0.4 if what == "a target of one class" else 0.55  # where it may rightly say that class always
    assert np.isfinite(model.predict_proba(X_test)).all() and model.score(X_test, y_test) > least


@pytest.mark.parametrize("what", KINDS)
def test_an_odd_domain_of_numbers_is_learned_from(what):
    X, y, domain, (X_test, _) = odd(what)
    values = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1])
    found = hc.TransferRegressor().fit(X, values, domain).predict(X_test)
    assert np.corrcoef(found, X_test[:, 0] + X_test[:, 1])[0, 1] > 0.6


def test_columns_in_another_order_are_the_same_columns():
    rng = np.random.default_rng(0)
    tables = {
        name: pl.DataFrame({"id": [f"{name}{k}" for k in range(30)]} | {c: rng.normal(size=30) for c in "ab"})
        for name in ("source", "target")
    }
    y = np.concatenate([(table["a"] > 0).to_numpy().astype(str) for table in tables.values()])
    labels = np.concatenate([table["id"].to_numpy() for table in tables.values()]), y
    plain = domains(HetData(tables, None, labels), "target")
    turned = {"source": tables["source"].select("id", "b", "a"), "target": tables["target"]}
    other = domains(HetData(turned, None, labels), "target")
    places = [other.feature_names.index(name) for name in plain.feature_names]
    np.testing.assert_array_equal(other.X[:, places], plain.X)


def test_a_column_that_a_domain_lacks_is_left_out_of_tables():
    tables = {
        "source": pl.DataFrame({"id": ["s1", "s2"], "a": [0.1, 0.2], "b": [1.0, 2.0]}),
        "target": pl.DataFrame({"id": ["t1", "t2"], "b": [3.0, 4.0]}),
    }
    labels = np.array(["s1", "s2", "t1", "t2"]), np.array(["x", "y", "x", "y"])
    assert domains(HetData(tables, None, labels), "target").feature_names == ["b"]
    tables["target"] = tables["target"].rename({"b": "c"})
    with pytest.raises(hc.DataError, match="share no column"):
        domains(HetData(tables, None, labels), "target")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["TransferClassifier", "WeightedMultiSourceTrAdaBoostClassifier"])
def test_of_domains_of_unequal_label_noise_the_clean_one_is_listened_to(name):
    errors = []
    for seed in range(2):
        X, y, domain, (X_test, y_test) = planted(seed, n_target=20, flips=(0.0, 0.45), n_source=60)
        model = getattr(hc, name)().fit(X, y, domain)
        alone = getattr(hc, name)().fit(X[domain < 0], y[domain < 0], domain[domain < 0])
        errors.append([1.0 - each.score(X_test, y_test) for each in (model, alone)])
    mixed, alone = np.mean(errors, axis=0)
    assert mixed < 0.8 * alone


@pytest.mark.parametrize("n_target, hostile", [(10, 0), (29, 0), (30, 0), (29, 3), (100, 3)])
def test_a_line_of_few_target_rows_is_found_whatever_the_sources_say(n_target, hostile):
    rng = np.random.default_rng(5)
    slopes = rng.normal(size=4)
    X = rng.normal(size=(n_target + 100 * hostile, 4))
    domain = np.repeat([-1, *range(1, hostile + 1)], [n_target, *[100] * hostile])
    y = np.where(domain == -1, 1.0, -2.0) * (X @ slopes) + 0.3 * rng.normal(size=len(X))
    rows = rng.normal(size=(500, 4))
    own = domain == -1
    line = np.linalg.lstsq(np.column_stack([X[own], np.ones(n_target)]), y[own], rcond=None)[0]
    alone = rmse(rows @ slopes, rows @ line[:-1] + line[-1])
    found = rmse(rows @ slopes, hc.TransferRegressor().fit(X, y, domain).predict(rows))
    # penalties that only many rows outweigh had 1.6 and 8 times that, ten rows alone
    assert found < 1.6 * alone + 0.05


def test_of_numbers_of_unequal_noise_the_quiet_domain_is_listened_to():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(212, 5))
    domain = np.repeat([1, 2, -1], [100, 100, 12])
    y = X.sum(axis=1) + np.choose(np.maximum(domain, 0), [0.1, 0.1, 20.0]) * rng.normal(size=len(X))
    model = hc.TransferRegressor(domain_names=["quiet", "noisy"]).fit(X, y, domain)
    X_test = rng.normal(size=(300, 5))
    assert model.source_weights_["quiet"] > 2 * model.source_weights_["noisy"]
    assert np.sqrt(np.mean((model.predict(X_test) - X_test.sum(axis=1)) ** 2)) < 1.0


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_numbers_of_any_size_are_learned(size):
    X, domain = np.random.default_rng(0).normal(size=(60, 3)), np.where(np.arange(60) < 30, 1, -1)
    plain, scaled = (hc.TransferRegressor().fit(X, X[:, 0] * each, domain).predict(X) for each in (1.0, size))
    np.testing.assert_allclose(scaled / size, plain, rtol=1e-6, atol=1e-9)


def test_columns_that_trees_can_hardly_tell_apart_are_named():
    rng = np.random.default_rng(0)
    moments = 1.7e12 + rng.integers(0, 60_000, 60)  # milliseconds of a minute
    X, domain = np.column_stack([rng.normal(size=60), moments]), np.where(np.arange(60) < 30, 1, -1)
    for model, more in ((hc.TransferRegressor(), (domain,)), (hc.HGBMRegressor(n_iterations=2), ())):
        with pytest.warns(PrecisionWarning, match="Column 1 of X: 32-bit floats, which trees take, hardly tell"):
            model.fit(X, moments - 1.7e12, *more)
        X[:, 1] -= 1.7e12
        model.fit(X, X[:, 1], *more)
        X[:, 1] += 1.7e12
        with pytest.warns(PrecisionWarning, match="Column 0 of X: 32-bit floats, which trees take, hardly tell"):
            model.fit(X[:, :1] * 1e39, X[:, 0], *more)
    hc.HLR().fit(X, X[:, 0])


@pytest.mark.parametrize("model", [hc.TargetSVM(), hc.MultiKTClassifier()])
def test_a_kernel_machine_refuses_missing_values_and_immense_ones_in_a_sentence(model):
    X, y, domain, (X_test, _) = planted(0, n_target=20, flips=(0.1,), n_source=60)
    holed = X.copy()
    holed[domain == 1, 1] = np.nan
    with pytest.raises(DataError, match=r"NaN.*column 1, and .* takes none: fill them in, or use TransferClassifier"):
        model.fit(holed, y, domain)
    X_test[0, 1] = np.nan
    with pytest.raises(DataError, match="NaN.*column 1"):
        model.fit(X, y, domain).predict(X_test)
    # a score that is no number would be the first class
    X_test[0, 1] = 1e308
    with pytest.raises(DataError, match="Column 1 of X has 1e[+]308, and a kernel of numbers beyond 1e[+]30 overflows"):
        model.predict(X_test)


def test_a_missing_cell_hides_no_immense_one_from_a_kernel():
    X, y, domain, _ = planted(0, n_target=20, flips=(0.1,), n_source=60)
    X[0, 1], X[1, 0] = 1e200, np.nan
    X[2, 1] = np.nan
    with pytest.raises(DataError, match="Column 1 of X has 1e[+]200, and a kernel"):
        hc.RidgeTransferClassifier().fit(X, y, domain)


BLENDS = hc.TransferClassifier, hc.TransferRegressor


@pytest.mark.parametrize("kind", [*BLENDS, hc.WeightedMultiSourceTrAdaBoostClassifier])
def test_labels_or_domains_of_different_lengths_are_one_sentence(kind):
    X, domain, ragged = np.eye(4), [1, 1, -1, -1], [[1], [1, 2], [0], [1]]
    for y, where, name in ((ragged, domain, "y"), ([0, 1, 0, 1], ragged, "sample_domain")):
        with pytest.raises(DataError, match=f"^{name} has entries of different lengths: give one value for each row"):
            kind().fit(X, y, where)


@pytest.mark.parametrize("number", [np.inf, 1e300, np.uint64(2**63), np.nan, 1.5])
def test_a_number_of_a_domain_that_is_no_whole_number_of_64_bits_is_refused(number):
    X, y, domain, _ = planted(0, n_target=20, flips=(0.1,), n_source=20)
    domain = np.where(domain > 0, number, np.ones_like(number))
    with pytest.raises(DataError, match="must hold a whole number for each of the 40 rows, it has"):
        hc.TransferClassifier().fit(X, y, domain)


KINDS = (
    hc.TransferClassifier,
    hc.TransferRegressor,
    hc.RidgeTransferClassifier,
    hc.WeightedMultiSourceTrAdaBoostClassifier,
)


def straight(kind):
    """Return twenty target rows and two sources of one rule, rows of the target to test, and their labels."""
    rng = np.random.default_rng(0)
    X, X_test, domain = rng.normal(size=(120, 5)), rng.normal(size=(500, 5)), np.repeat([-1, 1, 2], [20, 50, 50])
    y, truth = (table[:, 0] + 0.5 * table[:, 1] for table in (X, X_test))
    return (X, y, domain, X_test, truth) if kind is hc.TransferRegressor else (X, y > 0, domain, X_test, truth > 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cell", [-999.0, 1e9])
def test_a_cell_of_the_target_that_is_far_from_all_others_is_missing(kind, cell):
    X, y, domain, X_test, truth = straight(kind)
    X[3, 0] = cell
    missed = np.abs(kind().fit(X, y, domain).predict(X_test).astype(float) - truth).mean()
    assert missed < 0.09  # .12 to .35 when it was one of twenty rows


@pytest.mark.parametrize("kind", [hc.TransferClassifier, hc.TransferRegressor])
def test_how_sources_are_numbered_changes_nothing(kind):
    X, y, domain, X_test, _ = straight(kind)
    y = np.where(domain == 2, X[:, 2] > 0, y)  # a source of its own mind
    found = [kind().fit(X, y, each) for each in (domain, np.where(domain > 0, 3 - domain, domain))]
    regression = kind is hc.TransferRegressor
    predicted = [model.predict(X_test) if regression else model.predict_proba(X_test) for model in found]
    np.testing.assert_allclose(*predicted, rtol=1e-9, atol=1e-12)
    assert [found[0].source_weights_[k] for k in ("1", "2")] == pytest.approx(
        [found[1].source_weights_[k] for k in ("2", "1")]
    )


def test_a_word_that_hardly_any_row_of_the_target_has_is_in_no_other_unit():
    X, domain = np.zeros((400, 2)), np.repeat([0, 1], [100, 300])
    X[0], X[100:350] = [2.0, 0.1], [2.0, 50.0]  # as often as not in the source; the second is in other units
    assert TargetUnits.of(X, domain, X.std(axis=0)).apart.tolist() == [False, True]


def test_a_label_of_a_source_beside_which_nothing_is_left_of_the_target_s_is_refused():
    X, y, domain, X_test, truth = straight(hc.TransferRegressor)
    y[60] = 1e9
    assert rmse(truth, hc.TransferRegressor().fit(X, y, domain).predict(X_test)) < 0.05
    y[60] = 1e20
    with pytest.raises(DataError, match=r"labels of source '1' hold 1e\+20, where the target's lie within"):
        hc.TransferRegressor().fit(X, y, domain)


def test_numbers_of_domains_that_are_objects_are_numbers():
    X, y, domain, X_test, _ = straight(hc.TransferClassifier)
    plain, objects = (hc.TransferClassifier().fit(X, y, each) for each in (domain, domain.astype(object)))
    np.testing.assert_array_equal(plain.predict_proba(X_test), objects.predict_proba(X_test))
    for wrong in (None, True, "-1"):
        odd = domain.astype(object)
        odd[7] = wrong
        with pytest.raises(DataError, match=f"it has {wrong!r}: 1, 2, "):
            hc.TransferClassifier().fit(X, y, odd)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_to_score_by_without_rows_or_labels(kind):
    X, y, domain, X_test, truth = straight(kind)
    for given, lacks in (((None, None), "rows"), ((X_test, None), "labels")):
        with pytest.raises(DataError, match=f"eval_set has no {lacks}"):
            kind().fit(X, y, domain, eval_set=given)


def test_numbers_to_score_by_that_are_missing_are_passed_over():
    X, y, domain, X_test, truth = straight(hc.TransferRegressor)
    gaps = np.where(np.arange(500) < 400, truth, np.nan)
    held_out = (X_test[:400], truth[:400]), (X_test, gaps)
    fits = [hc.TransferRegressor().fit(X, y, domain, eval_set=each) for each in held_out]
    lines = [fit.history_["metric:held_out"].to_list() for fit in fits]
    assert lines[0] == lines[1]
    with pytest.raises(DataError, match="All 500 labels of eval_set are missing"):
        hc.TransferRegressor().fit(X, y, domain, eval_set=(X_test, np.full(500, np.nan)))


def test_ridge_machines_do_not_vote_hard():
    X, y, domain, *_ = straight(hc.TransferClassifier)
    with pytest.raises(ParameterError, match='learner="linear" votes softly only'):
        hc.WeightedMultiSourceTrAdaBoostClassifier(learner="linear", votes="hard").fit(X, y, domain)


def test_many_classes_of_few_rows_are_classes():
    rng = np.random.default_rng(0)
    hc.TransferClassifier().fit(rng.normal(size=(240, 4)), np.arange(240) % 60, np.repeat([-1, 1, 2], 80))
