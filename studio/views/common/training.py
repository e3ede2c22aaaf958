"""What a training page knows without a page: what-ifs, a run as it is stored, two outcomes compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hetcore.data import HetData
from studio.jobs.job import Setting
from studio.runs.differences import Outcome, sentence
from studio.runs.run import Run
from studio.views.common.curves import SCORED, kept

__all__ = [
    "arguments", "difference", "estimator_of", "operations_of", "outcome", "results_of", "run_of", "seconds_of",
]  # fmt: skip


def estimator_of(data: HetData) -> str:
    """Return the class name of the consensus estimator that fits the labels."""
    return "GBCClassifier" if data.target_kind == "classification" else "GBCRegressor"


def operations_of(
    data: Any,
    sources: Sequence[str],
    graphs: Sequence[str],
    noise: tuple[str, float] | None,
    known: float,
    seed: int,
) -> list[dict[str, Any]]:
    """Return the operations that leave these sources and graphs, with noise in one, and a share of the labels known.

    Of the data their `source_names` and `graph_names` are asked for.
    """
    done: list[dict[str, Any]] = []
    # Noise in a source that is left out would be an operation on nothing.
    if noise is not None and noise[1] > 0 and noise[0] in sources:
        done.append({"op": "noise", "name": noise[0], "sd": float(noise[1]), "seed": seed})
    done += [{"op": "drop_source", "name": name} for name in data.source_names if name not in sources]
    done += [{"op": "drop_graph", "name": name} for name in data.graph_names if name not in graphs]
    if known < 1:
        done.append({"op": "labels", "fraction": float(known), "seed": seed})
    return done


def run_of(
    page: str,
    setting: Setting,
    recipe: Mapping[str, Any],
    title: str,
    owner: str,
    digest: str = "",
    state: str = "finished",
    results: Mapping[str, Any] | None = None,
) -> Run:
    """Return the run that a setting makes, as the store and the exports take it."""
    stored = setting.stored(recipe)
    return Run(
        owner,
        page,
        setting.estimator,
        dataset=title,
        digest=digest,
        status=state,
        name="",
        settings=stored,
        results=dict(results or {}),
    )


def results_of(result: Any) -> dict[str, Any]:
    """Return a result's metrics, weights, rounds and seconds, JSON-able."""
    scores = {key: _plain(value) for key, value in result.scores.items()}
    return {
        "scores": scores,
        "source_weights": {name: _plain(w) for name, w in result.source_weights.items()},
        "graph_weights": {name: _plain(w) for name, w in result.graph_weights.items()},
        "rounds": 0 if result.history is None else result.history.height,
        "seconds": round(float(result.seconds), 3),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, str) or value is None:
        return value
    # JSON has no NaN.
    return float(value) if math.isfinite(float(value)) else None


def outcome(setting: Setting, events: Sequence[Any], scores: Mapping[str, Any] | None = None) -> Outcome:
    """Return what a run came to: the held-out metric where there is one, else the left-out one.

    Of the round that its model predicts by, or from the model's own scores where they are known.
    """
    detail = kept(events).detail
    metric = detail["metric"] | dict(scores or {})
    rows = "held_out" if "held_out" in metric else "left_out"
    weights = {**kept(events).source_weights}
    found = metric.get(rows), weights, SCORED[rows]
    return Outcome(tuple(setting.operations), arguments(setting), detail["metric_name"], *found)


def arguments(setting: Setting) -> dict[str, Any]:
    """Return the parameters of a setting, and what its fit and the form of its data are given beside them."""
    return setting.params | setting.fit | {name: value for name, value in setting.form.items() if name != "form"}


def difference(before: Outcome, after: Outcome) -> str:
    """Say in one sentence what changed and what came of it."""
    return sentence(before, after)


def seconds_of(events: Sequence[Any], rounds: int) -> float:
    """Return the seconds that a training of at most so many rounds will take; 0 without one that finished before.

    One that ended early by itself will do so again; kernels are not compiled again.
    """
    if not events:
        return 0.0
    first, last = events[0], events[-1]
    spent = last.seconds - last.compiling
    # Of several threads it is more than the clock's, of a busy machine less; on a cluster others work.
    if "processor" in first.detail and "workers" not in last.detail:
        rest = last.detail["processor"] - first.detail["processor"]
        spent = min(spent, first.seconds - first.compiling + rest)
    # A share of the time does not grow with the rounds, such as reading and encoding the data.
    return spent * (0.3 + 0.7 * rounds / max(last.total, 1))
