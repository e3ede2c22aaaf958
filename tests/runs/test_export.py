"""Exports: the script and the notebook repeat the run to the last digit, and nothing of a user's text runs anywhere."""

from __future__ import annotations

import ast
import datetime
import io
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hetcore as hc
from hetcore import metrics
from hetcore.data import HetData
from hetcore.errors import DataError, ParameterError
from studio import recipes, scenarios
from studio.jobs.manager import Manager, TrainingTask
from studio.jobs.worker import child_environment
from studio.limits import GIB, JobLimits
from studio.runs import export
from studio.runs.run import Run
from studio.views.two_learners import settings as two_learners
from tests.jobs.studio_stubs import TinyRegressor

FILMS = b"title;genre;year;rating\nA;x;1990;1,5\nB;y;1991;2,5\nC;x;1992;\nD;y;1993;4\n"
CAST = b"source,target\nA,B\nB,C\nC,D\n"
UPLOADED = {
    "sources": [
        {"name": 'it\'s "films"', "file": "films.csv", "id": "title", "drop": ["rating"], "kinds": {"year": "nominal"}}
    ],
    "graphs": [{"name": "cast", "file": "cast.csv", "options": {"header": True}}],
    "target": {"file": "films.csv", "id": "title", "column": "rating", "options": {"delimiter": ";"}},
    "task": "regression",
}
FILES = {"films.csv": FILMS, "cast.csv": CAST}


def a_run(**settings: object) -> Run:
    """Return a run of the stub on a made data set."""
    given = {"data": {"example": "planted"}, "operations": [], "params": {"n_iterations": 3}} | settings
    return Run(owner="anna", page="Consensus", method="TinyRegressor", dataset="planted", settings=given)


def result_of(run: Run) -> float:
    """Return the metric of a run, done here."""
    data, y, eval_y = scenarios.apply(
        recipes.build(run.settings["data"], FILES.__getitem__), run.settings["operations"]
    )
    y = data.y if y is None else y
    model = TinyRegressor(**run.settings["params"]).fit(data, y)
    return metrics.rmse(y if eval_y is None else eval_y, model.predict(data))


