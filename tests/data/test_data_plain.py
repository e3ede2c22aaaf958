"""Heterogeneous data as plain arrays: one table, domains, records of codes."""

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.data.plain import codes, domains, plain_table
from hetcore.errors import DataError, MissingColumnsWarning, UnfamiliarValuesWarning


def ages(ids, values, **more):
    return pl.DataFrame({"id": ids, "age": values} | more)


@pytest.fixture
def two_sites():
    north = ages(["n1", "n2"], [30.0, 41.0], colour=["red", "blue"], only_here=[1.0, 2.0])
    south = ages(["s1", "s2", "s3"], [20.0, 25.0, 50.0], colour=["blue", "red", "red"])
    target = pl.DataFrame({"id": ["n1", "n2", "s1"], "y": ["a", "b", "a"]})
    return hc.HetData({"north": north, "south": south}, target=target, id_column="id")


def test_sources_stand_side_by_side_with_gaps_where_they_have_no_record(two_sites):
    X, y, names = plain_table(two_sites)
    at = [list(two_sites.ids).index(one) for one in ("n1", "n2", "s1", "s2", "s3")]
    age = X[at, names.index("south: age")]
    assert np.array_equal(age, [np.nan, np.nan, 20.0, 25.0, 50.0], equal_nan=True)
    assert list(y[at]) == ["a", "b", "a", None, None]
    assert "north: only_here" in names


def test_one_source_keeps_the_names_of_its_columns():
    data = hc.HetData({"t": ages(["a", "b"], [1.0, 2.0])}, id_column="id")
    assert plain_table(data).feature_names == ["age"]


def test_domains_share_columns_and_the_target_comes_last(two_sites):
    found = domains(two_sites, target="north")
    assert found.names == ["south"]
    assert list(found.sample_domain) == [1, 1, 1, -1, -1]
    assert list(found.ids) == ["s1", "s2", "s3", "n1", "n2"]
    assert list(found.y) == ["a", None, None, "a", "b"]
    assert "age" in found.feature_names and not any("only_here" in name for name in found.feature_names)
    red = found.X[:, found.feature_names.index("colour")]
    assert list(red == red[3]) == [False, True, True, True, False]


def test_domains_of_arrays():
    sources = {"x": hc.Source(["a", "b"], np.eye(2, 3)), "y": hc.Source(["c"], np.full((1, 3), 7.0))}
    found = domains(hc.HetData(sources), target="x")
    assert found.X.tolist() == [[7, 7, 7], [1, 0, 0], [0, 1, 0]]


def test_a_domain_that_is_not_there_is_named(two_sites):
    with pytest.raises(DataError, match="'east' is no source of the data: choose one of"):
        domains(two_sites, target="east")


def test_domains_without_a_shared_column_are_refused():
    tables = {"t": ages(["a"], [1.0]), "u": pl.DataFrame({"id": ["b"], "size": [2.0]})}
    with pytest.raises(DataError, match="share no column"):
        domains(hc.HetData(tables, id_column="id"), target="t")


def test_labelled_domains_with_ids_of_one_another_are_refused():
    tables = {name: ages(["0", "1", "2"], [1.0, 2.0, 3.0]) for name in ("north", "south")}
    # row 0 of south would have the label of row 0 of north
    with pytest.raises(DataError, match="The domains share 2 ids, '0', '1': an id has one label, so give each domain"):
        domains(hc.HetData(tables | {"south": tables["south"][:2]}, target=(["0"], ["a"])), "north")
    assert len(domains(hc.HetData(tables), "north").X) == 6


def test_records_of_codes_are_text_as_given():
    table = pl.DataFrame({"record": ["r1", "r2"], "user": ["001", "7"], "item": [3, 5]})
    target = pl.DataFrame({"record": ["r1"], "y": [4.0]})
    data = hc.HetData({"ratings": table}, target=target, id_column="record")
    X, y, ids = codes(data)
    assert X.tolist() == [["001", "3"], ["7", "5"]]
    assert y[0] == 4.0 and np.isnan(y[1])
    assert list(ids) == ["r1", "r2"]


def test_records_need_their_columns_and_numbers(two_sites):
    with pytest.raises(DataError, match="must be a number"):
        codes(two_sites)
    target = pl.DataFrame({"id": ["a", "b"], "y": [1.0, 2.0]})
    with pytest.raises(DataError, match="No table has the columns"):
        codes(hc.HetData({"t": ages(["a", "b"], [1.0, 2.0])}, target=target, id_column="id"))


def test_no_table_is_reported():
    with pytest.raises(DataError):
        plain_table(hc.HetData({}, target=pl.DataFrame({"id": ["a", "b"], "y": [1.0, 2.0]}), id_column="id"))


def colours(prefix, values):
    table = {"id": [f"{prefix}{k}" for k in range(len(values))], "colour": values, "x": np.arange(len(values)) / 7}
    return pl.DataFrame(table)


