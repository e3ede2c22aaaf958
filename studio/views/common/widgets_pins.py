"""Pinned scenarios of a page: a table of them, and any two side by side, A beside B.

A scenario is a page's trainings side by side, or its only one. A pin is a mark on the stored runs of one, so that it is
there tomorrow and for its owner alone; it goes with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from hetcore.data import HetData
from hetcore.errors import DataError
from studio import session
from studio.jobs.job import Setting
from studio.messages import explained
from studio.runs import restoring, store
from studio.runs.differences import as_run, describe, named, operation_text, within
from studio.runs.run import Run
from studio.views.common import curves, training
from studio.views.common.curves import SCORED, Events, by_training, figure, metric_name, scored_set
from studio.views.common.widgets import chart, escape, number, show_table
from studio.views.common.widgets_chance import any_over_seeds
from studio.views.common.widgets_controls import asked_choice
from studio.views.common.widgets_training import LiveTrainings

__all__ = ["Look", "Pin", "done_to", "kept", "names_of", "pin_of", "pinned", "pins_panel", "together"]

READ = "pins read"
"""In the session: the pinned trainings by run, which are read from the store once."""
NOW = "shown now"
MOST_CHARACTERS = 40
"""Of a parameter in a scenario's name."""


class Pin(NamedTuple):
    """A scenario that is kept: title and digest of the data; by label settings, rounds, run ids and models' scores."""

    title: str
    settings: Mapping[str, Setting]
    events: Events
    runs: Mapping[str, str]
    digest: str = ""
    scores: Mapping[str, Mapping[str, Any]] = {}


def metrics_of(events: Events) -> dict[str, dict[str, Any]]:
    """Return the metric and the loss of trainings by round, on rows that all of them are scored on."""
    rows, order = scored_set(events), list(events)
    titles = {"error": f"{metric_name(events)}, {SCORED[rows]}", "loss": f"loss, {SCORED[rows]}"}
    found = {
        "error": by_training(events, lambda event: event.detail["metric"].get(rows)),
        "loss": by_training(events, lambda event: event.losses.get(rows)),
    }
    return {name: figure(lines, {}, ("round", titles[name]), order) for name, lines in found.items() if lines}


class Look(NamedTuple):
    """What a page's name of a scenario has in it, its row, and what is drawn of it; all pages alike unless given."""

    parts: Callable[[Pin], list[str]] | None = None
    row: Callable[[Pin], Mapping[str, Any]] | None = None
    figures: Callable[[Events], Mapping[str, dict[str, Any]]] = metrics_of


def pin_of(live: LiveTrainings, title: str) -> Pin:
    """Return the scenario that a page shows: its trainings that have rounds."""
    events = {label: each for label, each in live.events().items() if each}
    settings, runs = ({label: each[label] for label in events} for each in (live.settings, live.runs))
    results = {label: live.result(label) for label in events}
    scores = {label: result.scores for label, result in results.items() if result is not None}
    return Pin(title, settings, events, runs, digest=live.digest, scores=scores)


def pinned(now: Pin, page: str, data: HetData, owner: str, look: Look | None = None) -> None:
    """Let the person keep the scenario that is shown, list those that are kept, and set any two side by side.

    Parameters
    ----------
    now : Pin
        What is shown.
    page : str
        Under which its runs are stored.
    data : HetData
        In use, before the settings' operations.
    owner : str
    look : Look, optional
    """
    look = look or Look()
    if st.button("Pin this scenario", icon=":material/push_pin:", key="pin"):
        _mark(owner, now, True)
    pins = kept(owner, page)
    if not pins:
        st.caption("Pin a scenario to compare it with the next ones.")
        return
    parts = look.parts or done_to
    # Parameters that a page's own row has are in their columns.
    named_by_data, names = names_of(pins, done_to), names_of(pins, parts)
    rows = [{"scenario": name} | (look.row or _row)(pin) for name, pin in zip(named_by_data, pins)]
    # A long one would push the errors out of view.
    widths = {"scenario": st.column_config.TextColumn(width="medium")}
    show_table(rows, width="stretch", column_config=widths, alt="Pinned scenarios")
    with st.popover("Let go of a pin", icon=":material/keep_off:"):
        for k, (pin, name) in enumerate(zip(pins, names), 1):
            key = f"unpin {next(iter(pin.runs.values()))}"
            st.button(escape(f"{k}. {pin.title}: {name}"), key=key, on_click=_mark, args=(owner, pin, False))
    # Only of the same data and models: other curves have other labels.
    alike = {f"{k}. ": pin for k, pin in enumerate(pins, 1) if _alike(pin, now)}
    # What is pinned already would be set beside itself.
    if all(pin.settings != now.settings for pin in alike.values()):
        alike[f"{NOW}: "] = now
    names = names_of(list(alike.values()), parts)
    mine = {f"{before}{name}": pin for (before, pin), name in zip(alike.items(), names)}
    if len(mine) < 2:
        st.caption("Train or pin a second scenario of these data to set the two side by side.")
        return
    _beside(mine, data, owner, look)


