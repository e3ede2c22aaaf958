"""The map of λ0 and λ1 on the Consensus page: trained in the background, clicked to take a pair over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from hetcore.data import HetData
from hetcore.data.text import counted
from studio.jobs.job import Setting
from studio.runs import lambda_map
from studio.views.common.widgets import chart_config, escape
from studio.views.common.widgets_chance import LEARNED, setting_of
from studio.views.common.widgets_task import run_of, start, stop, watch

__all__ = ["choose", "lambda_grid"]

SLOT = "lambda map"
"""In the session: the run of the map that was looked at last."""
CHART = "lambda_map"
CHOSEN = "lambda map chosen"
"""In the session: that a pair was just taken over, by a click in a part of the page that alone is drawn again."""
NAMES = ("lambda0", "lambda1")
KEYS = (("l0auto", "l0"), ("l1auto", "l1"))
"""Of the switch and the slider of λ0 and λ1."""


def lambda_grid(data: HetData, setting: Setting, owner: str, chosen: Mapping[str, float]) -> None:
    """Offer the map; show it as far as it is trained, as that of other settings where they have changed.

    Parameters
    ----------
    data : HetData
    setting : Setting
        What was trained.
    owner : str
    chosen : mapping of str to float
        The values of "lambda0" and "lambda1" that were chosen out of fold.
    """
    count = len(lambda_map.PAIRS)
    text = f"{count} pairs, each over {lambda_map.SEEDS} seeds, in the background; the whole map comes with each seed."
    plain, digest = setting_of(setting), data.digest()
    run = run_of(lambda_map.TASK, owner, lambda given: given["data"] == digest and _alike(given["setting"], plain))
    if run:
        st.session_state[SLOT] = run
    if st.button("Map λ0 and λ1", help=text, icon=":material/grid_on:", key="map lambdas"):
        stop(st.session_state.get(SLOT, ""), owner)
        given = {"data": data, "setting": plain, "seeds": list(range(lambda_map.SEEDS))}
        run = st.session_state[SLOT] = start(lambda_map.TASK, given, owner)
    if run:
        stopping, here = partial(stop, run, owner), _here(setting, chosen)
        watch(run, owner, lambda status, events: _look(status, events, stopping, here))
    elif st.session_state.get(SLOT):
        st.caption("The map before is of other settings or data: press the button for one of these.")


def _here(setting: Setting, chosen: Mapping[str, float]) -> tuple[float, float] | None:
    """Return λ0 and λ1 of a training, None where one was to be chosen and was not, such as before its first round."""
    values = [chosen.get(name) if setting.params[name] == "auto" else setting.params[name] for name in NAMES]
    return None if None in values else tuple(map(float, values))


def _alike(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Return whether two settings are the same but for the λ, which the map goes through."""
    rest = [{k: v for k, v in each["params"].items() if k not in NAMES} for each in (first, second)]
    return {**first, "params": rest[0]} == {**second, "params": rest[1]}


def _look(
    status: Any, events: Sequence[Any], stopping: Callable[[], None], here: tuple[float, float] | None
) -> None:
    if st.session_state.pop(CHOSEN, False):
        st.rerun()
    with st.container(key="map_state"):
        if status.active:
            total = lambda_map.SEEDS * len(lambda_map.PAIRS)
            st.progress(len(events) / total, text=f"{len(events)} of {total} trainings")
            st.button("Stop the map", key="map stop", on_click=stopping)
        elif status.state == "failed":
            st.error(escape(status.message))
    outcome = events[-1].detail if events else {"metric": "", "cells": []}
    if found := lambda_map.cells(outcome):
        _show(found, outcome["metric"], here)
        if outcome["rows"] == "train":
            st.caption(LEARNED)


def _show(found: lambda_map.Cells, metric: str, here: tuple[float, float] | None) -> None:
    words, now = "Per cent wrong" if metric == "error" else metric, ""
    if here is not None:
        now = f" {'Framed' if here in found else 'The diamond'}: λ0 = {here[0]:g}, λ1 = {here[1]:g}, trained above."
    st.caption(f"{words}, {_mean_of(found)}. Click a square to use its λ0 and λ1.{now}")
    figure = lambda_map.figure(found, metric, here)
    best = min(found, key=lambda pair: lambda_map.interval(found[pair])[0])
    alt = f"{metric} over λ0 and λ1; least at λ0 = {best[0]:g}, λ1 = {best[1]:g}"
    st.plotly_chart(figure, key=CHART, on_select=_clicked, selection_mode="points", config=chart_config(), alt=alt,
                    width="stretch")  # fmt: skip
    pairs = {f"λ0 = {lambda0:g}, λ1 = {lambda1:g}": (lambda0, lambda1) for lambda0, lambda1 in found}
    chosen = st.selectbox("Or choose a pair", list(pairs), index=None, key="map pair", width=240)
    if chosen:
        st.button("Use it", on_click=choose, args=pairs[chosen], key="map use", icon=":material/check:")


def _mean_of(found: lambda_map.Cells) -> str:
    """Say what a square's number is the mean of."""
    seeds = min(map(len, found.values()))
    few = seeds < lambda_map.FEWEST
    return f"mean of {counted(seeds, 'seed')} so far" if few else "mean over the seeds ± its 95% interval"


def _clicked() -> None:
    points = st.session_state[CHART]["selection"]["points"]
    if points:
        choose(*points[0]["customdata"])


def choose(lambda0: float, lambda1: float) -> None:
    """Set both sliders, chosen by hand, to a pair of the map."""
    st.session_state[CHOSEN] = True
    for (switch, slider), value in zip(KEYS, (lambda0, lambda1)):
        st.session_state[switch], st.session_state[slider] = False, float(value)
