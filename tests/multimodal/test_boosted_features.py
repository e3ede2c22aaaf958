"""BFV+DNN: its columns are staged differences; the network with and without them; the baseline; what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import hetcore as hc
from hetcore.errors import DataError, ParameterError
from hetcore.multimodal import deep
from hetcore.multimodal.boosted_vectors import BoostedFeatures
from hetcore.multimodal.oblivious_trees import ObliviousTrees
from tests.multimodal.two_modalities import halves

NETWORKS = [
    "scikit-learn",
    pytest.param("torch", marks=pytest.mark.skipif(not deep.has_torch(), reason=f"needs PyTorch: {deep.HOW}")),
]
FAST = {"n_iterations": 3, "n_stages": 5, "hidden": (8, 4)}


@pytest.fixture
def catboost(monkeypatch):
    """The models of CatBoost whose trees were taken."""
    taken, of = [], ObliviousTrees.of
    monkeypatch.setattr(ObliviousTrees, "of", lambda model: taken.append(model) or of(model))
    return taken


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("K", [2, 4])
def test_the_columns_are_the_staged_differences(K, missing, catboost):
    data, _, truth = halves()
    frame = data.sources["table"].frame
    holes = np.random.default_rng(0).random(frame.height) < missing
    source = hc.Source(data.ids, frame.with_columns(pl.when(~pl.Series(holes)).then(pl.col(frame.columns[0]))))
    y = truth.table if K == 2 else 2 * truth.table + truth.image
    made = BoostedFeatures.fit(source, np.arange(200), y[:200], n_stages=6, max_depth=3, seed=0)
    vectors, X = made.transform(source), made.encoder.transform(source)
    assert vectors.shape == (300, 6 * K)
    before = np.zeros((300, K))
    stages = made.stages(source)
    for m in range(6):
        after = catboost[0].predict(X, prediction_type="RawFormulaVal", ntree_end=m + 1)
        assert_array_equal(stages[m], after)
        assert_allclose(vectors[:, m * K : (m + 1) * K], after - before, atol=1e-6)
        before = after
    assert_allclose(vectors.reshape(300, 6, K).sum(axis=1), before, atol=1e-5)


@pytest.mark.parametrize("network", NETWORKS)
def test_boosted_features_let_the_network_see_what_a_table_hides(network):
    data, y, _ = halves(600)
    hidden = np.array([label is None for label in y])

    def wrong(features):
        model = hc.BoostedFeatureNetworkClassifier(features=features, network=network, n_iterations=10).fit(data, y)
        return float((model.predict(data) != data.y)[hidden].mean())

    boosted, none = wrong("boosted"), wrong("none")
    assert boosted < wrong("raw") + 0.02 and boosted < none - 0.1


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("features", ["boosted", "raw", "none"])
def test_an_event_tells_the_epoch(network, features):
    data, y, _ = halves()
    events = []
    model = hc.BoostedFeatureNetworkClassifier(features=features, network=network, **FAST)
    model.fit(data, y, eval_y=data.y, callbacks=[events.append])
    assert [event.index for event in events] == [0, 1, 2] and model.n_iterations_ == 3
    detail = events[-1].detail
    assert set(detail["metric"]) == set(detail["F1"]) == set(events[-1].losses) == {"train", "held_out"}
    assert set(detail["seconds"]) == {"trees", "network"}
    hidden = np.array([label is None for label in y])
    assert detail["metric"]["held_out"] == pytest.approx((model.predict(data) != data.y)[hidden].mean())
    assert model.table_ == (None if features == "none" else "table")
    assert_allclose(model.predict_proba(data).sum(axis=1), 1.0)


@pytest.mark.parametrize("network", NETWORKS)
def test_a_fit_repeats_bit_for_bit(network):
    data, y, _ = halves()
    model = hc.BoostedFeatureNetworkClassifier(network=network, **FAST)
    one, other = (clone(model).fit(data, y).predict_proba(data) for _ in range(2))
    assert_array_equal(one, other)


@pytest.mark.parametrize("network", NETWORKS)
def test_missing_records_and_absent_sources_take_no_part(network):
    data, y, _ = halves(missing=0.3)
    model = hc.BoostedFeatureNetworkClassifier(network=network, **FAST).fit(data, y)
    blank = model.predict_proba(data.select(sources=["table"]))
    lacks = ~data.mask[1]
    assert_allclose(blank[lacks], model.predict_proba(data)[lacks], atol=1e-6)
    assert np.abs(blank - model.predict_proba(data))[~lacks].max() > 1e-3


def test_two_classes_and_cells_that_are_missing():
    data, _, truth = halves()
    columns = data.sources["table"].frame.with_columns(
        pl.lit(None, pl.Float64).alias("empty"), pl.lit(1.0).alias("one")
    )
    y = np.where(truth.table == 1, "yes", "no")
    named = pl.DataFrame({"id": data.ids, "y": y})
    holed = hc.HetData({"table": hc.Source(data.ids, columns), "image": data.sources["image"]}, target=named)
    for features in ("boosted", "raw"):
        model = hc.BoostedFeatureNetworkClassifier(features=features, network="scikit-learn", **FAST).fit(holed)
        assert set(model.predict(holed)) <= {"yes", "no"} and model.predict_proba(holed).shape == (300, 2)


def test_what_it_refuses():
    data, y, _ = halves()
    only = data.select(sources=["image"])
    for params, of, words in [
        ({"fusion": "sum"}, data, "fusion='sum' must be one of 'concatenation', 'product'"),
        ({"fusion": "product", "network": "scikit-learn"}, data, "needs the branches of PyTorch: run `pip install"),
        ({"device": "cuda", "network": "scikit-learn"}, data, "device='cuda' needs the branches of PyTorch: run `pip"),
        ({"table": "image"}, data, "table='image' is no table"),
        ({"max_depth": 30}, data, "max_depth=30 must be a whole number in"),
        ({"n_stages": 0}, data, "n_stages=0 must be a whole number, at least 1"),
    ]:
        with pytest.raises(ParameterError, match=words):
            hc.BoostedFeatureNetworkClassifier(**(FAST | params)).fit(of, y)
    with pytest.raises(DataError, match="None of the sources is a table without text"):
        hc.BoostedFeatureNetworkClassifier(**FAST).fit(only, y)
    with pytest.raises(DataError, match="no source beside the table"):
        hc.BoostedFeatureNetworkClassifier(**FAST, features="none").fit(data.select(sources=["table"]), y)


@pytest.mark.parametrize("network", NETWORKS)
def test_a_model_is_pickled(network):
    data, y, _ = halves()
    model = hc.BoostedFeatureNetworkClassifier(network=network, **FAST).fit(data, y)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(data), model.predict_proba(data))


def test_without_pytorch_a_sentence_says_how_to_install_it(monkeypatch):
    data, y, _ = halves()
    monkeypatch.setattr(deep, "has_torch", lambda: False)
    for model in (
        hc.BoostedFeatureNetworkClassifier(network="torch", **FAST),
        hc.TwoWeakLearnerClassifier(n_iterations=1, learners={"image": "cnn"}),
    ):
        with pytest.raises(ParameterError, match="needs PyTorch, which is not installed: run `pip install -r requir"):
            model.fit(data, y)
    auto = hc.BoostedFeatureNetworkClassifier(**FAST).fit(data, y)
    assert auto.network_.kind == "scikit-learn"
