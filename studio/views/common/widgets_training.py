"""The trainings of a page: start them, watch them go, pause, step and stop them, keep the ones before.

    live = LiveTrainings("Consensus", session.current(), session.owner())
    live.controls({"GBC": setting}, able=True)      # Train, Step by step, Pause updates
    if live.runs:
        live.watch(draw)                            # draw(events by label, events before by label), again and again
        if not live.busy:
            result = live.result("GBC")

A page trains one setting or several side by side, each under a label. They outlive page switches and reloads: the run
ids are in the session and in the URL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from studio import session
from studio.jobs import manager as jobs
from studio.runs import restoring
from studio.runs.differences import Outcome, describe, sentence
from studio.views.common import training, widgets_lessons
from studio.views.common.training import Setting
from studio.views.common.widgets import escape
from studio.views.common.widgets_controls import share, values, write
from studio.views.common.widgets_timeline import timeline

__all__ = ["LiveTrainings"]

INSTANT = 3.0
"""Seconds: a changed setting that is estimated to train faster trains at once."""
EVERY = 0.3
"""Seconds between two looks at a training."""
FIRST = 0.6
"""Seconds that a look at a training waits for its first round, or for its end after the last."""
AHEAD = 5
"""Trainings that are listed before a queued one."""
LESSON = "lesson"
"""Key of the choice of a lesson, which goes on while settings change."""
WAIT = "Press Train to follow the controls."
WORDS = {
    "queued": "Queued",
    "starting": "Starting a worker",
    "compiling": "Compiling, first run only",
    "running": "Training",
    "paused": "Paused",
    "predicting": "Rounds done, predicting",
    "finished": "Training finished",
    "stopped": "Training stopped",
    "failed": "Training failed",
}
Events = Mapping[str, Sequence[Any]]


@dataclass
class _Kept:
    """What the session keeps of a page's trainings."""

    title: str
    settings: dict[str, Setting]
    runs: dict[str, str]
    before: dict[str, tuple[Setting, Sequence[Any]]] = field(default_factory=dict)
    durations: dict[str, Sequence[Any]] = field(default_factory=dict)
    earlier: dict[str, str] = field(default_factory=dict)
    drawn: tuple[Events, Events] = ({}, {})
    own: bool = True
    fresh: bool = True
    screen: tuple[dict[str, Any], list[dict[str, Any]]] | None = None


