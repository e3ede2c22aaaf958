"""Labels by category of columns of very many categories: whose they are, what is hidden, and what they bring."""

from __future__ import annotations

import copy
import json
import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore import metrics
from hetcore.category_labels import LEAST, MOST, CategoryLabels, _shrinkage, links_within_categories
from hetcore.consensus.view_consensus import ViewConsensus
from hetcore.data.kinds import MAX_LEVELS
from hetcore.errors import ModelFileError, UnfamiliarValuesWarning
from hetcore.model_files import dumps, load
from hetcore.targets import KnownLabels


def made(seed=0, n=900, n_categories=120, task="regression", size=1.5):
    """Return two tables, of which one has a column of very many categories that tell much, and all targets."""
    rng = np.random.default_rng(seed)
    ids, category = np.array([f"i{k}" for k in range(n)], object), rng.integers(n_categories, size=n)
    x, z = rng.normal(size=(2, n))
    y = x + size * rng.normal(size=n_categories)[category] + 0.4 * rng.normal(size=n)
    y = y if task == "regression" else np.where(y > 0, "up", "down").astype(object)
    names = pl.Series([f"c{k}" for k in category])
    tables = {"a": pl.DataFrame({"id": ids, "x": x}), "b": pl.DataFrame({"id": ids, "z": z, "town": names})}
    return tables, ids, y, category


@pytest.fixture
def known():
    """Data of 300 rows of 80 categories, of which ten rows have none, and their labels in four folds."""
    tables, ids, y, category = made(n=300, n_categories=80)
    row = np.arange(300)
    town = tables["b"]["town"].to_frame().with_row_index().select(
        pl.when(pl.col("index") < 10).then(None).otherwise(pl.col("town")).alias("town"))["town"]  # fmt: skip
    data = hc.HetData({"b": tables["b"].with_columns(town)}, None, (ids, y))
    fold = np.where(row % 3 < 2, row % 4, -1)
    return data, KnownLabels(np.where(fold >= 0, y, 0.0)[:, None], fold), np.where(row < 10, -1, category)


def test_a_category_says_the_shrunk_mean_of_its_other_folds(known):
    data, labels, category = known
    found = CategoryLabels.of(data, labels)
    assert (found.tables, found.columns) == (["b"], ["town"]) and found.width(True) == 2
    columns = found.of_instances(data, labels.fold, np.arange(300))
    assert np.isnan(columns[:10]).all() and not np.isnan(columns[10:]).any()
    rare = {each for each in range(80) if (category == each).sum() < 2}
    for i in range(10, 300):
        seen = (labels.fold >= 0) & ((labels.fold != labels.fold[i]) | (labels.fold[i] < 0)) & (category >= 0)
        prior = labels.codes[seen & ~np.isin(category, list(rare)), 0].mean()
        own = labels.codes[seen & (category == category[i]) & (category[i] not in rare), 0]
        expected = (own.sum() + found.shrinkage[0] * prior) / (own.size + found.shrinkage[0])
        assert_allclose(columns[i], [expected, np.log1p(own.size)], rtol=1e-5)


def test_what_is_hidden_tells_nothing(known):
    data, labels, _ = known
    other = labels._replace(codes=np.where((labels.fold == 1)[:, None], labels.codes + 1.0, labels.codes))
    rows = np.flatnonzero(labels.fold != 1)
    before, after = CategoryLabels.of(data, labels), CategoryLabels.of(data, other)
    after.shrinkage = before.shrinkage
    mine = np.flatnonzero(labels.fold == 1)
    assert_array_equal(*(each.of_instances(data, labels.fold, mine) for each in (before, after)))
    hidden = np.ones(rows.size, np.int64)
    assert_array_equal(*(each.of_instances(data, labels.fold, rows, hidden) for each in (before, after)))
    assert (before.of_instances(data, labels.fold, rows) != after.of_instances(data, labels.fold, rows)).any()


def test_the_mean_of_all_weighs_as_variances_say():
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(9_000), 5)
    apart = rng.normal(size=9_000)[code]
    assert _shrinkage(code, (apart + rng.normal(size=code.size) * 2)[:, None]) == pytest.approx(4.0, rel=0.1)
    assert _shrinkage(code, apart[:, None]) == LEAST and _shrinkage(code, np.zeros((code.size, 1))) == MOST
    assert _shrinkage(np.arange(9), rng.normal(size=(9, 1))) == _shrinkage(np.zeros(9, int), apart[:9, None]) == MOST


@pytest.mark.parametrize(("n_categories", "asked"), [(MAX_LEVELS, False), (MAX_LEVELS + 20, True)])
def test_it_is_asked_where_the_encoder_does_not_tell_all_categories_apart(n_categories, asked):
    tables, ids, y, _ = made(n_categories=n_categories)
    names = [view.view.name for view in hc.views(hc.HetData(tables, None, (ids[:300], y[:300])))]
    both = ["joined and labels by category (trees)", "labels by category (linear)"]
    assert [name for name in names if "category" in name] == both * asked


