"""Data that leave little to learn from: each is fitted, or refused in one sentence."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import hetcore as hc
from hetcore.errors import DataError, MissingColumnsWarning
from hetcore.model_files import load, save
from tests.consensus.test_consensus import TASKS

N = 40


def tables(seed=0, n=N):
    rng = np.random.default_rng(seed)
    ids = [f"i{k}" for k in range(n)]
    X = rng.normal(size=(n, 4))
    one, two = (pl.DataFrame({"id": ids, "a": X[:, k], "b": X[:, k + 1]}) for k in (0, 2))
    return ids, X, {"one": one, "two": two}


def target(task, X):
    return X[:, 0] + X[:, 2] if task == "regression" else np.where(X[:, 0] + X[:, 2] > 0, "u", "v").astype(object)


def hidden(y, known):
    """Return labels of which some rows' are known."""
    nothing = np.nan if y.dtype.kind == "f" else None
    found = np.full(y.shape, nothing, y.dtype)
    found[known] = y[known]
    return found


def graph(pairs):
    return pl.DataFrame({"source": [a for a, _ in pairs], "target": [b for _, b in pairs]}, schema_overrides={
        "source": pl.String, "target": pl.String})  # fmt: skip


def unseen_only(task):
    """Return data with a graph none of whose links touches a record of a table."""
    ids, X, sources = tables()
    links = graph([(f"s{k}", f"s{k + 1}") for k in range(6)])
    return hc.HetData(sources, {"elsewhere": links}, target=(ids, hidden(target(task, X), slice(0, 20))))


def without_links(task):
    """Return data with a graph of no links."""
    ids, X, sources = tables()
    return hc.HetData(sources, {"none": graph([])}, target=(ids, hidden(target(task, X), slice(0, 20))))


def half_linked(task):
    """Return data with a graph that links records to nodes that no table has."""
    ids, X, sources = tables()
    links = graph([(name, f"s{k % 3}") for k, name in enumerate(ids)])
    return hc.HetData(sources, {"outward": links}, target=(ids, hidden(target(task, X), slice(0, 20))))


def constant(task):
    """Return data with a table of constant columns."""
    ids, X, sources = tables()
    flat = pl.DataFrame({"id": ids, "a": np.ones(N), "b": ["x"] * N, "c": [None] * N})
    links = graph([(a, b) for a, b in zip(ids, ids[1:])])
    y = hidden(target(task, X), slice(0, 20))
    return hc.HetData(sources | {"flat": flat}, {"path": links}, target=(ids, y))


def only_constant(task):
    """Return data whose only table has constant columns."""
    ids, X, _ = tables()
    return hc.HetData({"flat": pl.DataFrame({"id": ids, "a": np.ones(N)})}, target=(ids, target(task, X)))


def one_a_fold(task):
    """Return data with five labelled rows, one for each fold."""
    ids, X, sources = tables()
    links = graph([(a, b) for a, b in zip(ids, ids[1:])])
    return hc.HetData(sources, {"path": links}, target=(ids, hidden(target(task, X), slice(0, 5))))


def two_labels(task):
    """Return data with two labelled rows."""
    ids, X, sources = tables()
    y = target(task, X)
    if task == "classification":
        y[:2] = ["u", "v"]
    return hc.HetData(sources, target=(ids, hidden(y, slice(0, 2))))


def one_label(task):
    """Return data with one labelled row."""
    ids, X, sources = tables()
    return hc.HetData(sources, target=(ids, hidden(target(task, X), slice(0, 1))))


def lonely_class(task):
    """Return data with a class that a single labelled row has; of numbers, one far from the others."""
    ids, X, sources = tables()
    y = target(task, X)
    y[0] = "w" if task == "classification" else 1e6
    links = graph([(a, b) for a, b in zip(ids, ids[1:])])
    return hc.HetData(sources, {"path": links}, target=(ids, hidden(y, slice(0, 20))))


