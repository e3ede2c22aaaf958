"""Data to predict from that lack what the training had are predicted from with a warning, or refused."""

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.data.ranges import are_far, number_ranges
from hetcore.errors import MissingColumnsWarning, UnfamiliarValuesWarning

METHODS = {
    "GBC": lambda: hc.GBCRegressor(n_iterations=2, base_learner="kernel"),
    "GBC as printed": lambda: hc.GBCRegressor(n_iterations=2, as_printed=True),
    "GB": lambda: hc.GBRegressor(n_iterations=2),
    "two learners": lambda: hc.TwoWeakLearnerClassifier(n_iterations=2),
}


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    ids = [f"i{k}" for k in range(40)]
    a = pl.DataFrame({"id": ids, "x": rng.normal(size=40), "y": rng.normal(size=40)})
    b = pl.DataFrame({"id": ids, "z": rng.normal(size=40)})
    return a, b, pl.DataFrame({"id": ids, "y": np.where(a["x"] > 0, 1.0, 0.0)})


@pytest.mark.parametrize("method", METHODS)
def test_columns_that_are_gone_are_named_with_their_source(method, tables):
    a, b, label = tables
    task = "classification" if method == "two learners" else "regression"
    if task == "classification":
        label = label.with_columns(pl.col("y").cast(pl.String))
    data = hc.HetData({"first": a, "second": b}, target=label, task=task)
    model = METHODS[method]().fit(data)
    renamed = hc.HetData({"first": a.rename({"x": "X"}), "second": b})
    with pytest.warns(MissingColumnsWarning, match=r"Source 'first' lacks columns of the training, 'x', which count"):
        model.predict(renamed)
    with pytest.raises(hc.DataError, match=r"Source 'second' has the columns 'Z': give some of 'z'."):
        model.predict(hc.HetData({"first": a, "second": b.rename({"z": "Z"})}))
    model.predict(hc.HetData({"first": a.with_columns(more=pl.lit(1.0)), "second": b}))
    model.predict(hc.HetData({"first": a}))


def _fitted(tables, method):
    a, b, label = tables
    links = pl.DataFrame({"source": a["id"][:-1], "target": a["id"][1:]})
    if method == "two learners":
        label = label.with_columns(pl.col("y").cast(pl.String))
    return METHODS[method]().fit(hc.HetData({"first": a, "second": b}, {"links": links}, label)), links


@pytest.mark.parametrize("method", METHODS)
def test_a_source_or_graph_of_another_name_is_warned_of(method, tables):
    a, b, _ = tables
    model, links = _fitted(tables, method)
    with pytest.warns(MissingColumnsWarning, match="lack the training's source 'first' and have 'First', which the"):
        model.predict(hc.HetData({"First": a, "second": b}))
    if method.startswith("GBC"):
        with pytest.warns(MissingColumnsWarning, match="lack the training's graph 'links' and have 'Links', which the"):
            model.predict(hc.HetData({"first": a, "second": b}, {"Links": links}))
    # one that is gone, or more, is an instance's own affair
    model.predict(hc.HetData({"second": b}))
    model.predict(hc.HetData({"first": a, "second": b, "third": b}, {"links": links, "more": links}))


def test_values_that_can_not_be_read_as_in_training_are_warned_of():
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"id": [f"i{k}" for k in range(40)], "x": rng.normal(size=40), "b": ["no", "yes"] * 20})
    table = table.with_columns(n=pl.Series([0, 1] * 20))
    data = hc.HetData({"s": table}, target=(table["id"], table["x"]))
    model = hc.GBCRegressor(n_iterations=2, base_learner="kernel").fit(data)
    words = r"Source 's': no value of 'x', 'b', 'n' can be read as in training, all count as missing: give numbers"
    other = table.with_columns(x=pl.format("{} kg", "x"), b=pl.col("b").str.to_uppercase(), n=pl.col("n") + 5)
    with pytest.warns(MissingColumnsWarning, match=words):
        model.predict(hc.HetData({"s": other}))
    # numbers as text are read; a single value that is, or a column that is empty, is as it may be
    model.predict(hc.HetData({"s": table.with_columns(pl.col("x", "n").cast(pl.String))}))
    odd = other.with_columns(x=table["x"], b=table["b"].head(33).extend_constant("?", 7), n=None)
    model.predict(hc.HetData({"s": odd}))
    model.predict(hc.HetData({"s": odd[31:35]}))


