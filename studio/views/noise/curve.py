"""How much noise two models take: their error by the share of corrupted (or known) labels, measured in a worker."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from hetcore import metrics
from hetcore.data import HetData
from hetcore.events import Callback, RoundEnd
from hetcore.numerics import standard_error
from studio import forms, scenarios
from studio.jobs import worker_tasks
from studio.jobs.job import Setting
from studio.views.noise import settings as noise

__all__ = ["OWN", "bands", "curve", "sweep", "verdict"]

OWN = ("labels", "flip_labels", "label_noise")
"""Operations that the curve does by itself."""
# To forty per cent: at half of two classes there is nothing left to learn.
FLIPPED, KNOWN = (0.0, 0.1, 0.2, 0.3, 0.4), (0.05, 0.1, 0.15, 0.2, 0.3)
USUAL = {"known": 0.7, "sd": 1.0}


def sweep(mode: str, data: HetData, settings: Mapping[str, Setting], repeats: int) -> dict[str, Any]:
    """Return the arguments of `curve` for the two settings of a mode: a tensor by what is known, the others by noise.

    Parameters
    ----------
    mode : str
        Of `noise.MODES`.
    data : HetData
        Before the operations of the settings.
    settings : mapping of str to Setting
    repeats : int
        Draws of labels and noise.
    """
    first = next(iter(settings.values()))
    given = {op["op"]: op for op in first.operations}
    methods = [(label, setting.estimator, setting.params) for label, setting in settings.items()]
    return {
        "data": data, "methods": methods, "form": first.form, "vary": "known" if mode == "Tensor" else "share",
        "before": [op for op in first.operations if op["op"] not in OWN], "repeats": repeats,
        "known": given.get("labels", {}).get("fraction", USUAL["known"]),
        "sd": given.get("label_noise", {}).get("sd", USUAL["sd"]),
    }  # fmt: skip


def curve(
    data: HetData,
    methods: Sequence[tuple[str, str, Mapping[str, Any]]],
    form: Mapping[str, Any],
    vary: str,
    before: Sequence[Mapping[str, Any]],
    repeats: int,
    known: float,
    sd: float,
    callbacks: Iterable[Callback] = (),
) -> list[dict[str, Any]]:
    """Fit each method at each level, several times, and score it on held-out labels that nobody corrupted.

    Parameters
    ----------
    data : HetData
    methods : sequence of (str, str, mapping)
        Label, class and parameters.
    form : mapping
        See `studio.forms`.
    vary : {"share", "known"}
        Whether the share of corrupted labels, or that of known ones, goes up.
    before : sequence of mappings
        What-if operations that come first.
    repeats : int
    known : float
        Share of the labels that are trained on, unless that varies; in (0, 1).
    sd : float
        Of the noise in labels that are numbers, in their standard deviations.
    callbacks : iterable of callable, default=()
        Each is called after every fit with a `RoundEnd` whose detail has "label", "level", "repeat" and "value" (error
        or RMSE), and may return True to stop.

    Returns
    -------
    list of dict
        The details, one for each fit.
    """
    data, started, cells = scenarios.apply(data, before).data, time.perf_counter(), []
    levels = KNOWN if vary == "known" else FLIPPED
    total = repeats * len(levels) * len(methods)
    for repeat, level in product(range(repeats), levels):
        asked = (level, 0.0) if vary == "known" else (known, level)
        # Made once for both methods, which so learn from the same labels.
        arrays = forms.arrays(scenarios.apply(data, noise.operations_of(data, *asked, sd, repeat)), form)
        for label, estimator, params in methods:
            cells.append({"label": label, "level": level, "repeat": repeat, "value": _value(arrays, estimator, params)})
            event = _event(cells, total, data.target_kind, time.perf_counter() - started)
            # A list and not a generator: every callback hears of the fit, also after one that said stop.
            if any([callback(event) for callback in callbacks]):
                return cells
    return cells


def _value(arrays: forms.Arrays, estimator: str, params: Mapping[str, Any]) -> float:
    X, y = arrays.eval_set
    predicted = worker_tasks.find_estimator(estimator)(**params).fit(**arrays.fit).predict(X)
    return float(metrics.error_rate(y, predicted) if y.dtype.kind != "f" else metrics.rmse(y, predicted))


def _event(cells: list[dict[str, Any]], total: int, kind: str | None, seconds: float) -> RoundEnd:
    last = cells[-1]
    name = "error" if kind == "classification" else "RMSE"
    detail = {"metric_name": name, "metric": {"held_out": last["value"]}, **last}
    return RoundEnd(last["label"], len(cells) - 1, total, {"held_out": last["value"]}, detail=detail, seconds=seconds)


def bands(cells: Iterable[Mapping[str, Any]]) -> dict[str, tuple[list[float], list[float], list[float]]]:
    """Return levels, means and standard errors by label, as far as the details of `curve` go."""
    found: dict[str, dict[float, list[float]]] = {}
    for cell in cells:
        found.setdefault(cell["label"], {}).setdefault(cell["level"], []).append(cell["value"])
    return {label: _band(values) for label, values in found.items()}


def _band(values: Mapping[float, list[float]]) -> tuple[list[float], list[float], list[float]]:
    levels = sorted(values)
    rows = [np.array(values[level]) for level in levels]
    # One value has no spread to tell of.
    errors = [float(np.nan_to_num(standard_error(row))) for row in rows]
    return levels, [float(row.mean()) for row in rows], errors


def verdict(cells: Sequence[Mapping[str, Any]], learned: str, plain: str) -> str:
    """Say in one sentence at how many levels learning a deviation helps by more than a standard error of the pairs."""
    pairs: dict[float, dict[int, dict[str, float]]] = {}
    for cell in cells:
        pairs.setdefault(cell["level"], {}).setdefault(cell["repeat"], {})[cell["label"]] = cell["value"]
    gains = [
        # Only where both are there, for a curve may be stopped between the two.
        np.array([each[plain] - each[learned] for each in by_repeat.values() if len(each) == 2])
        for by_repeat in pairs.values()
    ]
    gains = [gain for gain in gains if len(gain) > 1]
    if not gains:
        return "Two repeats or more are needed to compare."
    errors = [standard_error(gain) for gain in gains]
    better = sum(gain.mean() > error for gain, error in zip(gains, errors))
    worse = sum(gain.mean() < -error for gain, error in zip(gains, errors))
    text = f"{learned} is ahead of {plain} at {better} of {len(gains)} levels, and behind at {worse}"
    return f"{text}, by more than a standard error."
