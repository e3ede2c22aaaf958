"""Consensus: train Gradient Boosting Consensus, move its parameters, and watch sources gain and lose weight."""

from __future__ import annotations

from typing import Any

import streamlit as st

import hetcore as hc
from hetcore.consensus.printed.algorithm1 import PRINTED_AUTO
from studio import session
from studio.jobs import cluster
from studio.jobs.job import Setting
from studio.views.common import training, widgets_downloads
from studio.views.common.widgets import escape, frame, panes
from studio.views.common.widgets_chance import over_seeds
from studio.views.common.widgets_controls import (
    Limits,
    chosen_or_slider,
    held,
    labels_known,
    multiselect,
    parameter_slider,
    slider,
)
from studio.views.common.widgets_pins import pin_of
from studio.views.common.widgets_tabs import tabs
from studio.views.common.widgets_training import LiveTrainings
from studio.views.consensus import widgets, widgets_by_path
from studio.views.consensus.widgets_case import one_case, trained_on
from studio.views.consensus.widgets_lambda_map import lambda_grid
from studio.views.consensus.widgets_map import instances
from studio.views.consensus.widgets_new_rows import predict_new
from studio.views.consensus.widgets_pins import pinned
from studio.views.consensus.widgets_without import Without

PAGE, PRINTED = "Consensus", "As printed in the paper"
frame(PAGE)
current, owner = session.current(), session.owner()
data = current.data
state = st.session_state
live = LiveTrainings(PAGE, current, owner)


def controls() -> Setting:
    """Draw the controls and return the setting."""
    method = getattr(hc, training.estimator_of(data))
    whole = widgets_by_path.on_all_rows(current)
    # Known before its toggle is drawn, which stands further down.
    printed = state[held("printed", False, label=PRINTED)]
    lambda0 = weight(method.lambda0, "l0", "λ0", printed)
    lambda1 = weight(method.lambda1, "l1", "λ1", printed)
    known = labels_known(30, "known")
    names = widgets_by_path.names(current, session.operations(), whole)
    sources, graphs, noise = parts(names, noisy=not whole)
    with st.expander("More parameters"):
        params = more(method, printed)
    params |= {"lambda0": lambda0, "lambda1": lambda1} | cluster.parameters()
    params |= widgets_by_path.parameters(params["as_printed"]) if whole else {}
    # One seed for split and training, so that a run is repeated by one number.
    seed = params["random_state"]
    operations = session.operations() + training.operations_of(
        names, sources, graphs, noise=noise, known=known / 100, seed=seed
    )
    return Setting(training.estimator_of(data), params, operations, whole=whole)


def weight(parameter: Any, key: str, symbol: str, printed: bool) -> float | str:
    """Draw a λ: chosen out of fold, or by a slider."""
    words = f"{symbol} that has the lowest out-of-fold loss; off gives it a slider."
    note = f"As printed no loss is out of fold: {symbol} is {PRINTED_AUTO}." if printed else ""
    start = 0.3 if parameter.default == "auto" else None
    return chosen_or_slider(parameter, key, f"{symbol} chosen out of fold", words, start=start, note=note)


def parts(known: widgets_by_path.Names, noisy: bool) -> tuple[list[str], list[str], tuple[str, float] | None]:
    """Draw what is in use: sources, graphs, and noise in a source where that is offered."""
    sources = multiselect("Sources in use", known.source_names, f"sources {current.title}", "sources")
    graphs = known.graph_names
    if graphs:
        graphs = multiselect("Graphs in use", known.graph_names, f"graphs {current.title}", "graphs")
    # Noise is added in memory, where all rows by path are not.
    if not noisy:
        return sources, graphs, None
    names = ["none", *known.source_names]
    key = held(f"noisy {current.title}", "none", Limits(choices=names), "noisy", label="Noise in a source")
    noisy = st.selectbox("Noise in a source", names, key=key)
    if noisy == "none":
        return sources, graphs, None
    words = "Gaussian noise added to each column of the source."
    return (
        sources,
        graphs,
        (noisy, slider("Noise, in standard deviations", 0.0, 5.0, start=1.0, step=0.25, key="sd", help=words)),
    )


def more(method: Any, printed: bool) -> dict[str, Any]:
    """Draw what is rarely changed, and return it as parameters."""
    # The method's own declarations: label, ends and help of a slider never differ from what it accepts.
    # As printed a step is the line search's; what is below keeps its place without the slider.
    with st.container():
        params = {} if printed else {"learning_rate": parameter_slider(method.learning_rate, "rate")}
    rounds, depth = parameter_slider(method.n_iterations, "rounds"), parameter_slider(method.max_depth, "depth")
    key = held("seed", 0, Limits(0, 9999), label="Seed")
    seed = st.number_input("Seed", 0, 9999, key=key, help="Of the split and of training.")
    words = "Algorithm 1 to the letter; small λ needed."
    key = held("printed", False, label=PRINTED)
    printed = st.toggle(PRINTED, key=key, help=words, on_change=follow_printed, args=(method.lambda0.default,))
    params |= {"n_iterations": rounds, "max_depth": depth, "as_printed": printed}
    return params | {"random_state": int(seed)}


def follow_printed(start: float) -> None:
    """Leave λ0 to Algorithm 1 while it is as printed, where its λ are smaller; not one that a person has chosen."""
    if state["printed"] and not state["l0auto"] and state.get("l0", start) == start:
        state["l0auto"] = state["l0 as printed"] = True
    elif not state["printed"] and state.pop("l0 as printed", False):
        state["l0auto"] = False


