"""Labels to score by that can't be scored are warned of; labels of another length or order are refused."""

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.errors import DataError, UnscoredLabelsWarning

IDS = [f"i{k}" for k in range(30)]
METHODS = {
    "GBC": lambda: hc.GBCClassifier(n_iterations=1, base_learner="kernel"),
    "MGB": lambda: hc.MGBClassifier(n_iterations=1),
    "two learners": lambda: hc.TwoWeakLearnerClassifier(n_iterations=1),
}


@pytest.fixture(scope="module")
def data():
    x = np.random.default_rng(0).normal(size=30)
    links = pl.DataFrame({"source": IDS[:-1], "target": IDS[1:]})
    target = IDS[:20], ["low" if value < 0 else "high" for value in x[:20]]
    return hc.HetData({"s": pl.DataFrame({"id": IDS, "x": x})}, {"g": links}, target)


@pytest.mark.parametrize("method", METHODS)
def test_a_class_without_a_training_label_is_named(method, data):
    truth = np.array([None] * 20 + ["low"] * 7 + ["new"] * 3, dtype=object)
    with pytest.warns(UnscoredLabelsWarning, match=r"^3 labels of eval_y not scored, .* is 'new': train on .*\.$"):
        model = METHODS[method]().fit(data, eval_y=truth)
    # those of known classes are
    assert np.isfinite(model.history_["metric:held_out"][-1])


def test_labels_of_which_none_can_be_scored_are_warned_of(data):
    with pytest.warns(UnscoredLabelsWarning, match="All labels of eval_y are of instances that are trained on"):
        model = METHODS["GBC"]().fit(data, eval_y=data.y)
    assert "metric:held_out" not in model.history_
    with pytest.warns(UnscoredLabelsWarning, match="10 labels of eval_y not scored"):
        METHODS["GBC"]().fit(data, eval_y=np.array([None] * 20 + ["new"] * 10, dtype=object))
    # nothing is said where nothing is asked
    METHODS["GBC"]().fit(data, eval_y=np.array([None] * 30, dtype=object))


def test_labels_written_otherwise_than_in_training_are_warned_of(data):
    truth = np.arange(30) % 2
    model = METHODS["GBC"]().fit(data, truth)
    with pytest.warns(UnscoredLabelsWarning, match="^No label of y is .*: 'false' is none of '0', '1', so that all"):
        assert model.score(data, truth > 0) == 0.0
    X, y = np.random.default_rng(0).normal(size=(30, 2)), (truth > 0).astype(str)
    transfer = hc.TransferClassifier()
    with pytest.warns(UnscoredLabelsWarning, match="^No label of eval_set is .*: False is none of 'False', 'True'"):
        transfer.fit(X, y, eval_set=(X, truth > 0))
    with pytest.raises(DataError, match="^All 30 labels of eval_set are missing: give some, or leave it out"):
        transfer.fit(X, y, eval_set=(X, [None] * 30))


def test_the_labels_that_are_refused_are_named(data):
    with pytest.raises(DataError, match="^eval_y has 3 labels for 30 instances"):
        METHODS["GBC"]().fit(data, eval_y=["low"] * 3)
    with pytest.raises(DataError, match="^y has 3 labels for 30 instances"):
        METHODS["GBC"]().fit(data, y=["low"] * 3)


def test_labels_of_pandas_in_another_order_than_the_ids_are_refused(data):
    pd = pytest.importorskip("pandas")
    labels = pd.Series(["low", "high"] * 15, index=IDS)
    with pytest.raises(DataError, match=r"the ids in another order than data.ids: give y.loc\[data.ids\]\."):
        METHODS["GBC"]().fit(data, labels[::-1])
    assert data.with_target(labels).y.tolist() == labels.tolist()
    # an index of something else, and one of places, say nothing of the order
    assert data.with_target(labels.set_axis(range(30))).y.tolist() == labels.tolist()
    ordered = hc.HetData({"s": pl.DataFrame({"id": ["1", "0"], "x": [1.0, 2.0]})})
    assert ordered.with_target(pd.Series([3.0, 4.0])).y.tolist() == [3.0, 4.0]
