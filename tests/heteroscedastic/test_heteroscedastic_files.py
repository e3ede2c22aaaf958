"""Files of heteroscedastic models: the same to the last bit, and edited ones refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import hetcore as hc
from hetcore.model_files import dumps

X = np.random.default_rng(0).normal(size=(120, 4))
Y = X[:, 0] + np.exp(0.5 * X[:, 1]) * np.random.default_rng(1).normal(size=120)
FEW = {"n_iterations": 10}
MODELS = {
    "hlr": lambda: hc.HLR().fit(X, Y),
    "linear": lambda: hc.HeteroscedasticLinearRegression().fit(X, Y),
    "regressor": lambda: hc.HGBMRegressor(**FEW).fit(X, Y),
    "constant": lambda: hc.HGBMRegressor(**FEW, deviation="constant").fit(X, Y),
    "printed": lambda: hc.HGBMRegressor(**FEW, as_printed=True).fit(X, Y),
    "classifier": lambda: hc.HGBMClassifier(**FEW).fit(X, np.where(Y > 0, "yes", "no")),
    "numbered classes": lambda: hc.HGBMClassifier(**FEW).fit(X, (Y > 0).astype(int)),
    "three classes": lambda: hc.HGBMClassifier(**FEW).fit(X, np.digitize(Y, [-1, 1])),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_file_predicts_to_the_last_bit(name):
    model = MODELS[name]()
    again = hc.load(dumps(model))
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(again.instance_weights_, model.instance_weights_)
    if hasattr(model, "predict_proba"):
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.classes_.dtype == model.classes_.dtype
    elif name != "hlr":  # whose deviations are given, not predicted
        assert_array_equal(again.predict(X, True), model.predict(X, True))
        assert_array_equal(again.predict_interval(X), model.predict_interval(X))
    assert dumps(again) == dumps(model)


def edited(name, change):
    """Return a new model of the class of `name` whose state was changed by hand, as a file could."""
    model = MODELS[name]()
    meta, arrays = model._get_state()
    arrays = {key: array.copy() for key, array in arrays.items()}
    change(meta, arrays)
    other = type(model)(**model.get_params())
    other._set_state(meta, arrays)


EDITS = {
    "a negative variance": ("regressor", lambda m, a: m["model"].update(scale=-1.0)),
    "a spread that is no number": ("regressor", lambda m, a: m["model"].update(unit=[0.0, float("nan")])),
    "scores that fall": ("regressor", lambda m, a: a.update(scores=a["scores"][::-1].copy())),
    "a first score too many": ("regressor", lambda m, a: a.update(first=np.zeros(2))),
    "rounds that were not done": ("regressor", lambda m, a: m.update(best_iteration=11)),
    "no rounds": ("regressor", lambda m, a: m.update(n_iterations="many")),
    "negative weights": ("regressor", lambda m, a: a.update(instance_weights=-a["instance_weights"])),
    "leaves that are no number": ("regressor", lambda m, a: a["labels:values"].fill(np.nan)),
    "a child before its parent": ("regressor", lambda m, a: a["deviations:nodes"]["left"].fill(0)),
    "one class": ("classifier", lambda m, a: m.update(classes=["yes"])),
    "classes twice": ("classifier", lambda m, a: m.update(classes=["yes", "yes"])),
    "classes of two kinds": ("classifier", lambda m, a: m.update(classes=["yes", 1])),
    "more classes than scores": ("classifier", lambda m, a: m.update(classes=["a", "b", "c"])),
    "no line": ("hlr", lambda m, a: m.update(intercept=float("nan"))),
    "a line of another length": ("linear", lambda m, a: a.update(coef=np.zeros(3))),
    "a line that is no number": ("linear", lambda m, a: a.update(deviation_coef=np.full(4, np.inf))),
    "an intercept that is no number": ("linear", lambda m, a: m.update(intercept=float("inf"))),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_state_is_refused(name):
    kind, change = EDITS[name]
    edited(kind, lambda meta, arrays: None)
    with pytest.raises(hc.ModelFileError):
        edited(kind, change)


@pytest.mark.parametrize("dtype", [object, "<U9", np.uint8, bool])
def test_a_loaded_model_predicts_labels_of_the_dtype_of_the_fit(dtype, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(dtype) if dtype in (np.uint8, bool) else np.where(X[:, 0] > 0, "yes", "no").astype(dtype)
    model = hc.HGBMClassifier(n_iterations=2).fit(X, y)
    hc.save(model, tmp_path / "m.hetcore")
    loaded = hc.load(tmp_path / "m.hetcore")
    assert loaded.classes_.dtype == model.classes_.dtype == loaded.predict(X).dtype == y.dtype
