"""What a round of consensus boosting ended with, in the terms of `RoundEnd`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.metrics import correlation_along, error_rate
from hetcore.numerics import root_mean_square
from hetcore.targets import Problem, Scale

__all__ = ["TableScores", "describe", "distances", "validation_rows", "metric", "scores_of_tables", "shares"]


def shares(values: NDArray, names: list[str]) -> dict[str, float]:
    """Return values normalised to sum to one, by name; equal where all are zero."""
    total = float(np.sum(values))
    # all zero says nothing about any of them
    parts = np.asarray(values) / total if total > 0 else np.full(len(names), 1.0 / max(len(names), 1))
    return dict(zip(names, parts.tolist()))


class TableScores(NamedTuple):
    """What tables say alone: by table its metric, and how far all are from the ensemble."""

    per_source: dict[str, float]
    disagreement: float


def validation_rows(problem: Problem) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which rows' predictions are compared, and with what (n, K): held-out labels if there are some."""
    # never those that were trained on, if there are others
    return (problem.scored, problem.truth) if problem.scored.any() else (problem.labelled, problem.target)


def scores_of_tables(problem: Problem, raw: NDArray, alone: Mapping[str, tuple[NDArray, NDArray]]) -> TableScores:
    """Return what tables say alone.

    Parameters
    ----------
    problem : Problem
    raw : (n, K) float64
        Scores of the ensemble.
    alone : mapping of str to ((n, K) scores, (n,) bool)
        By table: what it says alone, and which instances it has.
    """
    rows, truth = validation_rows(problem)
    per_source = {name: _metric_on(problem.scale, f, truth, rows & has) for name, (f, has) in alone.items()}
    return TableScores(per_source, _disagreement(problem.scale, raw, alone))


def describe(problem: Problem, raw: NDArray, out_of_fold: NDArray | None, tables: TableScores) -> dict[str, Any]:
    """Return losses, residual autocorrelation and detail of a round.

    Parameters
    ----------
    problem : Problem
    raw, out_of_fold : (n, K) float64
        Scores as trained, and with labelled rows scored by learners that did not see them; None where all see all.
    tables : TableScores
    """
    scale, labelled, scored = problem.scale, problem.labelled, problem.scored
    sets = {"train": (raw[labelled], problem.target[labelled])}
    if out_of_fold is not None:
        sets["left_out"] = out_of_fold[labelled], sets["train"][1]
    if scored.any():
        sets["held_out"] = raw[scored], problem.truth[scored]
    scores, truth = sets.get("held_out", sets.get("left_out", sets["train"]))
    detail = {
        "metric_name": "error" if scale.is_classifier else "RMSE",
        "metric": {name: metric(scale, *each) for name, each in sets.items()},
        "per_source": tables.per_source,
        "disagreement": tables.disagreement,
        # each link leads both ways
        "linked_pairs": {name: int(links.nnz) // 2 for name, links in problem.validation_links.items()},
    }
    residual = truth - scale.fitted(scores)
    along = {name: correlation_along(residual, links) for name, links in problem.validation_links.items()}
    return {
        "losses": {name: float(scale.loss.value(*each).mean()) for name, each in sets.items()},
        "residual_autocorrelation": along,
        "detail": detail,
    }


def metric(scale: Scale, raw: NDArray, truth: NDArray) -> float:
    """Return the error rate in [0, 1], or the RMSE in the labels' unit."""
    if scale.is_classifier:
        # the argmax of the scores is that of the probabilities, which are not needed for it
        return error_rate(truth.argmax(axis=1), raw.argmax(axis=1))
    return root_mean_square(raw - truth) * scale.deviation


def _metric_on(scale: Scale, raw: NDArray, truth: NDArray, rows: NDArray) -> float:
    return metric(scale, raw[rows], truth[rows]) if rows.any() else float("nan")


def _disagreement(scale: Scale, raw: NDArray, alone: Mapping[str, tuple[NDArray, NDArray]]) -> float:
    """Return how far tables differ from the ensemble: share of other classes, or mean distance in the label's unit."""
    found = [distances(scale, f[has], raw[has]) for f, has in alone.values() if has.any()]
    return float(np.concatenate(found).mean()) if found else float("nan")


def distances(scale: Scale, one: NDArray, other: NDArray) -> NDArray[np.float64]:
    """Return for raw scores (m, K) whether their classes differ, or how far apart they are in the label's unit (m,)."""
    if scale.is_classifier:
        return (one.argmax(axis=1) != other.argmax(axis=1)).astype(float)
    return np.abs(one - other)[:, 0] * scale.deviation
