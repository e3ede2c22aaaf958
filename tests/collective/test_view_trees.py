"""A stage's trees of all views at once are those of `Grower.stage`, view by view."""

import numpy as np
import pytest

import hetcore as hc
from datasets.planted.autocorrelated import make_autocorrelated_graph
from hetcore.collective import view_trees
from hetcore.collective.crossfit import CrossFitted
from hetcore.collective.stages import Grower
from hetcore.collective.view_trees import grow_views
from hetcore.targets import Scale
from hetcore.trees import BinMapper, TreeParams


def _grower(n_outputs, seed, median=False):
    classes = np.array([f"c{k}" for k in range(n_outputs)] if n_outputs > 1 else [], object)
    scale = Scale(classes, np.full(n_outputs, 1.0 / n_outputs), 1.0)
    return Grower(
        scale,
        limits=TreeParams(4, -1, 2, 1e-3, 1.0),
        learning_rate=0.1,
        median=median,
        subsample=0.7,
        column_sample=0.5,
        rng=np.random.default_rng(seed),
    )


def _problem(n, n_outputs, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    mapper = BinMapper(32).fit(X)
    target = rng.normal(size=(n, 1)) if n_outputs == 1 else np.eye(n_outputs)[rng.integers(n_outputs, size=n)]
    table = mapper.transform(X), mapper.n_bins.astype(np.int32), np.arange(6, dtype=np.int32)
    # 0: all rows; the others leave a part out, so that numbers of rows have different numbers of bits
    fold = 1 + rng.permutation(n) % 4
    rows = [np.flatnonzero(fold != k).astype(np.int32) for k in range(5)]
    return table, target, [np.zeros_like(target) + 0.1 * k for k in range(5)], rows


@pytest.mark.parametrize(("n", "n_outputs", "seed"), [(40, 1, 0), (185, 1, 1), (185, 3, 2), (12, 2, 3)])
def test_the_trees_are_those_of_each_view_by_itself(n, n_outputs, seed, monkeypatch):
    table, target, scores, rows = _problem(n, n_outputs, seed)
    together = grow_views(_grower(n_outputs, seed), table, target, scores, rows, n_trees=3)
    monkeypatch.setattr(view_trees, "MOST", 0)
    alone = grow_views(_grower(n_outputs, seed), table, target, scores, rows, n_trees=3)
    for mine, theirs, more, other in zip(together[0], alone[0], together[1], alone[1]):
        np.testing.assert_array_equal(more, other)
        np.testing.assert_array_equal(mine.predict(table[0]), theirs.predict(table[0]))
        np.testing.assert_array_equal(more, mine.predict(table[0]))
        assert len(mine) == len(theirs) == 3 and np.ptp(more[:, 0]) > 0


def test_a_view_without_rows_and_medians_go_one_by_one():
    table, target, scores, rows = _problem(30, 1, 4)
    forests, added = grow_views(_grower(1, 0), table, target, scores, [*rows[:4], rows[0][:0]], n_trees=2)
    assert [len(forest) for forest in forests] == [2, 2, 2, 2, 0] and not added[4].any()
    median, _ = grow_views(_grower(1, 0, median=True), table, target, scores, rows, n_trees=2)
    assert not np.array_equal(median[0].predict(table[0]), forests[0].predict(table[0]))


def test_where_neighbours_show_nothing_one_views_scores_are_those_of_all(monkeypatch):
    data = make_autocorrelated_graph(80, residual_correlation=0.5, seed=0)[0]
    y = np.where(np.random.default_rng(0).random(data.n) < 0.5, data.y, np.nan)
    one = hc.GBRegressor(n_iterations=3, first_trees=10).fit(data, y)
    monkeypatch.setattr(CrossFitted, "distinct", property(lambda state: state.views))
    each = hc.GBRegressor(n_iterations=3, first_trees=10).fit(data, y)
    np.testing.assert_array_equal(one.predict(data), each.predict(data))
    assert one.history_["loss:left_out"].to_list() == each.history_["loss:left_out"].to_list()