class LiveTrainings:
    """The trainings of one page in one session.

    Parameters
    ----------
    page : str
        Name of the page, under which runs are stored.
    current : studio.session.Current
        The data in use: trainings on other data are left alone.
    owner : str
    part : str, default=""
        Of a page that trains several things on the same data, each with trainings of its own.
    """

    def __init__(self, page: str, current: Any, owner: str, part: str = "") -> None:
        self.page, self._current, self._owner = page, current, owner
        self._state_key = f"live {page} {part}".rstrip()
        self._adopt()

    @property
    def _kept(self) -> _Kept | None:
        kept = st.session_state.get(self._state_key)
        if kept is None or kept.title != self._current.title:
            return None
        if not all(_known(run, self._owner) for run in kept.runs.values()):
            return None
        return kept

    def _adopt(self) -> None:
        """Find the runs that the URL names, after a reload; those of another owner are shown and obey nobody here."""
        named = st.query_params.get("run")
        if self._state_key in st.session_state or not named:
            return
        labels, runs = st.query_params.get("labels", self.page).split("|"), named.split(",")
        try:
            tasks = [jobs.manager().task(run) for run in runs if _known(run, self._owner)]
            if len(tasks) < len(runs):
                raise jobs.UnknownRunError("a run that is not kept")
            if any(task.digest != self._current.data.digest() for task in tasks):
                raise jobs.UnknownRunError("a run on other data")
            settings = [
                Setting(
                    t.estimator,
                    dict(t.params),
                    list(t.operations),
                    fit=dict(t.fit_params),
                    form=dict(t.form),
                    whole=bool(t.whole),
                )
                for t in tasks
            ]
        except (jobs.UnknownRunError, AttributeError):
            st.query_params.pop("run", None)
            return
        own = all(_is_of(run, self._owner) for run in runs)
        kept = _Kept(self._current.title, dict(zip(labels, settings)), dict(zip(labels, runs)), own=own, fresh=False)
        st.session_state[self._state_key] = kept

    # What the page asks ---------------------------------------------------------------------------------------------

    @property
    def runs(self) -> dict[str, str]:
        """Run ids by label, empty without a training on these data."""
        return dict(self._kept.runs) if self._kept else {}

    @property
    def settings(self) -> dict[str, Setting]:
        """What was trained, by label."""
        return dict(self._kept.settings) if self._kept else {}

    @property
    def busy(self) -> bool:
        """Whether a training goes on."""
        return any(jobs.manager().status(run).active for run in self.runs.values())

    def events(self) -> dict[str, Sequence[Any]]:
        """Return the events so far, by label."""
        return {label: jobs.manager().events(run) for label, run in self.runs.items()}

    @property
    def before(self) -> dict[str, tuple[Setting, Sequence[Any]]]:
        """The finished trainings before these: setting and events by label."""
        return self._kept.before if self._kept else {}

    def result(self, label: str) -> Any:
        """Return the result of an ended training, None while it goes on or without one."""
        return jobs.manager().result(self.runs[label]) if label in self.runs else None

    def result_before(self, label: str) -> Any:
        """Return the result of the finished training before this one, None without one."""
        run = self._kept.earlier.get(label) if self._kept else None
        return jobs.manager().result(run) if run and _known(run, self._owner) else None

    # Starting -------------------------------------------------------------------------------------------------------

    def controls(self, settings: Mapping[str, Setting], able: bool = True) -> None:
        """Draw the buttons; start the trainings when pressed, or at once when a change is quick to train.

        Parameters
        ----------
        settings : mapping of str to Setting
            What to train now, by label.
        able : bool
            Whether it can be trained; the page says why not.
        """
        settings, kept, busy = dict(settings), self._kept, self.busy and self._kept.own
        _what_if()
        if kept and not kept.own:
            st.info("You look at a training that somebody else started. Press Train for one of your own.")
        changed = kept is not None and kept.own and kept.settings != settings
        if kept and kept.settings == settings:
            kept.screen = {key: value for key, value in values().items() if key != LESSON}, session.operations()
        estimate = self._estimate(settings)
        text = f"Train with these settings (about {max(estimate, 0.1):.1f} s)" if changed else "Train"
        with st.container(horizontal=True, vertical_alignment="center"):
            pressed = st.button(text, key="train", type="primary", disabled=not able or busy)
            stepped = st.button(
                "Step by step",
                key="stepwise",
                disabled=not able or busy,
                help="Start paused; play or go round by round.",
            )
            st.toggle("Pause updates", key="hold", help="The charts stand still; training goes on.")
            share()
            lesson = widgets_lessons.choice(self.page)
        write()
        done = kept is not None and not self.busy
        widgets_lessons.panel(lesson, widgets_lessons.facts_of(kept, self.events(), done))
        asked = not busy and (pressed or stepped or st.session_state.pop("train_now", False))
        quick = changed and 0 < estimate < INSTANT
        if able and (asked or quick):
            self.stop()
            self._start(settings, paused=stepped)
        elif changed and not busy:
            changes = escape(_changes(kept.settings, settings))
            st.info(f"What is shown was trained with other settings: {changes}. {WAIT}")
            if kept.screen:
                words = "Back to what was trained"
                st.button(words, on_click=_go_back, args=kept.screen, key="back", icon=":material/undo:")

    def _estimate(self, settings: Mapping[str, Setting]) -> float:
        durations = self._kept.durations if self._kept else {}
        if not all(label in durations for label in settings):
            return 0.0
        return sum(
            training.seconds_of(durations[label], setting.params.get("n_iterations", len(durations[label])))
            for label, setting in settings.items()
        )

    def _start(self, settings: dict[str, Setting], paused: bool) -> None:
        current, kept = self._current, self._kept
        runs: dict[str, str] = {}
        try:
            for label, setting in settings.items():
                runs[label] = training.submit(
                    self.page,
                    setting,
                    current.data,
                    recipe=current.recipe,
                    title=current.title,
                    owner=self._owner,
                    paused=paused,
                    label=label,
                    within=session.folders(),
                )
        except ValueError as error:
            for run in runs.values():
                jobs.manager().stop(run)
            st.error(escape(error))
            return
        kept = kept if kept and kept.own else None
        done = self._finished(kept)
        before = done or (kept.before if kept else {})
        earlier = (kept.runs if done else kept.earlier) if kept else {}
        durations = kept.durations if kept else {}
        drawn = kept.drawn if kept else ({}, {})
        st.session_state[self._state_key] = _Kept(
            current.title, settings, runs, before=before, durations=durations, earlier=earlier, drawn=drawn
        )
        st.query_params["run"] = ",".join(runs.values())
        if len(runs) > 1 or self.page not in runs:
            st.query_params["labels"] = "|".join(runs)
        st.rerun()

    def _finished(self, kept: _Kept | None) -> dict[str, tuple[Setting, Sequence[Any]]]:
        manager = jobs.manager()
        if kept is None or any(manager.status(run).state != "finished" for run in kept.runs.values()):
            return {}
        return {label: (kept.settings[label], manager.events(run)) for label, run in kept.runs.items()}

    def stop(self) -> None:
        """Stop what goes on, each after its round."""
        self._order("stop")

    def _order(self, name: str) -> None:
        """Give the owner's runs an order; an address shows those of others, and controls nothing."""
        for run in self.runs.values():
            if _is_of(run, self._owner) and jobs.manager().status(run).active:
                getattr(jobs.manager(), name)(run, self._owner)

    # Watching -------------------------------------------------------------------------------------------------------

    def watch(self, draw: Callable[[Events, Events], None]) -> None:
        """Show how far the trainings are and draw them; while they go on, again and again.

        Parameters
        ----------
        draw : callable
            Called with the events by label, and those of the trainings before.
        """
        active = self.busy
        before = {label: events for label, (_, events) in self.before.items()}

        @st.fragment(run_every=EVERY if active and not st.session_state.get("hold") else None)
        def look() -> None:
            if active:
                self._page_at_end()
            statuses = {label: jobs.manager().status(run) for label, run in self.runs.items()}
            busy = any(status.active for status in statuses.values())
            with st.container(key="state"):
                _say(statuses)
            with st.container(key="ahead"):
                if self._kept.own and any(status.state == "queued" for status in statuses.values()):
                    self._ahead()
            with st.container(key="player"):  # there without buttons too: what follows keeps its place
                active_now = any(status.active and status.state != "predicting" for status in statuses.values())
                if active_now and self._kept.own:
                    self._player(statuses)
            begins = any(status.state == "running" for status in statuses.values())
            if begins:
                jobs.manager().wait_begun(self.runs.values(), FIRST)
            events = self.events()
            bar, charts = st.container(), st.container()  # there without rounds too, so that charts keep their place
            if any(events.values()):
                total = max(status.total for status in statuses.values())
                with bar:
                    run = ",".join(self.runs.values())
                    timeline(events, run, total, not busy, self._kept.fresh, settled=not active)
                self._kept.drawn = events, before
                with charts:
                    draw(events, before)
            elif begins and self._kept.drawn[0].keys() == events.keys():
                # What was there stays until there is something new; not while it is queued, when thirty may wait.
                with charts:
                    draw(*self._kept.drawn)
            elif busy:
                bar.info("The first round is on its way.")
            self._remember_durations()
            if active:
                self._page_at_end()

        look()

    def _page_at_end(self) -> None:
        """Draw the whole page once the trainings have ended, and wait for that where they only predict any more."""
        # A person who paused updates wants the charts to stand still.
        patience = 0.0 if st.session_state.get("hold") else FIRST
        # At once, not after one more look: that would draw the same twice.
        if jobs.manager().wait_ended(self.runs.values(), patience):
            self._remember_durations()
            st.rerun()

    def _ahead(self) -> None:
        """Say what a queued training waits for, and offer to stop what the same person left running elsewhere."""
        manager = jobs.manager()
        others = [each for each in manager.runs(self._owner) if each.active and each.run_id not in self.runs.values()]
        if not others:
            st.caption("It waits for trainings of other people.")
        for status in others[:AHEAD]:
            text = _task_text(manager.task(status.run_id, self._owner, watch=False), status)
            with st.container(horizontal=True, vertical_alignment="center"):
                st.caption(escape(f"You left this running: {text}."), width="content")
                key, stop = f"stop {status.run_id}", lambda run=status.run_id: manager.stop(run, self._owner)
                st.button("Stop it", key=key, on_click=stop, icon=":material/stop:", disabled=status.stopping)

    def _remember_durations(self) -> None:
        if self._kept and all(jobs.manager().status(run).state == "finished" for run in self.runs.values()):
            self._kept.durations = {label: each for label, each in self.events().items() if each}

    def _player(self, statuses: Mapping[str, Any]) -> None:
        """Draw play, pause, one round and stop."""
        paused = any(status.state == "paused" for status in statuses.values())
        with st.container(horizontal=True):
            if paused:
                st.button("Play", on_click=self._order, args=("resume",), icon=":material/play_arrow:")
                st.button("One round", on_click=self._order, args=("step",), icon=":material/skip_next:")
            else:
                st.button("Pause", on_click=self._order, args=("pause",), icon=":material/pause:")
            stopping = all(status.stopping for status in statuses.values() if status.active)
            st.button("Stop training", on_click=self._order, args=("stop",), icon=":material/stop:", disabled=stopping)


