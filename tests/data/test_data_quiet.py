"""Data as given: masked cells stay hidden, later writes change nothing, no two ids or classes become one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

import hetcore as hc
from hetcore.data.encoding import SourceEncoder
from hetcore.errors import DataError

TABLE = pl.DataFrame({"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]})


def test_masked_labels_are_unlabelled():
    numbers = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    assert_array_equal(hc.HetData({"t": TABLE}, target=(["a", "b", "c"], numbers)).labelled, [True, False, True])
    words = np.ma.array(["u", "v", "w"], mask=[True, False, False])
    assert hc.HetData({"t": TABLE}, target=(["a", "b", "c"], words)).y.tolist() == [None, "v", "w"]


def test_masked_cells_are_missing():
    whole = hc.Source(["a", "b"], np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]]))
    assert_array_equal(whole.array, [[1, np.nan], [3, 4]])
    assert whole.array.__class__ is np.ndarray
    assert hc.Source(["a", "b"], np.ma.array([1.0, 2.0], mask=[1, 0])).missing_share == 0.5
    assert hc.Source(np.ma.array(["a", "b"], mask=[1, 0]), np.ones((2, 2))).ids.tolist() == ["b"]


def test_writing_to_what_was_given_changes_no_data():
    array, table = np.ones((2, 2)), pd.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0]})
    sources = hc.Source(["a", "b"], array), hc.Source.from_frame(table, "id")
    array[0, 0] = 99.0
    table["x"].array._ndarray[0] = 99.0
    assert sources[0].array[0, 0] == 1.0 and sources[1].frame["x"].to_list() == [1.0, 2.0]


def test_an_array_that_nobody_may_write_is_shared():
    array = np.ones((2, 2))
    array.flags.writeable = False
    assert np.shares_memory(hc.Source(["a", "b"], array).array, array)


@pytest.mark.parametrize("value", [2.0**53, -(2.0**53)])
def test_a_float_that_stands_for_two_whole_numbers_is_no_id_and_no_class(value):
    with pytest.raises(DataError, match=r"numbers of 2\^53 or more"):
        hc.Source([value, 1.0], np.ones((2, 2)))
    with pytest.raises(DataError, match=r"numbers of 2\^53 or more"):
        hc.HetData({"t": TABLE}, target=(["a", "b"], np.array([value, 1.0])), task="classification")


def test_classes_that_are_large_whole_numbers_stay_two_beside_a_missing_one():
    data = hc.HetData({"t": TABLE}, target=(["a", "b", "c"], [2**53 + 1, None, 2**53]), task="classification")
    assert data.y.tolist() == [str(2**53 + 1), None, str(2**53)]


def test_ids_of_32_bits_are_the_same_text_in_a_list_and_in_an_array():
    ids = np.array([0.1, 2.5], np.float32)
    assert hc.Source(list(ids), np.ones((2, 2))).ids.tolist() == hc.Source(ids, np.ones((2, 2))).ids.tolist()


def test_a_row_without_a_label_hides_no_label_of_a_later_row():
    for labels in ([None, "u", "v"], [np.nan, 1.0, 2.0]):
        data = hc.HetData({"t": TABLE}, target=(["a", "a", "b"], labels))
        assert data.y[:2].tolist() == labels[1:]
        assert not data.report.of("contradicting_label") and data.report.count("repeated_id") == 1


@pytest.mark.parametrize("table", [
    pd.DataFrame({"id": ["a", "b"], "x": [1j, 2.0]}),
    pa.table([["a", "b"], [1, 2], [3, 4]], names=["id", "x", "x"]),
    pa.table({"id": ["a", "b"], "x": pa.array([{"k": [1]}, {"k": [2]}]).cast(pa.struct([("k", pa.list_(pa.int8()))]))}),
])  # fmt: skip
def test_a_table_that_is_none_of_polars_is_refused_in_a_sentence(table):
    words = "no table of polars|Column 'x' of the pandas table can't be read|None of the columns can be used"
    with pytest.raises(DataError, match=f"Source 't': .*({words})"):
        hc.HetData({"t": table})


def test_numbers_that_fall_together_as_32_bit_floats_are_reported():
    seconds, tiny = 1.7e9 + np.arange(50.0), 1e-300 * np.arange(1, 51)
    table = pl.DataFrame({"t": seconds, "e": tiny, "far": 1.7e9 * np.arange(50.0), "few": [1.7e9, 1.7e9 + 1e4] * 25})
    (finding,) = [f for f in hc.Source(list(range(50)), table).findings if f.kind == "coarse_number"]
    assert finding.examples == ("t", "e") and finding.count == 98 - 1 + (50 - 49)
    assert "subtract the least value, such as 1700000000.0 of 't'; multiply" in finding.message
    # to subtract the least of numbers that are next to nothing leaves them so
    (alone,) = [f for f in hc.Source(list(range(50)), table.select("e")).findings if f.kind == "coarse_number"]
    assert "by a constant, as the numbers of 'e'" in alone.message and "subtract" not in alone.message
    assert not hc.Source(list(range(50)), pl.DataFrame({"t": seconds - 1.7e9})).findings[1:]
    # beyond 2^53 whole numbers fall together as 64-bit floats already
    whole = hc.Source(list(range(400)), pl.DataFrame({"n": [2**60 + i for i in range(400)]}))
    assert [f.count for f in whole.findings if f.kind == "coarse_number"] == [399]


def test_columns_in_another_order_are_no_other_codes():
    X, y = pd.DataFrame({"user": [0, 1, 2, 0], "item": [5, 6, 5, 6]}), np.arange(4.0)
    model = hc.MatrixFactorization(n_iterations=1, random_state=0).fit(X, y)
    with pytest.raises(DataError, match="X has the columns item, user, the fit had user, item"):
        model.predict(X[["item", "user"]])
    assert_array_equal(model.predict(X), model.predict(X.to_numpy()))


def test_masked_rows_and_codes_and_labels_of_estimators_stay_hidden():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X[:, 0]
    cells = np.ma.array(X, mask=X > 1)
    model = hc.HGBMRegressor(n_iterations=2)
    filled = cells.filled(np.nan)
    assert_array_equal(model.fit(cells, y).predict(cells), model.fit(filled, y).predict(filled))
    with pytest.raises(DataError, match="codes that are missing"):
        hc.MatrixFactorization().fit(np.ma.array(np.ones((4, 2), int), mask=np.eye(4, 2)), np.ones(4))
    with pytest.raises(DataError, match="y has values that are missing"):
        hc.MatrixFactorization().fit(np.ones((4, 2), int), np.ma.array(np.ones(4), mask=[1, 0, 0, 0]))
    labels, domain = np.where(y > 0, "a", "b").astype(object), np.where(np.arange(40) < 20, -1, 1)
    hidden = np.ma.array(labels, mask=np.arange(40) % 5 == 0)
    given = np.where(np.arange(40) % 5 == 0, None, labels)
    one, other = (hc.RidgeTransferClassifier().fit(X, each, domain).predict_proba(X) for each in (hidden, given))
    assert_array_equal(one, other)


def test_weights_whose_sum_is_no_number_count_by_their_ratios():
    X = np.random.default_rng(0).normal(size=(40, 2))
    for weights in (np.full(40, 1e308), np.ones(40)):
        predicted = hc.HGBMRegressor(n_iterations=2).fit(X, X[:, 0], sample_weight=weights).predict(X)
        assert np.isfinite(predicted).all() and predicted.std() > 0


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_durations_and_moments_keep_their_microseconds(unit):
    steps = pl.Series([0, 5, 20]) * {"ms": 1, "us": 1_000, "ns": 1_000_000}[unit] + (unit != "ms")
    table = pl.DataFrame({"id": ["a", "b", "c"], "took": steps.cast(pl.Duration(unit))})
    values = SourceEncoder().fit(source := hc.HetData({"t": table}).sources["t"]).transform(source)[:, 0]
    expected = np.array([0, 0.005, 0.02]) + {"ms": 0.0, "us": 1e-6, "ns": 1e-9}[unit]
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    later = pl.Series([0, 1000 if unit == "ns" else 1]).cast(pl.Datetime(unit))
    moments = pl.DataFrame({"id": ["a", "b"], "at": later})
    values = SourceEncoder().fit(source := hc.HetData({"t": moments}).sources["t"]).transform(source)[:, 0]
    assert values[1] > values[0] == 0.0


def test_labels_of_types_that_polars_casts_to_nothing():
    table = pl.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0]})
    seconds = pl.Series("y", [1, 2]).cast(pl.Duration("us"))
    with pytest.raises(DataError, match="Labels of type Duration"):
        hc.HetData({"t": table}, target=table.select("id", y=seconds))
    for dtype in (pl.Categorical, pl.Enum(["1.5", "2"])):
        labels = table.select("id", y=pl.Series(["2", "1.5"], dtype=dtype))
        assert_array_equal(hc.HetData({"t": table}, target=labels, task="regression").y, [2.0, 1.5])
        assert hc.HetData({"t": table}, target=labels).classes == ["1.5", "2"]


def test_infinite_labels_that_a_fit_is_given_are_refused():
    table = pl.DataFrame({"id": [f"i{k}" for k in range(8)], "x": np.arange(8.0)})
    data, y = hc.HetData({"t": table}), np.arange(8.0)
    infinite = np.where(y > 6, np.inf, y)
    for given in ({"y": infinite}, {"y": np.where(y > 6, np.nan, y), "eval_y": infinite}):
        with pytest.raises(DataError, match="y has 1 infinite label: give NaN where there is no label"):
            hc.GBCRegressor(n_iterations=1, base_learner="kernel").fit(data, **given)
    # said by the report of data that have one themselves
    known = hc.HetData({"t": table}, target=table.select("id", y=pl.Series(infinite)))
    assert known.report.count("infinite_label") == 1
    hc.GBCRegressor(n_iterations=1, base_learner="kernel").fit(known, eval_y=y)


@pytest.mark.parametrize("codes", [[3, 5, 7], [1.5, 2.5, 3.0]])
def test_categories_that_are_numbers_are_no_quantities(codes):
    """pandas' categories of numbers would become numbers in polars, and be learned by their order."""
    ids = [f"i{k}" for k in range(6)]
    column = pd.Series(pd.Categorical(codes * 2))
    data = hc.HetData({"t": pd.DataFrame({"id": ids, "c": column})}, target=pd.DataFrame({"id": ids, "y": column}))
    texts = [f"{code:g}" for code in codes]
    assert data.sources["t"].kinds == {"c": "nominal"} and data.sources["t"].frame["c"].to_list() == texts * 2
    assert data.target_kind == "classification" and data.classes == texts
    assert data.with_target(column).classes == texts
    same = hc.HetData({"t": pl.DataFrame({"id": ids, "c": pl.Series(texts * 2).cast(pl.Categorical)})})
    assert same.sources["t"].kinds == {"c": "nominal"}


