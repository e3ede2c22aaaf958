"""Queues a training of a page, and stores it from its start to its end, whether a page watches it or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hetcore.data import HetData
from studio.jobs import manager as jobs
from studio.jobs.job import Setting
from studio.runs import restoring, store
from studio.runs.run import Run
from studio.views.common import training

__all__ = ["submit"]


def submit(
    page: str,
    setting: Setting,
    data: HetData,
    recipe: Mapping[str, Any],
    title: str,
    owner: str,
    paused: bool = False,
    label: str = "",
    within: Sequence[str] = (),
    *,
    side_by_side: Mapping[str, str] | None = None,
) -> str:
    """Queue a training of a page, stored from its start to its end, watched or not; return its run id.

    The store knows it by the same id, and by the label under which the page shows it. `within` are the folders that
    the person may read, for a training on data by path. `side_by_side` are the run ids, by label, of all that the page
    shows together, this one's among them: who opens one of them again wants to see the others too.

    Raises
    ------
    ValueError
        If the owner has too many unfinished runs.
    """
    task = setting.task(data, {"scan": recipe["scan"], "within": list(within)} if setting.whole else {})
    run = training.run_of(page, setting, recipe, title=title, owner=owner, digest=task.digest)
    # Stored before it begins: a studio that ends meanwhile leaves a run that can be found and reopened.
    run = store.shared().begin(_placed(run, label, side_by_side or {}))

    # Called by the manager when the run ends, whether a page watches or not.
    def keep(status: Any, result: Any) -> None:
        if result is not None and status.state in ("finished", "stopped"):
            ended = replace(run, status=status.state, results=training.results_of(result))
            parts = {"model": result.model, "contributions": result.contributions, "additions": result.additions}
            parts["staged"] = result.staged
            parts["rounds"] = restoring.to_bytes(jobs.manager().events(run.id))
            store.shared().end(ended, history=result.history, predictions=result.predictions, **parts)
        elif status.state == "failed":
            store.shared().end(replace(run, status="failed", results={"message": status.message}))
        else:
            store.shared().delete(owner, run.id)  # stopped before its first round

    try:
        return jobs.manager().submit(task, owner, paused=paused, on_end=keep, run_id=run.id)
    # Refused by the queue: what was listed a moment ago must go again.
    except ValueError:
        store.shared().delete(owner, run.id)
        raise


def _placed(run: Run, label: str, side_by_side: Mapping[str, str]) -> Run:
    """Return the run with its place on the page: its label, and those beside it."""
    place: dict[str, Any] = {"label": label} if label else {}
    # In a list, for what is stored is sorted by name, and the page has an order.
    place |= {restoring.SIDE_BY_SIDE: list(map(list, side_by_side.items()))} if len(side_by_side) > 1 else {}
    return replace(run, settings=run.settings | place, id=side_by_side.get(label, run.id))
