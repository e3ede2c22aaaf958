"""Challenges: a goal on an example, what a training must keep to so that it counts, and the attempts so far.

Each goal can be reached with the controls of its page, and is missed by most settings; what counts is the error on the
labels that were hidden. A lucky draw is no answer, so the seed stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from studio.jobs.job import Setting
from studio.runs.differences import describe, named, within
from studio.runs.run import Run
from studio.runs.table import example_of

__all__ = ["CHALLENGES", "Attempt", "Challenge", "attempt", "of_page", "reached", "stored"]

PARAMETERS = ("lambda0", "lambda1", "learning_rate", "n_iterations", "max_depth")
"""Told of an attempt."""


class Challenge(NamedTuple):
    """A goal.

    Attributes
    ----------
    title, page, data : str
        `data` is the name of an example.
    goal : str
    bar : float
        The error on hidden labels must be below, in [0, 1].
    fault : callable
        Returns why a setting does not count, "" if it does.
    """

    title: str
    page: str
    data: str
    goal: str
    bar: float
    fault: Callable[[Setting], str]


class Attempt(NamedTuple):
    """A training: what was set, its error on hidden labels in [0, 1], and why it does not count ("" if it does)."""

    setting: str
    error: float
    fault: str


def of_page(page: str) -> dict[str, Challenge]:
    """Return the challenges of a page by key."""
    return {key: challenge for key, challenge in CHALLENGES.items() if challenge.page == page}


def attempt(challenge: Challenge, setting: Setting, events: Sequence[Any]) -> Attempt | None:
    """Return what a finished training was worth, None without hidden labels or with numbers for labels."""
    detail = events[-1].detail if events else {}
    error = detail.get("metric", {}).get("held_out")
    # Errors alone can be below a bar in per cent.
    if error is None or detail.get("metric_name") != "error":
        return None
    return _attempt(challenge, setting, error)


def stored(challenge: Challenge, runs: Sequence[Run]) -> dict[str, Attempt]:
    """Return the attempts among the stored runs of a page by id, the oldest first: those that keep to the rules."""
    tried = {}
    # The store gives the newest first.
    for run in reversed(runs):
        scores, settings = run.results.get("scores") or {}, run.settings
        error = scores.get("held_out")
        if example_of(run) != challenge.data or scores.get("metric") != "error" or error is None:
            continue
        found = _attempt(challenge, Setting(run.method, settings["params"], settings["operations"]), error)
        if run.status == "finished" and not found.fault:
            tried[run.id] = found
    return tried


def _attempt(challenge: Challenge, setting: Setting, error: float) -> Attempt:
    given = {name: setting.params[name] for name in PARAMETERS if name in setting.params}
    values = ", ".join(f"{named(name)} {within(value, name)}" for name, value in given.items())
    return Attempt(f"{describe(setting.operations)}; {values}", float(error), challenge.fault(setting))


def reached(challenge: Challenge, tried: Attempt) -> bool:
    """Return whether an attempt counts and is below the bar."""
    return not tried.fault and tried.error < challenge.bar


def _few(share: float, tables: int | None = None) -> Callable[[Setting], str]:
    """Return a rule: at most this share of the labels, tables switched off until so many are left, no lucky seed."""

    def fault(setting: Setting) -> str:
        by_name: dict[str, list[Mapping[str, Any]]] = {}
        for each in setting.operations:
            by_name.setdefault(each["op"], []).append(each)
        if not any(each["fraction"] <= share for each in by_name.get("labels", ())):
            return f"more than {share:.0%} of the labels"
        if setting.params.get("random_state") != 0:
            return "another seed than 0"
        if tables is not None and len(by_name.get("drop_source", ())) < TABLES - tables:
            return f"more than {tables} {'table' if tables == 1 else 'tables'} in use"
        return ""

    return fault


TABLES = 5
"""Of the example "digits_views"."""
CHALLENGES = {
    "few": Challenge(
        "Few labels", "Consensus", "digits_views", "**Below 3.6% wrong with 5% of the labels.** Seed 0.",
        bar=0.036, fault=_few(0.05),
    ),
    "four": Challenge(
        "One table less", "Consensus", "digits_views",
        "**Below 3.6% wrong with 5% of the labels and a table switched off.** Which one is missed least? Seed 0.",
        bar=0.036, fault=_few(0.05, 4),
    ),
    "one": Challenge(
        "One table", "Consensus", "digits_views",
        "**Below 5.2% wrong with 10% of the labels and a single table.** Links may help. Seed 0.",
        bar=0.052, fault=_few(0.1, 1),
    ),
}  # fmt: skip
