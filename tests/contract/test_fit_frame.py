"""The one frame of a fit: a fit that fails leaves the estimator as it was, one that ends leaves nothing temporary."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from threadpoolctl import ThreadpoolController, threadpool_limits

import hetcore as hc
from hetcore import base
from hetcore.base import Estimator
from hetcore.errors import ParameterError
from hetcore.events import MONITORED
from hetcore.heteroscedastic.hlr import HLR
from hetcore.model_files import dumps
from hetcore.registry import METHODS, find
from tests import model_files

EACH = pytest.mark.parametrize("name", METHODS)


def quietly(model, name, callback):
    """Fit a model to its small problem."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so little data does not converge
        return model.fit(*model_files.given(name), callbacks=[callback])


def angry(event):
    raise ZeroDivisionError(event.index)


@EACH
def test_what_an_event_holds_is_in_the_docstring_of_its_method_or_of_one_that_it_names(name):
    keys: set[str] = set()
    quietly(clone(model_files.fitted(name)), name, lambda event: keys.update(event.detail) or True)
    words = (find(name).__doc__ or "") + (find(name).fit.__doc__ or "")
    words += "".join(find(other).__doc__ or "" for other in METHODS if f"`{other}`" in words)
    assert [key for key in sorted(keys) if f'"{key}"' not in words] == []


@EACH
def test_a_callback_that_raises_leaves_the_parameters_alone(name):
    model = clone(model_files.fitted(name))
    with pytest.raises(ZeroDivisionError):
        quietly(model, name, angry)
    assert vars(model) == model.get_params(deep=False)


@EACH
def test_a_fitted_model_survives_a_fit_that_fails(name):
    model = quietly(clone(model_files.fitted(name)), name, lambda event: None)
    content, answers = dumps(model), model_files.answers(name, model)
    with pytest.raises(ZeroDivisionError):
        quietly(model, name, angry)
    assert_array_equal(model_files.answers(name, model), answers)
    assert dumps(model) == content


def test_a_progress_bar_is_closed_when_a_fit_ends_itself_or_fails():
    bar = hc.ProgressBar()
    bars = []
    watch = lambda event: bars.append(bar._bar)  # noqa: E731 - asked after the bar
    model = hc.HGBMRegressor(n_iterations=5)
    model.fit(model_files.X, model_files.VALUES, callbacks=[bar, watch, lambda event: True])
    with pytest.raises(ZeroDivisionError):
        model.fit(model_files.X, model_files.VALUES, callbacks=[bar, watch, angry])
    assert len(bars) == 2 and bars[0] is not bars[1] and all(each.disable for each in bars)


@EACH
def test_the_frame_is_that_of_the_base_and_stops_when_asked(name):
    model = clone(model_files.fitted(name))
    quietly(model, name, lambda event: True)
    assert isinstance(model, Estimator) and find(name)._fit is Estimator._fit
    assert model.n_iterations_ == len(model.history_) == 1


@EACH
def test_a_parameter_outside_its_domain_is_named_before_the_data_are_looked_at(name):
    model, parameter = find(name)(), next(iter(find(name)._parameters))
    with pytest.raises(ParameterError, match=f"^{parameter}=.* must be "):
        model.set_params(**{parameter: np.array([np.nan, -7.5])})._fit((), None)


@EACH
@pytest.mark.parametrize(
    "given,words",
    [
        (hc.ProgressBar(), r"callbacks=ProgressBar\(\) is no list: give callbacks=\[ProgressBar\(\)\]"),
        ([hc.ProgressBar], r"callbacks has the class ProgressBar, which takes no event .*: give ProgressBar\(\)"),
        ([3], "callbacks has 3, which takes no event after a round: give a function"),
    ],
)
def test_callbacks_that_are_none_are_refused_before_the_first_round(name, given, words):
    with pytest.raises(ParameterError, match=words):
        find(name)().fit(*model_files.given(name), callbacks=given)


@pytest.mark.parametrize("name", [name for name in METHODS if not issubclass(find(name), base.BoostedEstimator)])
def test_an_array_method_says_what_makes_arrays_of_data_and_asks_for_labels(name):
    data = hc.HetData({"t": pl.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0]})}, target=(["a", "b"], [0.0, 1.0]))
    for call in (find(name)().fit, model_files.fitted(name).predict):
        with pytest.raises(hc.DataError, match="takes arrays, not a HetData: hetcore.data.plain makes arrays of one"):
            call(data)
    with pytest.raises(ValueError, match="requires y to be passed"):
        find(name)().fit(np.ones((6, 2)))


def test_libraries_are_looked_for_once_and_again_after_an_import(monkeypatch):
    made = []
    monkeypatch.setattr(base, "ThreadpoolController", lambda: made.append(1) or ThreadpoolController())
    base._libraries.cache_clear()
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20.0)
    for _ in range(2):
        HLR().fit(X, y)
    n_before = len(made)
    monkeypatch.setitem(sys.modules, "a_module_that_came", sys)
    HLR().fit(X, y)
    HLR().fit(X, y)
    # the first fit may import modules itself
    assert n_before <= 2 and len(made) == n_before + 1


def test_a_fit_has_one_blas_thread_and_gives_back_what_there_was():
    def threads():
        return [each["num_threads"] for each in ThreadpoolController().info() if each["user_api"] == "blas"]

    seen, X = [], np.random.default_rng(0).normal(size=(20, 2))
    with threadpool_limits(2, "blas"):
        HLR().fit(X, X[:, 0], callbacks=[lambda _: seen.append(threads())])
        assert set(seen[0]) == {1} and set(threads()) == {2}


@pytest.mark.parametrize(
    "given",
    [
        *({"patience": wrong} for wrong in (0, "3", 2.5, True)),
        *({"tol": wrong} for wrong in (-1.0, float("nan"), float("inf"), None, "0")),
        {"monitor": "val"},
    ],
    ids=str,
)
def test_early_stopping_that_could_never_stop_or_always_would_is_refused_in_a_sentence(given):
    with pytest.raises(ParameterError, match=f"^{next(iter(given))}=.*: "):
        hc.EarlyStopping(**given)


@EACH
def test_early_stopping_knows_every_loss_that_methods_have(name):
    seen: set[str] = set()
    quietly(clone(model_files.fitted(name)), name, lambda event: seen.update(event.losses) or True)
    assert seen <= set(MONITORED)


@pytest.mark.parametrize(
    ("make", "name", "words"),
    [
        (lambda: HLR(), "history_", " before a fit: call fit first."),
        (lambda: fitted(), "weights_", "."),
        (lambda: hc.load(dumps(fitted())), "history_", ": a model file keeps what predicts, no more."),
    ],
)
def test_a_name_that_a_model_lacks_is_of_its_fit_of_its_file_or_of_none(make, name, words):
    with pytest.raises(AttributeError, match=f"^'HLR' object has no attribute '{name}'{words.replace('.', '[.]')}$"):
        getattr(make(), name)


def fitted() -> HLR:
    X = np.arange(40.0).reshape(20, 2)
    return HLR().fit(X, X[:, 0])
