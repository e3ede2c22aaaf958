"""What the Papers page does, without a page: which experiments there are, and their runs as jobs."""

from __future__ import annotations

import math
from collections.abc import MutableMapping
from typing import Any

import datasets
import experiments
from datasets import suite
from experiments import cells
from experiments.experiment import PAPERS
from hetcore.data.text import counted
from studio.jobs import manager

__all__ = [
    "about", "active", "by_paper", "first", "forget", "is_here", "paper_of", "run_of", "short", "so_far", "start",
    "titled",
]  # fmt: skip

SHORT = {
    "gbc": "Gradient boosting consensus",
    "mgb": "Boosting with collective inference",
    "2wl": "Two weak learners",
    "wms": "Weighted multi-source TrAdaBoost",
    "hgbm": "Heteroscedastic boosting and factorization",
}
MADE_OF = {
    "genre_only": "movie_revenue", "intel_lab_noisy": "intel_lab", "CI-A": "census_income_a", "RW": "mv_wikipedia",
    "transfer": "office_caltech",
}  # fmt: skip
"""Data of experiments, or protocols that have data of their own, that are made of a data set of another name."""
TASK = "experiments.runner:run"
STATE_KEY, KEPT = "paper runs", "paper outcome"


def by_paper() -> dict[str, list[str]]:
    """Return the names of the experiments of each paper that has some."""
    found = {paper: [name for name in experiments.names() if paper_of(name) == paper] for paper in PAPERS}
    return {paper: names for paper, names in found.items() if names}


def paper_of(name: str) -> str:
    """Return the paper of an experiment."""
    return experiments.info(name).paper


def short(paper: str) -> str:
    """Return how a choice shows a paper."""
    return SHORT[paper]


def titled(name: str) -> str:
    """Return how a choice shows an experiment."""
    found = experiments.info(name)
    return f"{found.part} · {found.title}{'' if is_here(name) else ' (needs a download)'}"


def is_here(name: str) -> bool:
    """Whether the data of an experiment's page run are on this machine."""
    found = experiments.info(name)
    names = [str(each).partition(",")[0] for each in {**found.cells, **found.page}.get("data", [found.protocol])]
    every = suite.PROBLEMS | datasets.DATASETS
    known = [every.get(MADE_OF.get(each, each)) for each in names]
    return all(each is None or each.is_here for each in known)


def first() -> str:
    """Return the experiment that the page opens on: the first whose data are here."""
    return next(filter(is_here, experiments.names()), experiments.names()[0])


def about(seconds: float) -> str:
    """Return ", about 2 minutes" for an estimate; nothing without one."""
    if not math.isfinite(seconds) or seconds <= 0:
        return ""
    if seconds > 90:
        return f", about {seconds / 60:.0f} minutes"
    return f", about {counted(max(round(seconds), 1), 'second')}"


def so_far(state: MutableMapping[str, Any], name: str) -> experiments.Outcome:
    """Return what an experiment came to, judged anew only where cells were added: a running page asks every second."""
    stamp = name, str(cells.folder()), *experiments.stamp(name)
    kept = state.get(KEPT)
    if kept is None or kept[0] != stamp:
        kept = state[KEPT] = (stamp, experiments.outcome(name))
    return kept[1]


def start(state: MutableMapping[str, Any], name: str, owner: str) -> None:
    """Queue what is left of an experiment."""
    run_id = manager.manager().run_task(TASK, _arguments(name), owner)
    state[STATE_KEY] = {**state.get(STATE_KEY, {}), name: run_id}


def run_of(state: MutableMapping[str, Any], name: str, owner: str) -> str | None:
    """Return the run of an experiment that goes on, of this session or of another of the owner's; else the last here.

    After a reload, and in a second tab, the session is a new one.
    """
    there, asked = manager.manager(), manager.FunctionTask(TASK, _arguments(name))
    for status in there.runs(owner):
        if status.active and there.task(status.run_id, owner, watch=False) == asked:
            return status.run_id
    run_id = state.get(STATE_KEY, {}).get(name)
    try:
        there.status(run_id)
    except manager.UnknownRunError:
        return None
    return run_id


def _arguments(name: str) -> dict[str, str]:
    return {"name": name, "scope": "page"}


def active(run_id: str | None) -> bool:
    """Whether a run goes on."""
    return run_id is not None and manager.manager().status(run_id).active


def forget(name: str) -> None:
    """Forget the finished cells of an experiment's page run."""
    experiments.forget(name, "page")
