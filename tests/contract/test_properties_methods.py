"""Laws that every fit of every method keeps, on random problems.

More problems than in CI: `pytest --hypothesis-profile=many tests/contract/test_properties_methods.py`, or
`python -m benchmarks.reliability.random_cases`.
"""

from __future__ import annotations

import inspect
import json
import os

import numpy as np
import pytest
from hypothesis import event, given, seed, settings
from numpy.testing import assert_allclose, assert_array_equal

from hetcore.errors import DataError, ParameterError
from hetcore.model_files import dumps, load
from hetcore.transfer.estimator import TransferBase
from tests.contract.random_cases import METHODS, cases

MAY_BE_UNDEFINED = ("autocorrelation", "disagreement", "per_source")
"""Of a round: NaN where there is no edge, nothing that could disagree, no scored row that a source has."""


def numbers(model, asked):
    """Return the numbers behind a prediction: probabilities, values, values and deviations; (n, k)."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(asked))
    if "return_std" in inspect.signature(model.predict).parameters:
        return np.column_stack(model.predict(asked, return_std=True))
    return np.asarray(model.predict(asked))[:, None]


def assert_lawful(case):
    """Fit a random problem, and hold the fit to its laws."""
    try:
        model = case.fitted()
    except (DataError, ParameterError) as error:
        event(f"refused: {error}"[:60])
        assert str(error).endswith(".") and "\n" not in str(error)
        return False
    predicted = numbers(model, case.asked)
    assert np.isfinite(predicted).all()
    if hasattr(model, "classes_"):
        assert_allclose(predicted.sum(axis=1), 1.0, rtol=1e-9)
        assert (predicted >= 0).all() and predicted.shape[1] == len(model.classes_)
        assert set(model.predict(case.asked)) <= set(model.classes_)
    elif predicted.shape[1] == 2:
        assert (predicted[:, 1] >= 0).all()
    assert_defined(model)
    assert_array_equal(numbers(load(dumps(model)), case.asked), predicted)
    if case.twice:
        assert_array_equal(numbers(case.fitted(), case.asked), predicted)
    return True


def assert_defined(model):
    """Hold what a model tells of its rounds and weights to its laws."""
    assert 1 <= model.n_iterations_
    history = model.history_
    for name in history.columns:
        values = history[name].drop_nulls().to_numpy()
        defined = values if name.split(":")[0] not in MAY_BE_UNDEFINED else values[~np.isnan(values)]
        assert np.isfinite(defined).all(), name
    for name in ("source_weights_", "graph_weights_"):
        values = np.array(list(getattr(model, name, {}).values()))
        assert (values >= 0).all() and (values <= 1).all()
        explains_nothing = name == "graph_weights_" and (values == 0).all()  # said, not normalised to 1
        whole = abs(values.sum() - 1) < 1e-9
        assert not len(values) or whole or explains_nothing or isinstance(model, TransferBase)
    json.dumps(model._get_state()[0], allow_nan=False)


# some problems have columns that hardly vary, or of next to nothing
@pytest.mark.filterwarnings("ignore::hetcore.errors.PrecisionWarning")
@pytest.mark.parametrize("examples", [3, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", METHODS)
def test_a_method_keeps_its_laws_on_any_problem(name, examples):
    @settings(max_examples=examples if examples < 20 else max(examples, settings().max_examples))
    @given(cases(name))
    def law(case):
        assert_lawful(case)

    law()


@pytest.mark.filterwarnings("ignore::hetcore.errors.PrecisionWarning")
@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_a_method_keeps_its_laws_on_the_problems_of_the_day(name):
    """Others every day, large ones among them; the run's head prints HETCORE_SEED, which draws those of a day again."""

    @seed(int(os.environ["HETCORE_SEED"]))
    @settings(max_examples=10)
    @given(cases(name, large=True))
    def law(case):
        assert_lawful(case)

    law()
