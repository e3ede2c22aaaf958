"""Pinned scenarios of the Consensus page: a table of them, and any two side by side, A beside B."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from hetcore.data import HetData
from studio.runs.differences import describe
from studio.views.common import training
from studio.views.common.curves import scored_rows
from studio.views.common.training import Setting
from studio.views.common.widgets import chart, escape, number
from studio.views.common.widgets_chance import over_seeds
from studio.views.consensus.widgets import figures_of

__all__ = ["Pin", "pinned"]

PINS = "pins"
NOW = "shown now"
PANES = ("error", "weights")


class Pin(NamedTuple):
    """A scenario that is kept: the data's title, its setting and its rounds."""

    title: str
    setting: Setting
    events: Sequence[Any]


def pinned(now: Pin, data: HetData, owner: str) -> None:
    """Let the person keep the scenario that is shown, list those that are kept, and set any two side by side."""
    pins = st.session_state.setdefault(PINS, [])
    if st.button("Pin this scenario", icon=":material/push_pin:", key="pin"):
        pins.append(now)
    if not pins:
        st.caption("Pin a scenario to compare it with the next ones.")
        return
    st.dataframe([_row(pin) for pin in pins], hide_index=True, width="stretch", alt="Pinned scenarios")
    # Only of the same data: curves of others have other labels.
    mine = {f"{k}. {_name(pin)}": pin for k, pin in enumerate(pins, 1) if pin.title == now.title}
    # What is pinned already would be set beside itself.
    if all(pin.setting != now.setting for pin in mine.values()):
        mine[f"{NOW}: {_name(now)}"] = now
    if len(mine) < 2:
        st.caption("Train or pin a second scenario of these data to set the two side by side.")
        return
    _beside(mine, data, owner)


def _name(pin: Pin) -> str:
    params = pin.setting.params
    return f"λ0 {params['lambda0']}, λ1 {params['lambda1']}, {describe(pin.setting.operations)}"


def _row(pin: Pin) -> dict[str, Any]:
    """Return a scenario as a row of the table."""
    params, last = pin.setting.params, pin.events[-1]
    metric = last.detail["metric"][scored_rows(last.detail["metric"])]
    row = {"data": pin.title, "scenario": describe(pin.setting.operations)}
    row |= {"λ0": params["lambda0"], "λ1": params["lambda1"], "as printed": params["as_printed"]}
    row |= {"rounds": len(pin.events), last.detail["metric_name"]: number(metric, last.detail["metric_name"])}
    return row | {f"weight of {name}": round(w, 3) for name, w in last.source_weights.items()}


def _beside(mine: dict[str, Pin], data: HetData, owner: str) -> None:
    """Draw any two, on the same axes, say what differs, and offer to compare them over seeds."""
    panes, names = st.columns(2), list(mine)
    chosen = [
        # A and B begin as the first two.
        mine[pane.selectbox(letter, names, place, key=f"pane {letter}")]
        for place, (pane, letter) in enumerate(zip(panes, "AB"))
    ]
    if chosen[0].setting != chosen[1].setting:
        outcomes = [training.outcome(pin.setting, pin.events) for pin in chosen]
        st.info(escape(f"A → B: {training.difference(*outcomes)}"), icon=":material/compare_arrows:")
    drawn = [figures_of(pin.events, data) for pin in chosen]
    for name in PANES:
        together([each[name] for each in drawn])
        for pane, letter, each in zip(panes, "AB", drawn):
            with pane:
                chart(each[name], f"pane {letter} {name}", f"{name} of {letter} by round")
    over_seeds(data, chosen[0].setting, chosen[1].setting, owner, "pins")


def together(figures: Sequence[dict[str, Any]]) -> None:
    """Give figures the same axes, so that they are compared at a glance."""
    for axis, side in (("xaxis", "x"), ("yaxis", "y")):
        values = [np.asarray(trace[side], float) for figure in figures for trace in figure["data"]]
        flat = np.concatenate(values)
        flat = flat[np.isfinite(flat)]
        if not len(flat):
            continue
        # A flat line needs some room as well.
        room = 0.05 * max(float(np.ptp(flat)), 1e-9)
        for figure in figures:
            figure["layout"][axis] |= {"range": [float(flat.min()) - room, float(flat.max()) + room]}
