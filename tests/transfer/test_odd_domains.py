"""Domains as they come: of one class, of two rows, without a column, with columns in another order."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.data import HetData
from hetcore.data.plain import domains
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
