"""Rules of a verdict: two methods compared at every place at which both ran, over the seeds that both ran.

A place is one combination of all parts of a key but the method and the seed.

    {ours = "as printed", theirs = "SVM, joined", says = "below"}    lower mean; or "above"
    {..., says = "alike"}                                            means within two standard errors
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

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from experiments.experiment import Experiment

__all__ = ["SAYS", "Finding", "finding"]

NAMES = {
    "nll": "negative log-likelihood",
    "coverage90": "share within the 90% interval",
    "quality": "rank correlation of graph weights and quality",
}
"""What a reader calls a measure."""
TOO_FEW = 2.0  # standard errors
Values = tuple[NDArray[np.float64], NDArray[np.float64]]
Places = dict[tuple[Any, ...], Values]


class Finding(NamedTuple):
    """How often a rule holds.

    Attributes
    ----------
    words : str
    held, places : int
        In how many of how many places.
    beside : bool
        It is no part of what the paper claims.
    claim : int
        Number of the sentence of the claim that it is about, from 1 on.
    ours : str
        The method that is judged.
    """

    words: str
    held: int
    places: int
    beside: bool = False
    claim: int = 1
    ours: str = ""

    @property
    def told(self) -> str:
        """The words without the method's name."""
        return self.words.removeprefix(f"{self.ours}: ")


def finding(experiment: Experiment, cells: pl.DataFrame, rule: Mapping[str, Any]) -> Finding:
    """Return what the finished cells say to a rule; with no place where nothing ran that it compares."""
    measure = rule.get("measure", experiment.figure.get("y", "error"))
    kept = _where(cells, rule.get("where", {}))
    told, held, places = SAYS[rule["says"]](experiment, kept, rule, measure)
    name = _name(experiment, measure)
    words = f"{rule['ours']}: {told.format(name=name)}{_at(rule.get('where', {}))}"
    return Finding(words, held, places, rule.get("beside", False), rule.get("claim", 1), rule["ours"])


def _name(experiment: Experiment, measure: str) -> str:
    """Return a measure's name without its unit."""
    if measure == experiment.figure.get("y", "error"):
        measure = experiment.figure.get("y_title", measure).split(",")[0]
    return NAMES.get(measure, measure.replace("_", " "))


def _where(cells: pl.DataFrame, wanted: Mapping[str, Any]) -> pl.DataFrame:
    for part, value in wanted.items():
        cells = cells.filter(pl.col(part).is_in(value if isinstance(value, list) else [value]))
    return cells


def _at(wanted: Mapping[str, Any]) -> str:
    said = ""
    for part, value in wanted.items():
        values = value if isinstance(value, list) else [value]
        said += f", {part.replace('_', ' ')} {', '.join(map(str, values))}"
    return said


def _places(experiment: Experiment) -> list[str]:
    return [part for part in experiment.cells if part not in ("method", experiment.seed)]


def _by_place(experiment: Experiment, cells: pl.DataFrame, rule: Mapping[str, Any], measure: str) -> Places:
    """Return the values of both methods at each place, over the seeds that both ran; a number stands for theirs."""
    if measure not in cells.columns:
        return {}
    both, other = cells.filter(pl.col("method") == rule["ours"]), f"{measure} of theirs"
    if "theirs" in rule:
        theirs = cells.filter(pl.col("method") == rule["theirs"])
        both = both.join(theirs, on=[*_places(experiment), experiment.seed], how="inner", suffix=" of theirs")
    else:
        both = both.with_columns(pl.lit(float(rule["than"])).alias(other))
    both = both.drop_nulls([measure, other]).with_columns(pl.col(other) * rule.get("factor", 1.0))
    groups = both.group_by(_places(experiment), maintain_order=True) if _places(experiment) else [((), both)]
    return {key: tuple(group[c].to_numpy().astype(float) for c in (measure, other)) for key, group in groups}


Said = tuple[str, int, int]


def _compared(experiment: Experiment, cells: pl.DataFrame, rule: Mapping[str, Any], measure: str) -> Said:
    found = list(_by_place(experiment, cells, rule, measure).values())
    way = 1.0 if rule["says"] == "above" else -1.0
    held = sum(bool(way * (ours - theirs).mean() > 0) for ours, theirs in found)
    words = "higher" if way > 0 else "lower"
    return f"{words} {{name}} than {_other(rule)} in {held} of {len(found)} places{_by(found)}", held, len(found)


