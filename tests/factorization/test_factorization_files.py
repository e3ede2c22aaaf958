"""Factorizations saved and loaded: to the last bit, and nothing taken on trust."""

import copy

import numpy as np
import pytest

import hetcore as hc
from hetcore import model_files
from hetcore.errors import ModelFileError
from tests.factorization.test_factorization import MATRIX, QUICK, TENSOR, ratings


@pytest.fixture(scope="module")
def fitted():
    X, y, *_ = ratings()
    return hc.HMF(**QUICK, n_deviation_factors=2).fit(X.astype(str), y)


def loaded(model, change):
    state, arrays = copy.deepcopy(model._get_state())
    change(state, arrays)
    return type(model)(**model.get_params())._set_state(state, arrays)


@pytest.mark.parametrize("cls", MATRIX + TENSOR)
@pytest.mark.parametrize("text", [False, True])
def test_a_loaded_model_is_the_saved_one_to_the_last_bit(cls, text, tmp_path):
    X, y, *_ = ratings(modes=2 if cls in MATRIX else 3)
    X = np.char.add("é ", X.astype(str)) if text else X
    model = cls(**QUICK).fit(X, y)
    hc.save(model, tmp_path / "model")
    again = hc.load(tmp_path / "model")
    new = np.concatenate([X, np.full_like(X[:1], "new" if text else 10**9)])
    np.testing.assert_array_equal(model.predict(new, return_std=True), again.predict(new, return_std=True))
    assert again.get_params() == model.get_params() and again.n_iterations_ == model.n_iterations_
    assert again.deviation_by(1) == model.deviation_by(1)


def test_what_was_chosen_is_kept_and_a_file_of_before_has_it_among_its_parameters(fitted, tmp_path):
    X, y, *_ = ratings()
    model = hc.HMF(random_state=0).fit(X, y)
    again = hc.load(hc.save(model, tmp_path / "model") or tmp_path / "model")
    for name in ("n_factors_", "learning_rate_", "regularisation_"):
        assert getattr(again, name) == getattr(model, name)
    assert again.n_factors == "auto" and again.factors_[0].shape == model.factors_[0].shape
    chosen = ("n_factors", "learning_rate", "regularisation")
    state, arrays = copy.deepcopy(fitted._get_state())
    before = hc.HMF(**fitted.get_params())
    before._set_state({name: value for name, value in state.items() if name not in chosen}, arrays)
    assert before.n_factors_ == QUICK["n_factors"] and before.factors_[0].shape == fitted.factors_[0].shape


def put(name, index, value):
    def change(state, arrays):
        arrays[name][index] = value

    return change


def reshape(name, cut):
    def change(state, arrays):
        arrays[name] = arrays[name][cut]

    return change


def state_of(*path, value):
    def change(state, arrays):
        for key in path[:-1]:
            state = state[key]
        state[path[-1]] = value

    return change


CHANGES = {
    "infinite factor": (put("factors", (0, 0), np.inf), "values in 'factors' that are not finite"),
    "negative deviation": (put("deviations", (3, 1), -0.1), "values in 'deviations' outside 0 to inf"),
    "short biases": (reshape("biases", slice(1, None)), "lacks 'biases'"),
    "narrow factors": (reshape("factors", (slice(None), slice(0, 4))), "fewer than its parameters say"),
    "wrong type": (lambda state, arrays: arrays.update(biases=arrays["biases"].astype(float)), "'biases'"),
    "mean deviations": (put("mean_deviations", 0, np.nan), "'mean_deviations'"),
    "codes out of order": (lambda state, arrays: state["codes"][0].reverse(), "not in order"),
    "codes of two kinds": (state_of("codes", 0, 0, value=7), "no codes"),
    "three modes": (lambda state, arrays: state["codes"].append(["a"]), "no 2 modes"),
    "no scale": (state_of("numbers", "scale", value=0.0), "scale=0.0 of the model file must be"),
    "variance": (state_of("numbers", "base_variance", value=-1.0), "base_variance=-1.0 of the model file must be"),
    "range": (state_of("range", 0, value=1e9), "no range of values"),
    "epochs": (state_of("n_iterations", value=0), "n_iterations=0 of the model file must be"),
}


@pytest.mark.parametrize("change, words", CHANGES.values(), ids=CHANGES.keys())
def test_states_edited_by_hand_are_refused(fitted, change, words):
    loaded(fitted, lambda state, arrays: None)
    with pytest.raises(ModelFileError, match=words):
        loaded(fitted, change)


def test_every_class_can_be_saved():
    assert {cls.__name__ for cls in MATRIX + TENSOR} <= set(model_files.CLASSES)
