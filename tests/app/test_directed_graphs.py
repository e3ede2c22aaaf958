"""A graph's direction: guessed from the file, chosen on the Data page, kept with the data, used on Collective."""

from __future__ import annotations

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from hetcore.data import Graph, HetData
from studio import recipes, uploads
from studio.runs import reopening
from studio.runs.run import Run
from tests.jobs.running import PATIENCE

EDGES = b"source,target\na,b\nc,b\n"
TABLE = b"id,x,label\na,1.5,u\nb,2.5,v\nc,3.5,u\n"
GML = b"graph [ directed 1 node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 ] ]"


def _choice(upload):
    import streamlit as st

    from studio.views.data.widgets_upload import _with_direction

    st.session_state["directed"] = _with_direction(upload).directed


@pytest.mark.parametrize("name, content, guess", [("links.csv", EDGES, False), ("links.gml", GML, True)])
def test_the_file_s_word_is_the_guess_and_the_person_s_counts(name, content, guess):
    upload = uploads.read(name, content)
    assert upload.role == "graph" and not upload.directed
    page = AppTest.from_function(_choice, args=(upload,), default_timeout=PATIENCE).run()
    assert not page.exception and page.session_state["directed"] is guess
    assert page.selectbox[0].options == ["both ways", "one way, from source to target"]
    page.selectbox[0].set_value(not guess).run()
    assert page.session_state["directed"] is not guess


@pytest.mark.parametrize("directed", [False, True])
def test_a_recipe_keeps_the_direction(directed):
    files = {"films.csv": TABLE, "links.csv": EDGES}
    read = [uploads.read(name, content)._replace(directed=directed) for name, content in files.items()]
    label = recipes.Label("films.csv", "label")
    recipe = recipes.recipe_of(read, {"films.csv": "id"}, label, "classification", {})
    assert ("options" in recipe["graphs"][0]) is directed
    graph = recipes.build(recipe, files.__getitem__).graphs["links"]
    found = {way: [list(graph.ids[row.indices]) for row in _rows(graph.neighbors(way))] for way in ("in", "out")}
    either = [["b"], ["a", "c"], ["b"]]
    one_way = {"in": [[], ["a", "c"], []], "out": [["b"], [], ["b"]]}
    assert found == (one_way if directed else dict.fromkeys(found, either))


def _rows(matrix):
    return [matrix[[k]] for k in range(matrix.shape[0])]


def _collective(directed):
    import streamlit as st

    from studio.views.collective.widgets import controls
    from tests.app.test_directed_graphs import data

    st.session_state["params"] = controls(data(directed), "Made up")["params"]


def data(directed):
    table = pl.DataFrame({"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]})
    graph = Graph(pl.DataFrame({"source": ["a", "c"], "target": ["b", "b"]}), directed=directed)
    return HetData({"one": table}, {"links": graph}, (["a", "b", "c"], [1.0, 2.0, 3.0]))


def _data(directed):
    from studio.views.data import widgets
    from tests.app.test_directed_graphs import data

    widgets._graphs(data(directed))


@pytest.mark.parametrize("directed", [False, True])
def test_the_data_page_says_who_looks_which_way(directed):
    page = AppTest.from_function(_data, args=(directed,), default_timeout=PATIENCE).run()
    assert not page.exception
    assert ("Consensus looks along and against" in page.caption[0].value) is directed


def test_collective_offers_the_neighbours_of_edges_that_lead_one_way():
    page = AppTest.from_function(_collective, args=(False,), default_timeout=PATIENCE).run()
    assert not page.exception and "direction" not in page.session_state["params"]
    assert page.slider(key="share").value == 40
    page = AppTest.from_function(_collective, args=(True,), default_timeout=PATIENCE)
    page.session_state["uploaded"] = "one's own, of whose few labels more train"
    page.run()
    assert page.slider(key="share").value == 80
    assert not page.exception and page.session_state["params"]["direction"] == "both"
    assert page.selectbox(key="direction").options[1] == "those that point here"
    page.selectbox(key="direction").set_value("in").run()
    assert page.session_state["params"]["direction"] == "in"
    run = Run("anna", "Collective", "MGBRegressor", "Made up", settings={"params": {"direction": "in"}})
    assert reopening.controls(run, "Made up", ["one"], ["links"])["direction"] == "in"