def pins_panel(now: Pin, page: str, data: HetData, owner: str) -> None:
    """Draw the pins of a page below its charts, closed at first."""
    # Open where the address says what is beside what.
    chosen = any(session.asked().get(name) for name in ("panea", "paneb"))
    pins = st.expander("Pinned scenarios", chosen, icon=":material/push_pin:", key="pins", on_change="rerun")
    # Closed it costs nothing: pins are drawn only when somebody looks.
    if pins.open:
        with pins:
            pinned(now, page, data, owner)


def kept(owner: str, page: str) -> list[Pin]:
    """Return the owner's pinned scenarios of a page, the oldest first; without runs whose rounds were not kept."""
    read, groups = st.session_state.setdefault(READ, {}), {}
    for run in store.shared().pins(owner, page):
        if run.id not in read:
            read[run.id] = _read(owner, run)
        if read[run.id] is not None:
            # Runs that were pinned together carry the same mark; a lone one carries none.
            mark = run.results[store.PINNED]
            groups.setdefault(mark if isinstance(mark, str) else run.id, []).append((run, *read[run.id]))
    return [_joined(runs) for runs in groups.values()]


def _joined(runs: Sequence[tuple[Run, Setting, Sequence[Any]]]) -> Pin:
    by_label = {str(each[0].settings.get("label") or each[0].page): each for each in runs}
    settings = {label: setting for label, (_, setting, _) in by_label.items()}
    events = {label: rounds for label, (_, _, rounds) in by_label.items()}
    ids, first = {label: run.id for label, (run, *_) in by_label.items()}, runs[0][0]
    stored = {label: run.results.get("scores") or {} for label, (run, *_) in by_label.items()}
    scores = {label: {name: value for name, value in each.items() if value is not None}
              for label, each in stored.items()}  # fmt: skip
    return Pin(first.dataset, settings, events, ids, digest=first.digest, scores=scores)


def _read(owner: str, run: Run) -> tuple[Setting, Sequence[Any]] | None:
    fields = {name: run.settings.get(name) or {} for name in ("params", "fit", "form")}
    setting = Setting(run.method, operations=list(run.settings.get("operations") or ()), **fields)
    try:
        rounds = store.shared().rounds(owner, run.id)
        return None if rounds is None else (setting, restoring.from_bytes(rounds))
    except (LookupError, DataError):
        return None


def _mark(owner: str, pin: Pin, pinned: bool) -> None:
    runs = list(pin.runs.values())
    try:
        for run in runs:
            store.shared().pin(owner, run, ",".join(runs) if pinned and len(runs) > 1 else pinned)
    except LookupError:
        st.warning("This run is somebody else's, or was deleted: train it here, then pin it.")
    except DataError as error:
        st.warning(escape(explained(error)))


def _alike(pin: Pin, now: Pin) -> bool:
    return (pin.title, pin.digest) == (now.title, now.digest) and set(pin.settings) & set(now.settings) != set()


def done_to(pin: Pin) -> list[str]:
    """Return what was done to a scenario's data, in words."""
    operations = next(iter(pin.settings.values())).operations
    return [operation_text(operation) for operation in operations] or [describe(operations)]


def names_of(pins: Sequence[Pin], parts: Callable[[Pin], list[str]]) -> list[str]:
    """Return what names each of some scenarios: what differs first, for a long name is cut at its end.

    Parameters
    ----------
    pins : sequence of Pin
    parts : callable
        Gives what a name has in any case; parameters in which the scenarios differ are added.
    """
    every = [list(dict.fromkeys([*parts(pin), *_parameter_texts(pin)])) for pin in pins]
    shared = set.intersection(*map(set, every)) if len(pins) > 1 else {*every[0]}
    names = []
    for pin, each in zip(pins, every):
        given = [text for text in parts(pin) if text in shared]
        names.append(", ".join([*(text for text in each if text not in shared), *given]))
    return names


