"""The default on tables whose records lie on several workers: the model file is that of a fit in one process."""

from __future__ import annotations

import pickle
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

import hetcore as hc

pytest.importorskip("distributed", reason="Dask is not installed: pip install -r requirements-dask.txt")
from hetcore import binning, distributed  # noqa: E402 - after the skip
from hetcore.base import boost  # noqa: E402
from hetcore.consensus import view_learners, views  # noqa: E402
from hetcore.distributed import worker_pool  # noqa: E402
from hetcore.distributed.sharded_views import ShardedViewExecutor  # noqa: E402
from hetcore.distributed.view_shards import TableShard  # noqa: E402
from hetcore.errors import ParameterError  # noqa: E402
from tests.consensus.test_consensus import planted  # noqa: E402
from tests.consensus.test_distributed import same  # noqa: E402
from tests.consensus.test_distributed_counts import FirstAnswersThenGoes, Workers, made  # noqa: E402
from tests.consensus.test_distributed_paths import Reading  # noqa: E402
from tests.consensus.test_row_shards import DEFAULT, by_path  # noqa: E402
from tests.consensus.test_unlinked import curved  # noqa: E402

TASKS = {"numbers": ("regression", 3), "two classes": ("classification", 2), "three classes": ("classification", 3)}
ONE_TABLE = {"n_sources": 1, "n_noise_sources": 0, "n_graphs": 1}


class Wired(Workers):
    """Actors that get what is sent to them as bytes, as over a wire, and whose arrays nobody may write to."""

    def call(self, worker, method, *args):
        buffers = []
        sent = pickle.dumps(args, protocol=5, buffer_callback=buffers.append)
        return super().call(worker, method, *pickle.loads(sent, buffers=[each.raw().toreadonly() for each in buffers]))


def fit_sharded(workers, there, data, shard_rows):
    """Fit with actors that stand in for a cluster's, records dealt out by ranges."""
    executor = ShardedViewExecutor(SimpleNamespace(scheduler=SimpleNamespace(address="")), shard_rows)
    executor._workers = workers
    problem = there._problem(data, None, None)
    boost(there, lambda: there._start(problem, executor))
    workers.views = [each.view for each in executor._placed.values() if each.view is not None]
    workers.actors = [each.actor for each in workers.workers()]
    return there


def both(workers, data, shard_rows, task="regression", **params):
    """Return a fit here, and one with records dealt out."""
    here, there = (made(task, **DEFAULT | params) for _ in range(2))
    return here.fit(data), fit_sharded(workers, there, data, shard_rows)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("names, shard_rows", [("a", 25), ("ab", 50), ("abcd", 30), ("ab", 1000)])
def test_the_file_is_that_of_one_process(task, names, shard_rows):
    name, n_classes = TASKS[task]
    data, _ = planted(name, n_classes=n_classes)
    here, there = both(Wired(names), data, shard_rows, name)
    assert same(here, there)
    assert [view for view in there.view_weights_ if view.startswith("table")]


@pytest.mark.parametrize("task", TASKS)
def test_all_kinds_of_trees_of_a_single_table(task, monkeypatch):
    monkeypatch.setattr(views, "MANY_LABELS", 30)
    # of which some are drawn
    monkeypatch.setattr(view_learners, "MOST_ROWS", 20)
    name, n_classes = TASKS[task]
    here, there = both(Wired("abc"), planted(name, n_classes=n_classes, n=120, **ONE_TABLE)[0], 30, name)
    kinds = {"trees", "shallow trees", "oblivious trees", "deep trees"}
    assert {f"table source_1 ({kind})" for kind in kinds} <= set(there.view_weights_)
    assert same(here, there)


SETTINGS = {
    "nothing pulls": {"lambda0": 0.0},
    "pulled rows weigh more": {"lambda0": 2.0, "subsample": 1.0},
    "no limit of the depth": {"max_depth": -1, "min_samples_leaf": 1, "l2": 0.5},
    "few columns": {"column_sample": 0.1},
    "two fits": {"n_repeats": 2},
    "other weights": {"weights": "learned"},
}


@pytest.mark.parametrize("settings", SETTINGS)
def test_other_settings_too(settings):
    data, _ = planted("regression", n_features=12)
    assert same(*both(Workers("ab"), data, 40, **SETTINGS[settings]))


def test_steps_of_sure_classes_are_held_within_their_limit():
    data, _ = planted("classification", n_classes=6, n_features=6, **ONE_TABLE)
    here, there = both(Workers("ab"), data, 40, "classification", l2=1e-3, min_samples_leaf=1)
    assert same(here, there)
    # each kind of tree has some
    assert [np.abs(kept["values"]).max() for kept in there.model_.learners[:3]] == [view_learners.LEAF_LIMIT] * 3


