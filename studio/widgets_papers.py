"""What the Papers page draws: the claim, how far a run is, the figure so far, the verdict."""

from __future__ import annotations

import streamlit as st

from hetcore import figures
from hetcore.experiments import Experiment, Outcome
from hetcore.experiments.drawing import means
from hetcore.experiments.experiment import PAPERS
from studio import export, jobs
from studio.widgets import chart, escape

__all__ = ["claim", "downloads", "panels", "progress", "verdict"]

ICONS = {
    "holds": ":material/check_circle:",
    "holds in part": ":material/contrast:",
    "doesn't hold here": ":material/cancel:",
    "not run yet": ":material/hourglass_empty:",
}


def claim(experiment: Experiment) -> None:
    """Show what the paper claims, and what differs here."""
    with st.container(border=True):
        beyond = experiment.part.startswith("Beyond")
        says = "Beyond the paper, to show." if beyond else "The paper claims."
        st.markdown(f"**{says}** {' '.join(experiment.claim)}")
        if experiment.note:
            st.markdown(f"**Here.** {experiment.note}")
        st.caption(PAPERS[experiment.paper])


def progress(run_id: str, outcome: Outcome) -> None:
    """Show how far a run is, with the buttons that pause, go on and stop."""
    manager = jobs.manager()
    status = manager.status(run_id)
    if status.state == "failed":
        st.error(escape(status.message or "The run failed: try again."))
    if not status.active:
        return
    left = f" · {status.seconds_left:.0f} s left" if status.seconds_left else ""
    done = outcome.cells.height
    words = "Paused" if status.state == "paused" else "Waiting" if status.state == "queued" else "Running"
    st.progress(done / max(outcome.total, 1), text=f"{words} · {done} of {outcome.total} fits{left}")
    with st.container(horizontal=True):
        if status.state == "paused":
            st.button("Play", on_click=manager.resume, args=(run_id,), icon=":material/play_arrow:")
        else:
            st.button("Pause", on_click=manager.pause, args=(run_id,), icon=":material/pause:")
        st.button("Stop", on_click=manager.stop, args=(run_id,), icon=":material/stop:", disabled=status.stopping)


def verdict(outcome: Outcome) -> None:
    """Show whether the claim holds here, and in how many places."""
    found = outcome.verdict
    word = found.word[:1].upper() + found.word[1:]
    partly = (
        "" if outcome.cells.height == outcome.total else f" · {outcome.cells.height} of {outcome.total} fits so far"
    )
    with st.container(key="verdict"):
        st.subheader(
            f"{ICONS[found.word]} {word}", help="Holds: at every place. In part: at more than a quarter of them."
        )
        if found.findings:
            st.caption(f"A place is one data set and setting, a mean over the seeds{partly}.")
        beside = {True: " :gray[(no part of the claim)]", False: ""}
        st.markdown("\n".join(f"- {escape(each.words)}{beside[each.beside]}" for each in found.findings))


def panels(outcome: Outcome) -> None:
    """Draw the figure, one panel beside the other, and its numbers."""
    drawn = outcome.figure or {}
    columns = st.columns(min(len(drawn), 2)) if drawn else []
    for place, (title, figure) in enumerate(drawn.items()):
        with columns[place % len(columns)]:
            if title:
                st.caption(escape(title.replace("_", " ")))
            chart(figure, f"paper {outcome.experiment.name} {place}", f"{outcome.experiment.part}: {title}")
    if drawn:
        with st.expander("The numbers"):
            table = means(outcome.experiment, outcome.cells, outcome.experiment.figure.get("y", "error"))
            st.dataframe(table, hide_index=True, width="stretch")


def downloads(outcome: Outcome) -> None:
    """Offer the cells and the figure."""
    name = outcome.experiment.name
    plain = [c for c, kind in outcome.cells.schema.items() if not kind.is_nested()]
    with st.container(horizontal=True):
        table = export.csv(outcome.cells.select(plain))
        st.download_button("Cells (CSV)", table, export.file_name(name, "csv"), on_click="ignore")
        page = export.figure_html(figures.beside(outcome.figure or {}), name)
        st.download_button("Figure (HTML)", page, export.file_name(name, "html"), on_click="ignore")
