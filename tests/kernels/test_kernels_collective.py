"""Collective inference against its twins: columns, visits, sweeps with and without skipping, shuffled products."""

import copy

import numpy as np
import pytest

from hetcore.kernels import collective_columns as columns
from hetcore.kernels import collective_sweeps as sweeps
from hetcore.kernels import csr, medians
from hetcore.kernels.collective_sweeps import REMAINDER, STAGE, SUM_AND_STAGE
from hetcore.kernels.layout import NODE_DTYPE
from tests.kernels.test_kernels_graph import made_graph
from tests.naive import collective_columns as naive_columns
from tests.naive import collective_sweeps as naive_sweeps
from tests.naive import csr as naive_csr
from tests.naive import medians as naive_medians


def made_net(n=40, n_edges=120, n_graphs=2):
    graphs = [made_graph(n, n_edges, seed) for seed in range(n_graphs)]
    offsets = np.cumsum([0, *(len(graph[1]) for graph in graphs)])
    indptr = np.array([graph[0] + offset for graph, offset in zip(graphs, offsets)], np.int64).reshape(n_graphs, n + 1)
    joined = [
        np.concatenate([np.empty(0, kind), *parts]) for kind, parts in zip((np.int32, np.float32), _parts(graphs))
    ]
    return columns.Net(indptr, joined[0].astype(np.int32), joined[1].astype(np.float32))


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
    prior, softmax = rng.normal(0, 0.1, (n, n_outputs)), n_outputs > 1
    center = np.full(n_outputs, 1 / n_outputs) if softmax else np.zeros(1)
    values = rng.normal(size=(trees * 5, n_outputs))
    return sweeps.Stages(bins, nodes.ravel(), cuts.ravel(), values, starts, begins, prior, center, softmax, REMAINDER)


def made_state(n, n_outputs, n_stages, seed=0):
    """Return a state, and the unknown."""
    rng = np.random.default_rng(seed)
    known = rng.random(n) < 0.5
    messages = rng.normal(size=(n, (n_stages + 1) * n_outputs))
    messages[~known] = 0.0
    initial = rng.normal(size=(n, n_outputs))
    state = sweeps.State(messages, np.zeros((n, n_outputs)), np.where(known, 1.0, 0.5), initial)
    return state, np.flatnonzero(~known)


RULES = {
    "median": columns.Aggregation(True, 0.0, -1.5, 0.0),
    "mean": columns.Aggregation(False, 2.0, 0.0, 0.0),
    "missing": columns.Aggregation(False, 0.0, np.nan, np.nan),
}
CASES = [(rule, K, G) for rule in RULES for K in (1, 3) for G in (0, 1, 2)]


@pytest.mark.parametrize("rule, K, G", CASES)
def test_columns_and_stages(rule, K, G):
    net, n = made_net(n_graphs=G), 40
    state, _ = made_state(n, K, 3)
    rows, own = np.arange(n), np.random.default_rng(1).normal(size=(n, K))
    stages, scores = made_stages(n, G, K), np.zeros((2, n, K))
    for stage in range(3):
        outs = np.zeros((2, n, G * (3 * K + 1) + K), np.float32)
        for module, out in zip((columns, naive_columns), outs):
            module.relate(net, RULES[rule], state.messages, state.weights, rows, own, stage, out)
        np.testing.assert_allclose(*outs, rtol=1e-5, atol=1e-6)
        for module, score in zip((sweeps, naive_sweeps), scores):
            module.add_stage_to(stages, stage, rows, outs[0], score)
        np.testing.assert_allclose(*scores, rtol=1e-12)
    outs = np.zeros((2, n, 3, K))
    for module, out in zip((sweeps, naive_sweeps), outs):
        module.staged_scores(net, RULES[rule], stages, state, rows, out)
    np.testing.assert_allclose(*outs, rtol=1e-12)
    assert np.ptp(outs[0]) > 0 and np.ptp(scores[0]) > 0


