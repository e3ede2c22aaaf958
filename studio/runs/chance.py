"""Whether two settings differ by more than chance: both trained over several seeds, paired, with an interval.

A seed draws the labels that are known, the noise of the what-ifs and the training's own numbers, the same for both
settings, so that the difference of a pair holds what the settings do and not what the draw did. The interval is
Student's for the mean of the differences: it tells of other draws from these data, not of other data.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from hetcore.data import HetData
from hetcore.events import Callback, RoundEnd
from hetcore.numerics import standard_error
from hetcore.player import Player
from studio.jobs.job import TrainingTask
from studio.messages import number

__all__ = [
    "SEEDS", "TASK", "Difference", "difference", "levels", "over_seeds", "progress", "score", "sentence", "with_seed",
]  # fmt: skip

TASK = "studio.runs.chance:over_seeds"
SEEDS = 10
CONFIDENCE = 0.95
MOST_DIGITS = 3
# Held-out labels first, for no part of a training saw them; those trained on flatter.
SCORED = ("held_out", "left_out", "train")
"""Rows that a training is judged by, the first that there are."""
Setting = Mapping[str, Any]
"""A setting: "estimator", "params", "operations", "fit" and, unless it takes HetData, "form"."""


class Difference(NamedTuple):
    """What the second setting's metric is above the first's, over pairs of the same seed.

    Attributes
    ----------
    mean, low, high : float
        In the metric's unit; low and high bound the interval of `CONFIDENCE`.
    n : int
        Pairs.
    """

    mean: float
    low: float
    high: float
    n: int

    @property
    def within_chance(self) -> bool:
        """Whether the interval holds no difference."""
        return self.low <= 0.0 <= self.high


def half_interval(values: NDArray[np.float64]) -> float:
    """Return half the length of the interval of the mean of two values or more (m,)."""
    # Two-sided, so half of what is left out lies on each side; the spread is estimated, hence m - 1.
    return float(stdtrit(len(values) - 1, 0.5 + CONFIDENCE / 2) * standard_error(values))


def difference(pairs: Sequence[tuple[float, float]]) -> Difference | None:
    """Return the paired difference (second minus first), None of fewer than two pairs."""
    values = np.diff(np.asarray(pairs, float).reshape(-1, 2), axis=1).ravel()
    # A pair whose training diverged says nothing of the difference.
    values = values[np.isfinite(values)]
    # One pair has no spread, so no interval.
    if len(values) < 2:
        return None
    half = half_interval(values)
    return Difference(float(values.mean()), float(values.mean() - half), float(values.mean() + half), len(values))


def sentence(found: Difference, metric: str, whole: bool = True) -> str:
    """Say a difference: "error −0.8 points (−1.2 to −0.4) …"; of a whole comparison, whether it is within chance."""
    unit = " points" if metric == "error" else ""
    mean, low, high = _signed(found[:3], metric)
    numbers = f"{metric} {mean}{unit} ({low} to {high}) over {found.n}"
    # Looked at after every seed, an interval leaves out no difference sooner or later by chance alone.
    if not whole:
        return f"{numbers} of {SEEDS} seeds, too few to tell"
    word = "within chance" if found.within_chance else "beyond chance: " + ("lower" if found.mean < 0 else "higher")
    return f"{numbers} seeds: {word}"


def _signed(values: Sequence[float], metric: str) -> list[str]:
    """Return numbers with their signs: points with one digit, or as many more as keep an end of the interval from 0."""
    if metric == "error":
        points, digits = [100.0 * value for value in values], 1
        while digits < MOST_DIGITS and any(end and not round(end, digits) for end in points[1:]):
            digits += 1
        texts = [f"{round(point, digits) + 0.0:+.{digits}f}" for point in points]
    else:
        texts = [f"{value:+.3g}" for value in values]
    # A true minus sign, for a hyphen before a number reads like a dash.
    return [text.replace("-", "−") for text in texts]


def with_seed(setting: Setting, seed: int) -> dict[str, Any]:
    """Return a setting whose every draw begins with this seed, that of the training where it draws something."""
    from studio.jobs.worker_tasks import find_estimator  # which names this module among those it may call

    operations = [{**each, "seed": seed} if "seed" in each else dict(each) for each in setting["operations"]]
    draws = "random_state" in inspect.signature(find_estimator(setting["estimator"])).parameters
    params = {**setting["params"], **({"random_state": seed} if draws else {})}
    return {**setting, "params": params, "operations": operations}


def over_seeds(
    data: HetData, first: Setting, second: Setting, seeds: Sequence[int], callbacks: Iterable[Callback] = ()
) -> dict[str, Any]:
    """Train both settings with each seed and return their metrics.

    Parameters
    ----------
    data : HetData
        Before the settings' operations.
    first, second : mapping
        Such as `Setting` says.
    seeds : sequence of int
    callbacks : iterable of callables
        Get a `RoundEnd` after each pair, whose detail has what is returned so far; one that returns True stops.

    Returns
    -------
    dict
        "metric", "rows" (one of `SCORED`, of the last pair) and "pairs": a list of two numbers a seed.
    """
    outcome: dict[str, Any] = {"metric": "", "pairs": []}
    for place, seed in enumerate(seeds):
        scores = [score(data, with_seed(setting, seed)) for setting in (first, second)]
        # Both settings are judged on the same kind of rows, or the pair would compare two things.
        rows = next((rows for rows in SCORED if all(rows in each for each in scores)), None)
        if rows is None:
            return outcome
        pairs = [*outcome["pairs"], [each[rows] for each in scores]]
        outcome = {"metric": scores[0]["metric"], "rows": rows, "pairs": pairs}
        event = RoundEnd("chance", place, len(seeds), {}, detail=outcome)
        # A list and not a generator: every callback hears of the round, also after one that said stop.
        if any([callback(event) for callback in callbacks]):
            break
    return outcome


def score(data: HetData, setting: Setting) -> dict[str, Any]:
    """Return a setting's metric and its values, by the rows that they are of."""
    from studio.jobs.worker_tasks import perform

    task = TrainingTask(
        setting["estimator"], setting["params"], data, operations=setting["operations"],
        fit_params=setting["fit"], form=setting.get("form", {}),
    )  # fmt: skip
    events: list[tuple[str, Any]] = []
    result = perform(task, Player(events.append))
    rounds = [event for kind, event in events if kind == "round"]
    left = (rounds[-1].detail.get("metric") or {}).get("left_out") if rounds else None
    return {**result.scores, **({} if left is None else {"left_out": float(left)})}


def progress(events: Sequence[RoundEnd]) -> dict[str, Any]:
    """Return the last outcome of `over_seeds`."""
    return dict(events[-1].detail) if events else {"metric": "", "pairs": []}


def levels(pairs: Sequence[tuple[float, float]], metric: str) -> str:
    """Return the means of both settings: "4.2% → 3.4%"."""
    means = np.asarray(pairs, float).reshape(-1, 2).mean(axis=0)
    return f"{number(means[0], metric)} → {number(means[1], metric)}"