@pytest.mark.slow
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_categories_that_tell_much_are_learned(task):
    tables, ids, y, _ = made(n=1500, n_categories=150, task=task)
    error = metrics.rmse if task == "regression" else metrics.error_rate
    model, errors = (hc.GBCRegressor if task == "regression" else hc.GBCClassifier)(random_state=0), []
    few = tables | {"b": tables["b"].drop("town")}
    commonest = tables["b"]["town"].value_counts().sort("count", "town")["town"][-MAX_LEVELS:].implode()
    some = pl.when(pl.col("town").is_in(commonest)).then("town").otherwise(pl.lit("other"))
    for given in (tables, tables | {"b": tables["b"].with_columns(some)}, few):
        data = hc.HetData(given, None, (ids[:700], y[:700]))
        predicted = model.fit(data).predict(data)
        errors.append(error(y[700:], predicted[700:]))
    assert errors[0] < 0.75 * errors[1] < errors[2]


@pytest.mark.slow
def test_labels_of_chance_say_nothing_of_those_of_the_same_category(monkeypatch):
    seen, combine = [], ViewConsensus._combine
    monkeypatch.setattr(ViewConsensus, "_combine", lambda self: (seen.append(self), combine(self)))
    shares = []
    for seed in range(8):
        tables, ids, _, _ = made(seed, n=400, n_categories=80)
        y = np.random.default_rng(seed).normal(size=400)
        seen.clear()
        hc.GBCRegressor(random_state=seed, n_iterations=4).fit(hc.HetData(tables, None, (ids, y)))
        views = [view for view in seen[0].views if "category" in view.view.name]
        shares.append([view.losses[-1] / seen[0].alone_loss for view in views])
    assert (np.mean(shares, axis=0) > 0.99).all()


def test_new_rows_and_categories_are_predicted_and_a_file_keeps_it_all():
    tables, ids, y, _ = made()
    model = hc.GBCRegressor(random_state=0, n_iterations=8).fit(hc.HetData(tables, None, (ids[:400], y[:400])))
    again = load(dumps(model))
    new = {name: table.with_columns(pl.col("id") + " anew") for name, table in tables.items()}
    unknown = new | {"b": new["b"].with_columns(pl.lit("nowhere").alias("town"))}
    for given in (tables, new, unknown):
        data = hc.HetData(given)
        with warnings.catch_warnings():
            # of categories of which hardly one was there
            warnings.simplefilter("ignore" if given is unknown else "error", UnfamiliarValuesWarning)
            predicted = model.predict(data)
            assert_array_equal(again.predict(data), predicted)
            added = model.contributions(data)
        assert np.isfinite(predicted).all()
        sums = added.reshape(len(added), -1).sum(axis=1)
        assert_allclose(sums - sums[0], predicted - predicted[0], rtol=1e-6, atol=1e-9)
    # a row of the training sees its category without its own fold's labels, as a new one does not
    assert metrics.rmse(y[400:], model.predict(hc.HetData(new))[400:]) < 1.0


@pytest.mark.parametrize("method", [hc.GBCRegressor, hc.GBRegressor])
@pytest.mark.parametrize("n_labels", [150, 300])
def test_categories_written_otherwise_than_in_the_fit_are_warned_of(method, n_labels):
    tables, ids, y, _ = made(n=400, n_categories=100)
    model = method(random_state=0, n_iterations=1).fit(hc.HetData(tables, None, (ids[:n_labels], y[:n_labels])))
    again = load(dumps(model))
    new = {name: table.with_columns(pl.col("id") + " anew") for name, table in tables.items()}
    town = pl.col("town")
    for given in (town.str.to_uppercase(), town + " ", town.str.slice(1).cast(pl.Float64)):
        data = hc.HetData(new | {"b": new["b"].with_columns(given)})
        for each in (model, again):
            with pytest.warns(UnfamiliarValuesWarning, match="Source 'b': hardly a value of 'town' was there"):
                each.predict(data)
    # a sixth are unknown; all are of one category, none of the commonest perhaps
    partly = new["b"].with_columns(pl.when(pl.col("z") > -1).then(town).otherwise(pl.lit("x")).alias("town"))
    some = hc.HetData(new | {"b": partly})
    one = tables["b"].filter(pl.col("town") == "c7").with_columns(pl.col("id") + " anew")
    for data in (some, hc.HetData({"a": new["a"], "b": one})):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UnfamiliarValuesWarning)
            model.predict(data)


