"""Experiments in Markdown: the list, a row for each claim, and the means behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from experiments.drawing import means
from experiments.experiment import PAPERS, Experiment, info, names
from experiments.runner import Outcome
from experiments.verdicts import HOLDS, IN_PART, NO, NOT_RUN, Claim, Comparison

__all__ = ["claimed", "in_numbers", "listing", "page"]

NO_CELLS = "not judged"
"""A claim of which cells ran, none of them of what it speaks of, or of one seed each."""

COMPARISONS = 3
"""Comparisons that a row of the claims tells; the Papers page has all."""

COLUMNS = 10
"""Of a table; with more, data sets are rows."""


def listing() -> str:
    """Return a line for each experiment."""
    width = max(map(len, names()))
    return "".join(f"{name:{width}}  {info(name).part}: {info(name).title}\n" for name in names())


HEAD = (
    "A number under *ours* is the mean paired difference ± its standard error (and as a share of the other's), then in "
    "how many places it is seen in the claim's favour and against it. A place is a data set and a setting. A "
    "difference is seen beyond two standard errors, or beyond Student's 97.5% quantile of them where seeds are few "
    "(12.7 of two, 4.3 of three, 2.8 of five). A claim *holds* where that is so at every place, *in part* where it is "
    'at half of them and fewer speak against, else *no*; "as much as" holds where that share is reached at the best '
    'place, "about" where chance adds nothing that would lead out of the bound. It is judged on the method as printed; '
    "what stands in for data that can't be had is beside the verdict or on the Papers page."
)


def claimed(outcomes: Iterable[Outcome], results: str | None = None) -> str:
    """Return a row for each sentence that a paper claims: where, its number, ours, the verdict."""
    outcomes = list(outcomes)
    lines = [
        "# What the papers claim, and what came out here\n",
        f"Printed by `python -m experiments all{_where(results)} --claims`. {HEAD}\n\n{_counted(outcomes)}",
    ]
    for paper, words in PAPERS.items():
        rows = [row for each in outcomes if each.experiment.paper == paper for row in map(_row(each), each.claims)]
        if rows:
            lines += [
                f"\n## {words}\n",
                "| place | the paper | its number | ours | verdict |\n" + "|---" * 5 + "|",
                *rows,
            ]
    return "\n".join(lines) + "\n"


def _counted(outcomes: list[Outcome]) -> str:
    """Return how many claims hold: of the papers, by construction, and of our own."""
    papers, ours = ([each for each in outcomes if each.experiment.beyond is beyond] for beyond in (False, True))
    given = sum(claim.given for each in outcomes for claim in each.claims)
    lines = [f"Of what the papers claim, {_tally(papers)}."]
    if given:
        lines.append(f"Not counted, for nothing that runs could refute them: {given} that hold by construction.")
    if ours:
        lines.append(f"Of what goes beyond the papers, {_tally(ours)}.")
    return "\n".join(lines)


def _tally(outcomes: Iterable[Outcome]) -> str:
    evidence = [(_word(each, claim), claim) for each in outcomes for claim in each.claims if not claim.given]
    counts = Counter(word for word, _ in evidence)
    words = {word: f"{word}: {counts[word]}" for word in (HOLDS, IN_PART, NO, NO_CELLS, NOT_RUN) if counts[word]}
    # What a few runs can't show is not refuted.
    if unseen := sum(word == NO and not _spoken_against(claim) for word, claim in evidence):
        words[NO] += f" (in {unseen} of them nothing is seen against it either)"
    return ", ".join(words.values()) or "nothing"


def _word(outcome: Outcome, claim: Claim) -> str:
    """Return the verdict; of cells that ran and can't be judged, that they are not."""
    return NO_CELLS if claim.verdict == NOT_RUN and outcome.cells.height else claim.verdict


def _spoken_against(claim: Claim) -> bool:
    return any(each.against for each in claim.comparisons if not each.beside)


def _where(results: str | None) -> str:
    return f" --results {results}" if results else ""


def _row(outcome: Outcome) -> Any:
    # A verdict on half of the cells says so in its own cell of the table.
    left = f" ({outcome.cells.height} of {outcome.total} cells)" if 0 < outcome.cells.height < outcome.total else ""
    stand_in = f"; {outcome.experiment.stand_in}" if outcome.experiment.stand_in else ""

    def row(claim: Claim) -> str:
        # The row is about the paper's own method; what stands beside it is on the page.
        printed = [each for each in claim.comparisons if not each.beside]
        ours = "; ".join(map(in_numbers, printed[:COMPARISONS])) or "–"
        more = f"; {len(printed) - COMPARISONS} more" if len(printed) > COMPARISONS else ""
        word = f"**{_word(outcome, claim)}**{' by construction' * claim.given}"
        # Where nothing can be judged, why is not in the numbers, of which there are none.
        why = f"; {claim.why}" if _word(outcome, claim) == NO_CELLS and claim.why else ""
        cells = [claim.place, claim.words, claim.number or "–", ours + more, f"{word}{left}{stand_in}{why}"]
        return "| " + " | ".join(cells) + " |"

    return row


