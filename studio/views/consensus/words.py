"""What the Consensus page says of a round: why a λ was chosen, and which views a source's weight comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from hetcore.data import HetData
from hetcore.data.text import counted
from hetcore.figures import basic

__all__ = [
    "MOST_VIEWS", "OTHERS", "dealt", "dealt_figure", "few_held_out", "heaviest", "linked", "looks", "path_figure",
    "unpulled", "why",
]  # fmt: skip

SYMBOLS = {"lambda0": "λ0", "lambda1": "λ1"}
MOST_VIEWS = 8
"""Views with a colour of their own."""
MOST_LINES, FAINT = 6, 0.005
"""Views whose weights are drawn by round, and the weight from which one is worth a line."""
OTHERS = "other views"
VIEWS = (
    "A view is one way to look at the data, by one kind of learner. **Labels near in** a table: the known labels of "
    "the rows that are most alike there; **by category**: of those with the same category, of columns of very many. "
    "**Labels of** a graph: those of linked rows. **Smoothed over** a graph: averages over linked rows. **Linear**: by "
    "weighted sums; **kernel**: by alikeness; **ARD kernel**: the same, each column counted by what it says; **trees**:"
    " by questions."
)
ALIKE = 0.0005
"""Part of a loss below which a difference is none to speak of."""
LEAST_RANGE = 0.01
"""Part of a loss that the axis of a path spans at least, or rounding would look like a mountain."""
FEW = 100
"""Held-out labels below which it is said how far their error may lie off."""
HIDING = ("labels", "hide_labels", "forget_labels")
"""What-if operations that leave rows without a label."""
OF_TABLE, OF_GRAPH = ("table ", "labels near in "), "labels of "
"""What the names of views of one table, and of one graph's labels, begin with."""
PATTERNS = ("", "/", "x", ".")
"""Of bars of one colour, of which each shade has less."""
JOINED = ("#6B7785", "#9A8420", "#B0603A", "#66822F", "#96669A", "#2F8F8D")
"""Of views that join: no source has these, however many there are."""
MORE = "#8A8F98"
"""Of the rest in one."""


class Look(NamedTuple):
    """How a view is drawn: its colour, the dash of its line, the pattern of its bars."""

    colour: str
    dash: str
    pattern: str


