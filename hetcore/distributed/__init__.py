"""Fit on a Dask cluster: workers hold the tables and graphs, and only gradients and predictions travel.

    from distributed import Client

    with Client("tcp://scheduler:8786", direct_to_workers=True) as client:
        model = hetcore.distributed.fit(hetcore.GBCClassifier(), data, client)
    model.history_["bytes:received"]        # of each round

The model has the same bits as that of `model.fit(data)` with `schedule="parallel"`, on 1, 2 or 4 workers: the same code
runs in both places, every random number is drawn here, and sums over sources have one order. That holds for one kind of
processor: linear algebra differs in the last digits between kinds.

Sources by path (`HetData.scan`) are read by the workers that hold them, where the fit is `as_printed=True`: the path
travels, and no process has more than its own tables' bins. So it is with the default where `join_tables=False`; with
joined tables its views are made here, of all of them. As printed, and where the default has trees alone and no joined
tables, a table may be larger than a worker: then records lie on the workers by ranges of instances, and histograms
travel (`hetcore.distributed.sharded_executor`, `hetcore.distributed.sharded_views`).

| travels, for n instances and K outputs | as printed | the default |
|---|---|---|
| to each worker, once | its sources; labels, links | its views; labels |
| to each worker, a round | E, 8 n K bytes | with lambda0 what the consensus says of pulled rows |
| back, a round | of each subtree of the sum that it has, 8 n K bytes; trees | the scores of views that got better |

As printed each source's f_i stays with its worker, which takes the gradient, grows the tree, searches the step and adds
up the subtrees of sum_i w_i f_i that it has (`hetcore.consensus.printed.partial_sums`).

`MatrixFactorization` and `HMF` are fitted by blocks of users and items (`hetcore.distributed.factor_strips`), in an
order of the entries that is not that of `model.fit`, and is the same on any number of workers.

Replicates and predictions of every method are whole tasks there: see `hetcore.distributed.tasks`.

A worker that is lost costs time alone: its sources are loaded on the others, which repeat what those had learned and
the step in progress. Without a scheduler there is no fit: `ClusterError`. A cluster is trusted: Dask sends pickles
between its processes, so whoever reaches the scheduler can run code on all of them. Nothing that a user uploaded is
ever read as a pickle.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from numbers import Integral
from typing import Any

from hetcore.base import boost
from hetcore.checks import finite
from hetcore.consensus.gbc import GBCClassifier, GBCRegressor
from hetcore.data.text import shown
from hetcore.distributed.executor import DaskExecutor
from hetcore.distributed.factor_strips import DaskStrips
from hetcore.distributed.sharded_executor import ShardedExecutor, rows_that_fit
from hetcore.distributed.sharded_views import ShardedViewExecutor
from hetcore.distributed.tasks import check_client, predict, replicates
from hetcore.errors import ClusterError, ParameterError
from hetcore.events import Callback, as_callbacks
from hetcore.factorization.estimator import Factorization
from hetcore.factorization.strips import Strips

__all__ = ["connect", "fit", "predict", "replicates"]

NOBODY = (OSError, ValueError, AssertionError)  # no answer; no address at all; Dask's own loop did not start in time


def connect(address: str, timeout: float) -> Any:
    """Return a client of a cluster that is no one's default, connected within some seconds.

    Parameters
    ----------
    address : str
        The scheduler's, such as "tcp://scheduler:8786".
    timeout : float
        Seconds, > 0.

    Raises
    ------
    ImportError
        Dask is not installed.
    ParameterError
        The address is no text, or an empty one, or `timeout` no number above 0.
    ClusterError
        Nobody answers there.
    """
    from distributed import Client

    # of None, Dask starts a cluster of its own
    if not isinstance(address, str) or not address:
        raise ParameterError(f"address={shown(address)} names no Dask scheduler: give its own, tcp://scheduler:8786.")
    if not (finite(timeout) and timeout > 0):
        raise ParameterError(f"timeout={shown(timeout)} must be a finite number above 0: give seconds, such as 10.")
    try:
        return Client(address, timeout=timeout, direct_to_workers=True, set_as_default=False)
    except NOBODY:
        raise ClusterError(f"No Dask scheduler answers at {address}: start one, or correct the address.") from None


def fit(
    model: GBCClassifier | GBCRegressor | Factorization,
    data: Any,
    client: Any,
    callbacks: Iterable[Callback] = (),
    *,
    y: Any = None,
    eval_y: Any = None,
    shard_rows: int | None = None,
) -> Any:
    """Fit a consensus model with its sources and graphs held by a cluster's workers, or a factorization by blocks.

    Parameters
    ----------
    model : GBCClassifier, GBCRegressor, MatrixFactorization or HMF
        A consensus model's `schedule` becomes "parallel": sources that go in turn would wait for one another.
    data : HetData, or (n, 2) array-like of codes
        The latter, with the values as `y`, for a factorization.
    client : distributed.Client
        Connected, not asynchronous. With `direct_to_workers=True` arrays do not pass through the scheduler.
    callbacks : iterable of callable, default=()
        As of `fit`; `detail` of each `RoundEnd` has also "bytes" (sent, received, loaded in the round), "workers" and
        "workers_lost".
    y, eval_y : (n,) array-like, optional
        As of `fit`; a factorization takes no `eval_y`.
    shard_rows : int, optional
        Of a fit as printed, or with `join_tables=False` and `base_learner="tree"`: records of all tables are dealt out
        by ranges of at most so many instances, as printed rounded up to blocks of 65,536. The model file does not
        depend on it. By default tables stay whole unless, as printed, one takes more than half of a worker's memory.

    Returns
    -------
    model

    Raises
    ------
    ParameterError
        If the model is of another method, the client can't be used, a parameter is outside its domain, or `shard_rows`
        is given for views that need whole tables.
    DataError
        As of `fit`.
    ClusterError
        If the scheduler is gone, there is no worker for a minute, workers are lost again and again, or one has another
        version of hetcore or polars.
    """
    in_strips = isinstance(model, Factorization) and model._n_modes == 2
    if not (in_strips or isinstance(model, GBCClassifier | GBCRegressor)):
        kinds = "GBCClassifier, GBCRegressor, MatrixFactorization or HMF"
        raise ParameterError(f"A cluster fits {kinds}, not {type(model).__name__}: call its own fit.")
    if in_strips and (eval_y is not None or shard_rows is not None):
        raise ParameterError("A factorization takes neither eval_y nor shard_rows here: leave them out.")
    if shard_rows is not None:
        _check_sharding(model, shard_rows)
    check_client(client)
    callbacks = as_callbacks(callbacks)
    if in_strips:
        with model._fitting(callbacks), client.as_current():
            _fit_factors(model, data, y, client, callbacks)
        return model
    with model._fitting(callbacks), client.as_current():
        model.set_params(schedule="parallel")._check_parameters()
        problem = model._problem(data, y, eval_y)
        if model.as_printed and shard_rows is None:
            shard_rows = rows_that_fit(client, data, problem.scale.n_outputs)
        sharded = ShardedExecutor if model.as_printed else ShardedViewExecutor
        with closing(DaskExecutor(client) if shard_rows is None else sharded(client, shard_rows)) as executor:
            boost(model, lambda: model._start(problem, executor), callbacks)
        model._keep_fit(model._outline(data, y))
    return model


def _check_sharding(model: Any, shard_rows: Any) -> None:
    if not isinstance(shard_rows, Integral) or isinstance(shard_rows, bool) or shard_rows < 1:
        rule = "a whole number of at least 1"
        raise ParameterError(f"shard_rows={shown(shard_rows)} must be {rule}: give one, or leave it out.")
    if not (model.as_printed or not model.join_tables and model.base_learner == "tree"):
        which = 'join_tables=False and base_learner="tree", or as_printed=True'
        raise ParameterError(f"shard_rows={shown(shard_rows)} is for models with {which}: set these, or leave it out.")


def _fit_factors(model: Any, X: Any, y: Any, client: Any, callbacks: Iterable[Callback]) -> None:
    model._check_parameters()
    problem, strips = model._problem(X, y, None), Strips(DaskStrips(client))
    boost(model, lambda: model._start(problem, strips), callbacks, model._total(problem))
    model._keep_fit(model._outline(X, y))
