"""Every example of the guides runs as it stands there; commands name modules that are there."""

from __future__ import annotations

import importlib.util
import logging
import re

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from tests.house.test_house import ROOT

GUIDES = sorted((ROOT / "docs").glob("*.md"))


def blocks(path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


WITH_EXAMPLES = [path for path in GUIDES if blocks(path)]


def small(classes: bool) -> hc.HetData:
    """Return data of two tables and a graph, 60 instances."""
    rng, ids = np.random.default_rng(0), [f"i{k}" for k in range(60)]
    y = np.arange(60) % 3
    tables = {name: pl.DataFrame({"id": ids, "x": y + rng.normal(0, 0.3, 60)}) for name in ("one", "two")}
    links = pl.DataFrame({"source": ids[:-3], "target": ids[3:]})
    return hc.HetData(tables, {"alike": links}, (ids, y.astype(str) if classes else y * 1.0))


def write_files(folder) -> None:
    """Write the Parquet files that the guide of sources by path names."""
    rng, ids = np.random.default_rng(0), [f"i{k}" for k in range(60)]
    y = rng.normal(size=60)
    table = pl.DataFrame({"id": ids, "x": y + rng.normal(0, 0.3, 60)})
    for name, rows in (("sales", slice(None)), ("visits", slice(None, 30)), ("visits", slice(30, None))):
        (folder / name).mkdir(exist_ok=True)
        table[rows].write_parquet(folder / name / f"part-{rows.start or 0}.parquet")
    pl.DataFrame({"source": ids[:-3], "target": ids[3:]}).write_parquet(folder / "calls.parquet")
    pl.DataFrame({"id": ids, "spent": y}).write_parquet(folder / "labels.parquet")


@pytest.fixture
def given(request, monkeypatch, tmp_path):
    """Return the names that a guide takes as known."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + rng.normal(0, 0.1, 200)
    names = {"hc": hc, "X": X, "y": y, "X_new": X[:5], "y_new": y[:5]}
    if request.node.callspec.id == "notebook":
        pytest.importorskip("anywidget", reason="anywidget is not installed")
    if request.node.callspec.id == "scale":
        write_files(tmp_path)
        dask = pytest.importorskip("distributed", reason="Dask is not installed")
        quiet = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
        cluster = dask.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **quiet)
        request.addfinalizer(cluster.close)
        real = dask.Client
        monkeypatch.setattr(dask, "Client", lambda address, **more: real(cluster.scheduler_address, **more))
    if request.node.callspec.id in ("notebook", "scale"):
        data = small(classes=True)
        names |= {"data": data, "model": hc.GBCClassifier(n_iterations=2, random_state=0).fit(data)}
    return names


@pytest.mark.slow
@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_of_a_guide_run(path, given, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for code in blocks(path):
        exec(compile(code, path.name, "exec"), given)
    assert "model" in given and hasattr(given["model"], "predict")


def test_every_guide_of_a_method_has_an_example():
    stems = {path.stem for path in WITH_EXAMPLES}
    assert {"collective", "factorization", "heteroscedastic", "notebook", "scale", "transfer", "two-learners"} <= stems


@pytest.mark.parametrize("path", [*GUIDES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda path: path.stem)
def test_the_modules_of_commands_are_there(path):
    ours = {"hetcore", "datasets", "experiments", "benchmarks", "docs", "studio"}
    found = {name for name in re.findall(r"python -m ([\w.]+)", path.read_text("utf-8")) if name.split(".")[0] in ours}
    missing = []
    for name in sorted(found):
        spec = importlib.util.find_spec(name)
        runs = spec and (not spec.submodule_search_locations or importlib.util.find_spec(f"{name}.__main__"))
        missing += [] if runs else [name]
    assert missing == []
