"""The data with two modalities: what is planted, what is split, what is drawn."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import datasets
from datasets import census, covertype_shapes
from hetcore.errors import ParameterError
from tests.datasets.test_datasets import needs, real_cache  # noqa: F401


def test_either_half_alone_says_nothing_of_the_other():
    data, truth = datasets.make_two_modalities(n=4000, noise=0.0)
    assert len(data.classes) == 4 and data.sources["image"].array.shape == (4000, 10, 10, 1)
    assert abs(np.corrcoef(truth.table, truth.image)[0, 1]) < 0.05
    assert_array_equal(truth.y, np.array([f"class_{2 * a + b + 1}" for a, b in zip(truth.table, truth.image)]))
    columns = data.sources["table"].frame.to_numpy()
    assert_array_equal(truth.table, columns[:, 0] * columns[:, 1] > 0)
    bars = data.sources["image"].array[..., 0] > 150
    standing = bars.sum(axis=1).max(axis=1) == 7
    assert_array_equal(truth.image, standing)


def test_xor_has_two_classes_and_noise_and_gaps_are_as_asked():
    data, truth = datasets.make_two_modalities(n=2000, rule="xor", noise=0.2, missing=0.25, seed=3)
    code = np.where(truth.table != truth.image, "class_2", "class_1")
    assert 0.05 < (truth.y != code).mean() < 0.15 and len(data.classes) == 2
    assert data.mask.sum(axis=1).tolist() == [2000, 1500]
    again, _ = datasets.make_two_modalities(n=2000, rule="xor", noise=0.2, missing=0.25, seed=3)
    assert again.digest() == data.digest()


@pytest.mark.parametrize("params", [{"n": 3}, {"rule": "and"}, {"noise": 2}, {"missing": 1.0}, {"n_features": 1}])
def test_wrong_parameters_are_named(params):
    name, value = next(iter(params.items()))
    with pytest.raises(ParameterError, match=f"{name}={value!r}"):
        datasets.make_two_modalities(**params)


def test_digits_come_as_a_table_and_as_images():
    data = datasets.load("digits_table_and_pixels")
    assert data.sources["pixels"].array.shape == (1797, 8, 8, 1) and data.sources["shape"].n_columns == 32
    assert data.mask.all() and len(data.classes) == 10


def test_pictures_show_the_shapes_they_are_asked_for():
    shown = np.repeat([1, 2], 200)
    drawn = covertype_shapes.pictures(shown, seed=1)
    assert drawn.shape == (400, 24, 24, 1) and drawn.dtype == np.uint8
    assert_array_equal(drawn, covertype_shapes.pictures(shown, seed=1))
    bright = drawn[..., 0] >= 120
    share = bright.mean(axis=(1, 2))
    assert share[shown == 2].mean() > 1.5 * share[shown == 1].mean()  # a triangle fills half of its box
    top = [np.flatnonzero(image.any(axis=1))[0] for image in bright]
    width = np.array([image[row].sum() for image, row in zip(bright, top)])
    assert width[shown == 1].mean() < 4 and width[shown == 2].min() >= 6


@needs("covertype_shapes")
def test_forest_places_have_terrain_and_a_picture_that_is_wrong_for_nine_percent(real_cache):  # noqa: F811
    data = datasets.load("covertype_shapes")
    assert data.n == 6480 and data.mask.all() and data.sources["terrain"].n_columns == 54
    assert [(data.y == name).sum() for name in data.classes] == [2160] * 3
    assert covertype_shapes.FLIPPED == 0.09


@pytest.mark.slow
@needs("census_income_a")
def test_the_census_columns_are_dealt_once(real_cache):  # noqa: F811
    data = census.load("a", n=500)
    parts = [source.columns for source in data.sources.values()]
    assert [len(part) for part in parts] == [20, 20] and len({*parts[0], *parts[1]}) == 40
    assert "instance weight" not in parts[0] + parts[1]
    assert data.n == 500 and data.classes == ["over 50,000", "up to 50,000"]
    assert set(census.load("b", n=500).sources["structured"].columns) == set(census.MOST_IMPORTANT)
    assert census.load("a", n=500).digest() == data.digest()
    assert data.sources["structured"].kinds["age"] == "real"
