"""The stand-in for telephone customers: gaps where planted, graphs as good as planted."""

import numpy as np
import pytest

import datasets
from datasets import make_customers
from hetcore.errors import ParameterError


@pytest.fixture(scope="module")
def made():
    return make_customers(3_000, 12, 20, seed=1)


def test_sizes_and_gaps(made):
    data, truth = made
    frame = data.sources["customer"].frame
    assert frame.shape == (3_000, 20) and len(data.graphs) == 12
    lost = np.array([frame[column].is_null().to_numpy() for column in frame.columns]).mean(axis=0)
    assert (lost == 0).mean() == pytest.approx(0.5, abs=0.05)
    assert lost[lost > 0].mean() == pytest.approx(0.6, abs=0.02)
    assert data.labelled.mean() == pytest.approx(0.1, abs=0.03)
    known = np.flatnonzero(data.labelled)
    assert all(truth.y[k] == data.y[k] for k in known)


def test_links_join_customers_who_are_alike_as_often_as_planted(made):
    data, truth = made
    y = np.where(truth.score > 0, 1.0, -1.0)
    alike = {}
    for name, graph in data.graphs.items():
        a, b, _ = graph.edges()
        alike[name] = (y[a] == y[b]).mean()
        assert 4_000 < graph.n_edges <= 15_000  # repeated links of small graphs are one
    quality = [truth.quality[name] for name in alike]
    assert np.corrcoef(quality, list(alike.values()))[0, 1] > 0.9
    assert alike[max(truth.quality, key=truth.quality.get)] > 0.8
    assert alike[min(truth.quality, key=truth.quality.get)] == pytest.approx(0.5, abs=0.05)


def test_a_graph_reaches_no_more_customers_than_it_may(made):
    data, truth = made
    for name, graph in data.graphs.items():
        assert 0 < (graph.degree > 0).sum() <= truth.members[name]


def test_the_seed_decides_everything():
    one, two, other = (make_customers(200, 2, 4, seed=seed)[0].digest() for seed in (0, 0, 1))
    assert one == two != other


@pytest.mark.parametrize("wrong", [{"n": 5}, {"missing": 1.5}, {"noise": -1}, {"labelled": 2}, {"links": -1.0}])
def test_what_cannot_be_made_is_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        make_customers(**{"n": 100, "n_graphs": 1} | wrong)


def test_it_is_among_the_data_sets():
    assert "customers" in datasets.names()