def _go_back(controls: Mapping[str, Any], operations: Sequence[Mapping[str, Any]]) -> None:
    """Set the controls, and the what-ifs, that the trainings that are shown were made with."""
    st.session_state.update(controls)
    st.session_state["operations"] = list(operations)


def _what_if() -> None:
    """Say what was done to the data, which the controls don't show, with the way back."""
    if not session.operations():
        return
    with st.container(horizontal=True, vertical_alignment="center", key="what if"):
        operations = escape(describe(session.operations()))
        st.markdown(f":material/science: What if: the data are {operations}.", width="content")
        st.button("Undo the last change", on_click=session.undo, key="undo what if", icon=":material/undo:")


def _changes(old: Mapping[str, Setting], new: Mapping[str, Setting]) -> str:
    """Say what differs between trained settings and those of the controls."""
    both = [label for label in new if label in old and old[label] != new[label]]
    if not both or old.keys() != new.keys():
        return "other models are chosen"
    before, after = (Outcome(tuple(each.operations), each.params) for each in (old[both[0]], new[both[0]]))
    return sentence(before, after).rstrip(".")


def _task_text(task: Any, status: Any) -> str:
    """Return what a job is: the method, or the function's name, and how far it is."""
    name = getattr(task, "estimator", "") or task.path.rpartition(":")[2].replace("_", " ")
    return f"{name}, {WORDS[status.state].lower()}" + (f", round {status.rounds}" if status.rounds else "")


