"""The mix of F_0: its weights, the groups of columns it goes over, and what it saves where links say nothing."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

import hetcore as hc
from datasets._links import nearest_edges
from datasets.planted.autocorrelated import make_autocorrelated_graph
from hetcore.collective import base_model
from hetcore.collective.events import alike
from hetcore.collective.mixing import guarded_weights, mixing_weights
from hetcore.data import HetData
from hetcore.data.splits import label_split
from hetcore.targets import Problem, Scale
from tests.collective.test_collective import rmse, small

NUMBERS = Scale(np.empty(0, object), np.zeros(1), 1.0)
CLASSES = Scale(np.array(["a", "b", "c"], object), np.full(3, 1 / 3), 1.0)


@pytest.mark.parametrize("scale", [NUMBERS, CLASSES], ids=["numbers", "classes"])
def test_weights_are_those_of_a_general_minimiser(scale):
    rng = np.random.default_rng(0)
    K = scale.n_outputs
    target = np.eye(K)[rng.integers(0, K, 90)] if scale.is_classifier else rng.normal(size=(90, 1))
    scores = target + rng.normal(size=(3, 90, K)) * np.array([1.0, 1.3, 4.0])[:, None, None]
    found = mixing_weights(scores, target, scale)

    def value(v):
        w = np.exp(v - v.max()) / np.exp(v - v.max()).sum()
        return scale.loss.value(np.tensordot(w, scores, 1), target).mean() + w @ np.log(3 * w) / 90

    expected = np.exp(minimize(value, np.zeros(3), tol=1e-12).x)
    np.testing.assert_allclose(found, expected / expected.sum(), atol=2e-3)
    assert found[2] < found[1] < found[0]


def test_beside_a_model_that_errs_by_next_to_nothing_the_others_have_no_part():
    rng = np.random.default_rng(0)
    target = rng.normal(size=(60, 1))
    scores = target + rng.normal(size=(3, 60, 1)) * np.array([0.1, 0.1, 0.001])[:, None, None]
    assert mixing_weights(scores, target, NUMBERS)[2] > 0.99
    # in any unit of the labels
    found = [mixing_weights(scores * times, target * times, NUMBERS) for times in (1.0, 0.01)]
    np.testing.assert_allclose(*found, atol=1e-4)


def test_one_model_has_all_the_weight_and_alike_ones_share_it():
    target = np.arange(5.0)[:, None]
    assert mixing_weights(target[None], target, NUMBERS).tolist() == [1.0]
    np.testing.assert_allclose(mixing_weights(np.stack([target] * 4), target, NUMBERS), 0.25)


@pytest.mark.parametrize("scale", [NUMBERS, CLASSES], ids=["numbers", "classes"])
def test_a_mix_that_is_not_clearly_better_gives_way_to_the_first_model(scale):
    rng = np.random.default_rng(1)
    K = scale.n_outputs
    target = np.eye(K)[rng.integers(0, K, 60)] if scale.is_classifier else rng.normal(size=(60, 1))
    first = target + rng.normal(size=(60, K))
    near = first + 0.05 * rng.normal(size=(60, K))
    assert 0.1 < mixing_weights(np.stack([first, near]), target, scale)[1]
    found, alone = guarded_weights(np.stack([first, near]), target, scale, lambda scores: True)
    assert found.tolist() == [1.0, 0.0] and alone.tolist() == [1.0]
    better = np.stack([first, target + 0.2 * (first - target)])
    found, _ = guarded_weights(better, target, scale, lambda scores: pytest.fail("there was nothing to ask"))
    np.testing.assert_array_equal(found, mixing_weights(better, target, scale))
    assert found[1] > 0.5


def test_a_mix_that_is_somewhat_better_counts_where_residuals_are_alike_along_links():
    target = np.random.default_rng(2).normal(size=(60, 1))
    # a row of four errs more in the mix, so that it gains 1.5 standard errors
    other = np.where(np.arange(60) % 4 == 0, 1.55, 0.6)[:, None]
    scores = np.stack([target + 1.0, target + other])
    weights = mixing_weights(scores, target, NUMBERS)
    gain = (0.5 - 0.5 * (np.tensordot(weights, scores, 1) - target) ** 2).ravel()
    assert 1.2 < gain.mean() / (gain.std() / np.sqrt(60)) < 1.8
    assert guarded_weights(scores, target, NUMBERS, lambda first: False)[0].tolist() == [1.0, 0.0]
    np.testing.assert_array_equal(guarded_weights(scores, target, NUMBERS, lambda first: True)[0], weights)


@pytest.mark.parametrize("scale", [NUMBERS, CLASSES], ids=["numbers", "classes"])
def test_several_first_models_give_way_together_and_are_asked_for_as_their_own_mix(scale):
    rng = np.random.default_rng(1)
    K = scale.n_outputs
    target = np.eye(K)[rng.integers(0, K, 60)] if scale.is_classifier else rng.normal(size=(60, 1))
    firsts = target + rng.normal(size=(2, 60, K))
    near, asked = firsts.mean(axis=0) + 0.05 * rng.normal(size=(60, K)), []
    found, alone = guarded_weights(np.stack([*firsts, near]), target, scale, lambda scores: asked.append(scores), 2)
    np.testing.assert_array_equal(alone, mixing_weights(firsts, target, scale))
    np.testing.assert_array_equal(found, [*alone, 0.0])
    assert all(np.array_equal(each, np.tensordot(alone, firsts, 1)) for each in asked)
    # with no other model there is nothing to give way to
    found, alone = guarded_weights(firsts, target, scale, lambda scores: pytest.fail("there was nothing to ask"), 2)
    np.testing.assert_array_equal(found, alone)


@pytest.mark.parametrize("classes", [False, True])
def test_residuals_are_alike_where_what_is_left_is_shared_along_links(classes):
    """Half of the nodes are predicted well and half badly: linked to their like, and at random."""
    n, rng = 80, np.random.default_rng(0)
    ids, bad = [f"n{i:02d}" for i in range(n)], np.arange(n) >= n // 2
    halves = rng.integers(0, 2, 120) * (n // 2)
    ends = {"like": [rng.integers(0, n // 2, 120) + halves for _ in range(2)], "random": rng.integers(0, n, (2, 120))}
    graphs = {name: pl.DataFrame({"a": np.array(ids)[a], "b": np.array(ids)[b]}) for name, (a, b) in ends.items()}
    y = np.where(np.arange(n) % 2, "u", "v") if classes else rng.normal(size=n)
    data = HetData(
        {"t": pl.DataFrame({"id": ids, "x": range(n)})},
        {name: each.filter(pl.col("a") != pl.col("b")) for name, each in graphs.items()},
        pl.DataFrame({"id": ids, "y": y}),
    )
    problem = Problem.of(data, data.y, None, "classification" if classes else "regression")
    fitted = np.where(bad[:, None], 0.5, problem.target) if classes else problem.target + 1.0 * bad[:, None]
    found = [alike(problem, fitted, problem.target, {name: data.graphs[name]}) for name in ("like", "random")]
    assert found == [True, False]


@pytest.mark.slow
def test_links_that_say_nothing_cost_less_in_a_mix():
    errors = []
    for seed in range(3):
        data = make_autocorrelated_graph(400, residual_correlation=0.0, label_correlation=0.0, seed=seed)[0]
        y = label_split(data, 0.3, seed=seed)
        hidden = np.isnan(y)
        models = hc.MGBRegressor(mix=False), hc.MGBRegressor(), hc.GBRegressor()
        errors.append([rmse(model.fit(data, y).predict(data)[hidden], data.y[hidden]) for model in models])
    joined, mixed, own = np.array(errors).T
    assert mixed.mean() < 0.995 * joined.mean() and (mixed == own).all()


def stepwise(seed):
    """Return 240 rows whose target is a function of their columns, linked to the five most alike."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(240, 6)).astype(float)
    y = 8 * np.where(X[:, 0] > 1, X[:, 1], X[:, 2] ** 2) + X[:, 3]
    ids = [f"r{i:03d}" for i in range(len(X))]
    near = nearest_edges(np.array(ids, object), X + 1e-3 * rng.normal(size=X.shape), 5)
    table = pl.DataFrame({"id": ids} | {f"x{j}": X[:, j] for j in range(6)})
    return HetData({"t": table}, {"near": near}, pl.DataFrame({"id": ids, "y": y}), id_column="id", task="regression")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_links_between_alike_rows_cost_nothing_where_the_columns_say_all(monkeypatch, seed):
    data = stepwise(seed)
    y = label_split(data, 0.4, seed=seed)
    hidden = np.isnan(y)
    error = lambda model: rmse(model.fit(data, y).predict(data)[hidden], data.y[hidden])  # noqa: E731
    # trees that see half of the columns leave something that neighbours seem to tell
    half = {"column_sample": 0.5}
    own, guarded = error(hc.GBRegressor(**half)), error(hc.MGBRegressor(**half))

    def unguarded(scores, target, scale, alike, n_first):
        return mixing_weights(scores, target, scale), mixing_weights(scores[:n_first], target, scale)

    monkeypatch.setattr(base_model, "guarded_weights", unguarded)
    assert guarded < 1.02 * own and error(hc.MGBRegressor(**half)) > 1.01 * own


