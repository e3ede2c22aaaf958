"""What a worker process does with a task: find the estimator or function, fit or call it, gather what is shown."""

from __future__ import annotations

import importlib
import inspect
import time
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl

from hetcore import metrics, model_files
from hetcore.data.identity import positions, text_array
from hetcore.data.target import unlabelled
from hetcore.errors import ParameterError
from hetcore.parameters import SeedAndThreads
from hetcore.player import Player
from studio import forms, scenarios, uncertainty
from studio.jobs import cluster
from studio.jobs.job import FunctionTask, TrainingTask
from studio.jobs.recorder import Recorder
from studio.jobs.results import RunResult, contribution_columns
from studio.limits import THREADS
from studio.scans import whole

__all__ = ["ESTIMATORS", "FUNCTIONS", "find_estimator", "find_function", "perform"]

ESTIMATORS: dict[str, type] = {}
"""Estimators by class name beside those of hetcore; tests add theirs."""

# A list, so that a task can name nothing else, whatever is in it.
FUNCTIONS: set[str] = {
    "experiments.runner:run",
    "hetcore.tuning:cross_validate",
    "studio.scans.opening:opened",
    "studio.scans.parts:parts",
    "studio.runs.chance:over_seeds",
    "studio.runs.lambda_map:trainings",
    "studio.views.collective.edits:infer",
    "studio.views.common.layouts:layout",
    "studio.views.consensus.case:along",
    "studio.views.consensus.case:explain",
    "studio.views.consensus.case_nearest:nearest",
    "studio.views.consensus.instance_map:views",
    "studio.views.consensus.new_rows:predict",
    "studio.views.consensus.without:joined",
    "studio.views.noise.curve:curve",
    "studio.views.playground.plane:stages",
    "studio.views.transfer.curve:curve",
    "studio.views.two_learners.whatif:what_if",
}
"""What a `FunctionTask` may call, as "package.module:function"."""


def find_estimator(name: str) -> type:
    """Return the estimator class of that name.

    Raises
    ------
    ParameterError
        If neither `ESTIMATORS` nor hetcore has a class of that name with a fit.
    """
    import hetcore

    # Tests' own first, then the library, then peers, which are imported only when asked for.
    found = ESTIMATORS.get(name) or getattr(hetcore, name, None) or getattr(_baselines(), name, None)
    # hetcore has functions and errors too: a name counts only if it can be fitted.
    if not (inspect.isclass(found) and hasattr(found, "fit")):
        raise ParameterError(f"estimator={name!r:.80} is not a method of hetcore: choose one of the studio's methods.")
    return found


def _baselines() -> Any:
    # Late, for the peers load other packages, which most trainings do without.
    return importlib.import_module("hetcore.baselines.peers")


def find_function(path: str) -> Callable[..., Any]:
    """Return an allowed function.

    Raises
    ------
    ParameterError
        If the path is not in `FUNCTIONS`.
    """
    if path not in FUNCTIONS:
        raise ParameterError(
            f"function={path!r:.80} may not run as a job: add it to studio.jobs.worker_tasks.FUNCTIONS."
        )
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def perform(task: TrainingTask | FunctionTask, player: Player) -> RunResult:
    """Do the task, sending its events to the player."""
    if isinstance(task, FunctionTask):
        return _call(task, player)
    return _train(task, player)


def _call(task: FunctionTask, player: Player) -> RunResult:
    started = time.perf_counter()
    function = find_function(task.path)
    # Functions that report nothing need not take callbacks.
    value = function(**task.kwargs, **_accepted(function, callbacks=(player,)))
    seconds = time.perf_counter() - started - player.waited
    return RunResult(value=value, stopped=player.stopped, seconds=seconds)


def _train(task: TrainingTask, player: Player) -> RunResult:
    started = time.perf_counter()
    kind = find_estimator(task.estimator)
    # Bits do not depend on them: where cores are free it ends sooner, and it is nice to all others.
    threads = {"n_jobs": THREADS} if issubclass(kind, SeedAndThreads) and "n_jobs" not in task.params else {}
    model = kind(**task.params, **threads)
    # A run may be submitted paused; it may also be stopped before its first round.
    if player.wait():
        return RunResult(stopped=True)
    if isinstance(task.data, Mapping):
        gathered = _fit_arrays(model, task, player)
    elif task.form:
        gathered = _fit_form(model, task, player)
    elif task.whole:
        gathered = _fit_whole(model, task, player)
    else:
        gathered = _fit_data(model, task, player)
    if threads:  # the model's file is of what was asked for, on whatever machine
        model.set_params(n_jobs=None)
    seconds = time.perf_counter() - started - player.waited
    return RunResult(**gathered, **_learned(model), stopped=player.stopped, seconds=seconds)


