"""The transfer forest: gains and a split by hand, label propagation, reductions, planted sources."""

from __future__ import annotations

import numpy as np
import pytest

import hetcore as hc
from hetcore.kernels.layout import ALL_KNOWN
from hetcore.kernels.mixed_trees import grow_mixed
from hetcore.transfer.estimator import TransferProblem
from hetcore.transfer.forest import State, draws_without_repeats, leaf_distances
from tests.naive import mixed_trees as naive
from tests.naive.mixed_trees import Splitter, entropy
from tests.transfer.test_transfer import planted


def test_entropy_in_nats():
    counts = np.array([[2.0, 2.0], [4.0, 0.0], [0.0, 0.0], [1.0, 3.0]])
    np.testing.assert_allclose(entropy(counts), [np.log(2), 0, 0, 2 * np.log(2) - 0.75 * np.log(3)])


def naive_gain(rows_bins, codes, domain, threshold, gamma, summed):
    """Return eq. (2) for one split, row by row."""

    def information(chosen):
        def h(mask):
            shares = [np.mean(codes[mask] == c) for c in (0, 1)] if mask.any() else []
            return -sum(p * np.log(p) for p in shares if p > 0)

        left, right = chosen & (rows_bins <= threshold), chosen & (rows_bins > threshold)
        return h(chosen) - (left.sum() * h(left) + right.sum() * h(right)) / chosen.sum()

    shares = [1.0 if summed else (domain == k).sum() / (domain > 0).sum() for k in (1, 2)]
    sources = sum(share * information(domain == k) for share, k in zip(shares, (1, 2)))
    return (1 - gamma) * information(domain == 0) + gamma * sources


@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("gamma", [0.0, 0.8, 1.0])
def test_the_best_split_is_that_of_equation_2(gamma, summed):
    rng = np.random.default_rng(0)
    binned = rng.integers(0, 6, size=(1, 60)).astype(np.uint8)
    codes, domain = rng.integers(0, 2, 60), np.repeat([0, 1, 2], [12, 30, 18])
    found = Splitter(binned, codes, domain, n_classes=2, gamma=gamma, summed=summed).best(np.arange(60), [0])
    gains = [
        naive_gain(binned[0], codes, domain, threshold=threshold, gamma=gamma, summed=summed) for threshold in range(5)
    ]
    assert found.threshold == int(np.argmax(gains)) and found.gain == pytest.approx(max(gains))
    assert found.owed.sum() == pytest.approx(60 * found.gain)


def test_missing_values_go_where_they_gain():
    binned = np.array([[0, 0, 1, 1, 255, 255]], np.uint8)
    codes = np.array([0, 0, 1, 1, 0, 0])
    found = Splitter(binned, codes, np.zeros(6, np.int64), 2, 0.0).best(np.arange(6), [0])
    assert (found.threshold, found.missing_left) == (0, 1) and found.gain == pytest.approx(
        entropy(np.array([4.0, 2.0]))
    )
    np.testing.assert_array_equal(found.goes_left(binned[0]), [True, True, False, False, True, True])


def test_where_the_missing_alone_go_right_all_known_values_go_left():
    binned = np.array([[0, 0, 255, 255, 1]], np.uint8)
    found = Splitter(binned, np.array([0, 0, 1, 1, 0]), np.zeros(5, np.int64), 2, 0.0).best(np.arange(4), [0])
    np.testing.assert_array_equal(found.goes_left(binned[0]), [True, True, False, False, True])
    state = _state(1, summed=True, max_depth=10, n_sources=2)
    drawn = np.stack([np.random.default_rng(k).choice(7, 3, replace=False) for k in range(300)])
    grow_mixed(state.rule, drawn, np.empty(3, np.int64), state.work)
    assert (state.work.nodes["threshold_bin"] == ALL_KNOWN).any()


def test_a_pure_node_is_not_split():
    binned = np.arange(8, dtype=np.uint8)[None]
    domain = np.repeat([0, 1], 4)
    assert Splitter(binned, domain, domain, 2, 0.8).best(np.arange(8), [0]) is None


def _state(seed, summed, max_depth, n_sources):
    rng = np.random.default_rng(seed)
    X, codes, domain = rng.normal(size=(90, 7)).round(1), rng.integers(0, 3, 90), rng.integers(0, n_sources + 1, 90)
    X[rng.random(X.shape) < 0.2 * (seed % 2)] = np.nan
    names = [f"source {k}" for k in range(n_sources)]
    problem = TransferProblem(X, codes, domain, classes=np.arange(3), names=names, held_out=None)
    return State(problem, 0.7, max_depth, np.random.default_rng(seed), summed)


