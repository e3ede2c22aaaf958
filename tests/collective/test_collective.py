"""GB, RGB and MGB: reductions, planted truth, repeatability, what-if questions, files, and what they refuse."""

import io
import json

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import hetcore as hc
from datasets.planted.autocorrelated import make_autocorrelated_graph
from hetcore import archive
from hetcore.data.splits import label_split
from hetcore.model_files import dumps
from hetcore.trees import BinMapper

SMALL = {"n_iterations": 2, "first_trees": 15, "trees_per_stage": 5, "folds": 3, "sweeps": 5}
REGRESSORS = (hc.GBRegressor, hc.RGBRegressor, hc.MGBRegressor)


def small(cls, **params):
    names = cls().get_params()
    return cls(**{name: value for name, value in (SMALL | params).items() if name in names})


@pytest.fixture(scope="module")
def planted():
    data, truth = make_autocorrelated_graph(400, residual_correlation=0.8, degree=16.0, seed=1)
    return data, label_split(data, 0.6, seed=0), truth


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    n = 240
    y = rng.integers(0, 3, n)
    ids = np.array([f"i{k:03d}" for k in range(n)])
    table = pl.DataFrame({"id": ids, "x": y + rng.normal(0, 1.5, n), "z": rng.normal(size=n)})
    a = rng.integers(0, n, 3000)
    b = rng.integers(0, n, 3000)
    alike = (a != b) & ((y[a] == y[b]) | (rng.random(3000) < 0.15))
    edges = pl.DataFrame({"source": ids[a[alike]], "target": ids[b[alike]]})
    names = np.array(["red", "green", "blue"], dtype=object)
    return hc.HetData({"t": table}, {"g": edges}, pl.DataFrame({"id": ids, "y": names[y].astype(str)}))


def without_edges(data):
    name = data.graph_names[0]
    graph = data.graphs[name]
    none = np.empty(0, np.int64)
    return data.with_graph(name, graph.with_edge_arrays(none, none, none.astype(np.float32)))


def rmse(predicted, true):
    return np.sqrt(np.mean((predicted - true) ** 2))


@pytest.mark.parametrize("printed", [False, True])
def test_an_empty_graph_gives_gb_exactly(planted, printed):
    """As printed MGB has M + 1 trees, and F_0 is the first of them."""
    data, y, _ = planted
    bare, one_less = without_edges(data), {"n_iterations": 2 - printed}
    models = [small(cls, as_printed=printed).fit(bare, y, eval_y=data.y) for cls in REGRESSORS[:2]]
    models.append(small(hc.MGBRegressor, as_printed=printed, **one_less).fit(bare, y, eval_y=data.y))
    predictions = [model.predict(bare) for model in models]
    assert predictions[0].std() > 0
    np.testing.assert_array_equal(predictions[0], predictions[1])
    rounding = 1e-12 if printed else 0.0  # GB's first tree comes after the mean, MGB's after nothing
    np.testing.assert_allclose(predictions[0], predictions[2], rtol=rounding)
    np.testing.assert_array_equal(predictions[0], models[0].predict(data))
    curves = [model.history_["metric:held_out"] for model in models]
    np.testing.assert_allclose(curves[0][int(printed) :], curves[2], rtol=rounding)
    assert not any(model.history_["metric:held_out"].is_null().any() for model in models)


@pytest.mark.parametrize("printed", [False, True])
def test_no_relational_feature_is_gb(planted, printed):
    data, y, _ = planted
    ours = small(hc.MGBRegressor, features=(), as_printed=printed, n_iterations=2 - printed).fit(data, y)
    gb = small(hc.GBRegressor, as_printed=printed).fit(data, y)
    np.testing.assert_allclose(ours.predict(data), gb.predict(data), rtol=1e-12 if printed else 0.0)


def test_rounds_hide_labels_also_where_rf1_is_the_only_feature(planted):
    data, y, _ = planted
    params = {"features": ("rf1",), "as_printed": True}
    few, many = (small(hc.MGBRegressor, n_rounds=n, **params).fit(data, y).predict(data) for n in (1, 5))
    assert (few != many).any()