TRAIN = np.repeat(["red", "green", "blue"], [14, 10, 6])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["green", "red", "green"], [[0, 1, 0], [1, 0, 0], [0, 1, 0]]),
        (["blue"] * 9 + ["red"] * 3, [[0, 0, 1]] * 9 + [[1, 0, 0]] * 3),
        (["red", "yellow"], [[1, 0, 0], [0, 0, 0]]),
    ],
)
def test_new_rows_have_the_codes_of_the_training(values, expected):
    """By themselves the colours had columns of their own, in the order of how often they occur."""
    train = hc.HetData({"t": colours("a", TRAIN)})
    new = plain_table(hc.HetData({"t": colours("n", values).select("x", "id", "colour")}), like=train)
    assert new.feature_names == plain_table(train).feature_names
    places = [new.feature_names.index(f"colour={name}") for name in ("red", "green", "blue")]
    assert new.X[:, places].tolist() == expected


def test_new_rows_of_two_values_keep_their_order_and_unknown_ones_are_missing():
    train = hc.HetData({"t": colours("a", ["m", "f"] * 20)})
    for values, expected in ((["m", "m"], [1, 1]), (["f", "m"], [0, 1]), (["x", "m"], [np.nan, 1])):
        table = plain_table(hc.HetData({"t": colours("n", values)}), like=train)
        assert np.array_equal(table.X[:, table.feature_names.index("colour")], expected, equal_nan=True)


def test_new_data_that_lack_what_the_training_had_are_warned_of_or_refused(two_sites):
    north = hc.HetData({"north": two_sites.sources["north"]})
    with pytest.warns(MissingColumnsWarning, match="lack sources of the training, 'south'"):
        table = plain_table(north, like=two_sites)
    assert table.feature_names == plain_table(two_sites).feature_names
    assert np.isnan(table.X[:, table.feature_names.index("south: age")]).all()
    whole, part = colours("n", TRAIN), colours("n", TRAIN).drop("x")
    with pytest.warns(MissingColumnsWarning, match="Source 't' lacks columns of the training, 'x'"):
        plain_table(hc.HetData({"t": part}), like=hc.HetData({"t": whole}))
    with pytest.raises(DataError, match="have the sources 'east': give some of 'north', 'south'"):
        plain_table(hc.HetData({"east": two_sites.sources["south"]}), like=two_sites)


def test_new_rows_of_some_domains_have_the_codes_and_numbers_of_the_training():
    tables = {name: colours(name, values) for name, values in (("w", TRAIN), ("v", TRAIN[:20]), ("t", TRAIN[10:]))}
    train = hc.HetData(tables)
    new = domains(hc.HetData({"t": colours("n", ["blue", "red"]), "v": colours("m", ["blue"])}), "t", like=train)
    assert new.sample_domain.tolist() == [2, -1, -1] and new.names == ["w", "v"] and new.ids[0] == "m0"
    known = domains(train, "t")
    assert new.feature_names == known.feature_names and new.sample_domain.dtype == known.sample_domain.dtype
    assert new.X[:, new.feature_names.index("colour=blue")].tolist() == [1, 1, 0]
    with pytest.raises(DataError, match="sources 'east' are no domains of the training: choose some of 'w', 'v', 't'"):
        domains(hc.HetData({"east": colours("n", ["blue"])}), "t", like=train)


def test_new_rows_of_no_category_of_the_training_are_warned_of():
    train = hc.HetData({"t": colours("a", TRAIN), "s": colours("b", TRAIN)})
    new = {name: colours("n", ["Red", "Green"] * 5) for name in ("t", "s")}
    words = "hardly a value of 'colour' was there in training, such as 'Red': write them as they were there"
    with pytest.warns(UnfamiliarValuesWarning, match=f"Source 't': {words}"):
        plain_table(hc.HetData({"t": new["t"]}), like=train.select(["t"]))
    with pytest.warns(UnfamiliarValuesWarning, match=f"The domains: {words}"):
        domains(hc.HetData({"t": new["t"]}), "t", like=train)


def test_codes_of_whole_numbers_are_the_same_whatever_their_type():
    """One missing user makes floats of all in pandas, and 7.0 was another user than 7."""
    ids = pl.DataFrame({"id": ["a", "b"], "item": [1, 2]})
    target = pl.DataFrame({"id": ["a", "b"], "y": [1.0, 2.0]})
    for users, expected in ((pl.Series([7, 8]), ["7", "8"]), (pl.Series([7.0, None]), ["7", None])):
        assert codes(hc.HetData({"t": ids.with_columns(user=users)}, target=target)).X[:, 0].tolist() == expected


def test_like_takes_the_data_of_the_training_and_not_what_was_made_of_them():
    data = hc.HetData({"t": pl.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0]})})
    with pytest.raises(hc.DataError, match="PlainTable is no HetData: give the data, and as like="):
        plain_table(data, like=plain_table(data))
