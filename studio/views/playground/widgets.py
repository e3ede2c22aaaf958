"""What the Playground page draws: knobs, the plane as each source sees it, and the consensus, round by round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from studio import session
from studio.jobs import manager as jobs
from studio.views.common.widgets import details, escape, live_chart
from studio.views.common.widgets_controls import Limits, held, slider
from studio.views.playground import plane
from studio.views.playground.plane import ALL, KNOWS, SOURCES, Knobs

__all__ = ["knobs", "pictures"]

EVERY = 0.4
"""Seconds between two looks at a training, and between two rounds that are played."""
STATE = "playground"
"""In the session: the knobs, their run and their points, and what is shown: (knobs, points, stages)."""
ROUND = "plane_round_at"
"""Key of the choice of a round."""
LINKS = "links"
"""The picture of the links, beside those of the sources."""
WORDS = {
    "west": "sees well what lies in the west",
    "east": "sees well what lies in the east",
    "noise": "sees nothing of it",
}
HALVES, EVERYTHING = ("west", "east"), "sees all of it, with the noise"


def knobs() -> Knobs:
    """Draw the knobs and return them."""
    start = Knobs()
    st.button("Regenerate", on_click=_regenerate, icon=":material/casino:", help="Another draw of the same kind.")
    known = slider("Labels known, per cent", 5, 100, start=int(100 * start.known), step=5, key="plane_known",
                   help="The others are hidden, and score it.")  # fmt: skip
    noise = slider("Noise of the sources", 0.0, 2.0, start=start.noise, step=0.1, key="plane_noise",
                   help="Deviation of what a source sees badly.")  # fmt: skip
    key = held("plane_knows", start.knows, Limits(choices=KNOWS), label="West and east know")
    knows = st.selectbox("West and east know", KNOWS, key=key,
                         help="Each sees a half of the plane well, or all of it with the noise.")  # fmt: skip
    overlap = slider("Overlap of the classes", 0.0, 0.6, start=start.overlap, step=0.05, key="overlap",
                     help="Deviation of each class around its curve.")  # fmt: skip
    homophily = slider("Homophily, per cent", 0, 100, start=int(100 * start.homophily), step=10, key="homophily",
                       help="Links of the graph that stay within a class.")  # fmt: skip
    lambda0 = slider("λ0 · consensus", 0.0, 1.0, start=start.lambda0, step=0.1, key="plane_l0",
                     help="Pull of the sources to each other.")  # fmt: skip
    lambda1 = slider("λ1 · neighbours", 0.0, 1.0, start=start.lambda1, step=0.1, key="plane_l1",
                     help="Pull of the links.")  # fmt: skip
    key = held("plane_seed", start.seed, Limits(0, 9999), label="Seed")
    seed = st.number_input("Seed", 0, 9999, key=key, help="Of the points, the links and the training.")
    strengths = {"lambda0": lambda0, "lambda1": lambda1}
    return Knobs(overlap, noise, knows, homophily / 100, known / 100, **strengths, seed=int(seed))


def _regenerate() -> None:
    st.session_state["plane_seed"] = (int(st.session_state["plane_seed"]) + 1) % 10_000


def pictures(wanted: Knobs, owner: str) -> None:
    """Train for the knobs unless that was done, and draw its stages as they come; a slider shows any of them."""
    state = st.session_state.setdefault(STATE, {"knobs": None, "run": "", "scene": None, "shown": None})
    _start(state, wanted, owner)
    status = _status(state["run"], owner)
    active = status is not None and status.active

    @st.fragment(run_every=EVERY if active else None)
    def look() -> None:
        status = _status(state["run"], owner)
        found = _found(state, status)
        if found:
            state["shown"] = (wanted, state["scene"], found)
        with st.container(key="plane_state"):
            _say(status, state["shown"], wanted)
        with st.container(key="plane_picture"):
            if state["shown"]:
                _draw(*state["shown"][1:], busy=status is not None and status.active)
        if active and not (status and status.active):
            st.rerun()

    look()


def _found(state: Mapping[str, Any], status: Any) -> list[Mapping[str, Any]]:
    """Return the stages that there are of the run."""
    if status is None:
        return []
    return [event.detail for event in jobs.manager().events(state["run"])]


def _start(state: dict[str, Any], wanted: Knobs, owner: str) -> None:
    status = _status(state["run"], owner)
    if state["knobs"] == wanted and (_is_of(state["shown"], wanted) or (status and status.state != "stopped")):
        return
    if status is not None:
        jobs.manager().stop(state["run"], owner)
    try:
        state["run"] = jobs.manager().run_task(plane.TASK, {"knobs": tuple(wanted)}, owner, gives_way=True)
    except ValueError as error:
        st.error(escape(error))
        state["run"] = ""
    state["knobs"], state["scene"] = wanted, plane.scene(wanted)


def _status(run: str, owner: str) -> Any:
    """Return where a run stands, None of one that is not known."""
    try:
        return jobs.manager().status(run, owner) if run else None
    except jobs.UnknownRunError:
        return None


def _is_of(shown: tuple[Any, ...] | None, wanted: Knobs) -> bool:
    return shown is not None and shown[0] == wanted


def _say(status: Any, shown: tuple[Any, ...] | None, wanted: Knobs) -> None:
    before = "" if shown is None or _is_of(shown, wanted) else "The picture is the one before."
    if status is not None and status.state == "failed":
        st.error(escape(f"{status.message} {before}"))
    elif status is not None and status.state == "queued":
        st.caption(f"Waiting for other trainings: {status.place} in the queue. {before}")
    elif status is not None and status.active and not status.rounds:
        st.caption(f"Training. {before}")
    elif status is not None and status.active:
        st.caption(f"Training: {status.rounds} of {status.total} pictures.")
    elif before:
        st.caption(f"Not trained. {before}")
    else:
        st.caption("Shade: what is predicted of a place without links. Filled points have a label; the others score.")


def _draw(scene: Mapping[str, Any], found: Sequence[Mapping[str, Any]], busy: bool) -> None:
    """Draw the planes of a round, two abreast, and the links; the one that the address asks for, else the last."""
    rounds = [stage["round"] for stage in found]
    with st.container(key="plane_round"):
        asked = session.asked_round()
        # While more come: the one asked for once it is there, over a change of knobs too.
        chosen = max([each for each in rounds if each <= asked], default=rounds[-1])
        if not busy and len(rounds) > 1:
            st.session_state[ROUND] = chosen
            words = "What the consensus has learned after so many rounds."
            st.select_slider("Round", rounds, key=ROUND, on_change=_tell_round, args=(rounds[-1],), help=words)
    stage = found[rounds.index(chosen)]
    # Two to a row, so that they come in this order on a phone too, where the second of a row stands below the first.
    names = (ALL, *SOURCES, LINKS)
    first, others = st.container(), details("planes")
    places = [column for row in range(0, len(names), 2) for column in (others if row else first).columns(2)]
    for name, column in zip(names, places):
        with column:
            st.markdown(_title(scene, stage, name))
            figure = plane.graph_figure(scene) if name == LINKS else plane.figure(scene, stage, name)
            live_chart(figure, f"plane_of_{name}", chosen)


def _tell_round(last: int) -> None:
    """Write the round that was chosen to the address."""
    chosen = st.session_state[ROUND]
    session.tell_round(0 if chosen == last else chosen)


def _title(scene: Mapping[str, Any], stage: Mapping[str, Any], name: str) -> str:
    if name == ALL and stage["error"] is None:
        return "**Consensus**: no label is left to score it"
    if name == ALL:
        return f"**Consensus**: {stage['error']:.1%} wrong, {stage['error_without_links']:.1%} without links"
    if name == LINKS:
        reached = np.isfinite(plane.neighbours(scene)).mean()
        silent = f"hollow: none has a label ({1 - reached:.0%} of the points)"
        return f"**Links**: what neighbours' labels alone say, grey where they disagree; {silent}"
    words = EVERYTHING if name in HALVES and scene["knows"] == KNOWS[1] else WORDS[name]
    return f"**{name.title()}**, weight {stage['weights'][name]:.2f}: {words}"
