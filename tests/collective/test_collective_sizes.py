"""What is not done where it need not be: GB sweeps nothing; trees of many classes see fewer bins and columns."""

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from datasets.planted.autocorrelated import make_autocorrelated_graph
from hetcore.collective import inference
from hetcore.collective.estimator import sizes
from hetcore.collective.stages import Grower
from hetcore.data.splits import label_split
from tests.collective.test_collective import small


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("linked", [False, True])
def test_gb_sweeps_nothing(printed, linked, monkeypatch):
    data = make_autocorrelated_graph(120, residual_correlation=0.6, seed=0)[0]
    swept = []
    counted = lambda *given: swept.append(1) or inference_sweep(*given)  # noqa: E731
    inference_sweep = inference.sweep
    monkeypatch.setattr(inference, "sweep", counted)
    given = data if linked else hc.HetData(data.sources, None, pl.DataFrame({"id": data.ids, "y": data.y}))
    y = label_split(given, 0.5, seed=0)
    small(hc.GBRegressor, as_printed=printed).fit(given, y, eval_y=given.y).predict(given)
    assert not swept
    small(hc.RGBRegressor, as_printed=printed).fit(data, y).predict(data)
    assert swept


def planted_classes(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 60))
    y = np.argmax(X[:, :n_classes] + 0.3 * rng.normal(size=(120, n_classes)), axis=1).astype(str)
    ids = [f"n{i:03d}" for i in range(120)]
    table = pl.DataFrame(X, schema=[f"x{k}" for k in range(60)]).insert_column(0, pl.Series("id", ids))
    edges = pl.DataFrame({"source": ids[:-1], "target": ids[1:]})
    return hc.HetData({"t": table}, {"g": edges}, pl.DataFrame({"id": ids, "y": y}))


@pytest.mark.parametrize(("n_classes", "bins", "most"), [(5, 120, None), (6, 32, 40)])
def test_trees_of_many_classes_see_fewer_bins_and_columns(n_classes, bins, most, monkeypatch):
    data, seen = planted_classes(n_classes), []
    drawn = Grower.drawn
    monkeypatch.setattr(Grower, "drawn", lambda self, *given: seen.append(self) or drawn(self, *given))
    model = small(hc.MGBClassifier, column_sample=1.0).fit(data)
    assert model.model_.columns.mapper.n_bins.max() == bins
    assert {grower.most_columns for grower in seen} == {most}
    for d, fewer in ((500, 45), (60, 40)):
        columns, _, _ = drawn(seen[0], np.arange(d, dtype=np.int32), np.arange(9, dtype=np.int32), 2)
        assert columns.shape == (2, d if most is None else fewer)
    assert model.get_params()["learning_rate"] is None
    assert {grower.learning_rate for grower in seen} == {sizes(n_classes)["learning_rate"]}


def test_what_is_asked_for_counts_also_with_many_classes():
    data = planted_classes(6)
    asked = small(hc.MGBClassifier, learning_rate=0.05, first_trees=7).fit(data)
    usual = small(hc.MGBClassifier, first_trees=7).fit(data)
    assert (asked.predict_proba(data) != usual.predict_proba(data)).any()


def test_a_shown_label_of_a_class_that_the_model_does_not_know_is_refused():
    """Passed over, neighbours would have been asked another question than the one that was put."""
    ids = [str(k) for k in range(40)]
    table = pl.DataFrame({"id": ids, "x": np.arange(40.0)})
    edges = pl.DataFrame({"source": ids[:-1], "target": ids[1:]})
    labels = np.array(["a", "b"] * 20, object)
    data = hc.HetData({"t": table}, {"g": edges}, pl.DataFrame({"id": ids, "y": labels.astype(str)}))
    model = hc.MGBClassifier(n_iterations=1, first_trees=2).fit(data)
    labels[3] = "c"
    for ask in (model.predict, model.predict_proba, model.staged_predict):
        with pytest.raises(hc.DataError, match="y has 1 label of a class .* such as 'c': hide them"):
            ask(data, labels)
    labels[3] = None
    assert model.predict(data, labels).shape == (40,)


def test_trees_of_many_labels_are_deeper_and_see_all_columns(monkeypatch):
    monkeypatch.setattr("hetcore.collective.estimator.MANY_LABELS", 100)
    seen, drawn = [], Grower.drawn
    monkeypatch.setattr(Grower, "drawn", lambda self, *given: seen.append(self) or drawn(self, *given))
    data = planted_classes(2)
    small(hc.MGBClassifier).fit(data)
    assert {(each.limits.max_depth, each.learning_rate, each.column_sample) for each in seen} == {(7, 0.1, 1.0)}
    seen.clear()
    small(hc.MGBClassifier).fit(data, np.where(np.arange(120) < 99, data.y, None))
    assert {(each.limits.max_depth, each.learning_rate, each.column_sample) for each in seen} == {(4, 0.05, 0.5)}
