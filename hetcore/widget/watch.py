"""`hetcore.watch`: an estimator's sliders, its training and its curves, live in a notebook."""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import traitlets
from sklearn.base import clone

from hetcore.checks import TAKES_ARRAYS
from hetcore.data import HetData
from hetcore.data.text import listed
from hetcore.errors import ParameterError
from hetcore.events import as_callbacks
from hetcore.parameters import Declared
from hetcore.widget.controls import controls, parameters, values
from hetcore.widget.interrupts import stop_on_interrupt
from hetcore.widget.picture import picture
from hetcore.widget.trainer import Trainer, sentence
from hetcore.widget.view import View

__all__ = ["Watch", "watch"]

ORDERS = ("train", "pause", "resume", "step", "stop")
_SHOWN: weakref.WeakValueDictionary[str, Watch] = weakref.WeakValueDictionary()
"""The widget of each cell: one that runs again ends the training of the widget that it replaces."""


def watch(estimator: Declared, data: Any, y: Any = None, **fit: Any) -> Watch:
    """Return a widget that trains an estimator on data and shows it, for the end of a cell.

    It works in JupyterLab, Notebook 7 and, as `mo.ui.anywidget(hc.watch(...))`, in marimo; VS Code and Colab take the
    same kind of widget. It trains in a thread: the next cells run meanwhile, and interrupting the kernel stops it after
    its round. Whatever is wrong with what is given stands in the widget, in one sentence.

    Parameters
    ----------
    estimator : estimator of hetcore
        Stays as it is: each training fits a copy of it with the values of the controls, `Watch.model_`.
    data : HetData, or what else the estimator's `fit` takes first
    y : (n,) array-like, optional
        As `fit` takes it.
    **fit
        Further arguments of `fit`, such as `eval_y` or `sample_domain`.

    Examples
    --------
    >>> import numpy as np
    >>> import hetcore as hc
    >>> X = np.linspace(0, 1, 60).reshape(20, 3)
    >>> widget = hc.watch(hc.HGBMRegressor(n_iterations=2), X, X[:, 0])
    >>> widget.train()  # or by its button; the cell goes on meanwhile
    >>> widget.wait().predict(X).shape
    (20,)
    """
    widget = Watch(estimator, data, y, fit)
    cell = _cell()
    if cell:
        if cell in _SHOWN:
            # A cell that runs again is done with the old training; two would share the processor.
            _SHOWN[cell].stop()
        _SHOWN[cell] = widget
    return widget


