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

import contextlib
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from studio import session
from studio.jobs import manager as jobs
from studio.jobs.job import ACTIVE, Setting
from studio.messages import shown
from studio.runs import reopening, restoring, store
from studio.runs.run import new_id
from studio.views.common import training, widgets_lessons
from studio.views.common import widgets_progress as progress
from studio.views.common.submitting import submit
from studio.views.common.widgets import escape
from studio.views.common.widgets_controls import go_back, share, values, write
from studio.views.common.widgets_present import LESSON_PLACE
from studio.views.common.widgets_timeline import timeline

__all__ = ["LiveTrainings", "submit"]

INSTANT = 3.0
"""Seconds: a changed setting that is estimated to train faster trains at once."""
WAITED = 1.8
"""Seconds that such a training is waited for at most before the page is drawn: once, of what came of it."""
SLICE = 0.1
"""Seconds after which one that waits asks whether controls have moved."""
EVERY = 0.6
"""Seconds between two looks at a training: a look takes a third of a second of the browser, of cores it needs too."""
HANDED = 0.1
"""Seconds that a page waits for a worker to take a training: with one idle, charts never go for a word on the queue."""
FIRST = 0.6
"""Seconds that a look at a training waits for its first round, or for its end after the last."""
LESSON = "lesson"
"""Key of the choice of a lesson, which goes on while settings change."""
RUN = "run"
"""Of the sentences about the address: the one about the trainings that it names."""
NOT_KEPT = "This training is not kept here any more: press Train to make it again."
OF_OTHER_DATA = "This training is of other data: press Train for one of these."
ENDED = "What is shown was trained with other settings", "Press Train to follow the controls."
GOES_ON = "What goes on has other settings", "Press Train to stop it and follow the controls."
Events = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class _Drawn:
    """What was drawn last: it stays until there is something of the next training."""

    events: Events = field(default_factory=dict)
    before: Events = field(default_factory=dict)
    run: str = ""
    total: int = 0


