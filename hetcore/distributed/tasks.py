"""Whole fits and predictions as tasks of a Dask cluster: replicates, and predictions of any method.

    models = hc.distributed.replicates(hc.MGBRegressor(), range(10), (data,), client)
    y = hc.distributed.predict(models[0], data, client)

Each fit is of one process; Dask deals the tasks out, and repeats those of a worker that is lost. What all tasks need is
sent once a worker. Results are those of a loop here, with one thread of linear algebra. Tuning needs nothing of ours:
joblib has Dask for a backend, scikit-learn's searches and `hetcore.tuning.cross_validate` run on it (docs/scale.md).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from hetcore.data import HetData
from hetcore.data.columns import several
from hetcore.data.text import shown
from hetcore.distributed.carried_warnings import Warned, carried
from hetcore.distributed.worker_actor import versions
from hetcore.distributed.worker_pool import SCHEDULER_SECONDS, check_versions, explained
from hetcore.errors import ClusterError, DataError, ParameterError

__all__ = ["check_client", "check_workers", "predict", "replicates"]


def check_client(client: Any) -> None:
    """Refuse a client that can't be used, or whose scheduler does not answer within some seconds.

    Raises
    ------
    ParameterError
        If it is no connected client, or an asynchronous one.
    ClusterError
        If the scheduler is gone.
    """
    if getattr(client, "asynchronous", True) or getattr(client, "status", "") != "running":
        raise ParameterError("client must be a connected distributed.Client, not an asynchronous or a closed one.")
    where = client.scheduler.address
    try:
        client.sync(client.scheduler.ncores, callback_timeout=SCHEDULER_SECONDS)
    except OSError:
        raise _scheduler_gone(where) from None


def check_workers(client: Any) -> int:
    """Return how many threads the workers have together, once they are known to be of use.

    Raises
    ------
    ParameterError
        If the client can't be used.
    ClusterError
        If there is no worker, the scheduler is gone, or a worker lacks hetcore or has another version of it or polars.
    """
    check_client(client)
    where = client.scheduler.address
    try:
        answers = client.run(versions, on_error="return")
    except (OSError, ValueError, RuntimeError):
        raise _scheduler_gone(where) from None
    # a worker that is lost meanwhile is no fault: the others do what it would have done
    found = {address: each for address, each in answers.items() if not isinstance(each, OSError)}
    if not found:
        raise ClusterError(f"The Dask cluster at {where} has no worker: start some, and try again.")
    for address, theirs in found.items():
        if isinstance(theirs, Exception):
            raise explained(theirs, address) from None
        check_versions(address, theirs)
    return sum(client.nthreads().values())


def _scheduler_gone(where: str) -> ClusterError:
    return ClusterError(f"The Dask scheduler at {where} is gone: try again once it is back.")


def replicates(model: Any, seeds: Iterable[int], given: Sequence[Any], client: Any, **options: Any) -> list[Any]:
    """Fit copies of a model that differ in their seed.

    Parameters
    ----------
    model : estimator
        Not changed.
    seeds : iterable of int
        Values of `random_state`.
    given : tuple
        What its `fit` takes by position: `(data,)`, `(X, y)` ...
    client : distributed.Client
    **options
        What its `fit` takes by name.

    Returns
    -------
    list of estimator
        Fitted, in the order of the seeds.

    Raises
    ------
    ParameterError
        If the model has no seed, `seeds` is no list, `given` no tuple, or the client can't be used.
    ClusterError
        As of `check_workers`, or a task can't be done.
    """
    from sklearn.base import clone

    if not isinstance(given, tuple | list):
        kind = type(given).__name__
        raise ParameterError(f"given must be a tuple, not {kind}: give (data,) or (X, y), what fit takes by position.")
    if not several(seeds):
        raise ParameterError(f"seeds={shown(seeds)} is no list: give the values of random_state, such as range(10).")
    if isinstance(model, type) or "random_state" not in getattr(model, "get_params", dict)():
        raise ParameterError(f"model={shown(model)} is no estimator with a random_state: give one that has a seed.")
    models = [clone(model).set_params(random_state=seed) for seed in seeds]
    return _all(client, _fitted, models, (tuple(given), options))


def predict(model: Any, X: Any, client: Any, method: str = "predict", **options: Any) -> Any:
    """Predict with one model or several.

    Parameters
    ----------
    model : estimator or sequence of estimator
        Fitted; a prediction of rows (X an array or a table) is divided into blocks, one of a HetData is not.
    X : HetData, array or table
        What its prediction takes.
    client : distributed.Client
    method : str, default="predict"
        "predict", "predict_proba" ...
    **options
        What it takes by name, such as `return_std=True`.

    Returns
    -------
    As the method of the model; of several models a list.

    Warns
    -----
    As the method of the model does, once what several blocks or models warn of.

    Raises
    ------
    ParameterError
        If the client can't be used, or a model has no such method.
    DataError
        If X is none of what a prediction takes.
    ClusterError
        As of `check_workers`, or a task can't be done.
    """
    models = list(model) if isinstance(model, list | tuple) else [model]
    for each in models:
        if not (isinstance(method, str) and callable(getattr(each, method, None))):
            raise ParameterError(f"{type(each).__name__} has no method {shown(method)}: give one that predicts.")
    if not (isinstance(X, HetData) or hasattr(X, "__len__") and several(X)):
        raise DataError(f"X is of type {type(X).__name__}: give a HetData, an array or a table.")
    n, threads = 0 if isinstance(X, HetData) else len(X), check_workers(client)
    ends = np.linspace(0, n, 1 + max(1, min(threads, n))).astype(int).tolist()
    tasks = [(each, span) for each in models for span in zip(ends, ends[1:])]
    done, warned = zip(*_all(client, partial(_predicted, method, options), tasks, X))
    # once, whichever blocks said it
    for category, text in dict.fromkeys(each for block in warned for each in block):
        warnings.warn(text, category, stacklevel=2)
    per_model = [done[i : i + len(ends) - 1] for i in range(0, len(done), len(ends) - 1)]
    found = [_side_by_side(parts) for parts in per_model]
    return found if isinstance(model, list | tuple) else found[0]


def _all(client: Any, work: Any, tasks: Sequence[Any], common: Any) -> list[Any]:
    """Return what the work makes of each task and what all have in common, in order."""
    check_workers(client)
    shared = client.scatter([common], broadcast=True, hash=False)[0]
    futures = [client.submit(_quietly, work, task, shared, pure=False) for task in tasks]
    try:
        return client.gather(futures)
    except CancelledError:
        raise ClusterError("The Dask cluster has let the tasks go: see whether its scheduler is there.") from None
    except Exception as error:
        # our own errors say what is wrong, and so do those of parameters
        if type(error).__module__.startswith("hetcore.") or isinstance(error, ValueError):
            raise
        what = f"{type(error).__name__}: {error}"
        raise ClusterError(f"A task failed on the Dask cluster ({what}): see the workers' logs.") from error
    finally:
        client.cancel([*futures, shared], force=True)


def _quietly(work: Any, task: Any, common: Any) -> Any:
    """Do a task with one thread of linear algebra, for more change the last digits."""
    with threadpool_limits(1, user_api="blas"):
        return work(task, common)


def _fitted(model: Any, common: tuple[tuple, dict[str, Any]]) -> Any:
    given, options = common
    return model.fit(*given, **options)


def _predicted(
    method: str, options: Mapping[str, Any], task: tuple[Any, tuple[int, int]], X: Any
) -> tuple[Any, Warned]:
    model, (start, stop) = task
    with carried() as warned:
        found = getattr(model, method)(X if isinstance(X, HetData) else X[start:stop], **options)
    return found, warned


def _side_by_side(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(each) for each in zip(*parts))
    return np.concatenate(parts)