def test_two_printed_stages_by_hand():
    """F_0 is the mean; two trees on six instances split by Rf1 alone, leaves are medians, no shrinkage."""
    ids = list("abcdef")
    y = pl.DataFrame({"id": list("abcdef"), "y": [1.0, 1.0, 2.0, 9.0, 9.0, 8.0]})
    table = pl.DataFrame({"id": ids, "x": [0.0] * 6})
    edges = [("a", "b"), ("a", "c"), ("b", "c"), ("d", "e"), ("d", "f"), ("e", "f")]
    graph = pl.DataFrame(edges, schema=["source", "target"], orient="row")
    data = hc.HetData({"t": table}, {"g": graph}, y)
    model = hc.RGBRegressor(as_printed=True, n_iterations=2, max_depth=1).fit(data)
    # Rf1: a 1.5, b 1.5, c 1 | d 8.5, e 8.5, f 9. Split between: medians 1 and 9. Then residuals 0 0 1 | 0 0 -1: the
    # best split of Rf1 = 1, 1.5, 8.5, 9 cuts off c, whose leaf is +1, or f; the leaf of the others is 0.
    predictions = dict(zip(data.ids, model.predict(data)))
    assert predictions["a"] == predictions["b"] == pytest.approx(1.0)
    assert predictions["d"] == predictions["e"] == pytest.approx(9.0)
    assert (predictions["c"], predictions["f"]) in (
        (pytest.approx(2.0), pytest.approx(9.0)),
        (pytest.approx(1.0), pytest.approx(8.0)),
    )


def test_planted_autocorrelation_is_recovered_and_explained(planted):
    data, y, truth = planted
    hidden = np.isnan(y)
    gb, mgb = (
        small(cls, first_trees=60, trees_per_stage=40).fit(data, y, eval_y=data.y)
        for cls in (REGRESSORS[0], REGRESSORS[2])
    )
    left = gb.history_["autocorrelation:links"][-1]
    assert abs(left - truth.residual_correlation) < 0.2
    assert mgb.history_["autocorrelation:links"][-1] < left / 2
    errors = [rmse(model.predict(data)[hidden], data.y[hidden]) for model in (gb, mgb)]
    assert errors[1] < 0.9 * errors[0]


def test_no_planted_autocorrelation_lies_within_its_band():
    data, _ = make_autocorrelated_graph(400, residual_correlation=0.0, seed=2)
    events = []
    small(hc.GBRegressor).fit(
        data, label_split(data, 0.5), eval_y=data.y, callbacks=[lambda e: events.append(e) and None]
    )
    low, high = events[-1].detail["band"]["links"]
    assert low < 0 < high and low - 0.05 < events[-1].detail["moran"]["links"] < high + 0.05


@pytest.mark.parametrize("cls, params", [(cls, p) for cls in REGRESSORS for p in ({}, {"as_printed": True})])
def test_a_seed_repeats_bit_for_bit(planted, cls, params):
    data, y, _ = planted
    one, same = (small(cls, **params).fit(data, y).predict(data) for _ in range(2))
    np.testing.assert_array_equal(one, same)
    if not (params and cls is not hc.MGBRegressor):
        other = small(cls, random_state=1, **params).fit(data, y).predict(data)
        assert (one != other).any()


def test_events_say_what_is_promised(planted):
    data, y, _ = planted
    events = []
    model = small(hc.MGBRegressor).fit(data, y, eval_y=data.y, callbacks=[lambda e: events.append(e) and None])
    assert [event.index for event in events] == [0, 1, 2] and {event.total for event in events} == {3}
    assert model.n_iterations_ == 3 and 1 <= model.n_stages_ <= 3
    last = events[-1]
    assert set(last.losses) == {"train", "left_out", "held_out"} == set(last.detail["metric"])
    assert set(last.residual_autocorrelation) == set(last.detail["moran"]) == set(last.detail["band"]) == {"links"}
    assert 1 <= len(last.detail["sweeps"]) == len(last.detail["visits"]) <= 5
    assert last.detail["visits"][0] == np.isnan(y).sum() and last.detail["stage"] == 2
    json.dumps(dict(last.detail))
    stopped = small(hc.MGBRegressor).fit(data, y, callbacks=[lambda event: True])
    assert stopped.n_iterations_ == 1 and np.isfinite(stopped.predict(data)).all()