CASES = [
    unseen_only, without_links, half_linked, constant, only_constant, one_a_fold, two_labels, one_label, lonely_class
]  # fmt: skip
REFUSED = {"classification": [one_label], "regression": []}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("printed", [False, True], ids=["default", "printed"])
def test_it_is_fitted_or_refused_in_a_sentence(task, printed, case):
    data, events = case(task), []
    model = TASKS[task](n_iterations=6, as_printed=printed, lambda0="auto")
    try:
        model.fit(data, callbacks=[events.append])
    except DataError as error:
        assert case in REFUSED[task] and str(error).endswith(".") and ". " not in str(error)
        return
    assert case not in REFUSED[task]
    predicted = model.predict(data)
    assert len(predicted) == data.n and (predicted.dtype == object or np.isfinite(predicted).all())
    assert sum(model.source_weights_.values()) == pytest.approx(1.0)
    assert all(np.isfinite(loss) for event in events for name, loss in event.losses.items() if name == "train")


@pytest.mark.parametrize("estimator", ["GBCClassifier", "GBCRegressor"])
def test_a_column_of_one_value_tells_by_where_it_is_missing(estimator):
    rng = np.random.default_rng(0)
    there = rng.random(120) < 0.5
    ids, known = [f"i{k}" for k in range(120)], np.arange(80)
    table = pl.DataFrame({"id": ids, "x": np.where(there, 5.0, np.nan), "z": rng.normal(size=120)})
    labels = np.where(there, "a", "b") if estimator == "GBCClassifier" else there.astype(float)
    data = hc.HetData({"t": table}, target=([ids[k] for k in known], labels[known]))
    model = getattr(hc, estimator)(n_iterations=10, random_state=0).fit(data)
    found = np.asarray(model.predict(data))[80:]
    wrong = found != labels[80:] if estimator == "GBCClassifier" else np.abs(found - there[80:]) > 0.3
    assert not wrong.any()


def test_a_source_that_a_sample_leaves_without_a_record_changes_nothing():
    rng = np.random.default_rng(0)
    ids = [f"i{k}" for k in range(40)]
    tables = {"t": pl.DataFrame({"id": ids, "x": rng.normal(size=40)}), "rare": pl.DataFrame({"id": ["j"], "x": [1.0]})}
    target = (ids[:30], rng.normal(size=30))
    bare = hc.HetData(tables, target=target).drop_instances(["j"])
    assert bare.sources["rare"].n_rows == 0
    one, other = (hc.GBCRegressor(n_iterations=2).fit(data).predict(data) for data in (bare, bare.select(["t"])))
    assert_array_equal(one, other)


# Rows that no label is like -------------------------------------------------------------------------------------------


def rmse_of_unlabelled(frames, y, **params):
    """Return the error of the rows after the first 100, whose numbers alone are known."""
    ids = [f"i{k}" for k in range(len(y))]
    sources = {
        name: frame.with_columns(pl.Series("id", ids[len(ids) - frame.height :])) for name, frame in frames.items()
    }
    data = hc.HetData(sources, target=(ids[:100], y[:100]))
    return float(np.sqrt(np.mean((hc.GBCRegressor(**params).fit(data).predict(data) - y)[100:] ** 2)))


@pytest.mark.parametrize("column", [False, True], ids=["source", "column"])
def test_what_no_labelled_row_has_keeps_nobody_at_the_mean(column):
    rng = np.random.default_rng(0)
    x, other = rng.normal(size=(2, 200))
    y, plain = 2 * x + 0.3 * rng.normal(size=200), pl.DataFrame({"x": x, "w": other})
    if column:
        late = np.where(np.arange(200) >= 100, x + 0.3 * rng.normal(size=200), np.nan)
        more = {"t": plain.with_columns(late=pl.Series(late))}
    else:
        more = {"t": plain, "late": plain.tail(100)}
    # the mean itself is 2 away
    assert rmse_of_unlabelled({"t": plain}, y) < 0.35
    assert rmse_of_unlabelled(more, y) < 0.75


