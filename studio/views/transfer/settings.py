"""What the Transfer page does, without a page: domains, what can be chosen, the setting of each method.

choice = Choice(target="webcam", sources=("amazon", "caltech"), label="mug", examples=3)
settings(data, choice, ["Weighted MultiSource", "No transfer"])     # studio.jobs.job.Setting by method
curve(data, ...)                                                    # in a worker: one RoundEnd per fit
verdict(points(events), paired)                                     # where transfer starts to hurt
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from hetcore.data import HetData
from hetcore.transfer.weighted import eta_formulas
from studio import forms, scenarios
from studio.jobs.job import Setting
from studio.messages import shown

__all__ = [
    "ALL", "BASELINE", "METHODS", "NONE", "SIZES", "Choice", "Method", "eta_marks", "examples_possible",
    "first_class", "first_target", "operations", "problem", "why_not", "settings", "side_by_side", "sizes_of",
]  # fmt: skip

ALL, NONE = "all classes", "none"
"""Values of the page's choices: no single class, no corrupted source."""
SIZES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100)
"""Examples of each class at which accuracy is measured, as far as the target has them."""
ENOUGH = 20
"""Rows of a class in each domain that make a good example."""
# Some, for ids of different tables may be equal by accident.
MOST_SHARED = 0.05
"""Share of instances that may stand in several domains by accident."""


class Method(NamedTuple):
    """A method of the page: its class, its parameters among those that the page sets, and what it does in words."""

    estimator: str
    takes: tuple[str, ...]
    text: str


_BOOSTED = ("n_iterations", "max_depth", "random_state")
BASELINE = "No transfer"
METHODS: dict[str, Method] = {
    "Blend": Method(
        "TransferClassifier",
        ("random_state",),
        "no boosting: mixes linear models and trees, of the target alone to all sources, by their losses on left-out "
        "rows",
    ),
    BASELINE: Method("TargetSVM", (), "a support vector machine on the target's examples alone"),
    "Weighted MultiSource": Method(
        "WeightedMultiSourceTrAdaBoostClassifier",
        ("n_iterations", "random_state", "eta", "update", "eta_on"),
        "boosting in which η sets how fast the target's weights grow beside the sources'; learner, η and a guard are "
        "chosen on left-out target examples",
    ),
    "MultiSource": Method(
        "MultiSourceTrAdaBoostClassifier", _BOOSTED, "each round boosts with the source that helps the target most"
    ),
    "TrAdaBoost": Method(
        "TrAdaBoostClassifier", _BOOSTED, "all sources as one; rows of theirs that are predicted wrongly lose weight"
    ),
    "TaskTrAdaBoost": Method(
        "TaskTrAdaBoostClassifier", _BOOSTED, "learns from each source alone, then picks among those learners"
    ),
    "Multi-KT": Method("MultiKTClassifier", (), "a kernel machine that starts from the sources' models"),
    "Transfer forest": Method(
        "TransferForestClassifier", ("random_state",), "trees whose splits serve target and sources at once"
    ),
}


@dataclass(frozen=True)
class Choice:
    """What the person chose.

    Attributes
    ----------
    target : str
        Domain to learn for.
    sources : tuple of str
        Domains to learn from.
    label : str or None
        The one class that is told from the others; None for all classes.
    examples : int
        Labelled examples of each class in the target.
    corrupted : (str, float) or None
        A source and the share of its labels that are flipped.
    eta : str or float
        "auto", "linear", "squared" or a number.
    update, eta_on : str, str or None
        See `hetcore.WeightedMultiSourceTrAdaBoostClassifier`.
    n_iterations, max_depth, seed : int
        Rounds, depth of the trees, seed of the choice of examples and of training.
    """

    target: str
    sources: tuple[str, ...]
    label: str | None = None
    examples: int = 3
    corrupted: tuple[str, float] | None = None
    eta: str | float = "auto"
    update: str = "exponential"
    eta_on: str | None = None
    n_iterations: int = 30
    max_depth: int = 1
    seed: int = 0


# Data -----------------------------------------------------------------------------------------------------------------


def why_not(data: HetData) -> str:
    """Say in one sentence why the data hold no domains, empty if they do."""
    if len(data.sources) < 2:
        return "Transfer needs a target and a source: these data have a single table."
    if data.target_kind != "classification":
        return "Transfer tells classes apart: these data have no classes as labels."
    if (data.mask.sum(axis=0) > 1).mean() > MOST_SHARED:
        return "These tables describe the same instances: transfer needs the same columns in tables of different rows."
    if not set.intersection(*(set(source.columns) for source in data.sources.values())):
        return "These tables share no column: transfer needs tables with the same columns."
    return ""


def _labels(data: HetData, name: str) -> list[str]:
    return [str(label) for label in data.y[data.rows(name)] if label is not None]


def first_target(data: HetData) -> str:
    """Return the domain that is called the target, else the first."""
    return next((name for name in data.source_names if "target" in name.lower()), data.source_names[0])


