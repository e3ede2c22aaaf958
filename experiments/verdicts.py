"""Verdicts: paired comparisons of two methods at every place, as numbers, and what they say of a claim.

A place is one combination of all parts of a key but the method and the seed. At each place the values of both methods
are paired by seed; a comparison is seen there where its mean is beyond two standard errors.

    {ours = "as printed", theirs = "SVM, joined", says = "below"}    ours - theirs < 0; or "above"
    {..., says = "alike"}                                            within two standard errors of 0
    {ours = "as printed", than = 0.09, says = "below"}               a number in the place of another method; or "above"
    {..., factor = 1.5}                                              1.5 times the other method's
    {ours = "as printed", than = 0.13, within = 0.03, says = "about"}
    {ours = ..., theirs = ..., says = "narrows"}                     the lead is smaller at the right end of the axis;
                                                                     or "widens": it is larger there
    {ours = ..., theirs = ..., than = 0.8, says = "cuts"}            lower by that share at the best of all places
    {..., better = "above"}                                          "narrows", "widens": more of the measure is better
    {..., measure = "weight", where = {data = "mfeat"}}              another column than "error"; some places only
    {..., claim = 2}                                                 about the second sentence of the claim
    {..., beside = true}                                             told, but no part of what the paper claims
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from experiments.experiment import Experiment
from hetcore.numerics import standard_error

__all__ = ["HOLDS", "IN_PART", "NO", "NOT_RUN", "RULES", "Claim", "Comparison", "claims", "compare", "verdict"]

HOLDS, IN_PART, NO, NOT_RUN = "holds", "in part", "no", "not run"
STANDARD_ERRORS = 2.0
"""A difference is seen beyond this many standard errors."""

Paired = tuple[NDArray[np.float64], NDArray[np.float64]]
Places = dict[tuple[Any, ...], Paired]


class Comparison(NamedTuple):
    """What the finished cells say to one rule.

    Attributes
    ----------
    ours, other : str
        The method that is judged; what it is compared with.
    says : str
        A key of `RULES`.
    measure : str
        Column of the cells.
    difference, standard_error : float
        Mean over the places of what the rule looks at (ours - theirs; for "narrows" and "widens" the change of the
        lead; for "cuts" the share), and the standard error of that mean; NaN where there is one seed.
    relative : float
        `difference` as a share of the other's mean; NaN where that has no meaning.
    held, against, places : int
        Places at which the difference is beyond two standard errors in the rule's favour, and against it; all.
    claim : int
        Number of the sentence of the claim, from 1 on.
    beside : bool
        It is no part of what the paper claims.
    """

    ours: str
    other: str
    says: str
    measure: str
    difference: float
    standard_error: float
    relative: float
    held: int
    against: int
    places: int
    claim: int = 1
    beside: bool = False


class Claim(NamedTuple):
    """One sentence of what a paper claims, where, the paper's own number, and what came of it.

    Attributes
    ----------
    words, place, number : str
    verdict, beside : str
        "holds", "in part", "no" or "not run": of the paper's own method as printed; of what stands beside it.
    comparisons : tuple of Comparison
    why : str
        Why it doesn't hold, or only in part; empty where the numbers say it all.
    """

    words: str
    place: str
    number: str
    verdict: str
    beside: str
    comparisons: tuple[Comparison, ...]
    why: str


def verdict(comparisons: Iterable[Comparison]) -> str:
    """Return "holds" where every place is seen in favour, "in part" where at least half are and fewer speak against.

    "no" else: where differences are beyond two standard errors the other way, or nothing can be seen.
    """
    found = list(comparisons)
    held, against, places = (sum(getattr(each, part) for each in found) for part in ("held", "against", "places"))
    # Nothing compared is nothing said: a claim that was not run is neither held nor refuted.
    if not places:
        return NOT_RUN
    # Every place and not their mean: one data set of large errors would decide for all.
    if held == places:
        return HOLDS
    return IN_PART if 2 * held >= places and held > against else NO


def claims(experiment: Experiment, cells: pl.DataFrame) -> list[Claim]:
    """Return each sentence of the claim with its verdict."""
    # An empty table has no columns that a rule could look for.
    rules = experiment.verdict.get("rules", ()) if cells.height else ()
    found = [each for each in (compare(experiment, cells, rule) for rule in rules) if each.places]
    return [_claim(experiment, number, [each for each in found if each.claim == number + 1])
            for number in range(len(experiment.claim))]  # fmt: skip


def _claim(experiment: Experiment, number: int, found: list[Comparison]) -> Claim:
    place, value, why = (_at(part, number) for part in (experiment.place, experiment.number, experiment.why))
    ours, beside = ([each for each in found if each.beside is flag] for flag in (False, True))
    words = experiment.claim[number]
    return Claim(
        words,
        place or experiment.part,
        value,
        verdict=verdict(ours),
        beside=verdict(beside),
        comparisons=tuple(found),
        why=why,
    )


def _at(values: tuple[str, ...], number: int) -> str:
    return values[number] if number < len(values) else ""


def compare(experiment: Experiment, cells: pl.DataFrame, rule: Mapping[str, Any]) -> Comparison:
    """Return what the finished cells say to a rule; no place where nothing ran that it compares."""
    measure = rule.get("measure", experiment.figure.get("y", "error"))
    places = _by_place(experiment, _where(cells, rule.get("where", {})), rule, measure)
    seen = RULES[rule["says"]](experiment, places, rule)
    # Five columns of the places' rows; without a place each is empty, and its mean NaN.
    differences, errors, held, against, relative = (
        (np.array(part, float) for part in zip(*seen)) if seen else [np.empty(0)] * 5
    )
    return Comparison(
        rule["ours"], _other(rule), rule["says"], measure=measure,
        difference=float(differences.mean()) if seen else np.nan,
        # Places are independent of one another: errors of their mean add up by squares.
        standard_error=float(np.sqrt((errors**2).sum()) / len(seen)) if seen else np.nan,
        relative=float(relative.mean()) if seen else np.nan,
        held=int(held.sum()), against=int(against.sum()), places=len(seen), claim=rule.get("claim", 1),
        beside=rule.get("beside", False),
    )  # fmt: skip


def _other(rule: Mapping[str, Any]) -> str:
    times = f"{rule['factor']:g} x " if "factor" in rule else ""
    return f"{times}{rule['theirs']}" if "theirs" in rule else f"{rule['than']:g}"


def _where(cells: pl.DataFrame, wanted: Mapping[str, Any]) -> pl.DataFrame:
    for part, value in wanted.items():
        cells = cells.filter(pl.col(part).is_in(value if isinstance(value, list) else [value]))
    return cells


def _parts(experiment: Experiment) -> list[str]:
    return [part for part in experiment.cells if part not in ("method", experiment.seed)]


def _by_place(experiment: Experiment, cells: pl.DataFrame, rule: Mapping[str, Any], measure: str) -> Places:
    """Return the values of both methods at each place, over the seeds that both ran; a number stands for theirs.

    A place with a single seed is left out: nothing can be said of its error.
    """
    # A column that came with a later protocol; older cells lack it.
    if measure not in cells.columns:
        return {}
    both, other, parts = cells.filter(pl.col("method") == rule["ours"]), f"{measure} of theirs", _parts(experiment)
    if "theirs" in rule:
        theirs = cells.filter(pl.col("method") == rule["theirs"])
        # Paired by seed: what a split is hard by falls out of the difference.
        both = both.join(theirs, on=[*parts, experiment.seed], how="inner", suffix=" of theirs")
    else:
        both = both.with_columns(pl.lit(float(rule["than"])).alias(other))
    # A cell that failed is null, and neither method is judged by it.
    both = both.drop_nulls([measure, other]).with_columns(pl.col(other) * rule.get("factor", 1.0))
    groups = both.group_by(parts, maintain_order=True) if parts else [((), both)]
    return {key: tuple(group[c].to_numpy().astype(float) for c in (measure, other)) for key, group in groups
            # One seed has no standard error, and would count as a place where nothing is seen.
            if group.height > 1}  # fmt: skip


Seen = tuple[float, float, bool, bool, float]
"""Of a place: difference, its standard error, seen in favour, seen against, difference as a share of the other's."""