def _known(run: str, owner: str) -> bool:
    """Tell whether the manager knows a run, or knows it again as one of the owner's that was stored."""
    try:
        jobs.manager().status(run)
    except jobs.UnknownRunError:
        return restoring.restore(owner, run)
    return True


def _is_of(run: str, owner: str) -> bool:
    """Tell whether a run is the owner's, without watching it."""
    try:
        jobs.manager().status(run, owner, watch=False)
    except jobs.UnknownRunError:
        return False
    return True


def _say(statuses: Mapping[str, Any]) -> None:
    """Show one line and one bar for all trainings, and what went wrong."""
    several = len(statuses) > 1
    for label, status in statuses.items():
        if status.state == "failed":
            wording = status.message or "Training failed: try other settings."
            st.error(escape(f"{label}: {wording}" if several else wording))
    busy = {label: status for label, status in statuses.items() if status.active}
    if not busy:
        messages = [status.message for status in statuses.values() if status.message and status.state != "failed"]
        states = {status.state for status in statuses.values()} - {"failed"}
        if states:
            wording = WORDS["stopped" if "stopped" in states else "finished"]
            st.caption(escape(". ".join([wording, *messages])) + ("" if messages else "."))
        return
    done = sum(status.rounds if status.active else max(status.total, 1) for status in statuses.values())
    total = sum(max(status.total, 1) for status in statuses.values())
    text = " · ".join(_line(label if several else "", status) for label, status in busy.items())
    st.progress(min(done / max(total, 1), 1.0), text=escape(text))


def _line(label: str, status: Any) -> str:
    text = WORDS[status.state] + (f", {status.place} in the queue" if status.state == "queued" else "")
    if status.total:
        text += f" · round {status.rounds} of {status.total}"
    if status.seconds_left is not None:
        text += f" · {status.seconds_left:.0f} s left" if status.seconds_left >= 1 else " · about to end"
    return f"{label}: {text}" if label else text