def test_text_that_is_numbers_but_for_a_few_values_is_reported():
    ids = [f"i{k}" for k in range(10)]
    odd, comma = [*map(str, range(9)), "unknown"], [f"{k},5" for k in range(10)]
    data = hc.HetData({"t": pl.DataFrame({"id": ids, "a": odd, "b": comma, "c": [f"{k:03}" for k in range(10)]})})
    assert set(data.sources["t"].kinds.values()) == {"nominal"}
    messages = {each.where: str(each) for each in data.report if each.kind == "nearly_numbers"}
    assert list(messages) == ["source 't', column 'a'", "source 't', column 'b'"]
    assert "but for 1 different value that can't be read as one" in messages["source 't', column 'a'"]
    assert "'unknown'" in messages["source 't', column 'a'"] and "'0,5'" in messages["source 't', column 'b'"]


def test_dates_that_came_as_text_are_reported():
    """As polars.read_csv gives them: categories that lose their order, as many as there are days."""
    ids, days = [f"i{k}" for k in range(9)], pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 1, 9), eager=True)
    texts = {"a": days.cast(pl.String), "b": days.dt.strftime("%d.%m.%Y"), "c": [*days[:8].cast(pl.String), "soon"]}
    data = hc.HetData({"t": pl.DataFrame({"id": ids, "day": days, **texts})})
    assert [each.examples for each in data.report.of("date_text")] == [("a", "b")]
    assert data.sources["t"].kinds == {"day": "real", "a": "nominal", "b": "nominal", "c": "nominal"}