@pytest.mark.parametrize("seed", range(2))
def test_unlabelled_rows_far_from_the_labelled_ones_are_not_drawn_to_the_mean(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    X[100:] += 3.0
    y = X @ [1.0, 2.0, -1.0] + np.sin(X[:, 0]) + 0.3 * rng.normal(size=300)
    frames = {"t": pl.DataFrame({f"x{k}": X[:, k] for k in range(3)})}
    pulled, left = (rmse_of_unlabelled(frames, y, lambda0=lambda0) for lambda0 in (0.3, 0.0))
    assert pulled < 1.05 * left and pulled < 2.0


def linked_to_known(seed):
    """Return a model of 400 instances in cliques, 100 new ones as tables and links, and a function of what is given."""
    rng = np.random.default_rng(seed)
    group, x = rng.integers(50, size=500), rng.normal(size=500)
    y, ids = x + 2 * rng.normal(size=50)[group] + 0.2 * rng.normal(size=500), np.array([f"i{k}" for k in range(500)])
    table, pairs = (
        pl.DataFrame({"id": ids, "x": x}),
        [(i, j) for i in range(500) for j in range(i) if group[i] == group[j]],
    )

    def given(table, pairs):
        return hc.HetData({"t": table}, {"g": graph([(ids[i], ids[j]) for i, j in pairs])})

    known = given(table[:400], [pair for pair in pairs if pair[0] < 400]).with_target(np.r_[y[:300], [np.nan] * 100])
    model = hc.GBCRegressor().fit(known)

    def error(data):
        predicted = dict(zip(data.ids, model.predict(data)))
        return float(np.sqrt(np.mean((np.array([predicted[each] for each in ids[400:]]) - y[400:]) ** 2)))

    return (
        error,
        given(table, pairs),
        given(table[400:], [pair for pair in pairs if pair[0] >= 400]),
        given(table[400:], []),
    )


@pytest.mark.parametrize("seed", range(2))
def test_new_rows_linked_to_known_ones_without_records_are_predicted_from_what_is_there_with_a_warning(seed):
    error, whole, alone, unlinked = linked_to_known(seed)
    with pytest.warns(MissingColumnsWarning, match="labelled instances of the fit are linked here and have no record"):
        partly = error(alone)
    assert error(whole) < 0.5 and partly < 0.6 * error(unlinked)


def test_a_single_known_row_without_its_record_is_warned_of_unless_it_had_none_in_the_fit(tmp_path):
    rng = np.random.default_rng(0)
    ids, x = [f"k{i}" for i in range(60)], rng.normal(size=60)
    table = pl.DataFrame({"id": ids[:-1], "x": x[:-1]})  # the last is linked alone
    links = [(ids[i], ids[i - 1]) for i in range(60)]
    given = hc.HetData({"t": table}, {"g": graph(links)}, (ids, x))
    fitted = hc.GBCRegressor(n_iterations=2).fit(given)
    save(fitted, tmp_path / "model")
    new = pl.DataFrame({"id": ["new"], "x": [0.1]})
    for model in (fitted, load(tmp_path / "model")):
        with pytest.warns(MissingColumnsWarning, match="1 labelled instance of the fit is linked here and has no"):
            model.predict(hc.HetData({"t": new}, {"g": graph([("new", "k0")])}))
        with warnings.catch_warnings():
            warnings.simplefilter("error", MissingColumnsWarning)
            model.predict(given)
            model.predict(hc.HetData({"t": new}, {"g": graph([("new", ids[-1])])}))


@pytest.mark.parametrize("seed", [4, 5])
def test_one_column_of_hundreds_tells_three_classes_from_few_labels(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (150, 400))
    truth = np.where(rng.random(150) < 0.9, X[:, 7], rng.integers(-1, 2, 150)).astype(str).astype(object)
    ids = [f"i{k}" for k in range(150)]
    table = pl.DataFrame({"id": ids, **{f"c{j}": X[:, j] for j in range(400)}})
    given = hc.HetData({"t": table}, None, (ids[:45], truth[:45]), task="classification")
    predicted = hc.GBCClassifier(random_state=0).fit(given).predict(given)
    # .47 where a tree of three classes sees thirty columns, .70 where 300 of the 400 are all that any sees
    assert np.mean(predicted[45:] != truth[45:]) < 0.2
