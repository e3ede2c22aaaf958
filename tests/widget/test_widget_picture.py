"""The picture of an ended training: where instances lie, what colours them, how many are drawn."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import polars as pl
from numpy.testing import assert_allclose

import hetcore as hc
from hetcore.figures.basic import MOST_POINTS
from hetcore.widget import picture as module
from hetcore.widget.picture import picture

N = 60
Y = np.arange(N) % 3


def data(labels=None) -> hc.HetData:
    """Return two tables, of which the second lacks a third of the instances and has a gap."""
    rng, ids = np.random.default_rng(0), [f"i{k}" for k in range(N)]
    one = pl.DataFrame({"id": ids, "x": 3.0 * Y + rng.normal(0, 0.1, N), "same": 1.0})
    two = pl.DataFrame({"id": ids[:40], "colour": [None, *np.array(["red", "blue", "grey"])[Y[1:40]]]})
    return hc.HetData({"one": one, "two": two}, target=None if labels is None else (ids, labels))


def predicting(values) -> SimpleNamespace:
    return SimpleNamespace(predict=lambda given: np.asarray(values))


def test_alike_instances_lie_side_by_side():
    places = np.array(picture(predicting(Y * 1.0), data())["places"])
    assert places.shape == (N, 2) and np.abs(places).max() == 1.0
    centers = np.array([places[Y == k].mean(axis=0) for k in range(3)])
    spread = max(places[Y == k].std() for k in range(3))
    gaps = [np.abs(centers[i] - centers[j]).max() for i, j in ((0, 1), (0, 2), (1, 2))]
    assert min(gaps) > spread


def test_classes_and_their_errors():
    classes = np.array(["a", "b", "c"], object)[Y]
    truth = classes.copy()
    truth[0], truth[1] = "b", None
    found = picture(predicting(classes), data(), truth)["colours"]
    assert found["prediction"] == {"names": ["a", "b", "c"], "values": Y.tolist()}
    assert found["error"] == {"names": ["right", "wrong", "not known"], "values": [1, 2, *[0] * (N - 2)]}


def test_numbers_and_their_errors_have_a_scale():
    values = np.linspace(0, 1, N)
    truth = np.where(np.arange(N) == 3, np.nan, 0.25)
    found = picture(predicting(values), data(), truth)["colours"]
    assert_allclose([found["prediction"]["low"], found["prediction"]["high"]], [0.02, 0.98])
    assert found["error"]["values"][3] is None
    assert_allclose(found["error"]["values"][4:], values[4:] - 0.25, atol=1e-3)
    assert "error" not in picture(predicting(values), data())["colours"]


def test_rare_classes_share_a_colour():
    values = np.array([f"c{min(k, 12)}" for k in range(N)], object)
    found = picture(predicting(values), data())["colours"]["prediction"]
    assert len(found["names"]) == 10 and found["names"][-1] == "others" and "c12" in found["names"]
    assert max(found["values"]) == 9 and found["values"][N - 1] == found["names"].index("c12")


def test_of_many_some_are_drawn_and_of_too_many_or_of_text_none(monkeypatch):
    X = np.random.default_rng(0).normal(size=(3000, 4))
    found = picture(predicting(X[:, 0]), X, X[:, 0])
    assert len(found["places"]) == len(found["colours"]["error"]["values"]) == MOST_POINTS
    assert len(json.dumps(found)) < 30_000  # a saved notebook carries it
    assert picture(predicting([1.0]), np.array([["ann", "Alien"]], object)) == {}
    monkeypatch.setattr(module, "MOST_ROWS", 2999)
    assert picture(predicting(X[:, 0]), X) == {}


def test_odd_tables_have_a_picture_too():
    X = np.full((5, 2), np.nan)
    assert picture(predicting(np.ones(5)), X)["places"] == [[0.0, 0.0]] * 5
    assert len(picture(predicting(np.array([np.nan])), np.ones((1, 1)))["places"]) == 1