def test_columns_of_which_many_values_can_not_be_read_and_empty_ones_are_warned_of():
    """Half of the numbers with decimal commas were missing without a word, and so was a column of nothing."""
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"id": [f"i{k}" for k in range(60)], "x": rng.normal(size=60), "b": ["no", "yes"] * 30})
    table = table.with_columns(c=pl.Series(["u", "v", "w"] * 20))
    model = hc.GBCRegressor(n_iterations=2, base_learner="kernel").fit(
        hc.HetData({"s": table}, target=(table["id"], table["x"]))
    )
    text = [f"{x:.2f}".replace(".", "," if k % 2 else ".") for k, x in enumerate(table["x"])]
    with pytest.warns(MissingColumnsWarning, match="Source 's': 50% of the values of 'x' can't be read as in training"):
        model.predict(hc.HetData({"s": table.with_columns(x=pl.Series(text))}))
    with pytest.warns(MissingColumnsWarning, match="33% of the values of 'b' can't be read"):
        model.predict(hc.HetData({"s": table.with_columns(b=pl.Series(["no", "ja", "yes"] * 20))}))
    empty = table.with_columns(x=pl.lit(None, pl.Float64), c=pl.lit(None, pl.String))
    with pytest.warns(UnfamiliarValuesWarning, match="no row has a value of 'x', 'c', which had some in"):
        model.predict(hc.HetData({"s": empty}))
    # of a few rows none may have one
    model.predict(hc.HetData({"s": empty.head(9)}))
    # nor is a column missed that never had one
    never = table.with_columns(c=pl.lit(None, pl.String))
    hc.GBCRegressor(n_iterations=2, base_learner="kernel").fit(
        hc.HetData({"s": never}, target=(table["id"], table["x"]))
    ).predict(hc.HetData({"s": never.head(30)}))
    # who takes a column for numbers on purpose has been told what is none
    with pytest.warns(MissingColumnsWarning, match="50%"):
        model.predict(hc.HetData({"s": table.with_columns(x=pl.Series(text))}))
    model.predict(hc.HetData({"s": table.with_columns(x=pl.Series(text))}, kinds={"s": {"x": "real"}}))


@pytest.mark.parametrize("name", ["GBRegressor", "GBCRegressor"])
def test_what_is_no_data_is_refused_by_every_kind_of_prediction(name, tables):
    a, _, label = tables
    model = getattr(hc, name)(n_iterations=2).fit(hc.HetData({"first": a}, target=label))
    for method in ("predict", "staged_predict"):
        if hasattr(model, method):
            with pytest.raises(hc.DataError, match="A prediction takes a HetData, not ndarray"):
                getattr(model, method)(np.zeros((3, 2)))


UNITS = {
    "metres for kilometres": lambda v: 1000 * v,
    "kilometres for metres": lambda v: v / 1000,
    "per cent for shares": lambda v: 100 * v,
    "an epoch": lambda v: v + 1e9,
    "degrees Fahrenheit for Celsius": lambda v: 1.8 * v + 32,
}


@pytest.mark.parametrize("unit", UNITS)
def test_numbers_in_another_unit_are_far_and_other_rows_are_not(unit):
    rng = np.random.default_rng(0)
    columns = np.column_stack([rng.uniform(20, 25, 400), rng.uniform(0, 40, 400), rng.lognormal(1, 1, 400)])
    # a few degrees more or less tell a scale only where they span little
    columns = columns[:, :1] if "degrees" in unit else columns
    known, changed = number_ranges(columns[:200]), number_ranges(UNITS[unit](columns[200:]))
    assert [are_far(*each, 200) for each in zip(known, number_ranges(columns[200:]))] == [False] * len(known)
    assert [are_far(*each, 200) for each in zip(known, changed)] == [True] * len(known)
    assert not are_far([2.0] * 5, changed[0], 200)


def test_a_few_values_close_together_are_not_far_and_one_that_is_far_is():
    known = number_ranges(np.linspace(0, 40, 200)[:, None])[0]
    close = number_ranges(np.linspace(0.1, 0.2, 5)[:, None])[0]
    assert [are_far(known, close, n) for n in (1, 4, 20)] == [False, False, True]
    assert are_far(known, [90.0] * 5, 1)
    assert not are_far(known, [70.0] * 5, 1)
    assert number_ranges(np.full((3, 1), np.nan)) == [None]


