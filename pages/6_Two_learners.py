"""Two learners: trees on a table, a network on images, each alone and both together; and when one of them fails."""

from __future__ import annotations

from typing import Any

import streamlit as st

from studio import session
from studio.views.common import training
from studio.views.common.widgets import escape, frame, panes
from studio.views.common.widgets_chance import any_over_seeds, compared
from studio.views.common.widgets_controls import train_example
from studio.views.common.widgets_downloads import downloads
from studio.views.common.widgets_pins import pin_of, pinned
from studio.views.common.widgets_progress import outcomes
from studio.views.common.widgets_tabs import tabs
from studio.views.common.widgets_training import LiveTrainings
from studio.views.two_learners import settings, widgets, widgets_controls
from studio.views.two_learners.widgets_rows import failing, instances

PAGE = "Two learners"
frame(PAGE)
current, owner = session.current(), session.owner()
data, state = session.changed(), st.session_state
live = LiveTrainings(PAGE, current, owner)


def trained_sources() -> list[str]:
    """Return the sources of the trainings that are shown."""
    return [*settings.trained(data, live.settings)]


def order() -> list[str]:
    """Return all labels that there can be, by which models have their colours: of what is trained, not of controls."""
    return list(dict.fromkeys([*settings.labels(data, settings.trained(data, live.settings)), *live.runs]))


def ended() -> dict[str, Any]:
    """Return by label what the trainings that have ended came to."""
    results = {label: live.result(label) for label in live.runs}
    return {label: results[label] for label in predictions(results)}


def predictions(results: dict[str, Any]) -> dict[str, Any]:
    """Return the predictions of the results that have some, by label."""
    # A stopped training may have a result without.
    found = {label: getattr(result, "predictions", None) for label, result in results.items()}
    return {label: frame for label, frame in found.items() if frame is not None}


def frames() -> dict[str, Any]:
    """Return the predictions of the models that are there, by label."""
    return predictions(ended())


def draw(events: Any, before: Any) -> None:
    """Draw the trainings so far, pale beside them those before."""
    earlier = {} if live.busy else {label: live.result_before(label) for label in live.runs}
    widgets.headline(events, before, frames(), predictions(earlier))
    state["drawn two"] = widgets.curves(
        events, before, frames(), order(), trained_sources(), every=current.data.source_names
    )


def verdict() -> None:
    """Say what the sources add to one another, and what a change did."""
    outcomes(live)
    if text := settings.verdict(live.events(), frames()):
        with st.container(key="verdict"):
            st.info(escape(text), icon=":material/balance:")


def after() -> None:
    """Draw what there is to see and take once the trainings have ended."""
    results = ended()
    if not results:
        return
    verdict()
    events = {label: each for label, each in live.events().items() if label in results}
    any_over_seeds(current.data, compared(live, settings.pairs(events, frames())), owner, "two")
    sources, runs = trained_sources(), live.runs
    tabs(
        {
            "If a source fails": lambda: failing(
                current.data, live.settings, results, runs=runs, sources=sources, order=order(), owner=owner
            ),
            "Confusion": lambda: widgets.confusion(frames()),
            "Instances": lambda: instances(data, frames(), sources),
            "Pinned scenarios": lambda: pinned(pin_of(live, current.title), PAGE, current.data, owner),
            "Take away": lambda: take_away(results),
        },
        "after",
        alone=False,
    )


def take_away(results: dict[str, Any]) -> None:
    """Offer files and code of one of the models."""
    # A choice of a model that is no longer there makes Streamlit raise.
    if state.get("take_of") not in results:
        state["take_of"] = list(results)[-1]
    label = st.selectbox("Of the model", list(results), key="take_of", width=320)
    run = training.run_of(PAGE, live.settings[label], current.recipe, current.title, owner)
    # After a reload nothing has been drawn yet, and the files would be empty.
    if drawn := state.get("drawn two"):
        downloads(run, results[label], drawn)


st.caption(f"{escape(current.title)}: {escape(current.story)}")
if reason := settings.why_not(data):
    st.info(escape(reason), icon=":material/info:")
    widgets_controls.offer_examples(train_example, current.example, first=True)
    text = "Bring your own: a table, and a zip of images named by id"
    st.page_link("pages/1_Data.py", label=text, icon=":material/upload_file:")
    st.stop()
bar, main, side = panes()
with side:
    chosen = widgets_controls.controls(data, current.title, session.operations())
with main:
    able = widgets_controls.usable(chosen)
with bar:
    live.controls(chosen.settings, able)
with main:
    if live.runs:
        live.watch(draw)
        if not live.busy:
            after()
    elif able:
        st.info("Press Train: each source learns alone, and all together. See what each adds, round by round.")
    with st.expander("What do the words mean?"):
        widgets_controls.explain()
    widgets_controls.offer_examples(session.use_example, current.example)
