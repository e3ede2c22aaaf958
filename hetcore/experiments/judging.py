"""An experiment's figure, and its verdict: holds, holds in part, doesn't hold here.

A place is one combination of all parts of a key but the method and the seed. A rule compares two methods at every place
at which both ran, over the seeds that both ran:

    {ours = "as printed", theirs = "SVM, joined", says = "below"}    lower mean; or "above", or
    {..., says = "alike"}                                            means within two standard errors
    {..., measure = "weight", where = {data = "mfeat"}}              another column than "error"; some places only
    {..., beside = true}                                             told, but no part of what the paper claims
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from hetcore import figures
from hetcore.experiments.experiment import Experiment

__all__ = ["Finding", "Verdict", "drawn", "judged", "means"]

WORDS = {"below": "lower", "above": "higher"}
UNCLEAR = "not run yet"
TOO_FEW = 2.0  # standard errors


class Finding(NamedTuple):
    """How often a rule holds: in `held` of `places`; `words` says it; `beside` is no part of the claim."""

    words: str
    held: int
    places: int
    beside: bool = False


class Verdict(NamedTuple):
    """ "holds", "holds in part", "doesn't hold here" or "not run yet", and the findings that say why."""

    word: str
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        return ". ".join([self.word.capitalize(), *(finding.words for finding in self.findings)]) + "."


def judged(experiment: Experiment, cells: pl.DataFrame) -> Verdict:
    """Return the verdict over the finished cells."""
    rules = experiment.verdict.get("rules", ())
    found = [_finding(experiment, cells, rule) for rule in rules] if cells.height else []
    found = [finding for finding in found if finding.places]
    counted = [finding for finding in found if not finding.beside]
    held, places = sum(finding.held for finding in counted), sum(finding.places for finding in counted)
    if not places:
        return Verdict(UNCLEAR, ())
    word = "holds" if held == places else "holds in part" if held > places / 4 else "doesn't hold here"
    return Verdict(word, tuple(found))


def _finding(experiment: Experiment, cells: pl.DataFrame, rule: Mapping[str, Any]) -> Finding:
    measure = rule.get("measure", experiment.figure.get("y", "error"))
    for part, value in rule.get("where", {}).items():
        cells = cells.filter(pl.col(part) == value)
    ours, theirs = (cells.filter(pl.col("method") == rule[side]) for side in ("ours", "theirs"))
    parts = [part for part in experiment.cells if part != "method"]
    both = ours.join(theirs, on=parts, how="inner", suffix=" of theirs").drop_nulls([measure, f"{measure} of theirs"])
    places = [part for part in parts if part != experiment.seed]
    gaps = [group[measure].to_numpy() - group[f"{measure} of theirs"].to_numpy() for _, group in both.group_by(places)]
    held = sum(_holds(gap, rule["says"]) for gap in gaps)
    name = experiment.figure.get("y_title", measure)
    than = f"the same {name} as" if rule["says"] == "alike" else f"{WORDS[rule['says']]} {name} than"
    where = "".join(f", {part.replace('_', ' ')} {value}" for part, value in rule.get("where", {}).items())
    words = f"{rule['ours']}: {than} {rule['theirs']} in {held} of {len(gaps)} places{where}"
    return Finding(words, held, len(gaps), rule.get("beside", False))


def _holds(gap: np.ndarray, says: str) -> bool:
    if says == "alike":
        error = gap.std(ddof=1) / np.sqrt(gap.size) if gap.size > 1 else 0.0
        return bool(abs(gap.mean()) <= TOO_FEW * error)
    return bool(gap.mean() < 0 if says == "below" else gap.mean() > 0)


def means(experiment: Experiment, cells: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Return mean, standard error and count over the seeds, by all other parts of the key."""
    parts = [part for part in experiment.cells if part != experiment.seed]
    error = pl.col(measure).std() / pl.col(measure).count().sqrt()
    return cells.group_by(parts, maintain_order=True).agg(
        pl.col(measure).mean().alias("mean"), error.alias("error of the mean"), pl.col(measure).count().alias("count")
    )


def drawn(experiment: Experiment, cells: pl.DataFrame) -> dict[str, Any] | None:
    """Return figures by panel: a line for each method over the x axis, or a bar for each method."""
    measure = experiment.figure.get("y", "error")
    if not cells.height or measure not in cells.columns:
        return None
    table = means(experiment, cells, measure)
    panels = [part for part in experiment.cells if part not in ("method", experiment.figure.get("x"), experiment.seed)]
    groups = table.group_by(panels, maintain_order=True) if panels else [((), table)]
    return {" · ".join(map(str, key)): _panel(experiment, group) for key, group in groups}


def _panel(experiment: Experiment, table: pl.DataFrame) -> dict[str, Any]:
    order = experiment.cells.get("method", [])
    y_title, x = experiment.figure.get("y_title", "error"), experiment.figure.get("x")
    if x is None:
        values = dict(zip(table["method"], table["mean"]))
        return figures.bars(values, y_title, order)
    places = sorted(set(table[x].to_list()))
    series = {name: _line(table.filter(pl.col("method") == name), x, places) for name in order}
    series = {name: line for name, line in series.items() if np.isfinite(line).any()}
    return figures.lines(places, series, experiment.figure.get("x_title", x), y_title, order=order)


def _line(table: pl.DataFrame, x: str, places: Sequence[Any]) -> np.ndarray:
    known = dict(zip(table[x], table["mean"]))
    return np.array([known.get(place, np.nan) for place in places], float)
