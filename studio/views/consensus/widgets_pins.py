"""Pinned scenarios of the Consensus page: a table of them, and any two side by side, A beside B.

A pin is a mark on a stored run, so that it is there tomorrow and for its owner alone; it goes with the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from hetcore.data import HetData
from hetcore.errors import DataError
from studio.messages import explained
from studio.runs import restoring, store
from studio.runs.differences import describe
from studio.runs.run import Run
from studio.views.common import training
from studio.views.common.curves import scored_rows
from studio.views.common.training import Setting
from studio.views.common.widgets import chart, escape, number
from studio.views.common.widgets_chance import over_seeds
from studio.views.consensus.widgets import figures_of

__all__ = ["Pin", "kept", "pinned"]

READ = "pins read"
"""In the session: the pinned scenarios by run, which are read from the store once."""
NOW = "shown now"
PANES = ("error", "weights")


class Pin(NamedTuple):
    """A scenario that is kept: the data's title, its setting, its rounds, and the id of its run."""

    title: str
    setting: Setting
    events: Sequence[Any]
    run: str = ""


def pinned(now: Pin, data: HetData, owner: str) -> None:
    """Let the person keep the scenario that is shown, list those that are kept, and set any two side by side."""
    if st.button("Pin this scenario", icon=":material/push_pin:", key="pin"):
        _mark(owner, now.run, True)
    pins = kept(owner)
    if not pins:
        st.caption("Pin a scenario to compare it with the next ones.")
        return
    st.dataframe([_row(pin) for pin in pins], hide_index=True, width="stretch", alt="Pinned scenarios")
    with st.popover("Let go of a pin", icon=":material/keep_off:"):
        for k, pin in enumerate(pins, 1):
            words, let_go = escape(f"{k}. {pin.title}: {_name(pin)}"), (owner, pin.run, False)
            st.button(words, key=f"unpin {pin.run}", on_click=_mark, args=let_go)
    # Only of the same data: curves of others have other labels.
    mine = {f"{k}. {_name(pin)}": pin for k, pin in enumerate(pins, 1) if pin.title == now.title}
    # What is pinned already would be set beside itself.
    if all(pin.setting != now.setting for pin in mine.values()):
        mine[f"{NOW}: {_name(now)}"] = now
    if len(mine) < 2:
        st.caption("Train or pin a second scenario of these data to set the two side by side.")
        return
    _beside(mine, data, owner)


def kept(owner: str) -> list[Pin]:
    """Return the owner's pinned scenarios, the oldest first; without those whose rounds were not kept."""
    read = st.session_state.setdefault(READ, {})
    for run in (runs := store.shared().pins(owner, "Consensus")):
        if run.id not in read:
            read[run.id] = _read(owner, run)
    return [read[run.id] for run in runs if read[run.id] is not None]


def _read(owner: str, run: Run) -> Pin | None:
    fields = {name: run.settings.get(name) or {} for name in ("params", "fit", "form")}
    setting = Setting(run.method, operations=list(run.settings.get("operations") or ()), **fields)
    try:
        rounds = store.shared().rounds(owner, run.id)
        return None if rounds is None else Pin(run.dataset, setting, restoring.from_bytes(rounds), run.id)
    except (LookupError, DataError):
        return None


def _mark(owner: str, run: str, pinned: bool) -> None:
    try:
        store.shared().pin(owner, run, pinned)
    except LookupError:
        st.warning("This run is somebody else's, or was deleted: train it here, then pin it.")
    except DataError as error:
        st.warning(escape(explained(error)))


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
