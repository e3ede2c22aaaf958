"""What a round of the default tells: whose each view's weight is, and the losses that "auto" chose a lambda by."""

from __future__ import annotations

import numpy as np
import pytest

import hetcore as hc
from tests.consensus.test_consensus import planted


@pytest.fixture(scope="module")
def fitted_events():
    data, _ = planted("classification")
    events = []
    model = hc.GBCClassifier(lambda0="auto", n_iterations=6).fit(data, callbacks=[events.append])
    return model, events


def test_the_weight_of_a_view_is_dealt_to_its_tables_and_graphs(fitted_events):
    model, events = fitted_events
    last = events[-1]
    for view, weight in last.detail["views"].items():
        assert sum(last.detail["dealt"].get(view, {}).values()) == pytest.approx(weight, abs=1e-4)
    held = {name: sum(part.get(name, 0.0) for part in last.detail["dealt"].values()) for name in model.source_weights_}
    total = sum(held.values())
    assert {name: value / total for name, value in held.items()} == pytest.approx(last.source_weights, abs=1e-4)


def test_auto_takes_the_lambda_with_the_lowest_loss_reported(fitted_events):
    model, events = fitted_events
    paths = events[-1].detail["paths"]
    assert set(paths) == {"lambda0", "lambda1"}
    for name, path in paths.items():
        values, losses = zip(*path)
        assert values[0] == 0.0 and np.isfinite(losses).all()
        assert values[int(np.argmin(losses))] == events[-1].detail["choices"][name]


def test_what_is_given_has_no_path():
    data, _ = planted("regression", n=60)
    events = []
    hc.GBCRegressor(n_iterations=2).fit(data.select(graphs=[]), callbacks=[events.append])
    assert events[-1].detail["paths"] == {}  # lambda0 is given, and there is no graph to smooth along
