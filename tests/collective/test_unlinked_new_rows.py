"""New instances without a link, where all of the fit had links, are predicted by own columns alone."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import hetcore as hc
from hetcore.data import HetData

N = 400


def path(task, n=N, lonely=0.0, new=False, seed=0):
    """Return instances along a path in the order of their labels, every other one labelled; some are without a link."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    signal = X @ [1.0, 0.5] + 0.2 * rng.normal(size=n)
    y = signal if task == "regression" else np.where(signal > 0, "up", "down")
    ids = [f"{'new' if new else 'old'}{k}" for k in range(n)]
    table = pl.DataFrame({"id": ids, "a": X[:, 0], "b": X[:, 1]})
    linked = np.argsort(signal)[rng.random(n) >= lonely]
    pairs = pl.DataFrame([(ids[a], ids[b]) for a, b in zip(linked, linked[1:])], ["source", "target"], orient="row")
    graphs = {} if new else {"near": pairs}
    known = ids if new else ids[::2]
    target = pl.DataFrame({"id": known, "y": y if new else y[::2]})
    return HetData({"t": table}, graphs, target, id_column="id", task=task)


METHODS = {"regression": (hc.MGBRegressor, 0.8), "classification": (hc.MGBClassifier, 0.85)}


@pytest.mark.parametrize("task", METHODS)
def test_they_are_predicted_nearly_as_well_as_linked_ones(task, tmp_path):
    data, new = path(task), path(task, new=True, seed=1)
    kind, least = METHODS[task]
    model = kind(random_state=0).fit(data)
    assert not model.became_gb_ and model.model_.alone is not None
    assert model.score(new) > least
    hc.save(model, tmp_path / "model.hetcore")
    assert_array_equal(hc.load(tmp_path / "model.hetcore").predict(new), model.predict(new))


def test_where_enough_labels_are_of_unlinked_instances_the_trees_know_what_that_means():
    model = hc.MGBRegressor(random_state=0).fit(path("regression", lonely=0.15))
    assert model.model_.alone is None


def test_the_curve_ends_at_what_is_predicted_of_unlinked_instances():
    data = path("regression", lonely=0.02)
    lone = (data.graphs["near"].degree == 0) & ~data.labelled
    truth = np.random.default_rng(2).normal(size=N)
    events: list = []
    eval_y = np.where(lone, truth, np.nan)  # they alone are scored
    model = hc.MGBRegressor(random_state=0, n_iterations=2).fit(data, eval_y=eval_y, callbacks=[events.append])
    assert model.model_.alone is not None and lone.any()
    error = np.sqrt(np.mean((model.predict(data) - truth)[lone] ** 2))
    assert events[-1].detail["metric"]["held_out"] == pytest.approx(error, rel=1e-9)
