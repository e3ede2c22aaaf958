"""Algorithm 1 of the paper: rounds by hand, the line search, (4.10), (4.11), and plain boosting as a special case."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq

import hetcore as hc
from hetcore.consensus.printed.algorithm1 import Printed
from hetcore.consensus.printed.line_search import line_search
from hetcore.consensus.view_weights import self_normalised
from hetcore.losses import HalfSquared, Logistic
from hetcore.targets import Problem
from hetcore.trees import TreeParams, grow
from tests.consensus.test_consensus import TASKS, planted

LETTER = {"as_printed": True}


def state_of(data, task, **params):
    """Return the state of a fit as printed after line 1."""
    fit = TASKS[task](**({"max_depth": 2, "min_samples_leaf": 1, "lambda0": 0.0, "lambda1": 0.3} | LETTER | params))
    return Printed.start(Problem.of(data, None, None, task), fit.get_params(), np.random.default_rng(0))


def scores(state):
    """Return f_i (p, n, K), 0 where a table has no record."""
    return np.stack([part.learner.weighted(np.ones(state.weights.shape[1])) for part in state.tables])


# ---- the line search (4.8) -------------------------------------------------------------------------------------------


def _objective(loss, f, h, targets, weights, step):
    return float((weights * loss.value(f + step * h, targets)).sum())


@st.composite
def searches(draw):
    """Draw a loss with scores, a direction and weighted targets."""
    loss = draw(st.sampled_from([HalfSquared(), Logistic()]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, j = draw(st.integers(1, 30)), draw(st.integers(1, 3))
    f, h = rng.normal(size=m) * 3, rng.normal(size=m) * 10.0 ** draw(st.integers(-6, 3))
    targets = rng.choice([-1.0, 1.0], (j, m)) if draw(st.booleans()) else rng.normal(size=(j, m))
    weights = rng.random((j, m)) * (rng.random((j, m)) < 0.7) * 10.0 ** draw(st.integers(-3, 6))
    return loss, f, h, targets, weights


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(searches())
def test_the_step_never_raises_the_objective_and_no_other_on_a_fine_grid_does_better(search):
    loss, f, h, targets, weights = search
    step = line_search(*search)
    least, before = _objective(*search, step), _objective(*search, 0.0)
    assert least <= before
    size = np.abs(h).max()
    steps = np.geomspace(1e-4, 30, 300) / size
    grid = [0.0, *steps, *-steps, *(step * np.linspace(0.9, 1.1, 21))]
    tolerance = 1e-9 * abs(before) + 1e-12
    assert least <= min(_objective(*search, trial) for trial in grid) + tolerance


@settings(max_examples=200, deadline=None)
@given(searches())
def test_the_step_of_the_squared_loss_is_the_closed_form(search):
    _, f, h, targets, weights = search
    if weights.any():
        best = (weights * (targets - f) * h).sum() / max((weights * h**2).sum(), 1e-300)
        within = abs(best) * np.abs(h).max() < 1e5
        if within:
            assert_allclose(line_search(HalfSquared(), f, h, targets, weights), best, rtol=1e-9, atol=1e-12)


def test_the_step_of_the_logistic_loss_is_the_root_of_its_slope():
    rng = np.random.default_rng(0)
    y, f = rng.choice([-1.0, 1.0], (1, 200)), rng.normal(size=200)
    h, weights = y[0] + rng.normal(size=200), np.ones((1, 200))
    root = brentq(lambda step: float((Logistic().gradient(f + step * h, y) * h).sum()), 0.0, 50.0, xtol=1e-13)
    assert_allclose(line_search(Logistic(), f, h, y, weights), root, rtol=1e-8)


def test_a_step_against_the_direction_and_none_without_direction_or_weight():
    f, y, ones = np.zeros(3), np.ones((1, 3)), np.ones((1, 3))
    for loss in (HalfSquared(), Logistic()):
        back, along = line_search(loss, f, -np.ones(3), y, ones), line_search(loss, f, np.ones(3), y, ones)
        assert back == -along < 0
        assert line_search(loss, f, np.zeros(3), y, ones) == 0.0
        assert line_search(loss, f, np.ones(3), y, 0 * ones) == 0.0


def test_separable_labels_give_a_long_finite_step():
    y = np.array([[1.0, -1.0]])
    step = line_search(Logistic(), np.zeros(2), y[0], y, np.ones((1, 2)))
    assert 10 < step < 1e7


# ---- one round by hand -----------------------------------------------------------------------------------------------


X = np.array([[0, 1, 2, 3, 4, np.nan, 2.5], [np.nan, 5, 4, 3, 2, 1, 2.5]])
COVERS = ~np.isnan(X)
LABELS = {"regression": [1.0, 2.0, 4.0, 7.0, 3.0], "classification": ["n", "p", "n", "p", "p"]}
NEIGHBOURS = {
    "a": "e",
    "b": "cddd",
    "c": "bg",
    "d": "bbb",
    "e": "aff",
    "f": "eeg",
    "g": "cf",
}  # as often as edges weigh


def _tiny(task="regression"):
    """Return seven instances, two tables of one column that overlap on five of them, one graph, and five labels."""
    tables = {}
    for name, values in zip(("one", "two"), X):
        ids = [each for each, value in zip("abcdefg", values) if value == value]
        tables[name] = pl.DataFrame({"id": ids, "x": values[~np.isnan(values)]})
    pairs = {(a, b): near.count(b) for a, near in NEIGHBOURS.items() for b in near if a < b}
    edges = pl.DataFrame(
        [(a, b, float(w)) for (a, b), w in pairs.items()], ["source", "target", "weight"], orient="row"
    )
    return hc.HetData(tables, {"g": edges}, pl.DataFrame({"id": list("abcde"), "y": LABELS[task]}))


def _order(data):
    return [data.position[each] for each in "abcdefg"]


def _neighbour_mean(f, covers, j):
    predicted = [f["abcdefg".index(other)] for other in NEIGHBOURS["abcdefg"[j]] if covers["abcdefg".index(other)]]
    return np.mean(predicted) if predicted else None


def _derivative(task, f, target):
    return f - target if task == "regression" else -target / (1 + np.exp(target * f))


def _loss(task, f, target):
    return 0.5 * (f - target) ** 2 if task == "regression" else np.log(1 + np.exp(-target * f))


def _stump(x, z, everyone):
    """Return for everyone the best tree of two leaves, the mean of z on either side, by the least squared error."""

    def error(cut):
        return sum(((side - side.mean()) ** 2).sum() for side in (z[x <= cut], z[x > cut]))

    best = min(np.sort(x)[:-1], key=error)
    return np.where(everyone <= best, z[x <= best].mean(), z[x > best].mean())


def _steps(task, f, h, terms):
    """Return the step in [-50, 50] of least objective by golden-section search."""
    low, high = -50.0, 50.0
    value = lambda s: sum(w * _loss(task, f[j] + s * h[j], t) for j, w, t, _ in terms)  # noqa: E731
    for _ in range(200):
        a, b = low + 0.382 * (high - low), low + 0.618 * (high - low)
        low, high = (low, b) if value(a) < value(b) else (a, high)
    return 0.5 * (low + high)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("lambda0,lambda1", [(0.0, 0.0), (0.5, 0.0), (0.0, 0.25), (0.5, 0.25)])
def test_one_round_by_hand(task, lambda0, lambda1):
    data = _tiny(task)
    state, order = state_of(data, task, max_depth=1, lambda0=lambda0, lambda1=lambda1), _order(data)
    if task == "regression":
        y = (np.array(LABELS[task]) - np.mean(LABELS[task])) / np.std(LABELS[task])
    else:
        y = np.array([-1.0, 1.0, -1.0, 1.0, 1.0])
    f = np.where(COVERS, 0.0 if task == "regression" else np.log(0.6 / 0.4), 0.0)  # line 1
    w = np.array([0.5, 0.5])
    for i in range(2):
        consensus = (w[:, None] * f * COVERS).sum(axis=0) / (w[:, None] * COVERS).sum(axis=0)
        terms = [(j, 1.0, y[j], 0) for j in range(5) if COVERS[i, j]]
        for j in (5, 6):
            if COVERS[i, j]:
                near = _neighbour_mean(f[i], COVERS[i], j)
                terms += [(j, lambda0, consensus[j], 1)] + ([(j, lambda1, near, 2)] if near is not None else [])
        z = np.zeros(7)
        for j, weight, target, kind in terms:
            before = w[i] if kind < 2 or task != "regression" else 0.5  # the display below (4.5)
            z[j] -= before * weight * _derivative(task, f[i, j], target)
        rows = sorted({j for j, weight, *_ in terms if weight > 0})
        h = np.zeros(7)
        h[COVERS[i]] = _stump(X[i, rows], z[rows], X[i, COVERS[i]])
        f[i] += _steps(task, f[i], h, terms) * h  # (4.8), (4.9)
    state.round()
    assert_allclose(scores(state)[:, order, 0], f, atol=1e-4)
    losses = [np.sum([_loss(task, f[i, j], y[j]) for j in range(5) if COVERS[i, j]]) for i in range(2)]
    assert_allclose(state.weights[:, 0], self_normalised(losses), atol=1e-4)  # (4.10)
    assert_allclose(state.graph_weights, 1.0)
    mass = (state.weights * COVERS).sum(axis=0)
    assert_allclose(state.consensus[order, 0], (state.weights * f * COVERS).sum(axis=0) / mass, atol=1e-4)  # (4.6)


def test_graph_weights_by_hand():
    one = pl.DataFrame({"id": list("abcd"), "x": [0.0, 1.0, 2.0, 3.0]})
    graphs = {
        "near": pl.DataFrame({"source": ["a", "c"], "target": ["b", "d"]}),
        "far": pl.DataFrame({"source": ["a", "b"], "target": ["d", "c"]}),
    }
    state = state_of(hc.HetData({"one": one}, graphs, one.rename({"x": "y"})), "regression", max_depth=2)
    state.round()
    f = scores(state)[0, :, 0]
    assert_allclose(f * state.problem.scale.deviation + 1.5, [0, 1, 2, 3], atol=1e-6)
    near = np.mean([0.5 * (f[0] - f[1]) ** 2, 0.5 * (f[2] - f[3]) ** 2])
    far = np.mean([0.5 * (f[0] - f[3]) ** 2, 0.5 * (f[1] - f[2]) ** 2])
    assert_allclose(near * 5, far, rtol=1e-5)
    assert_allclose(state.graph_weights[:, 0], self_normalised([near, far]), rtol=1e-9)


def test_an_edge_with_an_end_that_a_source_lacks_says_nothing_of_that_source():
    state = state_of(_tiny(), "regression")
    state.round()
    f, w = scores(state)[:, _order(state.problem.data), 0], state.weights[:, 0]
    values = []
    for a, near in NEIGHBOURS.items():
        for b in set(near):
            j, k = "abcdefg".index(a), "abcdefg".index(b)
            both = [i for i in range(2) if j < k and COVERS[i, j] and COVERS[i, k]]
            if both:
                values.append(sum(w[i] * 0.5 * (f[i, j] - f[i, k]) ** 2 for i in both))
    mean = (w[:, None, None] * state.edge_losses).sum(axis=0)[0, 0] / state.edges[0]
    assert_allclose(mean, np.mean(values), rtol=1e-12)


def test_a_source_without_a_labelled_row_is_evaluated_as_the_prior():
    data, _ = planted("regression", n_sources=1, n_noise_sources=0, n_graphs=0)
    strange = pl.DataFrame({"id": [f"q{k}" for k in range(30)], "x": np.arange(30.0)})
    both = hc.HetData({**data.sources, "strange": strange}, target=(data.ids, data.y))
    state = state_of(both, "regression", lambda0=0.0)
    state.round()
    y = state.task.sign[state.problem.labelled, 0]
    rows = data.rows("source_1")[data.labelled[data.rows("source_1")]]
    own = (0.5 * (scores(state)[0, rows, 0] - state.task.sign[rows, 0]) ** 2).sum()
    assert_allclose(state.weights[:, 0], self_normalised([own, (0.5 * y**2).sum()]), rtol=1e-9)
    assert state.weights[0, 0] > state.weights[1, 0]


# ---- over the rounds -------------------------------------------------------------------------------------------------


def _objective_of(state, i, task, lambda0, lambda1, consensus, near):
    """Return source i's part of (4.4) with E and E~ held fixed."""
    loss, part = state.task.loss, state.tables[i]
    rows, known = part.rows, state.problem.labelled[part.rows]
    f = scores(state)[i, rows, 0]
    value = loss.value(f[known], state.task.sign[rows[known], 0]).sum()
    value += lambda0 * loss.value(f[~known], consensus[rows[~known], 0]).sum()
    predicted, has = near
    with_neighbors = ~known & has[rows]
    return value + lambda1 * loss.value(f[with_neighbors], predicted[rows[with_neighbors]]).sum()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_updating_a_source_never_raises_its_objective(task, rate):
    data, _ = planted(task, n_classes=2, n=80)
    state = state_of(data, task, lambda0=0.3, lambda1=0.2, shrinkage=rate)
    for _ in range(6):
        for i, part in enumerate(state.tables):
            consensus = state.consensus
            near = part.learner.neighbours_say(0, state.graph_weights)
            before = _objective_of(state, i, task, lambda0=0.3, lambda1=0.2, consensus=consensus, near=near)
            state._fit([i], consensus)
            assert (
                _objective_of(state, i, task, lambda0=0.3, lambda1=0.2, consensus=consensus, near=near) <= before + 1e-9
            )
        state.weights[:, 0], state.graph_weights[:, 0] = state._weights(0), state._graph_weights()[:, 0]


