"""New instances without a link, where views that see graphs lead: the tables' views say all that they know of them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import hetcore as hc
from tests.collective.test_unlinked_new_rows import N, path
from tests.consensus.test_consensus import TASKS

METHODS = {"regression": hc.GBCRegressor, "classification": hc.GBCClassifier}


def curved(task, n=N, new=False):
    """Return `path` with a target that takes many rounds to learn from the table, and hardly one from the links."""
    data = path(task, n, new=new, seed=new)
    a, b = data.sources["t"].frame.to_numpy().T
    signal = np.sin(3 * a) + np.cos(2 * b) + 0.3 * np.random.default_rng(new).normal(size=n)
    y = signal if task == "regression" else np.where(signal > 0.5, "up", "down").astype(object)
    order = np.argsort(signal)
    near = pl.DataFrame({"source": data.ids[order[1:]], "target": data.ids[order[:-1]]})
    target = (data.ids, y) if new else (data.ids[::2], y[::2])
    return hc.HetData(data.sources, {} if new else {"near": near}, target, task=task)


@pytest.mark.parametrize("task", TASKS)
def test_they_are_predicted_as_well_as_by_a_fit_without_graphs(task, tmp_path):
    data, new = curved(task), curved(task, new=True)
    found, without = (METHODS[task](random_state=0).fit(each) for each in (data, data.select(graphs=[])))
    assert sum(w for name, w in found.view_weights_.items() if "near" in name or "graphs" in name) > 0.5
    assert found.score(new) > without.score(new) - 0.02
    hc.save(found, tmp_path / "model.hetcore")
    loaded = hc.load(tmp_path / "model.hetcore")
    assert_array_equal(loaded.predict(new), found.predict(new))
    # all views, of which the tables' rested early, are timid
    found.model_.unlinked, loaded.model_.unlinked.ids = None, pl.concat([loaded.model_.unlinked.ids, new.id_series])
    assert_array_equal(loaded.predict(new), found.predict(new))
    assert found.score(new) < without.score(new) - 0.02


def test_an_instance_of_the_fit_is_predicted_as_its_curve_ends():
    data = path("regression", lonely=0.02)
    lone = (data.graphs["near"].degree == 0) & ~data.labelled
    truth = np.random.default_rng(2).normal(size=N)
    events: list = []
    found = hc.GBCRegressor(random_state=0, n_iterations=12)
    found.fit(data, eval_y=np.where(lone, truth, np.nan), callbacks=[events.append])
    assert found.model_.unlinked is not None and lone.any()
    error = np.sqrt(np.mean((found.predict(data) - truth)[lone] ** 2))
    assert events[-1].detail["metric"]["held_out"] == pytest.approx(error, rel=1e-9)
    added = found.contributions(data, graphs=True)
    assert found.scale_.mean + added[lone].sum(axis=1) == pytest.approx(found.predict(data)[lone])


def test_what_is_known_of_unlinked_labelled_instances_alone_is_used():
    data = path("regression", lonely=0.2)
    bare = data.graphs["near"].degree == 0
    # those without a link lie higher, which no table tells
    high = data.with_target(np.where(data.labelled, np.asarray(data.y, float) + 4.0 * bare, np.nan))
    assert hc.GBCRegressor(random_state=0).fit(high).model_.unlinked is None
    assert hc.GBCRegressor(random_state=0).fit(data).model_.unlinked is not None


def test_a_fit_without_graphs_and_one_as_printed_have_nothing_of_it():
    data = path("regression")
    assert hc.GBCRegressor(n_iterations=4).fit(data.select(graphs=[])).model_.unlinked is None
    assert not hasattr(hc.GBCRegressor(as_printed=True, n_iterations=4).fit(data).model_, "unlinked")