@pytest.mark.parametrize("sends, step", [(REMAINDER, 1.0), (STAGE, 1.0), (SUM_AND_STAGE, 1.0), (REMAINDER, 0.5)])
@pytest.mark.parametrize("rule, K, G", CASES)
def test_start_and_sweeps(rule, K, G, sends, step):
    net, n = made_net(n_graphs=G), 40
    stages, rng = made_stages(n, G, K)._replace(sends=sends), np.random.default_rng(2)
    (ours, unknown), (twin, _) = made_state(n, K, 3), made_state(n, K, 3)
    for module, state in zip((sweeps, naive_sweeps), (ours, twin)):
        state.weights[unknown] = 0.0
        module.start(net, RULES[rule], stages, state, unknown)
        state.weights[unknown] = 0.5
    np.testing.assert_allclose(ours.messages, twin.messages, rtol=1e-12, atol=1e-14)
    waits = np.zeros((2, n), bool)
    waits[:, unknown] = True
    for _ in range(4):
        order = rng.permutation(unknown)
        results = []
        for module, state, waiting in zip((sweeps, naive_sweeps), (ours, twin), waits):
            results.append(module.sweep(net, RULES[rule], stages, state, order, waiting, True, step, 0.01))
        assert results[0][0] == pytest.approx(results[1][0]) and results[0][1] <= results[1][1] + n
        assert results[0][2] == results[1][2]
        np.testing.assert_allclose(ours.messages, twin.messages, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(ours.scores, twin.scores, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("rule, K, step", [(rule, K, step) for rule in RULES for K in (1, 2) for step in (1.0, 0.5)])
def test_skipping_gives_the_same_bits(rule, K, step):
    net, n = made_net(n=200, n_edges=300, n_graphs=1), 200
    stages = made_stages(n, 1, K, seed=3)
    (skipping, unknown), (visiting, _) = made_state(n, K, 3, seed=4), made_state(n, K, 3, seed=4)
    visits = np.zeros(2, int)
    waits = np.ones((2, n), bool)
    rng = np.random.default_rng(5)
    for _ in range(6):
        order = rng.permutation(unknown)
        changes = []
        for at, (skip, state) in enumerate(((True, skipping), (False, visiting))):
            change, visited, _ = sweeps.sweep(net, RULES[rule], stages, state, order, waits[at], skip, step, 0.0)
            visits[at] += visited
            changes.append(change)
        assert changes[0] == changes[1]
        for one, other in zip(skipping, visiting):
            np.testing.assert_array_equal(one, other)
    assert visits[1] == 6 * unknown.size >= visits[0] + (step == 1.0)  # damped messages move a little for ever


def test_a_negative_edge_turns_the_message_over():
    net = columns.Net(np.array([[0, 3, 3, 3, 3]]), np.array([1, 2, 3], np.int32), np.array([1, 2, -1], np.float32))
    messages, weights = np.array([[0.0], [1.0], [2.0], [5.0]]), np.ones(4)
    found = np.zeros((2, 1, 5), np.float32)
    for median, out in zip((False, True), found):
        aggregation = columns.Aggregation(median, 0.0, 0.0, 0.0)
        columns.relate(net, aggregation, messages, weights, np.array([0]), np.zeros((1, 1)), 0, out)
    assert found[0, 0, 0] == (1 + 2 * 2 - 5) / 4 and found[0, 0, 3] == 4  # the mean, and the weight
    assert found[1, 0, 0] == 1.5  # half of the weight lies below 2, at -5 and 1


def five_nodes():
    """Return net 0-2, 1-2, 2-3, 3-4, and F_0 = 5 or 12 (Rf1 up to 6 or not), T_1 = -1 or 3 (Rf2 up to 0 or not)."""
    indptr, indices = np.array([[0, 1, 2, 5, 7, 8]]), np.array([2, 2, 0, 1, 3, 2, 4, 3], np.int32)
    net = columns.Net(indptr, indices, np.ones(8, np.float32))
    nodes = np.zeros((2, 3), NODE_DTYPE)
    nodes["left"], nodes["right"] = [1, -1, -1], [2, -1, -1]
    nodes["feature"][:, 0] = [0, 1]
    cuts = np.full((2, 3), np.nan, np.float32)
    cuts[:, 0] = [6.0, 0.0]
    values = np.array([0.0, 5.0, 12.0, 0.0, -1.0, 3.0])[:, None]
    ends = np.array([0, 3, 6]), np.arange(3)
    flat = np.zeros((5, 0), np.uint8), nodes.ravel(), cuts.ravel(), values
    return net, sweeps.Stages(*flat, *ends, np.zeros((5, 1)), np.zeros(1), False, REMAINDER)


@pytest.mark.parametrize("sends", [REMAINDER, STAGE, SUM_AND_STAGE])
def test_ica2_by_hand_on_five_nodes(sends):
    net, stages = five_nodes()
    stages = stages._replace(sends=sends)
    aggregation, unknown = columns.Aggregation(True, 0.0, 0.0, 0.0), np.array([2, 3])
    messages = np.array([[10.0, -2.0], [20.0, 8.0], [0.0, 0.0], [0.0, 0.0], [2.0, -3.0]])  # target, r_1
    weights, waiting = np.array([1.0, 1, 0, 0, 1]), np.zeros(5, bool)
    state = sweeps.State(messages, np.zeros((5, 1)), weights, np.zeros((5, 1)))
    # Start: Rf1(2) = median(10, 20) = 15, F_0 = 12, Rf2 = median(-2, 8) = 3, T_1 = 3; Rf1(3) = 2, F_0 = 5, Rf2 = -3,
    # T_1 = -1.
    sweeps.start(net, aggregation, stages, state, unknown)
    assert messages[2:4].tolist() == {STAGE: [[12.0, 3.0], [5.0, -1.0]]}.get(sends, [[15.0, 3.0], [4.0, -1.0]])
    weights[unknown] = 1.0
    waiting[unknown] = True
    # 2: Rf1 = median(10, 20, 4 or 5) = 10, F_0 = 12, Rf2 = median(-2, 8, -1) = -1, T_1 = -1. 3: Rf1 = median(11 or 12,
    # 2) above 6, F_0 = 12, Rf2 = median(-1, -3) = -2, T_1 = -1.
    change, visits, moving = sweeps.sweep(net, aggregation, stages, state, unknown, waiting, True, 1.0, 5.0)
    assert (change, visits, moving) == (7.0, 2, 1)
    assert messages[2:4].tolist() == [[12.0 if sends == STAGE else 11.0, -1.0]] * 2
    assert state.scores[2:4, 0].tolist() == [11.0, 11.0]
    # Of 2 alone a neighbour's message changed: Rf1 = median(10, 20, 11 or 12), and it stays.
    assert sweeps.sweep(net, aggregation, stages, state, unknown, waiting, True, 1.0, 0.0) == (0.0, 1, 0)
    assert sweeps.sweep(net, aggregation, stages, state, unknown, waiting, True, 1.0, 0.0) == (0.0, 0, 0)
    assert messages[[0, 1, 4]].tolist() == [[10.0, -2.0], [20.0, 8.0], [2.0, -3.0]]


def test_parts_of_a_visit():
    net, n = made_net(), 40
    state, _ = made_state(n, 2, 2)
    scratch = columns.make_scratch(net)
    assert scratch.found.shape[1] == naive_columns.most_neighbors(net)
    for rule in RULES.values():
        for i in range(n):
            summary, total = np.zeros((2, 4)), np.zeros(2)
            columns.summarize(net, rule, state.messages, state.weights, i, 2, summary, total, scratch)
            theirs = naive_columns.summarize(net, rule, state.messages, state.weights, i, 2, 2)
            np.testing.assert_allclose(summary, theirs[0], rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(total, theirs[1])
    found = np.zeros(16, np.float32)
    columns.stage_columns(summary, total, np.ones(2), 1, found)
    np.testing.assert_allclose(found, naive_columns.stage_columns(summary, total, np.ones(2), 1), rtol=1e-6)
    fitted, score = np.zeros(3), np.array([1.0, -2.0, 800.0])
    sweeps.link(score, True, fitted)
    np.testing.assert_allclose(fitted, naive_sweeps.link(score, True))
    of = np.array([[1.0, 2.0], [4.0, 6.0]])
    for sends in (REMAINDER, STAGE, SUM_AND_STAGE):
        message = np.full(4, 9.0)
        assert sweeps.send(of, np.ones(2), sends, 1.0, message) == (9.0 if sends == STAGE else 6.0)
        np.testing.assert_array_equal(message, naive_sweeps.send(of, np.ones(2), sends))
        assert sweeps.send(of, np.ones(2), sends, 1.0, message) == -1.0


def test_walking_down_a_tree():
    stages, rng = made_stages(30, 1), np.random.default_rng(0)
    for i in range(30):
        given = rng.normal(0, 0.3, 5).astype(np.float32)
        given[rng.random(5) < 0.2] = np.nan
        tree = stages.nodes[:5], stages.cuts[:5], stages.bins[i], given
        assert sweeps.walk(*tree) == naive_sweeps.walk(*tree)
    scores = np.zeros(1)
    sweeps.add_stage(stages, 0, 1, given, scores)
    leaf = [naive_sweeps.walk(stages.nodes[b : b + 5], stages.cuts[b : b + 5], stages.bins[0], given) for b in (10, 15)]
    assert scores[0] == stages.values[10 + leaf[0], 0] + stages.values[15 + leaf[1], 0]


@pytest.mark.parametrize("m", [1, 2, 3, 8, 39, 100])
def test_middle_of_values(m):
    rng = np.random.default_rng(m)
    for values in (rng.normal(size=m), rng.integers(0, 3, m).astype(float), np.zeros(m)):
        assert columns.middle(values) == naive_columns.middle(values)


def test_shuffled_products():
    rng = np.random.default_rng(0)
    start, end = rng.integers(0, 20, (2, 50)).astype(np.int32)
    args = start, end, rng.random(50), rng.normal(size=20), rng.permuted(np.tile(np.arange(20), (7, 1)), axis=1)
    args = (*args[:4], args[4].astype(np.int32))
    theirs = naive_csr.cross_products(*args)
    np.testing.assert_allclose(csr.cross_products(*copy.deepcopy(args)), theirs, rtol=1e-12)


def test_lanes_sort_as_lists_do():
    rng = np.random.default_rng(0)
    for m in range(medians.LONGEST + 1):
        values = rng.integers(0, 9, (medians.LONGEST, medians.LANES)).astype(float)  # with ties
        ours, beyond = values.copy(), values[m:].copy()
        medians.sort_lanes(ours, m)
        np.testing.assert_array_equal(ours[:m], naive_medians.sort_lanes(values, m))
        np.testing.assert_array_equal(ours[m:], beyond)


def test_medians_side_by_side():
    """Lists of every length up to the longest, and one that is selected from, under signs and many columns."""
    n, rng = 60, np.random.default_rng(0)
    ends = [rng.permutation(n)[:m] for m in (*range(medians.LONGEST + 2), 50)]
    indptr = np.zeros((1, n + 1), np.int64)
    indptr[0, 1:] = np.cumsum([len(each) for each in ends] + [0] * (n - len(ends)))
    weights = np.sign(rng.normal(size=indptr[0, -1])).astype(np.float32)
    net = columns.Net(indptr, np.concatenate(ends).astype(np.int32), weights)
    messages, rows, own = rng.normal(size=(n, 20)), np.arange(n), np.zeros((n, 1))
    for stage, counts in ((0, np.ones(n)), (19, (rng.random(n) < 0.7).astype(float)), (1, rng.random(n))):
        outs = np.zeros((3, n, 5), np.float32)
        given = RULES["median"], messages[:, : stage + 1].copy(), counts, rows, own, stage
        columns.relate(net, *given, outs[0])
        naive_columns.relate(net, *given, outs[1])
        columns.relate(columns.counting(net, counts, rows), *given, outs[2])
        np.testing.assert_allclose(outs[0], outs[1], rtol=1e-6)
        np.testing.assert_array_equal(outs[0], outs[2])


def test_counting_leaves_what_counts():
    net, n = made_net(), 40
    weights, rows = np.where(np.arange(n) % 3, 0.0, 0.5), np.arange(0, n, 2)
    ours, twin = columns.counting(net, weights, rows), naive_columns.counting(net, weights, rows)
    for mine, theirs in zip(ours, twin):
        np.testing.assert_array_equal(mine, theirs)
    assert 0 < ours.indices.size < net.indices.size / 4
