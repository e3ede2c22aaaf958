"""Collective inference against its twins: columns, visits, sweeps with and without skipping, shuffled products."""

import copy

import numpy as np
import pytest

from hetcore.kernels import collective
from hetcore.kernels.layout import NODE_DTYPE
from tests.kernels.test_kernels_graph import made_graph
from tests.naive import collective as naive


def made_net(n=40, n_edges=120, n_graphs=2):
    graphs = [made_graph(n, n_edges, seed) for seed in range(n_graphs)]
    offsets = np.cumsum([0, *(len(graph[1]) for graph in graphs)])
    indptr = np.array([graph[0] + offset for graph, offset in zip(graphs, offsets)], np.int64).reshape(n_graphs, n + 1)
    joined = [
        np.concatenate([np.empty(0, kind), *parts]) for kind, parts in zip((np.int32, np.float32), _parts(graphs))
    ]
    return collective.Net(indptr, joined[0].astype(np.int32), joined[1].astype(np.float32))


def _parts(graphs):
    return [graph[1] for graph in graphs], [graph[2] for graph in graphs]


def made_stages(n, n_graphs, n_outputs=1, n_stages=3, n_trees=2, d=2, seed=0):
    """Return stages whose trees split once by an own column or by a relational one, then by the other kind."""
    rng = np.random.default_rng(seed)
    R, trees = n_graphs * (3 * n_outputs + 1) + n_outputs, n_stages * n_trees
    nodes = np.zeros((trees, 5), NODE_DTYPE)
    nodes["left"], nodes["right"] = [1, 3, -1, -1, -1], [2, 4, -1, -1, -1]
    nodes["feature"][:, 0] = d + rng.integers(0, R, trees)
    nodes["feature"][:, 1] = rng.integers(0, d + R, trees)
    nodes["threshold_bin"], nodes["missing_left"][:, 0] = 100, rng.integers(0, 2, trees)
    cuts = np.full((trees, 5), np.nan, np.float32)
    cuts[:, :2] = rng.normal(0, 0.3, (trees, 2))
    starts, begins = np.arange(trees + 1) * 5, np.arange(n_stages + 1) * n_trees
    bins = rng.integers(0, 256, (n, d)).astype(np.uint8)
    prior, softmax = np.zeros(n_outputs), n_outputs > 1
    center = np.full(n_outputs, 1 / n_outputs) if softmax else np.zeros(1)
    values = rng.normal(size=(trees * 5, n_outputs))
    return collective.Stages(bins, nodes.ravel(), cuts.ravel(), values, starts, begins, prior, center, softmax)


def made_state(n, n_outputs, n_stages, seed=0):
    """Return what is said, scores, voices, and the unknown."""
    rng = np.random.default_rng(seed)
    known = rng.random(n) < 0.5
    said = rng.normal(size=(n, (n_stages + 1) * n_outputs))
    said[~known] = 0.0
    return said, np.zeros((n, n_outputs)), np.where(known, 1.0, 0.5), np.flatnonzero(~known)


RULES = {
    "median": collective.Rules(True, 0.0, -1.5, 0.0),
    "mean": collective.Rules(False, 2.0, 0.0, 0.0),
    "missing": collective.Rules(False, 0.0, np.nan, np.nan),
}
CASES = [(rule, K, G) for rule in RULES for K in (1, 3) for G in (0, 1, 2)]


@pytest.mark.parametrize("rule, K, G", CASES)
def test_columns_and_stages(rule, K, G):
    net, n = made_net(n_graphs=G), 40
    said, _, voice, _ = made_state(n, K, 3)
    rows, own = np.arange(n), np.random.default_rng(1).normal(size=(n, K))
    for stage in range(3):
        outs = np.zeros((2, n, G * (3 * K + 1) + K), np.float32)
        for module, out in zip((collective, naive), outs):
            module.relate(net, RULES[rule], said, voice, rows, own, stage, out)
        np.testing.assert_allclose(*outs, rtol=1e-5, atol=1e-6)
    stages = made_stages(n, G, K)
    outs = np.zeros((2, n, 3, K))
    for module, out in zip((collective, naive), outs):
        module.staged_scores(net, RULES[rule], stages, said, voice, rows, out)
    np.testing.assert_allclose(*outs, rtol=1e-12)
    assert np.ptp(outs[0]) > 0


