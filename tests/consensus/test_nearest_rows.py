"""Nearest rows of tables as neighbours: whose labels they say, that a row alone has the same, what they bring."""

from __future__ import annotations

import copy

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore import metrics
from hetcore.consensus import neighbor_columns
from hetcore.consensus.neighbor_columns import NEAREST, NearestRows
from hetcore.consensus.recall import MEMORY
from hetcore.errors import ModelFileError
from hetcore.model_files import dumps, load
from hetcore.targets import KnownLabels


@pytest.fixture
def rows():
    """Two tables of 60 instances, the second without ten of them, and 40 labels of two classes in four folds."""
    rng = np.random.default_rng(0)
    tables = {"a": rng.normal(size=(60, 4)), "b": rng.normal(size=(60, 3))}
    tables["b"][50:] = np.nan
    fold = np.where(np.arange(60) % 3 < 2, np.arange(60) % 4, -1)
    labels = KnownLabels(np.where(fold >= 0, rng.integers(2, size=60), 0)[:, None].astype(float), fold)
    return pl.Series([str(i) for i in range(60)]), tables, labels


def _nearest_by_hand(X, i):
    apart = [(round(((X[i] - X[j]) ** 2).sum(), 9), j) for j in range(len(X)) if j != i and not np.isnan(X[j]).any()]
    return [j for _, j in sorted(apart)[:NEAREST]]


def test_the_nearest_rows_labels_are_those_of_a_loop(rows):
    ids, tables, labels = rows
    columns = NearestRows.of(ids, tables, labels).columns(ids, tables, labels)
    assert list(columns) == ["a", "b", ""]
    for name in "ab":
        covers, X = columns[name]
        assert_array_equal(covers, ~np.isnan(tables[name]).any(axis=1))
        for i in np.flatnonzero(covers):
            seen = [j for j in _nearest_by_hand(tables[name], i) if 0 <= labels.fold[j] != labels.fold[i]]
            expected = np.mean([labels.codes[j, 0] for j in seen]) if seen else np.nan
            assert_allclose(X[i, 0], expected, rtol=1e-12)
    # over both tables an instance that only one has is of that one alone
    assert_allclose(columns[""][1][50:, 0], columns["a"][1][50:, 0], rtol=1e-12)


def test_a_row_sees_no_label_of_its_own_fold_nearby(rows):
    ids, tables, labels = rows
    other = labels._replace(codes=np.where((labels.fold == 1)[:, None], 1.0 - labels.codes, labels.codes))
    before, after = (NearestRows.of(ids, tables, each).columns(ids, tables, each)[""][1] for each in (labels, other))
    hidden = labels.fold == 1
    assert_array_equal(before[hidden], after[hidden])
    assert (np.abs(before - after)[~hidden, 2] > 1e-6).all()


def test_a_row_has_the_same_columns_alone_under_any_id_and_in_blocks_of_one(rows, monkeypatch):
    ids, tables, labels = rows
    tables["a"][7] = tables["a"][8] = tables["a"][9]  # ties
    near = NearestRows.of(ids, tables, labels)
    whole = near.columns(ids, tables, labels)[""][1]
    monkeypatch.setattr(neighbor_columns, "BLOCK", 1)
    assert_allclose(near.columns(ids, tables, labels)[""][1], whole, rtol=1e-12)
    for i in (0, 2, 8, 55):
        alone = {name: X[[i]] for name, X in tables.items()}
        of_it = KnownLabels(labels.codes[[i]], labels.fold[[i]])
        assert_allclose(near.columns(ids[[i]], alone, of_it)[""][1][0], whole[i], rtol=1e-12)
    # an unseen instance that looks like one of the fit has that one among its nearest
    unseen = near.columns(pl.Series(["new"]), {name: X[[0]] for name, X in tables.items()}, KnownLabels(
        np.zeros((1, 1)), np.array([-1])
    ))  # fmt: skip
    nearest = [0, *_nearest_by_hand(tables["a"], 0)[: NEAREST - 1]]
    expected = np.mean([labels.codes[j, 0] for j in nearest if labels.fold[j] >= 0])
    assert_allclose(unseen["a"][1][0, 0], expected, rtol=1e-12)


