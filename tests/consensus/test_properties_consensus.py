"""Laws of consensus boosting on random tables, records, graphs and labels.

What holds for any data: predictions are finite, probabilities sum to one, losses are numbers, weights are shares, a
file keeps every bit. As printed, the order of rows and of edges changes nothing; the default deals folds by place, so
that another order of rows is another draw, as another seed is.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore.model_files import dumps, load
from tests.consensus.test_consensus import TASKS, scores

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
MANY = settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
SOME = settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
NAMES = ["a", "b", "c"]


def _column(rng, kind, n):
    if kind == "levels":
        return [None if rng.random() < 0.2 else str(v) for v in rng.integers(0, 4, n)]
    values = rng.normal(size=n) if kind == "normal" else rng.integers(0, 3, n).astype(float)
    values = values * 10.0 ** rng.integers(-20, 20) if kind == "huge" else values
    return [None if rng.random() < 0.2 else v for v in values.tolist()]


@st.composite
def problems(draw, tables=3, graphs=2, most=40):
    """Draw tables over some ids each, graphs, labels for some ids, and the task."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, most))
    ids = [f"i{k}" for k in range(n)]
    sources = {}
    for name in NAMES[: draw(st.integers(1, tables))]:
        rows = np.flatnonzero(rng.random(n) < draw(st.sampled_from([0.3, 0.8, 1.0])))
        rows = rows if rows.size else np.array([0])
        kinds = draw(st.lists(st.sampled_from(["normal", "levels", "few", "huge"]), min_size=1, max_size=4))
        columns = {f"{name}{j}": _column(rng, kind, rows.size) for j, kind in enumerate(kinds)}
        sources[name] = pl.DataFrame({"id": [ids[r] for r in rows], **columns}, strict=False)
    links = {}
    for g in range(draw(st.integers(0, graphs))):
        ends = rng.integers(0, n + 2, (draw(st.integers(0, 60)), 2))
        names = [*ids, "only", "graph"]
        links[f"g{g}"] = pl.DataFrame(
            {
                "source": [names[a] for a, _ in ends],
                "target": [names[b] for _, b in ends],
                "weight": rng.random(len(ends)),
            },
            schema={"source": pl.String, "target": pl.String, "weight": pl.Float64},
        )
    task = draw(st.sampled_from(sorted(TASKS)))
    known = rng.permutation(n)[: draw(st.integers(2, n))]
    if task == "regression":
        y = rng.normal(size=known.size) * 10.0 ** draw(st.integers(-30, 30))
        y = np.full(known.size, y[0]) if draw(st.booleans()) and known.size < 5 else y
    else:
        y = rng.integers(0, draw(st.integers(2, 4)), known.size).astype(str)
        y[:2] = "0", "1"
    return hc.HetData(sources, links, ([ids[k] for k in known], y), task=task), task


@st.composite
def params(draw):
    """Draw parameters from all over their domains."""
    return {
        "lambda0": draw(st.sampled_from([0.0, 0.3, 10.0])),
        "lambda1": draw(st.sampled_from(["auto", 0.0, 0.3, 10.0])),
        "n_iterations": draw(st.integers(1, 8)),
        "learning_rate": draw(st.sampled_from([0.1, 1.0, 10.0])),
        "max_depth": draw(st.sampled_from([1, 3, -1])),
        "min_samples_leaf": draw(st.sampled_from([1, 5])),
        "subsample": draw(st.sampled_from([0.3, 0.6, 1.0])),
        "column_sample": draw(st.sampled_from([0.3, 1.0])),
        "sharpness": draw(st.sampled_from(["auto", 1.0, 30.0])),
        "base_learner": draw(st.sampled_from(["both", "kernel", "tree"])),
        "weights": draw(st.sampled_from(["learned", "entropy", "softmax", "equal"])),
        "pull": draw(st.sampled_from(["unlabelled", "all"])),
        "join_tables": draw(st.booleans()),
        "schedule": draw(st.sampled_from(["sequential", "parallel"])),
        "as_printed": draw(st.booleans()),
    }


