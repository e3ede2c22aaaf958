"""The tab with the map: choices of place and colour, the table of the most disputed, and what has no model."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

import hetcore as hc
from hetcore import model_files
from hetcore.data import HetData
from studio.jobs import worker_tasks
from studio.views.consensus import instance_map, widgets_case
from tests.jobs.running import PATIENCE

N = 60


@pytest.fixture(scope="module")
def trained():
    rng = np.random.default_rng(0)
    y, ids = rng.integers(0, 2, N), np.array([f"i{k}" for k in range(N)])
    one = pl.DataFrame({"id": ids, "a": y + rng.normal(0, 0.3, N)})
    two = pl.DataFrame({"id": ids, "b": y + rng.normal(0, 0.8, N)})
    links = pl.DataFrame({"source": ids[:20], "target": ids[20:40]})
    data = HetData({"one": one, "two": two}, {"links": links}, (ids, np.array(["bad", "good"], object)[y]))
    model = hc.GBCClassifier(n_iterations=3).fit(data)
    columns = {"id": ids.tolist(), "label": data.y.tolist(), "prediction": model.predict(data).tolist()}
    codes = (model.predict(data) == "good").astype(np.uint16)
    staged = pl.DataFrame({"id": ids, "1": 1 - codes, "2": codes})
    return SimpleNamespace(model=model_files.dumps(model), predictions=pl.DataFrame(columns), staged=staged), data


@pytest.fixture
def page(trained, monkeypatch):
    def asked(study, path, kwargs):
        return worker_tasks.find_function(path)(**study.given_to_worker(), **kwargs)

    def app(result, data):
        from studio.views.consensus import widgets_map

        widgets_map.instances(result, data, [], "me")

    monkeypatch.setattr(widgets_case.Study, "_asked", asked)
    return AppTest.from_function(app, args=trained, default_timeout=PATIENCE).run()


def test_the_most_disputed_come_first_and_every_source_has_a_column(page):
    assert not page.exception
    table = page.dataframe[0].value
    assert list(table.columns) == ["id", "label", "prediction", "disagreement", "one alone", "two alone"]
    assert table["disagreement"].is_monotonic_decreasing and len(table) == N


@pytest.mark.parametrize("by", ["error", "disagreement", "two"])
def test_all_colours_are_drawn(page, by):
    page.selectbox(key="map by").set_value(by).run()
    assert not page.exception and len(page.dataframe[0].value) == N


def test_the_map_of_a_graph_has_what_is_linked(page, monkeypatch):
    monkeypatch.setattr(instance_map, "layout", lambda data, name, seed: np.where(
        data.graphs[name].degree[:, None] > 0, np.zeros((data.n, 2)), np.nan))  # fmt: skip
    page.selectbox(key="map of").set_value("links").run()
    assert not page.exception and len(page.dataframe[0].value) == 40


def test_without_a_model_there_is_a_sentence(trained):
    def app(data):
        from types import SimpleNamespace

        from studio.views.consensus import widgets_map

        widgets_map.instances(SimpleNamespace(model=None, predictions=None), data, [], "me")

    assert (
        "no model file"
        in AppTest.from_function(app, args=(trained[1],), default_timeout=PATIENCE).run().caption[0].value
    )
