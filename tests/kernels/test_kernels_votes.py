"""Rounds of trees that vote in one call: those of `Boosting`, which grows, weighs and moves in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hetcore.transfer.learners import TreeLearner
from hetcore.transfer.rounds import RunningScores, WeightUpdate
from hetcore.transfer.tree_rounds import TreeBoosting, boosting_of
from tests.naive import boosted_votes as naive

UPDATE = WeightUpdate(0.2, target_power=1.5, source_power=0.7, log_lift=0.1)


def made(depth=1, soft=False, share=1.0, seed=0, **more):
    """Return what a boosting is given: a target of 40 rows, two sources of 50, some rows that take no part."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(150, 5)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    domain = np.repeat([0, 1, 2, -1], [40, 50, 50, 10])
    truth = np.where(np.nan_to_num(X[:, 0] + X[:, 1] ** 2) > 0.4, 1.0, -1.0)
    signs = np.where(rng.random(150) < 0.2 + 0.3 * (domain == 2), -truth, truth)
    learner = TreeLearner(X, depth, soft)
    candidates = [np.flatnonzero((domain == 0) | (domain == k)) for k in (1, 2)]
    given = {"learner": learner, "signs": signs, "domain": domain, "candidates": candidates, "share": share}
    given |= {"weight_update": UPDATE, "held_out": learner.taken(np.flatnonzero(domain < 0)), **more}
    return lambda: given | {"running": RunningScores((40, 10), False)}


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize(("depth", "share"), [(1, 1.0), (3, 0.4)])
def test_rounds_are_those_of_numpy(depth, share, soft):
    given = made(depth, soft, share)
    twin, ours, stepped = naive.boost_votes(given(), 12), TreeBoosting(**given()), TreeBoosting(**given())
    ours.run(len(twin.models))
    while len(stepped.models) < len(twin.models) and not stepped.round():
        assert stepped.models or stepped.was_reset
    for found in (ours, stepped):
        assert len(found.models) == len(twin.models) >= 4
        for (tree, alpha), (same, its) in zip(found.models, twin.models):
            assert_array_equal(tree.nodes, same.nodes)
            assert_allclose(tree.values, same.values, rtol=1e-9)
            assert alpha == pytest.approx(its, rel=1e-9)
        assert_allclose(found.log_weights, twin.log_weights, rtol=1e-9)
        assert_allclose(found.running.mean()[0], twin.running.mean()[0], atol=1e-12)
        assert_allclose(found.running.mean()[1], twin.running.mean()[1], atol=1e-12)


@pytest.mark.parametrize("resets", [True, False])
def test_a_round_that_does_not_help_sets_weights_back_once_and_then_ends(resets):
    # one column, the same for all: no tree errs less than the larger class, and then than one half
    given = made(resets=resets)
    same = {"learner": TreeLearner(np.zeros((150, 1)), 1), "held_out": np.zeros((1, 10), np.uint8)}
    twin = naive.boost_votes(given() | same, 30)
    ours = TreeBoosting(**given() | same)
    n_rounds = 0
    while not ours.round():
        n_rounds += 1
        assert n_rounds < 30
    assert ours.done and twin.done and len(ours.models) == len(twin.models) >= 1
    assert ours.alpha == twin.alpha == 0.0 and ours.epsilon == pytest.approx(twin.epsilon)
    assert_allclose(ours.log_weights, twin.log_weights, rtol=1e-9)


def test_without_running_scores_the_votes_of_all_rows_are_kept():
    given = made()() | {"running": None}
    ours = TreeBoosting(**given)
    ours.run(3)
    for (tree, _), votes in zip(ours.models, ours.votes, strict=True):
        assert_array_equal(votes, tree.predict(given["learner"].binned)[:, 0])


def test_other_learners_go_the_plain_way():
    given = made()()
    assert isinstance(boosting_of(**given), TreeBoosting)
    assert not isinstance(boosting_of(**given | {"learner": object()}), TreeBoosting)
