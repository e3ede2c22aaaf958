"""The two-learner paper's data sets under its own names: what is drawn, switched and ranked."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from datasets import structured_unstructured as protocol
from hetcore.errors import ParameterError
from tests.datasets.test_datasets import needs, real_cache  # noqa: F401


def test_as_many_labels_are_switched_as_asked_and_to_other_classes():
    labels = np.repeat(["a", "b", "c"], 400)
    found = protocol.switched(labels, 0.09, np.random.default_rng(0))
    assert (found != labels).sum() == 108 and set(found[found != labels]) == {"a", "b", "c"}
    assert (labels == np.repeat(["a", "b", "c"], 400)).all()


def test_drawings_have_shapes_of_their_kind_on_white():
    kind = np.repeat([0, 1, 2], 60)
    images = protocol.drawings(kind, side=32, rng=np.random.default_rng(0))
    assert images.shape == (180, 32, 32, 1) and images.dtype == np.uint8
    dark = images[..., 0] < 255
    assert dark.any(axis=(1, 2)).all() and images.max() == 255 and dark.mean() < 0.6
    share = [dark[kind == k].mean() for k in range(3)]
    assert share[2] > 1.15 * share[1]  # a triangle fills half of its box
    again = protocol.drawings(kind, side=32, rng=np.random.default_rng(0))
    assert (again == images).all()


def test_one_shape_is_what_it_is_called():
    row, column = np.mgrid[:9, :9]
    triangle, box, ellipse = (protocol._inside(row, column, (9, 9), shape) for shape in range(3))
    assert box.all() and triangle[0].sum() == 1 and triangle[-1].all()
    assert not ellipse[0, 0] and ellipse[4].all() and 0.7 < ellipse.mean() < 0.9


def test_mi_has_a_plane_that_knows_the_label_but_where_it_was_switched():
    data = protocol.mi(seed=1)
    S = data.sources["structured"].frame.to_numpy()
    assert S.shape == (1797, 500) and data.sources["pictures"].array.shape == (1797, 8, 8, 1)
    assert protocol.mi(seed=1).digest() == data.digest()
    plane = np.random.default_rng([1, 3]).normal(size=500)
    assert ((S @ plane > 0) == (data.y == "even")).mean() == pytest.approx(0.91, abs=0.001)


def test_training_rows_are_two_thirds_and_a_name_is_known():
    data, training = protocol.load("MI", seed=3)
    assert training.sum() == round(2 / 3 * data.n) and (protocol.load("MI", seed=4)[1] != training).any()
    with pytest.raises(ParameterError, match="none of the paper's data sets: give one of CI-A"):
        protocol.load("CI")


def test_important_columns_are_those_that_know_the_label():
    rng = np.random.default_rng(0)
    wage, age = rng.normal(size=(2, 300))
    table = pl.DataFrame({"wage per hour": wage, "word": rng.choice(["u", "v"], 300), "age": age})
    assert protocol.most_important(table, np.where(age > 0, "up", "down"), count=1) == ["age"]


@needs("covertype_shapes")
def test_ct_is_drawn_as_the_paper_says_and_its_labels_are_switched(real_cache):  # noqa: F811
    data = protocol.ct(n=400, side=32, seed=0)
    assert data.n == 400 and data.sources["pictures"].array.shape == (400, 32, 32, 1)
    assert data.sources["terrain"].n_columns == 54 and len(data.classes) == 3


@pytest.mark.slow
@needs("census_income_a")
def test_ci_b_ranks_its_columns_on_training_rows(real_cache):  # noqa: F811
    data, training = protocol.load("CI-B", seed=0)
    assert data.n == protocol.SIZES["CI-B"] and training.sum() == 8000
    assert [source.n_columns for source in data.sources.values()] == [20, 20]
    assert {"age", "education", "sex"} < set(data.sources["structured"].columns)