def test_where_one_table_changes_the_neighbours_in_the_other_are_recalled_with_the_same_bits(rows, monkeypatch):
    ids, tables, labels = rows
    changed = tables | {"a": tables["a"] + 1.0 * (np.arange(60) % 7 == 0)[:, None]}
    other = labels._replace(codes=1.0 - labels.codes)
    asked = [(changed, labels), (tables, other), (tables, labels)]

    def messages(given, known):
        return NearestRows.of(ids, given, known).columns(ids, given, known)

    expected = [messages(*each) for each in asked]
    monkeypatch.setattr(MEMORY, "room", 10 << 20)
    messages(tables, labels)
    looked, links = [], neighbor_columns._links
    monkeypatch.setattr(neighbor_columns, "_links", lambda *given: looked.append(given[0].shape[1]) or links(*given))
    for each, found in zip(asked, expected):
        for name, (covers, X) in messages(*each).items():
            assert_array_equal(covers, found[name][0])
            assert_array_equal(X, found[name][1])
    assert looked == [4]  # the columns of the table that changed, once
    MEMORY.give_room(0)


def _spirals(seed, columns=12):
    """Return two tables in which three classes are arms of a spiral, and the labels of one in twenty."""
    rng = np.random.default_rng(seed)
    n = 600
    y, t, ids = rng.integers(3, size=n), rng.uniform(0.5, 3, size=n), [f"i{i}" for i in range(n)]
    arm, tables = 3 * t + 2 * np.pi * y / 3, {}
    for name in "ab":
        X = np.column_stack([np.cos(arm), np.sin(arm)]) * t[:, None] @ rng.normal(size=(2, columns))
        X += 0.05 * rng.normal(size=(n, columns))
        tables[name] = pl.DataFrame({"id": ids} | {f"c{j}": X[:, j] for j in range(columns)})
    classes = np.array(["one", "two", "three"], object)[y]
    shown = classes.copy()
    shown[rng.permutation(n)[30:]] = None
    return hc.HetData(tables, target=(ids, classes), task="classification"), tables, shown, classes


@pytest.mark.slow
def test_where_labels_are_few_nearest_rows_lower_the_error(monkeypatch):
    gains = []
    for seed in range(4):
        data, _, shown, truth = _spirals(seed)
        hidden = np.array([each is None for each in shown])
        errors = []
        for fewest in (neighbor_columns.FEWEST_COLUMNS, 10_000):
            monkeypatch.setattr(neighbor_columns, "FEWEST_COLUMNS", fewest)
            fit = hc.GBCClassifier(random_state=0).fit(data, shown)
            errors.append(metrics.error_rate(truth[hidden], fit.predict(data)[hidden]))
        monkeypatch.undo()
        gains.append(errors[1] - errors[0])
    assert np.mean(gains) > 2 * np.std(gains, ddof=1) / 2 and np.mean(gains) > 0.02


def test_numbers_few_columns_and_too_few_or_many_labels_are_not_asked_for_nearest_rows():
    data, *_ = _spirals(0)
    labels = KnownLabels(np.eye(3)[np.zeros(data.n, int)], np.zeros(data.n, np.int64))
    assert NearestRows.tables_of(data, labels) == ["a", "b"]
    assert NearestRows.tables_of(data, labels._replace(codes=labels.codes + 0.5)) == []
    assert NearestRows.tables_of(_spirals(0, columns=9)[0], labels) == []
    few = np.where(np.arange(data.n) < 5, 0, -1)
    assert NearestRows.tables_of(data, labels._replace(fold=few)) == []
    many = KnownLabels(np.ones((2001, 1)), np.zeros(2001, np.int64))
    assert NearestRows.tables_of(data, many) == []


def test_a_models_file_says_the_same_also_of_some_rows_alone():
    data, tables, shown, _ = _spirals(1)
    fit = hc.GBCClassifier(random_state=0, n_iterations=3).fit(data, shown)
    assert any("near in" in name for name in fit.view_weights_)
    whole, back = fit.predict_proba(data), load(dumps(fit))
    assert_allclose(back.predict_proba(data), whole, rtol=1e-9)
    some = hc.HetData({name: table[5:25] for name, table in tables.items()})
    assert_allclose(back.predict_proba(some), whole[5:25], rtol=1e-9)


def test_a_file_whose_nearest_rows_are_of_other_columns_is_refused():
    data, _, shown, _ = _spirals(1)
    fit = hc.GBCClassifier(random_state=0, n_iterations=2).fit(data, shown)
    values, arrays = copy.deepcopy(fit._get_state())
    name = next(name for name in arrays if name.endswith("near:rows"))
    arrays[name] = np.ascontiguousarray(arrays[name][:, 1:])
    fit._get_state = lambda: (values, arrays)
    with pytest.raises(ModelFileError, match="nearest rows are not those of its tables"):
        load(dumps(fit))