def _fit_arrays(model: Any, task: TrainingTask, player: Player) -> dict[str, Any]:
    optional = _accepted(model.fit, callbacks=(player,), eval_y=task.eval_y)
    model.fit(**task.data, **task.fit_params, **optional)
    # Said once the fit is over: from here on a stop must not kill what is nearly done.
    player.end()
    prediction = model.predict(task.data["X"])
    return {"predictions": pl.DataFrame({"id": [str(k) for k in range(len(prediction))], "prediction": prediction})}


def _fit_form(model: Any, task: TrainingTask, player: Player) -> dict[str, Any]:
    scenario = scenarios.apply(task.data, task.operations)
    arrays = forms.arrays(scenario, task.form)
    optional = _accepted(model.fit, callbacks=(player,), eval_set=arrays.eval_set)
    model.fit(**arrays.fit, **task.fit_params, **optional)
    player.end()
    predictions = _predictions_of(model, arrays)
    scores = _scores(predictions, scenario.data.target_kind)
    return {"predictions": predictions, "scores": scores, "value": uncertainty.achieved(model, arrays)}


def _predictions_of(model: Any, arrays: forms.Arrays) -> pl.DataFrame:
    columns = {"id": list(arrays.ids), "label": _labels(arrays.y)}
    if arrays.eval_set is not None:
        columns["held_out"] = _labels(arrays.held_out)
    if "return_std" in inspect.signature(model.predict).parameters:
        prediction, deviation = model.predict(arrays.X, return_std=True)
        columns |= {"prediction": prediction.tolist(), "std": deviation.tolist()}
    else:
        columns["prediction"] = np.asarray(model.predict(arrays.X)).tolist()
    columns |= uncertainty.columns(model, arrays)
    return pl.DataFrame(columns | _probabilities(model, arrays.X), strict=False)


def _fit_data(model: Any, task: TrainingTask, player: Player) -> dict[str, Any]:
    scenario = scenarios.apply(task.data, task.operations)
    data = scenario.data
    # Labels given with the task are by the rows of the whole data; operations may have dropped some.
    y = scenario.y if task.y is None else scenarios.aligned(task.y, task.data, data)
    eval_y = scenario.eval_y if task.eval_y is None else scenarios.aligned(task.eval_y, task.data, data)
    recorder = Recorder(data, _labelled(eval_y, data.n)) if hasattr(model, "explain") else None
    callbacks = (player,) if recorder is None else (player, recorder)
    optional = _accepted(model.fit, callbacks=callbacks, eval_y=eval_y)
    note = _fit(model, (data, data.y if y is None else y), task.fit_params | optional)
    player.end()
    # One pass gives predictions, probabilities and contributions; asked for apart each would be a pass.
    explained = model.explain(data) if hasattr(model, "explain") else None
    predictions = _predictions(model, data, data.y if y is None else y, eval_y, explained)
    return {
        "predictions": predictions,
        "contributions": _contributions(model, data, explained),
        "additions": _additions(model, recorder, explained),
        "staged": None if recorder is None else recorder.staged(),
        "scores": _scores(predictions, getattr(data, "target_kind", None)),
        "note": note,
    }


def _fit(model: Any, given: tuple[Any, Any], options: Mapping[str, Any]) -> str:
    """Fit where the model is served; return what is to be known of that."""
    if cluster.serves(model):
        return cluster.fit(model, *given, **options)
    model.fit(*given, **options)
    return ""


def _fit_whole(model: Any, task: TrainingTask, player: Player) -> dict[str, Any]:
    """Fit on data by path; what goes back is of the instances of the sample alone, but for the scores."""
    scenario = scenarios.apply(whole.data_of(**task.whole), task.operations)
    data, eval_y = scenario.data, scenario.eval_y
    y = data.y if scenario.y is None else scenario.y
    note = _fit(model, (data, y), dict(task.fit_params) | _accepted(model.fit, callbacks=(player,), eval_y=eval_y))
    player.end()
    explained = model.explain(data)
    places = positions(task.data.id_series, data.id_series)
    # An instance that only tables have which were left out is not there.
    places = places[places >= 0]
    some = SimpleNamespace(ids=text_array(data.id_series[places]))
    few = explained._replace(**{name: part[places] for name, part in explained._asdict().items() if part is not None})
    sets = {"train": y} | ({} if eval_y is None else {"held_out": eval_y})
    return {
        "predictions": _predictions(model, some, y[places], None if eval_y is None else eval_y[places], few),
        "contributions": _contributions(model, some, few),
        "scores": _scores_of(explained.prediction, sets, data.target_kind),
        "note": note,
    }


