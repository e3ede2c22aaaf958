"""Tables of HGBM beside its peers, from finished cells: likelihood, error and intervals of numbers; flipped classes.

python -m experiments.noise.spread_tables hgbm-uncertainty --results docs/results
python -m experiments.noise.spread_tables hgbm-classes --results docs/results

Differences are means over the splits that both methods have, with the standard error of that mean; in brackets how many
splits. A place is lost where the other's mean is better; a tie is within two standard errors.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from experiments.runner import outcome
from hetcore.numerics import standard_error

__all__ = ["classes_table", "main", "numbers_table"]

OURS, PLAIN = "HGBM", "CatBoost, squared error"
NEAR, WIDTH = 1.01, 0.03  # of CatBoost's error; of the share that intervals hold
SEEN = 2.0  # standard errors
WON_OR_TIED = {"CatBoost": 0.6, "GBM, ten members": 0.8}  # bars: shares of the places
FOUND, FOUND_SHARE = 0.6, 0.2  # average precision of the flipped rows, where so many are flipped


def _paired(cells: pl.DataFrame, other: str, measure: str, place: Mapping[str, Any]) -> tuple[NDArray, NDArray]:
    """Return what ours and the other have at a place, by the splits of both."""
    rows = cells.filter(*(pl.col(name) == value for name, value in place.items()))
    ours, theirs = (
        rows.filter(pl.col("method") == name).drop_nulls(measure).select("split", measure) for name in (OURS, other)
    )
    both = ours.join(theirs, on="split", suffix="_of_other")
    return both[measure].to_numpy(), both[f"{measure}_of_other"].to_numpy()


def numbers_table(cells: pl.DataFrame) -> str:
    """Return a row for each set of `experiments.calibration`, and how many sets reach each bar.

    Parameters
    ----------
    cells : DataFrame
        Columns "data", "method", "split", "nll", "rmse", "coverage90".
    """
    peers = [name for name in cells["method"].unique(maintain_order=True) if name not in (OURS, PLAIN)]
    reached, rows = np.zeros(4, int), []
    names = cells.filter(pl.col("method") == OURS)["data"].unique(maintain_order=True).to_list()
    for name in names:
        own = cells.filter(pl.col("data") == name, pl.col("method") == OURS)
        pairs = [_paired(cells, peer, "nll", {"data": name}) for peer in peers]
        gaps, errors = [_gap(*pair) for pair in pairs], [standard_error(pair[1] - pair[0]) for pair in pairs]
        ours, theirs = _paired(cells, PLAIN, "rmse", {"data": name})
        ratio, held = (ours.mean() / theirs.mean() if ours.size else np.nan), own["coverage90"].mean()
        behind = [gap < 0 and not gap >= -SEEN * error for gap, error in zip(gaps, errors)]
        reached += [all(not gap < 0 for gap in gaps), not any(behind), ratio <= NEAR, abs(held - 0.9) <= WIDTH]
        given = [_written(gap, error, pair[0].size) for gap, error, pair in zip(gaps, errors, pairs)]
        row = [name.removeprefix("noise_"), str(own.height), f"{own['nll'].mean():.2f}", *given, f"{ratio:.3f}"]
        rows.append([*row, f"{held:.3f}"])
    head = ["", "splits", "NLL of HGBM", *peers, "RMSE / CatBoost's", "90% intervals"]
    bars = "lowest NLL of all", "lowest or a tie", "RMSE within 1% of CatBoost's or below", "intervals within 3 points"
    counts = list(zip(bars, reached))[0 if peers else 2 :]
    summary = "; ".join(f"{bar} {count} of {len(names)}" for bar, count in counts)
    return f"{_markdown(head, rows)}\n{summary}.\n"


def classes_table(cells: pl.DataFrame) -> str:
    """Return a row for each set and share of `experiments.flips`, and at how many places HGBM is behind.

    Parameters
    ----------
    cells : DataFrame
        Columns "data", "method", "share", "split", "score" and "found".
    """
    peers = [name for name in cells["method"].unique(maintain_order=True) if name != OURS]
    behind, rows, all_found = {peer: np.zeros(3, int) for peer in peers}, [], []
    places = cells.filter(pl.col("method") == OURS).select("data", "share").unique(maintain_order=True)
    for place in places.sort("data", "share").iter_rows(named=True):
        own = cells.filter(*(pl.col(name) == value for name, value in place.items()), pl.col("method") == OURS)
        row = [place["data"], f"{place['share']:.1f}", str(own.height), f"{own['score'].mean():.3f}"]
        for peer in peers:
            ours, theirs = _paired(cells, peer, "score", place)
            gap, error = _gap(theirs, ours), standard_error(ours - theirs)
            behind[peer] += [ours.size > 0, gap < 0, gap < -SEEN * error]
            row.append(f"{100 * gap:+.1f} ± {100 * error:.1f}" if np.isfinite(error) else "")
        found = own["found"].mean() if "found" in own.columns else None
        rows.append([*row, "" if found is None else f"{found:.2f}"])
        all_found += [found] if found is not None and place["share"] == FOUND_SHARE else []
    head = ["", "flipped", "splits", "accuracy", *(f"less {peer}'s" for peer in peers), "flipped rows found"]
    summary = "; ".join(
        f"behind {peer} at {lost} of {n} places, beyond two standard errors at {seen}"
        for peer, (n, lost, seen) in behind.items()
    )
    bars = _bars(behind, all_found)
    return f"{_markdown(head, rows)}\n{summary}.\n" + (f"\n{bars}.\n" if bars else "")


def _written(gap: float, error: float, size: int) -> str:
    """Return a difference in words of a table; without an error where one split has both methods."""
    if not size:
        return ""
    return f"{gap:+.2f} ± {error:.2f} ({size})" if np.isfinite(error) else f"{gap:+.2f} ({size})"


def _bars(behind: Mapping[str, NDArray], found: list[float]) -> str:
    """Return the bars of classes, and what is reached of them."""
    reached = [
        f"{peer} {(n - seen) / n:.0%} of the places (bar {WON_OR_TIED[peer]:.0%})"
        for peer, (n, _, seen) in behind.items()
        if peer in WON_OR_TIED and n
    ]
    enough = sum(each >= FOUND for each in found)
    flipped = f"Average precision at {FOUND_SHARE:.0%} flipped {FOUND} or more on {enough} of {len(found)} sets"
    return f"wins or ties: {'; '.join(reached)}. {flipped}, {np.mean(found):.2f} on average" if found else ""


def _gap(ours: NDArray, theirs: NDArray) -> float:
    return float((theirs - ours).mean()) if ours.size else np.nan



def _markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main(arguments: list[str] | None = None) -> int:
    """Print the tables of experiments of the protocols "calibration" and "flips"."""
    parser = argparse.ArgumentParser("python -m experiments.noise.spread_tables", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", help="experiments, such as hgbm-uncertainty or hgbm-classes")
    parser.add_argument("--results", help="folder of the finished cells")
    args = parser.parse_args(arguments)
    for name in args.names:
        done = outcome(name, "full", args.results)
        table = classes_table if done.experiment.protocol == "flips" else numbers_table
        sys.stdout.write(f"{name}\n\n{table(done.cells)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