def usable(setting: Setting) -> bool:
    """Say in one sentence why this can't be trained, if it can't."""
    dropped = {op["name"] for op in setting.operations if op["op"] == "drop_source"}
    # Said before training: a worker would refuse it too, but only after the data had gone there.
    if not set(data.source_names) - dropped:
        st.warning("No source is in use: choose at least one.")
        return False
    if data.target_kind is None or not data.labelled.any():
        st.warning("The data have no label: choose a label column on the Data page.")
        return False
    if setting.whole and (reason := widgets_by_path.why_not(setting, data, session.summary()["sources"])):
        st.warning(reason)
        return False
    return True


def draw(events: Any, before: Any) -> None:
    """Draw a run so far, pale beside it the one before."""
    # The page trains one model, which has the page's name for a label.
    old = before.get(PAGE, ())
    if events[PAGE]:
        without, result = beside(), live.result(PAGE)

        # Handed on, for the headline is said after the charts, which a person looks at first.
        def say() -> None:
            widgets.headline(events[PAGE], old, without.line())
            widgets.remarks(live.settings[PAGE], data, None if result is None else result.predictions)
            without.say(events[PAGE][-1], None if result is None else result.predictions)

        state["drawn"] = widgets.curves(events[PAGE], data, old, without.line(), say)
        # Nothing where no cluster takes part, which is nearly always.
        if text := cluster.summary(events[PAGE]):
            st.caption(text)


def beside() -> Any:
    """Return what one would do without consensus on the labels that were trained on."""
    # Of all rows by path there is none: it would join their tables in memory.
    setting = live.settings[PAGE]
    return widgets_by_path.NoComparison() if setting.whole else Without(data, setting.operations, owner)


def after(setting: Setting) -> None:
    """Draw what there is to see and take once a run has ended."""
    result, events = live.result(PAGE), live.events()[PAGE]
    if result is None or not events:
        return
    # What was merely trained again came to the same.
    if PAGE in live.before and live.before[PAGE][0] != setting:
        old = training.outcome(*live.before[PAGE])
        with st.container(key="change"):
            words = training.difference(old, training.outcome(setting, events))
            st.info(escape(words), icon=":material/compare_arrows:")
            # Ten more fits on all rows by path would keep a worker for hours, which nobody asked for.
            if not (setting.whole or live.before[PAGE][0].whole):
                over_seeds(data, live.before[PAGE][0], setting, owner, "change")
    if setting.whole:
        of_the_sample(setting, result, events)
        return
    tabs(
        {
            "One instance": lambda: widgets.one_instance(result, data, trained_on(data, setting.operations)),
            "One case": lambda: case(setting, result),
            "Map": lambda: instances(result, data, setting.operations, owner),
            "New rows": lambda: new_rows(setting, result),
            "Pinned scenarios": lambda: pinned(pin_of(live, current.title), data, owner),
            "Theorem 4.1": lambda: widgets.theorem(events),
            "Take away": lambda: take_away(setting, result, events),
        },
        "after",
    )


def chosen_lambdas() -> dict[str, float]:
    """Return the λ that the training shown chose out of fold, by name."""
    events = live.events()[PAGE]
    return events[-1].detail.get("choices", {}) if events else {}


def of_the_sample(setting: Setting, result: Any, events: Any) -> None:
    """Show of a training on all rows what needs none of them here: the sample's instances, and the model."""
    st.caption(escape(widgets_by_path.scored(result, data)))
    tabs(
        {
            "One instance": lambda: widgets.one_instance(result, data, data),
            "New rows": lambda: predict_new(result.model, data, current.recipe, owner),
            "Theorem 4.1": lambda: widgets.theorem(events),
            "Take away": lambda: take_away(setting, result, events),
        },
        "after",
    )


def case(setting: Setting, result: Any) -> None:
    """Let the person edit an instance and see what the model says of it."""
    seen = trained_on(data, setting.operations)
    one_case(
        result, data, setting.operations, owner, lambda like: widgets.neighbours(seen, like, result.predictions)
    )


def new_rows(setting: Setting, result: Any) -> None:
    """Predict uploaded rows, and say how many of the labels the model has learned from."""
    widgets_downloads.learned_from(setting.operations)
    predict_new(result.model, data, current.recipe, owner)


def take_away(setting: Setting, result: Any, events: Any) -> None:
    """Offer files of a run."""
    run = training.run_of(PAGE, setting, current.recipe, current.title, owner)
    widgets_downloads.downloads(run, result, state.get("drawn") or widgets.figures_of(events, data))


st.caption(f"{escape(current.title)}: {escape(current.story)}")
bar, main, side = panes()
with side:
    chosen = controls()
with main:
    # In the wide column, before the charts: a reason beside the controls is overlooked.
    able = usable(chosen)
with bar:
    live.controls({PAGE: chosen}, able)
with main:
    if not live.runs:
        if able:
            st.info("Press Train: the curves and the weight of each source move while it trains.")
        widgets.explain()
    else:
        # At once and in the background, so that it is there when the training has ended.
        beside().start()
        # Each part keeps its place: a fragment that is drawn again writes where it was, whatever else is there.
        watched, compared, ended = st.container(), st.container(), st.container()
        with watched:
            live.watch(draw)
        with compared:
            beside().draw(live.busy)
        with ended:
            if not live.busy:
                after(live.settings[PAGE])
                if not live.settings[PAGE].whole:
                    lambda_grid(data, live.settings[PAGE], owner, chosen_lambdas())
        # Always the last, so that the charts above never move for it.
        with st.expander("What do the words mean?"):
            widgets.explain()
