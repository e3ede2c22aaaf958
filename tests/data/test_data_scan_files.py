"""Files of scanned tables that are other than they seem: changed, led astray, half written, named by their folders."""

import os
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.data.reading import parquet_files
from hetcore.errors import DataError

IDS = [f"i{k:02}" for k in range(40)]


def _write(file, **columns):
    file.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(columns).write_parquet(file)
    return file


@pytest.mark.parametrize("change", ["other values", "other order"])
def test_a_file_of_as_many_bytes_is_another_file(tmp_path, change):
    x = np.random.default_rng(0).standard_normal(40)
    file = _write(tmp_path / "s.parquet", id=IDS, x=x)
    data = hc.HetData.scan({"s": file}, target=(IDS, x))
    facts = file.stat()
    _write(file, id=IDS if change == "other values" else IDS[::-1], x=x[::-1].copy())
    # a change within the clock's step is not seen, so the time is set
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns + 5_000_000))
    assert file.stat().st_size == facts.st_size
    for use in (lambda: data.sources["s"].column("x"), lambda: hc.GBCRegressor(n_iterations=1).fit(data)):
        with pytest.raises(DataError, match=r"s\.parquet' has changed since it was scanned: scan it again\.$"):
            use()


def test_a_file_that_becomes_a_link_to_outside_is_not_read(tmp_path):
    outside = _write(tmp_path / "out" / "s.parquet", id=["a", "b"], x=[1.0, 2.0])
    inside = _write(tmp_path / "in" / "s.parquet", id=["a", "b"], x=[3.0, 4.0])
    facts = inside.stat()
    data = hc.HetData.scan({"s": inside}, within=tmp_path / "in")
    os.utime(outside, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    inside.unlink()
    inside.symlink_to(outside)
    with pytest.raises(DataError, match="outside of the folders that may be read"):
        data.sources["s"].column("x")


def test_ids_that_folders_name_are_text_as_written(tmp_path):
    for user in ("001", "1", "1E5", "nan"):
        _write(tmp_path / f"user={user}" / "s.parquet", x=[1.0])
    assert sorted(hc.HetData.scan({"s": tmp_path}, id_column="user").ids) == ["001", "1", "1E5", "nan"]


def test_folders_called_nan_and_inf_are_not_missing_numbers(tmp_path):
    for number, sort in enumerate(("nan", "inf", "2")):
        _write(tmp_path / f"sort={sort}" / "s.parquet", id=[f"i{number}"], x=[1.0])
    frame = hc.HetData.scan({"s": tmp_path}).sources["s"].frame
    assert sorted(frame["sort"]) == ["2", "inf", "nan"]


def test_a_column_in_files_and_folders_is_that_of_the_files(tmp_path):
    for year in ("2023", "2024"):
        _write(tmp_path / f"year={year}" / "s.parquet", id=[f"a{year}"], year=[f"0{year}"])
        _write(tmp_path / "ids" / f"id={year}" / "s.parquet", id=[f"a{year}", f"b{year}"], x=[1.0, 2.0])
    assert hc.HetData.scan({"s": tmp_path / "year*" / "*"}).sources["s"].column("year").to_list() == ["02023", "02024"]
    assert hc.HetData.scan({"s": tmp_path / "ids"}).ids.tolist() == ["a2023", "b2023", "a2024", "b2024"]


def test_what_a_writer_has_not_finished_is_left_out(tmp_path):
    _write(tmp_path / "s" / "a.parquet", id=["a"], x=[1.0])
    for unfinished in ("_temporary/0/b.parquet", ".c.parquet", ".staging/d.parquet"):
        _write(tmp_path / "s" / unfinished, id=[unfinished], x=[2.0])
    _write(tmp_path / "s" / "_key=1" / "e.parquet", id=["e"], x=[2.0])
    with pytest.raises(DataError, match="name other columns"):
        hc.HetData.scan({"s": tmp_path / "s"})
    (tmp_path / "s" / "_key=1" / "e.parquet").unlink()
    assert hc.HetData.scan({"s": tmp_path / "s"}).ids.tolist() == ["a"]


def test_a_path_means_the_same_file_from_another_folder(tmp_path, monkeypatch):
    _write(tmp_path / "s.parquet", id=["a"], x=[1.0])
    monkeypatch.chdir(tmp_path)
    data = hc.HetData.scan({"s": "s.parquet", "t": "*.parquet"}, within=".")
    monkeypatch.chdir("/")
    assert data.sources["s"].column("x").to_list() == data.sources["t"].column("x").to_list() == [1.0]


@pytest.mark.parametrize("name", ["report [1].parquet", "a*?{b}.parquet", "żółć 数据.parquet"])
def test_a_files_name_is_no_pattern(tmp_path, name):
    # what the pattern would find has other columns
    _write(tmp_path / "other" / "report 1.parquet", id=["a"], z=["no"])
    file = _write(tmp_path / "other" / name, id=["a", "b"], x=[1.0, 2.0])
    assert hc.HetData.scan({"s": file}).sources["s"].column("x").to_list() == [1.0, 2.0]


def _refused(match, *given, **more):
    with pytest.raises(DataError, match=match) as caught:
        hc.HetData.scan(*given, **more)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("error", "cure"),
    [
        (None, "it is not there: put it back, on a disk that all processes see"),
        (PermissionError(13, "Permission denied"), "this process may not: give it the right to read"),
    ],
)
def test_a_file_that_is_gone_or_closed_after_the_scan_has_its_own_sentence(tmp_path, monkeypatch, error, cure):
    file = _write(tmp_path / "s.parquet", id=["a", "b"], x=[1.0, 2.0])
    data = hc.HetData.scan({"s": file})
    file.unlink()
    if error is not None:
        monkeypatch.setattr(parquet_files, "_stamp", Mock(side_effect=error))
    with pytest.raises(DataError, match=rf"^The file '\S+s\.parquet' can't be read, {cure}"):
        data.sources["s"].column("x")


