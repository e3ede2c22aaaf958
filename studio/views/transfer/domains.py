"""Domains of transfer: whether data hold some, what can be chosen among them, and the methods that learn from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from hetcore.data import HetData
from hetcore.data.plain import MOST_SHARED
from hetcore.data.text import quoted
from hetcore.transfer.linear_learner import ENOUGH as ENOUGH_CELLS
from hetcore.transfer.linear_learner import FAR_APART

__all__ = [
    "ALL", "BASELINE", "METHODS", "NONE", "SIZES", "Method", "examples_possible", "fewest_labels", "first_class",
    "first_target", "labels_of", "other_units", "why_not",
]  # fmt: skip

ALL, NONE = "all classes", "none"
"""Values of the page's choices: no single class, no corrupted source."""
SIZES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100)
"""Examples of each class at which accuracy is measured, as far as the target has them."""
TAKES_NUMBERS = (
    "This page tells classes apart; these labels are numbers: use Consensus, or TransferRegressor in Python."
)
ENOUGH = 20
"""Rows of a class in each domain that make a good example."""


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


def why_not(data: HetData) -> str:
    """Say in one sentence why the data hold no domains, empty if they do."""
    if len(data.sources) < 2:
        return "Transfer needs a target and a source: these data have a single table."
    if data.target_kind != "classification":
        return TAKES_NUMBERS if data.target_kind == "regression" else "Transfer needs labels: these data have none."
    if (data.mask.sum(axis=0) > 1).mean() > MOST_SHARED:
        return "These tables describe the same instances: transfer needs the same columns in tables of different rows."
    if not set.intersection(*(set(source.columns) for source in data.sources.values())):
        return "These tables share no column: transfer needs tables with the same columns."
    return ""


def labels_of(data: HetData, name: str) -> list[str]:
    """Return the known labels of a domain, as text."""
    return [str(label) for label in data.y[data.rows(name)] if label is not None]


def first_target(data: HetData) -> str:
    """Return the domain that is called the target, else the first."""
    return next((name for name in data.source_names if "target" in name.lower()), data.source_names[0])


def fewest_labels(data: HetData) -> str:
    """Return the domain with the fewest labels among those that can be a target: two classes, or else any label."""

    def last(name: str) -> tuple[bool, bool, int]:
        labels = labels_of(data, name)
        return len(set(labels)) < 2, not labels, len(labels)

    # Of equal ones the first that is named, here the one that is called the target.
    return min([first_target(data), *data.source_names], key=last)


def first_class(data: HetData) -> str | None:
    """Return the first class with `ENOUGH` rows in every domain, else the one of which the poorest domain has most."""
    counts = {c: min(labels_of(data, name).count(c) for name in data.source_names) for c in data.classes}
    # More rows than enough do not make a class better, so that the first of the good ones is taken.
    best = max(counts, key=lambda c: min(counts[c], ENOUGH))
    return best if counts[best] > 1 else None


def examples_possible(data: HetData, target: str, label: str | None) -> int:
    """Return how many examples of each class the target can give and still be scored, at most the last of `SIZES`."""
    labels = labels_of(data, target)
    counts = [labels.count(c) for c in (data.classes if label is None else [label])]
    # One is left to be scored, and so many that the curve is still measured soon.
    return min(max(min((n for n in counts if n), default=1) - 1, 1), SIZES[-1])


def other_units(data: HetData, target: str, sources: Sequence[str]) -> str:
    """Say in one sentence which column varies in some source as if in another unit than in the target; empty if none.

    Of columns of numbers with enough cells in both; the one that is furthest apart is named, the others are counted.
    """
    own, found = _deviations(data, target), []
    for name in sources:
        for column, there in _deviations(data, name).items():
            ratio = there / own.get(column, there)
            if max(ratio, 1.0 / ratio) > FAR_APART:
                found.append((max(ratio, 1.0 / ratio), column, name, ratio > 1.0))
    if not found:
        return ""
    times, column, name, more = max(found)
    wide, narrow = (name, target) if more else (target, name)
    others = f" (and {len(found) - 1} more like it)" if len(found) > 1 else ""
    varies = f"{quoted(column)} varies {times:,.0f} times as much in {quoted(wide)} as in {quoted(narrow)}{others}"
    return f"{varies}: if that is another unit, bring both to the same one, as not every method bears it."


def _deviations(data: HetData, name: str) -> dict[str, float]:
    """Return the deviation of each column of numbers that has enough cells and varies, by name."""
    source = data.sources[name]
    if source.frame is None:
        return {}
    numbers = source.frame.select(pl.col([c for c, kind in source.kinds.items() if kind == "real"]).cast(pl.Float64))
    finite = numbers.select(pl.all().replace([float("inf"), float("-inf")], None).fill_nan(None))
    found = {column.name: (column.count(), column.std()) for column in finite.iter_columns()}
    return {name: spread for name, (count, spread) in found.items() if count >= ENOUGH_CELLS and spread}
