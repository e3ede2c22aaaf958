"""A table to predict from that lacks columns of the training is predicted from with a warning, or refused."""

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.errors import MissingColumnsWarning

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