def test_a_question_of_the_report_ends_with_its_own_mark():
    data = hc.HetData({"t": TABLE}, {"g": pl.DataFrame({"source": ["u"], "target": ["v"]})})
    assert "written the same way?" in str(data.report) and "?." not in str(data.report)


def test_two_columns_of_pandas_with_one_name_are_named():
    table = pd.DataFrame([["a", 1.0, 2.0]], columns=["id", "x", "x"])
    with pytest.raises(DataError, match="The pandas table has two columns 'x': give each a name of its own"):
        hc.HetData({"t": table})


def test_labels_of_pandas_for_other_instances_are_not_taken_by_place():
    data = hc.HetData({"t": TABLE})
    with pytest.raises(DataError, match=r"has some of data.ids, and others: give y.reindex\(data.ids\)"):
        data.with_target(pd.Series([1.0, 2.0, 3.0], index=["b", "c", "d"]))
    assert data.with_target(pd.Series([1.0, 2.0, 3.0], index=["a", "b", "c"])).y.tolist() == [1.0, 2.0, 3.0]
    assert data.with_target(pd.Series([1.0, 2.0, 3.0], index=["u", "v", "w"])).y.tolist() == [1.0, 2.0, 3.0]


def test_real_numbers_are_no_classes():
    """Thirty measurements would be thirty classes of one label each."""
    ids = [f"i{k}" for k in range(30)]
    data = hc.HetData({"t": pl.DataFrame({"id": ids, "x": np.arange(30.0)})}, target=(ids, np.arange(30) + 0.5))
    with pytest.raises(DataError, match="The 30 labels are 30 different numbers such as 0.5, which are no classes"):
        hc.GBCClassifier(n_iterations=1, base_learner="kernel").fit(data)
    sizes = np.array([37.5, 38.0] * 15)
    assert hc.GBCClassifier(n_iterations=1, base_learner="kernel").fit(data, sizes).classes_.tolist() == ["37.5", "38"]