def in_numbers(comparison: Comparison) -> str:
    """Return a comparison as its numbers."""
    c = comparison
    share = f" ({c.relative:+.1%})" if np.isfinite(c.relative) else ""
    if c.says == "cuts":
        # A share is told as one; the other differences are in the measure's unit.
        number, error = f"{c.difference:.1%}", f" ± {100 * c.standard_error:.2g}%"
    else:
        number, error = f"{c.difference:+.3g}", f" ± {c.standard_error:.2g}"
    number += (error if np.isfinite(c.standard_error) else "") + share
    return f"{_compared(c)}: {number}, {c.held} for, {c.against} against of {c.places}"


def _compared(c: Comparison) -> str:
    """Return what a number is of, with its measure where it is not the error."""
    measure = f" ({c.measure.replace('_', ' ')})" if c.measure != "error" else ""
    words = {
        "cuts": f"{c.ours}, share of {c.other} cut off, {c.asked:.0%} asked",
        "falls": f"{c.ours}, fall from its best",
        "narrows": f"{c.ours} against {c.other}, change of the lead",
        "widens": f"{c.ours} against {c.other}, change of the lead",
        "varies": f"{c.ours} − {c.other}, deviation over the seeds",
    }
    return words.get(c.says, f"{c.ours} − {c.other}") + measure


def page(outcomes: Iterable[Outcome], results: str | None = None) -> str:
    """Return the means of several experiments, paper by paper; what was not run is left out."""
    outcomes = list(outcomes)
    asked = " ".join(each.experiment.name for each in outcomes)
    head = (
        f"# Results\n\nPrinted by `python -m experiments{_where(results)} --table {asked}`; the same "
        "command without `--table` runs "
        "what "
        "is missing. A number is a mean over the seeds ± its standard error, [over how many seeds where not all ran].\n"
    )
    return "\n".join([head, *(_section(each) for each in outcomes if _is_measured(each))])


def _is_measured(outcome: Outcome) -> bool:
    """Whether there are cells with a number to take the mean of; a histogram's are lists."""
    measure = outcome.experiment.figure.get("y", "error")
    return measure in outcome.cells.columns and outcome.cells[measure].dtype.is_numeric()


def _section(outcome: Outcome) -> str:
    experiment, cells = outcome.experiment, outcome.cells
    measure = experiment.figure.get("y", "error")
    title = f"{PAPERS[experiment.paper].split(',')[0].split(':')[0]} et al., {experiment.part}: {experiment.title}"
    table = means(experiment, cells, measure)
    # What is the same in all rows is said once, above them.
    same = [f"{part} {_place(table[part][0])}" for part in _panels(experiment) if table[part].n_unique() == 1]
    head = f"### {title} ({experiment.figure.get('y_title', measure)})\n"
    return "\n".join([head, *([f"Everywhere: {', '.join(same)}.\n"] if same else []), *_table(experiment, table)])


def _panels(experiment: Experiment) -> list[str]:
    """Return the parts of a key that are neither the method, the axis nor the seed."""
    return [part for part in experiment.cells if part not in ("method", experiment.figure.get("x"), experiment.seed)]


def _table(experiment: Experiment, table: pl.DataFrame) -> list[str]:
    """Return one table: a row for each method, a column for each place of the axis, of each data set while they fit."""
    x, seeds = experiment.figure.get("x"), len(experiment.cells[experiment.seed])
    panels = [part for part in _panels(experiment) if table[part].n_unique() > 1]
    # Data sets side by side, for they are what a reader compares first.
    across = [*(["data"] if "data" in panels else []), *([x] if x else [])]
    places = set(zip(*(table[part] for part in across))) if across else {()}
    # A wider table wraps in a browser, and its rows can't be followed.
    if "data" in across and len(places) > COLUMNS:
        across.remove("data")
        places = {place[1:] for place in places}
    data = experiment.cells.get("data", [])
    # In the file's order, which goes from the paper's first data set to its last.
    places = sorted(places, key=lambda place: [at if part == x else data.index(at) for part, at in zip(across, place)])
    down = [*(part for part in panels if part not in across), "method"]
    words = f"method, {experiment.figure.get('x_title', x)}" if x else "method"
    rows = [f"| {words} | " + " | ".join(" · ".join(map(_place, place)) or "mean" for place in places) + " |"]
    rows.append("|---" * (1 + len(places)) + "|")
    for key, group in table.group_by(down, maintain_order=True):
        found = {tuple(row[part] for part in across): row for row in group.iter_rows(named=True)}
        cells = [_cell(found.get(at), seeds) for at in places]
        rows.append(f"| {' · '.join(map(str, key))} | {' | '.join(cells)} |")
    return [*rows, ""]


def _place(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _cell(row: dict[str, Any] | None, seeds: int) -> str:
    # Not run, or run and failed: neither has a number, and a 0 would be one.
    if row is None or row["mean"] is None:
        return "–"
    # Two digits: of so few seeds a third would be noise.
    error = f" ± {row['error of the mean']:.2g}" if row["error of the mean"] is not None else ""
    return f"{row['mean']:.4g}{error}" + (f" [{row['count']}]" if row["count"] != seeds else "")
