"""What the Papers page draws: the claim, how far a run is, the figure so far, the verdict."""

from __future__ import annotations

import re
from typing import Any

import streamlit as st

from experiments import Experiment, Outcome
from experiments.drawing import means
from experiments.experiment import PAPERS
from experiments.tables import in_numbers
from experiments.verdicts import HOLDS, IN_PART, NO, NOT_RUN, Claim, Comparison
from hetcore.figures import basic
from studio.jobs import manager as jobs
from studio.runs import export
from studio.views.common.widgets import chart, escape, show_table
from studio.views.common.widgets_downloads import ICON, figure_files
from studio.views.papers import catalog

__all__ = ["claim", "downloads", "found", "progress"]

BESIDE = 2
"""Panels that are drawn beside the verdict; more come below it."""

ICONS = {
    HOLDS: ":material/check_circle:",
    IN_PART: ":material/contrast:",
    NO: ":material/cancel:",
    NOT_RUN: ":material/hourglass_empty:",
}
WORDS = {HOLDS: "Holds", IN_PART: "Holds in part", NO: "Doesn't hold here", NOT_RUN: "Not run yet, or one seed only"}


def claim(experiment: Experiment) -> None:
    """Show what the paper claims, and what differs here."""
    with st.container(border=True, key="claim"):
        says = "Beyond the paper, to show." if experiment.beyond else "The paper claims."
        st.markdown(f"**{says}** {' '.join(experiment.claim)}")
        if experiment.note:
            st.markdown(f"**Here.** {experiment.note}")
        st.caption(" · ".join(filter(None, (PAPERS[experiment.paper], experiment.stand_in))))


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
    wording = "Paused" if status.state == "paused" else "Waiting" if status.state == "queued" else "Running"
    st.progress(done / max(outcome.total, 1), text=f"{wording} · {done} of {outcome.total} fits{left}")
    with st.container(horizontal=True):
        if status.state == "paused":
            st.button("Play", on_click=manager.order, args=(run_id, "resume"), icon=":material/play_arrow:")
        else:
            st.button("Pause", on_click=manager.order, args=(run_id, "pause"), icon=":material/pause:")
        st.button("Stop", on_click=manager.stop, args=(run_id,), icon=":material/stop:", disabled=status.stopping)


def verdict(outcome: Outcome, running: bool = False) -> None:
    """Show whether the claim holds here: in a word, then each sentence with its comparisons."""
    word = outcome.verdict
    with st.container(key="verdict"):
        if word == NOT_RUN:
            _none_yet(outcome, running)
            return
        left = outcome.cells.height < outcome.total
        # A word for the whole must not pass for one about sentences that nothing was compared for.
        some = any(not each.comparisons for each in outcome.claims)
        of = " so far" * left or ", as far as it was judged" * some
        st.subheader(f"{ICONS[word]} {WORDS[word]}{of}", help=RULE)
        partly = f" · {outcome.cells.height} of {outcome.total} fits so far" if left else ""
        st.caption(f"Mean paired differences ± standard error, over places: a data set and a setting{partly}.")
        for each in outcome.claims:
            _sentence(each, len(outcome.claims) > 1, left)


def _none_yet(outcome: Outcome, running: bool) -> None:
    done = outcome.cells.height
    st.subheader(f"{ICONS[NOT_RUN]} {'No verdict yet' if done or running else 'Not run yet'}", help=RULE)
    if done:
        st.caption(f"{done} of {outcome.total} fits so far. A verdict takes two seeds, for one says nothing of chance.")


RULE = (
    "Holds: beyond two standard errors at every place, of few runs beyond chance. "
    "In part: at half of them or more, and fewer speak against."
)


def _sentence(claim: Claim, several: bool, left: bool) -> None:
    """Show a sentence of the claim, the paper's number, the comparisons, and why it doesn't hold."""
    if several:
        word = WORDS[claim.verdict] if left or claim.comparisons else "Not judged by these few runs"
        st.markdown(f"{ICONS[claim.verdict]} **{word}:** {claim.words}")
    if claim.number:
        st.markdown(f"**{claim.place}, the paper's number.** {claim.number}")
    lines = [f"- {':gray[Beside the claim:] ' * each.beside}{_numbers(each)}" for each in claim.comparisons]
    if lines:
        st.markdown("\n".join(lines))
    if claim.given:
        st.caption("It follows from how the method is made: no number could refute it.")
    if claim.why and claim.comparisons and claim.verdict != HOLDS:
        st.markdown(f"**Why.** {claim.why}")


def _numbers(comparison: Comparison) -> str:
    # A true minus sign, as the difference itself has: a hyphen before a number reads like a dash.
    return escape(re.sub(r"(?<!\w)-(?=\d)", "−", in_numbers(comparison)))


def found(outcome: Outcome, running: bool) -> None:
    """Draw the verdict and the figure, beside each other where it has one or two panels, and its numbers."""
    drawn = outcome.figure or {}
    if 0 < len(drawn) <= BESIDE:
        left, right = st.columns(2, gap="large")
        with left:
            verdict(outcome, running)
        with right:
            _panels(outcome, drawn, 1)
    else:
        verdict(outcome, running)
        _panels(outcome, drawn, 2)
    if drawn:
        with st.expander("The numbers"):
            table = means(outcome.experiment, outcome.cells, outcome.experiment.figure.get("y", "error"))
            show_table(table, width="stretch")


def _panels(outcome: Outcome, drawn: dict[str, Any], abreast: int) -> None:
    columns = st.columns(min(len(drawn), abreast)) if drawn else []
    for place, (title, figure) in enumerate(drawn.items()):
        with columns[place % len(columns)]:
            # One panel alone is what the part is; its title would say a value that tells nothing.
            if title and len(drawn) > 1:
                st.caption(escape(title.replace("_", " ")))
            chart(figure, f"paper {outcome.experiment.name} {place}", f"{outcome.experiment.part}: {title}")


def downloads(outcome: Outcome) -> None:
    """Offer the cells and the figure."""
    name = outcome.experiment.name
    plain = [c for c, kind in outcome.cells.schema.items() if not kind.is_nested()]
    table = export.csv(outcome.cells.select(plain))
    st.download_button("Cells (CSV)", table, export.file_name(name, "csv"), on_click="ignore", icon=ICON)
    figure_files({name: basic.beside(outcome.figure or {})}, "", "paper")
