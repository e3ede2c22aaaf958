"""Variants of an instance: one that changes nothing is predicted as it is, and nobody else knows of any."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import hetcore as hc
from hetcore.consensus.variants import explain_variants
from hetcore.data import HetData
from hetcore.errors import DataError

N = 90


def _data(task, seed=0):
    rng = np.random.default_rng(seed)
    y, ids = rng.integers(0, 3, N), np.array([f"i{k}" for k in range(N)])
    one = pl.DataFrame({"id": ids, "a": y + rng.normal(0, 0.6, N), "b": rng.normal(size=N)})
    two = pl.DataFrame({"id": ids[:60], "c": np.array(["x", "y", "z"])[y[:60]], "d": rng.normal(size=60)})
    picture = hc.Source(ids, rng.normal(size=(N, 2, 2)) + y[:, None, None])
    ends = rng.integers(0, N, (300, 2))
    ends = ends[(y[ends[:, 0]] == y[ends[:, 1]]) & (ends[:, 0] != ends[:, 1])]
    links = pl.DataFrame({"source": ids[ends[:, 0]], "target": ids[ends[:, 1]]}).unique(maintain_order=True)
    links = links.with_columns(weight=pl.Series(rng.exponential(size=len(links))))
    more = links[::2].with_columns(weight=pl.Series(rng.exponential(size=len(links[::2]))))
    labels = np.array([f"k{k}" for k in y], object) if task == "classification" else y + rng.normal(0, 0.1, N)
    labels[40:] = None if task == "classification" else np.nan
    sources, graphs = {"one": one, "two": two, "picture": picture}, {"links": links, "more": more}
    return HetData(sources, graphs, (ids, labels), task=task)


@pytest.fixture(scope="module", params=["classification", "regression", "as printed"])
def fitted(request):
    task = "regression" if request.param == "regression" else "classification"
    data = _data(task)
    model = hc.GBCClassifier if task == "classification" else hc.GBCRegressor
    params = {"lambda0": 0.03, "lambda1": 0.03, "as_printed": True} if request.param == "as printed" else {}
    return data, model(n_iterations=3, random_state=0, **params).fit(data)


def _row(data, instance):
    rows = {name: np.flatnonzero(data.rows(name) == data.position[instance]) for name in data.sources}
    held = {name: source.frame if source.array is None else source.array for name, source in data.sources.items()}
    return {name: held[name][place] for name, place in rows.items() if place.size}


def _weight(found):
    return found.contributions.sum(axis=1)


@pytest.mark.parametrize("instance", ["i3", "i50", "i70"])  # labelled; without a label; and without a record in "two"
def test_one_that_changes_nothing_is_predicted_as_it_is(fitted, instance):
    data, model = fitted
    whole, place = model.explain(data), data.position[instance]
    row = _row(data, instance)
    found = explain_variants(model, data, {name: each[[0, 0]] for name, each in row.items()}, instance)
    assert found.prediction[0] == found.prediction[1]
    for own, same in zip(found, whole):
        if same is not None and same.dtype.kind == "f":
            assert_allclose(own[1], same[place], rtol=1e-6, atol=1e-9)
    assert found.coverage[0] == whole.coverage[place]


def test_variants_do_not_know_of_each_other_and_values_count(fitted):
    data, model = fitted
    row = _row(data, "i70")  # without a record in "two", which tells nearly all
    both = {name: each[[0, 0]] for name, each in row.items()}
    both["one"] = both["one"].with_columns(a=pl.Series([-2.0, 4.0]))
    together = explain_variants(model, data, both, "i70")
    for k in range(2):
        alone = explain_variants(model, data, {name: each[[k]] for name, each in both.items()}, "i70")
        assert_allclose(alone.contributions[0], together.contributions[k], rtol=1e-9, atol=1e-12)
    if not model.as_printed:  # whose scores run away
        assert abs(_weight(together)[0] - _weight(together)[1]) > 1e-3
    assert data.n == N and len(data.graphs["links"].indptr) == N + 1  # what was given stays as it was


def test_a_new_instance_has_no_links_and_may_lack_tables(fitted):
    data, model = fitted
    row = _row(data, "i3")
    found = explain_variants(model, data, {"one": row["one"]})
    alone = model.explain(HetData({"one": row["one"].insert_column(0, pl.Series("id", ["new"]))}))
    assert_allclose(found.contributions, alone.contributions)
    assert found.coverage.tolist() == ["sources"]


def test_ids_of_variants_are_nobodys():
    data = _data("regression")
    ids = ["variant 0", *data.ids[1:]]
    table = data.sources["one"].frame.clone().insert_column(0, pl.Series("id", ids))
    other = HetData({"one": table}, {}, (np.array(ids), np.arange(float(N))))
    model = hc.GBCRegressor(n_iterations=2).fit(other)
    row = {"one": other.sources["one"].frame[:1]}
    assert_allclose(explain_variants(model, other, row, "variant 0").prediction, model.predict(other)[:1], rtol=1e-6)


def test_what_does_not_fit_is_refused(fitted):
    data, model = fitted
    row = _row(data, "i3")
    with pytest.raises(DataError, match="not of 'three'"):
        explain_variants(model, data, {"three": row["one"]}, "i3")
    with pytest.raises(DataError, match="There is no instance 'nobody'"):
        explain_variants(model, data, row, "nobody")
    with pytest.raises(DataError, match="give all alike"):
        explain_variants(model, data, {"one": row["one"][[0, 0]], "two": row["two"]}, "i3")