def first_class(data: HetData) -> str | None:
    """Return the first class with `ENOUGH` rows in every domain, else the one of which the poorest domain has most."""
    counts = {c: min(_labels(data, name).count(c) for name in data.source_names) for c in data.classes}
    # More rows than enough do not make a class better, so that the first of the good ones is taken.
    best = max(counts, key=lambda c: min(counts[c], ENOUGH))
    return best if counts[best] > 1 else None


def examples_possible(data: HetData, target: str, label: str | None) -> int:
    """Return how many examples of each class the target can give and still be scored, at most the last of `SIZES`."""
    labels = _labels(data, target)
    counts = [labels.count(c) for c in (data.classes if label is None else [label])]
    # One is left to be scored, and so many that the curve is still measured soon.
    return min(max(min((n for n in counts if n), default=1) - 1, 1), SIZES[-1])


def problem(data: HetData, choice: Choice) -> str:
    """Say in one sentence why a choice cannot be trained, empty if it can."""
    if not choice.sources:
        return "No source is in use: choose at least one domain to learn from."
    labels = _labels(data, choice.target)
    if choice.label is not None and choice.label not in labels:
        return (
            f"No row of {shown(choice.target)} is of the class {shown(choice.label)}: choose another class or target."
        )
    # A target of one class has nothing to tell apart, whatever the sources hold.
    if len(set(labels)) < 2:
        return f"The labels of {shown(choice.target)} hold no two classes: label more rows, or choose another target."
    return ""


def operations(data: HetData, choice: Choice) -> list[dict[str, Any]]:
    """Return the what-if operations of a choice, see `studio.scenarios`."""
    used = {choice.target, *choice.sources}
    # In the order of the data, so that equal choices make equal operations.
    done: list[dict[str, Any]] = [{"op": "drop_source", "name": n} for n in data.source_names if n not in used]
    if choice.label is not None:
        done.append({"op": "one_class", "label": choice.label, "seed": choice.seed})
    done.append({"op": "target_labels", "name": choice.target, "count": choice.examples, "seed": choice.seed})
    if choice.corrupted is not None and choice.corrupted[1] > 0 and choice.corrupted[0] in choice.sources:
        name, share = choice.corrupted
        done.append({"op": "flip_source_labels", "name": name, "share": float(share), "seed": choice.seed})
    return done


def sizes_of(data: HetData, choice: Choice) -> tuple[int, int]:
    """Return the labelled rows of the target and of its sources, n_T and n_S, after the operations of a choice."""
    scenario = scenarios.apply(data, operations(data, choice))
    known = forms.known(scenario.y)
    rows = {name: int(known[scenario.data.rows(name)].sum()) for name in scenario.data.source_names}
    return rows[choice.target], sum(rows.values()) - rows[choice.target]


def eta_marks(n_target: int, n_source: int) -> dict[str, float]:
    """Return what the paper's two formulas give for η, by their names on the page."""
    found = eta_formulas(n_target, n_source)
    return {"100 n_T / n_S": found["linear"], "100 n_T² / n_S": found["squared"]}


# Settings -------------------------------------------------------------------------------------------------------------


def settings(
    data: HetData, choice: Choice, methods: Iterable[str], before: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Setting]:
    """Return the setting of each method, by its name on the page.

    Parameters
    ----------
    data : HetData
        After the operations before the page's own.
    choice : Choice
    methods : iterable of str
        Names in `METHODS`.
    before : sequence of mappings
        Operations before the page's own.
    """
    done = [*map(dict, before), *operations(data, choice)]
    form = {"form": "domains", "target": choice.target}
    return {name: Setting(METHODS[name].estimator, _params(name, choice, data), done, form=form) for name in methods}


def _params(method: str, choice: Choice, data: HetData) -> dict[str, Any]:
    offered = {
        "n_iterations": choice.n_iterations, "max_depth": choice.max_depth, "random_state": choice.seed,
        "eta": choice.eta, "update": choice.update, "eta_on": choice.eta_on,
    }  # fmt: skip
    names = [name for name in data.source_names if name in choice.sources and name != choice.target]
    return {key: offered[key] for key in METHODS[method].takes} | {"domain_names": names}


# Predictions ----------------------------------------------------------------------------------------------------------


def side_by_side(predictions: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the target's scored rows with what each method says, those that most methods get wrong first.

    Parameters
    ----------
    predictions : mapping of str to DataFrame
        By method, see `studio.jobs.results.RunResult`; over the same rows.
    """
    table = None
    for name, frame in predictions.items():
        predicted = frame.drop_nulls("held_out").select("id", truth="held_out", **{shown(name): pl.col("prediction")})
        # By id, for methods may keep rows in orders of their own.
        more = predicted.drop("truth")
        table = predicted if table is None else table.join(more, on="id", how="left", maintain_order="left")
    if table is None:
        return pl.DataFrame()
    # Stable, so that rows that are equally wrong keep their order.
    wrong = pl.sum_horizontal(pl.col(c) != pl.col("truth") for c in table.columns[2:])
    return table.with_columns(wrong.alias("wrong")).sort("wrong", descending=True, maintain_order=True)
