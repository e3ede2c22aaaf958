"""The suite's comparisons as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from experiments.suite.verdict import BEST, Comparison, compared, places, seconds_ratios

__all__ = ["table"]


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
        _seconds(seconds_ratios(found, method)),
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


def _seconds(ratios: Mapping[tuple[str, float], float]) -> str:
    if not ratios:
        return ""
    slowest = max(ratios, key=ratios.__getitem__)
    at = f"{slowest[0]} at {slowest[1]:g}%"
    middle, most = np.median(list(ratios.values())), ratios[slowest]
    return f"Seconds over CatBoost's with two-hop columns: median {middle:.2f}, most {most:.2f} ({at}).\n"


def _failures(cells: Iterable[Mapping[str, Any]], unit: str) -> str:
    failed = [cell for cell in cells if cell.get("error") is None]
    places = [f"{each['problem']}, {each['method']}, {each['share']:g}{unit}" for each in failed]
    lines = [f"- {place}: {each.get('failure')}" for place, each in zip(places, failed)]
    return "\n".join([f"Failed cells: {len(failed)}.", "", *lines]) + "\n" if failed else ""
