"""The generator: what it says that it planted is what is in the data."""

import re

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import datasets
from datasets.planted import _planting
from hetcore.errors import ParameterError
from hetcore.metrics import residual_autocorrelation


def share_within(data, graph):
    a, b, _ = data.graphs[graph].edges()
    return (data.y[a] == data.y[b]).mean()


def explained(columns, signal):
    return LinearRegression().fit(columns, signal).score(columns, signal)


@pytest.mark.parametrize("together", ["views", "parts"])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_source_explains_the_planted_share_of_the_signal(task, together):
    shares = [0.6, 0.3, 0.1]
    data, truth = datasets.make_heterogeneous(
        4000, informativeness=shares, together=together, task=task, coverage=1.0, seed=1
    )
    assert list(truth.informativeness.values()) == [*shares, 0.0]
    for name, share in truth.informativeness.items():
        assert explained(data.sources[name].frame.to_numpy(), truth.signal) == pytest.approx(share, abs=0.05)
    assert truth.signal.std() == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(("together", "all_of_it"), [("views", 0.75), ("parts", 1.0)])
def test_together_the_sources_know_more_than_the_best_one(together, all_of_it):
    data, truth = datasets.make_heterogeneous(
        4000,
        3,
        informativeness=[0.5, 0.5, 0.5] if together == "views" else [1 / 3] * 3,
        together=together,
        coverage=1.0,
        seed=2,
    )
    joined = np.hstack([source.frame.to_numpy() for source in data.sources.values()])
    assert explained(joined, truth.signal) == pytest.approx(all_of_it, abs=0.03)


def test_ids_truth_and_mask_are_aligned():
    data, truth = datasets.make_heterogeneous(300, coverage=[0.5, 0.3, 0.9, 0.2], labelled=0.4, seed=3)
    assert data.ids.tolist() == sorted(data.ids)
    np.testing.assert_array_equal(data.mask, truth.mask)
    assert data.mask.mean(axis=1) == pytest.approx([0.5, 0.3, 0.9, 0.2], abs=0.05)
    assert data.labelled.sum() == 120
    np.testing.assert_array_equal(data.y[data.labelled], truth.y[data.labelled])
    assert str(data.report) == "Nothing to report."


def test_every_instance_has_a_record_even_where_coverage_is_thin():
    assert datasets.make_heterogeneous(200, coverage=0.0, seed=4)[0].mask.sum(axis=0).min() == 1


@pytest.mark.parametrize("wanted", [0.0, 0.5, 0.9])
def test_homophily_of_a_regression_is_the_correlation_over_links(wanted):
    data, truth = datasets.make_heterogeneous(3000, homophily=wanted, n_graphs=1, seed=5)
    assert truth.homophily["graph_1"] == pytest.approx(wanted, abs=0.03)
    assert truth.homophily["graph_1"] == pytest.approx(residual_autocorrelation(truth.y, data.graphs["graph_1"]))


@pytest.mark.parametrize("wanted", [0.0, 0.5, 1.0])
def test_homophily_of_a_classification_is_the_share_within_a_class(wanted):
    data, truth = datasets.make_heterogeneous(3000, homophily=wanted, n_graphs=1, task="classification", seed=5)
    assert truth.homophily["graph_1"] == pytest.approx(wanted, abs=0.03)
    assert truth.homophily["graph_1"] == pytest.approx(share_within(data, "graph_1"))
    assert 2 * data.graphs["graph_1"].n_edges / data.n == pytest.approx(6.0, rel=0.1)


def test_noise_is_the_share_that_nothing_explains():
    _, truth = datasets.make_heterogeneous(5000, noise=0.4, seed=6)
    assert np.corrcoef(truth.y, truth.signal)[0, 1] ** 2 == pytest.approx(0.6, abs=0.03)
    _, truth = datasets.make_heterogeneous(5000, noise=0.3, task="classification", n_classes=4, seed=6)
    right = truth.y == np.array([f"class_{k + 1}" for k in truth.signal.argmax(axis=1)])
    assert right.mean() == pytest.approx(0.7 + 0.3 / 4, abs=0.03)


def test_missing_cells_and_seed():
    one, _ = datasets.make_heterogeneous(500, missing=0.25, seed=7)
    two, _ = datasets.make_heterogeneous(500, missing=0.25, seed=7)
    other, _ = datasets.make_heterogeneous(500, missing=0.25, seed=8)
    digests = [data.sources["source_1"].digest() for data in (one, two, other)]
    assert digests[0] == digests[1] != digests[2]
    assert one.sources["noise_1"].missing_share == pytest.approx(0.25, abs=0.02)


def test_no_graph_and_no_noise_source():
    data, truth = datasets.make_heterogeneous(50, 1, n_noise_sources=0, n_graphs=0, n_features=1)
    assert (data.source_names, data.graph_names, dict(truth.homophily)) == (["source_1"], [], {})


def test_a_graph_without_pairs_has_no_homophily():
    assert np.isnan(_planting.realised_homophily(np.zeros(3), np.empty((0, 2), dtype=int)))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"task": "ranking"}, "task='ranking' is not known"),
        ({"together": "sum"}, "give 'views' or 'parts'"),
        ({"n": 1}, "n=1 must be at least 2"),
        ({"n_sources": 0}, "n_sources=0 must be at least 1"),
        ({"task": "classification", "n_classes": 5, "n_features": 4}, "n_features=4 must be at least 5"),
        ({"task": "classification", "n_classes": 1}, "n_classes=1 must be at least 2"),
        ({"coverage": 1.5}, "coverage=1.5 must be finite numbers in [0, 1]: give one for all, or 4"),
        ({"coverage": [0.5, 0.5]}, "give one for all, or 4"),
        ({"noise": -0.1}, "noise=-0.1 must be a share"),
        ({"informativeness": 0.5, "together": "parts"}, "sums to 1.5"),
        ({"seed": -1}, "seed=-1 must be a whole number of at least 0"),
        ({"n": 20.5}, "n=20.5 must be at least 2, a whole number"),
        ({"n_graphs": True}, "n_graphs=True must be at least 0, a whole number"),
        ({"degree": np.inf}, "degree=inf must be at least 0, a finite number"),
        ({"noise": "much"}, "noise='much' must be a share"),
        ({"homophily": "high"}, "homophily='high' must be finite numbers"),
        ({"task": None}, "task=None is not known"),
    ],
)
def test_a_parameter_outside_its_domain_is_refused(wrong, words):
    with pytest.raises(ParameterError, match=re.escape(words)):
        datasets.make_heterogeneous(**wrong)


@pytest.mark.parametrize("name", [name for name in datasets.__all__ if name.startswith("make_")])
def test_every_maker_refuses_what_is_no_seed(name):
    for seed in (-1, 1.5, "a", None):
        with pytest.raises(ParameterError, match=re.escape(f"seed={seed!r} must be a whole number")):
            getattr(datasets, name)(seed=seed)


def test_domains_of_half_a_row_are_refused():
    with pytest.raises(ParameterError, match="n_source=20.5 must be at least 2, a whole number"):
        datasets.make_domains(n_source=20.5)
