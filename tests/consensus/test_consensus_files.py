"""Files of consensus models: whatever is changed in them, loading refuses it in words or the model predicts."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.errors import DataError, MissingColumnsWarning, ModelFileError
from hetcore.model_files import dumps, load
from tests.consensus.test_consensus import KINDS, model, planted, scores
from tests.consensus.test_consensus_cases import mixed_columns


@pytest.fixture(scope="module", params=KINDS, ids=[f"{task}-{'printed' if p else 'default'}" for task, p in KINDS])
def fitted(request):
    """A fitted model with words, levels and graphs, and data to predict."""
    task, printed = request.param
    mixed, _ = mixed_columns(task)
    ids = mixed.ids.tolist()
    edges = pl.DataFrame({"source": ids[:-1] + ["hub"], "target": ids[1:] + [ids[0]]})
    data = hc.HetData(mixed.sources, {"line": edges}, (mixed.ids, mixed.y), task=task)
    return model(task, printed, subsample=1.0).fit(data), data


def changed(fit, change):
    """Return the bytes of a model file whose content was changed before it was sealed."""
    values, arrays = copy.deepcopy(fit._get_state())
    change(values, arrays)
    other = copy.copy(fit)
    other._get_state = lambda: (values, arrays)
    return dumps(other)


def set_at(*path, to):
    """Return a change that sets one value of the state."""

    def change(values, _):
        for key in path[:-1]:
            values = values[key]
        values[path[-1]] = to

    return change


def without(*path):
    def change(values, _):
        for key in path[:-1]:
            values = values[key]
        del values[path[-1]]

    return change


def first_array(part, to):
    """Return a change of the first array whose name contains `part`."""

    def change(_, arrays):
        name = next(name for name in arrays if part in name)
        arrays[name] = to(arrays[name])

    return change


def first_forest(field, to):
    """Return a change of one inner node of the first forest that has any."""

    def change(_, arrays):
        forests = [name for name in arrays if name.endswith(":nodes") and (arrays[name]["left"] >= 0).any()]
        nodes = arrays[forests[0]].copy()
        nodes[field][np.flatnonzero(nodes["left"] >= 0)[0]] = to
        arrays[forests[0]] = nodes

    return change


def drop_arrays(part):
    def change(_, arrays):
        for name in [name for name in arrays if part in name]:
            del arrays[name]

    return change


BOTH = {
    "unknown kind": set_at("kind", to="stack"),
    "no kind": without("kind"),
    "other sources": set_at("source_weights", to={"elsewhere": 1.0}),
    "no source": set_at("source_weights", to={}),
    "weight above one": set_at("graph_weights", to={"line": 2.0}),
    "weight below zero": set_at("graph_weights", to={"line": -0.1}),
    "weight of a word": set_at("graph_weights", to={"line": "all"}),
    "weights in a list": set_at("graph_weights", to=[1.0]),
    "rounds of a word": set_at("n_iterations", to="many"),
    "no rounds": set_at("n_iterations", to=-1),
    "deviation zero": set_at("scale", "deviation", to=0.0),
    "deviation negative": set_at("scale", "deviation", to=-1.0),
    "classes of numbers": set_at("scale", "classes", to=[1, 2, 3]),
    "one class": set_at("scale", "classes", to=["a"]),
    "a class twice": set_at("scale", "classes", to=["up", "up"]),
    "classes in a word": set_at("scale", "classes", to="updown"),
    "mean of the wrong length": first_array("scale:mean", lambda a: np.append(a, 0.0)),
    "mean not finite": first_array("scale:mean", lambda a: a * np.nan),
}  # fmt: skip

VIEWS = {
    "an id twice": set_at("model", "ids", to=["a", "a"]),
    "ids of numbers": set_at("model", "ids", 0, to=1),
    "an id less": set_at("model", "ids", to=["a"]),
    "labels not finite": first_array("memory:codes", lambda a: a + np.inf),
    "labels of the wrong shape": first_array("memory:codes", lambda a: a[:, :0]),
    "folds of floats": first_array("memory:fold", lambda a: a.astype(float)),
    "a fold below zero": first_array("memory:fold", lambda a: a - 5),
    "no memory": drop_arrays("memory"),
    "no bins": drop_arrays("view 0:n_bins"),
    "bins of another table": first_array("view 0:n_bins", lambda a: a[:-1]),
    "bins too many": first_array("view 0:n_bins", lambda a: a + 300),
    "bins of floats": first_array("view 0:n_bins", lambda a: a.astype(float)),
    "no trees": drop_arrays(":nodes"),
    "trees of a column too many": first_forest("feature", 10_000),
    "trees that go back": first_forest("left", 0),
    "trees that go nowhere": first_forest("right", 10_000),
    "leaves not finite": first_array(":values", lambda a: a * np.nan),
    "weights of one view": first_array("weights", lambda a: a[:1]),
    "weights not finite": first_array("weights", lambda a: a * np.nan),
    "shares of one view": first_array("shares", lambda a: a[:1]),
    "shares below zero": first_array("shares", lambda a: a - 2),
    "a view of nothing": set_at("model", "columns", "views", 0, 0, to="nothing"),
    "a learner of no name": set_at("model", "columns", "views", 0, 1, to="forest"),
    "no views": set_at("model", "columns", "views", to=[]),
    "a graph of no name": set_at("model", "columns", "shown", 0, to="nothing"),
    "unit of nothing": set_at("model", "columns", "units", "graph_1", to=None),
    "unit zero": set_at("model", "columns", "units", "graph_1", to=0.0),
    "lambda of a word": set_at("model", "lambda1", to="half"),
    "lambda below zero": set_at("model", "lambda1", to=-1.0),
    "no encoder": without("model", "columns", "tables", "tables", 0, "encoder"),
    "a table of numbers": set_at("model", "columns", "tables", "tables", 0, "name", to=7),
    "tables in a word": set_at("model", "columns", "tables", "tables", to="tables"),
    "smooth learner of another table": first_array(":landmarks", lambda a: a[:, :-1]),
    "smooth learner not finite": first_array(":dual", lambda a: a * np.inf),
    "half a smooth learner": drop_arrays(":constant"),
    "coefficients of another view": first_array(":coefficients", lambda a: a[:-1]),
    "scales of another table": first_array(":plain:center", lambda a: a[:-1]),
}

PRINTED = {
    "an id twice": set_at("model", "ids", to=["a", "a"]),
    "ids of numbers": set_at("model", "ids", 0, to=1),
    "an id less": set_at("model", "ids", to=["a"]),
    "memory not finite": first_array("memory:values", lambda a: a + np.inf),
    "memory of whole numbers": first_array("memory:values", lambda a: a.astype(np.int64)),
    "memory of the wrong shape": first_array("memory:values", lambda a: a[:, :0]),
    "voices negative": first_array("memory:voices", lambda a: a - 5),
    "no memory": drop_arrays("memory"),
    "no bins": drop_arrays("0:bins"),
    "bins of another table": first_array("0:bins:n_bins", lambda a: a[:-1]),
    "bins too many": first_array("0:bins:n_bins", lambda a: a + 300),
    "bins of floats": first_array("0:bins:n_bins", lambda a: a.astype(float)),
    "no trees": drop_arrays("forest"),
    "trees of a column too many": first_forest("feature", 10_000),
    "trees that go back": first_forest("left", 0),
    "trees that go nowhere": first_forest("right", 10_000),
    "leaves not finite": first_array(":values", lambda a: a * np.nan),
    "weights negative": first_array("weights", lambda a: a - 2),
    "weights not finite": first_array("weights", lambda a: a * np.nan),
    "weights of one source": first_array("weights", lambda a: a[:1]),
    "start of the wrong length": first_array("start", lambda a: np.append(a, 0.0)),
    "an encoder too few": set_at("model", "encoders", to=[]),
    "names of numbers": set_at("model", "names", to=[1, 2]),
}


def _refused(fit, change):
    with pytest.raises(ModelFileError) as caught:
        load(changed(fit, change))
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message


@pytest.mark.parametrize("name", BOTH)
def test_a_changed_model_is_refused_in_words(fitted, name):
    fit, _ = fitted
    if name == "a class twice" and not hasattr(fit, "classes_"):
        pytest.skip("numbers have no classes")
    _refused(fit, BOTH[name])


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_changed_model_of_the_default_is_refused_in_words(task, name, default_models):
    _refused(default_models[task, False], VIEWS[name])


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_changed_model_as_printed_is_refused_in_words(task, name, default_models):
    _refused(default_models[task, True], PRINTED[name])


@pytest.fixture(scope="module")
def default_models():
    made = {}
    for task, printed in KINDS:
        data, _ = planted(task, n_noise_sources=0, n_graphs=1)
        made[task, printed] = model(task, printed).fit(data)
    return made


@pytest.mark.parametrize("task,printed", KINDS)
def test_trees_of_one_leaf_need_their_bins_too(task, printed):
    data, _ = planted(task, n_noise_sources=0, n_graphs=1)
    fit = model(task, printed, min_samples_leaf=1000, subsample=1.0).fit(data)
    _refused(fit, drop_arrays("0:bins" if printed else "view 0:n_bins"))


def _leaves(value, path=()):
    """Yield the path of every plain value in a state."""
    if isinstance(value, dict):
        for key in value:
            yield from _leaves(value[key], (*path, key))
    elif isinstance(value, list):
        for i in range(min(len(value), 3)):
            yield from _leaves(value[i], (*path, i))
    else:
        yield path


ODD = [None, True, -1, 0, 0.5, 1e300, 10**30, "", "x", [], {}, ["a"], {"a": 1}]


@pytest.mark.slow
def test_any_value_may_be_anything(fitted):
    fit, data = fitted
    rng = np.random.default_rng(0)
    paths = list(_leaves(fit._get_state()[0]))
    for _ in range(80):
        change = set_at(*paths[rng.integers(len(paths))], to=ODD[rng.integers(len(ODD))])
        _loads_or_not(changed(fit, change), data)


@pytest.mark.slow
def test_any_array_may_be_anything(fitted):
    fit, data = fitted
    rng = np.random.default_rng(1)
    names = list(fit._get_state()[1])
    odd = [
        lambda a: a[:0], lambda a: a[:-1], lambda a: a.astype(np.float32) if a.dtype.names is None else a,
        lambda a: a.astype(np.int64) if a.dtype.names is None else a, lambda a: a.reshape(-1, 1), lambda a: a.ravel(),
        lambda a: np.zeros((), a.dtype), lambda a: np.zeros_like(a), lambda a: a[::-1].copy(),
        lambda a: np.vstack([a, a]), lambda a: np.full_like(a, 7) if a.dtype.names is None else a[::2].copy(),
        lambda a: -a if a.dtype.kind in "if" else a, lambda a: a * 1e300 if a.dtype.kind == "f" else a,
    ]  # fmt: skip
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(80):
            name, to = names[rng.integers(len(names))], odd[rng.integers(len(odd))]

            def change(_, arrays, name=name, to=to):
                arrays[name] = to(arrays[name])

            _loads_or_not(changed(fit, change), data)


def _loads_or_not(content, data):
    """Load a changed model: it is refused in words, or predicts, or says which column it lacks."""
    with warnings.catch_warnings():
        # a column's name that was changed is one that the data lack
        warnings.simplefilter("ignore", MissingColumnsWarning)
        try:
            scores(load(content), data)
        except (ModelFileError, DataError) as error:
            assert "\n" not in str(error)
