"""Types and forms that were read as something else without a word, or ended in an error of another library."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hetcore as hc
from hetcore.data.identity import as_ids
from hetcore.data.target import as_labels
from hetcore.errors import DataError

TABLE = pl.DataFrame({"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]})
MOMENTS = [dt.datetime.fromisoformat(f"2020-01-{at}") for at in ("01 12:00", "02", "01 12:00:05.120000")]


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_moments_in_other_units_are_the_same_ids(zone):
    times = pl.Series("id", MOMENTS).dt.replace_time_zone(zone)
    tables = {unit: pl.DataFrame({"id": times.cast(pl.Datetime(unit, zone)), "x": [1, 2, 3]}) for unit in ("ms", "ns")}
    data = hc.HetData(tables)
    end = "" if zone is None else "+09:00"
    assert data.ids.tolist() == [f"2020-01-{at}{end}" for at in ("01 12:00:00", "02 00:00:00", "01 12:00:05.12")]


FORMS = {
    "index": lambda times: times,
    "list": list,
    "list of datetime": lambda times: times.to_pydatetime().tolist(),
    "array": lambda times: times.to_numpy(),
    "list of datetime64": lambda times: list(times.to_numpy()),
    "objects": lambda times: np.array(list(times), object),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
def test_moments_are_the_same_ids_in_whichever_form(form, zone):
    if zone and form == "list of datetime64":
        pytest.skip("NumPy has no time zones")
    times = pd.DatetimeIndex([*MOMENTS, pd.NaT]).tz_localize(zone)
    expected = hc.Source(pd.Series(times), np.ones((4, 1))).ids.tolist()
    assert expected[0].startswith("2020-01-01 12:00:00") and len(expected) == 3
    assert hc.Source(FORMS[form](times), np.ones((4, 1))).ids.tolist() == expected
    assert hc.Source([*FORMS[form](times), "a"], np.ones((5, 1))).ids.tolist() == [*expected, "a"]


def test_dates_and_moments_of_other_units_are_ids_as_those_of_a_column():
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]
    for given in (days, pl.Series(days), np.array(days, "datetime64[D]")):
        assert hc.Source(given, np.ones((2, 1))).ids.tolist() == ["2020-01-01", "2020-01-02"]
    for unit in ("h", "s", "ms", "ns"):
        assert hc.Source(np.array(days, f"datetime64[{unit}]"), np.ones((2, 1))).ids[0] == "2020-01-01 00:00:00"
    fine = pd.DatetimeIndex(["2020-01-01 00:00:00.000000030"])
    assert hc.Source(fine, np.ones((1, 1))).ids.tolist() == ["2020-01-01 00:00:00.00000003"]
    with pytest.raises(DataError, match=r"^Ids of type .* can't be used: convert the id column to text\.$"):
        hc.Source(pd.Series(pd.period_range("2020", periods=2, freq="M")), np.ones((2, 1)))


def test_what_pandas_writes_for_missing_is_no_class_and_no_id():
    for labels in (pd.array([True, None, False], "boolean"), [True, pd.NA, False], [True, pd.NaT, False]):
        assert hc.HetData({"t": TABLE}, target=(["a", "b", "c"], labels)).y.tolist() == ["true", None, "false"]
    assert hc.Source([1, pd.NA, "b"], np.ones((3, 1))).ids.tolist() == ["1", "b"]


def test_decimals_in_a_list_are_numbers_to_predict_as_they_are_in_a_column():
    numbers = [Decimal("1.5"), None, Decimal(2)]
    for labels in (numbers, pl.Series(numbers)):
        data = hc.HetData({"t": TABLE}, target=(["a", "b", "c"], labels))
        assert data.target_kind == "regression" and data.y[[0, 2]].tolist() == [1.5, 2.0]


def test_decimals_are_the_same_ids_and_classes_as_other_numbers():
    given = [Decimal("1.00"), Decimal("2.50"), Decimal("100"), Decimal("-0.0"), Decimal("1E+2"), None]
    texts = ["1", "2.5", "100", "0", "100", None]
    for values in (given, pl.Series(given), pd.Series(given)):
        assert as_ids(values)[0].to_list() == texts
        assert as_labels(values, "classification")[0].tolist() == texts
    assert as_labels([Decimal("1.00"), "a"])[0].tolist() == ["1", "a"]
    tables = {"decimal": pl.DataFrame({"id": pl.Series(given[:3]), "x": [1, 2, 3]})}
    tables |= {"real": pl.DataFrame({"id": [1.0, 2.5, 100.0], "y": [1, 2, 3]})}
    assert hc.HetData(tables).n == 3


@pytest.mark.parametrize(
    "labels, words",
    [
        ([10**400, 1], "A label is a whole number of over 308 digits: give labels in another unit"),
        (["a\0", "a"], r"The label 'a\\x00' ends in a NUL character: write it without"),
    ],
)
def test_labels_that_numpy_has_not_are_refused_in_a_sentence(labels, words):
    with pytest.raises(hc.DataError, match=words):
        hc.HetData({"t": pl.DataFrame({"id": [0, 1], "x": [0, 1]})}, target=([0, 1], labels))


def test_a_series_of_pandas_is_no_table_of_labels():
    with pytest.raises(DataError, match=r"can't be read from Series: give a table \(id, y\), or \(ids, y\)."):
        hc.HetData({"t": TABLE}, target=pd.Series([1.0, 2.0, 3.0], index=["a", "b", "c"]))


@pytest.mark.parametrize("dtype", [pl.Decimal(10, 2), pl.Int128])
def test_lists_of_numbers_that_numpy_has_not_are_arrays(dtype):
    for kind in (pl.List(dtype), pl.Array(dtype, 2)):
        table = TABLE.with_columns(v=pl.Series([[1, 2], [3, 4], [5, 6]]).cast(kind))
        source = hc.Source.from_frame(table, "id")
        assert source.kinds["v"] == "array" and source.frame["v"].to_list() == [[1, 2], [3, 4], [5, 6]]


def test_objects_of_numbers_are_numbers_whichever_comes_first():
    for values in ([1, 2.5, None], [2.5, 1, float("nan")]):
        source = hc.Source(["a", "b", "c"], np.array(values, object)[:, None])
        assert source.frame["column 1"].to_list() == [*values[:2], None]
    with pytest.raises(DataError, match=r"^The array mixes types in a column \([^\n]*\): give a polars DataFrame.$"):
        hc.Source(["a", "b"], np.array([["1"], [2]], object))


def test_an_empty_text_is_missing_and_keeps_no_column_from_being_numbers():
    texts = TABLE.with_columns(n=pl.Series(["1", "", "3"]), c=pl.Series(["", "u", "v"], dtype=pl.Categorical))
    source = hc.Source.from_frame(texts, "id")
    assert source.kinds == {"x": "real", "n": "real", "c": "binary"}
    assert source.missing["n"] == source.missing["c"] == 1 / 3
    (finding,) = [each for each in source.findings if each.kind == "empty_text"]
    assert finding.count == 2 and finding.examples == ("n", "c")


def test_words_for_missing_among_classes_are_reported():
    labels = ["u", "NA", "v"], ["u", "n/a ", "v"]
    for each in labels:
        report = hc.HetData({"t": TABLE}, target=(["a", "b", "c"], each)).report
        assert report.count("missing_word") == 1
    assert not hc.HetData({"t": TABLE}, target=(["a", "b", "c"], ["u", "nap", "v"])).report.of("missing_word")


def _weights(table):
    graph = hc.Graph(table)
    a, b, weights = graph.edges()
    return {(graph.ids[i], graph.ids[j]): w for i, j, w in zip(a, b, weights)}


def test_a_weight_is_one_by_its_name_only():
    ends, weights = {"from": ["a", "b"], "to": ["b", "c"]}, [2.0, 5.0]
    expected = {("a", "b"): 2.0, ("b", "c"): 5.0}
    for table in (
        {"weight": weights, **ends},
        {"from": ends["from"], "Weight": weights, "to": ends["to"]},
        {"Target": ends["from"], "WEIGHT": weights, "Source": ends["to"]},
        {"column_1": ends["from"], "column_2": ends["to"], "column_3": weights},
    ):
        found = _weights(pl.DataFrame(table))
        assert {tuple(sorted(pair)): w for pair, w in found.items()} == expected
    for name in ("year", "kind", "similarity"):
        with pytest.raises(DataError, match=f"'{name}', which do not say what links what: .* or leave out"):
            hc.Graph(pl.DataFrame({**ends, name: [1999, 2000]}))
    # an index with a name is a column: it would have been an end
    with pytest.raises(DataError, match="which do not say what links what"):
        hc.Graph(pd.DataFrame(ends, index=pd.Index([5, 6], name="edge")))


def test_an_array_without_ids_is_refused():
    with pytest.raises(DataError, match=r"^Source 'x': An array does not say whose its rows are: give hetcore\.Source"):
        hc.HetData(sources={"x": np.zeros((5, 2))}, target=None)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_table_of_labels_is_no_array_of_them(kind):
    data = hc.HetData(sources={"x": pl.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0]})}, target=None)
    with pytest.raises(DataError, match=r"^The labels have the columns 'id', 'y': labels as a table are the"):
        data.with_target(kind({"id": ["a", "b"], "y": [1.0, 2.0]}))


BAD = {
    "types": ([1, "u", 2.5], r"can't be read \(.*\): give it numbers alone, text alone or dates alone"),
    "complex": ([1j, 2, 3], r"can't be read \(.*\): give it numbers alone"),
    "sparse": (pd.arrays.SparseArray([0.0, 0.0, 1.0]), r"is sparse: give its \.sparse\.to_dense\(\)"),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_column_of_pandas_that_is_none_of_polars_is_named(bad):
    values, words = BAD[bad]
    table = pd.DataFrame({"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0], bad: values, "last": [1, "x", 2]})
    with pytest.raises(DataError, match=f"^Source 't': Column '{bad}' of the pandas table {words}[^\n]*\\.$"):
        hc.HetData({"t": table})


def test_mixed_ids_of_a_table_of_pandas_are_named():
    mixed = pd.DataFrame({"x": [1.0, 2.0], "id": [1, "a"]})
    for table in (mixed, mixed.set_index("id")):
        with pytest.raises(DataError, match="Column 'id' of the pandas table can't be read"):
            hc.HetData({"t": table})

UNFIT_LABELS = {
    "bytes": np.array([b"yes", b"no", b"yes"]),
    "timedelta": np.array([1, 2, 3], "timedelta64[ns]"),
    "complex": np.array([1j, 2j, 1j]),
    "set": [{1}, {2}, {1}],
}


@pytest.mark.parametrize("name", UNFIT_LABELS)
def test_labels_of_unfit_types_are_refused_as_columns_of_them_are(name):
    with pytest.raises(DataError, match=rf"Labels of type {name} can't be used: give numbers or text\."):
        hc.HetData({"t": TABLE}, target=(["a", "b", "c"], UNFIT_LABELS[name]))


def test_moments_in_nanoseconds_are_no_numbers_as_labels():
    days = np.array(["2020-01-01", "2021-01-01", "2020-01-01"], "datetime64[ns]")
    coarse = hc.HetData({"t": TABLE}, target=(["a", "b", "c"], days.astype("datetime64[us]")))
    data = hc.HetData({"t": TABLE}, target=(["a", "b", "c"], days))
    assert data.target_kind == "classification" and data.y.tolist() == coarse.y.tolist()


def test_a_class_called_nan_is_no_number():
    data = hc.HetData({"t": TABLE}, target=(["a", "b", "c"], ["yes", "nan", "yes"]))
    assert [each.kind for each in data.report] == ["missing_word"]


def test_a_set_of_ids_has_no_order_and_is_refused():
    cure = "give one of them"
    with pytest.raises(DataError, match=f"Ids must be a list, an array or a polars Series, not set: {cure}"):
        hc.Source({"a", "b"}, np.ones((2, 1)))


def test_more_than_a_thousand_classes_are_reported_however_many_labels_each_has():
    ids = [str(k) for k in range(3300)]
    classes = [f"c{k % 1100}" for k in range(3300)]
    data = hc.HetData({"t": pl.DataFrame({"id": ids, "x": range(3300)})}, target=(ids, classes))
    assert "1,100 classes in 3,300 labels: is this an id or a number?" in str(data.report)


@pytest.mark.filterwarnings("error")
def test_half_floats_are_looked_through_without_a_warning():
    found = hc.Source(["a", "b", "c"], np.array([[1.0], [np.inf], [np.nan]], np.float16))
    assert np.isnan(found.array[:, 0]).tolist() == [False, True, True]
    assert [each.kind for each in found.findings] == ["infinite_value"]


def test_ids_in_an_index_of_pandas_are_read_or_the_error_has_a_cure():
    ids, table = ["a", "b", "c"], pd.DataFrame({"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]})
    assert hc.HetData({"t": table.set_index("id", drop=False)}).ids.tolist() == ids
    both = table.set_index("id", drop=False).set_index(pd.Index([7, 8, 9], name="nr"), append=True)
    assert hc.HetData({"t": both}).sources["t"].frame.columns == ["nr", "x"]
    other = table.set_index(pd.Index(["c", "a", "b"], name="id"))
    with pytest.raises(DataError, match="The pandas table has 'id' as index and as another column: drop one"):
        hc.HetData({"t": other})
    cure = r"columns 'x', or, if the index is the ids, give \.rename_axis\('id'\)\.$"
    with pytest.raises(DataError, match=cure):
        hc.HetData({"t": pd.DataFrame({"x": [1.0]}, index=["a"])})


def test_columns_of_types_that_are_left_out_are_named_with_a_cure():
    table = pd.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0], "month": pd.period_range("2020", periods=2, freq="M")})
    table = table.assign(between=pd.IntervalIndex.from_breaks([0, 1, 2]), raw=[b"u", b"v"], both=[{"u": 1}] * 2)
    found = {each.where: each.message for each in hc.HetData({"t": table}).report}
    for name, kind, cure in (
        ("month", "pandas.period", "give its .dt.to_timestamp()"),
        ("between", "pandas.interval", "give it as text, or its middle"),
        ("raw", "Binary", "decode it to text"),
        ("both", "Struct", "give each of its fields as a column"),
    ):
        message = f"its type {kind} holds no number, category or text: left out; {cure}"
        assert found[f"source 't', column '{name}'"] == message


NO_LABELS = [{"a": 1.0}, {1.0}, (y for y in "abc"), "abc", 3]


@pytest.mark.parametrize("labels", NO_LABELS, ids=lambda each: type(each).__name__)
def test_what_is_no_sequence_of_labels_is_named(labels):
    kind = type(labels).__name__
    with pytest.raises(DataError, match=f"Labels must be a list, an array or a Series, not {kind}: give one for each"):
        hc.GBCRegressor().fit(hc.HetData({"t": TABLE}), labels)