def executed(script: str, folder: Path, data: HetData | None = None) -> str:
    """Return what a script prints when it is run by Python in a folder of its own, with the data beside it."""
    (folder / "run.py").write_text(script, encoding="utf-8")
    if data is not None:
        hc.write_data(data, folder / "data")
    done = subprocess.run(
        [sys.executable, str(folder / "run.py")], env=child_environment(), capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def uploaded() -> HetData:
    return recipes.build(UPLOADED, FILES.__getitem__)


def test_script_and_notebook_of_own_data_say_where_these_have_to_lie():
    sentence = "The folder data of that zip has to lie beside this file."
    own = a_run(data=UPLOADED, operations=[])
    assert sentence in export.script_of_run(own) and sentence in export.notebook_of_run(own).decode()
    assert sentence not in export.script_of_run(replace(own, settings=own.settings | {"data": {"example": "planted"}}))


@pytest.mark.slow
def test_the_script_of_an_uploaded_data_set_repeats_the_run(tmp_path):
    run = a_run(data=UPLOADED, operations=[{"op": "sample", "fraction": 0.9, "seed": 1}])
    assert executed(export.script_of_run(run), tmp_path, uploaded()).split()[-1] == repr(result_of(run))


@pytest.mark.slow
def test_the_script_scores_what_was_hidden(tmp_path):
    run = a_run(data=UPLOADED, operations=[{"op": "labels", "fraction": 0.6, "seed": 0}])
    message = executed(export.script_of_run(run), tmp_path, uploaded())
    assert "on held-out labels" in message and message.split()[-1] == repr(result_of(run))


@pytest.mark.slow
def test_the_notebook_repeats_the_run(tmp_path):
    run = a_run(data=UPLOADED)
    notebook = json.loads(export.notebook_of_run(run))
    assert notebook["nbformat"] == 4 and len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    code = "\n\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    assert executed(code, tmp_path, uploaded()).split()[-1] == repr(result_of(run))


@pytest.mark.slow
def test_the_script_of_a_real_run_prints_its_number(tmp_path):
    params = {"n_iterations": 4, "max_depth": 2, "random_state": 0}
    operations = [{"op": "drop_source", "name": "pix"}, {"op": "labels", "fraction": 0.2, "seed": 1}]
    given = {"data": {"example": "digits_views"}, "operations": operations, "params": params}
    studio = Manager(JobLimits(workers=1, memory=4 * GIB), compiled=False)
    data = recipes.build(given["data"], FILES.__getitem__)
    run_id = studio.submit(TrainingTask("GBCClassifier", params, data, operations=operations))
    assert studio.wait(run_id, timeout=500).state == "finished"
    result = studio.result(run_id)
    studio.close()
    run = Run("anna", "Consensus", "GBCClassifier", "digits_views", digest=data.digest(), settings=given)
    assert executed(export.script_of_run(run), tmp_path).split()[-1] == repr(result.scores["held_out"])
    assert result.history["metric:held_out"][-1] == result.scores["held_out"]
    predicted = hc.load(result.model).predict(scenarios.apply(data, operations).data)
    assert predicted.tolist() == result.predictions["prediction"].to_list()
    assert result.contributions.columns == ["id", *result.source_weights, *(f"graph:{g}" for g in result.graph_weights)]


@pytest.mark.slow
@pytest.mark.parametrize("label", ["Together, 2nd order", "Two branches"])
def test_the_script_of_two_learners_prints_its_number(tmp_path, label):
    data, learners = (
        recipes.build({"example": "two_modalities"}, FILES.__getitem__),
        {"table": "tree", "image": "network"},
    )
    small = {"n_iterations": 2, "epochs": 2, "inner_iterations": 1, "network_epochs": 2, "random_state": 0}
    hidden = [{"op": "labels", "fraction": 0.5, "seed": 0}]
    setting = two_learners.settings(data, learners, [label], small, hidden)[label]
    run = Run("anna", "Two learners", setting.estimator, "two_modalities",
              settings=setting.stored({"example": "two_modalities"}))  # fmt: skip
    scenario = scenarios.apply(data, setting.operations)
    model = getattr(hc, setting.estimator)(**setting.params).fit(scenario.data, scenario.y)
    error = metrics.error_rate(scenario.eval_y, model.predict(scenario.data))
    assert executed(export.script_of_run(run), tmp_path).split()[-1] == repr(error)


def test_an_example_is_loaded_by_name():
    script = export.script_of_run(a_run())
    assert "data = datasets.load('planted')" in script and "from tests.jobs.studio_stubs import TinyRegressor" in script
    assert "studio" not in "\n".join(line for line in script.splitlines() if "import" in line and "stubs" not in line)


def test_methods_of_hetcore_need_no_import():
    run = Run(
        "anna", "Consensus", "GBCClassifier", "mfeat", settings={"params": {"lambda0": 0.5, "random_state": None}}
    )
    script = export.script_of_run(run)
    assert "model = hc.GBCClassifier(\n    lambda0=0.5,\n    random_state=None,\n)\nmodel.fit(data)" in script
    assert "datasets.load('mfeat')" in script


def test_arguments_of_fit_are_written():
    assert "model.fit(data, graph='producer')" in export.script_of_run(a_run(fit={"graph": "producer"}))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.text(max_size=20))
def test_text_from_users_is_in_literals_only(text):
    name = text.replace("/", "").replace("\\", "") or "x"
    name = "x" if name in (".", "..") else name
    settings_ = {
        "data": {
            "sources": [{"name": text, "file": name, "id": text, "kinds": {text: text}, "options": {"sheet": text}}],
            "target": {"file": name, "id": text, "column": text},
        },
        "operations": [{"op": "drop_source", "name": text}],
        "params": {"weights": text},
        "fit": {"graph": text},
    }
    run = Run(text, text, "TinyRegressor", text, name=text, settings=settings_)
    tree = ast.parse(export.script_of_run(run))
    plain = ast.parse(
        export.script_of_run(Run("a", "a", "TinyRegressor", "a", settings=json.loads(neutral(settings_))))
    )
    assert shape(tree) == shape(plain)
    json.loads(export.notebook_of_run(run))


def neutral(settings_: dict) -> str:
    """Return the same settings with every text replaced."""
    operations = settings_["operations"]
    part = {"name": "n", "file": "f", "id": "i", "kinds": {"k": "v"}, "options": {"sheet": "s"}}
    data = {"sources": [part], "target": {"file": "f", "id": "i", "column": "c"}}
    return json.dumps(
        settings_
        | {
            "data": data,
            "operations": [operations[0] | {"name": "n"}],
            "params": {"weights": "w"},
            "fit": {"graph": "g"},
        }
    )


def shape(tree: ast.AST) -> list[str]:
    """Return the kinds of a tree's nodes, without the values of literals."""
    return [type(node).__name__ for node in ast.walk(tree)]


