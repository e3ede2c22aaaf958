"""The views of the default: what they are made of, whose labels are hidden, and what weights make of planted truth."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import spearmanr

import hetcore as hc
from datasets.planted.generator import make_heterogeneous
from hetcore.consensus import neighbor_columns, view_consensus
from hetcore.consensus.boosting import _depth
from hetcore.consensus.neighbor_columns import (
    dealt_folds,
    folds_for,
    label_columns,
    unseen_columns,
    unseen_rows,
)
from hetcore.consensus.outputs import Outputs
from hetcore.consensus.smooth_learner import CONSTANT
from hetcore.consensus.smoothing import LinkBlend, Pairs, graph_weights, smoothed
from hetcore.consensus.view_consensus import StopRound, ViewConsensus
from hetcore.consensus.view_weights import (
    SHARPNESS,
    consensus,
    deal,
    fitted_mix,
    needed,
    sharpness_for,
    slopes_on_parts,
)
from hetcore.consensus.views import TREES, ViewColumns, views
from hetcore.targets import KnownLabels, Problem
from tests.consensus.test_consensus import TASKS, model, planted, scores


def _labels(data, task):
    problem = Problem.of(data, None, None, task)
    return KnownLabels(Outputs.of(problem.scale).codes(problem.target), dealt_folds(problem, 5, 0))


@pytest.mark.parametrize("task", TASKS)
def test_a_row_sees_no_label_of_its_own_fold_not_even_in_a_clique(task):
    data, _ = planted(task, n=60)
    labels = _labels(data, task)
    clique = sparse.csr_array(np.ones((data.n, data.n)) - np.eye(data.n))
    row = int(np.flatnonzero(labels.known)[0])
    codes = labels.codes.copy()
    codes[row] += 1.0
    before, after = label_columns(clique, labels), label_columns(clique, labels._replace(codes=codes))
    hidden = labels.fold == labels.fold[row]
    assert_array_equal(before[hidden], after[hidden])
    assert (np.abs(before - after)[~hidden].max(axis=1) > 1e-6).all()


def test_neighbours_labels_by_hand():
    links = sparse.csr_array(np.array([[0, 2, 1, 0], [2, 0, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]], float))
    labels = KnownLabels(np.array([[0.0], [3.0], [6.0], [9.0]]), np.array([-1, 0, 1, 0]))
    columns = label_columns(links, labels)
    assert_allclose(columns[0, 0], (2 * 3 + 6) / 3)  # one link: row 1 twice as near as row 2
    assert np.isnan(columns[1, 0])  # its one neighbour has no label
    assert_allclose(columns[2, 0], 9.0)
    assert_allclose(columns[3, 0], 6.0)
    # rows of fold 0 see one label of three, that of fold 1 two: counted as if they saw all
    assert_allclose(columns[:, 3], np.log1p([3, 0, 1.5, 3]), rtol=1e-6)
    assert_allclose(label_columns(links, labels, whole=False)[:, 3], np.log1p([3, 0, 1, 1]), rtol=1e-6)


@pytest.mark.parametrize("task", TASKS)
def test_the_views_of_data_and_their_widths(task):
    data, _ = planted(task)
    found = views(data)
    names = {each.view.name for each in found}
    assert {"table source_1 (trees)", "joined (kernel)", "labels of graph_1 (linear)"} <= names
    assert {"smoothed over all graphs (linear)", "joined and graphs (trees)"} <= names and len(names) == len(found)
    columns = ViewColumns().fit(data, _labels(data, task))
    for each in columns.of_training():
        assert each.X.shape == (each.rows.size, columns.width(each.view, _labels(data, task).codes.shape[1]))
        assert each.view.sees == "trees" or np.isfinite(each.X).all()


@pytest.mark.parametrize("task", TASKS)
def test_oblivious_trees_look_at_the_widest_columns(task):
    data, _ = planted(task)
    bare = hc.HetData(data.sources, None, (data.ids, data.y), task=data.target_kind)
    for given, widest in ((data, "joined and graphs"), (bare, "joined")):
        found = ViewColumns().fit(given, _labels(given, task)).views
        assert [view.columns for view in found if view.learner == "oblivious trees"] == [widest]


def test_what_pays_only_together_is_found():
    """A class by the signs of an own column and of the neighbours' mean of another: neither tells anything alone."""
    rng, n = np.random.default_rng(3), 1_000
    X, ends = rng.normal(size=(n, 6)), rng.integers(n, size=(2, 2_500))
    links = sparse.coo_array((np.ones(2_500), ends), shape=(n, n))
    near = (links + links.T) @ X[:, 3]
    y = np.where(X[:, 0] * near > 0, "alike", "apart").astype(object)
    ids = [f"i{k}" for k in range(n)]
    tables = {f"t{k}": pl.DataFrame({"id": ids, **dict(zip("abc", X[:, k : k + 3].T))}) for k in (0, 3)}
    edges = pl.DataFrame({"source": [ids[a] for a in ends[0]], "target": [ids[b] for b in ends[1]]})
    known = np.arange(n) < 200
    data = hc.HetData(tables, {"links": edges}, (ids, np.where(known, y, None)))
    assert np.mean(hc.GBCClassifier(random_state=0).fit(data).predict(data)[~known] != y[~known]) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("kind", [hc.GBCClassifier, hc.GBCRegressor])
