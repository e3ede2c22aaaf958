"""Tucker, spatial kNN and inverse distances: what each says of a cell that was not observed."""

import sys

import numpy as np
import pytest

from hetcore.errors import DataError, ParameterError
from hetcore.factorization.tensor_baselines import InverseDistance, NearestSensors, Tucker, own_means

PLACES = {0: (0.0, 0.0), 1: (1.0, 0.0), 2: (3.0, 0.0), 3: (10.0, 0.0)}
# time 0: sensors 1, 2 and 3 were observed; time 1: sensor 0 alone
X = np.array([[1, 0, 0], [2, 0, 0], [3, 0, 0], [0, 1, 0]])
Y = np.array([4.0, 10.0, 40.0, 7.0])
ASKED = np.array([[0, 0, 0], [2, 0, 0]])


def test_the_nearest_sensors_that_were_observed_speak_for_one_that_was_not():
    assert NearestSensors(PLACES, 1).fit(X, Y).predict(ASKED).tolist() == [4.0, 4.0]
    assert NearestSensors(PLACES, 2).fit(X, Y).predict(ASKED).tolist() == [7.0, 22.0]
    assert NearestSensors(PLACES, 9).fit(X, Y).predict(ASKED).tolist() == [18.0, 22.0]


def test_distance_weighs():
    weights = 1.0 / np.array([1.0, 3.0, 10.0]) ** 2
    fitted = InverseDistance(PLACES).fit(X, Y).predict(ASKED)
    assert fitted[0] == pytest.approx(weights @ [4, 10, 40] / weights.sum())
    assert fitted[1] == pytest.approx((4 / 2**2 + 40 / 7**2) / (1 / 2**2 + 1 / 7**2))
    assert InverseDistance(PLACES, 60.0).fit(X, Y).predict(ASKED[:1]) == pytest.approx(4.0)
    same = dict.fromkeys(PLACES, (0.0, 0.0))
    assert InverseDistance(same).fit(X, Y).predict(ASKED[:1]) == pytest.approx(18.0)


@pytest.mark.parametrize("model", [NearestSensors(PLACES), InverseDistance(PLACES), Tucker((1, 1, 1))])
def test_no_other_sensor_and_unseen_codes(model):
    fitted = model.fit(X, Y).predict([[2, 1, 0], [99, 0, 0], [0, 99, 0]])
    assert np.isfinite(fitted).all() and fitted[1:].tolist() == [Y.mean(), Y.mean()]


def test_a_cell_has_its_sensors_mean_of_its_quantity_or_the_next_best():
    tensor = np.full((3, 2, 2), np.nan)
    tensor[0, 0, 0], tensor[0, 1, 0], tensor[1, 0, 0], tensor[0, 0, 1] = 1.0, 3.0, 8.0, 5.0
    np.testing.assert_array_equal(own_means(tensor)[:, 0, 0], [2.0, 8.0, 4.0])
    np.testing.assert_array_equal(own_means(tensor)[:, 1, 1], [5.0, 5.0, 5.0])


def test_tucker_fills_in_a_tensor_of_low_rank():
    rng = np.random.default_rng(0)
    tensor = np.einsum("ia,ja,ka->ijk", *(rng.normal(1, 0.5, (n, 1)) for n in (8, 9, 2)))
    cells = np.indices(tensor.shape).reshape(3, -1).T
    order = rng.permutation(len(cells))
    seen, asked = cells[order[:100]], cells[order[100:]]
    model = Tucker((2, 2, 2), 500).fit(seen, tensor[tuple(seen.T)])
    truth, spread = tensor[tuple(asked.T)], (tensor - own_means(tensor)).std()
    assert np.sqrt(np.mean((model.predict(asked) - truth) ** 2)) < 0.25 * spread


def test_a_missing_tensorly_is_reported_in_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorly", None)
    with pytest.raises(ParameterError, match="Tucker needs the package tensorly: install it"):
        Tucker().fit(X, Y)


@pytest.mark.parametrize("model, words", [
    (Tucker((0, 1, 1)), r"ranks=\(0, 1, 1\) must be three"), (Tucker((2, 2)), r"ranks=\(2, 2\) must be three"),
    (NearestSensors({0: (0, 0)}), "no place of the sensor 1"), (NearestSensors(PLACES, 0), "n_neighbors=0 must be"),
    (InverseDistance(PLACES, -1), "power=-1 must be"),
])  # fmt: skip
def test_parameters_are_refused_by_name(model, words):
    with pytest.raises(ParameterError, match=words):
        model.fit(X, Y)


def test_two_columns_of_codes_are_no_tensor():
    with pytest.raises(DataError, match="3 columns of codes"):
        NearestSensors(PLACES).fit(X[:, :2], Y)