def _parameter_texts(pin: Pin) -> list[str]:
    texts = ((named(key), within(value, key)[:MOST_CHARACTERS]) for key, value in _parameters(pin).items())
    return [f"{key} {value}" for key, value in texts]


def _parameters(pin: Pin) -> dict[str, Any]:
    """Return the parameters and the form of a scenario's last model, which has most of them."""
    last = list(pin.settings.values())[-1]
    given = {**as_run(last.params), **last.form}
    return {key: value for key, value in given.items() if isinstance(value, str | int | float | bool)}


def _row(pin: Pin) -> dict[str, Any]:
    """Return the metric of each training of a scenario."""
    row = {"data": pin.title}
    for label, events in pin.events.items():
        detail = curves.kept(events).detail
        # Of the model that was kept, whose score need not be that of any round.
        metric, name = {**detail["metric"], **pin.scores.get(label, {})}, detail["metric_name"]
        # Of which labels too: of a scenario that knows all of them none is held out.
        rows = curves.scored_rows(metric)
        row[f"{name} of {label}, {SCORED[rows]}"] = number(metric[rows], name)
    return row


def _beside(mine: Mapping[str, Pin], data: HetData, owner: str, look: Look) -> None:
    """Draw any two, on the same axes, say what differs, and offer to compare them over seeds."""
    panes = st.columns(2)
    # A and B begin as the first two.
    chosen = [_chosen(pane, letter, mine, place) for place, (pane, letter) in enumerate(zip(panes, "AB"))]
    first, second = chosen
    shared = [label for label in first.settings if label in second.settings]
    moved = [label for label in shared if first.settings[label] != second.settings[label]]
    for label in moved:
        outcomes = [
            training.outcome(pin.settings[label], pin.events[label], pin.scores.get(label)) for pin in chosen
        ]
        of = f"{label}, " if len(first.settings) > 1 else ""
        st.info(escape(f"{of}A → B: {training.difference(*outcomes)}"), icon=":material/compare_arrows:")
    drawn = [look.figures(pin.events) for pin in chosen]
    for name in (name for name in drawn[0] if name in drawn[1]):
        together([each[name] for each in drawn])
        for pane, letter, each in zip(panes, "AB", drawn):
            with pane:
                chart(each[name], f"pane {letter} {name}", f"{name} of {letter} by round")
    pairs = {f"{label}: A → B": (first.settings[label], second.settings[label]) for label in moved}
    any_over_seeds(data, pairs, owner, "pins")


def _chosen(pane: Any, letter: str, mine: Mapping[str, Pin], start: int) -> Pin:
    """Let the person choose the scenario of a pane; the address has its first run, for names follow what differs."""
    name, key, ids = f"pane{letter.lower()}", f"pane {letter}", [next(iter(pin.runs.values())) for pin in mine.values()]

    def tell() -> None:
        session.tell(name, dict(zip(mine, ids))[st.session_state[key]])

    return mine[pane.selectbox(letter, list(mine), asked_choice(name, ids, start), key=key, on_change=tell)]


def together(figures: Sequence[dict[str, Any]]) -> None:
    """Give figures the same axes and a legend each, so that they are compared at a glance."""
    for each in figures:
        # Plotly leaves out that of a lone line, whose chart would have no name and be higher than the other.
        each["layout"]["showlegend"] = True
    for axis, side in (("xaxis", "x"), ("yaxis", "y")):
        values = [np.asarray(trace[side], float) for each in figures for trace in each["data"]]
        flat = np.concatenate(values)
        flat = flat[np.isfinite(flat)]
        if not len(flat):
            continue
        # A flat line needs some room as well, or its axis has ten digits.
        size, spread = float(np.abs(flat).max()), float(np.ptp(flat))
        room = 0.05 * (spread if spread > 1e-9 * size else size or 1.0)
        for each in figures:
            each["layout"][axis] |= {"range": [float(flat.min()) - room, float(flat.max()) + room]}
