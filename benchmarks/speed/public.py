"""Seconds of `fit` and `predict` of every public estimator, beside the peers that one would use in its place.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 HETCORE_DATA=../shared/data python -m benchmarks.speed.public
    python -m benchmarks.speed.public deviation ratings --sizes 2      # some contests, the two smaller sizes
    python -m benchmarks.speed.public --list

From HetData or arrays to predictions, with the defaults of every library, everything compiled and loaded by a run of
the smallest size before. Seconds are of the processor, one thread; ours and the peers take turns; medians of three,
one where a fit takes over two seconds. "times the fastest" is fit and prediction together, over those of the fastest
peer; "at no worse error" over those of the fastest peer that errs at most a hundredth more than ours, a dash where
none does. The aim, at most 1.0 of the fastest peer at no worse error, is met where that is a dash or at most 1.0.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import time
import warnings
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from benchmarks.speed.public_contests import CONTESTS, Contest, Rival, missing
from benchmarks.speed.public_data import Problem
from hetcore.kernels.warm import warm_up

__all__ = ["Row", "Taken", "measured", "rows_of", "summary"]

REPEATS, LONG = 3, 2.0
SLACK = 1.01  # an error within a hundredth is no worse
HEADS = "estimator", "size", "fit, s", "predict, s", "error"
COLUMNS = *HEADS, "times the fastest", "at no worse error", "peers: s, error"


class Taken(NamedTuple):
    """Seconds of a fit and of a prediction, and their error."""

    fit: float
    predict: float
    error: float

    @property
    def seconds(self) -> float:
        """Return both together."""
        return self.fit + self.predict


class Row(NamedTuple):
    """An estimator at a size beside its peers."""

    name: str
    size: int
    taken: Taken
    peers: Mapping[str, Taken]

    @property
    def fastest(self) -> float:
        """Return how many times the fastest peer's seconds ours are."""
        return self.taken.seconds / min(each.seconds for each in self.peers.values())

    @property
    def no_worse(self) -> float | None:
        """Return how many times those of the fastest peer that errs no more than ours; None where all err more."""
        bar = self.taken.error + (SLACK - 1.0) * abs(self.taken.error)
        seconds = [each.seconds for each in self.peers.values() if each.error <= bar]
        return self.taken.seconds / min(seconds) if seconds else None

    @property
    def met(self) -> bool:
        """Return whether ours takes at most as long as any peer that errs no more."""
        return self.no_worse is None or self.no_worse <= 1.0

    def line(self) -> str:
        """Return a line of the table."""
        fit, predict, error = self.taken
        no_worse = "–" if self.no_worse is None else f"{self.no_worse:.2f}"
        peers = "; ".join(f"{name} {each.seconds:.3g}, {each.error:.3f}" for name, each in self.peers.items())
        cells = self.name, f"{self.size:,}", f"{fit:.3g}", f"{predict:.2g}", f"{error:.3f}"
        return f"| {' | '.join(cells)} | {self.fastest:.2f} | {no_worse} | {peers} |"


def _once(rival: Rival, problem: Problem, contest: Contest) -> Taken:
    begun = time.process_time()
    model = rival.fit(problem)
    fitted = time.process_time()
    predicted = rival.predict(model, problem)
    ended = time.process_time()
    return Taken(fitted - begun, ended - fitted, contest.error_of(problem, predicted))


def measured(contest: Contest, size: int, repeats: int = REPEATS) -> list[Row]:
    """Run all rivals of a contest at a size, in turn; return a row an estimator."""
    problem, rivals = contest.make(size), {**contest.ours, **_installed(contest.peers)}
    runs = {name: [_once(rival, problem, contest)] for name, rival in rivals.items()}
    for _ in range(repeats - 1):
        for name, rival in rivals.items():
            if runs[name][0].seconds < LONG:
                runs[name].append(_once(rival, problem, contest))
    taken = {name: Taken(*map(statistics.median, zip(*each))) for name, each in runs.items()}
    peers = {name: each for name, each in taken.items() if name not in contest.ours}
    return [Row(name, size, taken[name], peers) for name in contest.ours]


def _installed(peers: Mapping[str, Rival]) -> dict[str, Rival]:
    return {name: rival for name, rival in peers.items() if not missing(name)}


def rows_of(name: str, n_sizes: int, repeats: int = REPEATS) -> Iterable[Row]:
    """Yield the rows of a contest, size by size, after a run of the smallest that compiles and loads."""
    contest = CONTESTS[name]
    with warnings.catch_warnings(), open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        warnings.simplefilter("ignore")  # peers warn, and print, of what their users would set
        measured(contest, contest.sizes[0], repeats=1)
        found = [measured(contest, size, repeats) for size in contest.sizes[:n_sizes]]
    return [row for rows in found for row in rows]


def summary(rows: list[Row], most: int = 10) -> str:
    """Return how many meet the aim, and the largest ratios."""
    met = sum(row.met for row in rows)
    worst = sorted((row for row in rows if not row.met), key=lambda row: -row.no_worse)[:most]
    named = "; ".join(f"{row.name} at {row.size:,}: {row.no_worse:.1f}" for row in worst)
    largest = f" Largest ratios: {named}." if worst else ""
    return f"At most 1.0 of the fastest peer at no worse error: {met} of {len(rows)}.{largest}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("contests", nargs="*", metavar="contest", help="one or several of --list; all by default")
    parser.add_argument("--sizes", type=int, default=3, choices=(1, 2, 3), help="how many of the three, from the least")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--list", action="store_true", help="print the contests, their estimators and sizes")
    asked = parser.parse_args()
    if unknown := [name for name in asked.contests if name not in CONTESTS]:
        parser.error(f"there is no contest {unknown[0]!r}: give some of {', '.join(CONTESTS)}")
    names = asked.contests or list(CONTESTS)
    if asked.list:
        print("\n".join(f"{name}: {', '.join(CONTESTS[name].ours)} at {CONTESTS[name].sizes}" for name in names))
        return
    peers = dict.fromkeys(peer for name in names for peer in CONTESTS[name].peers)
    print(" ".join(filter(None, map(missing, peers))))
    names, alone = [each for each in names if _installed(CONTESTS[each].peers)], names
    if alone := [each for each in alone if each not in names]:
        print(f"No peer of {', '.join(alone)} is installed, so they are left out: install requirements-bench.txt.")
    if not names:
        return
    warm_up()
    print(f"\n| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|", flush=True)
    rows: list[Row] = []
    for name in names:
        found = list(rows_of(name, asked.sizes, asked.repeats))
        rows += found
        print("\n".join(row.line() for row in found), flush=True)
    print(f"\n{summary(rows)}")


if __name__ == "__main__":
    main()
