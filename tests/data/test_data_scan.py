"""Sources by path: the same data and the same models as of tables in memory, with few columns in memory at a time."""

from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from polars.testing import assert_frame_equal

import hetcore as hc
from hetcore import model_files
from hetcore.data import encoding
from hetcore.data.reading import factorize, scanned_source
from hetcore.data.reading.parquet_files import ParquetTable
from hetcore.errors import DataError

N = 80


def _table(seed, **more):
    """Return a shuffled table of about two in three ids, with a column of each kind."""
    rng = np.random.default_rng(seed)
    columns = {
        "id": [f"i{k}" if k % 20 else f" i{k}" for k in range(N)],
        "real": np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N)),
        "level": rng.choice(["x", "y", None], N),
        "answer": rng.integers(0, 2, N),
        "text": [" ".join(rng.choice(["red", "blue", "green", "car"], 5)) for _ in range(N)],
        "late": 1e9 + 0.1 * rng.normal(size=N),
        "same": np.where(rng.random(N) < 0.1, np.inf, 1.0),
    }
    return pl.DataFrame(columns | more)[rng.permutation(N)[: 2 * N // 3]]


@pytest.fixture
def tables():
    """Two tables, of which one lacks an id."""
    one = _table(0).with_columns(pl.when(pl.int_range(pl.len()) == 7).then(None).otherwise(pl.col("id")).alias("id"))
    return {"one": one, "two": _table(1, pair=[[float(k), 1.0] for k in range(N)])}


@pytest.fixture
def graph():
    """Links, also to ids that nothing else has."""
    rng = np.random.default_rng(2)
    return pl.DataFrame({end: [f"i{k}" for k in rng.integers(0, N + 9, N)] for end in ("source", "target")})


@pytest.fixture
def labels():
    """Labels of every second id, and of one that no table has."""
    return pl.DataFrame({"id": [f"i{k}" for k in range(0, N + 2, 2)], "label": np.arange(N // 2 + 1) % 7.0})


@pytest.fixture
def folder(tmp_path, tables, graph, labels):
    """The tables in several files each, graph and labels in one."""
    for name, table in tables.items():
        (tmp_path / name).mkdir()
        for number, part in enumerate(table.iter_slices(17)):
            part.write_parquet(tmp_path / name / f"{number}.parquet")
    graph.write_parquet(tmp_path / "graph.parquet")
    labels.write_parquet(tmp_path / "labels.parquet")
    return tmp_path


@pytest.fixture
def small(monkeypatch):
    """Batches, partitions and blocks so small that there are many."""
    monkeypatch.setattr(factorize, "PER_PARTITION", 20)
    monkeypatch.setattr(scanned_source, "BATCH", 11)
    monkeypatch.setattr(scanned_source, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(encoding, "BLOCK", 200)


@pytest.fixture
def both(small, folder, tables, graph, labels):
    """The data of tables in memory, and of paths."""
    paths = {name: folder / name for name in tables}
    scanned = hc.HetData.scan(paths, {"g": folder / "graph.parquet"}, folder / "labels.parquet", within=folder)
    return hc.HetData(tables, {"g": graph}, labels), scanned


def test_scanned_data_are_those_of_tables_in_memory(both):
    held, scanned = both
    assert scanned.ids.tolist() == held.ids.tolist() and scanned.digest() == held.digest()
    assert list(scanned.report) == list(held.report) and len(held.report) > 8
    assert_frame_equal(scanned.coverage(), held.coverage())
    for name, source in held.sources.items():
        other = scanned.sources[name]
        assert_frame_equal(other.frame, source.frame)
        assert (other.kinds, other.guess, other.missing) == (source.kinds, source.guess, source.missing)
        assert other.ids.tolist() == source.ids.tolist() and (other.n_given, other.n_rows) == (53, source.n_rows)
        assert_array_equal(scanned.rows(name), held.rows(name))


def test_what_if_questions_of_scanned_data(both):
    for what, change in {
        "sample": lambda data: data.sample(0.4),
        "kinds": lambda data: data.with_kinds("one", {"answer": "real"}),
        "hidden": lambda data: data.hide_source("two", data.ids[data.rows("two")[:5]]),
        "noise": lambda data: data.with_noise("one", 2.0).select(["one"]),
    }.items():
        assert (what, change(both[1]).digest()) == (what, change(both[0]).digest())


def test_rows_are_taken_some_columns_at_a_time(both, monkeypatch):
    monkeypatch.setattr(scanned_source.ScannedSource, "frame", property(lambda source: pytest.fail("a whole table")))
    gone = both[0].ids[::3]
    held, scanned = (data.hide_source("one", data.ids[1:5]).drop_instances(gone) for data in both)
    assert scanned.digest() == held.digest()


def test_a_printed_fit_has_the_bits_and_never_a_whole_table(both, monkeypatch):
    held, scanned = both
    fitted = hc.GBCRegressor(as_printed=True, n_iterations=2).fit(held)
    read, most = ParquetTable.read, []

    def counted(self, columns, *rows):
        most.append(len(columns))
        return read(self, columns, *rows)

    monkeypatch.setattr(ParquetTable, "read", counted)
    again = hc.GBCRegressor(as_printed=True, n_iterations=2).fit(scanned)
    assert model_files.dumps(again) == model_files.dumps(fitted)
    assert again.source_weights_ == fitted.source_weights_
    assert_array_equal(again.contributions(scanned), fitted.contributions(held))
    # a look at one row for the types is of all columns
    assert sorted(most)[-3] <= 4


@pytest.mark.slow
def test_a_default_fit_has_the_bits(both):
    held, scanned = both
    here, there = (hc.GBCRegressor(n_iterations=3).fit(data) for data in both)
    assert model_files.dumps(there) == model_files.dumps(here)
    assert_array_equal(there.contributions(scanned, graphs=True), here.contributions(held, graphs=True))


def test_scanned_sources_travel_as_paths(both):
    source = both[1].sources["two"]
    sent = pickle.dumps(source)
    assert len(sent) < 4000 and b"blue" not in sent.replace(b"red blue", b"")
    assert pickle.loads(sent).digest() == source.digest()


def test_paths_and_tables_go_together(folder, tables):
    scanned = hc.HetData.scan({"one": tables["one"], "two": folder / "two"})
    assert scanned.digest() == hc.HetData(tables).digest()


def test_folders_called_by_values_are_columns(tmp_path):
    days = {"2024-01-02": 3, "2024-02-01": 1}
    for day, count in days.items():
        for at in ("1", "a b"):
            where = tmp_path / f"day={day}" / f"at={at.replace(' ', '%20')}"
            where.mkdir(parents=True)
            ids = [f"{day} {at} {k}" for k in range(count)]
            pl.DataFrame({"id": ids, "x": np.arange(float(count))}).write_parquet(where / "part.parquet")
    data = hc.HetData.scan({"sales": tmp_path})
    frame = pl.read_parquet(tmp_path, hive_partitioning=True)
    assert frame.schema["day"] == pl.Date and data.digest() == hc.HetData({"sales": frame}).digest()
    assert data.sources["sales"].read(["at"])["at"].to_list() == ["1"] * 3 + ["a b"] * 3 + ["1", "a b"]


def test_a_file_and_a_pattern(folder, tables):
    part = tables["one"][17:34]
    assert hc.HetData.scan({"s": str(folder / "one" / "1.parquet")}).digest() == hc.HetData({"s": part}).digest()
    some = hc.HetData.scan({"s": folder / "one" / "[01].parquet"})
    assert some.digest() == hc.HetData({"s": tables["one"][:34]}).digest()


def test_ids_of_numbers_are_text_in_batches_as_at_once(tmp_path, small):
    values = pl.DataFrame({"id": [1.5, 2.0, None, float("nan"), 1e6] + [3.0 + k for k in range(30)], "x": range(35)})
    values.write_parquet(tmp_path / "s.parquet")
    held, scanned = hc.HetData({"s": values}), hc.HetData.scan({"s": tmp_path / "s.parquet"})
    assert scanned.ids.tolist() == held.ids.tolist() and list(scanned.report) == list(held.report)


def test_a_column_whose_name_stands_for_several_is_left_out(tmp_path):
    table = pl.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0], "*": [3.0, 4.0], "^x.*$": [5.0, 6.0]})
    table.write_parquet(tmp_path / "s.parquet")
    held, scanned = hc.HetData({"s": table}), hc.HetData.scan({"s": tmp_path / "s.parquet"})
    assert scanned.digest() == held.digest() and list(scanned.report) == list(held.report)
    _refused({"s": tmp_path / "s.parquet"}, ["'*'", "stands for several columns"], id_column="*")
    pl.DataFrame({"id": ["a"], "*": [3.0]}).write_parquet(tmp_path / "s.parquet")
    _refused({"s": tmp_path / "s.parquet"}, ["None of the columns can be used"])
    with pytest.raises(DataError, match=r"of type PosixPath.*HetData\.scan\.$"):
        hc.HetData({"s": tmp_path / "s.parquet"})


def test_spelling_joins_ids_of_files(tmp_path):
    for name, ids in {"a": ["X1", "x 2"], "b": ["x1", "X 2 "]}.items():
        pl.DataFrame({"id": ids, "x": [1.0, 2.0]}).write_parquet(tmp_path / f"{name}.parquet")
    paths = {name: tmp_path / f"{name}.parquet" for name in "ab"}
    assert hc.HetData.scan(paths, spelling=["space", "case"]).ids.tolist() == ["x1", "x 2"]


# ---- what is refused -------------------------------------------------------------------------------------------------


def _refused(sources, words, **more):
    with pytest.raises(DataError) as caught:
        hc.HetData.scan(sources, **more)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert message.endswith(".") and "\n" not in message


AMOUNTS = list(range(1, 31))
NO_RECORDS = {
    "a last sum": ([*AMOUNTS, sum(AMOUNTS)], ["here"] * 31, "Total"),
    "a first sum": ([sum(AMOUNTS), *AMOUNTS], ["here"] * 31, "s30"),
    "sums among the rows": (
        [11, 12, 13, 14, 50, *range(100, 123), 2553, 5, 7],
        ["here"] * 4 + [None] + ["there"] * 26,
        "s30",
    ),
    "a note": ([*AMOUNTS, None], [*["here"] * 30, None], "as of June"),
    "a sum that is called so": ([*AMOUNTS, None], ["here"] * 31, "Grand total"),
}


@pytest.mark.parametrize("columns", [["x"], ["x", "y", "t"], ["t", "x"]])
@pytest.mark.parametrize("case", NO_RECORDS)
def test_rows_that_are_no_record_are_reported_of_files_too(case, columns, tmp_path, small):
    x, t, last = NO_RECORDS[case]
    given = pl.DataFrame({"id": [*(f"s{k}" for k in range(30)), last], "x": x, "t": t})
    dropped = pl.DataFrame({"id": [None], "x": [999], "t": ["here"]}, given.schema)
    frame = pl.concat([given[:13], dropped, given[13:]]).with_columns(y=pl.col("x") * 2.0).select("id", *columns)
    for number, part in enumerate(frame.iter_slices(12)):
        part.write_parquet(tmp_path / f"{number}.parquet")
    reports = [str(data.report) for data in (hc.HetData.scan({"s": tmp_path}), hc.HetData({"s": frame}))]
    assert reports[0] == reports[1] and ("no record" in reports[0] or "if it is a note" in reports[0])


def test_an_id_that_occurs_twice_is_named_with_its_file(folder, tables, small):
    first = tables["two"]["id"][3]
    tables["two"][3:4].write_parquet(folder / "two" / "9.parquet")
    _refused({"two": folder / "two"}, ["Source 'two'", repr(first), "occurs twice", "9.parquet"])
    # of two sources, or of labels, it is the same instance
    assert hc.HetData.scan({"one": folder / "one", "again": folder / "one"}).n == 52


def test_an_id_that_is_one_by_spelling_alone_occurs_twice(tmp_path):
    pl.DataFrame({"id": ["A", None, "a"], "x": [1, 2, 3]}).write_parquet(tmp_path / "s.parquet")
    assert hc.HetData.scan({"s": tmp_path / "s.parquet"}).n == 2
    _refused({"s": tmp_path / "s.parquet"}, ["'a' occurs twice"], spelling=["case"])


def test_columns_that_differ_between_files_are_refused_naming_both(folder, tables):
    tables["one"][:3].with_columns(answer=pl.lit("yes")).write_parquet(folder / "one" / "9.parquet")
    _refused({"one": folder / "one"}, ["Column 'answer' is Int64 in", "0.parquet", "String in", "9.parquet"])
    tables["one"][:3].drop("late").write_parquet(folder / "one" / "9.parquet")
    _refused({"one": folder / "one"}, ["Column 'late' is Float64 in", "missing in", "9.parquet"])


def test_a_file_that_can_not_be_read_is_named(folder):
    broken, content = folder / "one" / "2.parquet", (folder / "one" / "2.parquet").read_bytes()
    broken.write_bytes(content[:-7])
    _refused({"one": folder / "one"}, ["Source 'one'", "2.parquet", "can't be read"])
    # an intact end, and pages that are not
    broken.write_bytes(content[:4] + bytes(len(content) // 3) + content[4 + len(content) // 3 :])
    _refused({"one": folder / "one"}, ["Source 'one'", "2.parquet", "can't be read"])


def test_a_file_that_changes_after_the_scan_is_named(folder):
    data = hc.HetData.scan({"one": folder / "one"})
    pl.read_parquet(folder / "one" / "2.parquet")[:5].write_parquet(folder / "one" / "2.parquet")
    with pytest.raises(DataError, match=r"2.parquet' has changed since it was scanned"):
        data.sources["one"].column("real")


def test_paths_outside_of_the_allowed_folders_are_refused(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "s.parquet"
    outside.write_bytes((folder / "one" / "0.parquet").read_bytes())
    inside = folder / "one"
    _refused({"s": outside}, ["Source 's'", "outside of the folders that may be read"], within=inside)
    _refused({"s": inside / ".." / "two"}, ["outside"], within=[inside])
    (inside / "link.parquet").symlink_to(outside)
    _refused({"s": inside}, ["link.parquet", "outside"], within=inside)
    _refused({"s": inside / "0.parquet"}, ["Target", "outside"], within=inside, target=outside)
    _refused({"s": inside / "0.parquet"}, ["Graph 'g'", "outside"], within=inside, graphs={"g": outside})
    _refused({"s": inside}, ["no folder"], within=inside / "0.parquet")


def test_paths_without_a_table_are_refused(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    _refused({"s": tmp_path / "nothing"}, ["no file or folder"])
    _refused({"s": tmp_path / "empty"}, ["no file that ends in .parquet"])
    _refused({"s": tmp_path / "*.txt"}, ["No file has a path like"])
    _refused({"s": folder / "one"}, ["no id column 'key'"], id_column="key")
    pl.DataFrame({"id": ["a"]}).write_parquet(tmp_path / "s.parquet")
    _refused({"s": tmp_path / "s.parquet"}, ["no column beside the id column"])
    pl.DataFrame({"id": [None], "x": [1.0]}, schema={"id": pl.String, "x": pl.Float64}).write_parquet(
        tmp_path / "s.parquet"
    )
    _refused({"s": tmp_path / "s.parquet"}, ["None of the 1 row has an id"])
    pl.DataFrame({"id": [], "x": []}, schema={"id": pl.String, "x": pl.Float64}).write_parquet(tmp_path / "s.parquet")
    _refused({"s": tmp_path / "s.parquet"}, ["There is no row"])
    _refused({}, ["There is no source"])


def test_an_empty_text_is_no_folder_to_stay_in(tmp_path):
    pl.DataFrame({"id": ["a"], "x": [1.0]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="within='' names no folder"):
        hc.HetData.scan({"t": tmp_path / "t.parquet"}, within="")
