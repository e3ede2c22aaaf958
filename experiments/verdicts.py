"""Verdicts: paired comparisons of two methods at every place, as numbers, and what they say of a claim.

A place is one combination of all parts of a key but the method and the seed. At each place the values of both methods
are paired by seed; a difference is seen there where its mean is beyond two standard errors, and with few seeds beyond
Student's 97.5% quantile of them (12.7 of two seeds, 4.3 of three, 2.8 of five), which is the larger of both.

    {ours = "as printed", theirs = "SVM, joined", says = "below"}    ours - theirs < 0; or "above"
    {..., says = "alike"}                                            no difference is seen, of five seeds or more
    {..., says = "no more"}                                          ours is not seen above; of five seeds or more
    {ours = "as printed", than = 0.09, says = "below"}               a number in the place of another method; or "above"
    {..., factor = 1.5}                                              1.5 times the other method's
    {ours = ..., or = ["another"], ...}                              the better of these methods at each place
    {ours = "as printed", than = 0.13, within = 0.03, says = "about"}    as near as that, all of what chance allows
    {ours = ..., theirs = ..., says = "narrows"}                     the lead is smaller at the right end of the axis;
                                                                     or "widens": it is larger there
    {ours = ..., theirs = ..., than = 0.8, says = "cuts"}            lower by that share or more at the best place
    {ours = ..., than = 0, says = "falls"}                           lower by more at the right end than at its best
    {ours = ..., theirs = ..., says = "varies"}                      varies more over the seeds
    {..., better = "above"}                                          "narrows", "widens": more of the measure is better
    {..., measure = "weight", where = {data = "mfeat"}}              another column than "error"; some places only
    {..., chosen = "lambda0"}                                        only cells of ours that chose it above 0
    {..., almost = 0.2}                                              a fifth of the places may miss: "in almost every"
    {..., claim = 2}                                                 about the second sentence of the claim
    {..., beside = true}                                             told, but no part of what the paper claims
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import t as student

from experiments.experiment import Experiment
from hetcore.numerics import standard_error

__all__ = ["HOLDS", "IN_PART", "NO", "NOT_RUN", "RULES", "Claim", "Comparison", "claims", "compare", "verdict"]

HOLDS, IN_PART, NO, NOT_RUN = "holds", "in part", "no", "not run"
STANDARD_ERRORS, CONFIDENCE = 2.0, 0.95
"""A difference is seen beyond this many standard errors, or beyond Student's quantile of this confidence if larger."""
ENOUGH = 5
"""Seeds without which nobody can say that two methods are alike."""

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
        lead; for "cuts" the share; for "falls" the fall; for "varies" of the deviations over the seeds), and the
        standard error of that mean; NaN where there is one seed, and for "varies".
    relative : float
        `difference` as a share of the other's mean; NaN where that has no meaning.
    held, against, places : int
        Places at which the difference is seen in the rule's favour, and against it; all.
    claim : int
        Number of the sentence of the claim, from 1 on.
    beside : bool
        It is no part of what the paper claims.
    spared : int
        Places that may miss.
    asked : float
        The share that "cuts" asks for.
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
    spared: int = 0
    asked: float = np.nan


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
    given : bool
        It holds by construction, so that cells are no evidence for it.
    """

    words: str
    place: str
    number: str
    verdict: str
    beside: str
    comparisons: tuple[Comparison, ...]
    why: str
    given: bool = False


def verdict(comparisons: Iterable[Comparison]) -> str:
    """Return "holds" where every place is seen in favour, "in part" where at least half are and fewer speak against.

    "no" else: where differences are seen the other way, or nothing can be seen.
    """
    found = list(comparisons)
    held, against, places = (sum(getattr(each, part) for each in found) for part in ("held", "against", "places"))
    # Nothing compared is nothing said: a claim that was not run is neither held nor refuted.
    if not places:
        return NOT_RUN
    # Every place and not their mean: one data set of large errors would decide for all.
    if all(each.held + each.spared >= each.places for each in found):
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
        given=number + 1 in experiment.by_construction,
    )


def _at(values: tuple[str, ...], number: int) -> str:
    return values[number] if number < len(values) else ""


def compare(experiment: Experiment, cells: pl.DataFrame, rule: Mapping[str, Any]) -> Comparison:
    """Return what the finished cells say to a rule; no place where nothing ran that it compares."""
    measure, methods = rule.get("measure", experiment.figure.get("y", "error")), [rule["ours"], *rule.get("or", ())]
    cells = _where(cells, rule.get("where", {}))
    by_method = [_by_place(experiment, _chosen(cells, rule), rule | {"ours": each}, measure) for each in methods]
    seen = _better(experiment, by_method, rule)
    # Five columns of the places' rows; without a place each is empty, and its mean NaN.
    differences, errors, held, against, relative = (
        (np.array(part, float) for part in zip(*seen)) if seen else [np.empty(0)] * 5
    )
    return Comparison(
        " or ".join(methods), _other(rule), rule["says"], measure=measure,
        difference=float(differences.mean()) if seen else np.nan,
        # Places are independent of one another: errors of their mean add up by squares.
        standard_error=float(np.sqrt((errors**2).sum()) / len(seen)) if seen else np.nan,
        relative=float(relative.mean()) if seen else np.nan,
        held=int(held.sum()), against=int(against.sum()), places=len(seen), claim=rule.get("claim", 1),
        beside=rule.get("beside", False),
        # A share, so that of the few places of a page all must hold.
        spared=int(rule.get("almost", 0.0) * len(seen) + 1e-9),
        asked=float(rule["than"]) if rule["says"] == "cuts" else np.nan,
    )  # fmt: skip


def _better(experiment: Experiment, by_method: list[Places], rule: Mapping[str, Any]) -> list[Seen]:
    """Return what is seen of the method that is the better one at each place, of those where all ran."""
    common = [key for key in by_method[0] if all(key in places for places in by_method)]
    found = [RULES[rule["says"]](experiment, {key: places[key] for key in common}, rule) for places in by_method]
    way = -1.0 if rule["says"] == "below" else 1.0
    return [max(at, key=lambda seen: way * seen[0]) for at in zip(*found)]


def _chosen(cells: pl.DataFrame, rule: Mapping[str, Any]) -> pl.DataFrame:
    """Return the cells without those of ours whose cross-validation left out what the rule is about."""
    if "chosen" not in rule or "chosen" not in cells.columns:
        return cells
    return cells.filter((pl.col("method") != rule["ours"]) | (pl.col("chosen").struct.field(rule["chosen"]) > 0))


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


class Mean(NamedTuple):
    """A mean, its standard error, and how far from 0 a difference has to be to be seen."""

    value: float
    error: float
    reach: float


def _mean(values: NDArray[np.float64]) -> Mean:
    """Return the mean of one value a seed; its error is NaN of a single value."""
    error = float(standard_error(values))
    # Of few seeds the standard error itself is a guess.
    quantile = float(student.ppf(0.5 + CONFIDENCE / 2, len(values) - 1)) if len(values) > 1 else np.nan
    return Mean(float(values.mean()), error, max(STANDARD_ERRORS, quantile) * error)


def _seen(difference: float, reach: float) -> bool:
    """Whether a difference is above 0 by more than chance reaches; never where nobody knows how far that is."""
    return bool(np.isfinite(reach) and difference > reach)


def _share(difference: float, other: float) -> float:
    return difference / other if other > 0 else np.nan


def _ordered(experiment: Experiment, places: Places, rule: Mapping[str, Any]) -> list[Seen]:
    # Errors are better when lower, scores when higher; the rule's word says which it speaks of.
    way, found = 1.0 if rule["says"] == "above" else -1.0, []
    for ours, theirs in places.values():
        gap, error, reach = _mean(ours - theirs)
        found.append((gap, error, _seen(way * gap, reach), _seen(-way * gap, reach), _share(gap, theirs.mean())))
    return found


def _alike(experiment: Experiment, places: Places, rule: Mapping[str, Any]) -> list[Seen]:
    """No difference, or ours is no more; of few seeds what is not seen says nothing, and counts for neither."""
    found = []
    for ours, theirs in places.values():
        gap, error, reach = _mean(ours - theirs)
        apart = _seen(gap if rule["says"] == "no more" else abs(gap), reach)
        found.append((gap, error, not apart and len(ours) >= ENOUGH, apart, _share(gap, theirs.mean())))
    return found


def _about(experiment: Experiment, places: Places, rule: Mapping[str, Any]) -> list[Seen]:
    """Within `within` of the other's with all that chance may add: noise is no nearness."""
    found = []
    for ours, theirs in places.values():
        gap, error, reach = _mean(ours - theirs)
        near, far = abs(gap) + reach <= rule["within"], _seen(abs(gap) - rule["within"], reach)
        found.append((gap, error, bool(near), far, _share(gap, theirs.mean())))
    return found


