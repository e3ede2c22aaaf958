"""Model files of the two learners and of BFV+DNN: the same predictions to the last bit, edited states refused."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LinearRegression

import hetcore as hc
from hetcore.errors import ModelFileError, ParameterError
from hetcore.model_files import dumps, load
from hetcore.multimodal import deep
from tests.multimodal.two_modalities import FAST, halves

BFV = {"n_iterations": 2, "n_stages": 4, "hidden": (6,)}
LEARNERS = {"table": "tree", "image": "network"}
torch = pytest.mark.skipif(not deep.has_torch(), reason=f"needs PyTorch: {deep.HOW}")
MODELS = [
    hc.TwoWeakLearnerClassifier(**FAST),
    hc.TwoWeakLearnerClassifier(**FAST | {"validation_fraction": 0.2}, learners={"image": "linear"}),
    hc.TwoWeakLearnerClassifier(**FAST, learners={"table": "random_features", "image": "random_features"}),
    hc.TwoWeakLearnerClassifier(**FAST, order=2, hessian="exact"),
    hc.OneWeakLearnerClassifier("image", **FAST),
    hc.BoostedFeatureNetworkClassifier(**BFV, network="scikit-learn"),
    hc.BoostedFeatureNetworkClassifier(**BFV, network="scikit-learn", features="raw"),
    pytest.param(hc.BoostedFeatureNetworkClassifier(**BFV, network="torch", fusion="product"), marks=torch),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_loaded_model_predicts_the_same_to_the_last_bit(model):
    data, y, _ = halves(missing=0.2)
    content = dumps(model.fit(data, y))
    loaded = load(content)
    assert_array_equal(loaded.predict_proba(data), model.predict_proba(data))
    assert_array_equal(loaded.predict(data), model.predict(data))
    assert dumps(loaded) == content


def test_a_learner_of_someone_else_is_not_saved():
    data, y, _ = halves()
    model = hc.TwoWeakLearnerClassifier(**FAST, learners={"image": LinearRegression()}).fit(data, y)
    with pytest.raises(ParameterError, match="can't be saved"):
        dumps(model)


def first(arrays, ending):
    return next(key for key in arrays if key.endswith(ending))


EDITS = {
    "a network with another width": ("weights:0", lambda a: a[:, :-1]),
    "a weight that is not a number": ("weights:0", lambda a: np.where(a == a.max(), np.nan, a).astype(np.float32)),
    "fewer networks than steps": ("biases:0", lambda a: a[:-1]),
    "an infinite step": ("steps", lambda a: np.full_like(a, np.inf)),
    "a scale of another length": ("scale", lambda a: a[:-1]),
    "a leaf that is not finite": ("forest:values", lambda a: np.full_like(a, np.nan)),
    "a column that is not there": ("forest:nodes", lambda a: _beyond(a)),
    "bins of other columns": ("bins:n_bins", lambda a: a[:-1]),
    "a prior of another length": ("prior", lambda a: a[:-1]),
}


def _beyond(nodes):
    nodes = nodes.copy()
    nodes["feature"][nodes["left"] >= 0] = 99
    return nodes


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_array_is_refused(edit):
    data, y, _ = halves()
    model = hc.TwoWeakLearnerClassifier(**FAST, learners=LEARNERS).fit(data, y)
    meta, arrays = model._get_state()
    ending, change = EDITS[edit]
    key = first(arrays, ending)
    with pytest.raises(ModelFileError):
        hc.TwoWeakLearnerClassifier()._set_state(meta, arrays | {key: change(arrays[key])})


@pytest.mark.parametrize("change", [
    lambda meta: meta.update(classes=["one"]),
    lambda meta: meta.update(n_iterations=0),
    lambda meta: meta.update(weights={"table": 0.5}),
    lambda meta: meta["modalities"][0].update(kind="forest"),
    lambda meta: meta["modalities"][1].update(name="table"),
    lambda meta: meta["modalities"][1].update(shape=[10, 10, 1]),
])  # fmt: skip
def test_an_edited_fact_is_refused(change):
    data, y, _ = halves()
    meta, arrays = hc.TwoWeakLearnerClassifier(**FAST, learners=LEARNERS).fit(data, y)._get_state()
    meta = copy.deepcopy(meta)
    change(meta)
    with pytest.raises(ModelFileError):
        hc.TwoWeakLearnerClassifier()._set_state(meta, arrays)


def edit(arrays, ending, change):
    key = first(arrays, ending)
    arrays[key] = change(arrays[key])


@pytest.mark.parametrize("change", [
    lambda meta, arrays: meta.update(network="other"),
    lambda meta, arrays: arrays.update({first(arrays, "trees:features"): np.arange(50, dtype=np.uint8)}),
    lambda meta, arrays: edit(arrays, "trees:features", lambda a: a + 99),
    lambda meta, arrays: edit(arrays, "trees:features", lambda a: a - 99),
    lambda meta, arrays: edit(arrays, "trees:borders", lambda a: a * np.float32(np.nan)),
    lambda meta, arrays: edit(arrays, "trees:borders", lambda a: a[:-1]),
    lambda meta, arrays: edit(arrays, "trees:values", lambda a: np.full_like(a, np.inf)),
    lambda meta, arrays: edit(arrays, "trees:values", lambda a: a[:, :-1]),
    lambda meta, arrays: edit(arrays, "trees:values", lambda a: a[:, :, :1]),
    lambda meta, arrays: edit(arrays, "trees:values", lambda a: a.astype(np.float32)),
    lambda meta, arrays: arrays.pop(first(arrays, "trees:values")),
    lambda meta, arrays: arrays.update({first(arrays, "1:centre"): np.zeros(3, np.float32)}),
    lambda meta, arrays: meta["branches"][0].update(shape=[3]),
    lambda meta, arrays: meta.update(classes=["a", "a"]),
])  # fmt: skip
def test_an_edited_network_with_boosted_features_is_refused(change):
    data, y, _ = halves()
    model = hc.BoostedFeatureNetworkClassifier(**BFV, network="scikit-learn").fit(data, y)
    meta, arrays = model._get_state()
    meta = copy.deepcopy(meta)
    change(meta, arrays)
    with pytest.raises((ModelFileError, KeyError)):  # the loader makes the one of the other
        hc.BoostedFeatureNetworkClassifier(**BFV, network="scikit-learn")._set_state(meta, arrays)


@pytest.mark.parametrize("name", ["centre", "scale"])
def test_a_table_branch_without_its_centre_or_scale_is_refused(name):
    data, y = halves(seed=1, n=60)[:2]
    model = hc.BoostedFeatureNetworkClassifier(**BFV, network="scikit-learn").fit(data, y)
    (branch,) = [each for each in model.branches_ if each.inputs is None]
    setattr(branch, name, None)
    with pytest.raises(ModelFileError, match="lacks the scale of a branch's numbers"):
        load(dumps(model))
