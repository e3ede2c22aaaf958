"""Tables 1 and 2 as presets: parameters that the classes take, and what the printed ones are."""

import pytest

import hetcore as hc
from hetcore.errors import ParameterError
from hetcore.multimodal import presets
from tests.multimodal.two_modalities import halves


@pytest.mark.parametrize("name", presets.TABLE_2)
def test_presets_are_parameters_of_the_classes(name):
    for order in (1, 2):
        model = hc.TwoWeakLearnerClassifier(**presets.two_weak_learners(name, order))
        model._check_parameters()
        assert model.as_printed and model.order == order
    hc.BoostedFeatureNetworkClassifier(**presets.boosted_features(name))._check_parameters()


def test_rounds_and_layers_are_the_printed_ones():
    assert presets.two_weak_learners("CI-A")["n_iterations"] == 2000
    second = presets.two_weak_learners("CI-B", order=2)
    assert (second["n_iterations"], second["inner_iterations"], second["hidden"]) == (750, 1, (100, 50))
    assert presets.two_weak_learners("CT", n_iterations=3)["n_iterations"] == 3
    branches = presets.boosted_features("CI-A")
    assert (branches["after_fusion"], branches["n_cross_fits"]) == ((256, 32), 0)
    with pytest.raises(ParameterError, match="none of the paper's data sets: give one of CI-A, CI-B, CT, MI, RW"):
        presets.two_weak_learners("CI-C")


def test_a_preset_fits_with_fewer_rounds():
    data, y, _ = halves()
    model = hc.TwoWeakLearnerClassifier(**presets.two_weak_learners("CI-A", n_iterations=2, step="fixed", epochs=1))
    assert model.fit(data, y).n_iterations_ == 2
