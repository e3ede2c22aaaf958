"""What the Two learners page draws of trainings: F1 and risk by round or second, steps, weights, the confusion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import streamlit as st

from hetcore.figures import two_learners as figures
from studio.messages import difference
from studio.views.common.curves import (
    ROWS,
    SCORED,
    SHARES,
    Events,
    about_stars,
    by_name,
    by_training,
    kept,
    round_of,
    scored_set,
    starred,
)
from studio.views.common.widgets import chart, escape, live_chart, moved, number
from studio.views.common.widgets_controls import asked_choice, in_link
from studio.views.common.widgets_tabs import tabs
from studio.views.two_learners import settings
from studio.views.two_learners.settings import BRANCHES, FEATURES, FIRST, ORDER_OF

__all__ = ["AGAINST", "confusion", "curves", "figures_of", "headline"]

AGAINST = ("rounds", "seconds")
OTHER_LOSS = (FEATURES, BRANCHES)
"""Models that minimise another loss."""
NOTES = {
    "steps": "What the learner of a source counts in a round; below zero it is taken the other way round.",
    "moved": "The same in the scores' own unit: how far a source changed them, after shrinkage.",
    "weights": "Each source's share in the fall of the log risk so far.",
    "error": "Share of rows predicted wrongly.",
}


def headline(
    events: Events, before: Events, frames: Mapping[str, pl.DataFrame], earlier: Mapping[str, pl.DataFrame]
) -> None:
    """Show F1 and the time of each model so far, and how F1 has changed.

    Parameters
    ----------
    events, before : mapping of str to sequence of RoundEnd
        By label, of the trainings and of those before.
    frames, earlier : mapping of str to DataFrame
        The predictions of the same, once they have ended.
    """
    # Of the predictions of both trainings, or of the kept rounds of both.
    both = {*frames} & {*earlier}
    old, now = (
        settings.last_f1(each, {label: predictions[label] for label in both}) if any(each.values()) else {}
        for each, predictions in ((before, earlier), (events, frames))
    )
    came = settings.came_to(frames)
    with st.container(horizontal=True, gap="medium", key="headline"):
        for label, value in settings.last_f1(events, frames).items():
            # Only at the end: half a training beside a whole one would mislead.
            ended = settings.ended(events[label][-1])
            change = difference(now[label], old[label], 3) if ended and label in old else 0.0
            # No arrow for nothing to see.
            delta = f"{change:+.3f}" if change else None
            with st.container(width="content"):
                st.metric(f"F1 of {escape(label)}", f"{value:.3f}", width="content", **moved(delta))
                error = kept(events[label]).detail["metric"][scored_set(events, "F1")]
                error = came["error"].get(label, error)
                st.caption(f"error {number(error, 'error')} · {events[label][-1].seconds:.1f} s")


# Round by round -------------------------------------------------------------------------------------------------------


def _curves(
    events: Events, before: Events, pick: Callable[[Any], float], against: str, y: str, order: Sequence[str],
    came: Mapping[str, float] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Draw lines and, where a model is not that of its line's end, a star; `came` is what ended models came to."""
    place = (lambda event: event.seconds) if against == "seconds" else round_of
    now, old = (by_training(each, pick, place) for each in (events, before))
    title = "seconds of training" if against == "seconds" else "round (of networks: epoch)"
    log = y.startswith("risk")
    pale = {k: v for k, v in old.items() if k in order}
    ends = {label: kept(each) for label, each in events.items() if each}
    points = {label: (place(event), (came or {}).get(label, pick(event))) for label, event in ends.items()}
    return starred(figures.curves(now, (title, y), order, pale=pale, log=log), points)