def test_the_unit_of_the_target_does_not_matter(planted):
    data, y, _ = planted
    base = small(hc.MGBRegressor).fit(data, y).predict(data)
    scaled = small(hc.MGBRegressor).fit(data, 1000.0 * y + 7.0).predict(data)
    assert np.corrcoef(base, scaled)[0, 1] > 0.999
    positive = np.exp(y)
    logged = small(hc.MGBRegressor, target_transform="log").fit(data, positive)
    predictions = logged.predict(data)
    assert (predictions > 0).all()
    known = ~np.isnan(y)
    assert rmse(predictions[known], positive[known]) < positive[known].std()
    with pytest.raises(hc.DataError, match='target_transform="log" needs numbers above 0'):
        small(hc.MGBRegressor, target_transform="log").fit(data, y)


def test_what_if_a_label_is_hidden_or_an_edge_is_cut(planted):
    data, y, _ = planted
    model = small(hc.MGBRegressor, first_trees=40).fit(data, y)
    before = model.predict(data)
    np.testing.assert_array_equal(before, model.predict(data, y))
    np.testing.assert_array_equal(before, model.predict(data.with_target(None)))
    known = int(np.flatnonzero(~np.isnan(y) & (data.graphs["links"].degree > 3))[0])
    fewer = y.copy()
    fewer[known] = np.nan
    near = data.graphs["links"].indices[slice(*data.graphs["links"].indptr[known : known + 2])]
    after = model.predict(data, fewer)
    assert (after[near] != before[near]).any()
    edges = [(data.ids[known], data.ids[j]) for j in near]
    cut = model.predict(data.with_edges("links", cut=edges))
    assert cut[known] != before[known]
    alone = np.setdiff1d(np.arange(data.n), np.append(near, known))
    assert (cut[alone] == before[alone]).mean() > 0.5
    assert model.predict(data.select(graphs=[])).shape == (data.n,)
    with_more = y.copy()
    asked = int(np.flatnonzero(np.isnan(y))[0])
    with_more[asked] = 9.0
    near = data.graphs["links"].indices[slice(*data.graphs["links"].indptr[asked : asked + 2])]
    assert model.predict(data, with_more)[near].sum() > before[near].sum()


def test_instances_never_seen_are_predicted(planted):
    data, y, _ = planted
    keep = data.ids[:300]
    part = data.drop_instances(list(data.ids[300:]))
    model = small(hc.MGBRegressor, first_trees=40).fit(part, y[:300])
    predictions = model.predict(data)
    assert predictions.shape == (400,) and part.n == len(keep)
    assert np.corrcoef(predictions[300:], data.y[300:])[0, 1] > 0.5


def test_a_trace_ends_at_the_prediction(planted):
    data, y, _ = planted
    model = small(hc.MGBRegressor, select_stages=False).fit(data, y)
    asked, known = data.ids[np.isnan(y)][:5], data.ids[~np.isnan(y)][:2]
    trace = model.sweep_trace(data, [*asked, *known])
    assert trace.dtype == np.float32 and trace.shape[1] == 7
    predictions = dict(zip(data.ids, model.predict(data)))
    np.testing.assert_allclose(trace[-1, :5], [predictions[i] for i in asked], rtol=1e-6)
    np.testing.assert_allclose(trace[:, 5:], np.tile(y[~np.isnan(y)][:2], (len(trace), 1)), rtol=1e-6)
    with pytest.raises(hc.DataError, match="'nobody' are not in the data"):
        model.sweep_trace(data, ["nobody"])
    with pytest.raises(hc.DataError, match="'nobody' are not in the data"):
        model.sweep_trace(data, "nobody")
    assert model.sweep_trace(data, asked[0]).shape[1] == 1
    every = model.sweep_trace(data)
    assert (every[0] != every[-1]).any()
    staged = model.staged_predict(data)
    assert staged.shape == (model.n_stages_, data.n)
    np.testing.assert_array_equal(staged[-1], model.predict(data))
    left = np.abs(staged - data.y).mean(axis=1)
    assert left[-1] < left[0]
    logged = small(hc.MGBRegressor, target_transform="log").fit(data, np.exp(y))
    np.testing.assert_allclose(logged.sweep_trace(data, list(known))[-1], np.exp(y[~np.isnan(y)][:2]), rtol=1e-5)