def test_deep_trees_look_where_labels_are_many(kind):
    """What hangs on eight columns at once, told from 6,000 rows: trees of five splits on a path are not enough."""
    X = np.random.default_rng(0).normal(size=(8_000, 8))
    place = (X > 0) @ 2 ** np.arange(8)
    y = np.random.default_rng(1).normal(size=256)[place]
    if kind is hc.GBCClassifier:
        y = np.where(y > 0, "above", "below")
    data = hc.HetData({f"half {k}": hc.Source(range(8_000), X[:, 4 * k : 4 * k + 4]) for k in range(2)})
    few, many = ([*y[:n], *[None] * (8_000 - n)] for n in (4_999, 6_000))
    without, fitted = kind(n_iterations=1, random_state=0).fit(data, few), kind(random_state=0).fit(data, many)
    assert not any("deep" in name for name in without.view_weights_)
    weights = fitted.view_weights_
    assert weights["joined (deep trees)"] > 0.5 > weights["joined (trees)"]


def test_how_deep_trees_are():
    assert [_depth(learner, 5) for learner in TREES] == [5, 2, 5, 8]
    assert [_depth(learner, -1) for learner in TREES] == [-1, 2, -1, -1]
    assert [_depth(learner, 1) for learner in TREES] == [1, 1, 1, 4]


@pytest.mark.parametrize("task", TASKS)
def test_views_of_the_training_data_are_made_again_alike(task):
    data, _ = planted(task)
    columns = ViewColumns().fit(data, _labels(data, task))
    for one, other in zip(columns.of_training(), columns.transform(data, _labels(data, task))):
        assert_array_equal(one.rows, other.rows)
        assert_allclose(one.X, other.X, rtol=1e-12, atol=1e-12)


def test_smoothing_solves_what_it_says():
    rng = np.random.default_rng(0)
    blend = rng.random((6, 6)) * (rng.random((6, 6)) < 0.5)
    blend[5] = 0.0
    blend /= np.maximum(blend.sum(axis=1, keepdims=True), 1e-300)
    E, known, z = rng.normal(size=(6, 1)), np.array([1, 0, 0, 1, 0, 0], bool), rng.normal(size=(6, 1))
    e = smoothed(sparse.csr_array(blend), E, 0.5, known, z)
    near = blend @ np.where(known[:, None], z, e)
    expected = np.where(blend.sum(axis=1, keepdims=True) > 0, (E + 0.5 * near) / 1.5, E)
    assert_allclose(e, expected, atol=1e-4)
    assert_array_equal(smoothed(sparse.csr_array(blend), E, 0.0, known, z), E)


@pytest.mark.parametrize("n_graphs", [1, 2, 5])
def test_links_of_several_graphs_are_blended_by_their_weights(n_graphs):
    rng = np.random.default_rng(n_graphs)
    dense = [rng.random((30, 30)).astype(np.float32) * (rng.random((30, 30)) < 0.1) for _ in range(n_graphs)]
    for each in dense:
        each[3] = 0.0  # an instance without a link in any graph
    links = {f"g{i}": sparse.csr_array(each) for i, each in enumerate(dense)}
    weights = dict(zip(links, rng.random(n_graphs))) | {"none": 0.0}
    blend = LinkBlend(links | {"none": links["g0"]})
    found = blend.of(weights)
    averages = [each / np.maximum(each.sum(axis=1, keepdims=True), 1e-9) for each in dense]
    total = sum(weights[name] * each for name, each in zip(links, averages))
    assert_allclose(found.toarray(), total / np.maximum(total.sum(axis=1, keepdims=True), 1e-9), rtol=1e-6)
    assert found.nnz == np.count_nonzero(total)
    # graphs that are weighed alike once more, and another set of them
    assert_allclose(blend.of(weights).toarray(), found.toarray())
    assert_allclose(blend.of(weights | {"g0": 0.0}).sum(axis=1).max(), n_graphs > 1)
    assert blend.of(dict.fromkeys(weights, 0.0)).nnz == 0


