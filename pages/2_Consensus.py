"""Consensus: train Gradient Boosting Consensus, move its parameters, and watch sources gain and lose weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

import hetcore as hc
from hetcore import figures
from studio import consensus, jobs, session, widgets_consensus
from studio.consensus import Setting
from studio.differences import describe
from studio.run import Run
from studio.widgets import chart, escape, frame, number

frame("Consensus")
current, owner = session.current(), session.owner()
data = current.data
state = st.session_state
INSTANT = 3.0  # an estimate from a run that read the data too: the next one has them
WORDS = {
    "queued": "Queued",
    "starting": "Starting a worker",
    "compiling": "Compiling, first run only",
    "running": "Training",
    "paused": "Paused",
    "finished": "Training finished",
    "stopped": "Training stopped",
    "failed": "Training failed",
}


def slider(label: str, low: Any, high: Any, start: Any, step: Any, key: str, words: str) -> Any:
    """Draw a slider whose value is in the URL."""
    if key not in state:
        state[key] = start
    return st.slider(label, low, high, step=step, key=key, help=words, bind="query-params")


def controls() -> Setting:
    """Draw the controls and return the setting."""
    defaults = getattr(hc, consensus.estimator_of(data))().get_params()
    lambda0 = slider(
        "λ0 · consensus",
        0.0,
        3.0,
        defaults["lambda0"],
        0.05,
        "l0",
        "Pull of unlabelled rows to what all sources say (λ0).",
    )
    lambda1 = slider(
        "λ1 · neighbours",
        0.0,
        3.0,
        defaults["lambda1"],
        0.05,
        "l1",
        "Say of unlabelled neighbours beside labelled ones (λ1).",
    )
    known = slider(
        "Labels known, per cent", 5, 100, 30, 5, "known", "The other labels are hidden from training and score it."
    )
    sources = st.multiselect("Sources in use", data.source_names, data.source_names, key=f"sources {current.title}")
    graphs = data.graph_names
    if graphs:
        graphs = st.multiselect("Graphs in use", data.graph_names, data.graph_names, key=f"graphs {current.title}")
    noisy = st.selectbox("Noise in a source", ["none", *data.source_names], key=f"noisy {current.title}")
    sd = 0.0
    if noisy != "none":
        sd = slider(
            "Noise, in standard deviations",
            0.0,
            5.0,
            1.0,
            0.25,
            "sd",
            "Gaussian noise added to each column of the source.",
        )
    with st.expander("More parameters"):
        rate = slider(
            "Learning rate η", 0.01, 1.0, defaults["learning_rate"], 0.01, "rate", "Shrinkage of each tree's step."
        )
        rounds = slider("Rounds N", 5, 200, defaults["n_iterations"], 5, "rounds", "Boosting rounds.")
        depth = slider("Depth", 1, 8, defaults["max_depth"], 1, "depth", "Depth of the trees, in splits.")
        seed = st.number_input(
            "Seed", 0, 9999, 0, key="seed", help="Of the split and of training.", bind="query-params"
        )
        printed = st.toggle(
            "As printed in the paper",
            key="printed",
            bind="query-params",
            help="Algorithm 1 to the letter; small λ needed.",
        )
    params = {"lambda0": lambda0, "lambda1": lambda1, "learning_rate": rate, "n_iterations": rounds, "max_depth": depth}
    params |= {"as_printed": printed, "random_state": int(seed)}
    noise = (noisy, sd) if noisy != "none" else None
    operations = session.operations() + consensus.operations_of(data, sources, graphs, noise, known / 100, int(seed))
    return Setting(consensus.estimator_of(data), params, operations)


def usable(setting: Setting) -> bool:
    """Say in one sentence why this can't be trained, if it can't."""
    dropped = {op["name"] for op in setting.operations if op["op"] == "drop_source"}
    if not set(data.source_names) - dropped:
        st.warning("No source is in use: choose at least one.")
        return False
    if data.target_kind is None or not data.labelled.any():
        st.warning("The data have no label: choose a label column on the Data page.")
        return False
    return True


def start(setting: Setting, paused: bool = False) -> None:
    """Queue a training and remember the one before it."""
    try:
        run_id = consensus.submit(setting, data, current.recipe, current.title, owner, paused)
    except ValueError as error:
        st.error(escape(error))
        return
    if state.get("run_data") != current.title:
        state["before"] = None
    elif known_run() and jobs.manager().status(state["run"]).state == "finished":
        state["before"] = (state["run_setting"], jobs.manager().events(state["run"]))
    state["run"], state["run_setting"], state["run_data"] = run_id, setting, current.title
    st.query_params["run"] = run_id
    st.rerun()


def known_run() -> bool:
    """Whether the run in the session is one that the manager still knows."""
    try:
        jobs.manager().status(state["run"])
    except (jobs.UnknownRunError, KeyError):
        return False
    return True


def adopt() -> None:
    """Find the run that the URL names, after a reload."""
    run_id = st.query_params.get("run")
    if "run" not in state and run_id:
        try:
            task = jobs.manager().task(run_id)
            state["run"], state["run_data"], state["before"] = run_id, current.title, None
            state["run_setting"] = Setting(task.estimator, dict(task.params), list(task.operations))
        except (jobs.UnknownRunError, AttributeError):
            st.query_params.pop("run", None)


def watch(run_id: str, before: Any) -> None:
    """Draw a run: while it goes on, twice a second."""
    status = jobs.manager().status(run_id)
    active = status.active

    @st.fragment(run_every=0.5 if active and not state.get("hold") else None)
    def draw() -> None:
        status = jobs.manager().status(run_id)
        events = jobs.manager().events(run_id)
        with st.container(key="state"):
            words = f"{WORDS[status.state]}" + (f", {status.place} in the queue" if status.state == "queued" else "")
            if status.active and status.total:
                left = f" · {status.seconds_left:.0f} s left" if status.seconds_left else ""
                st.progress(
                    status.rounds / max(status.total, 1),
                    text=f"{words} · round {status.rounds} of {status.total}{left}",
                )
            elif status.state == "failed":
                st.error(escape(status.message or "Training failed: try other settings."))
            else:
                st.caption(words + ("." if not status.message else f". {escape(status.message)}"))
        if status.active:
            player(run_id, status)
        if events:
            widgets_consensus.headline(events, before[1] if before else ())
            state["drawn"] = widgets_consensus.curves(events, shown_data(), before[1] if before else ())
        elif status.active:
            st.info("The first round is on its way.")
        if active and not status.active:
            st.rerun()

    draw()


def shown_data() -> Any:
    """The data whose names and colours the figures use."""
    return data


def player(run_id: str, status: Any) -> None:
    """Draw play, pause, one round and stop."""
    manager = jobs.manager()
    with st.container(horizontal=True):
        if status.state == "paused":
            st.button("Play", on_click=manager.resume, args=(run_id,), icon=":material/play_arrow:")
            st.button("One round", on_click=manager.step, args=(run_id,), icon=":material/skip_next:")
        else:
            st.button("Pause", on_click=manager.pause, args=(run_id,), icon=":material/pause:")
        st.button(
            "Stop training", on_click=manager.stop, args=(run_id,), icon=":material/stop:", disabled=status.stopping
        )


def after(run_id: str, setting: Setting) -> None:
    """Draw what there is to see and take once a run has ended."""
    result, events = jobs.manager().result(run_id), jobs.manager().events(run_id)
    if result is None or not events:
        return
    state["pace"] = events
    if state.get("before") and state["before"][1]:
        old = consensus.outcome(*state["before"])
        with st.container(key="change"):
            st.success(escape(consensus.difference(old, consensus.outcome(setting, events))))
    one, pins, bound, take = st.tabs(["One instance", "Pinned scenarios", "Theorem 4.1", "Take away"])
    with one:
        widgets_consensus.one_instance(result, data, data.source_names)
    with pins:
        pinned(setting, events)
    with bound:
        widgets_consensus.theorem(events)
    with take:
        settings = {"data": dict(current.recipe), "operations": setting.operations, "params": setting.params, "fit": {}}
        run = Run(owner, consensus.PAGE, setting.estimator, current.title, "", "finished", "", settings, {})
        widgets_consensus.downloads(run, result, state.get("drawn") or widgets_consensus.figures_of(events, data))


def pinned(setting: Setting, events: Any) -> None:
    """Keep scenarios side by side."""
    pins = state.setdefault("pins", [])
    last = events[-1]
    if st.button("Pin this scenario", icon=":material/push_pin:"):
        row = {"data": current.title, "scenario": describe(setting.operations)}
        row |= {"λ0": setting.params["lambda0"], "λ1": setting.params["lambda1"]}
        row |= {"as printed": setting.params["as_printed"], "rounds": len(events)}
        metric = last.detail["metric"].get("held_out", last.detail["metric"]["left_out"])
        row |= {last.detail["metric_name"]: number(metric, last.detail["metric_name"])}
        pins.append(row | {f"weight of {name}": round(w, 3) for name, w in last.source_weights.items()})
    if pins:
        st.dataframe(pins, hide_index=True, width="stretch")
    else:
        st.caption("Pin a scenario to compare it with the next ones.")


def sweep(setting: Setting) -> None:
    """Train over a grid of λ0 and λ1 and draw the error."""
    grid = (0.0, 0.1, 0.3, 1.0)
    runs = state.get("sweep")
    if st.button("Sweep λ0 and λ1", help="Sixteen trainings, one after the other, in the background."):
        runs = {}
        for l0 in grid:
            for l1 in grid:
                params = setting.params | {"lambda0": l0, "lambda1": l1}
                task = jobs.TrainingTask(setting.estimator, params, data, operations=setting.operations)
                try:
                    runs[l0, l1] = jobs.manager().submit(task, owner)
                except ValueError as error:
                    st.error(escape(error))
                    return
        state["sweep"] = runs
    if runs:
        sweep_progress(runs, grid, setting)


@st.fragment(run_every=1.0)
def sweep_progress(runs: dict, grid: tuple, setting: Setting) -> None:
    """Draw the grid as far as it is done."""
    z = np.full((len(grid), len(grid)), np.nan)
    metric = "error"
    for (l0, l1), run_id in runs.items():
        try:
            events, done = jobs.manager().events(run_id), not jobs.manager().status(run_id).active
        except jobs.UnknownRunError:
            continue
        if events and done:
            detail = events[-1].detail
            metric = detail["metric_name"]
            z[grid.index(l0), grid.index(l1)] = detail["metric"].get("held_out", detail["metric"]["left_out"])
    share = np.isfinite(z).mean()
    if share < 1:
        st.progress(share, text=f"{np.isfinite(z).sum()} of {z.size} trainings done")
    if share > 0:
        here = (setting.params["lambda1"], setting.params["lambda0"])
        here = here if here[0] in grid and here[1] in grid else None
        chart(figures.heat(grid, grid, z, ("λ1", "λ0", metric), here), "sweep_chart", "error over λ0 and λ1")


st.caption(f"{escape(current.title)}: {escape(current.story)}")
adopt()
bar = st.container(horizontal=True)
side, main = st.columns([1.15, 3], gap="large")
with side:
    chosen = controls()
with main:
    able = usable(chosen)
    run_id = state.get("run") if known_run() and state.get("run_data") == current.title else None
    busy = run_id is not None and jobs.manager().status(run_id).active
    changed = run_id is not None and state["run_setting"] != chosen
    estimate = consensus.seconds_of(state.get("pace", []) if run_id else [], chosen.params["n_iterations"])
    words = (
        "Train" if run_id is None or not changed else f"Train with these settings (about {max(estimate, 0.1):.1f} s)"
    )
    with bar:
        pressed = st.button("Train" if not changed else words, key="train", type="primary", disabled=not able or busy)
        stepped = st.button(
            "Step by step", key="stepwise", disabled=not able or busy, help="Start paused; play or go round by round."
        )
        st.toggle("Pause updates", key="hold", help="The charts stand still; training goes on.")
    if able and not busy and (pressed or stepped or state.pop("train_now", False)):
        start(chosen, paused=stepped)
    if able and changed and 0 < estimate < INSTANT:
        if busy:
            jobs.manager().stop(run_id)
        start(chosen)
    if run_id is None:
        st.info("Press Train: the curves and the weight of each source move while it trains.")
        widgets_consensus.explain()
    else:
        watch(run_id, state.get("before"))
        if not busy:
            after(run_id, state["run_setting"])
            sweep(state["run_setting"])
        with st.expander("What do the words mean?"):
            widgets_consensus.explain()