def why(detail: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each λ that was chosen out of fold, with its left-out losses, and for what else was."""
    paths, choices = detail.get("paths", {}), detail.get("choices", {})
    found = [_because(SYMBOLS[name], path, choices[name]) for name, path in paths.items() if name in choices]
    if share := choices.get("residual_share"):
        missed = f"{share:.0%} of what the neighbours' labels were missed by is added"
        found.append(f"Linked instances are missed alike: {missed}, chosen out of fold.")
    if (repeats := detail.get("repeats", 1)) > 1:
        found.append(f"Labels are few, so this is the mean of {repeats} fits, each on folds dealt anew.")
    if detail.get("graphs_explain_nothing"):
        # A graph's weight is of what the views leave over: one that smooths columns along its links may be heavy.
        found.append("Linked instances are no more alike than any two, so λ1 has nothing to smooth along.")
    return found


def _because(symbol: str, path: Sequence[Sequence[float]], chosen: float) -> str:
    losses = dict(map(tuple, path))
    at, without = losses.get(chosen, float("nan")), losses.get(0.0, float("nan"))
    if chosen == 0:
        # The best of the others, so that what was not chosen is seen too.
        other = min((value for value in losses if value > 0), key=lambda value: losses[value])
        # Equal as shown, or nearly: nobody would see why it was chosen.
        alike = f"{losses[other]:.3g}" == f"{at:.3g}" or losses[other] < (1 + ALIKE) * at
        there = "about the same" if alike else f"{losses[other]:.3g}"
        return f"{symbol} = 0, chosen out of fold: the left-out loss is {at:.3g}, and {there} at {other:g}."
    less = 100 * (1 - at / without) if without > 0 else float("nan")
    edge = ", the largest that was tried" if chosen == max(losses) else ""
    gain = f", {less:.1f}% less than without" if less >= 100 * ALIKE else ", and about the same without"
    return f"{symbol} = {chosen:g}{edge}, chosen out of fold: the left-out loss is {at:.3g} with it{gain}."


def linked(detail: Mapping[str, Any]) -> str:
    """Say how many links the correlation of residuals rests on, by graph; "" of a run that has not counted them."""
    pairs, rows = detail.get("linked_pairs", {}), "held-out" if "held_out" in detail["metric"] else "labelled"
    each = [f"{counted(count, 'link')}{f' of {name}' if len(pairs) > 1 else ''}" for name, count in pairs.items()]
    return f"Over {', '.join(each)} between {rows} rows." if each else ""


def unpulled(setting: Any, data: HetData) -> str:
    """Say so where λ0 has no row to pull; empty where it has."""
    if setting.params["lambda0"] == 0 or not data.labelled.all():
        return ""
    hidden = any(operation["op"] in HIDING for operation in setting.operations)
    return "" if hidden else "Every row has a label: λ0 pulls those without one, so it changes nothing here."


def few_held_out(predictions: pl.DataFrame | None) -> str:
    """Say of few held-out classes where their error may lie by chance (Wilson's interval); empty of many."""
    if predictions is None or "held_out" not in predictions.columns or predictions["prediction"].dtype.is_numeric():
        return ""
    from scipy.stats import binomtest  # a second, which a page without such labels need not wait for

    known = predictions.drop_nulls("held_out")
    if not 0 < known.height < FEW:
        return ""
    wrong = int((known["held_out"] != known["prediction"]).sum())
    within = binomtest(wrong, known.height).proportion_ci(method="wilson")
    interval = f"{within.low:.0%} to {within.high:.0%}"
    return f"Held out: {wrong} of {known.height} wrong; so few leave the error uncertain: {interval} (95% interval)."


def path_figure(detail: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Draw the left-out loss over the values that were tried for a λ, the chosen one marked."""
    values, losses = zip(*detail["paths"][name])
    places = np.arange(len(values), dtype=float)  # evenly: the values are 0, 0.1, 0.3, 1, 3
    drawn = basic.lines(places, {"left-out loss": losses}, SYMBOLS[name], "left-out loss")
    chosen = list(values).index(detail["choices"][name])
    mark = {"symbol": "star", "size": 14, "color": basic.COLOURS[1]}
    star = {"type": "scatter", "mode": "markers", "name": "chosen", "x": [places[chosen]], "y": [losses[chosen]]}
    drawn["data"].append(star | {"marker": mark})
    middle, half = (max(losses) + min(losses)) / 2, LEAST_RANGE / 2 * max(map(abs, losses))
    if max(losses) - min(losses) < 2 * half:
        drawn["layout"]["yaxis"] |= {"range": [middle - half, middle + half]}
    drawn["layout"]["xaxis"] |= {"tickvals": places.tolist(), "ticktext": [f"{value:g}" for value in values]}
    return drawn


def looks(views: Iterable[str], sources: Sequence[str], graphs: Sequence[str]) -> dict[str, Look]:
    """Return the look of each view: of a table's the table's colour, of a graph's labels the graph's, or no source's.

    By its place among all, so that a view keeps its look from one training to the next, whatever it weighs there.

    Parameters
    ----------
    views : iterable of str
        All that there are.
    sources, graphs : sequence of str
        All of the data, in the order of their colours.
    """
    own = {before + name: place for place, name in enumerate(sources) for before in OF_TABLE}
    own |= {OF_GRAPH + name: len(sources) + place for place, name in enumerate(graphs)}
    found, seen = {}, Counter()
    for view in views:
        place = own.get(view.rpartition(" (")[0])
        # Views of one colour differ by dash and shade.
        colour = JOINED[seen[None] % len(JOINED)] if place is None else basic.style(place)["colour"]
        turn = seen[None] // len(JOINED) if place is None else seen[place]
        seen[place] += 1
        found[view] = Look(colour, basic.DASHES[turn % len(basic.DASHES)], PATTERNS[turn % len(PATTERNS)])
    return found


def heaviest(views: Mapping[str, float]) -> list[str]:
    """Return the views whose weights are drawn by round, the heaviest first."""
    return [name for name in sorted(views, key=lambda name: -views[name]) if views[name] > FAINT][:MOST_LINES]


def dealt_figure(detail: Mapping[str, Any], sources: Sequence[str], graphs: Sequence[str]) -> dict[str, Any]:
    """Draw by source and graph which views its share comes from, each with the look of its line."""
    parts, look = dealt(detail), looks(detail["views"], sources, graphs)
    names = [*sources, *(f"graph {name}" for name in graphs)]
    rows = [name for name in names if any(name in part for part in parts.values())]
    found = basic.stacked(parts, "part of the consensus", rows)
    for bar in found["data"]:
        of = look.get(bar["name"], Look(MORE, "solid", PATTERNS[-1]))
        bar["marker"] = {"color": of.colour, "pattern": {"shape": of.pattern}}
    return found


def dealt(detail: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return by view its part in the share of each source and graph in E: the heaviest views, then the rest."""
    parts: Mapping[str, Mapping[str, float]] = detail.get("dealt", {})
    order = sorted(parts, key=lambda view: -sum(parts[view].values()))
    found = {view: dict(parts[view]) for view in order[:MOST_VIEWS]}
    # The rest in one, so that all parts together are still the whole.
    for view in order[MOST_VIEWS:]:
        rest = found.setdefault(OTHERS, {})
        for source, part in parts[view].items():
            rest[source] = rest.get(source, 0.0) + part
    return found
