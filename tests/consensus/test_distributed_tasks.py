"""Whole fits and predictions of every method on a Dask cluster: what a loop here gives."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import GridSearchCV, PredefinedSplit

import experiments
import hetcore as hc
from experiments import __main__ as shell
from experiments.protocols import PROTOCOLS, Protocol
from hetcore import model_files
from hetcore.errors import ClusterError, DataError, MissingColumnsWarning, ParameterError
from tests.clusters import QUIET
from tests.consensus.test_consensus import planted
from tests.experiments.toy import toy  # noqa: F401 - a fixture

dask = pytest.importorskip("distributed", reason="Dask is not installed: pip install -r requirements-dask.txt")
from hetcore import distributed  # noqa: E402 - after the skip
from hetcore.distributed import tasks  # noqa: E402


@pytest.fixture(scope="module")
def near():
    """A client of workers in this process, two threads."""
    with (
        dask.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, **QUIET) as made,
        dask.Client(made, set_as_default=False) as found,
    ):
        yield found


def rows(n=60, d=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + 0.3 * rng.normal(size=n)


def domains():
    X, y = rows(80)
    return X, np.where(y > 0, "up", "down"), np.repeat(["one", "two", "target", "target"], 20)


CASES = {
    "HGBM": (lambda: hc.HGBMRegressor(n_iterations=3, random_state=0), lambda: (*rows(), {})),
    "transfer": (
        lambda: hc.TrAdaBoostClassifier(n_iterations=3, random_state=0),
        lambda: (*domains()[:2], {"sample_domain": np.where(domains()[2] == "target", 1, -1)}),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_predictions_by_blocks_are_those_of_all_rows(near, name):
    make, given = CASES[name]
    X, y, more = given()
    fitted = make().fit(X, y, **more)
    assert_array_equal(distributed.predict(fitted, X, near), fitted.predict(X))
    several = distributed.predict([fitted, fitted], X[:1], near)
    assert len(several) == 2 and several[0].tolist() == fitted.predict(X[:1]).tolist()


def test_a_prediction_of_several_arrays_has_each_whole(near):
    X, y = rows()
    fitted = hc.HGBMRegressor(n_iterations=2, random_state=0).fit(X, y)
    for mine, own in zip(distributed.predict(fitted, X, near, return_std=True), fitted.predict(X, return_std=True)):
        assert_array_equal(mine, own)


def test_factors_are_predicted_by_blocks_of_pairs(near):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 9, 80), rng.integers(0, 7, 80)])
    fitted = hc.HMF(n_iterations=2, random_state=0).fit(X, rng.normal(size=80))
    assert_array_equal(distributed.predict(fitted, X, near), fitted.predict(X))


@pytest.mark.parametrize(
    ("model", "seeds", "words"),
    [
        (hc.GBCRegressor(), 3, "seeds=3 is no list"),
        (None, [0], "model=None is no estimator with a random_state"),
        (hc.GBCRegressor, [0], "is no estimator with a random_state"),
    ],
)
def test_replicates_of_nothing_are_refused(model, seeds, words):
    with pytest.raises(ParameterError, match=words):
        distributed.replicates(model, seeds, (1,), None)


def test_a_method_that_is_no_text_predicts_nothing():
    with pytest.raises(ParameterError, match="GBCRegressor has no method 3: give one that predicts"):
        distributed.predict(hc.GBCRegressor(), [[1.0]], None, method=3)


def test_replicates_differ_in_their_seed_alone(near):
    data, _ = planted("regression", n=40)
    plain = hc.MGBRegressor(n_iterations=2, random_state=5)
    found = distributed.replicates(plain, [0, 1], (data,), near)
    for seed, model in enumerate(found):
        here = hc.MGBRegressor(n_iterations=2, random_state=seed).fit(data)
        assert model_files.dumps(model) == model_files.dumps(here)
    assert plain.random_state == 5 and not hasattr(plain, "history_")
    assert_array_equal(distributed.predict(found[1], data, near), found[1].predict(data))


def test_a_search_of_scikit_learn_on_the_cluster_leaves_no_row_of_a_source_domain_out(near):
    X, y, domain = domains()
    target = np.flatnonzero(domain == "target")
    fold = np.full(len(y), -1)
    fold[target] = np.arange(target.size) % 2
    which = np.where(domain == "target", 1, -1)
    model, how = CASES["transfer"][0](), {"scoring": "accuracy", "cv": PredefinedSplit(fold), "error_score": "raise"}
    search = GridSearchCV(model, {"n_iterations": [2, 3]}, **how)
    with joblib.parallel_config("dask", client=near):
        search.fit(X, y, sample_domain=which)
    seen = fold != 1
    model = CASES["transfer"][0]().set_params(n_iterations=3).fit(X[seen], y[seen], sample_domain=which[seen])
    assert search.cv_results_["split1_test_score"][1] == np.mean(model.predict(X[~seen]) == y[~seen])


def test_what_can_not_be_done_is_refused_at_the_start(near, monkeypatch):
    X, y = rows()
    model = hc.HGBMRegressor(n_iterations=2)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        distributed.replicates(model, [0], (X, y[:3]), near)
    with pytest.raises(ParameterError, match=r"given must be a tuple, not ndarray: give \(data,\) or \(X, y\)"):
        distributed.replicates(model, [0], X, near)
    with pytest.raises(ParameterError, match=r"given must be a tuple, not HetData"):
        distributed.replicates(hc.GBCRegressor(), [0], planted("regression")[0], near)
    with pytest.raises(ParameterError, match="HGBMRegressor has no method 'predictt'"):
        distributed.predict(model, X, near, "predictt")
    with pytest.raises(DataError, match="X is of type int: give a HetData"):
        distributed.predict(model, 3, near)
    # in one process the worker's versions are asked for by the same name: its answer alone is another
    answers = iter([tasks.versions() | {"polars": "0.1"}])
    monkeypatch.setattr(near, "run", lambda asked, on_error: {"tcp://one": next(answers)})
    with pytest.raises(
        ClusterError, match=r"worker at tcp://one has polars 0\.1 and this process \S+: install the same"
    ):
        distributed.replicates(model, [0], (X, y), near)


def test_what_is_no_connected_client_is_refused(near):
    X, y = rows()
    model = hc.HGBMRegressor(n_iterations=2).fit(X, y)
    closed = dask.Client(near.cluster, set_as_default=False)
    closed.close()
    for client in (None, closed):
        for use in (
            lambda given=client: distributed.predict(model, X, given),
            lambda given=client: distributed.replicates(model, [0], (X, y), given),
        ):
            with pytest.raises(ParameterError, match="^client must be a connected"):
                use()


def test_a_cluster_without_a_worker_is_refused():
    with (
        dask.LocalCluster(n_workers=0, processes=False, **QUIET) as made,
        dask.Client(made, set_as_default=False) as found,
        pytest.raises(ClusterError, match=r"The Dask cluster at \S+ has no worker: start some, and try again\.$"),
    ):
        tasks.check_workers(found)


def test_a_worker_that_is_lost_while_it_is_asked_is_no_fault(near, monkeypatch):
    answers = {"tcp://lost": OSError("connection reset"), "tcp://one": tasks.versions()}
    monkeypatch.setattr(near, "run", lambda asked, on_error: answers)
    assert tasks.check_workers(near) == 2
    answers["tcp://two"] = ModuleNotFoundError("No module named 'numba'", name="numba")
    with pytest.raises(ClusterError, match="worker at tcp://two lacks numba: install hetcore's requirements there"):
        tasks.check_workers(near)
    del answers["tcp://one"], answers["tcp://two"]
    with pytest.raises(ClusterError, match="has no worker: start some"):
        tasks.check_workers(near)


def test_a_scheduler_that_does_not_answer_is_not_waited_for(near, monkeypatch):
    async def never():
        await asyncio.sleep(60)

    monkeypatch.setattr(tasks, "SCHEDULER_SECONDS", 0.05)
    monkeypatch.setattr(near, "scheduler", SimpleNamespace(ncores=never, address="tcp://one"))
    X, y = rows()
    for use in (
        lambda: distributed.fit(hc.GBCRegressor(as_printed=True), planted("regression")[0], near),
        lambda: distributed.replicates(hc.HGBMRegressor(), [0], (X, y), near),
    ):
        with pytest.raises(ClusterError, match="^The Dask scheduler at tcp://one is gone: try again once it is back"):
            use()


@pytest.mark.slow
def test_processes_give_what_this_one_does(client):
    X, y = rows()
    found = distributed.replicates(hc.HGBMRegressor(n_iterations=3), range(3), (X, y), client)
    here = [hc.HGBMRegressor(n_iterations=3, random_state=seed).fit(X, y) for seed in range(3)]
    assert [model_files.dumps(each) for each in found] == [model_files.dumps(each) for each in here]
    assert_array_equal(distributed.predict(found[0], X, client), here[0].predict(X))


def _learn_the_toy():
    """Make the toy protocol known to a worker."""
    PROTOCOLS["toy"] = Protocol("tests.experiments.toy", "toy")


@pytest.mark.slow
def test_experiments_on_the_cluster_come_to_the_same(client, cluster, toy, capsys):  # noqa: F811
    client.run(_learn_the_toy)
    one = experiments.run("gbc-figure-99", "page", toy / "one").cells
    address = ["--cluster", cluster.scheduler_address]
    assert shell.main(["gbc-figure-99", "--scope", "page", "--results", str(toy / "two"), *address]) == 0
    two = experiments.outcome("gbc-figure-99", "page", toy / "two").cells
    order = ["data", "method", "level", "seed"]
    assert two.height == 8 and one.drop("seconds").sort(order).equals(two.drop("seconds").sort(order))
    assert "gbc-figure-99: " in capsys.readouterr().out


def test_experiments_say_that_no_scheduler_answers(toy, capsys, monkeypatch):  # noqa: F811
    monkeypatch.setattr(shell, "CONNECT_SECONDS", 0.2)
    for address in ("tcp://127.0.0.1:1", "nonsense://x"):
        assert shell.main(["gbc-figure-99", "--cluster", address]) == 2
        assert f"No Dask scheduler answers at {address}: start one" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert shell.main(["gbc-figure-99", "--cluster", address]) == 2
    assert "--cluster needs Dask: pip install" in capsys.readouterr().err


def test_what_workers_warn_of_is_warned_of_here_once(near):
    data, _ = planted("regression", n=40)
    fitted = hc.GBCRegressor(n_iterations=1, base_learner="kernel").fit(data)
    name, source = next(iter(data.sources.items()))
    fewer = data.with_source(name, hc.Source(source.ids, source.frame.drop(source.columns[0])))
    with pytest.warns(MissingColumnsWarning, match="lacks columns of the training") as found:
        there = distributed.predict([fitted, fitted], fewer, near)
    assert len([each for each in found if each.category is MissingColumnsWarning]) == 1
    with pytest.warns(MissingColumnsWarning):
        assert_array_equal(there[0], fitted.predict(fewer))
