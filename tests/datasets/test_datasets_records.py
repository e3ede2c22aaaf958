"""MovieLens and the Intel lab: their known sizes, and what the loaders say of them; skipped where the files are not."""

import numpy as np
import pytest

import datasets
from datasets import intel_lab, movielens
from hetcore.data.plain import codes
from tests.datasets.test_datasets import needs, real_cache  # noqa: F401 (a fixture)


@needs("movielens_100k")
@pytest.mark.usefixtures("real_cache")
def test_movielens():
    X, y, ids = codes(datasets.load("movielens_100k"), ("user", "item"))
    assert X.shape == (100_000, 2) and set(y) == {1.0, 2.0, 3.0, 4.0, 5.0} and len(set(ids)) == 100_000
    users, counts = np.unique(X[:, 0], return_counts=True)
    assert users.size == 943 and counts.min() == 20 and np.unique(X[:, 1]).size == 1682
    assert X[0].tolist() == ["196", "Kolya (1996)"] and y[0] == 3
    assert y.mean() == pytest.approx(3.52986)


@needs("movielens_100k")
@pytest.mark.usefixtures("real_cache")
def test_films_that_share_a_title_keep_their_number():
    items = movielens.ratings()["item"].unique().to_list()
    numbered = [item for item in items if " #" in item]
    assert len(numbered) == 36 and len({item.split(" #")[0] for item in numbered}) == 18


@needs("intel_lab")
@pytest.mark.usefixtures("real_cache")
def test_the_intel_lab():
    tensor = intel_lab.readings()
    assert tensor.shape == (50, 240, 2) and np.isfinite(tensor).all()
    temperature, humidity = tensor[..., 0], tensor[..., 1]
    assert 13 < temperature.min() and temperature.max() < 37 and 14 < humidity.min() and humidity.max() < 56
    X, y, _ = codes(datasets.load("intel_lab"), ("sensor", "time", "quantity"))
    assert X.shape == (24_000, 3) and X[1].tolist() == ["01", "000", "humidity"]
    for q, name in enumerate(intel_lab.QUANTITIES):
        own = y[X[:, 2] == name]
        assert own.mean() == pytest.approx(0, abs=1e-9) and own.std() == pytest.approx(1)
        np.testing.assert_allclose(np.corrcoef(own, tensor[..., q].ravel())[0, 1], 1.0)


@needs("intel_lab")
@pytest.mark.usefixtures("real_cache")
def test_sensors_that_are_near_are_alike():
    places = intel_lab.places()
    assert places.shape == (50, 2) and len(np.unique(places, axis=0)) == 50
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    series = intel_lab.readings()[..., 0]
    alike = np.corrcoef(series - series.mean(axis=0))
    pairs = np.triu_indices(50, 1)
    assert np.corrcoef(np.exp(-distances[pairs] / 4), alike[pairs])[0, 1] > 0.4
