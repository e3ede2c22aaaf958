"""What the Transfer page draws of trainings: methods side by side, the mass of each source, predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import streamlit as st

from hetcore.data import HetData
from hetcore.figures import transfer as figures
from studio.messages import difference, shown
from studio.views.common.curves import Events, aligned, by_name, by_training, scored_rows
from studio.views.common.widgets import escape, live_chart, moved, show_table
from studio.views.common.widgets_controls import asked_choice, in_link
from studio.views.common.widgets_tabs import tabs
from studio.views.transfer.domains import METHODS

__all__ = ["ORDER", "WEIGHTED", "curves", "explain", "headline", "offer_examples", "predictions", "side_by_side"]

ORDER = tuple(METHODS)
EXAMPLES = {"planted_domains": "made up, no download needed", "office_caltech": "four kinds of cameras and shops"}
WEIGHTED = "Weighted MultiSource"
"""The method whose masses are drawn first: they move round by round."""
NEAR_HALF = 0.45
"""Weighted error from which on a coin is near."""
SMALLEST = 0.05
"""Share of a blend that is worth a word."""
MISSING = {
    "epsilon": "No round has an ε yet: only methods that boost on weighted rows have one.",
    "alpha": "No round has a vote α yet: only methods that boost on weighted rows have one.",
    "loss": "None of these methods gives probabilities, which a log loss is of.",
}
"""By figure, why it may be empty."""
ROWS = {"all": "all domains", "all, domain column": "all domains, with a column of the domain"}
"""The rows of a part of a blend in a page's words; the others are said as they are."""


def offer_examples(why: str, names: Sequence[str], use: Any) -> None:
    """Say why the data in use do not fit, and offer examples that do.

    Parameters
    ----------
    why : str
    names : sequence of str
        The examples that there are.
    use : callable
        Called with the name of the one that is chosen.
    """
    import datasets

    st.info(escape(why), icon=":material/info:")
    with st.container(horizontal=True):
        for place, name in enumerate(name for name in EXAMPLES if name in names):
            text = f"Use {escape(datasets.info(name).title)}"
            kind = "primary" if place == 0 else "secondary"
            st.button(text, type=kind, on_click=use, args=(name,), key=f"use {name}", help=EXAMPLES[name])
    text = "Bring your own: a table per domain, or one with a column “domain”"
    st.page_link("pages/1_Data.py", label=text, icon=":material/upload_file:")


# Round by round -------------------------------------------------------------------------------------------------------


def headline(events: Events, before: Events) -> None:
    """Show the accuracy of each method on the target's other rows."""
    st.caption("Accuracy on the target's other rows")
    with st.container(horizontal=True, gap="large", key="headline"):
        for label, each in events.items():
            if not each:
                continue
            now, delta = _accuracy(each[-1]), None
            # Only at the end: half a training beside a whole one would mislead.
            if before.get(label) and each[-1].index + 1 == each[-1].total:
                gain = difference(100 * now, 100 * _accuracy(before[label][-1]), 1)
                delta = f"{gain:+.1f} points" if gain else None
            st.metric(escape(label), f"{100 * now:.1f}%", width="content", **moved(delta))


def _accuracy(event: Any) -> float:
    metric = event.detail["metric"]
    return 1.0 - metric[scored_rows(metric)]


def _detail(name: str) -> Any:
    return lambda event: event.detail.get(name)


def curves(events: Events, data: HetData, target: str, before: Events) -> dict[str, dict[str, Any]]:
    """Draw the live figures and return them by name."""
    n_points = sum(map(len, events.values()))

    def drawn(pick: Any, title: str, **more: Any) -> dict[str, Any]:
        return figures.side_by_side(by_training(events, pick), title, ORDER, pale=by_training(before, pick), **more)

    found = {"accuracy": drawn(_accuracy, "accuracy on the target's other rows", percent=True)}
    left, right = st.columns(2)
    with left:
        st.caption("Accuracy by round")
        live_chart(found["accuracy"], "live_accuracy", n_points)
    with right:
        found["mass"] = _mass(events, data, target, before, n_points)
    found["epsilon"] = drawn(_detail("epsilon"), "ε, weighted error on the target", level=0.5)
    found["alpha"] = drawn(_detail("alpha"), "α, vote of the round")
    found["loss"] = drawn(lambda event: event.losses.get("held_out"), "log loss on the target's other rows")

    def about(name: str) -> None:
        # In a container, so that a chart that comes later moves nothing.
        with st.container():
            if text := why_empty(name, found[name], events):
                st.caption(text)
            else:
                live_chart(found[name], f"live_{name}", n_points)
        if name == "epsilon" and (note := _epsilon_note(by_training(events, _detail(name)))):
            st.caption(note)

    names = {"ε · error of each round": "epsilon", "α · its vote": "alpha", "Loss": "loss"}
    tabs({text: lambda name=name: about(name) for text, name in names.items()}, "about", alone=False)
    return found