class Watch(View):
    """The widget that `watch` returns; it trains, pauses, goes on, does one round and stops by buttons or methods.

    Parameters
    ----------
    estimator, data, y
        As for `watch`.
    fit : dict
        Further arguments of `fit`.
    """

    def __init__(self, estimator: Declared, data: Any, y: Any, fit: dict[str, Any]) -> None:
        # a generator of callbacks serves one fit, and they are looked at before each
        fit = {name: list(given) if isinstance(given, Iterator) else given for name, given in fit.items()}
        self._estimator, self._given = estimator, (data, y, fit)
        problem = _problem(estimator) or _problem_of_fit(estimator, data, y, fit)
        # Shown in the widget's place, so that a notebook goes on.
        if problem:
            super().__init__(state="failed", message=problem, title=_name(estimator))
            return
        known = values(estimator)
        super().__init__(title=_name(estimator), abilities=list(ORDERS), controls=controls(estimator), params=known)
        self._trainer = Trainer(self._follow)
        stop_on_interrupt(self._trainer)

    @traitlets.validate("params")
    def _checked(self, proposal: Any) -> dict[str, Any]:
        """Keep what the estimator declares, with values in their domains."""
        # The page sends what was moved; the other controls stay as they are.
        return (self.params or values(self._estimator)) | parameters(self._estimator, proposal["value"])

    def train(self, paused: bool = False) -> None:
        """Train a copy of the estimator with the values of the controls; does nothing while a training goes on.

        Parameters
        ----------
        paused : bool, default=False
            Whether to wait before the first round.
        """
        if "train" in self.abilities and not self._trainer.busy:
            # Written down at the start: a slider that moves during a training belongs to the next one.
            self.trained = dict(self.params)
            self._begin()
            self._trainer.start(self._fit, paused)

    def pause(self) -> None:
        """Pause after the round."""
        self._order("pause")

    def resume(self) -> None:
        """Go on."""
        self._order("resume")

    def step(self) -> None:
        """Do one round and pause; begin a training where none goes on."""
        if "train" in self.abilities and not self._trainer.busy:
            self.train(paused=True)
        self._order("step")

    def stop(self) -> None:
        """Stop after the round; the model of the rounds done is kept."""
        self._order("stop")

    def wait(self, seconds: float | None = None) -> Any:
        """Wait for the end of the training, at most so long; return `model_`, None while there is none.

        Parameters
        ----------
        seconds : float, optional
        """
        if self.abilities:
            self._trainer.wait(seconds)
        return self.model_

    def close(self) -> None:
        """Stop, and take the widget from the page."""
        if self.abilities:
            self._trainer.close()
        super().close()

    def _order(self, name: str) -> None:
        if name in self.abilities:
            self._trainer.order(name)

    def _do(self, order: str) -> None:
        getattr(self, order)()

    def _fit(self, callback: Any) -> Any:
        data, y, more = self._given
        # A clone, so that the estimator of the notebook is never fitted behind its owner's back.
        model = clone(self._estimator).set_params(**self.trained)
        # The widget's own callback comes last, after those of the person.
        return model.fit(data, y, **{**more, "callbacks": [*more.get("callbacks", ()), callback]})

    def _follow(self, kind: str, content: Any) -> None:
        """Take what the trainer tells; called from its thread."""
        if kind == "round":
            self._take(content)
        elif kind in ("paused", "running"):
            self.state = "paused" if kind == "paused" else "training"
        else:
            model, stopped = content if kind == "done" else (None, False)
            state = "failed" if kind == "failed" else "stopped" if stopped else "finished"
            self._finish(model, state, content if kind == "failed" else "", self._picture(model))

    def _picture(self, model: Any) -> dict[str, Any]:
        data, y, more = self._given
        # Labels that were not trained on tell most of an error.
        given = [each for each in (more.get("eval_y"), y, getattr(data, "y", None)) if each is not None]
        try:
            return {} if model is None else picture(model, data, given[0] if given else None)
        except Exception:  # what a model cannot predict here is no reason to lose it
            return {}


def _name(estimator: Any) -> str:
    return (estimator if isinstance(estimator, type) else type(estimator)).__name__[:80]


def _problem(estimator: Any) -> str:
    """Return what keeps an estimator from being trained, whatever the data; "" for nothing that is known before."""
    if not isinstance(estimator, Declared) or not hasattr(estimator, "fit"):
        a_class = isinstance(estimator, type) and issubclass(estimator, Declared)
        cure = f"give {_name(estimator)}()" if a_class else "give one such as hetcore.GBCRegressor()"
        return f"{_name(estimator)} is {'a class' if a_class else 'not an estimator of hetcore'}: {cure}."
    if "callbacks" not in inspect.signature(estimator.fit).parameters:
        return f"{_name(estimator)} has no rounds to watch: call its fit."
    try:
        estimator._check_parameters()
    except ParameterError as error:
        return sentence(error)
    return ""


def _problem_of_fit(estimator: Declared, data: Any, y: Any, more: dict[str, Any]) -> str:
    """Return what keeps an estimator from being fitted to what is given, "" for nothing that is known before."""
    name, (first, *others) = _name(estimator), inspect.signature(estimator.fit).parameters
    if unknown := [each for each in more if each not in others]:
        return f"fit of {name} takes no {unknown[0]}: it takes {listed(others)}."
    try:
        as_callbacks(more.get("callbacks", ()))
    except ParameterError as error:
        return sentence(error)
    # by its name: data are a HetData, X are rows of an array
    if first == "data" and not isinstance(data, HetData):
        return f"{name} takes a HetData, not {type(data).__name__}: build one from tables with hetcore.HetData."
    if first != "data" and isinstance(data, HetData):
        return TAKES_ARRAYS.format(name)
    if y is None and not (first == "data" and data.labelled.any()):
        cure = "give a target to HetData, or y to watch" if first == "data" else "give y to watch"
        return f"The data have no labels: {cure}."
    return ""


def _cell() -> str:
    """Return the id of the notebook cell that runs, "" where none is known."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    parent = getattr(shell, "parent_header", None) or {}
    kernel = getattr(shell, "kernel", None)
    # Newer kernels know the message that a thread answers; older ones have it in the shell.
    if kernel is not None and hasattr(kernel, "get_parent"):
        parent = kernel.get_parent() or parent
    return str((parent.get("metadata") or {}).get("cellId", ""))