@pytest.mark.parametrize("method", [hc.GBCRegressor, hc.GBRegressor])
def test_several_such_columns_of_a_table_with_the_same_categories_are_saved_and_loaded(method):
    tables, ids, y, category = made(n=400, n_categories=80)
    other = pl.Series([f"c{k}" for k in np.roll(category, 1)])
    tables = {"a": tables["a"].with_columns(town=other), "b": tables["b"].with_columns(born=other)}
    data = hc.HetData(tables, None, (ids[:300], y[:300]))
    model = method(random_state=0, n_iterations=2).fit(data)
    by_category = model._category_labels
    assert list(zip(by_category.tables, by_category.columns)) == [("a", "town"), ("b", "town"), ("b", "born")]
    assert_array_equal(load(dumps(model)).predict(data), model.predict(data))
    # but not one category of a column twice
    values, arrays = by_category.to_state()
    values["values"][0] = values["values"][1]
    with pytest.raises(ModelFileError, match=r"do not fit together: save the model again\.$"):
        CategoryLabels.from_state(values, arrays)


@pytest.mark.parametrize("fault", ["ends", "sums", "folds", "shrinkage", "columns"])
def test_a_file_whose_labels_by_category_do_not_fit_is_refused(fault):
    tables, ids, y, _ = made(n=300, n_categories=80)
    model = hc.GBCRegressor(random_state=0, n_iterations=2).fit(hc.HetData(tables, None, (ids, y)))
    values, arrays = copy.deepcopy(model._get_state())
    array = "sums" if fault == "folds" else fault
    name = next((name for name in arrays if name.endswith(f"by_category:{array}")), "")
    if fault == "ends":
        arrays[name] = arrays[name] - 1
    elif fault == "folds":
        arrays[name] = np.ascontiguousarray(arrays[name][:, :-1])
    elif fault == "sums":
        arrays[name] = np.ascontiguousarray(arrays[name][1:])
    elif fault == "shrinkage":
        arrays[name] = -arrays[name]
    else:
        text = json.dumps(values)
        assert text.count('"columns": ["town"]') == 1
        values = json.loads(text.replace('"columns": ["town"]', '"columns": ["town", "z"]'))
    model._get_state = lambda: (values, arrays)
    with pytest.raises(ModelFileError, match="do not fit together|shrinkage|folds"):
        load(dumps(model))


def linked(seed=0, n=500, n_categories=40, share=1.0):
    """Return data whose graph links the rows of a category, but for some, and labels of chance for 300."""
    rng = np.random.default_rng(seed)
    ids, category = np.array([f"i{k}" for k in range(n)], object), rng.integers(n_categories, size=n)
    others = np.where(rng.random(n) < share, category, rng.integers(n_categories, size=n))
    ends = np.nonzero(np.triu(others[:, None] == others, 1))
    table = pl.DataFrame({"id": ids, "x": rng.normal(size=n), "town": [f"c{k}" for k in category]})
    edges = pl.DataFrame({"source": ids[ends[0]], "target": ids[ends[1]]})
    return hc.HetData({"t": table}, {"same": edges}, (ids[:300], rng.normal(size=300)))


def test_a_graph_within_a_column_s_categories_is_known():
    data = linked()
    assert links_within_categories(data)
    assert not links_within_categories(linked(share=0.8)) and not links_within_categories(data.select(graphs=[]))
    table = data.sources["t"].frame.with_columns(id=pl.Series(data.ids))
    gap = pl.when(pl.col("town") == "c3").then(None).otherwise("town").alias("town")
    assert links_within_categories(hc.HetData({"t": table.with_columns(gap)}, data.graphs))
    numbers = table.drop("town")
    assert not links_within_categories(hc.HetData({"t": numbers}, data.graphs))


@pytest.mark.slow
def test_a_category_that_a_graph_links_tells_no_labels_of_chance(monkeypatch):
    """A linear member that sees both would find the label that is hidden from it as their difference."""

    def loss(seed):
        seen.clear()
        hc.GBCRegressor(random_state=seed, n_iterations=3).fit(linked(seed))
        view = next(view for view in seen[0].views if view.view.name == "joined and graphs (linear)")
        return min(view.losses) / seen[0].alone_loss

    seen, combine = [], ViewConsensus._combine
    monkeypatch.setattr(ViewConsensus, "_combine", lambda self: (seen.append(self), combine(self)))
    shares = [loss(seed) for seed in range(5)]
    monkeypatch.setattr("hetcore.consensus.views.MOST_UNSEEN", 300)  # as of more labels, whose members may see more
    assert [loss(seed) for seed in range(5)] == shares
    monkeypatch.setattr("hetcore.consensus.views.MOST_UNSEEN_OF_CATEGORIES", 300)
    assert np.mean([loss(seed) for seed in range(5)]) < 0.9 < 0.98 < np.mean(shares)


def test_a_fit_without_joined_tables_reads_no_category(monkeypatch):
    def read(*_):
        raise AssertionError("tables stay where they are")

    monkeypatch.setattr("hetcore.consensus.views.MOST_UNSEEN", 300)
    monkeypatch.setattr("hetcore.consensus.views.links_within_categories", read)
    monkeypatch.setattr(CategoryLabels, "of", read)
    model = hc.GBCRegressor(random_state=0, n_iterations=2, join_tables=False).fit(linked())
    assert not any("category" in name for name in model.view_weights_)