def test_a_blend_of_links_ends_at_a_stop():
    links = {name: sparse.csr_array(np.ones((9, 9), np.float32)) for name in "abc"}

    def stop():
        raise StopRound

    with pytest.raises(StopRound):
        LinkBlend(links).of(dict.fromkeys(links, 1.0), stop)


def test_the_consensus_is_over_the_views_that_cover():
    predicted, covers = np.array([[[1.0], [2.0], [3.0]], [[5.0], [6.0], [7.0]]]), np.array([[1, 1, 0], [1, 0, 0]], bool)
    assert_allclose(consensus(np.array([0.25, 0.75]), predicted, covers, np.array([9.0]))[:, 0], [4.0, 2.0, 9.0])


def test_the_fitted_mix_finds_the_better_view():
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(200, 1))
    predicted = np.stack([codes + 0.1 * rng.normal(size=codes.shape), rng.normal(size=codes.shape)])
    outputs = Outputs(False, np.zeros(1))
    weights = fitted_mix(outputs, predicted, np.ones((2, 200), bool), codes, np.array([0.5, 0.5]))
    assert weights[0] > 0.95 and weights.sum() == pytest.approx(1.0)


ONE, TWO, BOTH = (np.array(places, np.int64) for places in ([0], [1], [0, 1]))


def test_a_view_of_several_is_dealt_by_what_of_it_each_predicts_alone():
    rng = np.random.default_rng(0)
    a, b = np.linalg.qr(rng.normal(size=(400, 2)))[0].T * [[1.0], [0.5]]
    change, places = np.stack([a, b, 2.0 * a + b, b - a, np.zeros(400), a]), [ONE, TWO, *[BOTH] * 3, TWO]
    shares = deal(places, change, np.array([0, 1]), np.array([0.3, 0.1]))
    # variances of the uncorrelated parts: 4 and 1/4; 1 and 1/4; of a view that predicts the prior by the gains
    assert_allclose(shares[:, 0], [1.0, 0.0, 16 / 17, 4 / 5, 3 / 4, 0.0], atol=1e-9)
    assert_allclose(shares.sum(axis=1), 1.0)
    slopes = slopes_on_parts(places, change, np.array([0, 1]))
    assert_allclose(slopes, [[0, 0], [0, 0], [2, 1], [-1, 1], [0, 0], [0, 0]], rtol=0.04, atol=1e-9)


def test_parts_that_predict_the_same_have_the_same_share():
    one = np.random.default_rng(0).normal(size=200)
    change, places = np.stack([one, one, 2.0 * one]), [ONE, TWO, BOTH]
    assert_allclose(deal(places, change, np.array([0, 1]), np.ones(2))[2], 0.5)
    assert_allclose(slopes_on_parts(places, change, np.array([0, 1]))[2], 1.0, rtol=0.04)


def test_what_has_no_view_of_its_own_is_dealt_by_the_gains():
    change, places = np.ones((3, 50)), [ONE, TWO, BOTH]
    assert_allclose(deal(places, change, np.array([-1, -1]), np.array([1.0, 3.0]))[2], [0.25, 0.75])
    assert_allclose(deal(places, change, np.array([-1, -1]), np.zeros(2))[2], 0.5)
    assert_allclose(deal(places, change, np.array([-1, 1]), np.zeros(2))[2], [0.0, 1.0])
    assert not slopes_on_parts(places, change, np.array([-1, -1])).any()