def _mean(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return a mean and its standard error, NaN of a single value."""
    return float(values.mean()), float(standard_error(values))


def _seen(difference: float, error: float) -> bool:
    """Whether a difference is above 0 by more than two standard errors; never without a standard error."""
    return bool(np.isfinite(error) and difference > STANDARD_ERRORS * error)


def _share(difference: float, other: float) -> float:
    return difference / other if other > 0 else np.nan


def _ordered(experiment: Experiment, places: Places, rule: Mapping[str, Any]) -> list[Seen]:
    # Errors are better when lower, scores when higher; the rule's word says which it speaks of.
    way, found = 1.0 if rule["says"] == "above" else -1.0, []
    for ours, theirs in places.values():
        gap, error = _mean(ours - theirs)
        found.append((gap, error, _seen(way * gap, error), _seen(-way * gap, error), _share(gap, theirs.mean())))
    return found


def _alike(experiment: Experiment, places: Places, rule: Mapping[str, Any]) -> list[Seen]:
    """Within two standard errors, or `within`, of the other's."""
    found = []
    for ours, theirs in places.values():
        gap, error = _mean(ours - theirs)
        # Without a standard error near and far can't be told, and the place counts for neither.
        near = bool(np.isfinite(error) and abs(gap) <= STANDARD_ERRORS * error + rule.get("within", 0.0))
        found.append((gap, error, near, bool(np.isfinite(error)) and not near, _share(gap, theirs.mean())))
    return found


def _leads(experiment: Experiment, places: Places, rule: Mapping[str, Any]) -> list[Seen]:
    """Compare the lead at both ends of the axis, by panel; a lead is what ours is better by."""
    x, way = experiment.figure["x"], 1.0 if rule.get("better") == "above" else -1.0
    panels: dict[tuple[Any, ...], dict[Any, tuple[float, float]]] = {}
    for key, (ours, theirs) in places.items():
        at = dict(zip(_parts(experiment), key))
        panel = tuple(value for part, value in at.items() if part != x)
        panels.setdefault(panel, {})[at[x]] = _mean(way * (ours - theirs))
    sign, found = 1.0 if rule["says"] == "widens" else -1.0, []
    for by in (by for by in panels.values() if len(by) > 1):
        (first, first_error), (last, last_error) = by[min(by)], by[max(by)]
        # Ends of an axis have runs of their own, so that their errors are independent.
        change, error = last - first, float(np.hypot(first_error, last_error))
        # A lead that was never one can't narrow.
        leads = max(first, last) > 0
        found.append((change, error, leads and _seen(sign * change, error), _seen(-sign * change, error), np.nan))
    return found


def _cuts(experiment: Experiment, places: Places, rule: Mapping[str, Any]) -> list[Seen]:
    """Look at the place where ours is lowest as a share of theirs; reached where within two standard errors."""
    shares = []
    for ours, theirs in places.values():
        gap, error = _mean(theirs - ours)
        shares.append((_share(gap, theirs.mean()), _share(error, theirs.mean())))
    if not shares:
        return []
    # The best place, as the papers say it: "by up to".
    cut, error = max(shares)
    return [(cut, error, not _seen(rule["than"] - cut, error) and np.isfinite(error), _seen(rule["than"] - cut, error),
             np.nan)]  # fmt: skip


RULES: dict[str, Callable[..., list[Seen]]] = {
    "below": _ordered, "above": _ordered, "alike": _alike, "about": _alike, "narrows": _leads, "widens": _leads,
    "cuts": _cuts,
}  # fmt: skip
"""What a rule can say, by its word."""
