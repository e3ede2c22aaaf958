"""Figures of collective inference: what is drawn is what was given; names are shown as they are."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hetcore.data import Graph
from hetcore.figures import graph as figures

PLACES = np.array([[0, 0], [1, 0], [0, 1], [np.nan, np.nan]], np.float32)
ENDS = (np.array([0, 0]), np.array([1, 2]))
NAMES = ["a", "<b>b</b>", "c", "d"]


def drawn(look: figures.Look, **more: object) -> dict:
    """Return a drawn network of three nodes, and one that lies nowhere."""
    return figures.network(PLACES, ENDS, look, NAMES, **more)


def nodes(figure: dict) -> list[dict]:
    """Return the traces of nodes."""
    return [trace for trace in figure["data"] if "customdata" in trace]


def test_links_are_one_line_with_gaps_and_nodes_carry_their_places():
    figure = drawn(figures.signed(np.array([1.0, -1.0, 0.5, 2.0]), "residual"))
    links = figure["data"][0]
    assert np.array_equal(links["x"], [0, 1, np.nan, 0, 0, np.nan], equal_nan=True)
    (found,) = nodes(figure)
    assert found["customdata"].tolist() == [0, 1, 2] and found["marker"]["color"].tolist() == [1.0, -1.0, 0.5]


@pytest.mark.parametrize(
    ("nodes", "links", "kind"), [(3, 2, "scatter"), (2001, 2, "scattergl"), (3, 8001, "scattergl")]
)
def test_large_networks_are_drawn_by_webgl_and_small_ones_need_none(nodes, links, kind):
    ends = np.zeros(links, int), np.ones(links, int)
    look = figures.signed(np.linspace(-1, 1, nodes), "residual")
    figure = figures.network(np.zeros((nodes, 2), np.float32), ends, look, [str(k) for k in range(nodes)], chosen=0)
    assert {trace["type"] for trace in figure["data"]} == {kind}


def test_names_are_text_and_never_markup():
    (found,) = nodes(drawn(figures.by_class(["x"] * 4, ["x"])))
    assert found["text"][1] == "&lt;b&gt;b&lt;/b&gt;"
    assert (
        figures.network(PLACES, ENDS, figures.by_class(["<i>"] * 4, ["<i>"]), NAMES)["data"][-1]["name"] == "&lt;i&gt;"
    )


def test_hidden_labels_are_diamonds_and_nodes_without_a_value_are_pale():
    look = figures.signed(np.array([1.0, np.nan, -1.0, np.nan]), "change")
    mute, hidden, known = nodes(drawn(look, known=np.array([True, True, False, True])))
    assert mute["customdata"].tolist() == [1] and mute["marker"]["color"] == figures.GREY
    assert hidden["marker"]["symbol"] == "diamond" and hidden["customdata"].tolist() == [2]
    assert known["marker"]["symbol"] == "circle" and known["customdata"].tolist() == [0]


def test_the_chosen_node_is_ringed_and_its_links_stand_out():
    figure = drawn(figures.by_class(["x"] * 4, ["x"]), chosen=0, near=np.array([1, 2]))
    assert figure["data"][1]["line"]["width"] > figure["data"][0]["line"]["width"]
    assert figure["data"][-1]["x"].tolist() == [0.0] and figure["data"][-1]["marker"]["symbol"] == "circle-open"


def test_a_heavy_tail_leaves_colours_for_the_others():
    values = np.array([1.0, 2.0, 3.0, 1e6])
    look = figures.by_quantile(values, values, "label")
    assert look.colour.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert look.axis["colorbar"]["ticktext"][-1] == "1,000,000"
    assert np.isnan(figures.by_quantile(np.array([np.nan]), values, "label").colour).all()


def test_of_many_links_a_sample_is_drawn_and_always_the_same():
    ids = [str(k) for k in range(60)]
    pairs = [(a, b) for a in range(60) for b in range(a)]
    graph = Graph(pl.DataFrame({"source": [ids[a] for a, _ in pairs], "target": [ids[b] for _, b in pairs]}))
    a, b = figures.drawn_edges(graph, most=100)
    assert len(a) == 100 and len({*zip(a.tolist(), b.tolist())}) == 100
    assert np.array_equal(figures.drawn_edges(graph, most=100)[0], a)
    assert len(figures.drawn_edges(graph)[0]) == graph.n_edges


def test_the_band_lies_behind_the_lines_and_the_labels_are_dotted():
    band = np.array([[-0.1, 0.1], [-0.2, 0.2]])
    figure = figures.autocorrelation([0, 1], {"GB": [0.5, 0.4]}, band, 0.6, order=("GB", "MGB"))
    assert figure["data"][0]["y"].tolist() == [0.1, 0.2, -0.2, -0.1] and figure["data"][0]["fill"] == "toself"
    assert figure["data"][-1]["y"] == [0.6, 0.6] and figure["data"][-1]["line"]["dash"] == "dot"


def test_convergence_is_drawn_on_a_logarithmic_scale_without_zeros():
    figure = figures.convergence({"RGB": [1.0, 0.1, 0.0], "MGB": [2.0]}, ("GB", "RGB", "MGB"), "change")
    assert figure["layout"]["yaxis"]["type"] == "log"
    assert np.array_equal(figure["data"][0]["y"], [1.0, 0.1, np.nan], equal_nan=True)
    assert np.array_equal(figure["data"][1]["y"], [2.0, np.nan, np.nan], equal_nan=True)


@pytest.mark.parametrize(("value", "text"), [(0.12345, "0.123"), (-1234.5, "−1,234"), (12.345, "12.3")])
def test_numbers_are_brief(value, text):
    assert figures.brief(value) == text