def figures_of(
    events: Events, before: Events, against: str, order: Sequence[str], sources: Sequence[str], scored: str,
    came: Mapping[str, Mapping[str, float]] | None = None, every: Sequence[str] = (),
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """Return the live figures by name.

    Parameters
    ----------
    events, before : mapping of str to sequence of RoundEnd
        By label; the trainings before are drawn pale.
    against : {"rounds", "seconds"}
    order : sequence of str
        All labels that there can be.
    sources : sequence of str
        Names of the sources in use.
    scored : str
        On which rows, of `SCORED`.
    came : mapping of str to mapping of str to float, optional
        "F1" and "error" of ended models on those rows, by label.
    every : sequence of str, optional
        Names of all sources of the data, by which each has its colour.
    """
    text, came = SCORED[scored], came or {}
    # Their risk is another number, which on the same axis would be compared all the same.
    ours, earlier = ({k: v for k, v in all_.items() if k not in OTHER_LOSS} for all_ in (events, before))
    drawn = {
        name: _curves(now, old, pick, against, y=f"{name}, {text}", order=order, came=came.get(name))
        for name, now, old, pick in (
            ("F1", events, before, lambda e: e.detail["F1"].get(scored, np.nan)),
            ("risk", ours, earlier, lambda e: e.losses.get(scored, np.nan)),
            ("error", events, before, lambda e: e.detail["metric"].get(scored, np.nan)),
        )
    }
    joint = {label: events[label] for label in ORDER_OF if events.get(label)}
    return drawn | _joint_figures(joint, sources, against, every or sources)


def _joint_figures(
    joint: Events, sources: Sequence[str], against: str, every: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return what a round of the models of several sources was made of: steps, moves, weights."""
    seconds = {label: [event.seconds for event in each] for label, each in joint.items()}
    letters, drawn = {name: f"{letter} {name}" for name, letter in settings.symbols(sources).items()}, {}
    for name, title, pick in (
        ("steps", "step, before shrinkage", lambda e: e.detail["steps"]),
        ("moved", "change of the scores, root mean square", lambda e: e.detail["moved"]),
        ("weights", "source weight", lambda e: e.source_weights),
    ):
        series = {label: {name: y for name, (_, y) in by_name(each, pick).items()} for label, each in joint.items()}
        named, places = letters if name == "steps" else None, seconds if against == "seconds" else None
        drawn[name] = figures.per_source(series, title, every, names=named, seconds=places)
    drawn["weights"]["layout"]["yaxis"] |= {"range": [0, 1.02], "hoverformat": SHARES}
    return drawn


def curves(
    events: Events, before: Events, frames: Mapping[str, pl.DataFrame], order: Sequence[str], sources: Sequence[str],
    every: Sequence[str] = (),
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """Draw the live figures and return them by name; see `figures_of`. `frames` has predictions of ended models."""
    best = scored_set(events, "F1")
    # The switches stand below the charts, which a phone would not show under them.
    charts, switches = st.container(), st.container()
    with switches:
        against, scored = _switches(best)
    # The numbers of the headline, which are of the best witnesses.
    came = settings.came_to(frames) if scored == best else None
    more = {"sources": sources, "scored": scored, "came": came, "every": every}
    drawn = figures_of(events, before, against, order=order, **more)
    points = max((len(each) for each in events.values()), default=0)
    left, right = charts.columns(2)
    with left:
        st.caption("F1 of each model: more is better")
        live_chart(drawn["F1"], "two_f1", points)
        if text := about_stars(drawn["F1"]):
            st.caption(text)
    with right:
        st.caption("Risk, what rounds lower: less is better")
        if drawn["risk"]["data"]:
            live_chart(drawn["risk"], "two_risk", points)
        if any(events.get(label) for label in OTHER_LOSS):
            st.caption(f"{FEATURES} and {BRANCHES} lower another risk (cross-entropy), so they are not drawn here.")
    _details(drawn, points, any(events.get(label) for label in ORDER_OF))
    return drawn


def _switches(scored: str) -> tuple[str, str]:
    """Draw what the curves run against and on which rows; return both."""
    with st.container(horizontal=True):
        against = st.segmented_control(
            "Against", AGAINST, default=AGAINST[asked_choice("against", AGAINST)], required=True, **in_link("against"),
            help="Seconds are those of this machine, which trains several models at once; a network that needs PyTorch "
            "loads it first.",
        )  # fmt: skip
        rows = [scored, "train"] if scored != "train" else ["train"]
        chosen = st.segmented_control(
            "On rows", rows, default=rows[asked_choice("scored", rows)], required=True, format_func=SCORED.get,
            help=ROWS, **in_link("scored", f"on {scored}"),
        )  # fmt: skip
    return against or AGAINST[0], chosen or rows[0]


def _details(drawn: Mapping[str, dict[str, Any]], points: int, joint: bool) -> None:
    """Draw what a round of the joint models was made of."""
    titles = {"steps": "Steps ε and δ", "moved": "What each source moved", "weights": "Source weights"}

    def about(name: str) -> None:
        if name == "error" or joint:
            live_chart(drawn[name], f"two_{name}", points)
            st.caption(NOTES[name])
        else:
            st.caption(f"Choose “{FIRST}” among the models: steps are those of sources that learn together.")

    parts = {text: lambda name=name: about(name) for name, text in (titles | {"error": "Error"}).items()}
    tabs(parts, "about", alone=False)


# Once they have ended -------------------------------------------------------------------------------------------------


def confusion(frames: Mapping[str, pl.DataFrame]) -> None:
    """Draw which classes the chosen model takes for which, on the rows whose labels were hidden.

    Parameters
    ----------
    frames : mapping of str to DataFrame
        Predictions by label.
    """
    names = list(frames)
    # A choice of what is no longer trained makes Streamlit raise.
    if st.session_state.get("confusion_of") not in names:
        st.session_state.pop("confusion_of", None)
    first = names.index(FIRST) if FIRST in names else len(names) - 1
    look = in_link("model", "confusion_of") | {"help": "Whose predictions are counted.", "width": 320}
    label = st.selectbox("Model", names, asked_choice("model", names, first), **look)
    truth, predicted = settings.predicted_rows(frames[label])
    figure = figures.confusion(truth, predicted)
    held_out = "held_out" in frames[label].columns and frames[label]["held_out"].count()
    rows = f"{truth.size:,} {'held-out' if held_out else 'training'} rows"
    wrong = int((truth != predicted).sum())
    st.caption(f"{rows}, {wrong:,} of them predicted wrongly; a row of the figure is a true class.")
    chart(figure, "confusion", f"confusion matrix of {label}")