def test_classes_are_inferred_together(classes):
    y = label_split(classes, 0.4, seed=0)
    hidden = ~classes.with_target(y, "classification").labelled
    errors = {}
    for features in ((), ("rf1", "rf2", "rf3", "rf4")):
        model = small(hc.MGBClassifier, first_trees=30, features=features).fit(classes, y, eval_y=classes.y)
        predictions, shares = model.predict(classes), model.predict_proba(classes)
        assert list(model.classes_) == ["blue", "green", "red"]
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        np.testing.assert_array_equal(predictions, model.classes_[shares.argmax(axis=1)])
        errors[features] = (predictions != classes.y)[hidden].mean()
    assert errors["rf1", "rf2", "rf3", "rf4"] < 0.6 * errors[()]


@pytest.mark.parametrize("params", [{}, {"as_printed": True}, {"summary": "median", "no_neighbor": "zero"}])
def test_a_file_predicts_the_same_to_the_last_bit(planted, params, tmp_path):
    data, y, _ = planted
    model = small(hc.MGBRegressor, **params).fit(data, y)
    hc.save(model, tmp_path / "m")
    loaded = hc.load(tmp_path / "m")
    np.testing.assert_array_equal(model.predict(data), loaded.predict(data))
    assert dumps(loaded) == dumps(model) and loaded.n_stages_ == model.n_stages_
    assert clone(loaded).get_params() == model.get_params()


def test_a_file_of_classes_predicts_the_same(classes):
    model = small(hc.MGBClassifier).fit(classes)
    np.testing.assert_array_equal(model.predict_proba(classes), hc.load(dumps(model)).predict_proba(classes))


def edited(model, change):
    """Return the bytes of a model's file whose state `change` has edited."""
    header, members = archive.unpack(dumps(model))
    state = json.loads(members["state.json"])
    arrays = {
        key: np.load(io.BytesIO(members[f"arrays/{i}.npy"]), allow_pickle=False)
        for i, key in enumerate(state["arrays"])
    }
    change(state["values"], arrays)
    members["state.json"] = json.dumps(state).encode()
    for i, array in enumerate(arrays.values()):
        held = io.BytesIO()
        np.save(held, array)
        members[f"arrays/{i}.npy"] = held.getvalue()
    return archive.pack({key: header[key] for key in ("class", "parameters")}, members)