@dataclass
class _Kept:
    """What the session keeps of a page's trainings."""

    digest: str
    settings: dict[str, Setting]
    runs: dict[str, str]
    before: dict[str, tuple[Setting, Sequence[Any]]] = field(default_factory=dict)
    durations: dict[str, Sequence[Any]] = field(default_factory=dict)
    earlier: dict[str, str] = field(default_factory=dict)
    drawn: _Drawn = field(default_factory=_Drawn)
    own: bool = True
    fresh: bool = True
    screen: reopening.Screen | None = None


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
        # Not by the title: two uploads have the same.
        if kept is None or kept.digest != self.digest:
            return None
        if not all(_known(run, self._owner) for run in kept.runs.values()):
            return None
        return kept

    def _adopt(self) -> None:
        """Find the runs that the URL names, after a reload; those of another owner are shown and obey nobody here."""
        named, kept = st.query_params.get("run"), st.session_state.get(self._state_key)
        # Of what was deleted elsewhere the address still tells, and is answered.
        if kept is not None and any(_known(run, self._owner) for run in kept.runs.values()):
            st.session_state[self._state_key] = _of_those_left(kept, self._owner)
        elif named:
            self._adopt_named(*self._named(named))

    def _adopt_named(self, labels: Sequence[str], runs: Sequence[str]) -> None:
        known = {label: run for label, run in zip(labels, runs) if _known(run, self._owner)}
        tasks = {label: jobs.manager().task(run) for label, run in known.items()}
        tasks = {label: task for label, task in tasks.items() if isinstance(task, jobs.TrainingTask)}
        other = any(task.digest != self.digest for task in tasks.values())
        if other or not tasks:
            for name in ("run", "before"):
                st.query_params.pop(name, None)
            session.note(RUN, OF_OTHER_DATA if other else NOT_KEPT)
            return
        _say_gone([label for label in labels if label not in tasks])
        settings = {label: Setting.of(task) for label, task in tasks.items()}
        left = {label: known[label] for label in tasks}
        own = all(_is_of(run, self._owner) for run in left.values())
        given = settings, left, *self._adopted_before(labels)
        kept = _Kept(self.digest, *given, own=own, fresh=False)
        st.session_state[self._state_key] = replace(kept, screen=self._screen([*settings.values()]))

    def _named(self, named: str) -> tuple[list[str], list[str]]:
        """Return the labels and the ids of the runs that the URL names; an id alone stands for all of its page."""
        runs, labels = named.split(","), st.query_params.get("labels")
        with contextlib.suppress(LookupError):
            if labels is None and len(runs) == 1:
                found = restoring.side_by_side(self._owner, store.shared().get(self._owner, named))
                return list(found), [run.id for run in found.values()]
        return (labels or self.page).split("|"), runs

    def _adopted_before(self, labels: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
        """Return what came before the runs of the URL, as `_Kept` has it: pale curves outlive a reload too."""
        before, earlier, manager = {}, {}, jobs.manager()
        for label, run in zip(labels, st.query_params.get("before", "").split(",")):
            task = manager.task(run) if run and _known(run, self._owner) else None
            good = isinstance(task, jobs.TrainingTask) and task.digest == self.digest
            if good and manager.status(run).state == "finished":
                before[label], earlier[label] = (Setting.of(task), manager.events(run)), run
        # Only then: what is taken from the address and put back is a step of the browser.
        if not earlier:
            st.query_params.pop("before", None)
        return before, {}, earlier

    def _screen(self, settings: Sequence[Setting]) -> reopening.Screen:
        """Return the controls that settings were made by, for whoever comes by a link that has others."""
        recipe, title, data = self._current.recipe, self._current.title, self._current.data
        more = {"owner": self._owner, "digest": self.digest}
        runs = [training.run_of(self.page, each, recipe, title, **more) for each in settings]
        return reopening.screen(runs, title, data.source_names, data.graph_names)

    # What the page asks ---------------------------------------------------------------------------------------------

    @property
    def digest(self) -> str:
        """Of the data in use, before what-if operations."""
        return self._current.data.digest()

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
        settings, pressed = dict(settings), [key for key in ("train", "stepwise") if st.session_state.get(key)]
        # Before the buttons are drawn: they are those of the training that goes on, and the page is not drawn twice.
        error = self._start_asked(settings, pressed, able)
        progress.what_if()
        kept = self._kept
        if kept and not kept.own:
            then = " Press Train for one of your own." if able else ""
            st.info(f"You look at a training that somebody else started.{then}")
        changed = kept is not None and kept.settings != settings
        if kept and not changed:
            kept.screen = {key: value for key, value in values().items() if key != LESSON}, session.operations()
        busy = self.busy and kept.own
        seconds = self._estimate(settings, self._standing(settings)) if changed else None
        # Controls that were moved meanwhile may be followed at once.
        lesson = self._buttons(seconds, disabled=not able or (busy and not changed))
        write(self._runs_written())
        ended = kept is not None and not self.busy
        results = {label: self.result(label) for label in self.runs} if ended else {}
        with st.session_state.get(LESSON_PLACE, nullcontext()):
            facts = widgets_lessons.facts_of(kept, self.events(), ended, results, self._current.title)
            widgets_lessons.panel(lesson, facts)
        if error:
            st.error(escape(error))
        # What others train waits too, but a page that trains is where it matters.
        if ended and kept.own and (unkept := store.shared().waiting):
            st.warning(escape(unkept), icon=":material/warning:")
        if changed:
            self._say_changed(kept, settings if able else {}, busy)

    def _say_changed(self, kept: _Kept, settings: Mapping[str, Setting], busy: bool) -> None:
        """Say that what is shown has other settings than the controls, with the way back to those."""
        what, then = GOES_ON if busy else ENDED
        # Controls that cannot be trained have no settings to compare with, and their page says why.
        changes = f": {escape(progress.changes(kept.settings, settings))}. {then}" if settings else "."
        st.info(what + changes)
        # Where a training is missing the controls may be those of the others already.
        if kept.screen and not _is_shown(*kept.screen):
            words = "Back to what is trained" if busy else "Back to what was trained"
            st.button(words, on_click=go_back, args=kept.screen, key="back", icon=":material/undo:")

    def _buttons(self, seconds: float | None, disabled: bool) -> Any:
        """Draw what starts trainings, `seconds` long where settings have changed; return the lesson chosen."""
        # Nothing known of how long it takes is no reason to say "0.1 s".
        about = f" (about {max(seconds, 0.1):.{int(seconds < 10)}f} s)" if seconds else ""
        text = "Train" if seconds is None else f"Train with these settings{about}"
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(text, key="train", type="primary", disabled=disabled, on_click=self._ask)
            words = "Start paused; play or go round by round."
            st.button("Step by step", key="stepwise", disabled=disabled, help=words, on_click=self._ask, args=(True,))
            st.toggle("Pause updates", key="hold", help="The charts stand still; training goes on.")
            share()
            return widgets_lessons.choice(self.page)

    def _ask(self, stepwise: bool = False) -> None:
        """Remember a press: a control that moves at once ends the script that was told of it, before it starts."""
        st.session_state["train_now"], st.session_state["train_stepwise"] = self.page, stepwise

    def _start_asked(self, settings: dict[str, Setting], pressed: Sequence[str], able: bool) -> str:
        """Start what was asked for, or is quick after a change; return a sentence of why it can't be started."""
        kept, busy = self._kept, self.busy and self._kept.own
        changed = kept is not None and kept.settings != settings
        standing = self._standing(settings) if changed else {}
        elsewhere = st.session_state.get("train_now", False) in (True, self.page)
        asked = (changed or not busy) and (pressed or elsewhere)
        quick = changed and kept.own and 0 < self._estimate(settings, standing) < INSTANT
        error, starts = "", able and (asked or quick)
        if starts:
            self.stop()
            # Who goes step by step sees all of them from their first round.
            stepped = "stepwise" in pressed or st.session_state.get("train_stepwise", False)
            error = self._start(settings, paused=stepped, standing={} if stepped else standing)
        # Taken in any case: what goes on already would begin again, unasked, once it has ended. Not before it has
        # started: the script may end here, as controls move.
        for asked_for in ("train_now", "train_stepwise"):
            st.session_state.pop(asked_for, None)
        if starts and quick and not (error or pressed):
            self._await_end()
        return error

    def _await_end(self) -> None:
        """Wait for the end of trainings that are short: drawn before and after it, a page takes longer than they do."""
        until = time.monotonic() + WAITED
        # The session is asked again and again: there a script ends whose controls have moved meanwhile.
        while not st.session_state.get("hold") and self.busy and time.monotonic() < until:
            # In a queue it may be minutes.
            if any(jobs.manager().status(run).state == "queued" for run in self.runs.values()):
                return
            jobs.manager().wait_ended(self.runs.values(), SLICE, math.inf)

    def _estimate(self, settings: Mapping[str, Setting], standing: Collection[str] = ()) -> float:
        """Return the seconds that trainings will take without those that stand; 0 where nothing is known."""
        durations = self._kept.durations if self._kept else {}
        asked = {label: each for label, each in settings.items() if label not in standing}
        if not all(label in durations for label in asked):
            return 0.0
        return sum(
            training.seconds_of(durations[label], setting.params.get("n_iterations", len(durations[label])))
            for label, setting in asked.items()
        )

    def _standing(self, settings: Mapping[str, Setting]) -> dict[str, str]:
        """Return the finished runs of one's own whose settings stay: trained again they would come to the same."""
        kept = self._kept
        if kept is None or not kept.own:
            return {}
        same = {label: run for label, run in kept.runs.items() if settings.get(label) == kept.settings[label]}
        return {label: run for label, run in same.items() if jobs.manager().status(run).state == "finished"}

    def _start(self, settings: dict[str, Setting], paused: bool, standing: Mapping[str, str]) -> str:
        current, kept = self._current, self._kept
        runs: dict[str, str] = {}
        # Of these the last round is looked at.
        session.tell_round(0)
        session.note(RUN, "")
        within, ids = session.folders(), {label: standing.get(label) or new_id() for label in settings}
        try:
            for label, setting in settings.items():
                if label in standing:
                    runs[label] = standing[label]
                    continue
                more = {"paused": paused, "label": label, "within": within, "side_by_side": ids}
                runs[label] = submit(
                    self.page, setting, current.data, current.recipe, current.title, owner=self._owner, **more
                )
        except ValueError as error:
            for run in runs.values():
                jobs.manager().stop(run)  # without effect on one that stands
            return str(error)
        # The first of those side by side: the others may have to wait for it.
        first = next((run for label, run in runs.items() if label not in standing), None)
        if first is not None:
            jobs.manager().wait(first, [state for state in ACTIVE if state != "queued"], HANDED)
        kept = kept if kept and kept.own else None
        done = self._finished(kept)
        before = done or (kept.before if kept else {})
        earlier = (kept.runs if done else kept.earlier) if kept else {}
        durations = kept.durations if kept else {}
        drawn = kept.drawn if kept else _Drawn()
        more = {"durations": durations, "earlier": earlier, "drawn": drawn}
        self._keep(_Kept(self.digest, settings, runs, before, **more))
        return ""

    def _keep(self, kept: _Kept) -> None:
        """Keep what was started, also where the script ends here because controls have moved meanwhile."""
        try:
            st.session_state[self._state_key] = kept
        # Streamlit's own, which it raises at any access: a run that the session doesn't know goes on beside the next.
        except BaseException:
            st.session_state[self._state_key] = kept
            raise

    def _runs_written(self) -> dict[str, str]:
        """Return what an address says of trainings: of these, whatever the browser's own, a run behind, says."""
        runs = self.runs
        if not runs:
            return {}
        more = {"labels": "|".join(runs)} if len(runs) > 1 or self.page not in runs else {}
        earlier = [self._kept.earlier.get(label, "") for label in runs]
        more |= {"before": ",".join(earlier)} if any(earlier) else {}
        return {"run": ",".join(runs.values())} | more

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
                jobs.manager().order(run, name, self._owner)

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
            line = self._say(statuses)
            begins = any(status.state == "running" for status in statuses.values())
            if begins:
                jobs.manager().wait_begun(self.runs.values(), FIRST)
            events = self.events()
            bar, charts = st.container(), st.container()  # there without rounds too, so that charts keep their place
            shown, facts = None, {"ended": True, "fresh": False, "settled": False}
            if any(events.values()):
                total = max(status.total for status in statuses.values())
                shown = self._kept.drawn = _Drawn(events, before, ",".join(self.runs.values()), total)
                facts = {"ended": not busy, "fresh": self._kept.fresh, "settled": not active}
            elif begins and self._kept.drawn.events.keys() == events.keys():
                # What was there stays until there is something new; not while it is queued, when thirty may wait.
                shown = self._kept.drawn
            if shown is not None:
                with bar:
                    timeline(shown.events, shown.run, shown.total, **facts)
                with charts:
                    draw(shown.events, shown.before)
            elif busy:
                bar.info("The first round is on its way.")
            self._remember_durations()
            if active:
                # Rounds are counted out in vain where a fit ends early: one that is short is waited for in any case.
                ended = [label for label, status in statuses.items() if not status.active]
                short = 0 < self._estimate(self.settings, ended) < INSTANT
                self._page_at_end(math.inf if short else jobs.SOON)
                # One more look would take the core that it needs; its rounds are played once they are there.
                if short and any(events.values()) and line is not None:
                    progress.say_on(line, {label: jobs.manager().status(run) for label, run in self.runs.items()})
                    self._page_at_end(math.inf)

        look()

    def _say(self, statuses: Mapping[str, Any]) -> Any:
        """Say how far the trainings are, and draw the buttons of those that go on; return their bar, if any."""
        with st.container(key="state"):
            line = progress.say(statuses, self.events())
        with st.container(key="ahead"):
            if self._kept.own and any(status.state == "queued" for status in statuses.values()):
                progress.ahead(self.runs.values(), self._owner)
        with st.container(key="player"):  # there without buttons too: what follows keeps its place
            active_now = any(status.active and status.state != "predicting" for status in statuses.values())
            if active_now and self._kept.own:
                progress.player(statuses, self._order)
        return line

    def _page_at_end(self, soon: float = jobs.SOON) -> None:
        """Draw the whole page once the trainings have ended, and wait for that where they only predict any more."""
        # A person who paused updates wants the charts to stand still.
        patience = 0.0 if st.session_state.get("hold") else FIRST
        # At once, not after one more look: that would draw the same twice.
        if jobs.manager().wait_ended(self.runs.values(), patience, soon):
            self._remember_durations()
            st.rerun()

    def _remember_durations(self) -> None:
        if self._kept and all(jobs.manager().status(run).state == "finished" for run in self.runs.values()):
            self._kept.durations = {label: each for label, each in self.events().items() if each}


def _is_shown(controls: Mapping[str, Any], operations: Sequence[Mapping[str, Any]]) -> bool:
    now = values()
    return all(now.get(key) == value for key, value in controls.items()) and session.operations() == list(operations)


def _of_those_left(kept: _Kept, owner: str) -> _Kept:
    """Return what the session keeps of trainings without those that were deleted, as long as one of them is left."""
    runs = {label: run for label, run in kept.runs.items() if _known(run, owner)}
    if not runs or len(runs) == len(kept.runs):
        return kept
    _say_gone([label for label in kept.runs if label not in runs])
    settings = {label: kept.settings[label] for label in runs}
    # Without their durations: what somebody deleted is not trained again unasked.
    return replace(kept, runs=runs, settings=settings, durations={}, drawn=_Drawn())


def _say_gone(labels: Sequence[str]) -> None:
    """Say which of several trainings are not kept any more; nothing where all are."""
    if labels:
        names = " and ".join(filter(None, [", ".join(map(shown, labels[:-1])), shown(labels[-1])]))
        are = "is" if len(labels) == 1 else "are"
        session.note(RUN, f"{names} {are} not kept here any more: press Train to make what is missing again.")


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
