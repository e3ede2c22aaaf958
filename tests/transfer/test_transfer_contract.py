"""What all transfer classifiers promise: scikit-learn's checks, the domain argument, files, and their data sets."""

from __future__ import annotations

import warnings
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

import datasets
import hetcore as hc
from hetcore import model_files
from hetcore.data.plain import domains
from hetcore.errors import DataError, ModelFileError
from hetcore.transfer.ordering import row_keys
from tests.transfer.test_transfer import planted

QUICK = {
    "RidgeTransferClassifier": {},
    "TransferClassifier": {},
    "TargetSVM": {},
    "MultiKTClassifier": {},
    "TransferForestClassifier": {"n_iterations": 2, "max_depth": 4},
    "TrAdaBoostClassifier": {"n_iterations": 5},
    "MultiSourceTrAdaBoostClassifier": {"n_iterations": 5},
    "TaskTrAdaBoostClassifier": {"n_iterations": 5},
    "WeightedMultiSourceTrAdaBoostClassifier": {"n_iterations": 5},
}


def quick(name, **params):
    """Return an estimator that fits at once."""
    return getattr(hc, name)(**{**QUICK[name], **params})


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_it_passes_the_checks_of_scikit_learn(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(quick(name), on_fail=None, on_skip=None)
    assert len(results) > 30 and [r["check_name"] for r in results if r["status"] == "failed"] == []


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_file_predicts_the_same_to_the_last_bit(name, n_classes, tmp_path):
    X, y, domain, (X_test, _) = planted(n_classes=n_classes, n_source=50)
    y = np.array(["ant", "bee", "cat"])[y]
    model = quick(name, domain_names=["a", "b", "c"]).fit(X, y, domain)
    hc.save(model, tmp_path / "m.hetcore")
    loaded = hc.load(tmp_path / "m.hetcore")
    np.testing.assert_array_equal(loaded.predict(X_test), model.predict(X_test))
    np.testing.assert_array_equal(loaded.predict_proba(X_test), model.predict_proba(X_test))
    assert loaded.source_weights_ == model.source_weights_ and loaded.get_params() == model.get_params()
    assert loaded.classes_.tolist() == model.classes_.tolist() and loaded.n_iterations_ == model.n_iterations_


def test_foreign_learners_are_not_saved(tmp_path):
    X, y, domain, _ = planted(n_source=50)
    model = hc.TrAdaBoostClassifier(LogisticRegression(), n_iterations=2).fit(X, y, domain)
    with pytest.raises(hc.ParameterError, match="LogisticRegression can't be saved.*estimator=None"):
        hc.save(model, tmp_path / "m.hetcore")


def _edit(meta, arrays, what):
    edits = {
        "classes out of order": lambda: meta["classes"].reverse(),
        "one class": lambda: meta["classes"].pop(),
        "classes of two kinds": lambda: meta["classes"].__setitem__(0, None),
        "another width": lambda: meta.__setitem__("n_features", meta["n_features"] + 1),
        "no rounds": lambda: meta.__setitem__("n_iterations", 0),
        "a share above 1": lambda: meta["source_weights"].__setitem__("1", 2.0),
        "an array less": lambda: arrays.pop(list(arrays)[-1]),
        "not finite": lambda: next(a for a in arrays.values() if a.dtype == np.float64 and a.size).fill(np.nan),
        "another type": lambda: arrays.__setitem__(list(arrays)[0], np.array(["x"])),
    }
    edits[what]()


EDITS = (
    "classes out of order", "one class", "classes of two kinds", "another width", "no rounds", "a share above 1",
    "an array less", "not finite", "another type",
)  # fmt: skip


@cache
def state_of(name):
    """Return what a file of a fitted model holds: not to be changed."""
    X, y, domain, _ = planted(n_source=50)
    return quick(name).fit(X, y, domain)._get_state()


@pytest.mark.parametrize("name", ["TransferClassifier", "TransferForestClassifier", "TrAdaBoostClassifier"])
@pytest.mark.parametrize("what", EDITS)
def test_an_edited_file_is_refused(name, what):
    meta, arrays = deepcopy(state_of(name))
    quick(name)._set_state(meta, arrays)
    _edit(meta, arrays, what)
    with pytest.raises((ModelFileError, *model_files.DISLIKES)):
        quick(name)._set_state(meta, arrays)


def test_votes_that_are_neither_1_nor_minus_1_are_refused():
    meta, arrays = deepcopy(state_of("TrAdaBoostClassifier"))
    arrays["0:values"] = arrays["0:values"] * 3
    with pytest.raises(ModelFileError, match="something else than"):
        quick("TrAdaBoostClassifier")._set_state(meta, arrays)


# --- the domain argument ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUICK)
def test_sources_are_numbered_and_named(name):
    X, y, domain, (X_test, _) = planted(n_source=50)
    model = quick(name).fit(X, y, domain)
    assert list(model.source_weights_) == ["1", "2", "3"]
    apart = np.where(domain > 0, 3 * domain, -7)  # numbers with gaps, any negative number for the target
    other = quick(name).fit(X, y, apart)
    assert list(other.source_weights_) == ["3", "6", "9"]
    np.testing.assert_array_equal(other.predict(X_test), model.predict(X_test))
    named = quick(name, domain_names=["a", "b", "c"]).fit(X, y, domain)
    assert list(named.source_weights_) == ["a", "b", "c"]


@pytest.mark.parametrize("name", QUICK)
def test_what_is_wrong_with_the_domains_is_reported(name):
    X, y, domain, _ = planted(n_source=20)
    for given, words in (
        (np.abs(domain), "No labelled row is of the target"),
        (domain[:-1], "whole number for each of the"),
        (np.where(domain > 0, "a", "b"), "it has 'a': 1, 2, ... for a source's, -1 for the target's"),
        (np.where(domain == 1, 0, domain), "0, which is no domain"),
        (domain + 0.5, "whole number"),
    ):
        with pytest.raises(hc.DataError, match=words):
            quick(name).fit(X, y, given)
    with pytest.raises(hc.DataError, match="source 3, domain_names only 1"):
        quick(name, domain_names=["a"]).fit(X, y, domain)
    with pytest.raises(hc.ParameterError, match="domain_names='abc'"):
        quick(name, domain_names="abc").fit(X, y, domain)
    # weights by name would be those of one of them
    with pytest.raises(hc.ParameterError, match="must be a list of different texts, one for each source number"):
        quick(name, domain_names=["a", "b", "a"]).fit(X, y, domain)
    with pytest.raises(hc.DataError, match="one class"):
        quick(name).fit(X, np.zeros(len(X)), domain)


@pytest.mark.parametrize("name", QUICK)
def test_unlabelled_rows_are_passed_over(name):
    X, y, domain, (X_test, _) = planted(n_source=50)
    labels = np.array(["no", "yes"], dtype=object)[y]
    hidden = np.random.default_rng(0).random(len(y)) < 0.3
    some = labels.copy()
    some[hidden] = None
    kept = quick(name).fit(X[~hidden], labels[~hidden].astype(str), domain[~hidden])
    np.testing.assert_array_equal(quick(name).fit(X, some, domain).predict(X_test), kept.predict(X_test))


@pytest.mark.parametrize(
    "name, params",
    [
        ("TrAdaBoostClassifier", {"n_iterations": 0}),
        ("TrAdaBoostClassifier", {"vote": "none"}),
        ("TrAdaBoostClassifier", {"estimator": 3}),
        ("MultiSourceTrAdaBoostClassifier", {"source_rate": "slow"}),
        ("MultiSourceTrAdaBoostClassifier", {"max_depth": 0}),
        ("TaskTrAdaBoostClassifier", {"gamma": -0.1}),
        ("WeightedMultiSourceTrAdaBoostClassifier", {"eta": "cubic"}),
        ("WeightedMultiSourceTrAdaBoostClassifier", {"eta": -1.0}),
        ("WeightedMultiSourceTrAdaBoostClassifier", {"update": "sum"}),
        ("WeightedMultiSourceTrAdaBoostClassifier", {"eta_on": "all"}),
        ("MultiKTClassifier", {"C": 0.0}),
        ("MultiKTClassifier", {"balanced": "yes"}),
        ("TargetSVM", {"kernel": "poly"}),
        ("RidgeTransferClassifier", {"gamma": "auto"}),
        ("TransferClassifier", {"random_state": -1}),
        ("TransferForestClassifier", {"gamma": 1.1}),
    ],
)
def test_a_parameter_outside_its_domain_is_named(name, params):
    X, y, domain, _ = planted(n_source=20)
    (parameter,) = params
    with pytest.raises(hc.ParameterError, match=f"{parameter}=.* must be"):
        clone(quick(name)).set_params(**params).fit(X, y, domain)


def test_row_order_does_not_matter():
    X, y, domain, (X_test, _) = planted(n_source=60)
    order = np.random.default_rng(1).permutation(len(y))
    for name in ("RidgeTransferClassifier", "MultiKTClassifier", "MultiSourceTrAdaBoostClassifier"):
        first, second = quick(name).fit(X, y, domain), quick(name).fit(X[order], y[order], domain[order])
        assert (first.predict(X_test) == second.predict(X_test)).mean() > 0.995


@pytest.mark.slow
@pytest.mark.parametrize("name", ["TransferClassifier", "TransferRegressor", "WeightedMultiSourceTrAdaBoostClassifier"])
def test_row_order_does_not_change_a_bit_where_rows_are_left_out(name):
    X, y, domain, (X_test, _) = planted(n_source=60, n_target=30)
    X[::9, 1] = np.nan
    order, model = np.random.default_rng(1).permutation(len(y)), getattr(hc, name)
    y = y + X[:, 0] if name == "TransferRegressor" else y
    scores = [model().fit(X[o], y[o], domain[o])._scores(X_test) for o in (order, np.arange(len(y)))]
    np.testing.assert_array_equal(*scores)


def test_rows_have_keys_by_their_cells():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [np.nan, 1.0], [-np.nan, 1.0]])
    keys = row_keys(X)
    assert keys[0] == keys[1] and keys[3] == keys[4] and len(set(keys.tolist())) == 3
    many = row_keys(np.random.default_rng(0).integers(0, 9, (4000, 6)).astype(float))
    assert abs((many >> np.uint64(63)).mean() - 0.5) < 0.03 and abs((many & np.uint64(1)).mean() - 0.5) < 0.03


