"""Who wins where: arithmetic over the finished cells of the suite.

A place is a problem at a label share. With d the paired differences (ours minus theirs, over the splits that both
have), a place is a tie if |mean d| is at most 1% of their mean error or at most one standard error of the mean of d;
else a win or a loss. "Best of all" is the peer of the lowest mean error at each place, looked up after the fact. A
method that failed at a split lost the place; a peer that failed is left out there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hetcore.numerics import standard_error

__all__ = ["BEST", "Comparison", "Place", "compared", "places", "seconds"]

BEST = "best of all"
SMALL = 0.01
CLOCKS = ("CatBoost2hop", "CatBoost")  # whose seconds ours are compared with; the second where there is no graph


class Place(NamedTuple):
    """A method at a problem and share: errors and seconds by split; a failed split has the error NaN."""

    errors: dict[int, float]
    seconds: dict[int, float]


class Comparison(NamedTuple):
    """One place against one peer.

    Attributes
    ----------
    problem : str
    share : float
    peer : str
        Its name, also where it is the best of all.
    ours, theirs : float
        Mean errors over the common splits.
    outcome : {"win", "tie", "loss"}
    ratio : float
        ours / theirs, errors of 0 raised to half a mistake; inf where ours failed.
    """

    problem: str
    share: float
    peer: str
    ours: float
    theirs: float
    outcome: str
    ratio: float


Places = Mapping[tuple[str, float, str], Place]


def places(cells: Iterable[Mapping[str, Any]]) -> dict[tuple[str, float, str], Place]:
    """Return the cells by (problem, share, method)."""
    found: dict[tuple[str, float, str], Place] = {}
    for cell in cells:
        place = found.setdefault((cell["problem"], cell["share"], cell["method"]), Place({}, {}))
        failed = cell.get("error") is None
        place.errors[cell["split"]] = float("nan") if failed else max(cell["error"], cell.get("floor") or 0.0)
        if not failed:
            place.seconds[cell["split"]] = cell.get("seconds") or 0.0
    return found


def outcome(ours: np.ndarray, theirs: np.ndarray) -> str:
    """Return "win", "tie" or "loss" of paired errors (s,)."""
    if np.isnan(ours).any():
        return "loss"
    gap = ours - theirs
    error = np.nan_to_num(standard_error(gap))
    if abs(gap.mean()) <= max(SMALL * theirs.mean(), error):
        return "tie"
    return "win" if gap.mean() < 0 else "loss"


def _comparison(found: Places, problem: str, share: float, method: str, peer: str) -> Comparison | None:
    ours, theirs = found[problem, share, method].errors, found.get((problem, share, peer), Place({}, {})).errors
    common = sorted(set(ours) & set(theirs))
    a, b = (np.array([errors[split] for split in common]) for errors in (ours, theirs))
    if not common or np.isnan(b).any():
        return None
    failed = np.isnan(a).any()
    ratio = float("inf") if failed else float(a.mean() / b.mean()) if b.mean() > 0 else 1.0
    return Comparison(
        problem, share, peer, ours=float(a.mean()), theirs=float(b.mean()), outcome=outcome(a, b), ratio=ratio
    )


def compared(found: Places, method: str, peers: Sequence[str]) -> dict[str, list[Comparison]]:
    """Return the comparisons of a method with each peer, and with the best of all, by peer."""
    table: dict[str, list[Comparison]] = {peer: [] for peer in peers} | {BEST: []}
    for problem, share in sorted({(problem, share) for problem, share, name in found if name == method}):
        here = [_comparison(found, problem, share, method, peer) for peer in peers if peer != method]
        here = [each for each in here if each is not None]
        for each in here:
            table[each.peer].append(each)
        if here:
            table[BEST].append(min(here, key=lambda each: each.theirs))
    return table


def seconds(found: Places, method: str) -> dict[tuple[str, float], tuple[float, float]]:
    """Return by place the median seconds, and those of CatBoost with two-hop columns (joined, without a graph)."""
    both = {}
    for (problem, share, name), place in found.items():
        clocks = [found[problem, share, clock] for clock in CLOCKS if (problem, share, clock) in found]
        if name == method and clocks and place.seconds and clocks[0].seconds:
            medians = [float(np.median(list(each.seconds.values()))) for each in (place, clocks[0])]
            both[problem, share] = medians[0], max(medians[1], 1e-9)
    return both