def test_a_view_whose_steps_are_too_long_stays_where_it_is():
    workers = Workers("ab")
    data, _ = planted("regression", n_features=12)
    assert same(*both(workers, data, 40, learning_rate=10.0, n_iterations=9, lambda0=0.0))
    assert any(len(view.trees) < view.round for view in workers.views)


def test_a_range_of_one_instance_has_the_bits_of_one_process(monkeypatch):
    found, take = [], view_learners.ViewState.take

    def noted(view, advanced, labelled):
        found.append([each.tobytes() for each in (advanced.scores, advanced.trained) if each is not None])
        return take(view, advanced, labelled)

    monkeypatch.setattr(view_learners.ViewState, "take", noted)
    # of ten members, whose mean of a single row NumPy adds in an order of its own
    both(Workers("a"), planted("regression", n=24, **ONE_TABLE)[0], 1)
    assert found[: len(found) // 2] == found[len(found) // 2 :]


def test_thresholds_are_of_the_rows_that_one_process_draws(monkeypatch):
    monkeypatch.setattr(binning, "_SAMPLE", 30)
    data, _ = planted("regression", n=90)
    assert same(*both(Workers("ab"), data, 40))


def test_draws_of_many_rows_too(monkeypatch):
    # beyond so many NumPy draws in another way
    monkeypatch.setattr("hetcore.members.MOST_TOGETHER", 20)
    data, _ = planted("regression", **ONE_TABLE)
    assert same(*both(Workers("ab"), data, 40))


def test_a_table_with_records_in_one_range_alone_and_no_label():
    held, _ = planted("regression", n_graphs=0)
    few = hc.Source(["new 1", "new 2"], np.array([[0.0, 1.0], [1.0, np.nan]]))
    data = hc.HetData(held.sources | {"few": few}, {}, (held.ids, held.y))
    assert same(*both(Workers("ab"), data, 32))


def test_a_column_that_is_there_in_one_range_alone():
    held, _ = planted("regression", **ONE_TABLE | {"n_graphs": 0})
    ((name, source),) = held.sources.items()
    values = source.frame.to_numpy().copy()
    # of one bin, and missing elsewhere: it varies, though in no shard
    values[:, 0] = np.where(np.arange(len(values)) < len(values) // 2, 1.0, np.nan)
    values[:, 1] = 7.0
    data = hc.HetData({name: hc.Source(source.ids, values)}, {}, (held.ids, held.y))
    here, there = both(Workers("ab"), data, data.n // 2)
    assert same(here, there)


def test_views_go_on_for_new_instances_without_a_link():
    workers = Workers("ab")
    here, there = both(workers, curved("regression"), 200, n_iterations=60)
    view = workers.views[0]
    assert there.model_.unlinked is not None and view.round > there.n_iterations_ and same(here, there)
    # without pulled rows, in the words of the rounds that had some
    assert view._most_rows == max(view.draws.sizes) + view.draws.n_shared(True)


@pytest.mark.parametrize("order", [np.arange, np.random.default_rng(0).permutation], ids=["in order", "mixed"])
def test_tables_by_path(tmp_path, order, monkeypatch):
    data = by_path(planted("regression")[0], tmp_path, order)
    here, there = (made(**DEFAULT) for _ in range(2))
    workers = Reading(monkeypatch)
    workers.names = "abc"
    fit_sharded(workers, there, data, 34)
    # the process of the fit reads none
    assert set(workers.tables) == set("abc")
    assert same(here.fit(data), there)
    # whoever has learned how a table is encoded, each has a range of all tables
    shards = [sum(isinstance(each, TableShard) for each in held._learners.values()) for held in workers.actors]
    assert shards == [len(data.sources)] * 3


class LostAt(Wired):
    """Actors of which one goes when it is asked a method of a table's or a view's shard for the nth time."""

    def __init__(self, method, nth):
        super().__init__("abc")
        self.method, self.left = method, nth

    def answer(self, call):
        method, args = call.future
        asked = {each.method for calls in args[0].own.values() for each in calls[0]} if method == "run" else {method}
        self.left -= self.method in asked
        if self.method in asked and self.left == 0:
            self.found.pop(call.worker.address)
            raise worker_pool.WorkerLostError
        return super().answer(call)


ONCE, SELDOM = ["take", "sampled", "bin", "begin", "keep"], ["remember", "pulled_members"]
OFTEN = ["slopes", "root", "split", "drawn_rows", "open_round", "end"]
LOSSES = [*product(ONCE, [1]), *product(SELDOM, [1, 2, 4]), *product(OFTEN, [1, 2, 5])]


@pytest.mark.parametrize("method, nth", LOSSES)
def test_a_loss_at_any_step_is_survived(method, nth):
    data, _ = planted("regression", n=40, **ONE_TABLE)
    workers = LostAt(method, nth)
    here, there = both(workers, data, 16, max_depth=2)
    assert workers.left <= 0 and same(here, there)


@pytest.mark.parametrize("task", TASKS)
def test_many_losses_are_survived(task):
    name, n_classes = TASKS[task]
    workers = Wired("abc")
    workers.loses = lambda asked: len(workers.asked) % 37 == 0
    data, _ = planted(name, n_classes=n_classes, n=60, **ONE_TABLE)
    here, there = both(workers, data, 16, name)
    assert there.history_["bytes:loaded"].to_numpy()[1:].any() and same(here, there)


def test_who_has_answered_and_is_lost_before_the_others_repeats_the_step():
    workers = FirstAnswersThenGoes("do")
    here, there = both(workers, planted("regression", n=40)[0], 16)
    assert workers.gone == 2 and same(here, there)


@pytest.mark.parametrize("task", TASKS)
def test_histograms_travel_and_of_rows_their_scores_alone(task, monkeypatch):
    name, n_classes = TASKS[task]
    rng, n = np.random.default_rng(0), 600
    # few values, so that each shard has rows of them all
    tables = {each: hc.Source(np.arange(n), rng.integers(0, 3, (n, 4))) for each in "ab"}
    y = rng.normal(size=n) if name == "regression" else rng.integers(0, n_classes, n).astype(str)
    data = hc.HetData(tables, {}, (np.arange(n)[::2], y[::2]), task=name)
    workers, better, advance = Workers("ab"), [], ShardedViewExecutor.advance

    def noted(executor, *args):
        found = advance(executor, *args)
        better.append([each.scores is not None for each in found])
        return found

    monkeypatch.setattr(ShardedViewExecutor, "advance", noted)
    there = fit_sharded(workers, made(name, **DEFAULT | {"lambda0": 0.0, "max_depth": 1}), data, n // 2)
    k, of_classes = (n_classes if n_classes > 2 else 1), name == "classification"
    k, trees, words = (k, 2, 2 * k) if of_classes and k > 1 else (1, 5, 1 + of_classes)
    width, expected = words if words <= 2 else 8, 0
    for view, was_better in zip(workers.views, better[-1]):
        rows, labelled, members, columns = len(view.fold), view.own.size, view.rule.n_folds, view.varying.size
        # a bit of each bin, the missing ones among them, and the words of those that hold rows
        histograms = -(-int((view.mapper.n_bins + 1).sum()) // 8) + 8 * words * int(view.mapper.n_bins.sum())
        # of two shards: sums, columns and the root's histograms, whose children are leaves
        expected += 2 * trees * members * (8 * width + 4 * columns + histograms)
        expected += 8 * k * labelled + was_better * 8 * k * rows
    assert len(better[-1]) == len(workers.views) == 2
    assert there.history_["bytes:received"].to_list()[-1] == expected


@pytest.mark.parametrize("printed", [True, False])
@pytest.mark.parametrize("shard_rows", [0, 1.5, True, "10"])
def test_a_wrong_number_of_rows_is_refused(shard_rows, printed):
    client = SimpleNamespace(asynchronous=False, status="running")
    with pytest.raises(ParameterError, match=rf"shard_rows={shard_rows!r} must be a whole number of at least 1: "):
        distributed.fit(made(printed=printed, **DEFAULT), planted("regression")[0], client, shard_rows=shard_rows)


@pytest.mark.parametrize("changes", [{"join_tables": True}, {"base_learner": "both"}, {"base_learner": "kernel"}])
def test_views_that_need_whole_tables_are_refused(changes):
    client = SimpleNamespace(asynchronous=False, status="running")
    words = r'^shard_rows=10 is for models with join_tables=False and base_learner="tree", or as_printed=True: set '
    with pytest.raises(ParameterError, match=words):
        distributed.fit(made(**DEFAULT | changes), planted("regression")[0], client, shard_rows=10)


def test_a_table_whose_trees_see_components_is_refused():
    rng = np.random.default_rng(0)
    wide = hc.Source(np.arange(20), rng.normal(size=(20, 301)))
    data = hc.HetData({"wide": wide}, {}, (np.arange(20), np.arange(20.0)))
    with pytest.raises(ParameterError, match=r"^Table 'wide' has more than 300 columns.*: leave out shard_rows\.$"):
        fit_sharded(Workers("a"), made(**DEFAULT), data, 10)