def why_empty(name: str, figure: Mapping[str, Any], events: Events) -> str:
    """Say why a figure has no line of these trainings; "" of one that has."""
    return "" if any(trace.get("name") in events for trace in figure["data"]) else MISSING[name]


def _epsilon_note(lines: Mapping[str, Any]) -> str:
    if not lines:
        return ""
    if all(values.max() < 1e-9 for _, values in lines.values()):
        return (
            "ε is 0: one learner tells these few examples apart in the first round, so boosting has no more to correct."
        )
    if all(values.max() < NEAR_HALF for _, values in lines.values()):
        return "Below ½ a round's learner helps; the smaller, the more its vote counts."
    return "At ½, the dotted line, a round's learner helps no more than a coin."


def _mass(events: Events, data: HetData, target: str, before: Events, n_points: int) -> dict[str, Any]:
    """Draw the mass of each source in one method, which the person chooses."""
    able = [label for label, each in events.items() if each and each[-1].source_weights]
    if not able:
        st.caption("No method among these weighs sources.")
        return figures.masses([], {}, data.source_names, target)
    awaited = WEIGHTED in events and WEIGHTED not in able  # its masses are to come, and are drawn first
    # A choice of what is no longer trained makes Streamlit raise.
    if st.session_state.get("mass_of") not in able:
        st.session_state.pop("mass_of", None)
    # Where the list begins in the browser too.
    first = asked_choice("mass", able, able.index(WEIGHTED) if WEIGHTED in able else 0)
    label = able[0] if awaited else st.session_state.get("mass_of", able[first])
    now, old = (by_name(each.get(label, ()), _weights(target)) for each in (events, before))
    figure = figures.masses(*aligned(now), data.source_names, target, pale=old)
    st.caption(f"Share of the weight by source: {escape(label)}")
    live_chart(figure, "live_mass", n_points)
    if len(able) > 1 and not awaited:
        look = in_link("mass", "mass_of")
        st.selectbox("Weights of", able, first, help="The method whose weights are drawn.", **look)
    if blend := events[label][-1].detail.get("blend"):
        st.caption(escape(blended(blend)))
    return figure


def blended(blend: Mapping[str, float]) -> str:
    """Say what a blend is made of, the largest shares only."""
    large = sorted(((share, name) for name, share in blend.items() if share >= SMALLEST), reverse=True)
    parts = [(share, *name.partition(", ")[::2]) for share, name in large]
    return "Blended from " + ", ".join(f"{share:.0%} {kind} ({ROWS.get(of, of)})" for share, kind, of in parts) + "."


def _weights(target: str) -> Any:
    return lambda event: {**event.source_weights, target: event.detail.get("target_mass", np.nan)}


def side_by_side(predictions: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the target's scored rows with what each method says, those that most methods get wrong first.

    Parameters
    ----------
    predictions : mapping of str to DataFrame
        By method, see `studio.jobs.results.RunResult`; over the same rows.
    """
    table = None
    for name, frame in predictions.items():
        predicted = frame.drop_nulls("held_out").select("id", truth="held_out", **{shown(name): pl.col("prediction")})
        # By id, for methods may keep rows in orders of their own.
        more = predicted.drop("truth")
        table = predicted if table is None else table.join(more, on="id", how="left", maintain_order="left")
    if table is None:
        return pl.DataFrame()
    # Stable, so that rows that are equally wrong keep their order.
    wrong = pl.sum_horizontal(pl.col(c) != pl.col("truth") for c in table.columns[2:])
    return table.with_columns(wrong.alias("wrong")).sort("wrong", descending=True, maintain_order=True)


def predictions(results: Mapping[str, Any]) -> None:
    """Show what each method says of the target's other rows, the wrong ones first."""
    frames = {name: result.predictions for name, result in results.items() if result is not None}
    table = side_by_side({name: frame for name, frame in frames.items() if frame is not None})
    if table.is_empty():
        st.caption("No row of the target was left to predict.")
        return
    wrong = int((table["wrong"] == len(frames)).sum())
    few = f"{wrong:,}" if wrong else "none"
    all_of = "the method gets" if len(frames) == 1 else f"all {len(frames)} methods get"
    st.caption(f"{table.height:,} rows of the target that no method saw; {all_of} {few} of them wrong.")
    show_table(table, width="stretch", height=360, alt="Predictions of the target's rows")


def explain() -> None:
    """Say what the words and symbols are."""
    st.markdown(
        "**Target** is the domain to predict, with few labels; **sources** are related domains with many. "
        "**n_T, n_S**: labelled rows of target and sources. **ε** is the weighted error of a round's learner on the "
        "target, **α** = ½ ln((1 − ε) / ε) its vote. Target rows that are predicted wrongly gain weight, source rows "
        "lose it; **η** multiplies the exponents: the larger it is, the sooner the target's own rows rule. **Mass** is "
        "the share of all weight that a domain holds: a source that misleads loses it."
    )
    methods = [f"- **{escape(name)}**: {escape(method.text)}." for name, method in METHODS.items()]
    st.markdown("\n".join(methods))
