"""Whole fits and predictions as tasks of a Dask cluster: tuning, replicates, and predictions of any method.

    found = hc.distributed.tune(hc.HGBMRegressor(), {"max_depth": [2, 4]}, (X, y), client)
    models = hc.distributed.replicates(hc.MGBRegressor(), range(10), (data,), client)
    y = hc.distributed.predict(models[0], data, client)

Each fit is of one process; Dask deals the tasks out, and repeats those of a worker that is lost. What all tasks need is
sent once a worker. Results are those of a loop here, with one thread of linear algebra.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from hetcore.data import HetData
from hetcore.data.splits import stratified
from hetcore.distributed.worker_actor import versions
from hetcore.errors import ClusterError, ParameterError

__all__ = ["Tuned", "check_workers", "predict", "replicates", "tune"]


@dataclass(frozen=True)
class Tuned:
    """What `tune` found.

    Attributes
    ----------
    settings : list of dict
        The parameters tried.
    scores : (n_settings, n_folds) float64
        Error rate in [0, 1] or RMSE in the labels' unit of each fold left out; low is good.
    metric_name : str
        "error" or "RMSE".
    """

    settings: list[dict[str, Any]]
    scores: NDArray[np.float64]
    metric_name: str

    @property
    def best_params(self) -> dict[str, Any]:
        """The setting of least mean, of equal ones the first."""
        return dict(self.settings[int(self.scores.mean(axis=1).argmin())])


def check_workers(client: Any) -> int:
    """Return how many threads the workers have together, once they are known to be of use.

    Raises
    ------
    ClusterError
        If there is no worker, the scheduler is gone, or a worker lacks hetcore or has another version of it or polars.
    """
    where = getattr(client.scheduler, "address", "")
    try:
        found = client.run(versions)
    except ModuleNotFoundError as error:
        raise ClusterError(f"A Dask worker lacks {error.name}: install hetcore's requirements there.") from None
    except (OSError, ValueError, RuntimeError):
        raise ClusterError(f"The Dask scheduler at {where} is gone: try again once it is back.") from None
    if not found:
        raise ClusterError(f"The Dask cluster at {where} has no worker: start some, and try again.")
    for address, theirs in found.items():
        for name, own in versions().items():
            if theirs[name] != own:
                what = f"has {name} {theirs[name]} and this process {own}"
                raise ClusterError(f"The Dask worker at {address} {what}: install the same version there.")
    return sum(client.nthreads().values())


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
    ClusterError
        As of `check_workers`, or a task can't be done.
    """
    from sklearn.base import clone

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

    Raises
    ------
    ClusterError
        As of `check_workers`, or a task can't be done.
    """
    models = list(model) if isinstance(model, list | tuple) else [model]
    n, threads = 0 if isinstance(X, HetData) else len(X), check_workers(client)
    ends = np.linspace(0, n, 1 + max(1, min(threads, n))).astype(int).tolist()
    tasks = [(each, span) for each in models for span in zip(ends, ends[1:])]
    done = _all(client, partial(_predicted, method, options), tasks, X)
    per_model = [done[i : i + len(ends) - 1] for i in range(0, len(done), len(ends) - 1)]
    found = [_side_by_side(parts) for parts in per_model]
    return found if isinstance(model, list | tuple) else found[0]


def tune(
    estimator: Any,
    grid: Mapping[str, Sequence[Any]],
    given: tuple[Any, Any],
    client: Any,
    *,
    n_folds: int = 5,
    random_state: int | None = 0,
    fold: Any = None,
    **rows: Any,
) -> Tuned:
    """Cross-validate the settings of a grid for an estimator of rows; of HetData, see `hetcore.tuning.cross_validate`.

    Parameters
    ----------
    estimator : estimator
        Not changed.
    grid : mapping of str to sequence
        Values by parameter, all combined.
    given : (X, y)
        X (n, d) and y (n,).
    client : distributed.Client
    n_folds : int, default=5
        At least 2.
    random_state : int or None, default=0
        Seed of the folds.
    fold : (n,) int, optional
        The fold of each row, -1 for those that are always trained on, such as of source domains; unless given, dealt by
        y.
    **rows
        What fit takes by name of each row, such as `sample_domain`.

    Returns
    -------
    Tuned

    Raises
    ------
    ParameterError
        If a parameter is unknown, or there are less than two folds.
    ClusterError
        As of `check_workers`, or a task can't be done.
    """
    from sklearn.base import clone, is_classifier

    X, y = np.asarray(given[0]), np.asarray(given[1])
    settings = [dict(zip(grid, values)) for values in product(*grid.values())]
    unknown = sorted(set(grid) - set(estimator.get_params(deep=False)))
    if unknown or not settings:
        raise ParameterError(f"The grid names {unknown!r}: name parameters of the estimator, each with some values.")
    fold = _dealt(y, n_folds, random_state) if fold is None else np.asarray(fold)
    folds = np.unique(fold[fold >= 0]).tolist()
    if len(folds) < 2:
        raise ParameterError(f"There are {len(folds)} folds to leave out: give at least 2.")
    models = [clone(estimator).set_params(**setting) for setting in settings]
    by_row = {name: np.asarray(values) for name, values in rows.items()}
    tasks = [(model, k) for model in models for k in folds]
    errors = _all(client, partial(_left_out, is_classifier(estimator)), tasks, (X, y, fold, by_row))
    name = "error" if is_classifier(estimator) else "RMSE"
    return Tuned(settings, np.array(errors).reshape(len(settings), len(folds)), name)


def _dealt(y: NDArray, n_folds: int, random_state: int | None) -> NDArray[np.int64]:
    if isinstance(n_folds, bool) or not isinstance(n_folds, int) or not 2 <= n_folds <= len(y):
        raise ParameterError(f"n_folds={n_folds!r} must be a whole number from 2 to the {len(y):,} rows.")
    key = y.astype(float) if y.dtype.kind in "fiu" else y.astype(str)
    return stratified(key, n_folds, np.random.default_rng(random_state))


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


def _predicted(method: str, options: Mapping[str, Any], task: tuple[Any, tuple[int, int]], X: Any) -> Any:
    model, (start, stop) = task
    return getattr(model, method)(X if isinstance(X, HetData) else X[start:stop], **options)


def _left_out(classes: bool, task: tuple[Any, int], common: tuple[NDArray, NDArray, NDArray, dict]) -> float:
    """Return the error on a fold of a fit to the other rows."""
    from sklearn.base import clone

    (model, k), (X, y, fold, rows) = task, common
    seen, hidden = fold != k, fold == k
    # its own: on workers that are threads of one process all folds have one object
    predicted = clone(model).fit(X[seen], y[seen], **{name: of[seen] for name, of in rows.items()}).predict(X[hidden])
    if classes:
        return float(np.mean(predicted != y[hidden]))
    return float(np.sqrt(np.mean((predicted - y[hidden]) ** 2)))


def _side_by_side(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(each) for each in zip(*parts))
    return np.concatenate(parts)