def test_labels_and_values_whose_index_is_the_ids_in_another_order_are_refused():
    table = pd.DataFrame({"id": list("abc"), "x": [1.0, 2.0, 3.0]}, index=["p", "q", "r"])
    turned = table.iloc[::-1]
    with pytest.raises(hc.DataError, match="labels have the index of the ids in another order"):
        hc.HetData({"s": table}, target=(table["id"], turned["x"]))
    with pytest.raises(hc.DataError, match="table has the index of the ids in another order"):
        hc.Source(table["id"], turned[["x"]])
    data = hc.HetData({"s": table}, target=(table["id"], table["x"]))
    model, labels = hc.GBCRegressor(n_iterations=1, base_learner="kernel").fit(data), table["x"].set_axis(data.ids)
    with pytest.raises(hc.DataError, match=r"the ids in another order than data.ids: give y.loc\[data.ids\]"):
        model.score(data, labels.iloc[::-1])
    assert model.score(data, labels) == model.score(data, data.y)
    # counted from 0, by themselves or of other rows: taken by place
    for labels in (turned["x"].reset_index(drop=True), turned["x"].to_numpy(), turned["x"].set_axis(list("stu"))):
        assert hc.HetData({"s": table}, target=(table["id"], labels)).y.tolist() == [3.0, 2.0, 1.0]


