"""Transfer: learn for a domain of few examples from related ones, and see which source still teaches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

import datasets
import hetcore as hc
from studio import session
from studio.views.common import training
from studio.views.common.widgets import details, escape, frame, panes
from studio.views.common.widgets_chance import any_over_seeds, compared
from studio.views.common.widgets_controls import OWN_SHARE, Limits, held, parameter_slider, slider, train_example
from studio.views.common.widgets_downloads import downloads
from studio.views.common.widgets_pins import pin_of, pinned
from studio.views.common.widgets_progress import outcomes
from studio.views.common.widgets_tabs import tabs
from studio.views.common.widgets_training import LiveTrainings
from studio.views.transfer import widgets_settings as transfer
from studio.views.transfer.domains import (
    ALL,
    BASELINE,
    METHODS,
    NONE,
    examples_possible,
    fewest_labels,
    first_class,
    first_target,
    other_units,
    why_not,
)
from studio.views.transfer.eta import Path, but_eta, path_of
from studio.views.transfer.widgets import WEIGHTED, curves, explain, headline, offer_examples, predictions
from studio.views.transfer.widgets_curve import MeasuredCurve
from studio.views.transfer.widgets_settings import Choice, choose, eta_control

PAGE = "Transfer"
FIRST = ["Blend", BASELINE, WEIGHTED]
frame(PAGE)
current, owner = session.current(), session.owner()
data, state = session.changed(), st.session_state


def domains() -> tuple[str, tuple[str, ...]]:
    """Draw the choice of the target and of its sources."""
    names = data.source_names
    text = "The domain to learn for: few of its labels are known."
    first = first_target(data) if state.get("uploaded") is None else fewest_labels(data)
    target = choose("Target domain", names, first, "target", text)
    # The target teaches nothing: its own labels are what the methods are given.
    others = [name for name in names if name != target]
    text = "Domains to learn from; take one out to see what it teaches."
    return target, tuple(choose("Sources", others, others, "teachers", text))


def classes() -> str | None:
    """Draw the choice of all classes, or of one that is told from the others."""
    # Of two classes one against the rest is the same task.
    if len(data.classes) < 3:
        return None
    first = first_class(data) or ALL
    text = "One class against as many rows of the others (chance is one half), or all classes at once."
    chosen = choose("Classes", [ALL, *data.classes], first, "class", text, format_func=class_label)
    return None if chosen == ALL else chosen


def class_label(label: str) -> str:
    """Return a class as the choice shows it."""
    return f"all {len(data.classes)} classes" if label == ALL else f"{label} against the rest"


def corrupted(sources: tuple[str, ...]) -> tuple[str, float] | None:
    """Draw the choice of a source whose labels are flipped."""
    text = "A share of its labels changes: a good method stops listening."
    name = choose("Spoil a source", [NONE, *sources], NONE, "corrupted", text)
    if name == NONE:
        return None
    help_ = "Share of the source's labels."
    share = slider("Labels flipped, per cent", 0, 100, start=50, step=5, key="corrupted_share", help=help_)
    return name, share / 100


def controls() -> tuple[Choice, list[str], int]:
    """Draw the controls; return what was chosen, the methods, and how many examples there can be."""
    target, sources = domains()
    label = classes()
    possible = examples_possible(data, target, label)
    most = max(possible, 2)
    # What the address says comes first; another target may have fewer, and a slider past its end raises.
    # Of an example three, where transfer matters most; of one's own as many as train on the other pages.
    start = 3 if state.get("uploaded") is None else possible * OWN_SHARE // 100
    start = max(1, min(start, most))
    held("examples", start, Limits(1, most))
    state["examples"] = min(state["examples"], most)
    text = "Labelled rows of each class in the target; the other rows score the methods."
    examples = slider("Target examples of each class", 1, most, start=start, step=1, key="examples", help=text)
    methods = choose("Methods", list(METHODS), FIRST, "methods", "Trained side by side on the same examples.")
    broken = corrupted(sources)
    choice = Choice(target, sources, label, examples, broken)
    return more(choice, methods), methods, possible


def more(choice: Choice, methods: list[str]) -> Choice:
    """Draw η and what is rarely changed."""
    # Above the others, and drawn after them: its curve is of what they say.
    place, given = st.container(), {}
    # What no chosen method takes would be moved in vain.
    taken = {name for method in methods for name in METHODS[method].takes}
    with st.expander("More parameters"):
        if "n_iterations" in taken:
            # One slider of all methods, which begins where the one that is chosen at first does.
            start = hc.WeightedMultiSourceTrAdaBoostClassifier().n_iterations
            given["n_iterations"] = parameter_slider(hc.TrAdaBoostClassifier.n_iterations, "transfer_rounds", start)
        if "max_depth" in taken:
            given["max_depth"] = parameter_slider(hc.TrAdaBoostClassifier.max_depth, "transfer_depth")
        if WEIGHTED in methods:
            given |= how_eta_acts()
        text = "Of the examples that are drawn, and of training."
        key = held("transfer_seed", 0, Limits(0, 9999), label="Seed")
        given["seed"] = int(st.number_input("Seed", 0, 9999, key=key, help=text))
    choice = replace(choice, **given)
    # η is of this method alone, and its scale needs a choice that can be counted.
    if WEIGHTED not in methods or transfer.problem(data, choice):
        return choice
    with place:
        return replace(choice, eta=eta_control(*sizes(choice), eta_path(choice)))


def how_eta_acts() -> dict[str, str | None]:
    """Draw what η multiplies, and of which rows."""
    updates = ["exponential", "multiplicative"]
    text = "Whether η multiplies the exponents of the weights, or the weights themselves."
    update = choose("η acts", updates, updates[0], "update", text)
    text = "As printed: both for exponents; the target for weights, where both would cancel out."
    on = choose("η on", ["as usual", "target", "source", "both"], "as usual", "eta_on", text)
    return {"update": update, "eta_on": None if on == "as usual" else on}


def sizes(choice: Choice) -> tuple[int, int]:
    """Return n_T and n_S of a choice, counted once."""
    # Counting applies all operations, and the page runs at every click.
    stamp = (data.digest(), repr(choice))
    if state.get("transfer sizes", (None,))[0] != stamp:
        state["transfer sizes"] = (stamp, transfer.sizes_of(data, choice))
    return state["transfer sizes"][1]


def eta_path(choice: Choice) -> Path | None:
    """Return the left-out loss by η of the last training by left-out rows with the settings of a choice."""
    trained = live.settings.get(WEIGHTED)
    if trained is not None and (found := path_of(live.events().get(WEIGHTED, ()))):
        state["eta path"] = (but_eta(trained), found)
    # A path is of its rows and settings: with others the curve of before would be a lie.
    wanted = transfer.settings(data, choice, [WEIGHTED], session.operations())[WEIGHTED]
    setting, kept = state.get("eta path", (None, None))
    return kept if setting == but_eta(wanted) else None


def usable(choice: Choice, methods: list[str]) -> bool:
    """Say in one sentence why this can't be trained, if it can't."""
    why = transfer.problem(data, choice) if methods else "No method is chosen: choose at least one."
    if why:
        st.warning(escape(why))
    elif units := units_apart(choice):
        st.caption(f":material/straighten: {escape(units)}")
    return not why


def units_apart(choice: Choice) -> str:
    """Say which column is in another unit somewhere, found once for a choice of domains."""
    stamp = (data.digest(), choice.target, choice.sources)
    if state.get("transfer units", (None,))[0] != stamp:
        state["transfer units"] = (stamp, other_units(data, choice.target, choice.sources))
    return state["transfer units"][1]


def finished() -> dict[str, Any]:
    """Return the results of the trainings that have ended, by method."""
    results = {label: live.result(label) for label in live.runs}
    # A method that failed has neither result nor rounds, and the others are shown all the same.
    return {label: result for label, result in results.items() if result is not None and live.events()[label]}


def after(ended: dict[str, Any]) -> None:
    """Draw what there is to see and take once the trainings have ended."""
    tabs(
        {
            "The target's rows": lambda: predictions(ended),
            "Pinned scenarios": lambda: pinned(pin_of(live, current.title), PAGE, current.data, owner),
            "Take away": lambda: take_away(ended),
        },
        "after",
    )


def take_away(ended: dict[str, Any]) -> None:
    """Offer files and code of one of the methods."""
    label = st.selectbox("Of the method", list(ended), key="take_of", width=280)
    run = training.run_of(PAGE, live.settings[label], current.recipe, current.title, owner)
    downloads(run, ended[label], state.get("transfer drawn") or {})


def draw(events: Any, before: Any) -> None:
    """Draw the trainings so far, pale beside them those before."""
    headline(events, before)
    state["transfer drawn"] = curves(events, data, trained_target(), before)


def trained_target() -> str:
    """Return the target of the trainings that are shown."""
    return next(iter(live.settings.values())).form["target"]


def page() -> None:
    """Draw the page."""
    st.caption(f"{escape(current.title)}: {escape(current.story)}")
    bar, main, side = panes()
    with side:
        choice, methods, possible = controls()
    with main:
        able = usable(choice, methods)
        trainings = st.container()
        # It has runs of its own, which go on beside the trainings and outlive them.
        measured = details("measured")
    # A choice that can't be trained has no settings; the buttons are drawn all the same, and are pale.
    settings = transfer.settings(data, choice, methods, session.operations()) if able else {}
    with measured:
        st.divider()
        # Before the buttons, which write all controls to the address and hide what is not presented.
        MeasuredCurve(current.data, current.title, owner).draw(settings, choice.target, possible)
    with bar:
        live.controls(settings, able)
    with trainings:
        if live.runs:
            ended = {} if live.busy else finished()
            if ended:
                outcomes(live)
            live.watch(draw)
            if ended:
                # Against no transfer: whether sources help at all is what the page asks.
                others = [(BASELINE, label) for label in ended if label != BASELINE]
                any_over_seeds(current.data, compared(live, others), owner, "transfer")
                after(ended)
        elif able:
            st.info("Press Train: accuracy and the mass of each source move while the methods train.")
    with main, st.expander("What do the words mean?", expanded=not live.runs):
        explain()


if reason := why_not(data):
    st.markdown("Few labels of your own, related data with many: **which source still teaches?**")
    offer_examples(reason, datasets.names(), train_example)
else:
    live = LiveTrainings(PAGE, current, owner)
    page()