WRONG = [
    ({"params": {"a b": 1}}, "'a b' is no name of a parameter"),
    ({"params": {"class": 1}}, "'class' is no name"),
    ({"params": {"x": float("nan")}}, "cannot be written into a script"),
    ({"params": {"x": object()}}, "cannot be written into a script"),
    ({"operations": [{"op": "fly"}]}, "is not an operation"),
    ({"data": {"sources": []}}, "A recipe has an example, or sources"),
    ({"data": {"sources": [{"name": "a", "file": "b"}]}}, "lacks its id"),
    ({"data": {"sources": [{"name": "a", "file": "../b", "id": "c"}]}}, "without folders"),
    ({"data": {"sources": [{"name": "a", "file": "b", "id": "c", "x": 1}]}}, "is not what a recipe has"),
    ({"data": {"sources": [{"name": "a", "file": "b", "id": "c", "options": {"x": 1}}]}}, "no option of reading"),
    ({"data": UPLOADED | {"task": "guess"}}, "is no task"),
]


@pytest.mark.parametrize(("settings_", "sentence"), WRONG, ids=[str(k) for k in range(len(WRONG))])
def test_what_cannot_be_repeated_is_refused(settings_, sentence):
    with pytest.raises((ParameterError, DataError)) as caught:
        export.script_of_run(a_run(**settings_))
    assert sentence in str(caught.value)


def test_an_unknown_method_is_refused():
    with pytest.raises(ParameterError, match="is not a method of hetcore"):
        export.script_of_run(Run("a", "p", "os\nimport os", "planted"))


def test_a_recipe_is_built_and_names_its_files():
    data = recipes.build(UPLOADED, FILES.__getitem__)
    assert data.source_names == ['it\'s "films"'] and data.graph_names == ["cast"]
    assert data.ids.tolist() == ["A", "B", "C", "D"]
    assert np.array_equal(data.y, [1.5, 2.5, np.nan, 4.0], equal_nan=True)
    assert data.sources['it\'s "films"'].kinds == {"genre": "binary", "year": "nominal"}
    assert recipes.files(UPLOADED) == ["films.csv", "cast.csv"]
    assert recipes.build({"example": "planted"}, FILES.__getitem__).n > 0


def test_a_recipe_whose_target_is_not_there_is_refused():
    wrong = UPLOADED | {"target": {"file": "films.csv", "id": "title", "column": "stars"}}
    with pytest.raises(DataError, match="no column 'stars' in films.csv"):
        recipes.build(wrong, FILES.__getitem__)
    with pytest.raises(DataError, match="Source 'a': There is no id column 'nr'"):
        recipes.build({"sources": [{"name": "a", "file": "films.csv", "id": "nr"}]}, FILES.__getitem__)


# Tables, names, figures -----------------------------------------------------------------------------------------------


FORMULA = "[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"


def test_formulas_are_defused_and_numbers_untouched():
    cells = ["=1+1", "+a", "-5", "@x", "\tb", "\rc", "ok", None, "\nd", "\uff1d1"]
    frame = pl.DataFrame({"=id": cells, "x": [-1.5] * 10})
    content = export.csv(frame)
    read = pl.read_csv(content, infer_schema=False)
    assert read.columns == ["'=id", "x"]
    assert read["'=id"].to_list()[:4] == ["'=1+1", "'+a", "'-5", "'@x"]
    assert read["'=id"].to_list()[6:] == ["ok", None, "'\nd", "'\uff1d1"] and set(read["x"]) == {"-1.5"}


def test_formulas_in_categories_are_defused_too():
    cells = ["=1+1", "@x", "ok", None]
    frame = pl.DataFrame({
        "c": pl.Series(cells, dtype=pl.Categorical), "e": pl.Series(cells, dtype=pl.Enum(["=1+1", "@x", "ok"])),
    })  # fmt: skip
    read = pl.read_csv(export.csv(frame), infer_schema=False)
    assert read["c"].to_list() == read["e"].to_list() == ["'=1+1", "'@x", "ok", None]