@pytest.mark.parametrize("task", TASKS)
def test_the_training_loss_of_every_source_falls_without_pulls(task):
    data, _ = planted(task, n=80, n_classes=2)
    state = state_of(data, task, lambda0=0.0, lambda1=0.0, shrinkage=0.3)
    last = np.inf
    for _ in range(10):
        state.round()
        losses = []
        for i, part in enumerate(state.tables):
            rows = part.rows[state.problem.labelled[part.rows]]
            losses.append(state.task.loss.value(scores(state)[i, rows, 0], state.task.sign[rows, 0]).mean())
        assert (np.array(losses) <= np.array(last) + 1e-12).all()
        last = losses


@pytest.mark.parametrize("task", TASKS)
def test_one_source_and_no_pull_is_plain_boosting_with_line_search(task):
    data, _ = planted(task, n_sources=1, n_noise_sources=0, n_graphs=0, n_classes=2, coverage=1.0)
    params = {"n_iterations": 8, "shrinkage": 0.5, "lambda0": 0.0, "lambda1": 0.0, "max_depth": 2}
    params |= {"min_samples_leaf": 5}
    fit = TASKS[task](as_printed=True, **params).fit(data)
    state = state_of(data, task)
    loss, y, part = state.task.loss, state.task.sign[:, 0], state.tables[0]
    known = np.flatnonzero(state.problem.labelled)
    F = np.full(data.n, state.task.start_value[0])
    if task == "classification":
        share = (y[known] > 0).mean()
        assert_allclose(state.task.start_value, np.log(share / (1 - share)))
    for _ in range(8):
        slope = loss.gradient(F, y).astype(np.float32)
        tree = grow(
            part.learner.binned,
            slope,
            None,
            rows=known,
            columns=None,
            params=TreeParams(2, -1, 5),
            n_bins=part.learner.keep().mapper.n_bins,
        )
        h = tree.predict(part.learner.binned)[:, 0]
        steps = np.linspace(0, 30, 3001)
        values = [loss.value(F[known] + step * h[known], y[known]).sum() for step in steps]
        step = line_search(loss, F[known], h[known], y[None, known], np.ones((1, known.size)))
        assert abs(step - steps[int(np.argmin(values))]) <= 0.011 or step > 30
        F += 0.5 * step * h
    if task == "regression":
        assert_allclose(
            fit.predict(data), F * state.problem.scale.deviation + state.problem.scale.mean[0], rtol=1e-4, atol=1e-5
        )
    else:
        assert_allclose(fit.predict_proba(data)[:, 1], 1 / (1 + np.exp(-F)), atol=1e-5)


