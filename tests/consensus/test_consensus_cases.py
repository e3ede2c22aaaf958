"""Gradient Boosting Consensus: who covers whom, columns of every kind, few rows, extreme values."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore.errors import MissingColumnsWarning
from tests.consensus.test_consensus import KINDS, TASKS, model, planted, reloaded, scores

# ---- who covers whom -------------------------------------------------------------------------------------------------


def _linked(task, weights=(1.0, 2.0, 1.0), graphs=1):
    """Return data with "hub", which only graphs know, linked to labelled rows, and "lost", which has a label only."""
    data, truth = planted(task, n_graphs=0, coverage=1.0)
    ends = data.ids[np.flatnonzero(data.labelled)[:6]]
    frames = [
        pl.DataFrame({"source": ["hub"] * 3, "target": ends[3 * g : 3 * g + 3], "weight": list(weights)})
        for g in range(graphs)
    ]
    target = pl.DataFrame(
        {"id": [*data.ids[data.labelled], "lost"], "y": [*data.y[data.labelled], data.y[data.labelled][0]]}
    )
    whole = hc.HetData(data.sources, {f"g{g}": frame for g, frame in enumerate(frames)}, target)
    return whole, [whole.position[each] for each in ends]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("graphs", [1, 2])
def test_an_instance_that_only_graphs_know_is_predicted_by_its_links(task, graphs):
    data, _ = _linked(task, graphs=graphs)
    fit = model(task).fit(data)
    hub, lost = data.position["hub"], data.position["lost"]
    assert fit.predict(data, return_coverage=True)[1][hub] == "graphs"
    assert np.abs(scores(fit, data)[hub] - scores(fit, data)[lost]).max() > 1e-4


@pytest.mark.parametrize("task,printed", KINDS)
def test_an_instance_that_nothing_covers_gets_the_prior_and_is_flagged(task, printed):
    data, _ = _linked(task)
    fit = model(task, printed).fit(data)
    _, rests = fit.predict(data, return_coverage=True)
    lost = data.position["lost"]
    assert rests[lost] == "none" and (rests[data.mask.any(axis=0)] == "sources").all()
    if task == "regression":
        assert_allclose(fit.predict(data)[lost], data.y[data.labelled].mean(), rtol=1e-9)
    else:
        labels, counts = np.unique(data.y[data.labelled].astype(str), return_counts=True)
        prior = fit.predict_proba(data)[lost]
        assert prior.argmax() == counts.argmax()
        if not printed:
            assert_allclose(prior, (counts + 0.5) / (counts + 0.5).sum(), rtol=1e-9)


@pytest.mark.parametrize("task,printed", KINDS)
def test_a_graph_that_the_fit_did_not_know_says_nothing(task, printed):
    data, _ = _linked(task)
    fit = model(task, printed).fit(data)
    renamed = hc.HetData(data.sources, {"other": data.graphs["g0"]}, (data.ids, data.y), task=task)
    hub = renamed.position["hub"]
    with pytest.warns(MissingColumnsWarning, match="lack the training's graph 'g0' and have 'other'"):
        fit.predict(renamed)
    warnings.simplefilter("ignore", MissingColumnsWarning)
    assert_array_equal(scores(fit, renamed)[hub], scores(fit, data)[data.position["lost"]])
    assert fit.predict(renamed, return_coverage=True)[1][hub] == "none"


@pytest.mark.parametrize("task,printed", KINDS)
def test_a_table_and_a_graph_may_have_one_name(task, printed):
    data, _ = planted(task, n_graphs=1)
    name = data.source_names[0]
    same = hc.HetData(data.sources, {name: data.graphs["graph_1"]}, (data.ids, data.y), task=task)
    fit, other = model(task, printed).fit(same), model(task, printed).fit(data)
    assert_array_equal(scores(fit, same), scores(other, data))
    assert_array_equal(fit.contributions(same, graphs=True), other.contributions(data, graphs=True))
    assert_array_equal(fit.predict(same, True)[1], other.predict(data, True)[1])
    back = reloaded(fit)
    assert_array_equal(scores(back, same), scores(fit, same))


@pytest.mark.parametrize("task,printed", KINDS)
def test_unseen_instances_are_predicted_from_whichever_sources_they_have(task, printed):
    data, _ = planted(task, n_graphs=0)
    fit = model(task, printed).fit(data)
    twin = {}
    for name, source in data.sources.items():
        twin[name] = hc.Source([f"new {each}" for each in source.ids], source.frame, source.kinds)
    unseen = hc.HetData(twin)
    old = [data.position[each.removeprefix("new ")] for each in unseen.ids]
    assert_allclose(scores(fit, unseen), scores(fit, data)[old], rtol=1e-9, atol=1e-12)
    for name in data.source_names:
        alone = hc.HetData({name: twin[name], "unknown": pl.DataFrame({"id": ["q"], "x": [1.0]})})
        warnings.simplefilter("ignore", MissingColumnsWarning)
        assert np.isfinite(scores(fit, alone)).all()
        assert fit.predict(alone, return_coverage=True)[1].tolist() == ["sources"] * twin[name].n_rows + ["none"]


@pytest.mark.parametrize("task", TASKS)
def test_a_table_that_a_graph_leaves_no_weight_speaks_where_it_is_the_only_one(task):
    rng, n = np.random.default_rng(0), 400
    x = rng.normal(size=n)
    truth = x if task == "regression" else np.where(x > 0, "high", "low")
    ids, order = np.array([f"i{i}" for i in range(n)], object), np.argsort(x)
    rough = pl.DataFrame({"id": ids, "r": x + 0.5 * rng.normal(size=n)})
    alike = pl.DataFrame({"source": ids[order[1:]], "target": ids[order[:-1]]})
    tables = {"blank": pl.DataFrame({"id": ids, "b": rng.normal(size=n)}), "rough": rough[::2]}
    found = model(task, n_iterations=40).fit(hc.HetData(tables, {"alike": alike}, (ids[:200], truth[:200])))
    unlinked = hc.HetData({"rough": rough[200:].with_columns(id="new " + pl.col("id"))})
    assert 0 < found.view_weights_["table rough (kernel)"] < (1e-100 if task == "regression" else 1e-4)
    assert found.score(unlinked, truth[200:]) > (0.4 if task == "regression" else 0.7)


@pytest.mark.parametrize("task,printed", KINDS)
def test_leaving_a_source_out_equals_lacking_its_records(task, printed):
    data, _ = planted(task, n_graphs=0, coverage=1.0)
    fit = model(task, printed).fit(data)
    first, *others = data.source_names
    without = data.select(sources=others)
    kept = data.hide_source(first, data.ids[1:])
    assert_allclose(scores(fit, without)[1:], scores(fit, kept)[1:], rtol=1e-12)


def mixed_columns(task, n=60):
    rng = np.random.default_rng(0)
    ids, x = [f"i{k}" for k in range(n)], rng.normal(size=n)
    words = [
        ("red warm sunny bright" if v > 0 else "blue cold rainy dark") + f" day number {k}" for k, v in enumerate(x)
    ]
    table = pl.DataFrame(
        {
            "id": ids,
            "real": [None if k % 5 == 0 else v for k, v in enumerate(x)],
            "flag": [bool(v > 0.5) for v in x],
            "colour": [None if k % 7 == 0 else ["red", "green", "blue"][int(3 * k / n)] for k in range(n)],
            "words": words,
            "empty": [None] * n,
        }
    )
    y = x + rng.normal(scale=0.2, size=n) if task == "regression" else np.where(x > 0, "up", "down")
    images = hc.Source(ids[: n // 2], (x[: n // 2, None, None] + rng.normal(size=(n // 2, 4, 4))).astype(np.float32))
    return hc.HetData({"table": table, "image": images}, target=pl.DataFrame({"id": ids[::2], "y": y[::2]})), y


@pytest.mark.parametrize("task,printed", KINDS)
def test_text_nominal_binary_missing_and_array_columns(task, printed):
    data, y = mixed_columns(task)
    assert set(data.sources["table"].kinds.values()) >= {"real", "binary", "nominal", "text"}
    fit = model(task, printed, n_iterations=30, learning_rate=0.3, max_depth=3).fit(data)
    hidden = ~data.labelled
    if task == "regression":
        assert np.corrcoef(fit.predict(data)[hidden], y[hidden])[0, 1] > 0.7
    else:
        assert (fit.predict(data)[hidden] == y[hidden]).mean() > 0.75
    assert_array_equal(scores(reloaded(fit), data), scores(fit, data))


@pytest.mark.parametrize("task,printed", KINDS)
@pytest.mark.parametrize("n", [2, 3, 5, 15, 17])
def test_tables_of_a_few_rows(task, printed, n):
    data, truth = planted(task, n=max(n, 6), coverage=1.0, labelled=1.0, n_graphs=1, seed=3)
    y = data.y.copy()
    y[n:] = np.nan if y.dtype.kind == "f" else None
    if task == "classification" and len(set(y[:n])) < 2:
        y[:2] = "class_1", "class_2"
    small = data.with_target(y, task).drop_instances(data.ids[max(n, 6) :]) if n > 6 else data.with_target(y, task)
    assert np.isfinite(scores(model(task, printed).fit(small), small)).all()


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("n_labelled", [1, 2, 99, 100])
def test_one_label_two_all_but_one_and_all(printed, n_labelled):
    data, truth = planted("regression", coverage=1.0, labelled=1.0)
    y = np.where(np.arange(100) < n_labelled, truth, np.nan)
    fit = model("regression", printed, lambda0=0.5).fit(data, y)
    predicted = fit.predict(data)
    assert np.isfinite(predicted).all()
    if n_labelled == 1:
        assert_allclose(predicted, truth[0], rtol=1e-6)


@pytest.mark.parametrize("more", [0, 230])
@pytest.mark.parametrize("task,printed", KINDS)
def test_one_table_and_no_graph(task, printed, more):
    data, _ = planted(task, n_sources=1, n_noise_sources=0, n_graphs=0, coverage=1.0)
    # of a wide table linear learners see all columns, kernels its components
    noise = np.random.default_rng(0).normal(size=(data.n, more))
    wide = data.sources["source_1"].frame.with_columns(
        pl.Series("id", data.sources["source_1"].id_series), **{f"more_{k}": noise[:, k] for k in range(more)}
    )
    data = hc.HetData({"source_1": wide}, target=(data.ids, data.y), task=task)
    fit = model(task, printed).fit(data)
    assert fit.source_weights_ == {"source_1": 1.0} and fit.graph_weights_ == {}
    predicted, some = scores(fit, data), np.arange(data.n) % 3 == 0
    assert np.isfinite(predicted).all()
    assert_allclose(scores(fit, data.drop_instances(~some)), predicted[some], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("task,printed", KINDS)
def test_a_source_is_evaluated_alone_on_the_rows_that_it_has(task, printed):
    data, truth = planted(task, n_sources=1, n_noise_sources=0, n_graphs=0, coverage=1.0)
    some = pl.DataFrame({"id": data.ids[data.labelled][:30], "x": np.arange(30.0)})
    both = hc.HetData({**data.sources, "some": some}, target=(data.ids, data.y), task=task)
    events = []
    model(task, printed).fit(both, callbacks=[events.append], eval_y=truth)
    alone = events[-1].detail["per_source"]
    assert np.isfinite(alone["source_1"]) and np.isnan(alone["some"])  # no row of it is held out


@pytest.mark.parametrize("task,printed", KINDS)
def test_a_source_without_any_labelled_row_and_labels_without_any_source(task, printed):
    data, _ = planted(task, n_sources=1, n_noise_sources=0, n_graphs=0, coverage=1.0)
    strange = pl.DataFrame({"id": [f"q{k}" for k in range(30)], "x": np.arange(30.0)})
    both = hc.HetData({**data.sources, "strange": strange}, target=(data.ids, data.y), task=task)
    fit = model(task, printed).fit(both)
    assert np.isfinite(scores(fit, both)).all()
    assert fit.source_weights_["strange"] <= fit.source_weights_["source_1"]
    only = hc.HetData({"strange": strange}, target=(data.ids[data.labelled], data.y[data.labelled]), task=task)
    predicted = scores(model(task, printed).fit(only), only)
    assert np.isfinite(predicted).all()
    if not printed:  # L(f, E) of the printed logistic pull falls for ever, so there f runs away from E
        assert_allclose(predicted, np.tile(predicted[:1], (only.n, 1)), rtol=1e-6)


# ---- extremes --------------------------------------------------------------------------------------------------------

EXTREMES = [
    {"lambda0": 1e6}, {"lambda1": 1e6}, {"lambda0": 1e6, "lambda1": 1e6, "pull": "all"}, {"lambda0": 0.0, "lambda1": 0},
    {"learning_rate": 10.0, "n_iterations": 120}, {"learning_rate": 10.0, "n_iterations": 120, "base_learner": "tree"},
    {"learning_rate": 1e-9}, {"l2": 1e9}, {"l2": 1e-9}, {"max_depth": -1, "min_samples_leaf": 1},
    {"min_samples_leaf": 10**6}, {"subsample": 1e-9}, {"subsample": 1.0, "column_sample": 1e-9},
    {"sharpness": 100.0}, {"sharpness": 1e-9}, {"n_iterations": 1}, {"join_tables": False}, {"schedule": "parallel"},
    {"weights": "learned"}, {"weights": "softmax"}, {"weights": "equal"}, {"base_learner": "kernel"},
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("task,printed", KINDS)
@pytest.mark.parametrize("params", EXTREMES, ids=str)
def test_extreme_parameters_give_finite_models(task, printed, params):
    data, truth = planted(task, n=60)
    fit = model(task, printed, **params).fit(data, eval_y=truth)
    assert np.isfinite(scores(fit, data)).all()
    assert np.isfinite(fit.history_.select("^loss:.*$").to_numpy()).all()
    assert np.isfinite(scores(reloaded(fit), data)).all()


@pytest.mark.slow
@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e-9, 1e9, 1e30, 1e300])
def test_the_unit_of_the_labels_is_only_a_unit(printed, size):
    data, truth = planted("regression", n=60)
    unit = model("regression", printed, n_iterations=5).fit(data).predict(data)
    scaled = model("regression", printed, n_iterations=5).fit(data, data.y * size).predict(data)
    assert_allclose(scaled / size, unit, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("value", [0.0, -7.0, 0.1, 1e30])
def test_constant_labels_are_predicted_everywhere(printed, value):
    data, _ = planted("regression", n=60)
    fit = model("regression", printed).fit(data, np.where(data.labelled, value, np.nan))
    assert_allclose(fit.predict(data), value, rtol=1e-9)


@pytest.mark.parametrize("task,printed", KINDS)
@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_values_of_any_size(task, printed, size):
    data, _ = planted(task, n=60)
    sources = {}
    for name, source in data.sources.items():
        sources[name] = hc.Source(source.ids, source.frame.select(pl.all() * size), source.kinds)
    scaled = hc.HetData(sources, data.graphs, (data.ids, data.y), task=task)
    fit = model(task, printed).fit(scaled)
    assert np.isfinite(scores(fit, scaled)).all()
    # in float32 other digits are lost, and a tree may cut elsewhere
    assert_allclose(scores(fit, scaled), scores(model(task, printed).fit(data), data), atol=3e-3)


@pytest.mark.slow
@pytest.mark.parametrize("task,printed", KINDS)
@pytest.mark.parametrize("weights", [[1e-45, 1e-44, 3e38], [3e38, 3e38, 3e38], [1e-45, 1e-45, 1e-45]])
def test_edge_weights_of_any_size(task, printed, weights):
    for graphs in (1, 2):
        data, _ = _linked(task, weights, graphs)
        fit = model(task, printed).fit(data)
        assert np.isfinite(scores(fit, data)).all()
        assert_array_equal(scores(reloaded(fit), data), scores(fit, data))


def test_classes_that_thresholds_of_one_column_divide_are_found_sharply():
    rng = np.random.default_rng(10)
    X, ids = rng.normal(size=(2500, 6)), np.array([f"i{i}" for i in range(2500)])
    y = np.array(["a", "b", "c", "d"])[np.digitize(X[:, 0], [-0.6, 0.1, 0.7])]
    table = pl.DataFrame(X, [f"x{j}" for j in range(6)]).with_columns(id=pl.Series(ids))
    data = hc.HetData({"t": table}, target=(ids[:1000], y[:1000]))
    # bins of a thirtieth of the rows had 2%
    assert (hc.GBCClassifier(random_state=0).fit(data).predict(data) != y)[1000:].mean() < 0.015


def test_ten_labels_separated_by_luck_make_no_view_sure():
    rng = np.random.default_rng(102)
    y = rng.integers(0, 2, 1000)
    X, ids = rng.normal(size=(1000, 5)) + 0.6 * y[:, None], np.array([f"i{i}" for i in range(1000)])
    y[:2] = 0, 1
    table = pl.DataFrame(X, [f"x{j}" for j in range(5)]).with_columns(id=pl.Series(ids))
    data = hc.HetData({"t": table}, target=(ids[:10], np.array(["a", "b"])[y[:10]]))
    probabilities = hc.GBCClassifier(random_state=0).fit(data).predict_proba(data)[10:]
    # of labels that are not smoothed: 1.7
    assert -np.log(probabilities[np.arange(990), y[10:]]).mean() < 1.2


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_labels_that_graphs_alone_reach_are_learned_from(task):
    """Of the records none is labelled: no view of a table has a say, and unlabelled rows were asked of graphs too."""
    rng = np.random.default_rng(0)
    ids = [f"i{k}" for k in range(90)]
    table = pl.DataFrame({"id": ids[:30], "x": rng.normal(size=30)})
    edges = pl.DataFrame({"source": rng.choice(ids, 200), "target": rng.choice(ids, 200)})
    y = rng.normal(size=50) if task == "regression" else rng.choice(["a", "b"], 50)
    data = hc.HetData({"t": table}, {"g": edges}, (ids[40:], y))
    made = hc.GBCRegressor if task == "regression" else hc.GBCClassifier
    for joins in (True, False):
        model = made(n_iterations=2, random_state=0, join_tables=joins, lambda0=0.3).fit(data)
        assert len(model.predict(data)) == data.n


@pytest.mark.parametrize("name", ["all graphs", "labels by category", "x and labels by category", "joined and graphs"])
def test_sources_and_graphs_may_have_the_names_of_views(name):
    rng = np.random.default_rng(0)
    ids = [f"i{k}" for k in range(60)]
    tables = {each: pl.DataFrame({"id": ids, "x": rng.normal(size=60)}) for each in ("t", name)}
    edges = [pl.DataFrame({"source": rng.choice(ids, 90), "target": rng.choice(ids, 90)}) for _ in "ab"]
    for sources, graphs in ((tables, {"g": edges[0]}), ({name: tables[name]}, {name: edges[0], "g": edges[1]})):
        data = hc.HetData(sources, graphs, (ids[:40], rng.normal(size=40)))
        model = hc.GBCRegressor(n_iterations=1, random_state=0).fit(data)
        assert_array_equal(reloaded(model).predict(data), model.predict(data))