def test_a_column_held_still_within_its_range_is_not_far():
    known = number_ranges(np.random.default_rng(0).normal(size=(300, 1)))[0]
    assert abs(known[2]) < 0.2 and known[0] < -2 < known[1]
    assert not are_far(known, [-2.0] * 5, 300)
    assert are_far(known, [-2.1, -2.0, -2.0, -2.0, -1.9], 300)
    assert are_far(number_ranges(np.linspace(1, 50, 60)[:, None])[0], [0.02] * 5, 60)


@pytest.mark.parametrize("method", METHODS)
def test_a_column_in_another_unit_is_warned_of_with_its_source(method, tables):
    a, b, _ = tables
    model, _ = _fitted(tables, method)
    words = r"Source 'first': the numbers of 'x' are far from those of the training \('x': .* here, .* in training\)"
    changed = {"first": a.with_columns(pl.col("x") * 1000), "second": b}
    for each in (model, hc.load(hc.model_files.dumps(model))):
        with pytest.warns(UnfamiliarValuesWarning, match=words):
            each.predict(hc.HetData(changed))
        # other rows, one of them by itself, are no other unit
        each.predict(hc.HetData({"first": a[20:], "second": b[5:15]}))
        each.predict(hc.HetData({"first": a[:1]}))
        # two rows of two values look like categories, and are numbers all the same
        with pytest.warns(UnfamiliarValuesWarning, match="the numbers of 'x' are far"):
            each.predict(hc.HetData({"first": a[:2].with_columns(x=pl.Series([5000, 7000]))}))


@pytest.mark.parametrize("frame", [False, True])
def test_rows_of_numbers_in_another_unit_are_warned_of(frame):
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"km": rng.uniform(1, 50, 60), "kg": rng.uniform(0, 9, 60)})
    y = X["km"].to_numpy() + rng.normal(size=60)
    if not frame:
        X = X.to_numpy()
    for model in (hc.HGBMRegressor(n_iterations=2, folds=1), hc.HeteroscedasticLinearRegression()):
        model.fit(X, y)
        model.predict(X[::3])
        other = X.with_columns(pl.col("km") * 1000) if frame else X * [1000, 1]
        name = "km" if frame else "column 1"
        for each in (model, hc.load(hc.model_files.dumps(model))):
            with pytest.warns(UnfamiliarValuesWarning, match=f"X: the numbers of '{name}' are far from those of the"):
                each.predict(other)
    # of a few rows nothing is known of others
    hc.HGBMRegressor(n_iterations=2, folds=1).fit(X[:19], y[:19]).predict(other)


def test_a_column_whose_values_were_all_unknown_in_training_is_warned_of():
    """Written otherwise than in training, or codes for words: each row would be none of the categories, in silence."""
    ids = [f"i{k}" for k in range(30)]
    table = pl.DataFrame({"id": ids, "c": ["red", "green", "blue"] * 10, "x": np.arange(30.0)})
    data = hc.HetData({"t": table}, target=pl.DataFrame({"id": ids, "y": [0.0, 1.0, 5.0] * 10}))
    model = hc.GBCRegressor(n_iterations=2, base_learner="kernel").fit(data)
    for values in (["Red", "green "], [1, 2]):
        new = hc.HetData({"t": pl.DataFrame({"id": ["n1", "n2"], "c": values, "x": [1.0, 2.0]})})
        with pytest.warns(UnfamiliarValuesWarning, match="Source 't': hardly a value of 'c' was there"):
            model.predict(new)
    known = hc.HetData({"t": pl.DataFrame({"id": ["n1", "n2"], "c": ["violet", "red"], "x": [1.0, 2.0]})})
    model.predict(known)


def test_several_fits_in_one_warn_once(tables):
    a, b, label = tables
    model = hc.GBCRegressor(n_iterations=1, base_learner="kernel", n_repeats=2)
    model.fit(hc.HetData({"first": a, "second": b}, target=label, task="regression"))
    with pytest.warns(MissingColumnsWarning) as found:
        model.predict(hc.HetData({"first": a.drop("x"), "second": b}))
    assert len(found) == 1