@pytest.mark.parametrize("seed,summed,max_depth,n_sources", [(0, False, 10, 2), (1, True, 10, 2), (3, False, 2, 0)])
def test_a_tree_is_that_of_its_twin(seed, summed, max_depth, n_sources):
    state = _state(seed, summed, max_depth, n_sources)
    drawn = np.stack([np.random.default_rng(k).choice(7, 3, replace=False) for k in range(300)])
    assert grow_mixed(state.rule, drawn, np.empty(3, np.int64), state.work)
    twin = _state(seed, summed, max_depth, n_sources)
    records, leaves = naive.grow_mixed(twin.rule, drawn, None, twin.work)
    nodes = state.work.nodes[: state.work.state[0]]
    assert nodes.tolist() == np.array(records, nodes.dtype).tolist() and len(nodes) > 3
    np.testing.assert_allclose(state.owed, twin.owed, rtol=1e-12)
    for node, rows in leaves.items():
        assert sorted(state.work.rows[slice(*state.work.spans[node])]) == sorted(rows)


def test_columns_that_run_out_are_drawn_as_they_would_be(monkeypatch):
    few, many = (_state(0, False, 10, 2) for _ in range(2))
    monkeypatch.setattr("hetcore.transfer.forest.AT_ONCE", 3)
    small = [few._grown() for _ in range(3)]
    monkeypatch.setattr("hetcore.transfer.forest.AT_ONCE", 500)
    for (nodes, leaf), (others, other) in zip(small, [many._grown() for _ in range(3)]):
        np.testing.assert_array_equal(nodes, others)
        np.testing.assert_array_equal(leaf, other)


def test_leaf_distance_by_hand():
    got = leaf_distances(np.array([[0.0, 0.0]]), np.array([[1.0, 4.0]]), np.array([[2.0, 2.0]]), np.array([[2.0, 1.0]]))
    assert got[0, 0] == pytest.approx(np.sqrt(0.5 * (4 / 1 + 4 / 4 + 4 / 2 + 4 / 1)))


def test_a_leaf_without_target_rows_takes_the_nearest_leafs_labels():
    # The source has clouds at 0, 5 and 20; the target has labels at 0 and 20 only, and they are the other way round.
    rng = np.random.default_rng(0)
    centres = np.repeat([0.0, 5.0, 20.0], 40)
    X = np.append(centres, [0.0, 0.0, 20.0, 20.0])[:, None] + 0.1 * rng.normal(size=(124, 1))
    y = np.append(np.repeat([0, 1, 0], 40), [1, 1, 0, 0])
    domain = np.append(np.ones(120, int), [-1] * 4)
    model = hc.TransferForestClassifier(n_iterations=1).fit(X, y, domain)
    np.testing.assert_array_equal(model.predict([[0.0], [5.0], [20.0]]), [1, 1, 0])
    assert model.history_.height == 1


def test_gamma_0_and_no_source_look_at_the_target_only():
    X, y, domain, (X_test, _) = planted(n_target=60)
    own = domain < 0
    alone = hc.TransferForestClassifier().fit(X[own], y[own])
    assert alone.source_weights_ == {} and alone.score(X[own], y[own]) == 1.0
    silent = hc.TransferForestClassifier(gamma=0.0).fit(X, y, domain)
    assert set(silent.source_weights_.values()) == {0.0} and silent.score(X[own], y[own]) == 1.0


def test_related_sources_help_few_target_rows():
    gains = []
    for seed in range(6):
        X, y, domain, test = planted(seed, n_target=10, flips=(0.0, 0.0), n_source=300)
        own = domain < 0
        both = hc.TransferForestClassifier(n_iterations=10).fit(X, y, domain)
        gains.append(both.score(*test) - hc.TransferForestClassifier(n_iterations=10).fit(X[own], y[own]).score(*test))
    assert np.mean(gains) > 0.03


@pytest.mark.parametrize("n_classes", [2, 3])
def test_events_of_the_forest(n_classes):
    X, y, domain, held_out = planted(n_classes=n_classes, n_source=60)
    events = []
    model = hc.TransferForestClassifier().fit(X, y, domain, callbacks=[events.append], eval_set=held_out)
    assert [event.index for event in events] == [0, 1, 2]
    for event in events:
        assert sum(event.source_weights.values()) + event.detail["target_mass"] == pytest.approx(1.0)
        assert 0 <= event.detail["propagated"] < 1
    assert events[-1].detail["metric"]["held_out"] == (model.predict(held_out[0]) != held_out[1]).mean()
    probability = model.predict_proba(held_out[0])
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)


def test_the_same_seed_gives_the_same_forest():
    X, y, domain, (X_test, _) = planted(n_source=60)
    first, second, other = (hc.TransferForestClassifier(random_state=s).fit(X, y, domain) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.predict_proba(X_test), second.predict_proba(X_test))
    assert (first.predict_proba(X_test) != other.predict_proba(X_test)).any()


@pytest.mark.parametrize(("n", "count"), [(30, 6), (5, 5), (1, 1), (2, 1)])
def test_draws_side_by_side_are_those_of_choice(n, count):
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(2):  # the stream goes on where it was left
        drawn = draws_without_repeats(one, n, count, 20)
        np.testing.assert_array_equal(drawn, [other.choice(n, count, replace=False) for _ in range(20)])