def _panels(experiment: Experiment, places: Places) -> list[dict[Any, Paired]]:
    """Return the values of both methods by the place on the axis, of each combination of the other parts."""
    x, panels = experiment.figure["x"], {}
    for key, pair in places.items():
        at = dict(zip(_parts(experiment), key))
        panels.setdefault(tuple(value for part, value in at.items() if part != x), {})[at[x]] = pair
    return [by for by in panels.values() if len(by) > 1]


def _leads(experiment: Experiment, places: Places, rule: Mapping[str, Any]) -> list[Seen]:
    """Compare the lead at both ends of the axis, by panel; a lead is what ours is better by."""
    way, sign = 1.0 if rule.get("better") == "above" else -1.0, 1.0 if rule["says"] == "widens" else -1.0
    found = []
    for by in _panels(experiment, places):
        first, last = (_mean(way * (ours - theirs)) for ours, theirs in (by[min(by)], by[max(by)]))
        # Ends of an axis have runs of their own, so that their errors are independent.
        change, reach = last.value - first.value, float(np.hypot(first.reach, last.reach))
        # A lead that was never one can't narrow.
        held = max(first.value, last.value) > 0 and _seen(sign * change, reach)
        found.append((change, float(np.hypot(first.error, last.error)), held, _seen(-sign * change, reach), np.nan))
    return found