@pytest.mark.parametrize("task", TASKS)
def test_contributions_of_a_row_are_what_each_table_says_of_it(task):
    """Two tables each know one half of the label: where they differ, one adds and the other takes away."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 300))
    ids = [f"i{k}" for k in range(300)]
    y = a + b if task == "regression" else np.where(a + b > 0, "yes", "no")
    tables = {name: hc.Source(ids, np.c_[x, rng.normal(size=300)]) for name, x in (("a", a), ("b", b))}
    data = hc.HetData(tables, target=(ids[:200], y[:200]))
    fit = model(task).fit(data)
    adds = fit.contributions(data, per_class=True)[200:, :, -1]  # of "yes"
    found = np.corrcoef(np.c_[adds, a[200:], b[200:]].T)
    assert found[0, 2] > 0.9 and found[1, 3] > 0.9
    assert abs(found[0, 3]) < 0.3 and abs(found[1, 2]) < 0.3
    apart = np.abs(a[200:] - b[200:]) > 2
    assert (np.sign(adds) == np.sign(np.c_[a, b][200:]))[apart].mean() > 0.9


def test_a_table_that_tells_something_only_beside_another_has_weight():
    """Of a price the first table says nearly all, so that alone the second is lost in what that explains."""
    rng = np.random.default_rng(0)
    area, quality, noise = rng.normal(size=(3, 320))
    ids = [f"i{k}" for k in range(320)]
    tables = {name: hc.Source(ids, x.reshape(-1, 1)) for name, x in zip(("a", "q", "n"), (area, quality, noise))}
    y = 4.0 * area + 0.6 * quality + 0.2 * rng.normal(size=320)
    fit = hc.GBCRegressor(random_state=0).fit(hc.HetData(tables, target=(ids[:160], y[:160])))
    weights = fit.source_weights_
    assert weights["n"] < 1e-6 and 1e-4 < weights["q"] < 0.1


def test_what_is_needed_beside_others_is_seen_by_three_standard_errors():
    rng = np.random.default_rng(0)
    large, small = rng.normal(size=(2, 100, 1)) * [[[3.0]], [[0.3]]]
    missed = large + small + 0.1 * rng.normal(size=(100, 1))
    nothing = np.zeros((100, 1))
    assert_array_equal(needed(np.stack([large, small, nothing]), missed), [True, True, False])
    assert_array_equal(needed(np.stack([large, -small]), missed), [True, False])
    draws = [needed(np.stack([large, rng.normal(size=(100, 1))]), missed)[1] for _ in range(300)]
    assert sum(draws) <= 2
    assert not needed(np.stack([large, small])[:, :3], missed[:3]).any()  # too few labels to tell


def test_a_table_of_few_rows_is_dealt_beside_others_where_few_labels_are_looked_at(monkeypatch):
    """Its own view says nothing of the rows that are looked at."""
    monkeypatch.setattr(view_consensus, "MOST_REGRESSED", 20)
    rng = np.random.default_rng(0)
    ids = [f"i{k}" for k in range(400)]
    whole, few = rng.normal(size=400), np.arange(7, 400, 15)
    y = whole + 0.1 * rng.normal(size=400)
    tables = {"whole": hc.Source(ids, whole[:, None]), "few": hc.Source([ids[k] for k in few], 3.0 * y[few, None])}
    data = hc.HetData(tables, target=(ids[:300], y[:300]))
    fit = hc.GBCRegressor(random_state=0, n_repeats=1).fit(data)
    adds = fit.contributions(data)
    assert np.isfinite(adds).all() and np.isfinite(list(fit.source_weights_.values())).all()
    assert_allclose(adds.sum(axis=1) + fit.scale_.mean, fit.predict(data), atol=1e-9)


def test_a_table_that_clears_another_of_noise_keeps_its_part():
    """Joined views count it with a minus, though alone it rises with the label."""
    rng = np.random.default_rng(0)
    signal, other = rng.normal(size=(2, 400))
    ids = [f"i{k}" for k in range(400)]
    tables = {"seen": signal + other, "other": other + 0.8 * signal, "noise": rng.normal(size=400)}
    data = hc.HetData(
        {name: hc.Source(ids, x.reshape(-1, 1)) for name, x in tables.items()}, target=(ids[:200], signal[:200])
    )
    fit = hc.GBCRegressor(random_state=0).fit(data)
    assert fit.source_weights_["noise"] < 0.02 < fit.source_weights_["other"]
    assert sum(fit.source_weights_.values()) == pytest.approx(1.0)


def test_graphs_that_explain_nothing_have_no_weight():
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 200, (800, 2))
    links = sparse.coo_array((np.ones(800), ends.T), shape=(200, 200)).tocsr()
    links = (links + links.T).tocsr()
    fitted, missed, labelled = rng.normal(size=(200, 1)), rng.normal(size=(200, 1)), np.arange(200) < 150

    def weights(graphs):
        pairs = {name: (Pairs.of(each), Pairs.of(each, labelled)) for name, each in graphs.items()}
        return graph_weights(pairs, fitted, missed)

    assert weights({"random": links}) == {"random": 0.0}
    near = _neighbours(fitted[:, 0])
    both = {"random": links, "near": near}
    assert weights(both) == {"random": 0.0, "near": 1.0}
    of_missed = {"random": links, "near": _neighbours(missed[:, 0])}  # alike in what the tables miss alone
    assert weights(of_missed) == {"random": 0.0, "near": 1.0}
    missed[:150] = rng.normal(size=(150, 1))  # the labelled are not
    assert weights(of_missed) == {"random": 0.0, "near": 0.0}


@pytest.mark.parametrize("kind", ["a rare class", "heavy tails", "even"])
def test_random_links_to_hubs_have_no_weight_whatever_the_labels(kind):
    """A few instances far off, or many links of a few, make the mean gap of linked ones move by chance."""
    weights = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        ends = (1000 * rng.random(3000) ** 3).astype(int), rng.integers(0, 1000, 3000)
        apart = ends[0] != ends[1]
        links = sparse.coo_array((np.ones(apart.sum()), (ends[0][apart], ends[1][apart])), shape=(1000, 1000)).tocsr()
        pairs = Pairs.of(links + links.T)
        values = {"a rare class": rng.random((1000, 1)) < 0.03, "heavy tails": rng.standard_t(1.5, (1000, 1))}
        labels = values.get(kind, rng.normal(size=(1000, 1))).astype(float)
        weights.append(graph_weights({"hubs": (pairs, pairs)}, labels, np.zeros((1000, 1)))["hubs"])
    assert sum(weights) == 0


def test_a_graph_that_links_what_the_tables_miss_has_a_weight():
    rng = np.random.default_rng(1)
    owner, column = rng.integers(0, 40, 300), rng.normal(size=300)
    y = 3.0 * column + rng.normal(size=40)[owner] + 0.3 * rng.normal(size=300)
    ids = [f"i{k}" for k in range(300)]
    a, b = (ends for ends in np.nonzero(np.triu(owner[:, None] == owner, 1)))
    links = pl.DataFrame({"source": [ids[k] for k in a], "target": [ids[k] for k in b]})
    labels = pl.DataFrame({"id": ids[:200], "y": y[:200]})
    data = hc.HetData({"table": pl.DataFrame({"id": ids, "x": column})}, {"owner": links}, target=labels)
    fit = hc.GBCRegressor(n_iterations=10, random_state=0).fit(data)
    assert fit.graph_weights_ == {"owner": 1.0}


def _neighbours(values):
    """Links of each instance with the next larger."""
    place = np.argsort(values)
    near = sparse.coo_array((np.ones(values.size - 1), (place[:-1], place[1:])), shape=(values.size, values.size))
    return (near + near.T).tocsr()


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_a_noise_table_and_a_random_graph_get_next_to_nothing(task):
    """Ten fits a task; rank correlation of the weights with each table's own out-of-fold error."""
    held, right, order = [], 0, []
    for seed in range(10):
        data, truth = make_heterogeneous(
            300, 3, task=task, n_noise_sources=1, n_graphs=2, labelled=0.4, informativeness=(0.9, 0.6, 0.4),
            homophily=(0.8, 0.0 if task == "regression" else 1 / 3), degree=8, seed=seed,
        )  # fmt: skip
        fit = model(task, n_iterations=10).fit(data, eval_y=truth.y)
        held.append(fit.source_weights_["noise_1"] + fit.graph_weights_["graph_2"])
        right += fit.graph_weights_["graph_1"] > fit.graph_weights_["graph_2"]
        errors = [fit.history_[f"per_source:{name}"][-1] for name in fit.source_weights_]
        order.append(spearmanr(list(fit.source_weights_.values()), np.negative(errors))[0])
    assert max(held) <= 0.02 and right == 10 and np.mean(order) >= 0.9


