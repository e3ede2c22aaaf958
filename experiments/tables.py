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

COMPARISONS = 3
"""Comparisons that a row of the claims tells; the Papers page has all."""

COLUMNS = 10
"""Of a table; with more, data sets are rows."""


def listing() -> str:
    """Return a line for each experiment."""
    width = max(map(len, names()))
    return "".join(f"{name:{width}}  {info(name).part}: {info(name).title}\n" for name in names())


def claimed(outcomes: Iterable[Outcome], results: str | None = None) -> str:
    """Return a row for each sentence that a paper claims: where, its number, ours, the verdict."""
    outcomes = list(outcomes)
    # Counted first, so that a reader sees the misses before any row.
    counts = Counter(claim.verdict for each in outcomes for claim in each.claims)
    tally = ", ".join(f"{word}: {counts[word]}" for word in (HOLDS, IN_PART, NO, NOT_RUN) if counts[word])
    lines = [
        "# What the papers claim, and what came out here\n",
        f"Printed by `python -m experiments all{_where(results)} --claims`. A number under *ours* is the mean paired "
        "difference ± its standard error (and as a share of the other's), then in how many places it is beyond two "
        "standard errors in the claim's favour and against it. A place is a data set and a setting. A claim *holds* "
        "where that is so at every place, *in part* where it is at half of them and fewer speak against, else *no*. "
        "It is judged on the method as printed; what stands in for data that can't be had is beside the verdict or on "
        f"the Papers page.\n\n{tally}.",
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
        cells = [claim.place, claim.words, claim.number or "–", ours + more, f"**{claim.verdict}**{left}{stand_in}"]
        return "| " + " | ".join(cells) + " |"

    return row


def in_numbers(comparison: Comparison) -> str:
    """Return a comparison as its numbers."""
    c = comparison
    error = f" ± {c.standard_error:.2g}" if np.isfinite(c.standard_error) else ""
    share = f" ({c.relative:+.1%})" if np.isfinite(c.relative) else ""
    return f"{c.ours} − {c.other}: {c.difference:+.3g}{error}{share}, {c.held} for, {c.against} against of {c.places}"


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
