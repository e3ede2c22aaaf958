"""What a stage of a collective model ended with, in the terms of `RoundEnd`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.collective.target_transform import TargetTransform
from hetcore.data import Graph
from hetcore.metrics import correlation_along, error_rate, morans_i, morans_i_band
from hetcore.numerics import root_mean_square
from hetcore.targets import Problem

__all__ = ["alike", "described"]

PRODUCTS = 20_000_000  # edges times shuffles of a band: some tenth of a second
SHUFFLES = (19, 199)


def described(state: Any, graphs: Mapping[str, Graph], unit: TargetTransform) -> dict[str, Any]:
    """Return losses, residual autocorrelation and detail after a stage.

    Parameters
    ----------
    state : CrossFitted, Algorithm1 or Algorithm3
    graphs : mapping of str to Graph
        Along which residuals are measured.
    unit : TargetTransform
    """
    problem = state.problem
    scale, scored = problem.scale, problem.scored
    sets = {name: (scale.fitted(score), state.target) for name, score in state.scores().items()}
    if scored.any():
        sets["held_out"] = scale.fitted(state.asked.scores[scored]), problem.truth[scored]
    # the rows that were not trained on where there are any
    rows = scored if scored.any() else problem.labelled
    # the last set is the hardest that there is: held out, left out, trained
    fitted, truth = list(sets.values())[-1]
    residual, target = _along(problem.data.n, rows, unit, scale=scale, fitted=fitted, truth=truth)
    detail = {
        "metric_name": "error" if scale.is_classifier else "RMSE",
        "metric": {name: _metric(*each, scale, unit) for name, each in sets.items()},
        "stage": state.stage - 1,
        "best_stage": state.best,
        "became_gb": bool(state.params["features"]) and not state.features,
        "sweeps": [change * scale.deviation for change in state.asked.changes] if state.features else [],
        "visits": list(state.asked.visits) if state.features else [],
        "moving": list(state.asked.moving) if state.features else [],
    }
    along = {name: correlation_along(residual[rows, None], problem.validation_links[name]) for name in graphs}
    return {
        "losses": {name: _loss(*each, scale) for name, each in sets.items()},
        "residual_autocorrelation": along,
        "detail": detail | (_left(residual, target, graphs) if state.params["watched"] else {}),
    }


def alike(problem: Problem, fitted: NDArray, truth: NDArray, graphs: Mapping[str, Graph]) -> bool:
    """Return whether the residuals of the labelled rows (m, K) are alike along any graph: above the band of noise."""
    unit = TargetTransform(False)
    residual, _ = _along(problem.data.n, problem.labelled, unit, scale=problem.scale, fitted=fitted, truth=truth)
    return any(morans_i(residual, graph) > _band(residual, graph)[1] for graph in graphs.values())


def _left(residual: NDArray, target: NDArray, graphs: Mapping[str, Graph]) -> dict[str, Any]:
    """Return Moran's I of residuals and targets, and the band of noise: a third of a large fit that nobody watches."""
    return {
        "moran": {name: morans_i(residual, graph) for name, graph in graphs.items()},
        "band": {name: _band(residual, graph) for name, graph in graphs.items()},
        "label_moran": {name: morans_i(target, graph) for name, graph in graphs.items()},
    }


def _loss(fitted: NDArray, target: NDArray, scale: Any) -> float:
    if scale.is_classifier:
        # a class of probability 0 would end the curve at infinity
        return float(-np.log(np.maximum((fitted * target).sum(axis=1), 1e-15)).mean())
    return float(0.5 * ((fitted - target) ** 2).mean())


def _metric(fitted: NDArray, target: NDArray, scale: Any, unit: TargetTransform) -> float:
    """Return the share of wrong classes, or the RMSE in the labels' unit."""
    if scale.is_classifier:
        return error_rate(target.argmax(axis=1), fitted.argmax(axis=1))
    # labels as given: the transform's factor belongs to predictions alone
    true = TargetTransform(unit.log).back(scale.labels(target))
    return root_mean_square(unit.back(scale.labels(fitted)) - true)


def _along(
    n: int, rows: NDArray[np.bool_], unit: TargetTransform, scale: Any, fitted: NDArray, truth: NDArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return residual and target (n,) of `rows`, NaN elsewhere, in the labels' unit or of probabilities."""
    residual, target = np.full(n, np.nan), np.full(n, np.nan)
    if scale.is_classifier:
        # of several classes the probability of the true one is missed by so much
        residual[rows], target[rows] = 1.0 - (fitted * truth).sum(axis=1), truth[:, 0]
    else:
        target[rows] = TargetTransform(unit.log).back(scale.labels(truth))
        residual[rows] = target[rows] - unit.back(scale.labels(fitted))
    return residual, target


def _band(residual: NDArray, graph: Graph) -> list[float]:
    # fewer shuffles of larger graphs, so that an event takes no longer
    shuffles = int(np.clip(PRODUCTS // max(graph.indices.size, 1), *SHUFFLES))
    return list(morans_i_band(residual, graph, shuffles))