def noisy(n, classes=False):
    """Return n rows whose columns say what there is to say, linked at random."""
    rng = np.random.default_rng(3)
    ids, x = [f"r{i:03d}" for i in range(n)], rng.normal(size=(n, 2))
    y = x[:, 0] + 0.2 * rng.normal(size=n)
    ends = rng.integers(0, n, size=(3 * n, 2))
    links = pl.DataFrame({"a": np.array(ids)[ends[:, 0]], "b": np.array(ids)[ends[:, 1]]})
    table = pl.DataFrame({"id": ids, "u": x[:, 0], "v": x[:, 1]})
    target = pl.DataFrame({"id": ids, "y": np.where(y > 0, "yes", "no") if classes else y})
    task = "classification" if classes else "regression"
    return HetData({"t": table}, {"links": links.filter(pl.col("a") != pl.col("b"))}, target, id_column="id", task=task)


@pytest.mark.parametrize("classes", [False, True])
def test_where_neighbours_are_not_worth_it_mgb_is_gb_bit_for_bit(classes, tmp_path):
    data = noisy(120, classes)
    y = label_split(data, 0.5, seed=0)
    made = hc.MGBClassifier if classes else hc.MGBRegressor
    plain = small(made, features=(), hops=0, mix=False) if classes else small(hc.GBRegressor)
    events = []
    model = small(made).fit(data, y, callbacks=[events.append])
    assert model.model_.how.linked is False and events[-1].detail["sweeps"] == []
    assert model.became_gb_ is events[-1].detail["became_gb"] is True
    found, own = (each._fitted(data, None) for each in (model, plain.fit(data, y)))
    # what has no neighbours to lose became nothing
    assert plain.became_gb_ is False
    np.testing.assert_array_equal(found, own)
    staged = model.staged_predict(data)
    np.testing.assert_array_equal(staged[-1], model.predict(data))
    # a link more or a label more moves nothing
    cut = data.with_edges("links", add=[("r000", "r001"), ("r002", "r119")])
    np.testing.assert_array_equal(model.predict(cut), model.predict(data))
    hc.save(model, tmp_path / "m.hetcore")
    restored = hc.load(tmp_path / "m.hetcore")
    np.testing.assert_array_equal(restored.predict(data), model.predict(data))
    assert restored.became_gb_ is True


def test_a_mix_is_of_own_columns_labels_and_features():
    data = make_autocorrelated_graph(200, residual_correlation=0.8, seed=1)[0]
    model = small(hc.MGBRegressor).fit(data, label_split(data, 0.5, seed=0))
    own, near, every = model.model_.columns.groups(1)
    assert own.size < near.size < every.size == near.size + model.model_.columns._n_features(1)
    assert set(own) < set(near) < set(every) and model.became_gb_ is False
    used = model.model_.base.trees.to_arrays()["nodes"]
    split = set(used["feature"][used["left"] >= 0].tolist())
    assert split & (set(near) - set(own)) and split & (set(every) - set(near))
