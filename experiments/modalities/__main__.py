"""Print the fair fight: each arm's macro F1, accuracy and average precision, and how often the default is ahead.

python -m experiments 2wl-fair-fight --results docs/results      # run what is missing
python -m experiments.modalities docs/results                    # print what is there
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

import polars as pl

from experiments import outcome
from experiments.modalities.fair_fight import CHOOSING, METHODS, REPORTING

__all__ = ["ahead", "main", "printed"]

OURS, RIVALS = METHODS[0], METHODS[3:]
MEASURES = ("F1", "accuracy", "average_precision")


def printed(cells: pl.DataFrame, data: Iterable[str]) -> list[str]:
    """Return the lines of a table: a row for each data set and arm, means over its runs."""
    lines = ["| data | runs | arm | macro F1 | accuracy | average precision |\n|---|---|---|---|---|---|"]
    for name in data:
        for method in METHODS:
            own = cells.filter((pl.col("data") == name) & (pl.col("method") == method))
            if own.height:
                means = " | ".join(f"{own[measure].mean():.3f}" for measure in MEASURES)
                lines.append(f"| {name} | {own.height} | {method} | {means} |")
    return lines


def ahead(cells: pl.DataFrame, data: Iterable[str], measure: str) -> tuple[int, int]:
    """Return in how many places the default's mean is not below the rival's, over the runs of both; and of how many.

    A place is a data set and a rival.
    """
    count = total = 0
    for name in data:
        here = cells.filter(pl.col("data") == name)
        ours = here.filter(pl.col("method") == OURS)
        for rival in RIVALS:
            both = ours.join(here.filter(pl.col("method") == rival), on="run", suffix=" theirs")
            if both.height:
                total += 1
                count += bool(both[measure].mean() >= both[f"{measure} theirs"].mean())
    return count, total


def main(results: str | None) -> None:
    """Print both halves."""
    cells = outcome("2wl-fair-fight", "full", results).cells
    for title, data in (("Reporting half", REPORTING), ("Choosing half", CHOOSING)):
        sys.stdout.write("\n".join([f"### {title}\n", *printed(cells, data), ""]) + "\n")
        for measure in MEASURES:
            count, total = ahead(cells, data, measure)
            words = measure.replace("_", " ").replace("F1", "macro F1")
            sys.stdout.write(f"Not below a rival by {words}: {count} of {total} places.\n")
        sys.stdout.write("\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