def _falls(experiment: Experiment, places: Places, rule: Mapping[str, Any]) -> list[Seen]:
    """Look at how much lower ours is at the right end of the axis than at its best place, by panel."""
    found = []
    for by in _panels(experiment, places):
        means = {at: _mean(ours) for at, (ours, _) in by.items()}
        best, last = max(means.values()), means[max(by)]
        # As if the runs were others at each place: a fall has to stand out of what runs differ by.
        fall, reach = best.value - last.value, float(np.hypot(best.reach, last.reach))
        found.append((fall, float(np.hypot(best.error, last.error)), _seen(fall - rule["than"], reach), False, np.nan))
    return found


def _varies(experiment: Experiment, places: Places, rule: Mapping[str, Any]) -> list[Seen]:
    """Compare the deviations over the seeds, by the test of Pitman and Morgan, which pairs are made for."""
    found = []
    for ours, theirs in places.values():
        own, other = ours.std(ddof=1), theirs.std(ddof=1)
        # Sum and difference of two that vary alike do not correlate.
        correlation = np.corrcoef(ours + theirs, ours - theirs)[0, 1] if len(ours) >= ENOUGH else 0.0
        quantile = float(student.ppf(0.5 + CONFIDENCE / 2, max(len(ours) - 2, 1)))
        reach = quantile / np.sqrt(len(ours) - 2 + quantile**2)
        seen = _seen(correlation, reach), _seen(-correlation, reach)
        found.append((float(own - other), np.nan, *seen, _share(own - other, other)))
    return found


def _cuts(experiment: Experiment, places: Places, rule: Mapping[str, Any]) -> list[Seen]:
    """Look at the place where ours is lowest as a share of theirs: that share is reached, and a cut is seen."""
    shares = []
    for ours, theirs in places.values():
        gap, other = _mean(theirs - ours), theirs.mean()
        shares.append(Mean(*(_share(part, other) for part in gap)))
    if not shares:
        return []
    # The best place, as the papers say it: "by up to".
    cut, error, reach = max(shares)
    # Chance alone reaches any share somewhere; and a share that is merely not refuted is not reached.
    held = cut >= rule["than"] and _seen(cut, reach)
    return [(cut, error, held, _seen(rule["than"] - cut, reach), np.nan)]


RULES: dict[str, Callable[..., list[Seen]]] = {
    "below": _ordered, "above": _ordered, "alike": _alike, "no more": _alike, "about": _about, "narrows": _leads,
    "widens": _leads, "falls": _falls, "cuts": _cuts, "varies": _varies,
}  # fmt: skip
"""What a rule can say, by its word."""