def test_tables_of_every_type_and_of_hostile_names_are_written_without_a_formula():
    cells = [["=1"], {"a": "=1"}, b"=1", datetime.timedelta(-1), datetime.date(2020, 1, 2), datetime.time(1), None,
             Decimal("-1.5"), True, -1, -1.5, "=1", "-1"]  # fmt: skip
    frame = pl.DataFrame({f"c{k}": pl.Series([cell, None]) for k, cell in enumerate(cells)})
    arrays, objects = pl.Series([[1, 2], None], dtype=pl.Array(pl.Int8, 2)), pl.Series([str, None], dtype=pl.Object)
    frame = frame.with_columns(a=arrays, o=objects)
    read = pl.read_csv(export.csv(frame), infer_schema=False)
    assert read.columns == frame.columns
    numbers = {"c7": "-1.5", "c9": "-1", "c10": "-1.5"}
    assert not [name for name in read.columns if name not in numbers and re.match(FORMULA, read[name][0] or "")]
    assert {name: read[name][0] for name in numbers} == numbers
    for names in (["*", "b"], ["^.*$", "b"], ["=a", "'=a"], ["'=a", "=a"]):
        read = pl.read_csv(export.csv(pl.DataFrame({name: [f"={name}"] for name in names})), infer_schema=False)
        assert [cell.lstrip("'") for cell in read.row(0)] == [f"={name}" for name in names]
        assert not any(re.match(FORMULA, text) for text in (*read.row(0), *read.columns))


def test_the_toolbar_of_tables_exports_nothing():
    config = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text())
    assert config["client"]["disableDataExport"] is True


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=1, max_size=6))
def test_no_cell_begins_as_a_formula_and_the_text_can_be_had_back(cells):
    read = pl.read_csv(export.csv(pl.DataFrame({"t": cells, "n": range(len(cells))})), infer_schema=False)
    read = read["t"].fill_null("").to_list()
    assert not any(re.match(FORMULA, cell) for cell in read)
    assert [
        cell[1:] if re.match(f"'{FORMULA}", cell) and cell != raw else cell for cell, raw in zip(read, cells)
    ] == cells


def test_parquet_keeps_values_as_they_are():
    frame = pl.DataFrame({"id": ["=1", None], "x": [1.5, float("nan")]})
    assert pl.read_parquet(io.BytesIO(export.parquet(frame))).equals(frame)


NAMES = [
    ("GBC on mfeat", "GBC-on-mfeat.csv"),
    ("../../etc/passwd", "etc-passwd.csv"),
    ("a\x00b\u202ec", "a-b-c.csv"),
    ("", "run.csv"),
    ("...", "run.csv"),
    ("CON", "run-CON.csv"),
    ("nul.txt", "run-nul.txt.csv"),
]


@pytest.mark.parametrize(("text", "expected"), NAMES, ids=[expected for _, expected in NAMES])
def test_names_of_downloads_are_safe(text, expected):
    assert export.file_name(text, "csv") == expected


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(max_size=400))
def test_every_name_of_a_download_is_short_and_plain(text):
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,80}", export.file_name(text, "parquet"))


def test_a_figure_is_a_page_that_asks_nobody_and_runs_no_name():
    figure = go.Figure(go.Scatter(x=[1], y=[2], name="</script><script>alert(1)</script>"))
    page = export.figure_html(figure, "<b>t</b>")
    assert '"showSendToCloud": false' in page
    assert "</script><script>alert" not in page and "<title>&lt;b&gt;t&lt;/b&gt;</title>" in page
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", page)


def test_a_bundle_has_everything():
    run, predictions = a_run(data=UPLOADED), pl.DataFrame({"id": ["A", "=1"], "prediction": [1.5, 2.5]})
    content = export.bundle(run, uploaded(), predictions, b"model")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    data = {f"data/{name}.parquet" for name in ("instances", "source-1", "graph-1")}
    wheel = f"hetcore-{hc.__version__}-py3-none-any.whl"
    assert set(files) == data | {
        "README.txt", "data/data.json", "model.hetcore", "predictions.csv", "predictions.parquet", "report.html",
        "requirements.txt", "run.ipynb", "run.py", wheel,
    }  # fmt: skip
    assert "read_data" in files["run.py"].decode() and "compared" not in files["run.py"].decode()
    assert b"'=1" in files["predictions.csv"] and files["model.hetcore"] == b"model"
    assert files["requirements.txt"].decode().splitlines()[0] == f"./{wheel}"


def test_the_data_of_a_bundle_are_those_of_the_run_and_one_that_was_stopped_is_not_compared():
    predictions = pl.DataFrame({"prediction": [1.5]})
    with pytest.raises(DataError, match="are not those of this run"):
        export.bundle(replace(a_run(data=UPLOADED), digest="0" * 64), uploaded(), predictions, None)
    for status, compares in (("finished", True), ("stopped", False)):
        content = export.bundle(replace(a_run(data=UPLOADED), status=status), uploaded(), predictions, None)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert ("bit for bit" in archive.read("run.py").decode()) == compares
            assert "model.hetcore" not in archive.namelist()