def test_who_has_no_neighbour_is_not_pulled_to_any():
    table = pl.DataFrame({"id": list("abcd"), "x": [0.0, 1.0, 2.0, 3.0]})
    edges = pl.DataFrame({"source": ["a"], "target": ["c"]})
    data = hc.HetData({"one": table}, {"g": edges}, pl.DataFrame({"id": ["a", "b"], "y": [0.0, 1.0]}))
    state = state_of(data, "regression", lambda0=0.0, lambda1=1.0)
    _, weights = state.tables[0].learner.terms(0, state.consensus, state.graph_weights, state.left_out)
    assert_array_equal(weights[2], [0, 0, 1, 0])
    lonely = hc.HetData({"one": table, "two": table[:3]}, {"g": edges.replace_column(1, pl.Series("target", ["d"]))})
    state = state_of(lonely.with_target([np.nan, 0.0, 1.0, np.nan]), "regression", lambda1=1.0)
    _, weights = state.tables[1].learner.terms(0, state.consensus, state.graph_weights, state.left_out)
    assert_array_equal(weights[2], [0, 0, 0])  # a's only neighbour is not in table two


def test_a_source_of_tiny_weight_still_takes_the_best_step():
    data, _ = planted("regression", n_sources=2, n_noise_sources=0, n_graphs=0, coverage=1.0)
    moved = []
    for weight in (0.5, 1e-60):
        state = state_of(data, "regression", lambda0=0.0)
        state.weights[:, 0] = 1.0 - weight, weight
        state._fit([1], state.consensus)
        moved.append(scores(state)[1, :, 0])
    assert np.abs(moved[0]).max() > 0.1
    assert_allclose(moved[1], moved[0], rtol=1e-5)