# --- data -------------------------------------------------------------------------------------------------------------


def test_planted_domains_are_as_related_as_asked():
    data, truth = datasets.make_domains(4000, 4000, label_noise=0.0, seed=3)
    assert data.source_names == ["kin", "cousin", "stranger", "hostile", "target"]
    assert str(data.report) == "Nothing to report."
    own = truth.rules[0]
    for rule, r in zip(truth.rules[1:], truth.relatedness.values()):
        assert (rule * own).sum() / (own**2).sum() == pytest.approx(r)
        assert np.linalg.norm(rule) == pytest.approx(np.linalg.norm(own))
    for name, r in truth.relatedness.items():
        assert truth.agreement[name] == pytest.approx(1 - np.arccos(r) / np.pi, abs=0.03)  # two half spaces
    d = domains(data, "target")
    assert d.names == ["kin", "cousin", "stranger", "hostile"] and d.X.shape == (20_000, 10)


def test_planted_domains_shift_noise_and_labels():
    data, truth = datasets.make_domains(
        500, (300, 600), relatedness=(1.0, 1.0), shift=(0.0, 2.0), label_noise=(0.0, 1.0), labelled=0.1, n_classes=3
    )
    d = domains(data, "target")
    means = [d.X[d.sample_domain == k].mean(axis=0) for k in (1, 2, -1)]
    lengths = [np.linalg.norm(mean) / np.sqrt(10) for mean in means]
    assert lengths[0] < 0.2 and lengths[1] == pytest.approx(2.0, abs=0.1) and lengths[2] < 0.2
    assert truth.agreement["source_1"] == 1.0 and truth.agreement["source_2"] == pytest.approx(1 / 3, abs=0.06)
    labelled = np.array([label is not None for label in d.y])
    assert labelled[d.sample_domain < 0].sum() == 50 and labelled[d.sample_domain > 0].all()
    assert hc.RidgeTransferClassifier().fit(d.X, d.y, d.sample_domain).n_iterations_ == 3 + 2 * 5 * 3


