"""Experiments in Markdown: the list, and what each came to beside what its paper claims."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from experiments.drawing import means
from experiments.experiment import PAPERS, Experiment, info, names
from experiments.judging import Claim, Verdict, claims
from experiments.runner import Outcome

__all__ = ["claimed", "listing", "page", "section"]


def listing() -> str:
    """Return a line for each experiment."""
    width = max(map(len, names()))
    return "".join(f"{name:{width}}  {info(name).part}: {info(name).title}\n" for name in names())


def page(outcomes: Iterable[Outcome], results: str | None = None) -> str:
    """Return what several experiments came to, paper by paper."""
    where = f" --results {results}" if results else ""
    head = (
        "# The papers' figures and tables, here\n\n"
        f"Printed by `python -m experiments all{where} --table`; the same command without `--table` runs the "
        "cells that are missing. A number is a mean over the seeds, ± its standard error, [over how many seeds where "
        "not all ran].\n"
    )
    parts, paper = [head], ""
    for outcome in outcomes:
        if outcome.experiment.paper != paper:
            paper = outcome.experiment.paper
            parts.append(f"## {PAPERS[paper]}\n")
        parts.append(section(outcome))
    return "\n".join(parts)


def claimed(outcomes: Iterable[Outcome], results: str | None = None) -> str:
    """Return a table with one row for each sentence that a paper claims: ours as printed, our default, the verdict."""
    where = f" --results {results}" if results else ""
    parts: dict[bool, list[Outcome]] = {True: [], False: []}
    for each in outcomes:
        parts[each.experiment.beyond].append(each)
    outcomes, beyond = parts[False], parts[True]
    counts = {word: sum(claim.verdict.word == word for each in outcomes for claim in _claims(each)) for word in WORDS}
    said = ", ".join(f"{word}: {count}" for word, count in counts.items() if count)
    return (
        "## What the papers claim, and what came out here\n\n"
        f"Printed by `python -m experiments all{where} --claims`: a row for each sentence that a paper claims. "
        "The verdict is on the paper's method as printed: it holds where it does at every place, in part at more than "
        "a quarter of them. A place is a data set and a setting, a mean over the seeds; [papers.md](papers.md) has the "
        "numbers, and says what stands in for data or printed pages that were not at hand.\n\n"
        f"{said}.\n\n" + "\n".join(_by_paper(outcomes)) + "\n" + "\n".join(_to_show(beyond))
    )


WORDS = ("holds", "holds in part", "doesn't hold here", "not run yet")


def _claims(outcome: Outcome) -> list[Claim]:
    return claims(outcome.experiment, outcome.cells)


def _by_paper(outcomes: list[Outcome]) -> Iterable[str]:
    for paper, words in PAPERS.items():
        of = [outcome for outcome in outcomes if outcome.experiment.paper == paper]
        if not of:
            continue
        yield f"### {words}\n\n| part | the paper claims | ours as printed | ours, default | verdict |"
        yield "|---" * 5 + "|"
        for outcome in of:
            yield from (_row(outcome, claim) for claim in _claims(outcome))
        yield ""


def _to_show(outcomes: list[Outcome]) -> Iterable[str]:
    """Return rows for what goes beyond the papers."""
    if outcomes:
        yield "### Beyond the papers\n\n| method | to show | ours | beside | verdict |\n" + "|---" * 5 + "|"
        for outcome in outcomes:
            part = PAPERS[outcome.experiment.paper].split(": ", 1)[1]
            yield from (_row(outcome, claim, part) for claim in _claims(outcome))
        yield ""


def _row(outcome: Outcome, claim: Claim, part: str = "") -> str:
    left = f" ({outcome.cells.height:,} of {outcome.total:,} cells)" if outcome.cells.height < outcome.total else ""
    why = f" {claim.why}" if claim.why and claim.verdict.word in WORDS[1:3] else ""
    default = f"; the default: {claim.beside.word}" if claim.beside.findings and not part else ""
    cells = [part or outcome.experiment.part, claim.words, _found(claim.verdict), _found(claim.beside)]
    return "| " + " | ".join([*cells, f"**{claim.verdict.word}**{default}{left}.{why}"]) + " |"


def _found(verdict: Verdict) -> str:
    """Return the findings, method by method."""
    by: dict[str, list[str]] = {}
    for each in verdict.findings:
        by.setdefault(each.ours, []).append(each.told)
    return "; ".join(f"{ours}: {', '.join(told)}" for ours, told in by.items()) or "–"


def section(outcome: Outcome) -> str:
    """Return an experiment's claim, verdict and tables."""
    experiment = outcome.experiment
    claim = " ".join(experiment.claim)
    says = "To show" if experiment.beyond else "The paper"
    lines = [f"### {experiment.part}: {experiment.title}\n", f"*{says}:* {claim}\n"]
    lines += [f"*Here:* {experiment.note}\n"] if experiment.note else []
    lines.append(f"*Verdict* ({outcome.cells.height:,} of {outcome.total:,} cells): **{outcome.verdict.word}**.\n")
    lines += [f"- {finding.words}" + (" (no part of the claim)" if finding.beside else "") for finding in
              outcome.verdict.findings]  # fmt: skip
    lines += _whys(outcome)
    if outcome.cells.height:
        lines += ["", *_tables(experiment, outcome.cells)]
    return "\n".join(lines) + "\n"


def _whys(outcome: Outcome) -> list[str]:
    """Return why sentences of the claim don't hold, or only in part."""
    found = [claim.why for claim in _claims(outcome) if claim.why and claim.verdict.word in WORDS[1:3]]
    return ["", "*Why:* " + " ".join(dict.fromkeys(found))] if found else []


def _tables(experiment: Experiment, cells: pl.DataFrame) -> list[str]:
    measure = experiment.figure.get("y", "error")
    table = means(experiment, cells, measure)
    x = experiment.figure.get("x")
    panels = [part for part in experiment.cells if part not in ("method", x, experiment.seed)]
    groups = table.group_by(panels, maintain_order=True) if panels else [((), table)]
    lines = []
    for key, group in groups:
        name = " · ".join(str(part) for part in key)
        lines += ([f"{name}: {experiment.figure.get('y_title', measure)}\n"] if name else []) + _table(
            experiment, group, x
        )
    return lines


def _table(experiment: Experiment, table: pl.DataFrame, x: str | None) -> list[str]:
    places = sorted(set(table[x].to_list())) if x else [None]
    head = [f"| {experiment.figure.get('x_title', x or 'method')} | " + " | ".join(map(_place, places)) + " |"]
    rows = head + ["|---" * (1 + len(places)) + "|"]
    seeds = len(experiment.cells[experiment.seed])
    for method in experiment.cells.get("method", ()):
        own = table.filter(pl.col("method") == method)
        if own.height:
            found = {row[x] if x else None: row for row in own.iter_rows(named=True)}
            rows.append(f"| {method} | " + " | ".join(_cell(found.get(place), seeds) for place in places) + " |")
    return [*rows, ""]


def _place(value: Any) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _cell(row: dict[str, Any] | None, seeds: int) -> str:
    if row is None or row["mean"] is None:
        return "–"
    error = f" ± {row['error of the mean']:.2g}" if row["error of the mean"] is not None else ""
    return f"{row['mean']:.4g}{error}" + (f" [{row['count']}]" if row["count"] != seeds else "")
