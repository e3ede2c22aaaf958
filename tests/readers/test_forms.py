"""Data as the arrays that an estimator takes: in a worker, and as code that does the same."""

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore import metrics
from hetcore.data import plain
from hetcore.errors import ParameterError
from hetcore.player import Player
from studio import forms, scenarios
from studio.jobs import worker_tasks
from studio.jobs.job import TrainingTask


class FirstColumn:
    """Predicts the first column, and keeps what it was fitted on."""

    def fit(self, X, y, sample_domain=None, *, callbacks=(), eval_set=None):
        self.fitted = {"X": X, "y": y, "sample_domain": sample_domain, "eval_set": eval_set}
        FirstColumn.last = self
        return self

    def predict(self, X, return_std=False):
        column = np.nan_to_num(np.asarray(X[:, 0], float))
        return (column, np.full(len(X), 0.5)) if return_std else column


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    tables = {
        name: pl.DataFrame(
            {"id": [f"{name}{k}" for k in range(20)], "a": rng.normal(size=20), "b": rng.normal(size=20)}
        )
        for name in ("near", "far")
    }
    ids = pl.concat([table["id"] for table in tables.values()])
    target = pl.DataFrame({"id": ids, "y": rng.normal(size=40)})
    return hc.HetData(tables, target=target, id_column="id")


HIDDEN = [{"op": "labels", "fraction": 0.5, "seed": 0}]


@pytest.mark.parametrize("form", [{"form": "table"}, {"form": "domains", "target": "far"}])
def test_known_labels_are_trained_on_and_hidden_ones_score(data, form, monkeypatch):
    monkeypatch.setitem(worker_tasks.ESTIMATORS, "FirstColumn", FirstColumn)
    result = worker_tasks.perform(
        TrainingTask("FirstColumn", {}, data, operations=HIDDEN, form=form), Player([].append)
    )
    fitted = FirstColumn.last.fitted
    assert len(fitted["y"]) == 20 and len(fitted["eval_set"][1]) == 20
    assert not np.isnan(fitted["y"]).any()
    frame = result.predictions
    assert frame["held_out"].count() == 20 and frame["label"].count() == 20
    truth = dict(zip(data.ids, data.y))
    labelled = frame.with_columns(pl.coalesce("label", "held_out").alias("y"))
    assert all(truth[one] == y for one, y in zip(labelled["id"], labelled["y"]))
    assert frame["std"].to_list() == [0.5] * 40
    assert result.scores["metric"] == "RMSE" and result.scores["held_out"] > 0


def test_domains_tell_where_a_row_is_from(data):
    arrays = forms.arrays(scenarios.Scenario(data), {"form": "domains", "target": "near"})
    assert list(arrays.fit["sample_domain"]) == [1] * 20 + [-1] * 20
    assert arrays.eval_set is None
    assert list(arrays.ids[-20:]) == [f"near{k}" for k in range(20)]


def test_codes_are_records(data):
    table = pl.DataFrame({"id": ["r1", "r2", "r3"], "user": ["u", "v", "u"], "item": ["i", "i", "j"]})
    ratings = hc.HetData({"t": table}, target=pl.DataFrame({"id": ["r1", "r3"], "y": [1.0, 2.0]}), id_column="id")
    arrays = forms.arrays(scenarios.Scenario(ratings), {"form": "codes", "columns": ["user", "item"]})
    assert arrays.fit["X"].tolist() == [["u", "i"], ["u", "j"]]
    assert arrays.fit["y"].tolist() == [1.0, 2.0]
    assert len(arrays.X) == 3


def test_records_without_one_of_their_codes_are_left_out_by_the_script_too():
    table = pl.DataFrame({"id": ["r1", "r2", "r3"], "user": ["u", None, "v"], "item": ["i", "i", "j"]})
    ratings = hc.HetData({"t": table}, target=pl.DataFrame({"id": table["id"], "y": [1.0, 2.0, 3.0]}), id_column="id")
    form = {"form": "codes", "columns": ["user", "item"]}
    arrays = forms.arrays(scenarios.Scenario(ratings), form)
    assert (arrays.ids.tolist(), arrays.fit["y"].tolist()) == (["r1", "r3"], [1.0, 3.0])
    names = {"plain": plain, "metrics": metrics, "data": ratings}
    exec(forms.as_code(form, with_labels=False), names)  # noqa: S102 - what an exported script does
    assert np.array_equal(names["X"], arrays.X) and np.array_equal(names["ids"], arrays.ids)


def test_classes_are_text_and_unlabelled_rows_are_left_out():
    table = pl.DataFrame({"id": ["1", "2", "3"], "x": [1.0, 2.0, 4.0]})
    data = hc.HetData({"t": table}, target=pl.DataFrame({"id": ["1", "3"], "y": ["no", "yes"]}), id_column="id")
    arrays = forms.arrays(scenarios.Scenario(data), {"form": "table"})
    assert arrays.fit["y"].tolist() == ["no", "yes"]
    assert list(arrays.y) == ["no", None, "yes"]


def test_an_unknown_form_is_refused(data):
    with pytest.raises(ParameterError, match="'sphere' is not known: give 'table'"):
        forms.arrays(scenarios.Scenario(data), {"form": "sphere"})


@pytest.mark.parametrize("form", [{"form": "table"}, {"form": "domains", "target": "far"}])
def test_the_code_of_a_form_makes_the_same_arrays(data, form):
    scenario = scenarios.apply(data, HIDDEN)
    names = {"plain": plain, "metrics": metrics, "data": scenario.data, "y": scenario.y, "eval_y": scenario.eval_y}
    fitted = f"found = dict(zip(('X', 'y'), ({forms.fit_code(form).split(', sample_domain')[0]})))"
    code = compile(f"{forms.as_code(form, with_labels=True)}\n{fitted}", "form", "exec")
    exec(code, names)  # noqa: S102 - what an exported script does
    expected = forms.arrays(scenario, form)
    assert np.array_equal(names["X"], expected.X, equal_nan=True)
    assert np.array_equal(names["found"]["X"], expected.fit["X"], equal_nan=True)
    assert np.array_equal(names["found"]["y"], expected.fit["y"])
    assert np.array_equal(names["held_out"], expected.held_out, equal_nan=True)
    if "sample_domain" in expected.fit:
        assert np.array_equal(names["sample_domain"][names["train"]], expected.fit["sample_domain"])