def test_a_source_of_no_weight_still_predicts_what_it_alone_covers():
    state = state_of(_tiny(), "regression")
    state.round()
    state.weights[:, 0] = 0.0, 1.0
    a, b = state.consensus[[0, 1], 0]
    assert_allclose([a, b], [scores(state)[0, 0, 0], scores(state)[1, 1, 0]], rtol=1e-12)


def test_parallel_sources_start_from_the_same_state():
    data, _ = planted("regression")
    turned = hc.HetData(dict(reversed(data.sources.items())), data.graphs, (data.ids, data.y))
    params = {"lambda0": 0.5, "lambda1": 0.25, "schedule": "parallel"}
    a, b = state_of(data, "regression", **params), state_of(turned, "regression", **params)
    for state in (a, b):
        state.round()
    place = [turned.position[each] for each in data.ids]
    assert_allclose(scores(b)[::-1, place], scores(a), atol=1e-6)
    in_turn = state_of(data, "regression", **(params | {"schedule": "sequential"}))
    in_turn.round()
    assert_array_equal(scores(in_turn)[0], scores(a)[0])
    assert np.abs(scores(in_turn)[1] - scores(a)[1]).max() > 1e-3


def test_a_labelled_neighbour_can_say_its_label():
    data = _tiny()
    state = state_of(data, "regression", lambda1=1.0, clamp_neighbors=True)
    state.round()
    targets, weights = state.tables[1].learner.terms(0, state.consensus, state.graph_weights, state.left_out)
    f, g = data.position["f"], data.position["g"]  # in table two: f hears e twice and g, g hears c and f
    place = {int(row): k for k, row in enumerate(state.tables[1].rows)}
    score = scores(state)[1, :, 0]
    e, c = state.task.sign[data.position["e"], 0], state.task.sign[data.position["c"], 0]
    assert_allclose(targets[2, place[f]], (2 * e + score[g]) / 3)
    assert_allclose(targets[2, place[g]], (c + score[f]) / 2)
    assert_array_equal(np.flatnonzero(weights[2]), sorted([place[f], place[g]]))
