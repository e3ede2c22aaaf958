"""The planted graphs: what is planted is there."""

import numpy as np
import pytest

from datasets import make_autocorrelated_graph
from hetcore.errors import ParameterError
from hetcore.metrics import morans_i, morans_i_band, residual_autocorrelation


@pytest.mark.parametrize("rho", [0.0, 0.4, 0.8])
@pytest.mark.parametrize("law", ["even", "power"])
def test_what_is_planted_is_realised(rho, law):
    data, truth = make_autocorrelated_graph(2000, residual_correlation=rho, degree_law=law, seed=3)
    graph = data.graphs["links"]
    assert abs(truth.residual_correlation - rho) < 0.08
    assert abs(truth.label_correlation - 0.7 * rho) < 0.08
    assert abs(truth.feature_strength - 0.3) < 0.05
    np.testing.assert_allclose(residual_autocorrelation(data.y, graph), truth.label_correlation, atol=1e-9)
    np.testing.assert_allclose(residual_autocorrelation(truth.residual, graph), truth.residual_correlation, atol=1e-9)
    low, high = morans_i_band(truth.residual, graph)
    assert (low < morans_i(truth.residual, graph) < high) == (rho == 0.0)


def test_degrees_follow_their_law():
    even, power = (
        make_autocorrelated_graph(2000, degree_law=law)[0].graphs["links"].degree for law in ("even", "power")
    )
    assert power.max() > 2 * even.max() and 8 < even.mean() < 10.5 and power.mean() < 10.5


def test_features_can_be_alike_too():
    _, truth = make_autocorrelated_graph(2000, residual_correlation=0.5, feature_strength=0.4, label_correlation=0.6)
    assert abs(truth.label_correlation - 0.6) < 0.08 and truth.feature_correlation > 0.5


def test_a_seed_repeats():
    one, same, other = (make_autocorrelated_graph(200, seed=seed)[0].digest() for seed in (1, 1, 2))
    assert one == same != other


@pytest.mark.parametrize(
    "params, words",
    [
        ({"residual_correlation": 1.5}, "residual_correlation=1.5 must be a share"),
        ({"label_correlation": 0.1}, "can't be"),
        ({"degree_law": "odd"}, "give 'even' or 'power'"),
        ({"n": 3}, "n=3 must be at least 10"),
        ({"degree": 0}, "degree=0 must be a finite number above 0"),
    ],
)
def test_parameters_outside_their_domain_are_refused(params, words):
    with pytest.raises(ParameterError, match=words):
        make_autocorrelated_graph(**params)
