"""What fits have in common is recalled: the same bits with and without, nothing stale, a bounded number of bytes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.binning import BinMapper
from hetcore.consensus import recall, smooth_learner, view_learners
from hetcore.consensus.kernel_ridge import SmoothPrediction
from hetcore.consensus.recall import MEMORY, Memory, Recalled
from hetcore.consensus.smooth_learner import SmoothLearner
from hetcore.consensus.table_columns import TableEncoding
from hetcore.consensus.view_learners import Advanced, TreeLearner
from hetcore.consensus.views import fitted_views
from hetcore.targets import KnownLabels
from tests.consensus.test_consensus import planted

ROUNDS = {"n_iterations": 4, "lambda1": 0.5}
# Each from where the one before left off: other pulls, only smoothing, more rounds, fewer, the first again.
MOVES = ({}, {"lambda0": 1.0}, {"lambda1": 0.0}, {"lambda0": 1.0, "n_iterations": 6}, {"n_iterations": 2}, {})


@pytest.fixture
def memory():
    MEMORY.give_room(200 << 20)
    yield MEMORY
    MEMORY.give_room(0)


def fitted(data, **params):
    """Return all that a fit says."""
    model = hc.GBCRegressor(**(ROUNDS | params)).fit(data)
    explained = model.explain(data)
    return model.history_.drop("seconds"), explained.prediction, explained.contributions


def same(ours, theirs):
    assert ours[0].equals(theirs[0])
    np.testing.assert_array_equal(ours[1], theirs[1])
    np.testing.assert_array_equal(ours[2], theirs[2])


@pytest.fixture(scope="module")
def fits():
    """A data set, and what each move says without a memory."""
    data, _ = planted("regression", n=60)
    return data, [fitted(data, **move) for move in MOVES]


@pytest.mark.slow
def test_same_bits(fits, memory):
    data, alone = fits
    for move, expected in zip(MOVES, alone):
        same(fitted(data, **move), expected)


@pytest.mark.slow
def test_same_bits_where_most_is_forgotten(fits):
    data, alone = fits
    MEMORY.give_room(400_000)
    try:
        for move, expected in zip(MOVES, alone):
            same(fitted(data, **move), expected)
            assert 0 < MEMORY.held <= 400_000
    finally:
        MEMORY.give_room(0)


def test_no_learner_is_made_for_another_lambda1(memory, monkeypatch):
    data, _ = planted("regression", n=40)
    small = {"n_iterations": 2, "base_learner": "kernel"}
    expected = fitted(data, lambda1=1.0, **small)  # which leaves what it has learned
    fitted(data, **small)
    monkeypatch.setattr(Recalled, "_now", lambda self: pytest.fail("a learner was asked"))
    monkeypatch.setattr(view_learners, "_predicted", lambda *_: pytest.fail("what learners say was predicted anew"))
    same(fitted(data, lambda1=1.0, **small), expected)


def test_columns_and_first_trees_are_not_made_again_for_another_lambda0(memory, monkeypatch):
    data, _ = planted("regression", n=40)
    expected = fitted(data, lambda0=1.0, n_iterations=2)
    MEMORY.give_room(0)
    MEMORY.give_room(200 << 20)
    fitted(data, n_iterations=2)
    monkeypatch.setattr(SmoothPrediction, "compared", lambda *_: pytest.fail("rows were compared with landmarks anew"))
    monkeypatch.setattr(BinMapper, "transform", lambda *_: pytest.fail("rows were binned anew"))
    for module, name in ((smooth_learner, "LandmarkFeatures"), (view_learners, "_binned")):
        monkeypatch.setattr(module, name, lambda *_: pytest.fail("columns were prepared anew"))
    monkeypatch.setattr(SmoothLearner, "_features", lambda *_: pytest.fail("features were made anew"))
    monkeypatch.setattr(TreeLearner, "_first_round", lambda _: pytest.fail("trees that nothing pulls were grown anew"))
    same(fitted(data, lambda0=1.0, n_iterations=2), expected)


@pytest.mark.slow
def test_other_labels_or_values_are_other_fits(fits, memory):
    data, _ = fits
    y = data.y.copy()
    y[np.flatnonzero(data.labelled)[0]] += 1.0
    changed = [data.with_noise(data.source_names[0], 0.5), data.with_target(y, "regression")]
    fitted(data)
    ours = [fitted(each) for each in changed]
    MEMORY.give_room(0)
    for found, each in zip(ours, changed):
        same(found, fitted(each))
        assert not np.array_equal(found[1], fitted(data)[1])


def test_views_of_other_sources_stay_where_one_changes(memory):
    data, _ = planted("regression", n=40)
    y, changed = data.y, data.with_noise(data.source_names[0], 0.5)
    columns = ("table source_2", "labels of graph_1", "table source_1", "joined")
    keys = [{made.view.columns: made.key for made in _views_of(each, y)} for each in (data, changed)]
    assert [keys[0][name] == keys[1][name] for name in columns] == [True, True, False, False]


def test_views_that_see_no_label_stay_with_other_labels(memory, monkeypatch):
    data, _ = planted("regression", n=40)
    y = data.y.copy()
    first, second, *_ = np.flatnonzero(data.labelled)
    y[first], y[second] = y[first] + 1.0, np.nan
    other, few = data.with_target(y, "regression"), {"n_iterations": 2}
    keys = [{made.view.columns: made.key for made in _views_of(data, each)} for each in (data.y, y)]
    columns = ("table source_1", "joined", "smoothed over graph_1", "labels of graph_1")
    assert [keys[0][name] == keys[1][name] for name in columns] == [True, True, True, False]
    MEMORY.give_room(0)
    expected = fitted(other, **few)
    MEMORY.give_room(200 << 20)
    fitted(data, **few)
    monkeypatch.setattr(TableEncoding, "fitted", lambda *_: pytest.fail("a table was encoded anew"))
    same(fitted(other, **few), expected)


def grouped(groups, graphs=("same",)):
    """Return two tables, of whose second one a column is `groups`, and links within groups of six, and others."""
    rng, ids = np.random.default_rng(0), np.arange(60)
    column = pl.DataFrame({"group": [f"group {each}" for each in groups], "number": rng.normal(size=60)})
    tables = {"numbers": hc.Source(ids, rng.normal(size=(60, 3))), "groups": hc.Source(ids, column)}
    links = {"same": [(i, j) for i in ids for j in ids[i + 1 :] if i // 6 == j // 6], "other": zip(ids, ids[2:])}
    made = {name: hc.Graph(pl.DataFrame(list(links[name]), ["a", "b"], orient="row")) for name in graphs}
    return hc.HetData(tables, made, (ids[:40], rng.normal(size=40)), task="regression")


def test_members_rows_of_their_own_and_the_number_of_graphs_are_not_stale(memory, monkeypatch):
    groups = np.arange(60) // 6
    data, mixed = grouped(groups), grouped(np.random.default_rng(1).permutation(groups))
    # a column of another table decides whether members learn from rows of their own
    monkeypatch.setattr("hetcore.consensus.views.MOST_UNSEEN", 100)
    # the number of graphs decides what a linear learner sees of the tables
    monkeypatch.setattr("hetcore.consensus.table_columns.MOST_LINEAR_CELLS", 2_000)
    monkeypatch.setattr("hetcore.consensus.table_columns.MOST_SMOOTH_COLUMNS", 4)
    few = {"n_iterations": 1, "n_repeats": 1, "lambda0": 0.1}
    for other in (mixed, grouped(groups, ("same", "other"))):
        MEMORY.give_room(0)
        expected = fitted(other, **few)
        MEMORY.give_room(200 << 20)
        fitted(data, **few)
        same(fitted(other, **few), expected)


def _views_of(data, y):
    codes = np.where(np.isnan(y), 0.0, y)[:, None]
    return fitted_views(data, KnownLabels(codes, np.where(np.isnan(y), -1, np.arange(len(y)) % 3)))[1]


def test_what_was_used_least_lately_is_forgotten_first():
    memory = Memory(10_000)
    for name in "abc":
        memory.put("array", name, np.zeros(250))  # some 2,100 bytes each
    assert memory.get("array", "a") is not None
    for name in "de":
        memory.put("array", name, np.zeros(250))
    assert [name for name in "abcde" if memory.get("array", name) is not None] == ["a", "c", "d", "e"]
    memory.put("array", "large", np.zeros(1_000))
    assert memory.get("array", "large") is None  # it would leave little room for all else
    assert memory.take("array", "a") is not None and memory.take("array", "a") is None
    memory.give_room(0)
    memory.put("array", "a", np.zeros(1))
    assert memory.held == 0 and memory.get("array", "c") is None


class Counting:
    """A learner that counts its rounds and what it was pulled to."""

    def __init__(self):
        self.state = 0.0

    def advance(self, t, pull=None):
        self.state = 2 * self.state + t + (0 if pull is None else float(pull.sum()))
        return Advanced(self.state, t, None, None)

    def keep(self):
        return {"state": np.array(self.state)}


def rounds(memory, pulls, made):
    def make():
        made.append(Counting())
        return made[-1]

    learner = Recalled(memory, "key", make)
    losses = [learner.advance(t, None if pull is None else np.array([pull])) for t, pull in enumerate(pulls)]
    return [each.loss for each in losses], float(learner.keep()["state"])


def test_a_learner_goes_on_where_a_fit_ended_or_is_taken_there():
    memory, made = Memory(1 << 20), []
    expected = [rounds(Memory(), pulls, []) for pulls in ([None, 1.0, 2.0], [None, 1.0, 2.0, 3.0], [None, 1.0, 5.0])]
    assert rounds(memory, [None, 1.0, 2.0], made) == expected[0] and len(made) == 1
    assert rounds(memory, [None, 1.0, 2.0], made) == expected[0] and len(made) == 1  # all is known
    assert rounds(memory, [None, 1.0, 2.0, 3.0], made) == expected[1] and len(made) == 1  # the kept one goes on
    assert rounds(memory, [None, 1.0, 5.0], made) == expected[2] and len(made) == 2  # another pull: two rounds again


def test_size_counts_what_arrays_are_views_of():
    whole = np.zeros(1_000)
    assert recall.size_of([whole[:1], whole[1:2]]) >= whole.nbytes
    assert recall.size_of([whole, whole]) < 1.2 * whole.nbytes
