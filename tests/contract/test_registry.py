"""A method is added in one file: the list of methods, model files, memory and contract tests find it there."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.base import RegressorMixin, is_classifier
from sklearn.utils.validation import check_is_fitted, validate_data

import hetcore as hc
from hetcore import registry
from hetcore.base import Estimator
from hetcore.model_files import dumps, load
from hetcore.parameters import Interval, Slider, Whole, param
from hetcore.registry import METHODS, MemoryNeed, estimator, find
from hetcore.schema import Array
from studio.jobs import memory
from tests import model_files
from tests.contract import random_cases
from tests.contract import test_model_files as contract
from tests.contract.random_cases import cases
from tests.contract.test_properties_methods import assert_lawful
from tests.house.test_house import documented


@pytest.fixture
def toy():
    """Yield the name of a method that this file alone adds."""
    METHODS[ShrunkenMean.__name__] = ShrunkenMean.__module__
    yield ShrunkenMean.__name__
    for known in (METHODS, random_cases.METHODS, *(family for _, family in random_cases.FAMILIES)):
        known.pop(ShrunkenMean.__name__, None)  # what draws problems has met it too: other tests list what is there


class ShrunkenMean(RegressorMixin, Estimator):
    """The mean label, approached in rounds."""

    _stored = {"n_iterations": Whole(1), "n_features_in": Whole(1), "mean": Array("")}

    n_iterations: int = param(10, Whole(1), "Rounds.", Slider("Rounds", 1, 50, 1))
    learning_rate: float = param(0.5, Interval(0, 1, "(]"), "Share of what is left that a round adds.")

    def fit(self, X, y, sample_weight=None, *, callbacks=(), eval_set=None):
        return self._fit(callbacks, X, y)

    def _problem(self, X, y):
        return validate_data(self, X, y, dtype=np.float64, y_numeric=True)[1]

    def _start(self, y):
        return Approach(y.astype(np.float64), self.learning_rate)

    def _view(self, state):
        return {"losses": {"train": float(np.mean(np.abs(state.y - state.mean)))}}

    def _finish(self, state):
        self.mean_ = np.array(state.mean)

    def predict(self, X):
        check_is_fitted(self)
        return np.full(len(validate_data(self, X, reset=False)), float(self.mean_))


@dataclass
class Approach:
    y: np.ndarray
    rate: float
    mean: float = 0.0

    def round(self):
        self.mean += self.rate * float(np.mean(self.y - self.mean))


def test_the_decorator_registers_a_method():
    try:
        assert estimator(MemoryNeed(cell=8))(ShrunkenMean) is ShrunkenMean
        assert METHODS["ShrunkenMean"] == __name__ and find("ShrunkenMean") is ShrunkenMean
        assert hc.ShrunkenMean is ShrunkenMean and "ShrunkenMean" in dir(hc)
    finally:
        METHODS.pop("ShrunkenMean", None)


def test_a_method_of_another_file_does_not_take_a_name_that_is_taken():
    fake = estimator(MemoryNeed(8))(type("GBCRegressor", (), {"__module__": "elsewhere"}))
    assert METHODS["GBCRegressor"] != "elsewhere" and find("GBCRegressor") is not fake


def test_model_files_memory_and_contract_tests_find_it(toy, tmp_path):
    estimator(MemoryNeed(cell=8))(ShrunkenMean)
    model = model_files.fitted(toy)
    hc.save(model, tmp_path / "toy.hetcore")
    assert (hc.load(tmp_path / "toy.hetcore").predict(model_files.X) == model.predict(model_files.X)).all()
    assert load(dumps(model)).get_params() == model.get_params()
    assert memory.need_of(toy) == MemoryNeed(cell=8)
    contract.test_a_loaded_model_answers_to_the_last_bit_and_is_written_the_same(toy)


def test_random_problems_are_drawn_for_it_from_its_declared_domains(toy):
    seen = set()

    @settings(max_examples=20)
    @given(cases(toy))
    def law(case):
        seen.add(case.model.learning_rate)
        assert_lawful(case)

    law()
    assert len(seen) > 1


def test_every_method_stands_where_its_room_says():
    for name, module in METHODS.items():
        cls = getattr(import_module(module), name)
        assert (cls.__module__, cls.__name__) == (module, name) and getattr(hc, name) is cls and name in hc.__all__
        assert isinstance(cls._memory, MemoryNeed) and is_classifier(cls()) == name.endswith(("Classifier", "SVM"))


@pytest.mark.parametrize("name", METHODS)
def test_a_method_declares_every_parameter_and_documents_it(name):
    cls = find(name)
    signature = inspect.signature(cls)
    assert signature.parameters.keys() == cls._parameters.keys() == documented(cls.__doc__) == cls().get_params().keys()
    assert "__init__" not in vars(cls) or cls.__init__.__signature__ == inspect.signature(cls.__init__)
    for each in cls._parameters.values():
        assert each.default in each.domain and each.kind and each.words.endswith(".")
        if each.slider is not None:
            label, low, high, step = each.slider
            assert label and low in each.domain and high in each.domain and low < high and step > 0


def test_every_decorated_method_is_named_by_its_room():
    rooms = [Path(hc.__file__).parent / room for room in registry.ROOMS]
    written = [path for room in rooms for path in room.glob("*.py") if "@estimator(" in path.read_text("utf-8")]
    assert {f"hetcore.{path.parent.name}.{path.stem}" for path in written} == set(METHODS.values())


def test_the_list_of_methods_loads_no_kernel():
    code = "import hetcore, sys; assert len(hetcore.registry.METHODS) > 20 and 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