def test_an_index_that_is_in_part_that_of_the_rows_is_refused():
    """One row was dropped of X and another of y: all between them were joined with a neighbour's label."""
    rows = np.arange(41)
    X = pd.DataFrame({"x": np.sin(rows)}, index=rows).drop(3)
    y = pd.Series(np.cos(rows), index=rows).drop(30)
    with pytest.raises(hc.DataError, match=r"y has the index of X in part only.*: give .reindex\(X.index\) of it, or"):
        hc.HGBMRegressor().fit(X, y)
    domains = pd.Series(np.where(rows < 20, 1, -1), index=rows).drop(30)
    with pytest.raises(hc.DataError, match="sample_domain has the index of X in part only"):
        hc.TransferRegressor().fit(X, y.to_numpy(), domains)
    entries = pd.DataFrame({"user": rows % 6, "item": rows % 7}).drop(3)
    with pytest.raises(hc.DataError, match="y has the index of X in part only"):
        hc.HMF().fit(entries, y)
    ids = pd.Series([f"i{k}" for k in rows], index=rows).drop(3)
    table = pd.DataFrame({"id": ids, "x": 1.0})
    with pytest.raises(hc.DataError, match=r"have the index of the ids in part only: give y.reindex\(ids.index\)"):
        hc.HetData({"t": table}, target=(ids, y))
    with pytest.raises(hc.DataError, match=r"table has the index of the ids in part only: give .reindex\(ids.index\)"):
        hc.Source(ids, y.to_frame())
    # what counts from 0 is places, and what is of other rows no order of these
    for labels in (y.reset_index(drop=True), y.set_axis(rows[:-1]), y.set_axis(rows[:-1] + 99)):
        assert hc.HetData({"t": table}, target=(ids, labels)).y.tolist() == y.tolist()


N = 12


def table_of(ids, **columns):
    return hc.HetData({"shops": pl.DataFrame({"id": ids, **columns})})


@pytest.mark.parametrize(("last", "reported"), [("Total", True), ("Summe:", True), ("s99", True), ("s98", False)])
def test_a_last_row_that_is_the_sum_of_the_others_is_reported(last, reported):
    sales, visits = np.arange(1.0, N), np.arange(3, 3 + N - 1)
    sums = (5.0, 7) if last == "s98" else (sales.sum(), visits.sum())
    ids = [*(f"s{k}" for k in range(N - 1)), last]
    data = table_of(ids, sales=[*sales, sums[0]], visits=[*visits, sums[1]], town=["a", "b"] * 6)
    found = data.report.of("total_row")
    assert len(found) == reported
    if reported:
        assert "the sum of the others in 2 columns: kept as an instance" in str(found[0]) and last in str(found[0])


def test_a_last_row_named_as_a_total_is_reported_without_numbers():
    data = table_of(["a", "b", "c", "Grand Total"], town=["x", "y", "x", None])
    assert "named as a sum of the others" in str(data.report.of("total_row")[0])


def parts(rng, names, n_columns=2, above=False):
    """Return ids and rows of groups, each of four to nine records and their sum, which stands above or below them."""
    ids, rows = [], []
    for name in names:
        own = rng.integers(1, 500, (rng.integers(4, 10), n_columns))
        lines = [(f"{len(ids) + k}", row) for k, row in enumerate(own)]
        lines.insert(0 if above else len(lines), (name, own.sum(axis=0)))
        ids += [f"{name[-1]}{name_of}" if name_of.isdigit() else name_of for name_of, _ in lines]
        rows += [row for _, row in lines]
    return ids, np.array(rows)


NAMES = [("Total N", "Total S"), ("North total:", "South total:"), ("x1", "x2", "x3")]


@pytest.mark.parametrize("names", NAMES, ids=lambda names: names[0])
@pytest.mark.parametrize("above", [False, True], ids=["below", "above"])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_sums_among_the_rows_are_reported(names, above, n_columns):
    """Subtotals were records like any other, whatever they were called."""
    ids, rows = parts(np.random.default_rng(3), names, n_columns, above)
    data = table_of(ids, **{f"c{k}": rows[:, k] for k in range(n_columns)})
    (found,) = data.report.of("total_row")
    assert found.count == len(names) and found.examples == names
    assert "among the others called a total, or the sum of those above or below" in found.message


