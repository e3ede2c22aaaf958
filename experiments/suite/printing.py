"""The suite's comparisons as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from experiments.suite.verdict import BEST, Comparison, compared, places, seconds

__all__ = ["seconds_table", "table"]


def table(cells: Iterable[Mapping[str, Any]], method: str, peers: Sequence[str], unit: str = "%") -> str:
    """Return win / tie / loss by peer, by label share (or number, in `unit`) and by problem, and the seconds."""
    cells = list(cells)
    found = places(cells)
    by_peer = compared(found, method, peers)
    best = by_peer[BEST]
    if not best:
        return f"No finished cell compares {method} with a peer.\n"
    counts = ["win", "tie", "loss", "win or tie", "geometric ratio"]
    parts = [
        _rows(["peer", *counts], map(_counted, by_peer, by_peer.values())),
        _rows(["labelled", *counts], _by_share(best, unit)),
        _rows(["problem", "labelled", method, "best peer", "its error", "ratio", "outcome"], _places(best, unit)),
        _seconds(seconds(found, method)),
        _failures(cells, unit),
    ]
    return f"{method} against {len(peers)} peers, {len(best)} places.\n\n" + "\n".join(part for part in parts if part)


def _rows(head: Sequence[str], rows: Iterable[Sequence[str] | None]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows if row)]) + "\n"


def _counted(name: str, found: Sequence[Comparison]) -> list[str] | None:
    if not found:
        return None
    win, tie, loss = (sum(each.outcome == word for each in found) for word in ("win", "tie", "loss"))
    # Geometric: a ratio of 2 and one of 1/2 are even.
    ratio = float(np.exp(np.mean(np.log([each.ratio for each in found]))))
    label = f"**{name}**" if name == BEST else name
    return [label, str(win), str(tie), str(loss), f"{(win + tie) / len(found):.0%}", f"{ratio:.3f}"]


def _by_share(best: Sequence[Comparison], unit: str) -> list[list[str] | None]:
    shares = sorted({each.share for each in best})
    return [_counted(f"{share:g}{unit}", [each for each in best if each.share == share]) for share in shares]


def _places(best: Sequence[Comparison], unit: str) -> list[list[str]]:
    rows = []
    for each in best:
        errors = [f"{each.ours:.4g}", each.peer, f"{each.theirs:.4g}"]
        rows.append([each.problem, f"{each.share:g}{unit}", *errors, f"{each.ratio:.3f}", each.outcome])
    return rows


def seconds_table(cells: Iterable[Mapping[str, Any]], method: str, unit: str = "%") -> str:
    """Return a row a problem: processor seconds of fit and predict, and how many times CatBoost's, by label share.

    The last column is of all shares together.
    """
    both = seconds(places(cells), method)
    if not both:
        return f"No finished cell has the seconds of {method} and of CatBoost.\n"
    shares = sorted({share for _, share in both})
    names = [f"{share:g}{unit}" for share in shares]
    head = ["problem", *(f"{name}, s" for name in names), *(f"{name}, ratio" for name in [*names, "together"])]
    # the slowest first: it is where time is worth an hour
    worst = {problem: max(a / b for (name, _), (a, b) in both.items() if name == problem) for problem, _ in both}
    rows = []
    for problem in sorted(worst, key=lambda name: -worst[name]):
        here = [both.get((problem, share)) for share in shares]
        times = [each and f"{each[0]:.2f}" for each in here]
        ratios = [each and f"{each[0] / each[1]:.2f}" for each in here]
        ours, theirs = np.sum([each for each in here if each], axis=0)
        rows.append([problem, *(text or "–" for text in times + ratios), f"{ours / theirs:.2f}"])
    return _rows(head, rows) + "\n" + _seconds(both)


def _seconds(both: Mapping[tuple[str, float], tuple[float, float]]) -> str:
    if not both:
        return ""
    # Processor seconds on the same machine: only their ratio means something elsewhere.
    ratios = {place: ours / theirs for place, (ours, theirs) in both.items()}
    slowest = max(ratios, key=ratios.__getitem__)
    at = f"{slowest[0]} at {slowest[1]:g}%"
    middle, most = np.median(list(ratios.values())), ratios[slowest]
    return f"Seconds over CatBoost's with two-hop columns: median {middle:.2f}, most {most:.2f} ({at}).\n"


def _failures(cells: Iterable[Mapping[str, Any]], unit: str) -> str:
    # Told and not passed over: a method that fails where it would lose has won nothing.
    failed = [cell for cell in cells if cell.get("error") is None]
    places = [f"{each['problem']}, {each['method']}, {each['share']:g}{unit}" for each in failed]
    lines = [f"- {place}: {each.get('failure')}" for place, each in zip(places, failed)]
    return "\n".join([f"Failed cells: {len(failed)}.", "", *lines]) + "\n" if failed else ""