def _other(rule: Mapping[str, Any]) -> str:
    times = f"{rule['factor']:g} times " if "factor" in rule else ""
    return f"{times}{rule['theirs']}" if "theirs" in rule else f"{rule['than']:g}"


def _by(found: list[Values]) -> str:
    """Return the two means of a single place, or by how much of theirs ours is off on average over several."""
    means = [(ours.mean(), theirs.mean()) for ours, theirs in found]
    if len(means) == 1:
        return f" ({means[0][0]:.4g} against {means[0][1]:.4g})"
    if not means or min(theirs for _, theirs in means) <= 0:
        return ""
    off = float(np.mean([ours / theirs - 1.0 for ours, theirs in means]))
    if off > 9.0:
        return " (more than ten times higher on average)"
    return f" ({abs(off):.1%} {'higher' if off > 0 else 'lower'} on average)"


def _alike(experiment: Experiment, cells: pl.DataFrame, rule: Mapping[str, Any], measure: str) -> Said:
    gaps = [ours - theirs for ours, theirs in _by_place(experiment, cells, rule, measure).values()]
    errors = [gap.std(ddof=1) / np.sqrt(gap.size) if gap.size > 1 else 0.0 for gap in gaps]
    held = sum(bool(abs(gap.mean()) <= TOO_FEW * error) for gap, error in zip(gaps, errors))
    return f"the same {{name}} as {_other(rule)} in {held} of {len(gaps)} places", held, len(gaps)


def _about(experiment: Experiment, cells: pl.DataFrame, rule: Mapping[str, Any], measure: str) -> Said:
    means = [float(ours.mean()) for ours, _ in _by_place(experiment, cells, rule, measure).values()]
    held = sum(abs(mean - rule["than"]) <= rule["within"] for mean in means)
    came = f" ({', '.join(f'{mean:.4g}' for mean in means)})" if len(means) < 5 else ""
    return f"{{name}} about {rule['than']:g} in {held} of {len(means)} places{came}", held, len(means)


def _leads(experiment: Experiment, cells: pl.DataFrame, rule: Mapping[str, Any], measure: str) -> Said:
    """Compare the lead at both ends of the axis, by panel; a lead is what ours is better by."""
    x, way = experiment.figure["x"], 1.0 if rule.get("better") == "above" else -1.0
    leads: dict[tuple[Any, ...], dict[Any, float]] = {}
    for key, (ours, theirs) in _by_place(experiment, cells, rule, measure).items():
        at = dict(zip(_places(experiment), key))
        panel = tuple(value for part, value in at.items() if part != x)
        leads.setdefault(panel, {})[at[x]] = way * float((ours - theirs).mean())
    ends = [(by[min(by)], by[max(by)]) for by in leads.values() if len(by) > 1]
    shrinks, places = rule["says"] == "narrows", sorted({place for by in leads.values() for place in by})
    held = sum(max(end) > 0 and end[0] != end[1] and (end[0] > end[1]) is shrinks for end in ends)
    came = f" ({ends[0][0]:.3g} to {ends[0][1]:.3g})" if len(ends) == 1 else ""
    axis = experiment.figure.get("x_title", x)
    between = f"from {places[0]:g} to {places[-1]:g} {axis}" if places else ""
    how = f"{'shrinks' if shrinks else 'grows'} {between} in {held} of {len(ends)} panels{came}"
    return f"a lead in {{name}} over {_other(rule)} that {how}", held, len(ends)


def _cuts(experiment: Experiment, cells: pl.DataFrame, rule: Mapping[str, Any], measure: str) -> Said:
    found = _by_place(experiment, cells, rule, measure).values()
    cut = max((1.0 - ours.mean() / theirs.mean() for ours, theirs in found), default=float("nan"))
    words = f"{{name}} lower than that of {rule['theirs']} by {max(cut, 0.0):.0%} at best, {rule['than']:.0%} said"
    return words, int(cut >= rule["than"]), int(bool(found))


SAYS: dict[str, Callable[..., Said]] = {
    "below": _compared, "above": _compared, "alike": _alike, "about": _about, "narrows": _leads, "widens": _leads,
    "cuts": _cuts,
}  # fmt: skip
"""What a rule can say, by its word."""