@pytest.mark.parametrize("rule, K, G", CASES)
def test_start_and_sweeps(rule, K, G):
    net, n = made_net(n_graphs=G), 40
    stages, rng = made_stages(n, G, K), np.random.default_rng(2)
    ours, twin = made_state(n, K, 3), made_state(n, K, 3)
    unknown = ours[3]
    for at_start in (True, False):
        for module, (said, scores, voice, _) in zip((collective, naive), (ours, twin)):
            quiet = voice.copy()
            quiet[unknown] = 0.0
            module.start(net, RULES[rule], stages, said, scores, quiet, unknown, at_start)
        np.testing.assert_allclose(ours[0], twin[0], rtol=1e-12, atol=1e-14)
    waits = np.zeros((2, n), bool)
    waits[:, unknown] = True
    for _ in range(4):
        order = rng.permutation(unknown)
        results = []
        for module, (said, scores, voice, _), waiting in zip((collective, naive), (ours, twin), waits):
            results.append(module.sweep(net, RULES[rule], stages, said, scores, voice, order, waiting, True))
        assert results[0][0] == pytest.approx(results[1][0]) and results[0][1] <= results[1][1] + n
        np.testing.assert_allclose(ours[0], twin[0], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(ours[1], twin[1], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("rule, K", [(rule, K) for rule in RULES for K in (1, 2)])
def test_skipping_gives_the_same_bits(rule, K):
    net, n = made_net(n=200, n_edges=300, n_graphs=1), 200
    stages = made_stages(n, 1, K, seed=3)
    skipping, visiting = made_state(n, K, 3, seed=4), made_state(n, K, 3, seed=4)
    visits = np.zeros(2, int)
    waits = np.ones((2, n), bool)
    rng = np.random.default_rng(5)
    for _ in range(6):
        order = rng.permutation(skipping[3])
        changes = []
        for at, (skip, (said, scores, voice, _)) in enumerate(((True, skipping), (False, visiting))):
            change, visited = collective.sweep(net, RULES[rule], stages, said, scores, voice, order, waits[at], skip)
            visits[at] += visited
            changes.append(change)
        assert changes[0] == changes[1]
        for one, other in zip(skipping, visiting):
            np.testing.assert_array_equal(one, other)
    assert visits[0] < visits[1] == 6 * len(skipping[3])


def five_nodes():
    """Return net 0-2, 1-2, 2-3, 3-4, and F_0 = 5 or 12 (Rf1 up to 6 or not), T_1 = -1 or 3 (Rf2 up to 0 or not)."""
    indptr, indices = np.array([[0, 1, 2, 5, 7, 8]]), np.array([2, 2, 0, 1, 3, 2, 4, 3], np.int32)
    net = collective.Net(indptr, indices, np.ones(8, np.float32))
    nodes = np.zeros((2, 3), NODE_DTYPE)
    nodes["left"], nodes["right"] = [1, -1, -1], [2, -1, -1]
    nodes["feature"][:, 0] = [0, 1]
    cuts = np.full((2, 3), np.nan, np.float32)
    cuts[:, 0] = [6.0, 0.0]
    values = np.array([0.0, 5.0, 12.0, 0.0, -1.0, 3.0])[:, None]
    ends = np.array([0, 3, 6]), np.arange(3)
    zero = np.zeros(1)
    return net, collective.Stages(
        np.zeros((5, 0), np.uint8), nodes.ravel(), cuts.ravel(), values, *ends, zero, zero, False
    )


def test_ica2_by_hand_on_five_nodes():
    net, stages = five_nodes()
    rules, unknown = collective.Rules(True, 0.0, 0.0, 0.0), np.array([2, 3])
    said = np.array([[10.0, -2.0], [20.0, 8.0], [0.0, 0.0], [0.0, 0.0], [2.0, -3.0]])  # target, r_1
    voice, scores, waiting = np.array([1.0, 1, 0, 0, 1]), np.zeros((5, 1)), np.zeros(5, bool)
    # Start: Rf1(2) = median(10, 20) = 15, F_0 = 12; Rf1(3) = 2, F_0 = 5; Rf2 = 0, T_1 = -1.
    collective.start(net, rules, stages, said, scores, voice, unknown, True)
    assert said[2:4].tolist() == [[11.0, -1.0], [4.0, -1.0]]
    voice[unknown] = 1.0
    waiting[unknown] = True
    # 2: Rf1 = median(10, 20, 4) = 10, Rf2 = median(-2, 8, -1) = -1: stays. 3: Rf1 = median(11, 2) = 6.5, F_0 = 12,
    # Rf2 = median(-1, -3) = -2, so 11.
    assert collective.sweep(net, rules, stages, said, scores, voice, unknown, waiting, True) == (7.0, 2)
    assert said[2:4].tolist() == [[11.0, -1.0], [11.0, -1.0]] and scores[2:4, 0].tolist() == [11.0, 11.0]
    # Only 2 heard something new: Rf1 = median(10, 20, 11) = 11, and it stays.
    assert collective.sweep(net, rules, stages, said, scores, voice, unknown, waiting, True) == (0.0, 1)
    assert collective.sweep(net, rules, stages, said, scores, voice, unknown, waiting, True) == (0.0, 0)
    assert said[[0, 1, 4]].tolist() == [[10.0, -2.0], [20.0, 8.0], [2.0, -3.0]]


def test_parts_of_a_visit():
    net, n = made_net(), 40
    said, _, voice, _ = made_state(n, 2, 2)
    room = np.empty((3, collective.most_neighbors(net)))
    assert room.shape[1] == naive.most_neighbors(net)
    for rules in RULES.values():
        for i in range(n):
            summary, total = np.zeros((2, 4)), np.zeros(2)
            collective.summarize(net, rules, said, voice, i, 2, summary, total, room)
            theirs = naive.summarize(net, rules, said, voice, i, 2, 2)
            np.testing.assert_allclose(summary, theirs[0], rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(total, theirs[1])
    columns = np.zeros(16, np.float32)
    collective.stage_columns(summary, total, np.ones(2), 1, columns)
    np.testing.assert_allclose(columns, naive.stage_columns(summary, total, np.ones(2), 1), rtol=1e-6)
    fitted, score = np.zeros(3), np.array([1.0, -2.0, 800.0])
    collective.link(score, True, fitted)
    np.testing.assert_allclose(fitted, naive.link(score, True))
    heard = np.full(4, 9.0)
    of = np.array([[1.0, 2.0], [4.0, 6.0]])
    assert collective.speak(of, np.ones(2), heard) == 6.0
    np.testing.assert_array_equal(heard, naive.speak(of, np.ones(2)))
    assert collective.speak(of, np.ones(2), heard) == -1.0


def test_walking_down_a_tree():
    stages, rng = made_stages(30, 1), np.random.default_rng(0)
    for i in range(30):
        columns = rng.normal(0, 0.3, 5).astype(np.float32)
        columns[rng.random(5) < 0.2] = np.nan
        tree = stages.nodes[:5], stages.cuts[:5], stages.bins[i], columns
        assert collective.walk(*tree) == naive.walk(*tree)
    scores = np.zeros(1)
    collective.add_stage(stages, 0, 1, columns, scores)
    leaf = [naive.walk(stages.nodes[b : b + 5], stages.cuts[b : b + 5], stages.bins[0], columns) for b in (10, 15)]
    assert scores[0] == stages.values[10 + leaf[0], 0] + stages.values[15 + leaf[1], 0]


@pytest.mark.parametrize("m", [1, 2, 3, 8, 39, 100])
def test_middle_of_values(m):
    rng = np.random.default_rng(m)
    for values in (rng.normal(size=m), rng.integers(0, 3, m).astype(float), np.zeros(m)):
        assert collective.middle(values) == naive.middle(values)


def test_shuffled_products():
    rng = np.random.default_rng(0)
    start, end = rng.integers(0, 20, (2, 50)).astype(np.int32)
    args = start, end, rng.random(50), rng.normal(size=20), rng.permuted(np.tile(np.arange(20), (7, 1)), axis=1)
    args = (*args[:4], args[4].astype(np.int32))
    np.testing.assert_allclose(collective.cross_products(*copy.deepcopy(args)), naive.cross_products(*args), rtol=1e-12)
