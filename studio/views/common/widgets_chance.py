"""Whether a comparison is more than chance: two settings over ten seeds, paired, in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from hetcore.data import HetData
from hetcore.figures import basic
from studio.jobs.job import Setting
from studio.runs import chance
from studio.views.common.widgets import chart, escape
from studio.views.common.widgets_controls import asked_choice, in_link
from studio.views.common.widgets_task import run_of, start, stop, watch

__all__ = ["LEARNED", "any_over_seeds", "compared", "over_seeds", "setting_of"]

INTERVAL = "In brackets: where the mean difference over many more seeds would lie, with 95% confidence."

LEARNED = "Measured on labels that were learned from, for all of them were known: it tells nothing of other instances."
"""Where a setting leaves no labels to be scored by."""


DOTS_ABREAST = 40
"""Seeds that the chart of differences has room for beside each other."""


def over_seeds(data: HetData, first: Setting, second: Setting, owner: str, key: str) -> None:
    """Offer to train two settings over ten seeds; show how far it is, and what came of it.

    Parameters
    ----------
    data : HetData
        In use, before the settings' operations.
    first, second : Setting
    owner : str
    key : str
        Tells one comparison of a page from another.
    """
    pair = [setting_of(first), setting_of(second)]
    # Seeds are set by the comparison, so that settings that differ in nothing else are one.
    if chance.with_seed(pair[0], 0) == chance.with_seed(pair[1], 0):
        st.caption("The two settings differ by their seed alone: there is nothing to compare.")
        return
    slot, run = f"chance {key}", _run_of(data, pair, owner)
    if run:
        st.session_state[slot] = run
    text = "One training can't tell a difference from chance. Both settings train on the same ten draws."
    if st.button(f"Over {chance.SEEDS} seeds", key=f"{slot} start", icon=":material/casino:", help=text):
        # Only one comparison a page; the one before would go on for nobody.
        stop(st.session_state.get(slot, ""), owner)
        given = {"data": data, "first": pair[0], "second": pair[1], "seeds": list(range(chance.SEEDS))}
        run = st.session_state[slot] = start(chance.TASK, given, owner)
    if run:
        watch(run, owner, lambda status, events: _look(status, events, partial(stop, run, owner), key))


def _run_of(data: HetData, pair: Sequence[Mapping[str, Any]], owner: str) -> str:
    """Return the run that compares two settings on these data, of this session or before a reload; else empty."""
    asked = {"data": data.digest(), "first": pair[0], "second": pair[1]}
    return run_of(chance.TASK, owner, lambda given: asked.items() <= given.items())


def compared(live: Any, models: Sequence[tuple[str, str]] = ()) -> dict[str, tuple[Setting, Setting]]:
    """Return what a page with several trainings compares: what changed of each, and models with each other.

    Parameters
    ----------
    live : LiveTrainings
    models : sequence of (str, str)
        Labels of two that are compared as they are.
    """
    now, before = live.settings, {label: setting for label, (setting, _) in live.before.items()}
    moved = [label for label in now if label in before and before[label] != now[label]]
    changes = {f"{label}: what changed": (before[label], now[label]) for label in moved}
    pairs = {f"{first} → {second}": (now[first], now[second]) for first, second in models if {first, second} <= {*now}}
    return changes | pairs


def any_over_seeds(data: HetData, pairs: Mapping[str, tuple[Setting, Setting]], owner: str, key: str) -> None:
    """Offer `over_seeds` of one of several comparisons, by their names."""
    if not pairs:
        return
    slot = f"chance {key} which"
    # A choice of what is no longer offered makes Streamlit raise.
    if st.session_state.get(slot) not in pairs:
        st.session_state.pop(slot, None)
    # After a reload the one that was made, if any; where the list begins in the browser too.
    made = (place for place, pair in enumerate(pairs.values()) if _run_of(data, [*map(setting_of, pair)], owner))
    first = asked_choice("pair", [*pairs], next(made, 0))
    chosen = st.selectbox("More than chance?", list(pairs), first, width=360, **in_link("pair", slot))
    over_seeds(data, *pairs[chosen], owner, key)


def setting_of(setting: Setting) -> dict[str, Any]:
    """Return a setting as a mapping, as a worker takes it."""
    return {"estimator": setting.estimator, "params": dict(setting.params), "operations": list(setting.operations),
            "fit": dict(setting.fit), "form": dict(setting.form)}  # fmt: skip


def _look(status: Any, events: Sequence[Any], stopping: Callable[[], None], key: str) -> None:
    """Draw the pairs so far."""
    outcome = chance.progress(events)
    if status.active:
        done = f"{len(outcome['pairs'])} of {chance.SEEDS} pairs"
        left = f", {status.seconds_left:.0f} s left" if (status.seconds_left or 0.0) >= 1.0 else ""
        st.progress(len(outcome["pairs"]) / chance.SEEDS, text=f"Two trainings a seed: {done}{left}")
        st.button("Stop comparing", key=f"chance {key} stop", on_click=stopping)
    elif status.state == "failed":
        st.error(escape(status.message))
    if (found := chance.difference(outcome["pairs"])) is not None:
        _show(found, outcome, key)


def _show(found: chance.Difference, outcome: dict[str, Any], key: str) -> None:
    whole = len(outcome["pairs"]) >= chance.SEEDS
    difference = chance.sentence(found, outcome["metric"], whole)
    sentence = f"{chance.levels(outcome['pairs'], outcome['metric'])}; {difference}"
    st.markdown(f"**{escape(sentence)}.** {INTERVAL}")
    if outcome["rows"] == "train":
        st.caption(LEARNED)
    chart(_figure(found, outcome), f"chance {key} figure", sentence)


def _heights(values: NDArray) -> NDArray:
    """Return how high each dot stands, so that dots of one value, or nearly, do not lie over each other."""
    # About a dot's width of the axis, which begins at 0.
    places = np.round(values / max(np.ptp(np.append(values, 0.0)) / DOTS_ABREAST, 1e-12))
    heights = np.zeros(len(values))
    for place in np.unique(places):
        those = np.flatnonzero(places == place)
        heights[those] = (np.arange(len(those)) - (len(those) - 1) / 2) * min(0.3, 1.2 / len(those))
    return heights


def _figure(found: chance.Difference, outcome: dict[str, Any]) -> dict[str, Any]:
    """Draw the difference of each seed, their mean and its interval."""
    scale = 100.0 if outcome["metric"] == "error" else 1.0
    each = scale * np.diff(np.asarray(outcome["pairs"], float), axis=1).ravel()
    colour = basic.COLOURS[0]
    dots = {"type": "scatter", "mode": "markers", "name": "a seed", "x": each, "y": _heights(each),
            "marker": {"color": colour, "size": 9, "symbol": "circle-open", "line": {"width": 2}}}  # fmt: skip
    bar = {"type": "data", "symmetric": False, "array": [scale * (found.high - found.mean)],
           "arrayminus": [scale * (found.mean - found.low)]}  # fmt: skip
    mean = {"type": "scatter", "mode": "markers", "name": "mean and interval", "x": [scale * found.mean], "y": [1.0],
            "error_x": bar, "marker": {"color": basic.COLOURS[1], "symbol": "diamond", "size": 11}}  # fmt: skip
    title = f"difference of the {outcome['metric']}" + (", points" if scale > 1 else "")
    figure = basic.lines([], {}, title, "")
    figure["data"] = [dots, mean]
    figure["layout"]["height"] = 190
    figure["layout"]["hovermode"] = "closest"
    figure["layout"]["xaxis"] |= {"zeroline": True, "zerolinewidth": 2, "rangemode": "tozero"}
    figure["layout"]["yaxis"] |= {"visible": False, "range": [-0.7, 1.7]}
    return figure