def _scores_of(prediction: np.ndarray, sets: Mapping[str, np.ndarray], target_kind: str | None) -> dict[str, Any]:
    """Return the metric on the labels of each set that has some, as `_scores` does."""
    name, metric = ("error", metrics.error_rate) if target_kind == "classification" else ("RMSE", metrics.rmse)
    known = {key: np.flatnonzero(~unlabelled(labels)) for key, labels in sets.items()}
    values = {key: metric(sets[key][rows], prediction[rows]) for key, rows in known.items() if len(rows)}
    return {"metric": name, **values}


def _accepted(function: Callable[..., Any], **optional: Any) -> dict[str, Any]:
    """Return those of the optional arguments that the function takes and that are not None."""
    # By signature: methods differ in what they take, and none should need a flag that says so.
    taken = inspect.signature(function).parameters
    return {name: value for name, value in optional.items() if name in taken and value is not None}


def _predictions(model: Any, data: Any, y: np.ndarray, eval_y: np.ndarray | None, explained: Any) -> pl.DataFrame:
    columns = {"id": list(data.ids), "label": _labels(y)}
    if eval_y is not None:
        columns["held_out"] = _labels(eval_y)
    if explained is not None:
        columns |= {"prediction": explained.prediction.tolist(), "coverage": explained.coverage.tolist()}
        return pl.DataFrame(columns | _by_class(model, explained.probabilities), strict=False)
    columns["prediction"] = np.asarray(model.predict(data)).tolist()
    return pl.DataFrame(columns | _probabilities(model, data), strict=False)


def _scores(predictions: pl.DataFrame, target_kind: str | None) -> dict[str, Any]:
    """Return the metric on the labels trained on and on those held out."""
    name, metric = ("error", metrics.error_rate) if target_kind == "classification" else ("RMSE", metrics.rmse)
    sets = {"train": "label", "held_out": "held_out"}
    # A column without a single known label has no score, and is not one of zero.
    known = {key: column for key, column in sets.items() if column in predictions and predictions[column].count()}
    scored = {key: predictions.drop_nulls(column) for key, column in known.items()}
    values = {key: metric(rows[known[key]].to_numpy(), rows["prediction"].to_numpy()) for key, rows in scored.items()}
    return {"metric": name, **values}


def _labels(y: np.ndarray) -> list[Any]:
    """Return labels as a list with None for the missing ones."""
    y = np.asarray(y)
    if y.dtype == object:
        return [None if label is None else str(label) for label in y]
    # None and not NaN, for polars tells missing from not-a-number.
    return [None if np.isnan(label) else float(label) for label in y]


def _probabilities(model: Any, data: Any) -> dict[str, Any]:
    if not hasattr(model, "predict_proba"):
        return {}
    return _by_class(model, np.asarray(model.predict_proba(data)))


def _by_class(model: Any, probabilities: np.ndarray | None) -> dict[str, Any]:
    if probabilities is None:
        return {}
    # A prefix, or a class named "id" would take the place of the ids.
    return {f"p:{label}": probabilities[:, k] for k, label in enumerate(model.classes_)}


def _contributions(model: Any, data: Any, explained: Any) -> pl.DataFrame | None:
    if explained is None:
        return None
    names = contribution_columns(model.source_weights_, model.graph_weights_)
    return pl.DataFrame({"id": list(data.ids)} | dict(zip(names, explained.contributions.T)))


def _additions(model: Any, recorder: Recorder | None, explained: Any) -> pl.DataFrame | None:
    if recorder is None:
        return None
    names = contribution_columns(model.source_weights_, model.graph_weights_)
    predicted = np.zeros(len(explained.prediction), np.int64)
    if explained.probabilities is not None:
        predicted = np.searchsorted(model.classes_.astype(str), explained.prediction.astype(str))
    return recorder.frame(names, predicted)


def _labelled(y: Any, n: int) -> np.ndarray:
    """Return who has a label (n,)."""
    return np.zeros(n, bool) if y is None else np.array([label is not None for label in _labels(y)])


def _learned(model: Any) -> dict[str, Any]:
    return {
        "model": _model_file(model),
        "history": getattr(model, "history_", None),
        "source_weights": dict(getattr(model, "source_weights_", {})),
        "graph_weights": dict(getattr(model, "graph_weights_", {})),
    }


def _model_file(model: Any) -> bytes | None:
    """Return the bytes of the model file, None for a method that hetcore does not save."""
    kind = type(model)
    # By class and module: a class of a test with the name of a method is not that method.
    return model_files.dumps(model) if model_files.CLASSES.get(kind.__name__) == kind.__module__ else None