@pytest.mark.parametrize(
    "params, words",
    [
        ({"relatedness": (2.0,)}, "relatedness"),
        ({"shift": (1.0, 2.0)}, "shift"),
        ({"label_noise": -0.1}, "label_noise"),
        ({"n_source": 1}, "n_source"),
        ({"n_classes": 1}, "n_classes"),
        ({"labelled": 2.0}, "labelled"),
        ({"names": ["a", "b", "c", "target"]}, "names"),
    ],
)
def test_planted_domains_say_what_is_wrong(params, words):
    with pytest.raises(hc.ParameterError, match=f"{words}="):
        datasets.make_domains(**params)


def test_office_caltech_is_four_standardised_domains():
    office = pytest.importorskip("datasets.office_caltech")
    try:
        data = datasets.load("office_caltech")
    except hc.DataError:
        pytest.skip("the files are not here and can't be downloaded")
    sizes = {name: source.n_rows for name, source in data.sources.items()}
    assert sizes == {"amazon": 958, "caltech": 1123, "dslr": 157, "webcam": 295}
    assert set(data.classes) == set(office.CLASSES) and data.ids[0] == "amazon/0"
    d = domains(data, "webcam")
    for k in (1, 2, 3, -1):
        X = d.X[d.sample_domain == k]
        np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-5)
        spread = X.std(axis=0)
        assert np.isin(np.round(spread, 4), [0.0, 1.0]).all()


def test_office_caltech_preparation_by_hand():
    from datasets.office_caltech import prepared

    got = prepared(np.array([[1, 3, 0], [2, 2, 0]], np.uint8))
    np.testing.assert_allclose(got, [[-1, 1, 0], [1, -1, 0]])


@pytest.mark.parametrize("name", ["TransferClassifier", "TargetSVM", "TransferRegressor"])
def test_one_label_and_one_domain_for_each_row_where_labels_are_missing_too(name):
    X, y, domain, _ = planted(0, n_target=20, flips=(0.1,), n_source=40)
    y = np.where(np.arange(len(y)) == 3, np.nan, y)
    for rows, of in ((np.vstack([X, X]), domain), (X[:40], domain), (X, domain[:50])):
        with pytest.raises(DataError, match=r"has \d+ rows and y 60 labels: give one label for each row"):
            getattr(hc, name)().fit(rows, y, of)
