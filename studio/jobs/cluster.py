"""Where consensus is trained: on the Dask cluster of HETCORE_DASK_ADDRESS, without one in the studio's own processes.

Only whoever starts the studio names the address, never a page. The model has the same bits in both places, so a
training whose cluster can't be reached is done here, and says so; one whose scheduler goes away on the way fails with
one sentence. Where HETCORE_SHARED names a folder that its workers see, tables are written there once and travel as
paths, for trainings that need no table outside of a worker. Dask's processes trust one another: see docs/scale.md.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from hetcore.errors import ClusterError
from studio.jobs import shared_tables

__all__ = ["CONNECT_SECONDS", "address", "fit", "parameters", "serves", "summary"]

# Somebody waits for the training meanwhile, and it can begin here.
CONNECT_SECONDS = 5.0
ESTIMATORS = ("GBCClassifier", "GBCRegressor")


def address() -> str:
    """Return the scheduler's address, empty without one."""
    return os.environ.get("HETCORE_DASK_ADDRESS", "").strip()


def parameters() -> dict[str, Any]:
    """Return the parameters that consensus has because of where it is trained, so that it can be repeated."""
    # Recorded with the run, so that its script trains the views of a round as the cluster did.
    return {"schedule": "parallel"} if address() else {}


def summary(events: Sequence[Any]) -> str:
    """Return in words what a training's last round tells of the cluster, empty for one that is done here."""
    detail = events[-1].detail if events else {}
    if "workers" not in detail:
        return ""
    moved = (detail["bytes"]["sent"] + detail["bytes"]["received"]) / 1e6
    text = f"On {_counted(detail['workers'])} of the Dask cluster; the last round moved {moved:,.2f} MB."
    lost = detail["workers_lost"]
    return text + (f" Lost on the way: {_counted(lost)}, whose sources moved to the others." if lost else "")


def _counted(workers: int) -> str:
    return f"{workers} worker{'' if workers == 1 else 's'}"


def serves(model: Any) -> bool:
    """Return whether there is a cluster, and it is for this model."""
    return bool(address()) and type(model).__name__ in ESTIMATORS


def fit(model: Any, data: Any, y: Any, **options: Any) -> str:
    """Fit a model that the cluster serves on it, or here where it does not answer.

    Parameters
    ----------
    model : estimator
    data : HetData
    y : (n,) array
    **options
        Further arguments of fit.

    Returns
    -------
    str
        What the person should know of where it was trained; empty if all went as it was set up.
    """
    from hetcore import distributed

    # connect imports Dask: the studio runs without it, and only a training that wants the cluster finds it missing.
    try:
        client = distributed.connect(address(), CONNECT_SECONDS)
    except ImportError:
        return _here(model, data, y, options, "Dask is not installed (requirements-dask.txt)")
    except ClusterError:
        return _here(model, data, y, options, f"The Dask cluster at {address()} does not answer")
    with client:
        try:
            given = _by_path(model, data)
        except OSError as error:
            given, note = data, f"HETCORE_SHARED can't be written to ({error.strerror}), so the tables were sent."
        else:
            note = ""
        distributed.fit(model, given, client, y=y, **options)
    return note


def _by_path(model: Any, data: Any) -> Any:
    """Return the data with their tables as paths, where there is a folder for them and no process needs them all."""
    where = shared_tables.folder()
    return data if where is None or (model.join_tables and not model.as_printed) else shared_tables.by_path(data, where)


def _here(model: Any, data: Any, y: Any, options: dict[str, Any], why: str) -> str:
    # With the cluster's schedule all the same, for the recorded parameters must not depend on who answered.
    model.set_params(**parameters()).fit(data, y, **options)
    return f"{why}, so this training was done here; the result is the same."
