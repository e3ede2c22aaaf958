"""The best joined learner: chosen within the labels, scored on others, for any few labels that there are."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.baselines import best_joined as module
from hetcore.baselines.best_joined import best_joined
from hetcore.baselines.joined import JoinedLinear, JoinedSupportVectors


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Leave out the boosted trees, which take seconds."""
    two = {"linear model": JoinedLinear, "SVM": JoinedSupportVectors}
    monkeypatch.setattr(module, "learners", lambda n, seed: {name: kind() for name, kind in two.items()})


def made(target, n=60, seed=0):
    """Return two tables, one of which tells a straight line's side, or a number."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    ids = [f"i{k}" for k in range(n)]
    y = X[:, 0] + X[:, 2] if target == "number" else np.where(X[:, 0] + X[:, 2] > 0, "u", "v")
    one, two = (pl.DataFrame({"id": ids, "a": X[:, k], "b": X[:, k + 1]}) for k in (0, 2))
    return hc.HetData({"one": one, "two": two}, target=(ids, y))


def split(data, known):
    """Return labels to learn from, the first so many, and those to score by."""
    nothing = np.nan if data.y.dtype.kind == "f" else None
    y, rest = data.y.copy(), data.y.copy()
    y[known:], rest[:known] = nothing, nothing
    return y, rest


@pytest.mark.parametrize("target", ["class", "number"])
def test_it_scores_like_the_learner_it_chose(target):
    data = made(target)
    y, rest = split(data, 30)
    found = best_joined(data, y, rest)
    kind = {"linear model": JoinedLinear, "SVM": JoinedSupportVectors}[found.name]
    predicted = kind().fit(data, y).predict(data)[30:]
    losses = predicted != data.y[30:] if target == "class" else (predicted - data.y[30:]) ** 2
    np.testing.assert_allclose(found.losses, losses.astype(float))
    assert found.held_out == pytest.approx(losses.mean() if target == "class" else np.sqrt(losses.mean()))
    assert found.cross_validated[found.name] == min(found.cross_validated.values())
    assert found.name == "linear model"  # the truth is a plane


def test_the_labels_to_score_by_choose_nothing():
    data = made("class")
    y, rest = split(data, 30)
    other = rest.copy()
    other[30:] = np.where(rest[30:] == "u", "v", "u")
    one, two = best_joined(data, y, rest), best_joined(data, y, other)
    assert one.name == two.name and one.cross_validated == two.cross_validated
    np.testing.assert_allclose(one.losses, 1 - two.losses)


@pytest.mark.parametrize("target", ["class", "number"])
@pytest.mark.parametrize("known", [1, 2, 3, 4])
def test_few_labels_are_enough(target, known):
    data = made(target)
    y, rest = split(data, known)
    found = best_joined(data, y, rest)
    assert np.isfinite(found.held_out) and len(found.losses) == data.n - known
    assert (found.cross_validated == {}) == (known == 1)


def test_a_class_with_one_label_and_one_without_any():
    data = made("class")
    y, rest = split(data, 20)
    y[:20], y[0], rest[40:] = "u", "v", "w"
    found = best_joined(data.with_target(data.y, "classification"), y, rest)
    assert np.isfinite(found.held_out) and found.losses[20:].min() == 1.0  # nobody can say "w"


def test_it_tells_each_fit_and_stops_when_asked():
    data, events = made("class"), []
    assert best_joined(data, callbacks=[events.append]).held_out != best_joined(data).held_out  # NaN: nothing to score
    assert [event.index for event in events] == list(range(events[0].total)) and events[0].total == 7
    assert best_joined(data, callbacks=[lambda event: event.index == 1]) is None


def test_no_label_is_refused():
    data = made("number")
    with pytest.raises(hc.errors.DataError, match="labelled"):
        best_joined(data, np.full(data.n, np.nan))