def test_a_part_that_is_not_there_is_refused(tmp_path):
    _write(tmp_path / "s" / "0.parquet", id=["a", "b"], x=[1.0, 2.0])
    (tmp_path / "s" / "1.parquet").symlink_to("nowhere")
    for path in (tmp_path / "s", str(tmp_path / "s" / "*.parquet")):
        _refused(r"1\.parquet' can't be read", {"s": path})
    (tmp_path / "s" / "1.parquet").unlink()
    os.mkfifo(tmp_path / "s" / "1.parquet")
    _refused(r"1\.parquet' can't be read .*no regular file", {"s": tmp_path / "s"})
    (tmp_path / "s" / "1.parquet").unlink()
    _write(tmp_path / "elsewhere" / "1.parquet", id=["c"], x=[3.0])
    (tmp_path / "s" / "more").symlink_to(tmp_path / "elsewhere")
    _refused(r"s/more' is a link", {"s": tmp_path / "s"})


def test_paths_that_no_one_can_follow_are_refused_in_a_sentence(tmp_path):
    _refused("no file or folder ''", {"s": ""})
    _refused("can't be followed", {"s": "a" * 5000})
    content = _write(tmp_path / "s.parquet", id=["a"], x=[1.0]).read_bytes()
    odd = os.fsencode(tmp_path) + b"/\xff.parquet"
    with open(odd, "wb") as file:
        file.write(content)
    _refused("no UTF-8 text: rename", {"s": os.fsdecode(odd)})
    for within in ([], 3, [None]):
        _refused("names no folder: name one or several", {"s": tmp_path / "s.parquet"}, within=within)


def test_a_column_without_a_name_is_refused(tmp_path):
    pl.DataFrame({"id": ["a"], "": [1.0]}).write_parquet(tmp_path / "s.parquet")
    _refused("a column without a name", {"s": tmp_path / "s.parquet"})


def test_ids_that_no_folder_holds_are_refused(tmp_path, monkeypatch):
    file = _write(tmp_path / "s.parquet", id=["a"], x=[1.0])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    _refused("temporary folder .*set TMPDIR", {"s": file})
