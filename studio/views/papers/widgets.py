"""What the Papers page draws: the claim, how far a run is, the figure so far, the verdict."""

from __future__ import annotations

from typing import Any

import streamlit as st

from experiments import Experiment, Outcome
from experiments.drawing import means
from experiments.experiment import PAPERS
from experiments.judging import Claim, claims
from hetcore.figures import basic
from studio.jobs import manager as jobs
from studio.runs import export
from studio.views.common.widgets import chart, escape
from studio.views.common.widgets_downloads import ICON, figure_files
from studio.views.papers import catalog

__all__ = ["claim", "downloads", "found", "progress"]

BESIDE = 2
"""Panels that are drawn beside the verdict; more come below it."""

ICONS = {
    "holds": ":material/check_circle:",
    "holds in part": ":material/contrast:",
    "doesn't hold here": ":material/cancel:",
    "not run yet": ":material/hourglass_empty:",
}


def claim(experiment: Experiment) -> None:
    """Show what the paper claims, and what differs here."""
    with st.container(border=True, key="claim"):
        says = "Beyond the paper, to show." if experiment.beyond else "The paper claims."
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
    left = catalog.about(outcome.seconds).replace(", ", " · ") + " left" if catalog.about(outcome.seconds) else ""
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
    """Show whether the claim holds here: in a word, then each sentence with what speaks for and against it."""
    word = outcome.verdict.word
    with st.container(key="verdict"):
        st.subheader(f"{ICONS[word]} {_capital(word)}", help="Holds: at every place. In part: at more than a quarter.")
        if not outcome.verdict.findings:
            return
        left = outcome.cells.height < outcome.total
        partly = f" · {outcome.cells.height} of {outcome.total} fits so far" if left else ""
        st.caption(f"A place is one data set and setting, a mean over the seeds{partly}.")
        for each in claims(outcome.experiment, outcome.cells):
            _sentence(each, len(outcome.experiment.claim) > 1)


def _sentence(claim: Claim, several: bool) -> None:
    """Show a sentence of the claim, the findings on it, and why it doesn't hold."""
    word = claim.verdict.word
    if several:
        st.markdown(f"{ICONS[word]} **{_capital(word)}:** {claim.words}")
    lines = [f"- {escape(each.words)}" for each in claim.verdict.findings]
    lines += [f"- :gray[Beside the claim:] {escape(each.words)}" for each in claim.beside.findings]
    if lines:
        st.markdown("\n".join(lines))
    if claim.why and word in ("holds in part", "doesn't hold here"):
        st.markdown(f"**Why.** {claim.why}")


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


def found(outcome: Outcome) -> None:
    """Draw the verdict and the figure, beside each other where it has one or two panels, and its numbers."""
    drawn = outcome.figure or {}
    if 0 < len(drawn) <= BESIDE:
        left, right = st.columns(2, gap="large")
        with left:
            verdict(outcome)
        with right:
            _panels(outcome, drawn, 1)
    else:
        verdict(outcome)
        _panels(outcome, drawn, 2)
    if drawn:
        with st.expander("The numbers"):
            table = means(outcome.experiment, outcome.cells, outcome.experiment.figure.get("y", "error"))
            st.dataframe(table, hide_index=True, width="stretch")


def _panels(outcome: Outcome, drawn: dict[str, Any], abreast: int) -> None:
    columns = st.columns(min(len(drawn), abreast)) if drawn else []
    for place, (title, figure) in enumerate(drawn.items()):
        with columns[place % len(columns)]:
            if title:
                st.caption(escape(title.replace("_", " ")))
            chart(figure, f"paper {outcome.experiment.name} {place}", f"{outcome.experiment.part}: {title}")


def downloads(outcome: Outcome) -> None:
    """Offer the cells and the figure."""
    name = outcome.experiment.name
    plain = [c for c, kind in outcome.cells.schema.items() if not kind.is_nested()]
    table = export.csv(outcome.cells.select(plain))
    st.download_button("Cells (CSV)", table, export.file_name(name, "csv"), on_click="ignore", icon=ICON)
    figure_files({name: basic.beside(outcome.figure or {})}, "", "paper")