@pytest.mark.slow
@MANY
@given(problems(), params())
def test_any_data_give_a_finite_model_that_a_file_keeps(problem, values):
    data, task = problem
    fit = TASKS[task](**values).fit(data)
    predicted, rests = scores(fit, data), fit.predict(data, return_coverage=True)[1]
    assert np.isfinite(predicted).all()
    assert set(rests) <= {"sources", "graphs", "none"}
    assert_array_equal(rests == "sources", data.mask.any(axis=0))
    if task == "classification":
        assert_allclose(predicted.sum(axis=1), 1.0, rtol=1e-9)
        assert (predicted >= 0).all()
    losses = fit.history_.select("^loss:.*$").to_numpy()
    assert np.isfinite(losses).all() and (losses >= 0).all()
    for weights in (fit.source_weights_, fit.graph_weights_):
        nothing = weights is fit.graph_weights_ and not any(weights.values())  # linked instances are not alike
        assert nothing or abs(sum(weights.values()) - 1) < 1e-9
    assert np.isfinite(fit.contributions(data, per_class=True, graphs=True)).all()
    assert_array_equal(scores(load(dumps(fit)), data), predicted)


def _turned(data, task, rng):
    """Return the same data with rows, edges and labels in another order."""
    sources = {name: source.take(rng.permutation(source.n_rows)) for name, source in data.sources.items()}
    graphs = {}
    for name, graph in data.graphs.items():
        edges = graph.to_frame()
        edges = edges[rng.permutation(edges.height)]
        turn = rng.random(edges.height) < 0.5
        ends = np.where(turn, [edges["source"], edges["target"]], [edges["target"], edges["source"]])
        schema = {"source": pl.String, "target": pl.String}
        graphs[name] = pl.DataFrame(dict(zip(schema, ends)), schema=schema).with_columns(edges["weight"])
    place = rng.permutation(data.n)
    return hc.HetData(sources, graphs, (data.ids[place], data.y[place]), task=task)


@pytest.mark.slow
@SOME
@given(problems(), params(), st.integers(0, 2**32 - 1))
def test_as_printed_the_order_of_rows_and_edges_changes_nothing(problem, values, seed):
    data, task = problem
    values |= {"as_printed": True, "subsample": 1.0, "n_iterations": 4, "learning_rate": 0.1}
    turned = _turned(data, task, np.random.default_rng(seed))
    a, b = TASKS[task](**values).fit(data), TASKS[task](**values).fit(turned)
    place = [turned.position[each] for each in data.ids if each in turned.position]
    kept = [k for k, each in enumerate(data.ids) if each in turned.position]
    size = np.abs(data.y[data.labelled]).max() if task == "regression" else 1.0
    assert_allclose(scores(b, turned)[place] / size, scores(a, data)[kept] / size, atol=1e-3)


@pytest.mark.slow
@SOME
@given(problems(graphs=0), params())
def test_an_instance_is_predicted_alone_as_in_company(problem, values):
    data, task = problem
    fit = TASKS[task](**values).fit(data)
    whole = scores(fit, data)
    size = np.abs(whole).max() + 1e-300
    for k in (0, data.n // 2, data.n - 1):
        held = {name: data.mask[i, k] for i, name in enumerate(data.source_names)}
        if any(held.values()):
            some = data.drop_instances(np.arange(data.n) != k) if all(held.values()) else None
            alone = some if some is not None else _only(data, k, held)
            assert_allclose(scores(fit, alone)[0] / size, whole[k] / size, rtol=1e-6, atol=1e-9)


def _only(data, k, held):
    sources = {}
    for name, source in data.sources.items():
        if held[name]:
            sources[name] = source.take(np.flatnonzero(data.rows(name) == k))
    return hc.HetData(sources)


@pytest.mark.slow
@SOME
@given(problems(), params())
def test_the_unit_and_origin_of_the_labels_are_only_that(problem, values):
    data, task = problem
    if task == "regression":
        y = data.y / np.nanmax(np.abs(data.y))
        values["learning_rate"], values["n_iterations"] = 0.1, 4
        a, b = (TASKS[task](**values).fit(data, labels) for labels in (y, 8.0 * y + 4.0))
        assert_allclose((b.predict(data) - 4.0) / 8.0, a.predict(data), atol=1e-4)
