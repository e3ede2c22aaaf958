"""What `hetcore.export` writes: its wheel, its versions, its report, and what it refuses."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import zipfile
from importlib import metadata
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import datasets
import hetcore as hc
from hetcore import model_files
from hetcore.bundles import bundle, report
from hetcore.bundles.distribution import pins, wheel


@pytest.fixture(scope="module")
def data() -> hc.HetData:
    return datasets.load("planted").sample(0.2, seed=0)


@pytest.fixture(scope="module")
def model(data) -> hc.GBCRegressor:
    return hc.GBCRegressor(n_iterations=2, as_printed=True, random_state=0).fit(data)


def unzipped(content) -> dict[str, bytes]:
    with zipfile.ZipFile(content) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_lists_its_files_with_their_checksums():
    name, content = wheel()
    files = unzipped(io.BytesIO(content))
    assert name == f"hetcore-{hc.__version__}-py3-none-any.whl" and wheel()[1] == content
    rows = list(csv.reader(files[f"hetcore-{hc.__version__}.dist-info/RECORD"].decode().splitlines()))
    assert [row[0] for row in rows] == list(files) and rows[-1][1:] == ["", ""]
    for file, digest, size in rows[:-1]:
        sha = base64.urlsafe_b64encode(hashlib.sha256(files[file]).digest()).decode().rstrip("=")
        assert (digest, size) == (f"sha256={sha}", str(len(files[file])))
    scripts = {f"hetcore/widget/{name}.js" for name in ("lines", "live", "live_charts", "timeline")}
    assert {"hetcore/py.typed", "datasets/__init__.py"} | scripts <= set(files)
    assert not any(name.startswith(("studio", "tests")) or "__pycache__" in name for name in files)


def test_versions_are_those_that_run_here():
    found = dict(line.split("==") for line in pins())
    assert {"numpy", "polars", "numba", "llvmlite", "scikit-learn"} <= set(found) and "streamlit" not in found
    assert all(metadata.version(name).partition("+")[0] == version for name, version in found.items())
    assert list(found) == sorted(found) and pins(["no-such-package"]) == pins()


@pytest.mark.parametrize("also", [[], ["torch"]])
def test_what_is_pinned_can_be_installed_together_and_lacks_nothing(also):
    found = {name: Version(version) for name, version in (line.split("==") for line in pins(also))}
    needed = [(name, Requirement(each)) for name in found for each in metadata.requires(name) or []]
    needed = [(name, each) for name, each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
    asked = [(name, canonicalize_name(each.name), each.specifier) for name, each in needed]
    assert len(asked) > 20
    wrong = [(name, other, str(rule)) for name, other, rule in asked
             if other not in found or not rule.contains(found[other], prereleases=True)]  # fmt: skip
    assert wrong == []


def test_a_zip_has_data_code_versions_model_report_and_wheel(data, model, tmp_path):
    path = hc.export(model, data, tmp_path / "run.zip")
    with pytest.raises(FileNotFoundError, match=r"There is no folder '.*nowhere': make it"):
        hc.export(model, data, tmp_path / "nowhere" / "run.zip")
    files = unzipped(path)
    assert files["requirements.txt"].decode().startswith(f"./{wheel()[0]}\ncatboost==")
    assert "pip install -r requirements.txt" in files["README.txt"].decode()
    code = files["run.py"].decode()
    assert "hc.GBCRegressor(\n    as_printed=True,\n    n_iterations=2,\n    random_state=0,\n)" in code
    cells = json.loads(files["run.ipynb"])["cells"]
    assert "\n\n".join("".join(each["source"]) for each in cells if each["cell_type"] == "code") in code
    predicted = pl.read_parquet(files["predictions.parquet"])["prediction"].to_list()
    assert predicted == model.predict(data).tolist() == hc.load(files["model.hetcore"]).predict(data).tolist()
    assert [each.name for each in tmp_path.iterdir()] == ["run.zip"]


def test_an_estimator_is_fitted_and_stays_as_it_is(data, model, tmp_path):
    estimator = hc.GBCRegressor(n_iterations=2, as_printed=True, random_state=0)
    one, other = hc.export(estimator, data, tmp_path / "a.zip"), hc.export(model, data, tmp_path / "b.zip")
    assert not hasattr(estimator, "n_iterations_")
    widget = hc.export(SimpleNamespace(model_=model, params={}), data, tmp_path / "c.zip")
    parts = [unzipped(path) for path in (one, other, widget)]
    assert [part["predictions.parquet"] for part in parts] == [parts[0]["predictions.parquet"]] * 3


WRONG = [
    (lambda: hc.GBCRegressor, {}, "the class GBCRegressor is no estimator of hetcore"),
    (lambda: 3, {}, "int is no estimator of hetcore"),
    (lambda: SimpleNamespace(model_=None, params={}), {}, "The widget has trained nothing yet"),
    (lambda: hc.GBCRegressor(random_state=None), {}, "random_state=None gives other numbers each time"),
    (lambda: hc.GBCRegressor(random_state=0), {"y": np.ones((3, 3))}, r"y of shape \(3, 3\) can't be exported"),
    (lambda: hc.GBCRegressor(random_state=0), {"y": np.ones(3)}, "y has 3 labels"),
]


@pytest.mark.parametrize("given, more, words", WRONG, ids=[str(k) for k in range(len(WRONG))])
def test_what_cannot_be_exported_is_refused(data, given, more, words, tmp_path):
    with pytest.raises((hc.ParameterError, hc.DataError), match=words) as caught:
        hc.export(given(), data, tmp_path / "run.zip", **more)
    assert "\n" not in str(caught.value) and list(tmp_path.iterdir()) == []


def test_a_path_that_no_file_can_have_is_refused_before_a_fit(data, tmp_path):
    never = hc.GBCRegressor(n_iterations=-1)  # its fit would be refused in other words
    with pytest.raises(IsADirectoryError, match="is a folder: give the path of a file"):
        hc.export(never, data, tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no folder .*: make it, or give another path"):
        hc.export(never, data, tmp_path / "none" / "run.zip")
    assert list(tmp_path.iterdir()) == []


def test_rows_that_are_no_table_of_numbers_or_text_are_refused(tmp_path):
    estimator = hc.HGBMRegressor(n_iterations=2, random_state=0)
    for rows, words in (("rows", "Data of type str"), (np.ones((2, 2, 2)), "Data of type ndarray")):
        with pytest.raises(hc.DataError, match=words):
            hc.export(estimator, rows, tmp_path / "run.zip", y=np.ones(4))
    assert list(tmp_path.iterdir()) == []


def test_a_report_has_changes_result_curves_weights_and_caveats_and_is_small(data):
    bad = "<script>alert(1)</script>"
    history = pl.DataFrame({f"loss:{bad}{k}": np.linspace(1, 0, 5000) for k in range(60)})
    names = {f"{bad}{k}": 0.5 for k in range(100)}
    facts = report.Facts(
        title=bad, method="GBC", data=data, params=names, changes=[bad], scores={"error on training labels": 0.25},
        history=history.with_columns(pl.lit(float("nan")).alias("metric:none")), source_weights=names,
        graph_weights={"cites": 1.0},
    )  # fmt: skip
    page = report.html(facts)
    assert bad not in page and len(page.encode()) < 2**20
    assert not re.search(r"(src|href)=|url\(", page) and "default-src 'none'" in page
    for words in ("What was changed", "Result", "Round by round", "Weights of the graphs", "Caveats", "0.25"):
        assert words in page
    assert "on new rows it is worse" in page
    bare = report.html(report.Facts("a", "b", scores={"error on held-out labels": 0.1}))
    assert "There are no curves" in bare and "on new rows it is worse" not in bare


@pytest.mark.parametrize("y", [[0.5, 1.0, None, 2.0], ["a", "b", None, "a"]])
def test_labels_in_a_list_are_an_array_of_the_zip(y, tmp_path):
    data = hc.HetData({"t": pl.DataFrame({"id": ["a", "b", "c", "d"], "x": [1.0, 2.0, 3.0, 4.0]})})
    method, metric = (hc.GBCClassifier, "error_rate") if "a" in y else (hc.GBCRegressor, "rmse")
    path = hc.export(method(n_iterations=1, base_learner="kernel"), data, tmp_path / "run.zip", y)
    with zipfile.ZipFile(path) as files:
        assert pl.read_parquet(files.read("arguments/y.parquet"))["y"].to_list() == y
        code = files.read("run.py").decode()
    # the script scored by the labels of the data, which have none
    assert f"metrics.{metric}(y, model.predict(data))" in code and "model.fit(data, y=y)" in code


def test_a_model_of_other_data_is_refused(data, model, tmp_path):
    others = {
        "labels": data.with_target(data.y[::-1]),
        "some": data.drop_instances(data.ids[:1]),
        "ids": hc.HetData({name: hc.Source(data.ids[::-1][: s.n_rows], s.frame) for name, s in data.sources.items()}),
        "changed": data.with_noise(data.source_names[0], 1.0),
        "sources": data.select(data.source_names[:1]),
    }
    for other in others.values():
        with pytest.raises(hc.DataError, match="The GBCRegressor was fitted to other data than are to be exported"):
            hc.export(model, other, tmp_path / "run.zip")
    assert list(tmp_path.iterdir()) == []
    # the same labels, given apart; and a model of which nobody knows what it was fitted to
    bundle._check_same(model, data, data.y.tolist())
    bundle._check_same(hc.load(model_files.dumps(model)), others["labels"], None)


def test_a_model_of_other_rows_is_refused(tmp_path):
    rows, y = np.arange(12.0).reshape(6, 2), np.arange(6)
    model = hc.HLR().fit(rows, y)
    bundle._check_same(model, rows, y.astype(float))
    for other, labels in ((rows + 1, y), (rows[:5], y[:5]), (rows, y + 1)):
        with pytest.raises(hc.DataError, match="fitted to other data"):
            hc.export(model, other, tmp_path / "run.zip", labels)
    bundle._check_same(hc.HLR().fit(rows.tolist(), y), rows + 1, y)