def test_a_grand_total_of_subtotals_is_reported_too():
    for above in (False, True):
        ids, rows = parts(np.random.default_rng(3), ("x1", "x2"), above=above)
        grand = rows.sum(axis=0, keepdims=True) // 2
        table = np.vstack([grand, rows] if above else [rows, grand])
        names = ["all", *ids] if above else [*ids, "all"]
        data = table_of(names, a=table[:, 0], b=table[:, 1])
        assert [each.count for each in data.report.of("total_row")] == [1, 2]
        assert f"the {'first' if above else 'last'} row, 'all', is the sum of the others in 2" in str(data.report)


def test_a_subtotal_without_its_text_is_reported():
    town = ["u", "v", "w", None, "u", "v", "w", None, "w"]
    data = table_of([*"abc", "Average", *"def", "Subtotal", "g"], town=town, x=np.arange(9.0) ** 2)
    assert data.report.of("total_row")[0].examples == ("Average", "Subtotal")


def test_records_called_so_and_sums_by_chance_are_no_totals():
    rng = np.random.default_rng(0)
    films = ["Total Recall", "Alien", "Heat", "Total Eclipse", "Mean Streets", "Jaws", "The Sum of All Fears", "Ran"]
    for town in (["a", "b"] * 4, [None, *"abcdefg"]):
        assert not table_of(films, year=rng.integers(1970, 2000, 8), town=town).report.of("total_row")
    words = ["mean", "average", "sum", "the", "total", "of"]
    assert not table_of(words, x=rng.normal(size=6), y=rng.normal(size=6)).report.of("total_row")
    for _ in range(15):
        counts, signed = rng.poisson(3, N), rng.integers(-20, 20, N)
        draws = [counts, counts * 3, signed, np.cumsum(counts + 1), 2.0 ** np.arange(N), rng.normal(3, 1, N).round(1)]
        for values in draws:
            assert not table_of([f"s{k}" for k in range(N)], x=values, y=values * 2).report.of("total_row")


def test_a_rare_column_of_ones_is_no_total():
    rng = np.random.default_rng(0)
    for _ in range(50):
        rare = np.zeros(N, int)
        rare[rng.integers(0, N - 1)] = rare[-1] = 1
        assert table_of([f"s{k}" for k in range(N)], rare=rare).report.count("total_row") == 0


@pytest.mark.parametrize("dressed", ["$1,{:03d}", "1.{:03d},50", "{:03d} \u20ac", "({:03d})", "\u20ac 2 {:03d}"])
def test_amounts_that_only_a_person_reads_are_reported(dressed):
    data = table_of([f"s{k}" for k in range(N)], amount=[dressed.format(k * 37 + 100) for k in range(N)])
    assert data.report.count("nearly_numbers") == N


def test_addresses_and_versions_are_no_amounts():
    data = table_of(
        [f"s{k}" for k in range(N)], at=[f"10.0.{k}.1" for k in range(N)], of=[f"1.{k}.2" for k in range(N)]
    )
    assert data.report.count("nearly_numbers") == 0


def test_labels_that_say_true_in_several_ways_are_reported():
    ids = [f"s{k}" for k in range(N)]
    table = {"shops": pl.DataFrame({"id": ids, "x": np.arange(N) ** 2})}
    mixed = hc.HetData(table, target=(ids, ["yes", "no", "TRUE"] * 4)).report
    assert "several ways: each is taken as a class of its own" in str(mixed.of("mixed_truths")[0])
    for labels in (["yes", "no"], ["y", "Y"], ["on", "off"], ["yes", "no", "maybe"]):
        assert hc.HetData(table, target=(ids, (labels * N)[:N])).report.count("mixed_truths") == 0
