"""Labels, weights and codes that can't be used are refused in one sentence, by every method that takes rows."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

import hetcore as hc
from hetcore.errors import UnfamiliarValuesWarning
from hetcore.registry import METHODS, find

N = 24
ROWS = [name for name, module in METHODS.items() if module.split(".")[1] in ("heteroscedastic", "transfer")]
FACTORIZATIONS = [name for name, module in METHODS.items() if module.split(".")[1] == "factorization"]
NUMBERS = ("HGBMRegressor", "HLR", "HeteroscedasticLinearRegression", "TransferRegressor")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 3)), rng.permutation(N) % 2


def _model(name):
    wanted = {"n_iterations": 1, "folds": 2, "random_state": 0}
    return find(name)(**{key: wanted[key] for key in wanted.keys() & find(name)().get_params().keys()})


@pytest.mark.parametrize("name", [name for name in ROWS if METHODS[name].split(".")[1] == "heteroscedastic"])
@pytest.mark.parametrize("missing", [None, pd.NA, pd.NaT, float("nan"), Decimal("nan")])
def test_missing_labels_are_counted_and_placed(name, missing, rows):
    X, y = rows
    numbers = [y.astype(float)] if isinstance(missing, float) else []
    for labels in (y.astype(object), y.astype(str).astype(object), *numbers):
        labels[[3, 7]] = missing
        with pytest.raises(hc.DataError, match=r"y has 2 missing labels, the first in row 4: leave such rows out\."):
            _model(name).fit(X, labels)


@pytest.mark.parametrize("name", ROWS)
def test_labels_that_are_all_missing_ask_for_some(name, rows):
    for missing in (np.full(N, None), np.full(N, np.nan)):
        with pytest.raises(hc.DataError, match=rf"^All {N} labels of y are missing: give some\.$"):
            _model(name).fit(rows[0], missing)


@pytest.mark.parametrize("name", [name for name in ROWS if name not in NUMBERS])
def test_a_missing_label_that_numpy_made_text_is_no_class(name, rows):
    labels = np.array(["a", "b", np.nan] * (N // 3))
    data = hc.HetData({"t": pl.DataFrame({"id": range(N), "x": rows[0][:, 0]})})
    message = rf" {N // 3} texts 'nan', which NumPy makes of a missing label: give objects"
    for call in (lambda: _model(name).fit(rows[0], labels), lambda: hc.GBCClassifier().fit(data, labels)):
        with pytest.raises(hc.DataError, match=message):
            call()


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_several_lengths_are_refused(name, rows):
    for X in ([*rows[0][:-1].tolist(), [1.0]], ["a", "b"] * (N // 2)):
        with pytest.raises(hc.DataError, match=r"^X is no \(n, d\): give rows, each with as many columns\.$"):
            _model(name).fit(X, rows[1])


@pytest.mark.parametrize("name", ROWS)
def test_labels_that_are_no_labels_are_refused(name, rows):
    X, y = rows
    mixed, moments = y.astype(object), pd.date_range("2020", periods=N)
    mixed[:9] = "one"
    with pytest.raises(hc.DataError, match="y mixes text with other values, such as 'one' beside [01]: write all"):
        _model(name).fit(X, mixed)
    with pytest.raises(hc.DataError, match="y holds moments or durations: give numbers of a unit, or text"):
        _model(name).fit(X, moments)
    with pytest.raises(hc.DataError, match=r"The label 'one\\x00' of y ends in a NUL character: write it without"):
        _model(name).fit(X, np.array(["one\0" if each else "one" for each in y], object))
    with pytest.raises(NotFittedError):
        _model(name).predict(X)


@pytest.mark.parametrize("name", ROWS)
def test_columns_that_are_no_numbers_are_refused_by_name(name, rows):
    X, y = rows
    days = pd.date_range("2020", periods=N)
    for column in (days, days.tz_localize("UTC"), days - days[0], days.astype(object)):
        with pytest.raises(hc.DataError, match=r"The column 't' of X has moments or durations: give numbers, such as"):
            _model(name).fit(pd.DataFrame({"x": X[:, 0], "t": column}), y)
    for column in (days.to_numpy(), (days - days[0]).to_numpy()):
        with pytest.raises(hc.DataError, match=r"The column 't' of X has moments or durations"):
            _model(name).fit(pl.DataFrame({"x": X[:, 0], "t": column}), y)
        with pytest.raises(hc.DataError, match=r"^X has moments or durations"):
            _model(name).fit(column.reshape(-1, 1), y)
    for column in (days, days - days[0], [dt.time(1)] * N):
        with pytest.raises(hc.DataError, match=r"The column 't' of X has moments or durations"):
            _model(name).fit(pa.table({"x": X[:, 0], "t": column}), y)
    for frame, lists in ((pd.DataFrame, [[1, 2]] * N), (pl.DataFrame, [[1, 2]] * N), (pd.DataFrame, [{"a": 1}] * N)):
        with pytest.raises(hc.DataError, match=r"The column 't' of X has ['\"][\[{].+: an argument must be"):
            _model(name).fit(frame({"x": X[:, 0], "t": lists}), y)


@pytest.mark.parametrize("name", ROWS)
def test_a_table_of_arrow_is_that_of_pandas(name, rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
    table = pa.Table.from_pandas(frame)
    expected = _model(name).fit(frame, y).predict(frame)
    # in another order of memory sums round otherwise
    assert_allclose(_model(name).fit(table, y).predict(table), expected, rtol=1e-9)


@pytest.mark.parametrize("name", ROWS)
def test_text_among_numbers_is_refused_with_its_column(name, rows):
    X, y = rows
    table = pd.DataFrame({"x": X[:, 0], "size": X[:, 1].astype(str), "city": ["Oslo", "Bergen"] * (N // 2)})
    with pytest.raises(hc.DataError, match=r"The column 'city' of X has text, such as 'Oslo': encode it as numbers"):
        _model(name).fit(table, y)
    with pytest.raises(hc.DataError, match=r"Column 3 of X has text, such as 'Oslo'"):
        _model(name).fit(table.to_numpy(), y)
    gap = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])]).assign(gap=[pd.NA, *map(float, range(1, N))])
    with pytest.raises(hc.DataError, match=r"The column 'gap' of X has NA among objects: give X.convert_dtypes\(\)\."):
        _model(name).fit(gap, y)
    if name in NUMBERS:
        for labels in (["a", "b"] * (N // 2), np.array(["a", "b"] * (N // 2), object)):
            with pytest.raises(hc.DataError, match="no numbers"):
                _model(name).fit(X, labels)
            if METHODS[name].split(".")[1] == "heteroscedastic":
                with pytest.raises(hc.DataError, match="no numbers"):
                    _model(name).fit(X, y, eval_set=(X, labels))


@pytest.mark.parametrize("name", ROWS)
def test_two_columns_of_one_name_are_refused(name, rows):
    table = pd.DataFrame(np.arange(3 * N).reshape(N, 3) % 6, columns=["a", "b", "a"])
    with pytest.raises(hc.DataError, match=r"^X has two columns 'a': give each a name of its own\.$"):
        _model(name).fit(table, rows[1])


@pytest.mark.parametrize("name", [name for name in ROWS if METHODS[name].split(".")[1] == "transfer"])
def test_rows_of_a_transfer_whose_label_is_any_kind_of_missing_are_passed_over(name, rows):
    X, y = rows
    labels = y.astype(object)
    labels[-4:] = [None, pd.NA, pd.NaT, float("nan")]
    found = _model(name).fit(X, labels).predict(X)
    assert np.array_equal(found, _model(name).fit(X[:-4], y[:-4]).predict(X))


@pytest.mark.parametrize("name", [*ROWS, *FACTORIZATIONS])
def test_an_eval_set_that_is_no_pair_is_refused_in_a_sentence(name, rows):
    X, y = rows
    if name in FACTORIZATIONS:
        X = np.column_stack([np.arange(N) // 6, np.arange(N) % 6, np.zeros(N, int)])[:, : find(name)._n_modes]
    for given, what in (
        ([(X, y)], "list of 1"),
        ((X, y, y), "tuple of 3"),
        ([(X, y), (X, y)], "list of 2"),
        (X, "ndarray"),
    ):
        with pytest.raises(hc.DataError, match=rf"eval_set is a {what}: give \(X, y\), rows and their labels"):
            _model(name).fit(X, y, eval_set=given)


@pytest.mark.parametrize("name", [*ROWS, *FACTORIZATIONS])
def test_an_index_in_another_order_is_refused_and_the_same_or_none_is_taken(name, rows):
    X, y = rows
    if name in FACTORIZATIONS:
        X = np.column_stack([np.arange(N) // 6, np.arange(N) % 6, np.zeros(N, int)])[:, : find(name)._n_modes]
    names = [f"r{k}" for k in range(N)]
    X = pd.DataFrame(X, index=names, columns=[f"c{k}" for k in range(X.shape[1])])
    good = pd.Series(y, index=names)
    other = good.sort_values()
    words = r"has the index of X in another order, and rows are taken by place: give \.loc\[X\.index\] of it"
    with pytest.raises(hc.DataError, match=f"y {words}"):
        _model(name).fit(X, other)
    with pytest.raises(hc.DataError, match=f"y of eval_set {words}"):
        _model(name).fit(X, good, eval_set=(X, other))
    taken = [_model(name).fit(X, each).predict(X) for each in (good, good.to_numpy(), good.reset_index(drop=True))]
    assert np.array_equal(taken[0], taken[1]) and np.array_equal(taken[0], taken[2])
    model = _model(name).fit(X, good)
    with pytest.raises(hc.DataError, match=f"y {words}"):
        model.score(X, other)
    assert model.score(X, good) == model.score(X, good.to_numpy())
    if name in FACTORIZATIONS:
        return
    more = "sample_domain" if hasattr(find(name), "domain_names") else "sample_weight"
    values = pd.Series(-1 if more == "sample_domain" else 1.0, index=other.index)
    with pytest.raises(hc.DataError, match=f"{more} {words}"):
        _model(name).fit(X, good, **{more: values})


@pytest.mark.parametrize("name", ROWS)
def test_an_eval_set_has_a_label_a_row(name, rows):
    X, y = rows
    with pytest.raises(hc.DataError, match=r"eval_set has 24 rows and labels of shape \(23,\): give one label a row"):
        _model(name).fit(X, y, eval_set=(X, y[:-1]))


@pytest.mark.parametrize("name", FACTORIZATIONS)
def test_odd_codes_and_values_of_entries_are_refused(name):
    modes = find(name)._n_modes
    X, y = np.random.default_rng(0).integers(0, 5, size=(N, modes)), np.arange(float(N))
    for missing in (None, pd.NA, pd.NaT, float("nan")):
        codes = X.astype(object)
        codes[3, 0] = missing
        with pytest.raises(hc.DataError, match="X has missing codes: leave such entries out"):
            _model(name).fit(codes, y)
    with pytest.raises(hc.DataError, match=r"y has the shape \(12, 2\) for the 24 entries of X: give one"):
        _model(name).fit(X, y.reshape(12, 2))
    fitted = _model(name).fit(X, y)
    assert np.array_equal(fitted.predict(X), _model(name).fit(X, y[:, None]).predict(X))
    # codes written otherwise are nobody's; one new user beside known items is one
    with pytest.warns(UnfamiliarValuesWarning, match="X: hardly a code of column 1 was there in training, such as 100"):
        assert np.isfinite(fitted.predict(X + [100, *[0] * (modes - 1)])).all()
    fitted.predict(np.column_stack([np.full(N, 77), X[:, 1:]]))


@pytest.mark.parametrize("name", [name for name, module in METHODS.items() if name not in (*ROWS, *FACTORIZATIONS)])
def test_a_method_of_data_that_is_not_fitted_says_so(name):
    data = hc.HetData({"s": pd.DataFrame({"id": ["a"], "x": [1.0]})})
    with pytest.raises(NotFittedError):
        find(name)().predict(data)


@pytest.mark.filterwarnings("ignore::hetcore.errors.PrecisionWarning")  # of columns of 1e-300
@pytest.mark.parametrize("name", [name for name in ROWS if name in NUMBERS])
def test_one_row_and_one_value_are_finite(name, rows):
    X, _ = rows
    for given, labels in ((X[:1], [2.0]), (X, np.full(N, 3.0)), (X, np.full(N, -1e300)), (X * 1e-300, X[:, 0])):
        assert np.isfinite(_model(name).fit(given, labels).predict(given)).all()


@pytest.mark.parametrize("label", [bool, int])
@pytest.mark.parametrize("kind", [hc.TransferClassifier, hc.TargetSVM, hc.HGBMClassifier])
def test_objects_that_are_whole_numbers_or_truth_values_are_classes(kind, label):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(label)
    model = kind().fit(X, y.astype(object))
    assert model.classes_.dtype == y.dtype and model.predict(X).dtype == y.dtype
