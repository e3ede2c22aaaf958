"""A folder of the server: opened by path on the Data page, trained on the Consensus page, back after a reload."""

from __future__ import annotations

import secrets
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from studio.jobs import manager
from studio.limits import GIB, JobLimits
from studio.scans import opening
from tests.jobs.running import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
N = 300


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder of folders, of which one has two tables and labels."""
    root, rng = tmp_path_factory.mktemp("folders"), np.random.default_rng(0)
    shop = root / "shop"
    shop.mkdir()
    time = rng.normal(size=N)
    pl.DataFrame({"id": range(N), "time": time}).write_parquet(shop / "visits.parquet")
    pl.DataFrame({"id": range(90, N), "age": rng.normal(size=N - 90)}).write_parquet(shop / "people.parquet")
    pl.DataFrame({"id": range(N), "y": time + rng.normal(0, 0.1, N)}).write_parquet(shop / "labels.parquet")
    return root


@pytest.fixture(autouse=True)
def setting(root, monkeypatch):
    """Allow the folder."""
    monkeypatch.setenv("HETCORE_FOLDERS", str(root))


def _page(page, owner, state=None, **query):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    app.session_state["owner"] = owner
    app.run()
    app.switch_page(f"pages/{page}")
    for name, value in (state or {}).items():
        app.session_state[name] = value
    for name, value in query.items():
        app.query_params[name] = value
    return app.run()


def _open(app):
    """Press "Open" and wait for what comes of it; return how it ended, "" where the page saw that in the same run."""
    app.button(key="open_folder").click().run()
    if "folder opening" not in app.session_state:
        return ""
    status = manager.manager().wait(app.session_state["folder opening"], timeout=PATIENCE)
    app.run()
    return status.state


@pytest.fixture(scope="module")
def opened(root):
    """The Data page after a folder was opened, and its owner."""
    patch = pytest.MonkeyPatch()
    patch.setenv("HETCORE_FOLDERS", str(root))
    owner = secrets.token_hex(8)
    app = _page("1_Data.py", owner)
    app.selectbox(key="folder").set_value(str(root / "shop")).run()
    assert _open(app) in ("finished", "")
    patch.undo()
    return app, owner


def _metrics(app):
    return {metric.label: metric.value for metric in app.metric}


def test_the_tab_is_there_where_the_operator_allows_folders(monkeypatch):
    assert "A folder of the server" in [tab.label for tab in _page("1_Data.py", "anna").tabs]
    monkeypatch.delenv("HETCORE_FOLDERS")
    assert "A folder of the server" not in [tab.label for tab in _page("1_Data.py", "anna").tabs]


def test_an_opened_folder_shows_counts_of_all_rows_and_a_sample(opened):
    app, _ = opened
    assert not app.exception and not app.error
    assert "In use: Folder shop" in [header.value for header in app.header]
    assert {name: _metrics(app)[name] for name in ("Instances", "Records", "Labels")} == {
        "Instances": "300", "Records": "510", "Labels": "300",
    }  # fmt: skip
    frames = {"part" in frame.value.columns: frame.value for frame in app.dataframe if "records" in frame.value.columns}
    assert frames[True]["records"].to_list() == [210, 300]


def test_a_path_outside_is_refused_and_what_was_in_use_stays(opened, tmp_path):
    owner, name = opened[1], opened[0].query_params["data"]
    # Typed: a test can choose among what is listed only.
    app = _page("1_Data.py", owner, {"folder": str(tmp_path)}, data=name[0] if isinstance(name, list) else name)
    assert "outside of the folders that may be read" in app.error[0].value and not app.exception
    assert "In use: Folder shop" in [header.value for header in app.header]


@pytest.mark.slow
def test_a_training_on_all_rows_shows_the_sample(opened):
    owner = opened[1]
    name = opened[0].query_params["data"]
    app = _page("2_Consensus.py", owner, data=name[0] if isinstance(name, list) else name)
    assert app.toggle(key="whole").value
    app.toggle(key="printed").set_value(True)
    app.slider(key="rounds").set_value(5).run()
    app.button(key="train").click().run()
    run = app.session_state["live Consensus"].runs["Consensus"]
    status = manager.manager().wait(run, timeout=PATIENCE)
    assert status.state == "finished", status.message
    app.run()
    app.run()
    assert not app.exception and not app.error
    assert any("on all held" in caption.value for caption in app.caption)
    assert {"One instance", "Take away"} <= {tab.label for tab in app.tabs}
    assert not {"One case", "Map"} & {tab.label for tab in app.tabs}
    assert manager.manager().task(run).whole["scan"]["id"] == "id"


def test_all_rows_that_do_not_fit_are_refused_before_training(opened, monkeypatch):
    owner, name = opened[1], opened[0].query_params["data"]
    monkeypatch.setattr("studio.views.consensus.widgets_by_path.JOBS", JobLimits(workers=1, memory=2 * GIB))
    app = _page("2_Consensus.py", owner, data=name[0] if isinstance(name, list) else name)
    assert "train on the sample" in app.warning[0].value and app.button(key="train").disabled
    app.toggle(key="whole").set_value(False).run()
    assert not app.warning and not app.button(key="train").disabled


def test_noise_of_a_sample_is_not_of_all_rows(opened):
    owner, name = opened[1], opened[0].query_params["data"]
    log = '[{"op": "sample", "fraction": 0.5, "seed": 0}]'
    app = _page("2_Consensus.py", owner, data=name[0] if isinstance(name, list) else name, whatif=log)
    assert "undo the other changes" in app.warning[0].value and app.button(key="train").disabled
    app.toggle(key="whole").set_value(False).run()
    assert not app.warning and not app.button(key="train").disabled


def test_somebody_else_finds_neither_sample_nor_statistics(opened):
    name = opened[0].query_params["data"]
    app = _page("1_Data.py", "somebody else", data=name[0] if isinstance(name, list) else name)
    assert "Records" not in _metrics(app) and "another person's" in app.warning[0].value


def test_an_opening_that_fails_ends_in_a_sentence(root, monkeypatch):
    app = _page("1_Data.py", secrets.token_hex(8))
    app.selectbox(key="folder").set_value(str(root / "shop")).run()
    app.selectbox(key="folder_id").set_value("id").run()
    (root / "shop" / "visits.parquet").rename(root / "visits.gone")
    _open(app)
    (root / "visits.gone").rename(root / "shop" / "visits.parquet")
    assert "There is no file or folder" in app.error[0].value and not app.exception
    assert opening.INSTANCES > N  # the sample above is all of it


def test_a_folder_that_could_not_be_read_is_looked_at_again_when_asked(root):
    late = root / "late"
    late.mkdir()
    app = _page("1_Data.py", secrets.token_hex(8), {"folder": str(late)})
    assert "has no Parquet file" in app.error[0].value
    pl.DataFrame({"id": ["a"], "x": [1.0]}).write_parquet(late / "x.parquet")
    assert app.run().error
    app.button(key="look_again").click().run()
    assert not app.error and app.button(key="open_folder")
