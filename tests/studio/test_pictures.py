"""The small picture of a data set shows its tables, graphs and what is predicted, and asks no host."""

import base64
import xml.etree.ElementTree as ET  # noqa: S405 - our own text

import pytest

from datasets.shapes import SHAPES, Shape, Table
from studio.views.data import pictures

NAME = "{http://www.w3.org/2000/svg}"


def drawn(shape):
    return ET.fromstring(pictures.picture(shape))  # noqa: S314


def frames(root):
    return [each for each in root.iter(f"{NAME}rect") if each.get("fill-opacity") == "0.3"]


@pytest.mark.parametrize("name", list(SHAPES))
def test_every_picture_lies_within_its_frame(name):
    root, shape = drawn(SHAPES[name]), SHAPES[name]
    width = float(root.get("width"))
    for each in root.iter(f"{NAME}rect"):
        x, y, wide, high = (float(each.get(side)) for side in ("x", "y", "width", "height"))
        assert x >= 0 and x + wide <= width and y >= 0 and y + high <= pictures.HEIGHT + 1
    assert len(frames(root)) == min(len(shape.tables), pictures.MOST_TABLES)
    assert len(list(root.iter(f"{NAME}circle"))) == 5 * min(shape.graphs, pictures.MOST_GRAPHS)


def test_tables_are_as_high_as_the_instances_that_they_have_and_domains_stand_as_stairs():
    whole, part = frames(drawn(Shape((Table(8), Table(8, 0.5)))))
    assert float(part.get("height")) == pytest.approx(float(whole.get("height")) / 2, abs=0.1)
    tops = [float(each.get("y")) for each in frames(drawn(Shape((Table(8, 0.25),) * 4)))]
    assert tops == sorted(set(tops))


def test_more_graphs_than_fit_are_counted():
    assert "+87" in "".join(drawn(SHAPES["customers"]).itertext())


def test_an_image_is_in_the_text_and_says_what_it_shows():
    text = pictures.image(SHAPES["digits_views"])
    assert text.startswith("![5 tables, 2 graphs, 10 classes](data:image/svg+xml;base64,")
    code = text.partition("base64,")[2].rstrip(")")
    assert base64.b64decode(code).decode() == pictures.picture(SHAPES["digits_views"])
    assert pictures.summary(SHAPES["covertype_shapes"]) == "1 table, 1 image each, 3 classes"
    assert pictures.summary(SHAPES["movie_revenue"]) == "3 tables, 1 graph, a number to predict"