CHANGES = {
    "a cut that is none": lambda m, a: a["stack:cuts"].fill(0.0),
    "an id twice": lambda m, a: m["ids"].__setitem__(0, m["ids"][1]),
    "messages that are no numbers": lambda m, a: a["messages"].fill(np.nan),
    "a weight above 1": lambda m, a: m["how"].__setitem__("inferred_weight", 2.0),
    "a direction of its own": lambda m, a: m["how"].__setitem__("direction", "up"),
    "hops too far": lambda m, a: m["columns"].__setitem__("label_hops", 3),
    "no sweeps": lambda m, a: m["how"].__setitem__("sweeps", "many"),
    "a graph twice": lambda m, a: m["graphs"].append(m["graphs"][0]),
    "an unknown rule": lambda m, a: m["aggregation"].__setitem__("median", 3),
    "stages that end elsewhere": lambda m, a: a["stack:begins"].__setitem__(-1, 99),
    "a child that is its parent": lambda m, a: a["stack:nodes"]["left"].__setitem__(0, 0),
    "no smear": lambda m, a: m.__setitem__("smear", 0.0),
    "too many stages": lambda m, a: m.__setitem__("n_iterations", 99),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_file_edited_by_hand_is_refused(planted, change):
    data, y, _ = planted
    model = small(hc.MGBRegressor).fit(data, y)
    assert hc.load(edited(model, lambda m, a: None)).n_stages_ == model.n_stages_
    with pytest.raises(hc.ModelFileError):
        hc.load(edited(model, change))


@pytest.mark.parametrize(
    "params, words",
    [
        ({"n_iterations": 0}, "n_iterations=0 must be"),
        ({"features": ("rf5",)}, "must be some of 'rf1'"),
        ({"features": "rf1"}, "must be some of 'rf1'"),
        ({"inferred_weight": 1.5}, "inferred_weight=1.5 must be"),
        ({"hops": 3}, "hops=3 must be"),
        ({"direction": "up"}, "one of 'both', 'in', 'out'"),
        ({"leaf": "mode"}, "leaf='mode' must be one of 'mean', 'median'"),
        ({"learning_rate": 0}, r"in \(0, 1\]"),
        ({"folds": 1}, "at least 2"),
        ({"max_depth": 0}, "max_depth=0 must be"),
        ({"no_neighbor": 0}, "one of 'nan', 'zero', None"),
    ],
)
def test_parameters_outside_their_domain_are_refused(planted, params, words):
    with pytest.raises(hc.ParameterError, match=words):
        hc.MGBRegressor(**params).fit(planted[0])


@pytest.mark.parametrize(
    "graph, words",
    [
        (5, "graph=5 must be the name of a graph"),
        ([["g"]], "must be the name of a graph"),
        ([], r"graph='\[\]' leaves none|graph=\[\] leaves none"),
    ],
)
def test_graphs_that_are_no_names_are_refused(planted, graph, words):
    with pytest.raises(hc.ParameterError, match=words):
        small(hc.MGBRegressor).fit(planted[0], graph=graph)


def test_what_cannot_be_learned_from_is_refused(planted):
    data, y, _ = planted
    with pytest.raises(hc.DataError, match="There is no graph 'nope'"):
        small(hc.MGBRegressor).fit(data, y, graph="nope")
    with pytest.raises(hc.DataError, match="the data have none: give HetData one"):
        small(hc.MGBRegressor).fit(data.select(graphs=[]), y)
    with pytest.raises(hc.DataError, match="fit takes a HetData"):
        small(hc.MGBRegressor).fit(y)
    with pytest.raises(hc.DataError, match="is labelled"):
        small(hc.MGBRegressor).fit(data, np.full(data.n, np.nan))
    assert small(hc.GBRegressor).fit(data.select(graphs=[]), y).n_iterations_ == 3


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_labels_are_enough(planted, count):
    data, y, _ = planted
    few = np.full(data.n, np.nan)
    few[np.flatnonzero(~np.isnan(y))[:count]] = np.arange(count, dtype=float)
    for params in ({}, {"as_printed": True}):
        assert np.isfinite(small(hc.MGBRegressor, **params).fit(data, few).predict(data)).all()


def test_two_graphs_speak_each_for_itself(planted):
    data, y, _ = planted
    two = data.with_graph("noise", data.with_graph_noise("links", 1.0).graphs["links"])
    model = small(hc.MGBRegressor, first_trees=40).fit(two, y)
    assert model.model_.graphs == ["links", "noise"]
    hidden = np.isnan(y)
    alone = small(hc.MGBRegressor, first_trees=40).fit(two, y, graph="noise")
    assert rmse(model.predict(two)[hidden], data.y[hidden]) < rmse(alone.predict(two)[hidden], data.y[hidden])


def test_a_threshold_is_the_same_cut_in_bins_and_in_values():
    """A row's way down a tree is the same in training, over bins, and in inference, over values."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(500, 1)).astype(np.float32)
    mapper = BinMapper().fit(values)
    bins = mapper.transform(values)[0]
    for place in (0, 7, 100, mapper.thresholds[0].size - 1):
        np.testing.assert_array_equal(bins <= place, values[:, 0] <= mapper.thresholds[0][place])


def test_stages_along_links_that_say_nothing_are_dropped():
    data = make_autocorrelated_graph(400, residual_correlation=0.0, seed=3)[0]
    y = label_split(data, 0.4, seed=0)
    silent, kept = (hc.MGBRegressor(select_stages=select).fit(data, y) for select in (True, False))
    left_out = silent.history_["loss:left_out"]
    assert silent.n_stages_ == 1 + left_out.arg_min() < kept.n_stages_ == 11
    telling = make_autocorrelated_graph(400, residual_correlation=0.8, seed=3)[0]
    assert hc.MGBRegressor(hops=0).fit(telling, label_split(telling, 0.4, seed=0)).n_stages_ == 11
