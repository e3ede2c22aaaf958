"""Print the fair fight: each arm's macro F1, accuracy and average precision, and how often the default is ahead.

python -m experiments 2wl-fair-fight --results docs/results      # run what is missing
python -m experiments.modalities docs/results                    # print what is there
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl

from experiments import outcome
from experiments.modalities.fair_fight import CHOOSING, METHODS, REPORTING
from hetcore.numerics import standard_error

__all__ = ["Against", "against", "main", "places", "printed"]

OURS, ALONE, RIVALS = METHODS[0], METHODS[1:3], METHODS[3:]
MEASURES = ("F1", "accuracy", "average_precision")


class Against(NamedTuple):
    """The default less another arm over the runs of both: their number, mean, and standard error (NaN of one run)."""

    runs: int
    mean: float
    error: float

    @property
    def lost(self) -> bool:
        """Whether the default is below by more than two standard errors; with a single run, below at all."""
        return self.mean < -2 * self.error if self.runs > 1 else self.mean < 0


def against(cells: pl.DataFrame, data: str, arm: str, measure: str) -> Against | None:
    """Return the default beside another arm on a data set, None without a common run."""
    here = cells.filter(pl.col("data") == data)
    ours, theirs = (here.filter(pl.col("method") == method) for method in (OURS, arm))
    # Paired by run: both arms had the same rows to learn and to be judged by.
    both = ours.join(theirs, on="run", suffix=" theirs")
    if not both.height:
        return None
    # All three measures are better when higher.
    less = (both[measure] - both[f"{measure} theirs"]).to_numpy()
    # One run has no spread, and no sentence may lean on it.
    return Against(len(less), float(less.mean()), float(standard_error(less)))


def printed(cells: pl.DataFrame, data: Iterable[str]) -> list[str]:
    """Return the lines of a table: a row for each data set and arm, means over its runs and their standard errors."""
    lines = ["| data | runs | arm | macro F1 | accuracy | average precision |\n|---|---|---|---|---|---|"]
    for name in data:
        for method in METHODS:
            own = cells.filter((pl.col("data") == name) & (pl.col("method") == method))
            if own.height:
                means = " | ".join(_mean(own[measure].to_numpy()) for measure in MEASURES)
                lines.append(f"| {name} | {own.height} | {method} | {means} |")
    return lines


def _mean(values: np.ndarray) -> str:
    error = f" ± {standard_error(values):.3f}" if len(values) > 1 else ""
    return f"{values.mean():.3f}{error}"


def places(cells: pl.DataFrame, data: Iterable[str], measure: str) -> tuple[int, int, int]:
    """Return in how many places the default's mean is not below, in how many it has not lost, and of how many.

    A place is a data set and a rival; see `Against.lost`.
    """
    found = [against(cells, name, rival, measure) for name in data for rival in RIVALS]
    # An arm that was not run on a data set is no place.
    found = [each for each in found if each is not None]
    return sum(each.mean >= 0 for each in found), sum(not each.lost for each in found), len(found)


def _beside_one(cells: pl.DataFrame, data: Iterable[str]) -> list[str]:
    """Return a sentence a data set: both modalities against the better one alone, by macro F1."""
    lines = []
    for name in data:
        found = [against(cells, name, arm, "F1") for arm in ALONE]
        if None not in found:
            # Against the better one alone: beating the worse one shows nothing.
            least = min(found, key=lambda each: each.mean)
            error = f" ± {least.error:.3f}" if least.runs > 1 else ""
            below = ", below it beyond two standard errors" if least.runs > 1 and least.lost else ""
            lines.append(f"- {name}: {least.mean:+.3f}{error}{below}")
    return lines


def main(results: str | None) -> None:
    """Print both halves."""
    cells = outcome("2wl-fair-fight", "full", results).cells
    for title, data in (("Reporting half", REPORTING), ("Choosing half", CHOOSING)):
        sys.stdout.write("\n".join([f"### {title}\n", *printed(cells, data), ""]) + "\n")
        for measure in MEASURES:
            above, kept, total = places(cells, data, measure)
            words = measure.replace("_", " ").replace("F1", "macro F1")
            sys.stdout.write(
                f"Not below a rival by {words}: {above} of {total} places, "
                f"{kept} of {total} with ties within two standard errors.\n"
            )
        sys.stdout.write("\n".join(["\nBoth modalities less the better one alone, macro F1:\n", ""]))
        sys.stdout.write("\n".join([*_beside_one(cells, data), "", ""]))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
