"""Data by path in the studio: what may be read, what lies in a folder, the sample and statistics, and a training."""

from __future__ import annotations

import json
import os

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore import model_files
from hetcore.data import splits
from hetcore.data.reading.parquet_files import ParquetTable
from hetcore.errors import DataError
from hetcore.player import Player
from studio import recipes
from studio.jobs.job import TrainingTask
from studio.jobs.worker_tasks import perform
from studio.runs import export
from studio.runs.run import Run
from studio.scans import allowed, opening, parts, whole

N, KNOWN = 400, 200


@pytest.fixture
def folder(tmp_path):
    """Two tables, one in two files, a graph and labels of half of the instances."""
    rng, root = np.random.default_rng(0), tmp_path / "shop"
    (root / "visits").mkdir(parents=True)
    ids = np.arange(N)
    visits = pl.DataFrame({"id": ids, "time": rng.normal(size=N), "week": ids % 52})
    for number in (0, 1):
        visits[number * N // 2 : (number + 1) * N // 2].write_parquet(root / "visits" / f"{number}.parquet")
    town = pl.Series(["rome", "oslo", None, "bern"] * (N // 4))[: N - 100]
    pl.DataFrame({"id": ids[100:].astype(str), "town": town}).write_parquet(root / "people.parquet")
    pl.DataFrame({"source": ids[:-1], "target": ids[1:]}).write_parquet(root / "friends.parquet")
    labels = visits[:KNOWN].select("id", y=pl.when(pl.col("id") >= 10).then(pl.col("time") + pl.col("id") % 2))
    labels.write_parquet(root / "labels.parquet")
    return root


@pytest.fixture
def scan(folder):
    return parts.scan_of(parts.parts(str(folder), [str(folder)]), "id", "y", "regression")


def test_where_no_folder_may_be_read_any_more_nothing_is(folder, scan):
    for read, what in ((parts.parts, str(folder)), (opening.opened, scan), (whole.data_of, scan)):
        with pytest.raises(DataError, match=r"^No folder of this server may be read any more: ask .*\.$"):
            read(what, [])


def test_a_person_may_read_below_the_folders_of_the_setting_alone(tmp_path, monkeypatch):
    for name in ("shared/sales", "people/anna", "people/ben", "secret"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "shared" / "way out").symlink_to(tmp_path / "secret")
    given = [str(tmp_path / "shared"), str(tmp_path / "people" / "{person}"), str(tmp_path / "not there")]
    monkeypatch.setenv("HETCORE_FOLDERS", os.pathsep.join(given))
    assert allowed.folders() == [tmp_path / "shared"]
    anna = allowed.folders("anna")
    assert anna == [tmp_path / "shared", tmp_path / "people" / "anna"]
    assert allowed.below("sales", anna) == allowed.below(str(tmp_path / "shared" / "sales"), anna)
    assert str(tmp_path / "shared" / "sales") in allowed.listing(anna)
    for outside in ("../secret", str(tmp_path / "people" / "ben"), "/", "a\0b", str(tmp_path / "gone")):
        with pytest.raises(DataError, match="outside of the folders that may be read"):
            allowed.below(outside, anna)
    with pytest.raises(DataError, match="outside"):
        allowed.below(str(tmp_path / "shared" / "way out"), anna)
    with pytest.raises(DataError, match="There is no folder 'saless'"):
        allowed.below("saless", anna)


@pytest.mark.parametrize("person", ["..", ".", "", "../anna", "a/b", "a\\b", ".hidden", "a\0", "-"])
def test_no_name_of_a_person_leads_elsewhere(person, tmp_path, monkeypatch):
    (tmp_path / "people" / "anna").mkdir(parents=True)
    monkeypatch.setenv("HETCORE_FOLDERS", str(tmp_path / "people" / "{person}"))
    assert allowed.folders(person) == []


def test_without_the_setting_there_is_no_folder(monkeypatch):
    monkeypatch.delenv("HETCORE_FOLDERS", raising=False)
    assert allowed.folders("anna") == []


def test_parts_of_a_folder_are_guessed_by_name_and_columns(folder):
    found = parts.parts(str(folder), [str(folder)])
    assert {part["name"]: (part["role"], part["rows"]) for part in found} == {
        "friends": ("graph", N - 1), "labels": ("labels", KNOWN), "people": ("table", N - 100), "visits": ("table", N),
    }  # fmt: skip
    assert parts.guess_id(found) == "id"


def test_a_folder_without_tables_and_a_link_out_of_it_are_refused(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no Parquet file"):
        parts.parts(str(tmp_path / "empty"), [str(tmp_path)])
    pl.DataFrame({"id": [1], "x": [1.0]}).write_parquet(tmp_path / "secret.parquet")
    (folder / "way out.parquet").symlink_to(tmp_path / "secret.parquet")
    with pytest.raises(DataError, match="outside of the folders that may be read"):
        parts.parts(str(folder), [str(folder)])


@pytest.mark.parametrize(
    ("roles", "id_column", "sentence"),
    [
        ({"people": "none", "visits": "none"}, "id", "no table to learn from"),
        ({"people": "labels"}, "id", "several parts"),
        ({}, "town", "labels has no column 'town'|visits has no column 'town'"),
        ({"visits": "graph"}, "id", "no graph without columns source and target"),
    ],
)
def test_what_cannot_be_opened_is_refused(roles, id_column, sentence, folder):
    found = [part | {"role": roles.get(part["name"], part["role"])} for part in parts.parts(str(folder), [str(folder)])]
    with pytest.raises(DataError, match=sentence):
        parts.scan_of(found, id_column, "y", "regression")


def test_a_small_folder_is_counted_exactly(scan, folder):
    found = opening.opened(scan, [str(folder)])
    facts = json.loads(found["files"][opening.SUMMARY])
    assert (facts["instances"], facts["share"], facts["labels"]) == (N, 1.0, KNOWN - 10)
    assert facts["graphs"] == {"friends": N - 1}
    assert {tuple(each["sources"]): each["share"] for each in facts["patterns"]} == {
        ("people", "visits"): 0.75, ("visits",): 0.25,
    }  # fmt: skip
    time, week = facts["sources"]["visits"]["statistics"]
    assert (week["least"], week["greatest"], week["missing"]) == (0, 51, 0) and 45 < week["different"] < 60
    values = pl.read_parquet(folder / "visits")["time"]
    assert time["50%"] == pytest.approx(values.quantile(0.5)) and time["least"] == values.min()
    town = facts["sources"]["people"]["statistics"][0]
    assert town["missing"] == 75 and "least" not in town
    data = recipes.build(found["recipe"], found["files"].__getitem__)
    assert data.n == N and int(data.labelled.sum()) == KNOWN - 10 and data.graph_names == ["friends"]


def test_missing_values_and_ids_are_as_the_library_reads_them(tmp_path):
    ids = ["001", "1", None, "a"]
    odd = pl.DataFrame({"id": ids, "x": [1.0, float("nan"), None, 3.0], "x2": [1, 1, None, 2]})
    odd.write_parquet(tmp_path / "odd.parquet")
    pl.DataFrame({"id": ["001", "1"], "y": ["001", "1"]}).write_parquet(tmp_path / "labels.parquet")
    pl.DataFrame({"source": ["001"], "target": ["1"]}).write_parquet(tmp_path / "links.parquet")
    scan = parts.scan_of(parts.parts(str(tmp_path), [str(tmp_path)]), "id", "y", "classification")
    found = opening.opened(scan, [str(tmp_path)])
    x = json.loads(found["files"][opening.SUMMARY])["sources"]["odd"]["statistics"][0]
    assert (x["missing"], x["different"], x["greatest"]) == (2, 2, 3.0)
    data = recipes.build(found["recipe"], found["files"].__getitem__)
    assert sorted(data.ids) == ["001", "1", "a"] and data.graphs["links"].n_edges == 1
    assert data.classes == whole.data_of(scan, [str(tmp_path)]).classes


def test_counts_of_a_drawn_part_are_about_right(scan, folder, monkeypatch):
    monkeypatch.setattr(opening, "ROWS", 160)
    monkeypatch.setattr(opening, "INSTANCES", 80)
    found = opening.opened(scan, [str(folder)])
    facts = json.loads(found["files"][opening.SUMMARY])
    assert facts["share"] == 0.4 and facts["drawn"] < N
    assert abs(facts["instances"] - N) < 4 * facts["error"] * N  # four standard errors
    shares = {tuple(each["sources"]): each["share"] for each in facts["patterns"]}
    assert shares["people", "visits"] == pytest.approx(0.75, abs=0.15)
    data = recipes.build(found["recipe"], found["files"].__getitem__)
    assert 80 <= data.n <= 80 + 2 * opening.FEWEST and int(data.labelled.sum()) >= 40
    whole_table = pl.read_parquet(folder / "visits").with_columns(pl.col("id").cast(pl.String))
    sample = data.sources["visits"].frame.with_columns(id=pl.Series(data.sources["visits"].ids.astype(str)))
    assert sample.join(whole_table, on=["id", "time"]).height == sample.height  # the records of these very instances


def test_a_table_of_few_other_instances_is_in_the_sample(scan, folder, monkeypatch):
    pl.DataFrame({"id": [7000 + k for k in range(30)], "x": [0.5 * k for k in range(30)]}).write_parquet(
        folder / "few.parquet"
    )
    monkeypatch.setattr(opening, "ROWS", 20)
    scan["sources"]["few"] = str(folder / "few.parquet")
    found = opening.opened(scan, [str(folder)])
    data = recipes.build(found["recipe"], found["files"].__getitem__)
    assert data.sources["few"].n_rows >= opening.FEWEST


def test_a_scan_that_was_edited_is_refused(scan):
    assert recipes.checked({"sources": [{"name": "a", "file": "a", "id": "id"}], "scan": scan})
    other = ({"id": 3}, {"sources": {"a": 1}}, {"more": 1}, {"target": {"a": "b"}})
    for wrong in ({}, [], *(scan | each for each in other)):
        with pytest.raises(DataError, match="open the folder again"):
            recipes.checked({"sources": [{"name": "a", "file": "a", "id": "id"}], "scan": wrong})


def test_a_lazy_query_sees_what_is_read_and_refuses_changed_files(tmp_path):
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        made = pl.DataFrame({"id": [f"a{year}", f"b{year}"], "x": [1.0, 2.0]})
        made.write_parquet(tmp_path / f"year={year}" / "part.parquet")
    table = ParquetTable.of(tmp_path, [tmp_path], "id")
    assert table.collect(lambda rows: rows).equals(table.read(["id", "x", "year"]))
    assert table.collect(lambda rows: rows.filter(pl.col("year") == 2024).select("id")).to_series().to_list() == [
        "a2024", "b2024",
    ]  # fmt: skip
    (tmp_path / "year=2023" / "part.parquet").write_bytes(b"no table")
    with pytest.raises(DataError, match="has changed since it was scanned"):
        table.collect(lambda rows: rows)


def test_data_are_scanned_again_only_when_a_file_has_changed(scan, folder):
    first = whole.data_of(scan, [str(folder)])
    assert whole.data_of(scan, [str(folder)]) is first
    pl.read_parquet(folder / "labels.parquet").head(50).write_parquet(folder / "labels.parquet")
    assert int(whole.data_of(scan, [str(folder)]).labelled.sum()) == 40


def test_the_folders_that_may_be_read_hold_in_the_worker_too(scan, folder, tmp_path):
    (tmp_path / "other").mkdir()
    with pytest.raises(DataError, match="outside of the folders that may be read"):
        whole.data_of(scan, [str(tmp_path / "other")])


@pytest.mark.parametrize("params", [{"as_printed": True}, {"join_tables": False, "base_learner": "tree"}])
def test_a_training_on_all_rows_is_that_of_all_in_memory(params, scan, folder, monkeypatch):
    monkeypatch.setattr(opening, "INSTANCES", 30)
    found = opening.opened(scan, [str(folder)])
    sample = recipes.build(found["recipe"], found["files"].__getitem__)
    params |= {"n_iterations": 3, "max_depth": 2}
    split = [{"op": "labels", "fraction": 0.5, "seed": 0}]
    place = {"scan": scan, "within": [str(folder)]}
    task = TrainingTask("GBCRegressor", params, sample, operations=split, whole=place)
    result = perform(task, Player(lambda _: None))
    tables = {name: pl.read_parquet(path) for name, path in scan["sources"].items()}
    graphs = {name: pl.read_parquet(path) for name, path in scan["graphs"].items()}
    data = hc.HetData(tables, graphs, pl.read_parquet(folder / "labels.parquet"))
    y = splits.label_split(data, 0.5, seed=0)
    model = hc.GBCRegressor(**params).fit(data, y)
    assert result.model == model_files.dumps(model)
    places = [data.position[each] for each in result.predictions["id"]]
    assert result.predictions.height == sample.n < N
    np.testing.assert_array_equal(result.predictions["prediction"], model.predict(data)[places])
    hidden = np.isnan(y) & data.labelled
    assert result.scores["held_out"] == pytest.approx(hc.metrics.rmse(data.y[hidden], model.predict(data)[hidden]))
    added = result.contributions.drop("id").to_numpy()
    np.testing.assert_allclose(added, model.explain(data).contributions[places])


def test_the_code_of_a_run_on_all_rows_reads_them_by_path(scan, folder):
    recipe = {"sources": [{"name": "a", "file": "a", "id": "id"}], "scan": scan}
    settings = {"data": recipe, "params": {"as_printed": True, "n_iterations": 2, "max_depth": 2}, "whole": True}
    script = export.script_of_run(Run("anna", "Consensus", "GBCRegressor", "Folder shop", settings=settings))
    names: dict = {"__file__": str(folder / "script.py")}
    exec(compile(script, "script.py", "exec"), names)  # noqa: S102 - our own
    assert names["data"].n == N and names["model"].as_printed
    sampled = {"data": recipe, "params": {}}
    assert "scan(" not in export.script_of_run(Run("anna", "Consensus", "GBCRegressor", "Folder", settings=sampled))
