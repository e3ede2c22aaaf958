"""Collective: GB, RGB and MGB side by side along a graph; what they leave; the network, edited; and who changes."""

from __future__ import annotations

from typing import Any

import streamlit as st

from studio import session
from studio.jobs.job import Setting
from studio.views.collective import settings as collective
from studio.views.collective import widgets
from studio.views.collective.settings import LABELS
from studio.views.collective.widgets_edits import of_the_page, say_left_out
from studio.views.collective.widgets_graph import network
from studio.views.collective.widgets_node import Trained
from studio.views.common import training
from studio.views.common.curves import kept
from studio.views.common.paired import Paired, against
from studio.views.common.widgets import escape, frame, panes
from studio.views.common.widgets_chance import any_over_seeds, compared
from studio.views.common.widgets_downloads import downloads
from studio.views.common.widgets_pins import pin_of, pins_panel
from studio.views.common.widgets_training import LiveTrainings

PAGE = "Collective"
WHETHER = "See whether neighbours help, and what is left of them."
HARDLY = "On these data neighbours hardly help; on Planted autocorrelation they save nearly half of the error."
"""Of the opening example: so it was for each of nine draws of 5 to 20% of the labels, and one of 40%."""
frame(PAGE)
current, owner = session.current(), session.owner()
# A what-if may be what makes neighbours worth hearing.
opening = current.example == session.DEFAULT and not session.operations()
# After the what-ifs: edits and labels of this page come on top of them.
base = session.changed()
state = st.session_state
live = LiveTrainings(PAGE, current, owner)


def settings() -> dict[str, Setting]:
    """Draw the controls and return what is trained, by label."""
    chosen = widgets.controls(base, current.title)
    operations = session.operations()
    # All known is no operation: a run that has one would not be found again as the same.
    if chosen["known"] < 100:
        operations.append({"op": "labels", "fraction": chosen["known"] / 100, "seed": chosen["seed"]})
    # Edits are shown by inference first; they enter training only where the person says so.
    operations += of_the_page(current.data.digest(), base)
    return collective.settings(base, chosen["params"], chosen["features"], chosen["graphs"], operations)


def usable(asked: dict[str, Setting]) -> bool:
    """Say in one sentence why this can't be trained, if it can't."""
    if asked["MGB"].fit["graph"]:
        return True
    st.warning("No graph is in use: choose at least one.")
    return False


def to_plain() -> dict[str, Paired]:
    """Return how RGB and MGB differ from GB on held-out instances, once all have ended."""
    return {} if live.busy else against({label: live.result(label) for label in live.runs}, "GB")


def draw(events: Any, before: Any) -> None:
    """Draw the trainings so far, pale beside them the ones before."""
    # A headline of one of three methods would read like a result.
    if all(events.values()) or not live.busy:
        widgets.headline(events, graph, to_plain())
    # Kept, for what is taken away is the figure that was seen.
    state["drawn collective"] = widgets.curves(events, before, graph)


def after(asked: dict[str, Setting]) -> None:
    """Say what came of it."""
    events = live.events()
    # A verdict compares three; where one failed or was stopped before its first round there is none.
    if not all(events.get(label) for label in LABELS):
        return
    # What was merely trained again came to the same, and one that stands was not trained again.
    if "MGB" in live.before and live.before["MGB"][0] != asked["MGB"]:
        old = training.outcome(*live.before["MGB"])
        new = training.outcome(asked["MGB"], events["MGB"])
        with st.container(key="change"):
            st.success(escape(f"MGB: {training.difference(old, new)}"))
    with st.container(key="verdict"):
        st.info(escape(collective.verdict(events, graph, to_plain())), icon=":material/balance:")
    any_over_seeds(current.data, compared(live, [("GB", "MGB"), ("GB", "RGB")]), owner, "collective")
    pins_panel(pin_of(live, current.title), PAGE, current.data, owner)


def trained() -> dict[str, Trained]:
    """Return the models that have ended training."""
    found = {}
    # While one trains none is ended here: a network that is drawn from two of three would mislead.
    for label, run in ({} if live.busy else live.runs).items():
        result = live.result(label)
        if result is not None and result.model is not None and result.predictions is not None:
            became = collective.became({label: kept(live.events()[label])})
            found[label] = Trained(run, live.settings[label], result, live.result_before(label), became)
    return found


def take_away() -> None:
    """Offer files and code of one of the models."""
    models = trained()
    if not models:
        return
    with st.expander("Take away: predictions, model, figure, script, notebook", icon=":material/download:"):
        label = st.segmented_control("Of", list(models), default=list(models)[-1], key="taken", required=True)
        model = models[label or list(models)[-1]]
        run = training.run_of(PAGE, model.setting, current.recipe, current.title, owner)
        downloads(run, model.result, state["drawn collective"])


st.caption(f"{escape(current.title)}: {escape(current.story)}")
if reason := collective.why_not(base):
    widgets.offer_example(reason, session.use_example)
    # Nothing below makes sense without a graph.
    st.stop()
bar, main, side = panes()
with side:
    asked = settings()
    # Also one that is not in use, so that the network stays to be looked at.
    graph = widgets.graph_shown(asked["MGB"].fit["graph"] or base.graph_names)
with main:
    say_left_out(current.data.digest())
    able = usable(asked)
with bar:
    live.controls(asked, able)
with main:
    if live.runs:
        live.watch(draw)
        if not live.busy:
            after(live.settings)
    elif able:
        st.info(f"Press Train: GB, RGB and MGB learn side by side. {HARDLY if opening else WHETHER}")
        widgets.offer_more(session.use_example, current.example or "")
st.subheader("The network")
# The whole width, below both columns: a network needs the room.
network(current.data, base, graph=graph, trained=trained(), owner=owner)
take_away()
with st.expander("What do the words mean?"):
    widgets.explain()
if live.runs or not able:  # else it stands above, beside what to do
    widgets.offer_more(session.use_example, current.example or "")