@pytest.mark.parametrize("task", TASKS)
def test_lambda1_changes_the_consensus_and_auto_is_one_of_its_choices(task):
    data, truth = planted(task, n_graphs=1)
    fits = {value: model(task, lambda1=value).fit(data) for value in (0.0, 1.0, "auto")}
    assert np.abs(scores(fits[0.0], data) - scores(fits[1.0], data)).max() > 1e-4
    assert fits["auto"].lambda1_ in (0.0, 0.1, 0.3, 1.0, 3.0)
    assert fits["auto"].history_["choice:lambda1"][-1] == fits["auto"].lambda1_


@pytest.mark.parametrize("task", TASKS)
def test_weights_enter_the_prediction(task):
    data, _ = planted(task, n_graphs=0)
    fit = model(task, lambda1=0.0).fit(data)
    one = int(np.argmax(fit.model_.weights))
    before = scores(fit, data)
    fit.model_.weights = np.eye(len(fit.model_.weights))[one]
    assert np.abs(scores(fit, data) - before).max() > 1e-4
    assert sum(fit.view_weights_.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("task", TASKS)
def test_an_unseen_instance_with_the_record_and_neighbours_of_another_is_predicted_the_same(task):
    data, _ = planted(task, n=60, n_graphs=1, coverage=1.0, missing=0.0)
    fit = model(task, lambda1=0.0, base_learner="tree").fit(data)
    met = int(np.flatnonzero(~data.labelled & (data.graphs["graph_1"].degree > 0))[0])
    tables = {}
    for name, source in data.sources.items():
        row = source.take(np.flatnonzero(data.rows(name) == met)).frame
        tables[name] = hc.Source([*source.ids, "unseen"], pl.concat([source.frame, row]), source.kinds)
    bare = hc.HetData({name: hc.Source(["unseen"], s.frame[-1:], s.kinds) for name, s in tables.items()})
    without = hc.HetData(data.sources)
    assert_allclose(scores(fit, bare)[0], scores(fit, without)[without.position[data.ids[met]]], rtol=1e-9)


def test_labels_in_the_data_to_predict_are_not_looked_at():
    data, truth = planted("regression")
    fit = model("regression").fit(data)
    assert_array_equal(fit.predict(data.with_target(truth)), fit.predict(data))
    assert_array_equal(fit.predict(data.with_target(None)), fit.predict(data))


@pytest.mark.parametrize("task", TASKS)
def test_on_noise_the_left_out_loss_promises_nothing(task):
    rng = np.random.default_rng(1)
    ids = [f"i{k}" for k in range(300)]
    tables = {name: hc.Source(ids, rng.normal(size=(300, 8))) for name in ("a", "b")}
    y = rng.normal(size=300) if task == "regression" else rng.choice(["x", "y"], 300)
    fit = model(task, n_iterations=15).fit(hc.HetData(tables, target=(ids, y), task=task))
    assert fit.history_["loss:left_out"][-1] > 0.95 * (0.5 if task == "regression" else np.log(2))


@pytest.mark.parametrize("task", TASKS)
def test_lambda0_changes_the_consensus_and_auto_is_one_of_its_choices(task):
    data, _ = planted(task, n=60, n_graphs=0)
    fits = {value: model(task, lambda0=value, base_learner="kernel").fit(data) for value in (1.0, 0.0, "auto")}
    assert np.abs(scores(fits[1.0], data) - scores(fits[0.0], data)).max() > 1e-4
    assert fits["auto"].lambda0_ in (0.0, 0.3, 1.0)


def test_views_are_offered_at_the_top_and_shown_in_a_line():
    assert hc.views is views and "views" in hc.__all__
    data, _ = planted("regression", n=60, n_graphs=0)
    first = hc.views(data)[0]
    assert repr(first) == f"DataView({first.view.name}: {first.rows.size:,} x {first.X.shape[1]:,})"
    for given in ({"n_folds": 1}, {"n_folds": 2.5}, {"random_state": "a"}):
        with pytest.raises(hc.ParameterError, match=f"^{next(iter(given))}=.* must be a whole number"):
            hc.views(data, **given)


def test_few_labels_get_more_folds_and_less_sharpness():
    assert [folds_for(n) for n in (4, 30, 500, 30_000)] == [4, 10, 5, 3]
    assert max(sharpness_for(30)) == 3.0 and 1.0 in sharpness_for(30)
    assert sharpness_for(10_000) == SHARPNESS


@pytest.mark.parametrize("task", TASKS)
def test_views_of_numbers_that_repeat_others_are_left_out_where_all_learners_look(task):
    data, _ = planted(task)
    labels, repeated = _labels(data, task), {"labels of graph_1 (trees)", "joined and graphs (kernel)"}
    names = {view.name for view in ViewColumns().fit(data, labels).views}
    assert (repeated <= names) if task == "classification" else not repeated & names
    alone = {view.name for view in ViewColumns().fit(data, labels, learners=("trees",)).views}
    assert "labels of graph_1 (trees)" in alone


def test_what_members_learn_from_is_without_the_labels_of_their_own_fold():
    rng = np.random.default_rng(0)
    links = sparse.random_array((40, 40), density=0.2, rng=rng)
    links, fold = (links + links.T).tocsr(), np.append(np.arange(30) % 5, np.full(10, -1))
    labels = KnownLabels(rng.normal(size=(40, 2)) * (fold >= 0)[:, None], fold)
    rows, members = unseen_rows(labels)
    assert [(rows[members == k] == np.flatnonzero((fold >= 0) & (fold != k))).all() for k in range(5)] == [True] * 5
    columns = unseen_columns(links, labels)
    assert np.isfinite(columns).all()
    for k in range(5):
        others = unseen_columns(links, labels._replace(codes=labels.codes + 9.0 * (fold == k)[:, None]))
        same = (others == columns).all(axis=1)
        assert same[members == k].all() and not same[(members != k) & (fold[rows] != k)].any()
    # with that fold unlabelled the rest is as it was: each row's own fold hidden; but for how many labels there are
    without = label_columns(links, labels._replace(fold=np.where(fold == 2, -1, fold)))
    assert_allclose(columns[members == 2, :-3], without[rows[members == 2], :-3], rtol=1e-6)


@pytest.mark.parametrize("task", TASKS)
def test_members_of_views_of_labels_learn_from_what_these_are_without_their_fold(task, monkeypatch):
    # as many labels as a row sees: without that fold there are fewer in all
    monkeypatch.setattr(neighbor_columns, "_shown", lambda *_: 1.0)
    data, _ = planted(task)
    labels, columns = _labels(data, task), ViewColumns()
    found = columns.fit(data, labels).of_training()
    without = columns.transform(data, labels._replace(fold=np.where(labels.fold == 2, -1, labels.fold)))
    rows, members = unseen_rows(labels)
    of_labels = [pair for pair in zip(found, without) if pair[0].unseen is not None]
    assert {made.view.name for made, _ in of_labels} == {made.view.name for made in found if made.view.sees_labels}
    for made, other in of_labels:
        covered = np.isin(rows, made.rows)
        own, place = members[covered] == 2, np.searchsorted(made.rows, rows[covered])
        learned = made.X[place]
        assert (learned[:, made.unseen.places] != made.unseen.values).any()
        learned[:, made.unseen.places] = made.unseen.values
        assert_allclose(learned[own], other.X[place[own]], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("task", TASKS)
def test_smooth_members_learn_from_those_columns(task):
    data, _ = planted(task)
    state = model(task)._start(Problem.of(data, None, None, task))
    found = {made.view: made for made in state._fitted_views()[1]}
    smooth = [(view.learner, found[view.view]) for view in state.views if view.view.sees != "trees"]
    for learner, made in smooth:
        if made.unseen is None:
            assert not learner.apart
            continue
        rows = made.X[learner.own[np.concatenate(learner.training)]]
        rows[:, made.unseen.places] = made.unseen.values
        rows = rows if learner.landmarks is None else learner.landmarks.of(rows)
        columns = np.hstack([rows * learner.unit, np.full((len(rows), 1), CONSTANT)])
        assert_allclose(np.vstack([own for own, _ in learner.apart]), columns @ learner.vectors, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_labels_of_chance_say_nothing_of_those_linked_to_them(monkeypatch):
    """Two labelled rows are linked both ways: who learns that the one agrees with the other is told the other's."""

    def loss(seed):
        rng, n = np.random.default_rng(seed), 120
        ids, ends = np.array([f"i{k}" for k in range(n)], object), rng.integers(n, size=(300, 2))
        edges = pl.DataFrame({"source": ids[ends[:, 0]], "target": ids[ends[:, 1]]})
        y = np.array(["a", "b"], object)[rng.permutation(np.arange(n) % 2)]
        data = hc.HetData({"t": pl.DataFrame({"id": ids, "x": rng.normal(size=n)})}, {"g": edges}, (ids, y))
        seen.clear()
        hc.GBCClassifier(random_state=seed, n_iterations=4).fit(data)
        view = next(view for view in seen[0].views if view.view.name == "labels of g (linear)")
        return view.losses[3] / seen[0].alone_loss

    seen, combine = [], ViewConsensus._combine
    monkeypatch.setattr(ViewConsensus, "_combine", lambda self: (seen.append(self), combine(self)))
    now = np.mean([loss(seed) for seed in range(20)])
    monkeypatch.setattr("hetcore.consensus.views.MOST_UNSEEN", 0)
    assert np.mean([loss(seed) for seed in range(20)]) < 1 < now


def _covered(columns, data, labels):
    return {made.view.columns: made.rows.size for made in columns.transform(data, labels)}


@pytest.mark.parametrize("hidden", [0, 30])
def test_a_view_of_several_covers_what_enough_labelled_rows_are_without_too(hidden):
    data, _ = planted("classification", n=200, n_sources=2, n_noise_sources=0, n_graphs=1, coverage=1.0)
    first, second = data.source_names
    labels = _labels(data, "classification")
    columns = ViewColumns().fit(data.hide_source(second, data.ids[:hidden]), labels)
    alone = _covered(columns, data.select(sources=[first], graphs=[]), labels)
    assert alone[f"table {first}"] == data.n and alone[f"table {second}"] == 0
    assert alone["joined"] == (data.n if hidden else 0)
    assert alone["joined and graphs"] == 0 < _covered(columns, data, labels)["joined and graphs"]


# What a round tells ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted_events():
    data, _ = planted("classification")
    events = []
    model = hc.GBCClassifier(lambda0="auto", n_iterations=6).fit(data, callbacks=[events.append])
    return model, events


def test_the_weight_of_a_view_is_dealt_to_its_tables_and_graphs(fitted_events):
    model, events = fitted_events
    last = events[-1]
    for view, weight in last.detail["views"].items():
        assert sum(last.detail["dealt"].get(view, {}).values()) == pytest.approx(weight, abs=1e-4)
    held = {name: sum(part.get(name, 0.0) for part in last.detail["dealt"].values()) for name in model.source_weights_}
    total = sum(held.values())
    assert {name: value / total for name, value in held.items()} == pytest.approx(last.source_weights, abs=1e-4)


def test_a_graph_that_joins_what_differs_has_the_contributions_of_what_it_explains():
    rng = np.random.default_rng(0)
    n, ids = 300, np.array([f"i{k}" for k in range(300)])
    side, a, b = np.sign(rng.normal(size=n)), *rng.integers(n, size=(2, 1200))
    across, others = side[a] != side[b], rng.integers(n, size=(2, 600))
    graphs = {"across": (a[across], b[across]), "random": others}
    edges = {name: pl.DataFrame({"source": ids[one], "target": ids[two]}) for name, (one, two) in graphs.items()}
    X = rng.normal(size=(n, 2))
    y = 1.5 * side + 0.5 * X[:, 0] + 0.3 * rng.normal(size=n)
    table = pl.DataFrame({"id": ids, "x": X[:, 0], "z": X[:, 1]})
    known = np.where(np.arange(n) % 2, y, np.nan)
    data = hc.HetData({"t": table}, edges, (ids, known))
    fitted = hc.GBCRegressor(random_state=0).fit(data)
    own, across, random = np.abs(fitted.contributions(data, graphs=True)).mean(axis=0)
    # linked instances are alike along none of the two, and the half of what both tell was the random one's
    assert not any(fitted.graph_weights_.values())
    assert across > 0.5 and random < 0.05 * across


def test_auto_takes_the_lambda_with_the_lowest_loss_reported(fitted_events):
    model, events = fitted_events
    paths = events[-1].detail["paths"]
    assert set(paths) == {"lambda0", "lambda1"}
    for name, path in paths.items():
        values, losses = zip(*path)
        assert values[0] == 0.0 and np.isfinite(losses).all()
        assert values[int(np.argmin(losses))] == events[-1].detail["choices"][name]


def test_what_is_given_has_no_path():
    data, _ = planted("regression", n=60)
    events = []
    hc.GBCRegressor(n_iterations=2).fit(data.select(graphs=[]), callbacks=[events.append])
    assert events[-1].detail["paths"] == {}  # lambda0 is given, and there is no graph to smooth along


def test_a_view_of_one_table_is_not_dealt_to_all_of_hundreds(monkeypatch):
    data, _ = planted("regression", coverage=1.0)
    data = data.select(graphs=[])
    found = model("regression", join_tables=False).fit(data)
    expected = found.contributions(data)
    monkeypatch.setattr("hetcore.consensus.view_predictor._dealt", None)
    assert_array_equal(found.contributions(data), expected)
